"""A robot held by another link is the same robot: energies, forces and accelerations map onto each other."""

from __future__ import annotations

import numpy as np
import pytest

from condyle import Robot
from condyle.model.builder import Builder
from tests.accuracies import ROUNDING
from tests.laws.evaluated import reference
from tests.laws.motion import STEP, twist
from tests.laws.robots import Array, changed, relative, states
from tests.model.kinematics import frames_at, matrix

DIFFERENCES = 1e-8  # central differences of poses with step 1e-5
SECOND = 1e-4  # second differences of poses: 1e-16 over the step squared, for accelerations
LINKS = ("tip", "side")


def arm(floating_base: bool) -> Robot:
    """All joint types that can be reversed on the way from the root to "tip"; one that cannot beside it."""
    rng = np.random.default_rng(8)
    builder = Builder("arm", gravity=(0.0, 0.0, 0.0) if not floating_base else (1.0, 2.0, -9.0))
    names = ("base", "one", "two", "three", "four", "side", "tip")
    for name in names:
        half = rng.uniform(0.02, 0.06, 3)
        builder.body(name, mass=float(rng.uniform(0.5, 2.0)), com=rng.uniform(-0.1, 0.1, 3), inertia=np.diag(half))
    joints = (
        ("one", "base", "revolute", 0.0),
        ("two", "one", "prismatic", 0.0),
        ("three", "two", "helical", 0.2),
        ("four", "base", "spherical", 0.0),
        ("side", "two", "revolute", 0.0),
        ("tip", "three", "cylindrical", 0.0),
    )
    for child, parent, kind, pitch in joints:
        builder.joint(
            f"to_{child}",
            parent=parent,
            child=child,
            type=kind,
            axis=rng.standard_normal(3),
            pitch=pitch,
            xyz=rng.uniform(-0.3, 0.3, 3),
            rpy=rng.uniform(-3.0, 3.0, 3),
            armature=0.1,
        )
    return Robot.from_data(builder.build(floating_base=floating_base))


def link_pose(robot: Robot, q: Array, link: str) -> Array:
    return matrix(frames_at(robot, q)[link])


def quaternion(R: Array) -> Array:
    """The unit quaternion (x, y, z, w) of a rotation matrix, by its largest component."""
    t = np.append(np.diag(R), np.trace(R))
    k = int(np.argmax(t))
    if k == 3:
        x = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1], 1.0 + t[3]])
    else:
        i, j = (k + 1) % 3, (k + 2) % 3
        x = np.zeros(4)
        x[k], x[i], x[j] = 1.0 + R[k, k] - R[i, i] - R[j, j], R[k, i] + R[i, k], R[k, j] + R[j, k]
        x[3] = R[j, i] - R[i, j]
    return x / np.linalg.norm(x)


def mapped_q(robot: Robot, other: Robot, q: Array, link: str) -> Array:
    """The same pose in the other robot's coordinates."""
    pose = link_pose(robot, q, link)
    result = other.neutral()
    result[:7] = np.append(pose[:3, 3], quaternion(pose[:3, :3]))
    for joint in other.joints[1:]:
        own = robot.joints[robot.joint_names.index(joint.name)]
        result[joint.q_slice] = q[own.q_slice]
    return result


def mapped_v(robot: Robot, other: Robot, q: Array, v: Array, link: str) -> Array:
    """The same motion in the other robot's coordinates, the link's twist by central differences."""
    poses = [link_pose(robot, robot.integrate(q, t * v), link) for t in (-STEP, 0.0, STEP)]
    result = np.zeros(other.nv)
    result[:6] = twist(*poses)
    for joint in other.joints[1:]:
        result[joint.v_slice] = v[robot.joints[robot.joint_names.index(joint.name)].v_slice]
    return result


@pytest.mark.parametrize("link", LINKS)
def test_frames_stand_where_they_stood(link: str) -> None:
    robot = arm(True)
    other = robot.reroot(link)
    q = states(robot, 1).q[0]
    before, after = frames_at(robot, q), frames_at(other, mapped_q(robot, other, q, link))
    for name in before:
        assert np.abs(matrix(after[name]) - matrix(before[name])).max() < ROUNDING


@pytest.mark.parametrize("link", LINKS)
def test_mass_matrix_of_a_floating_robot(link: str) -> None:
    """v' = A v makes M = Aᵀ M' A."""
    robot = arm(True)
    other = robot.reroot(link)
    q = states(robot, 1).q[0]
    A = np.stack([mapped_v(robot, other, q, e, link) for e in np.eye(robot.nv)], axis=1)
    M = reference(other, "m", mapped_q(robot, other, q, link)[None])[0]
    assert relative((A.T @ M @ A)[None], reference(robot, "m", q[None])) < DIFFERENCES


@pytest.mark.parametrize("link", LINKS)
def test_inverse_dynamics_of_a_floating_robot(link: str) -> None:
    """tau = Aᵀ tau', where a' is the rate of v', external forces on the same links."""
    robot = arm(True)
    other = robot.reroot(link)
    q, v, a, _ = (x[0] for x in states(robot, 1))
    A = np.stack([mapped_v(robot, other, q, e, link) for e in np.eye(robot.nv)], axis=1)
    ahead, behind = ((robot.integrate(q, t * v + 0.5 * t * t * a), v + t * a) for t in (1e-4, -1e-4))
    rate = (mapped_v(robot, other, *ahead, link) - mapped_v(robot, other, *behind, link)) / 2e-4
    wrenches = {name: np.random.default_rng(4).uniform(-1, 1, 6) for name in ("base", "two", "side", "tip")}
    tau = reference(robot, "id", q[None], v[None], a[None], f_ext=robot.f_ext(wrenches)[None])
    given = (mapped_q(robot, other, q, link)[None], (A @ v)[None], rate[None])
    there = reference(other, "id", *given, f_ext=other.f_ext(wrenches)[None])
    assert relative(there @ A, tau) < SECOND


@pytest.mark.parametrize("link", LINKS)
def test_mass_matrix_of_a_fixed_robot(link: str) -> None:
    """Held by `link`, the old root moves: the floating robot with the motions that leave `link` where it is."""
    robot, fixed = arm(True), arm(False).reroot(link)
    assert fixed.nv == robot.nv - 6
    q = states(robot, 1).q[0]
    A = np.stack([mapped_v(robot, robot.reroot(link), q, e, link) for e in np.eye(robot.nv)], axis=1)
    still = np.linalg.inv(A)[:, 6:]  # the columns that move the joints of the rerooted robot, and its base not at all
    M = still.T @ reference(robot, "m", q[None])[0] @ still
    own = mapped_q(robot, robot.reroot(link), q, link)[7:]
    assert relative(reference(fixed, "m", own[None]), M[None]) < DIFFERENCES


def test_there_and_back_is_the_same_robot() -> None:
    robot = changed(arm(False), gravity=(0.0, 1.0, -9.0))
    back = robot.reroot("tip").reroot("base")
    order = back.permutation(robot.joint_names)
    q, v, a, _ = states(robot)
    here = np.empty_like(q)
    here[:, order.q] = q
    moved, rates = np.empty_like(v), np.empty_like(a)
    moved[:, order.v], rates[:, order.v] = v, a
    tau = reference(robot, "id", q, v, a)
    assert relative(reference(back, "id", here, moved, rates)[:, order.v], tau) < ROUNDING
