"""One step with friction cones on every target and in both number types; its derivatives; what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import condyle
from tests.contacts.test_friction import DT, EDGES, FEET, OPEN, excess, given, states
from tests.ground.robots import box, of_joints, one_leg, quadruped
from tests.processor import slow


@pytest.mark.parametrize("target", ["cpu", slow("c")])
def test_targets_agree(target: str) -> None:
    robot = quadruped()
    args = given()
    want = robot.compile("numpy", contacts=FEET).contact_solve(*args)
    for dtype, close in (("float64", 1e-11), ("float32", 2e-3)):
        found = robot.compile(target, dtype=dtype, contacts=FEET).contact_solve(*(x.astype(dtype) for x in args))
        for x, y in zip(found[:2], want[:2], strict=True):
            assert x.dtype == dtype and np.abs(x - y).max() < close * np.abs(y).max()
        assert np.all(found.residual < 3e-4)
        assert np.all(found.impulse[..., 2] >= 0.0) and excess(found.impulse) < 1e-5


@pytest.mark.parametrize("target", ["numpy", "c"])
def test_a_box_is_the_same_everywhere(target: str) -> None:
    """With all open numbers; singular blocks; float32 is finite at every corner of the cones."""
    robot, rng = box(), np.random.default_rng(2)
    q, v = robot.random_state(50, 3)
    more = {"normals": rng.normal(size=(50, 4, 3)), "gaps": 1e-3 * rng.normal(size=(50, 4))}
    args = (q, v, rng.normal(size=(50, 6)), np.ones((50, 4)), np.full(50, DT), rng.uniform(0.0, 1.0, (50, 4)))
    want = robot.compile(contacts=EDGES, inputs=OPEN[:2]).contact_solve(*args, **more)
    found = robot.compile(target, contacts=EDGES, inputs=OPEN[:2]).contact_solve(*args, **more)
    for x, y in zip(found, want, strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-5 * max(1.0, np.abs(y).max()))  # rounding, over MU
    low = robot.compile(dtype="float32", contacts=EDGES)
    for speed in (0.0, 1.0, 1e3):
        for mu in (0.0, 1.0, 1e3):
            args = (q[0], np.full(6, speed), np.zeros(6), np.ones(4), DT, np.full(4, mu))
            still = low.contact_solve(*(np.float32(x) for x in args))
            assert all(np.isfinite(x).all() for x in still)


@pytest.mark.parametrize("of", [one_leg, slow(quadruped)])
def test_derivatives_are_those_of_differences(of: Callable[[], condyle.Robot]) -> None:
    """Where contacts stick, slide or are off by more than the difference. Impulses of dependent rows are not unique:
    those of one leg are left out."""
    robot, args = of(), given(8)
    dyn = robot.compile(contacts=FEET)
    args[:3] = of_joints(robot, *args[:3])
    rng, h = np.random.default_rng(9), 1e-7
    along = [rng.normal(size=(8, robot.nv)) for _ in range(3)]
    along += [np.zeros((8, 4)), np.zeros(8), rng.normal(size=(8, 4))]

    def moved(sign: float) -> Any:
        q = robot.integrate(args[0], sign * h * along[0])
        return dyn.contact_solve(q, *(x + sign * h * d for x, d in zip(args[1:], along[1:], strict=True)))

    tangents = dyn.jvp("cfric")(*args, *along)
    for x, ahead, behind in zip(tangents[: 1 if of is one_leg else 2], moved(1.0), moved(-1.0), strict=False):
        slope = (ahead - behind) / (2 * h)
        np.testing.assert_allclose(x, slope, rtol=0, atol=1e-6 * np.abs(slope).max())
    bars = [rng.normal(size=tangents[0].shape), rng.normal(size=tangents[1].shape), np.zeros(8)]
    cotangents = dyn.vjp("cfric")(*args, *bars)
    ahead = sum((x * y).reshape(8, -1).sum(axis=1) for x, y in zip(tangents, bars, strict=True))
    back = sum((x * y).reshape(8, -1).sum(axis=1) for x, y in zip(cotangents, along, strict=True))
    np.testing.assert_allclose(back, ahead, rtol=1e-8, atol=1e-8 * np.abs(ahead).max())


def test_other_kinds_are_refused_by_name() -> None:
    robot = quadruped()
    contacts = (FEET[0], condyle.Contact("rf_lowerleg", "plane"))
    dyn = robot.compile(contacts=contacts)
    said = "contact 1 is of kind 'plane', which has no friction cone; give contacts of kind 'point'"
    with pytest.raises(condyle.UnsupportedError, match=said):
        dyn.contact_solve(*states(1), np.ones(2), DT, np.ones(2))
    assert "cfric" not in dyn.explain(1, None) and "cfd" in dyn.explain(1, ("cfd",))
    sizes = {"q": "nq", "v": "nv", "tau": "nv"}
    f = robot.function(lambda at, tau: at.contact_solve(tau, np.ones(2), DT, np.ones(2)).v, sizes, contacts=contacts)
    with pytest.raises(condyle.UnsupportedError, match=said):
        f.compile()(*states(1))
    with pytest.raises(condyle.UnsupportedError, match="no contacts"):
        robot.compile().contact_solve(*states(1), np.ones(2), DT, np.ones(2))
