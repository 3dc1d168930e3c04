"""Mass matrices without an inverse: always (an error that names the joint), or in one state (not finite there)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import condyle
from condyle import Dynamics, Robot, SingularError
from condyle.functions import FUNCTIONS
from tests.laws.robots import states
from tests.processor import slow

INERTIA = np.diag((0.01, 0.02, 0.02))


def arm(tip_mass: float, armature: float = 0.0) -> Robot:
    """Two bodies; the second one may have no mass."""
    builder = condyle.Builder("arm")
    builder.body("base")
    builder.body("upper", mass=1.0, com=(0.2, 0.0, 0.0), inertia=INERTIA)
    builder.body("tip", mass=tip_mass, com=(0.1, 0.0, 0.0), inertia=INERTIA * tip_mass)
    builder.joint("shoulder", parent="base", child="upper", type="revolute", axis=(0, 1, 0))
    axis = {"type": "revolute", "axis": (0, 0, 1), "xyz": (0.4, 0, 0), "armature": armature}
    builder.joint("elbow", parent="upper", child="tip", **axis)
    return builder.build()


@pytest.fixture
def massless() -> Robot:
    with pytest.warns(condyle.ModelWarning, match="tip"):
        return arm(0.0)


@pytest.mark.parametrize("target", ["numpy", "c"])
def test_a_massless_moving_body_is_named(massless: Robot, target: str) -> None:
    dyn = massless.compile(target=target)
    q, v, a, _ = states(massless)
    with pytest.raises(SingularError, match=r"'elbow'.*'tip'"):
        dyn.forward_dynamics(q, v, a)
    with pytest.raises(SingularError, match="'elbow'"):
        dyn.mass_matrix_inverse(q)
    with pytest.raises(SingularError, match="'elbow'"):
        dyn.forward_dynamics_derivatives(q, v, a)


def test_scans_name_it_as_the_others_do(massless: Robot) -> None:
    q, v, a, _ = states(massless)
    with pytest.raises(SingularError, match=r"^joint 'elbow' moves .* robot\.lock\(\{'elbow': q\}\)"):
        massless.compile("numpy", links="scan").forward_dynamics(q, v, a)


def test_the_message_has_the_joints_and_the_cure_and_is_short(massless: Robot) -> None:
    """Functions without an inverse are not listed: there are more than twenty."""
    q, v, a, _ = states(massless)
    with pytest.raises(SingularError, match=r"^joint 'elbow' moves .* robot\.lock\(\{'elbow': q\}\)") as caught:
        massless.compile("numpy").forward_dynamics(q, v, a)
    assert len(str(caught.value)) < 320
    robot = condyle.chain(40)
    with pytest.warns(condyle.ModelWarning):
        light = robot.with_inertias(np.zeros((40, 10)))
    with pytest.raises(SingularError, match=r"^joints 'joint0', .* and 32 more move no inertia of their own") as caught:
        condyle.exports.exporting.check_solvable(light, [FUNCTIONS["fd"]])
    assert len(str(caught.value)) < 420


def test_functions_without_an_inverse_serve_it(massless: Robot) -> None:
    dyn = massless.compile(target="numpy")
    q, v, a, _ = states(massless)
    M = dyn.mass_matrix(q)
    assert np.isfinite(dyn.inverse_dynamics(q, v, a)).all()
    assert np.isfinite(dyn.inverse_dynamics_derivatives(q, v, a)[0]).all()
    assert np.array_equal(M[:, 1, 1], np.zeros(len(q)))
    assert (M[:, 0, 0] > 0.0).all()


def test_armature_or_locking_cures_it(massless: Robot) -> None:
    q, v, a, _ = states(massless)
    rotor = arm(0.0, armature=0.1)
    assert np.isfinite(rotor.compile(target="numpy").forward_dynamics(q, v, a)).all()
    locked = massless.lock({"elbow": 0.3})
    assert np.isfinite(locked.compile(target="numpy").forward_dynamics(q[:, :1], v[:, :1], a[:, :1])).all()


def gimbal() -> Robot:
    """Three revolute joints through one point, a body behind the last: singular where the first and last align.

    Inertia in binary fractions, so that rounding leaves a pivot of exactly zero there.
    """
    builder = condyle.Builder("gimbal", gravity=(0.0, 0.0, 0.0))
    builder.body("base")
    parent = "base"
    for k, axis in enumerate(((0, 0, 1), (0, 1, 0), (0, 0, 1))):
        heavy = {"mass": 1.0, "inertia": np.diag((0.125, 0.125, 0.125))} if k == 2 else {}
        builder.body(f"ring{k}", **heavy)
        builder.joint(f"turn{k}", parent=parent, child=f"ring{k}", type="continuous", axis=axis)
        parent = f"ring{k}"
    return builder.build()


@pytest.mark.filterwarnings("ignore::condyle.ModelWarning")
@pytest.mark.parametrize("dtype", ["float64", slow("float32")])
def test_a_state_without_inverse_spoils_itself_only(dtype: str, compiled: Callable[..., Dynamics]) -> None:
    robot = gimbal()
    q = np.array([[0.1, 1.0, 0.2], [0.3, 0.0, 0.5], [0.1, -1.2, 0.4]], dtype)
    v = np.zeros_like(q)
    tau = np.array((1.0, 2.0, 3.0), dtype) * np.ones_like(q)
    for dyn in (compiled(robot, dtype), robot.compile(target="numpy", dtype=dtype)):
        answers = (dyn.forward_dynamics(q, v, tau), dyn.mass_matrix_inverse(q))
        answers += tuple(dyn.forward_dynamics_derivatives(q, v, tau))
        for answer in answers:
            flat = answer.reshape(3, -1)
            assert np.isfinite(flat[[0, 2]]).all()
        assert not np.isfinite(answers[0][1]).all()
        assert not np.isfinite(answers[1][1]).all()
        assert np.isfinite(dyn.inverse_dynamics(q, v, tau)).all()
