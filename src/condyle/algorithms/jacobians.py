"""Jacobians of frames and their time derivatives: one column for each degree of freedom on the path to the root.

Featherstone 2008, section 8.2. "local": the frame's pose is transformed from body to body along the path, and a column
is S of the joint seen from the frame. In the world's axes a column is S turned by the pose of its body, at the end of
a lever arm. J is (6, nv), linear rows first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from condyle.algorithms.joint import Joint
from condyle.algorithms.kinematics import (
    AT_REST,
    ROOT,
    WORLD,
    Moving,
    Pose,
    Relative,
    inside,
    moving,
    placements,
    relative,
    relatives,
    turned,
    velocity,
)
from condyle.algorithms.sweeps import Field, Sweeps
from condyle.scalar import Scalar, number
from condyle.spatial import twist
from condyle.spatial import vector as vec
from condyle.spatial.rotation import Transform
from condyle.spatial.twist import Pair, cross_motion
from condyle.spatial.vector import Vector

Matrices: TypeAlias = "Sequence[Sequence[Sequence[Scalar]]]"
"""For every frame the rows of its matrix."""


class Seen(NamedTuple):
    """A frame's pose in a body, and its velocity relative to the body in the axes of the frame."""

    pose: Pose
    velocity: Pair


class Swinging(NamedTuple):
    """A body seen from its parent, and its velocity in its own axes."""

    relative: Relative
    velocity: Pair


class Arm(NamedTuple):
    """The vector from a joint's origin to the frame's, and the velocity of the frame's origin, in the world's axes."""

    arm: Vector
    velocity: Vector


STILL = Swinging(ROOT, twist.ZERO)


def swinging(joint: Joint, parent: Swinging, v: Sequence[Scalar]) -> Swinging:
    """Forward step: where the body is and how it moves."""
    return Swinging(relative(joint, parent.relative), velocity(joint, parent.velocity, v))


def from_parent(joint: Joint, pose: Pose) -> Pose:
    """The pose of the same frame in the parent."""
    back = joint.rotation.back
    x, y, z = vec.transpose(pose.axes)
    return Pose(vec.transpose((back(x), back(y), back(z))), vec.add(joint.origin, back(pose.origin)))


def columns_at(joint: Joint, frame: Pose) -> list[Pair]:
    """The columns of S at a frame with this pose in the body, in the axes of the frame."""
    return [frame.transform.motion_to_child(dof.column) for dof in joint.dofs]


def nothing(_: Joint) -> None:
    """A value for joints where the step needs none."""


def no_carry(*_: object) -> None:
    """For columns that each joint gives alone."""


def local_jacobians(tree: Sweeps) -> Matrices:
    """J with J v the velocity of the frame in its own axes, at its origin."""

    def start(placement: Transform, _: object) -> Pose:
        return inside(WORLD, placement)

    def meet(joint: Joint, frame: Pose, _: object) -> list[Pair]:
        return columns_at(joint, frame)

    def rise(joint: Joint, frame: Pose, _: object) -> Pose:
        return from_parent(joint, frame)

    return tree.frame_columns(start, meet, rise, None, tree.each(nothing))


def local_rates(tree: Sweeps, v: Field[Sequence[Scalar]]) -> Matrices:
    """dJ/dt in the frame's axes: d/dt (X S) = X ((v_j - v_f) x S), with velocities v_j of body j and v_f of the
    frame."""

    def start(placement: Transform, _: object) -> Seen:
        return Seen(inside(WORLD, placement), twist.ZERO)

    def meet(joint: Joint, seen: Seen, _: object) -> list[Pair]:
        return [cross_motion(column, seen.velocity) for column in columns_at(joint, seen.pose)]

    def rise(joint: Joint, seen: Seen, rates: Sequence[Scalar]) -> Seen:
        own = twist.combined(rates, columns_at(joint, seen.pose))
        return Seen(from_parent(joint, seen.pose), twist.add(seen.velocity, own))

    return tree.frame_columns(start, meet, rise, (), v)


