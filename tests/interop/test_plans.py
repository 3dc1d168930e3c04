"""Plans as functions of arrays, for all libraries: shapes, names, and gradients by the entries of quaternions."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from condyle.errors import ShapeError, UnsupportedError
from condyle.interop.gradients import ambient_gradient, tangent_gradient
from condyle.interop.plans import Plans
from tests.interop.plan_cases import solver, state


def test_arguments_are_bound_by_name_and_their_batches_broadcast() -> None:
    plans, values = Plans(solver(), False), state()
    q, v = values["q"], values["v"]
    given = plans.arguments(q, v, {"weight": values["weight"], "goal": values["goal"]})
    assert [np.shape(x) for x in given] == [(2, 2), (2, 2), (2, 5, 3), ()]
    assert plans.batch([np.shape(x) for x in given]) == (2,)
    with pytest.raises(TypeError, match="goal"):
        plans.arguments(q, v, {"weight": 1.0})
    with pytest.raises(ShapeError, match=r"goal has shape \(4, 3\), expected \(\.\.\., 5, 3\)"):
        plans.batch([(2,), (2,), (4, 3), ()])
    with pytest.raises(ShapeError, match="do not broadcast: q \\(2,\\), v \\(3,\\)"):
        plans.batch([(2, 2), (3, 2), (5, 3), ()])


@pytest.mark.parametrize("is_tangent", [False, True], ids=["ambient", "tangent"])
def test_gradients_by_quaternions_are_those_of_the_solver(is_tangent: bool) -> None:
    """Of phi along a step of the tangent space, whichever way the entries say it."""
    job, values = solver(False), state(False)
    plans, dyn, rng = Plans(job, is_tangent), job.dynamics, np.random.default_rng(0)
    values["weight"] = np.full(2, values["weight"])
    answers = plans.forward({"tolerance": 1e-10}, *values.values())
    count = len(plans.gives)
    plan, nv = job.solve(**values, tolerance=1e-10), job.problem.robot.nv
    tangent = rng.normal(size=(*plan.q.shape[:-1], nv))
    if is_tangent:
        q_bar = np.concatenate([tangent, np.zeros((*plan.q.shape[:-1], 2))], axis=-1)
    else:  # some gradient by entries; by h / 2 of each step of the tangent space
        q_bar, h = rng.normal(size=plan.q.shape), 1e-6
        sides = [[dyn.integrate(plan.q, sign * h * step) for sign in (1.0, -1.0)] for step in np.eye(nv)]
        tangent = np.stack([(q_bar * (a - b)).sum(-1) / (2.0 * h) for a, b in sides], axis=-1)
    zeros = [np.zeros_like(x) for x in (plan.v, plan.u, plan.cost)]
    found = dict(zip(values, plans.backward(*values.values(), *answers[count:], q_bar, *zeros), strict=True))
    want = job.vjp(plan, q_bar=tangent)
    assert {name: x.shape for name, x in found.items()} == {name: x.shape for name, x in values.items()}
    along = rng.normal(size=(2, nv))
    entries = np.concatenate([along, np.zeros((2, 2))], axis=-1)
    if not is_tangent:
        sides = [dyn.integrate(values["q"], sign * 1e-6 * along) for sign in (1.0, -1.0)]
        entries = (sides[0] - sides[1]) / 2e-6
    assert (found["q"] * entries).sum() == pytest.approx((want.q * along).sum(), rel=1e-6)  # of differences
    for name in ("v", "goal", "weight"):
        assert np.allclose(found[name], getattr(want, name), rtol=1e-6, atol=1e-9), name


def test_gradients_by_entries_are_those_by_the_tangent_space_along_the_manifold() -> None:
    job, values = solver(False), state(False)
    values["weight"] = np.full(2, values["weight"])
    ambient, tangent = Plans(job, False), Plans(job, True)
    assert (ambient.is_tangent, tangent.is_tangent, Plans(solver(), False).is_tangent) == (False, True, True)
    answers, count = tangent.forward({}, *values.values()), len(tangent.gives)
    bars = [np.random.default_rng(1).normal(size=x.shape) for x in answers[:4]]
    nv, q = job.problem.robot.nv, answers[0]
    by_step = tangent_gradient(np, tangent.layout, q, bars[0])
    behind = np.concatenate([by_step, np.full((*q.shape[:-1], q.shape[-1] - nv), np.nan)], axis=-1)
    found = ambient.backward(*values.values(), *answers[count:], *bars)
    want = tangent.backward(*values.values(), *answers[count:], behind, *bars[1:])
    assert not want[0][:, nv:].any()
    assert np.array_equal(found[0], ambient_gradient(np, ambient.layout, values["q"], want[0][:, :nv]))
    assert all(np.array_equal(x, y) for x, y in zip(found[1:], want[1:], strict=True))


def test_plans_are_made_on_the_processor() -> None:
    there = SimpleNamespace(dynamics=SimpleNamespace(on_device=True))
    with pytest.raises(UnsupportedError, match=r'plans are made on the processor: compile\(target="cpu"\)'):
        Plans(there, False)  # type: ignore[arg-type]
