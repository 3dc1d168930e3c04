"""Jacobians and Hessians column by column, which is how long robots have them."""

from __future__ import annotations

import time

import numpy as np
import pytest

import condyle
from condyle import UnsupportedError
from condyle.compile import routes
from condyle.compile.targets import TARGETS
from condyle.functions import function_of
from condyle.model.tree import tree_of
from condyle.trace.straight import straight_size
from tests.processor import slow

TREE = condyle.random_tree(3, 5, types=("revolute", "helical", "spherical"), floating_base=True)


def shorten(monkeypatch: pytest.MonkeyPatch, function: str) -> None:
    """Lets straight code be as long as that of one column."""
    monkeypatch.setattr(routes, "LARGEST", straight_size(tree_of(TREE), function_of(function).size))


def given(function: str) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    plain = {"fd": 2, "ke": 1, "id": 2}[function]
    return [TREE.random_state(5, rng).q, *(rng.uniform(-1.0, 1.0, (5, TREE.nv)) for _ in range(plain))]


@pytest.mark.parametrize("target", [slow("numpy"), "cpu"])
@pytest.mark.parametrize("by", [slow(None), slow(("v",)), ("q", "v")])
def test_a_jacobian(target: str, by: tuple[str, ...] | None, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = TREE.compile(target=target).jacobian("id", by=by)(*given("id"))
    shorten(monkeypatch, "jvp_id")
    found = TREE.compile(target=target).jacobian("id", by=by)(*given("id"))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-11, rtol=0)


@pytest.mark.parametrize("target", [slow("numpy"), "cpu"])
@pytest.mark.parametrize("function", [slow("fd"), "ke"])
def test_a_hessian(function: str, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a floating base too, whose gradient has brackets in its derivative."""
    lam = np.ones((5, TREE.nv)) if function == "fd" else np.ones(5)
    expected = TREE.compile(target=target).hessian(function)(*given(function), lam)
    shorten(monkeypatch, f"jvp_vjp_{function}")
    found = TREE.compile(target=target).hessian(function)(*given(function), lam)
    scale = float(np.max(np.abs(expected)))
    np.testing.assert_allclose(found, expected, atol=1e-11 * scale, rtol=0)
    assert np.array_equal(found, np.swapaxes(found, 1, 2))


def test_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten(monkeypatch, "jvp_id")
    compiler = TREE.compile()._compiler
    line = compiler.line(function_of("jacobian_id"), TARGETS["cpu"], "float64", 1)
    n = 3 * TREE.nv
    assert "columns" in line and f"{n} times: jvp_id" in line
    row, one = compiler.counts(function_of("jacobian_id")), compiler.counts(function_of("jvp_id"))
    assert row["route"] == f"{n} x jvp_id" and row["mul"] == n * int(one["mul"])
    with pytest.raises(UnsupportedError, match="column by column; elsewhere call jvp_id"):
        compiler.straight(function_of("jacobian_id"))


@pytest.mark.slow
def test_a_long_chain_answers_in_time() -> None:
    """100 links: nothing is traced that grows with their square."""
    robot = condyle.chain(100)
    rng, dyn = np.random.default_rng(0), robot.compile()
    q, v, a = rng.uniform(-1.0, 1.0, (3, 2, 100))
    begin = time.process_time()
    by_v = dyn.jacobian("id", by=("v",))(q, v, a)
    assert time.process_time() - begin < 30.0
    expected = dyn.inverse_dynamics_derivatives(q, v, a)[1]
    found = by_v[0] if isinstance(by_v, tuple) else by_v
    np.testing.assert_allclose(found, expected, atol=1e-9 * float(np.max(np.abs(expected))), rtol=0)
