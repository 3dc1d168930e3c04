"""Joint types that stand in no file of the library: one class and one entry in `JOINT_TYPES` are all they need."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import condyle
from condyle.errors import ModelError, UnsupportedError
from condyle.fpga.plans import stepping_of
from condyle.model.joints import JOINT_TYPES, JointType
from condyle.model.joints.base import ANGULAR, LINEAR, Column
from condyle.scalar import Scalar, cos, number, sin
from condyle.spatial.rotation import AboutZ, Transform
from tests.model.joints.arrays import integrate

PLANAR = JOINT_TYPES["planar"]


class Turntable(JointType):
    """A planar joint with its angle first: q = [theta x y], v = [omega vx vy]; its q is no plain vector."""

    name = "turntable"
    nq, nv, axes = 3, 3, 1
    angles = (0,)

    def subspace(self, pitch: Scalar | float) -> tuple[Column, ...]:
        return ANGULAR[2], LINEAR[0], LINEAR[1]

    def transform(self, q: Sequence[Scalar], pitch: Scalar | float) -> Transform:
        return Transform(AboutZ(cos(q[0]), sin(q[0])), (q[1], q[2], number(0.0)))

    def integrate(self, q: Sequence[Scalar], dv: Sequence[Scalar]) -> list[Scalar]:
        x, y, theta = PLANAR.integrate((*q[1:], q[0]), (*dv[1:], dv[0]))
        return [theta, x, y]

    def difference(self, q0: Sequence[Scalar], q1: Sequence[Scalar]) -> list[Scalar]:
        x, y, theta = PLANAR.difference((*q0[1:], q0[0]), (*q1[1:], q1[0]))
        return [theta, x, y]


class Drill(JointType):
    """A screw that also slides: q = [angle, displacement], the origin moves to pitch angle + displacement along z."""

    name = "drill"
    nq, nv, axes = 2, 2, 1
    has_pitch = True
    angles = (0,)

    def subspace(self, pitch: Scalar | float) -> tuple[Column, ...]:
        return JOINT_TYPES["helical"].subspace(pitch)[0], LINEAR[2]

    def transform(self, q: Sequence[Scalar], pitch: Scalar | float) -> Transform:
        return Transform(AboutZ(cos(q[0]), sin(q[0])), (number(0.0), number(0.0), q[0] * pitch + q[1]))


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in (Turntable(), Drill()):
        monkeypatch.setitem(JOINT_TYPES, kind.name, kind)


def arm(*middle: str, pitch: float = 0.1) -> condyle.Robot:
    """A body on joints of these types, in sequence and along one axis, between two revolute ones."""
    builder, name = condyle.Builder(), "world"
    joints = [("revolute",), middle, ("revolute",)]
    for k, types in enumerate(joints):
        rng = np.random.default_rng(k)
        for i, kind in enumerate(types):
            body, last = f"b{k}{i}", i == len(types) - 1
            own = (
                {"mass": 2.0, "com": rng.uniform(-0.1, 0.1, 3), "inertia": np.diag((0.02, 0.03, 0.04))} if last else {}
            )
            builder.body(body, **own)
            xyz, rpy = (0.0, 0.0, 0.0) if i else (0.3, 0.1 * k, 0.2), (0.0, 0.0, 0.0) if i else (k, 0.5, -1.0)
            axis = (0.0, 0.6, 0.8)
            builder.joint(f"j{k}{i}", parent=name, child=body, type=kind, axis=axis, pitch=pitch, xyz=xyz, rpy=rpy)
            name = body
    return builder.build()


def answers(robot: condyle.Robot, target: str, order: Sequence[int]) -> list[np.ndarray]:
    """m, id and fd at one state, given and answered in an order of v."""
    dyn, rng = robot.compile(target=target), np.random.default_rng(7)
    q, v, x = np.empty((3, 4, robot.nv))
    q[:, order], v[:, order], x[:, order] = rng.uniform(-1.0, 1.0, (3, 4, robot.nv))
    mass = dyn.mass_matrix(q)[:, order][:, :, order]
    return [mass, dyn.inverse_dynamics(q, v, x)[:, order], dyn.forward_dynamics(q, v, x)[:, order]]


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_dynamics_of_a_type_in_another_order(target: str) -> None:
    own, planar = arm("turntable"), arm("planar")
    for found, expected in zip(answers(own, target, [0, 2, 3, 1, 4]), answers(planar, "numpy", range(5)), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_dynamics_of_a_type_that_is_two_others(target: str) -> None:
    own, two = arm("drill"), arm("helical", "prismatic")
    for found, expected in zip(answers(own, target, range(4)), answers(two, "numpy", range(4)), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * np.abs(expected).max())


def test_states() -> None:
    robot = arm("turntable")
    q, v = robot.random_state(50, 3)
    assert np.abs(q[:, 1]).max() > 1.5 and np.abs(q[:, 2:4]).max() <= 1.0  # an angle, and two lengths
    assert np.array_equal(robot.neutral(), np.zeros(5))
    np.testing.assert_allclose(robot.difference(q, robot.integrate(q, v)), v, atol=1e-13)
    there = robot.integrate(q, v)[:, 1:4]
    assert np.array_equal(there[:, [1, 2, 0]], integrate(PLANAR, q[:, [2, 3, 1]], v[:, [2, 3, 1]]))
    h, x = 1e-6, np.random.default_rng(5).uniform(-1.0, 1.0, v.shape)
    moved = robot.difference(robot.integrate(q, v), robot.integrate(q, v + h * x)) / h
    np.testing.assert_allclose((robot.integrate_derivatives(v).ddv @ x[..., None])[..., 0], moved, atol=1e-5)
    robot.check_state(q, v)


def test_what_a_robot_can_do_with_it() -> None:
    turntable, drill = arm("turntable"), arm("drill")
    assert drill.reroot("b20").nv == 4  # all along one axis: its inverse is the same type about the negated axis
    assert drill.lock({"j10": (0.1, 0.2)}).nv == 2
    with pytest.raises(UnsupportedError, match="j10' is turntable"):
        turntable.reroot("b20")
    with pytest.raises(UnsupportedError, match="type turntable"):
        turntable.to_urdf()
    with pytest.raises(UnsupportedError, match="a turntable joint cannot be integrated by series"):
        stepping_of(turntable, 1e-3, 1.0, 27).advance([], False)
    with pytest.raises(ModelError, match="did you mean 'turntable'"):
        arm("turntabel")
    assert condyle.random_tree(5, 1, types=("turntable", "drill")).joints[0].kind in (
        JOINT_TYPES["turntable"],
        JOINT_TYPES["drill"],
    )
