"""Plans on JAX arrays: answers as of arrays, gradients, `jit` and `vmap`, what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from condyle.errors import DTypeError, UnsupportedError
from tests.interop.plan_cases import solver, state

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402

from condyle.interop.jax import wrap  # noqa: E402


@pytest.fixture(autouse=True, scope="module")
def double_precision() -> Iterator[None]:
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def test_plans_and_their_gradients_are_those_of_the_solver() -> None:
    job, values = solver(), state()
    far, plan = wrap(job), job.solve(**values, tolerance=1e-9)
    answers = far.solve(**values, tolerance=1e-9)
    assert answers._fields == ("q", "v", "u", "cost", "solved")
    for name in ("q", "v", "u", "cost"):
        assert np.array_equal(getattr(answers, name), getattr(plan, name)), name
    assert np.array_equal(answers.solved, [1.0, 1.0])

    def phi(values: Any) -> Any:
        plan = far.solve(**values, tolerance=1e-9)
        return (plan.q**2).sum() + plan.v.sum() + (plan.u**3).sum() + plan.cost.sum()

    found = jax.jit(jax.grad(phi))({name: jnp.asarray(x) for name, x in values.items()})
    bars = {"q_bar": 2.0 * plan.q, "v_bar": np.ones(plan.v.shape), "u_bar": 3.0 * plan.u**2, "cost_bar": np.ones(2)}
    want = job.vjp(plan, **bars)
    for name in values:
        assert np.allclose(found[name], getattr(want, name), rtol=1e-10, atol=1e-12), name


def test_most_is_that_of_the_solver() -> None:
    """Too few iterations: the same plan so far, and `solved` says so."""
    job, values = solver(), state()
    answers = wrap(job).solve(**values, most=1)
    assert np.array_equal(answers.q, job.solve(**values, most=1).q) and np.all(answers.solved == 0.0)


def test_vmap_has_the_gradients_of_each_problem() -> None:
    far, values = wrap(solver()), state()

    def cost(q: Any, goal: Any, weight: Any) -> Any:
        return far.solve(q, values["v"][0], goal=goal, weight=weight).cost

    both = jax.vmap(jax.grad(cost, argnums=(0, 2)), in_axes=(0, 0, None))(values["q"], values["goal"], 1.3)
    for k in range(2):
        one = jax.grad(cost, argnums=(0, 2))(values["q"][k], values["goal"][k], 1.3)
        assert all(np.allclose(x[k], y, rtol=1e-12) for x, y in zip(both, one, strict=True))


def test_what_does_not_fit_is_refused() -> None:
    far = wrap(solver())
    with pytest.raises(TypeError, match="weight"):
        far.solve(**{name: x for name, x in state().items() if name != "weight"})
    with pytest.raises(UnsupportedError, match="a solver that compile"):
        wrap(solver().problem)
    for options, words in (({"most": 0}, "most=0"), ({"most": 2.5}, "most=2.5"), ({"tolerance": -1.0}, "tolerance=-1")):
        with pytest.raises(UnsupportedError, match=words):
            far.solve(**state(), **options)
    jax.config.update("jax_enable_x64", False)
    try:
        with pytest.raises(DTypeError, match="single precision"):
            far.solve(**state())
        answers = wrap(solver(True, "float32")).solve(**state(True, "float32"))
        assert answers.q.dtype == np.float32 and np.all(answers.solved == 1.0)
    finally:
        jax.config.update("jax_enable_x64", True)