def aligned_jacobians(tree: Sweeps) -> Matrices:
    """J in the world's axes, at the frame's origin. The lever arm is summed on the way from the frame to the joint."""

    def start(placement: Transform, link: Relative) -> Vector:
        return vec.times(link.axes, placement.translation)

    def meet(joint: Joint, arm: Vector, link: Relative) -> list[Pair]:
        return [_shifted(turned(link.axes, dof.column), arm) for dof in joint.dofs]

    def rise(_: Joint, arm: Vector, link: Relative) -> Vector:
        return vec.add(arm, link.offset)

    return tree.frame_columns(start, meet, rise, ROOT, relatives(tree))


def world_jacobians(tree: Sweeps) -> Matrices:
    """J in the world's axes, at the world's origin."""

    def meet(joint: Joint, _: None, pose: Pose) -> list[Pair]:
        arm = vec.scale(-1.0, pose.origin)
        return [_shifted(turned(pose.axes, dof.column), arm) for dof in joint.dofs]

    return tree.frame_columns(no_carry, meet, no_carry, WORLD, placements(tree))


def _shifted(column: Pair, arm: Vector) -> Pair:
    """A motion, given at a point, at the point `arm` away."""
    return vec.add(column[0], vec.cross(column[1], arm)), column[1]


def aligned_rates(tree: Sweeps, v: Field[Sequence[Scalar]]) -> Matrices:
    """dJ/dt in the world's axes, at the frame's origin: the axes of body j rotate with w_j, and both ends of the lever
    arm move."""

    def start(placement: Transform, link: Swinging) -> Arm:
        linear, angular = link.velocity
        of_origin = vec.add(linear, vec.cross(angular, placement.translation))
        return Arm(vec.times(link.relative.axes, placement.translation), vec.times(link.relative.axes, of_origin))

    def meet(joint: Joint, carry: Arm, link: Swinging) -> list[Pair]:
        linear, angular = turned(link.relative.axes, link.velocity)
        rate = vec.sub(carry.velocity, linear)
        return [_rate(turned(link.relative.axes, dof.column), angular, carry.arm, rate) for dof in joint.dofs]

    def rise(_: Joint, carry: Arm, link: Swinging) -> Arm:
        return Arm(vec.add(carry.arm, link.relative.offset), carry.velocity)

    return tree.frame_columns(start, meet, rise, STILL, tree.forward(swinging, STILL, v))


def world_rates(tree: Sweeps, v: Field[Sequence[Scalar]]) -> Matrices:
    """dJ/dt in the world's axes, at the world's origin."""

    def meet(joint: Joint, _: None, link: Moving) -> list[Pair]:
        linear, angular = turned(link.pose.axes, link.velocity)
        arm, rate = vec.scale(-1.0, link.pose.origin), vec.scale(-1.0, linear)
        return [_rate(turned(link.pose.axes, dof.column), angular, arm, rate) for dof in joint.dofs]

    return tree.frame_columns(no_carry, meet, no_carry, AT_REST, tree.forward(moving, AT_REST, v))


def _rate(column: Pair, w: Vector, arm: Vector, arm_rate: Vector) -> Pair:
    """The time derivative of `_at` for a column whose axes rotate with w; arm_rate is that of arm."""
    turning = vec.cross(w, column[1])
    slide = vec.add(vec.cross(w, column[0]), vec.cross(turning, arm))
    return vec.add(slide, vec.cross(column[1], arm_rate)), turning


def frame_jacobians(tree: Sweeps, reference_frame: str = "") -> list[Scalar]:
    """J of every requested frame, (6, nv), row by row, in the tree's reference frame unless another one is given."""
    seen_from = {"local": local_jacobians, "local_world_aligned": aligned_jacobians, "world": world_jacobians}
    return _flat(tree, seen_from[reference_frame or tree.reference_frame](tree))


def frame_jacobian_rates(tree: Sweeps, v: Field[Sequence[Scalar]]) -> list[Scalar]:
    """dJ/dt of every requested frame: the time derivatives of the entries of J."""
    seen_from = {"local": local_rates, "local_world_aligned": aligned_rates, "world": world_rates}
    return _flat(tree, seen_from[tree.reference_frame](tree, v))


def _flat(tree: Sweeps, matrices: Matrices) -> list[Scalar]:
    """All entries; zeros for a frame of the world, which no joint moves."""
    still = [[number(0.0)] * tree.nv] * 6
    return [x for matrix in matrices for row in matrix or still for x in row]
