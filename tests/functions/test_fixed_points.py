"""Derivatives of iterations that have arrived, against differences of the whole iteration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import condyle
from condyle.errors import UnsupportedError
from condyle.functions import fixed_points
from condyle.user.function import CompiledFunction

ROBOT = condyle.load("iiwa14")


def towards(at: Any, x: Any, u: Any, gain: Any) -> dict[str, Any]:
    """x = tanh(W x / 4 + u) scaled, and the cost of it; q moves to where gravity and a spring balance."""
    W = np.array([[0.5, -0.3, 0.1], [0.2, 0.4, -0.6], [-0.1, 0.7, 0.3]])
    after = gain * np.tanh(W @ x / 4.0 + u)
    moved = after - x
    q = at.integrate(0.02 * (u[0] * np.ones(7) - at.q - 0.01 * at.generalized_gravity()))
    return {
        "x": after,
        "q": q,
        "cost": after @ after + x[0] + u @ u,
        "done": np.where((moved @ moved < 1e-28) & (np.abs(at.q - q).max() < 1e-15), 1.0, 0.0),
    }


@pytest.fixture(scope="module")
def compiled() -> CompiledFunction:
    return ROBOT.function(towards, {"q": "nq", "x": 3, "u": 3, "gain": ()}).compile()


def test_it_is_that_of_the_whole_iteration(compiled: CompiledFunction) -> None:
    random = np.random.default_rng(20261127)
    q, u, gain = 0.1 * random.normal(size=(4, 7)), random.normal(size=(4, 3)), random.uniform(0.5, 0.9, 4)
    x_bar, q_bar, cost_bar = random.normal(size=(4, 3)), random.normal(size=(4, 7)), random.normal(size=4)

    def weighed(u: np.ndarray, gain: np.ndarray) -> np.ndarray:
        end = compiled.iterate(q, np.zeros(3), u, gain, most=5000)
        assert (end.done > 0.0).all()
        return (x_bar * end.x).sum(1) + (q_bar * end.q).sum(1) + cost_bar * end.cost

    end = compiled.iterate(q, np.zeros(3), u, gain, most=5000)
    arrived = compiled.vjp("iterate", implicit=("x", "q"))(end.q, end.x, u, gain, x_bar, q_bar, cost_bar, np.zeros(4))
    by_q, by_x, by_u, by_gain = arrived
    assert not by_q.any() and not by_x.any()
    h = 1e-6
    differences = [(weighed(u + h * e, gain) - weighed(u - h * e, gain)) / (2.0 * h) for e in np.eye(3)]
    np.testing.assert_allclose(by_u, np.transpose(differences), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(by_gain, (weighed(u, gain + h) - weighed(u, gain - h)) / (2.0 * h), rtol=1e-6, atol=1e-7)


def test_what_is_not_named(compiled: CompiledFunction) -> None:
    """Held quantities are not fixed points: their cotangent goes one step back and no further."""
    end = compiled.iterate(np.zeros(7), np.zeros(3), np.ones(3), 0.5, most=5000)
    nothing = np.zeros(7)
    arrived = compiled.vjp("iterate", implicit="x")(
        end.q, end.x, np.ones(3), 0.5, np.ones(3), nothing, np.zeros(()), np.zeros(())
    )
    both = compiled.vjp("iterate", implicit=("x", "q"))(
        end.q, end.x, np.ones(3), 0.5, np.ones(3), nothing, np.zeros(()), np.zeros(())
    )
    np.testing.assert_allclose(arrived[2], both[2], rtol=1e-12)


@pytest.mark.parametrize("names", [(), ("u",), ("cost",), ("x", "x"), "y"])
def test_names_that_are_no_fixed_points(compiled: CompiledFunction, names: Any) -> None:
    with pytest.raises(UnsupportedError, match="give outputs with the name of an input, each once: x, q"):
        compiled.vjp("iterate", implicit=names)
    with pytest.raises(UnsupportedError, match="'iterate' and names"):
        compiled.vjp("rollout", implicit=names or ("x",))


def test_a_fixed_point_of_more_than_64_entries_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The linear system of 65 would be longer than all else."""

    def by_u(n: int) -> Any:
        f = condyle.function(lambda x, u: {"x": 0.5 * x + u}, inputs={"x": n, "u": n}).compile("numpy")
        return f.vjp("iterate", implicit="x")(2.0 * np.ones(n), np.ones(n), np.ones(n))[1]

    with pytest.raises(UnsupportedError, match=r"vjp\('iterate', implicit=\('x',\)\): 65 entries; 64 are the most"):
        by_u(65)
    monkeypatch.setattr(fixed_points, "MOST", 2)
    np.testing.assert_allclose(by_u(2), 2.0)
    with pytest.raises(UnsupportedError, match="3 entries; 2 are the most"):
        by_u(3)
