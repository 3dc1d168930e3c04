"""Placements, velocities and accelerations of frames.

Featherstone 2008, sections 4.2 and 2.7. Reference frames are Pinocchio's: "local" is the frame itself, "world" the
world's axes and origin, "local_world_aligned" the world's axes at the frame's origin. Velocities are (linear, angular).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from condyle.algorithms import rnea
from condyle.algorithms.joint import Joint
from condyle.algorithms.rnea import Motion
from condyle.algorithms.sweeps import Field, Sweeps
from condyle.scalar import Scalar
from condyle.spatial import twist
from condyle.spatial import vector as vec
from condyle.spatial.rotation import Axes, Rotation, Transform
from condyle.spatial.twist import Pair
from condyle.spatial.vector import Matrix, Vector


class Pose(NamedTuple):
    """The placement of a frame in the world: x_world = axes x + origin; the columns of `axes` are the frame's axes."""

    axes: Matrix
    origin: Vector

    @property
    def transform(self) -> Transform:
        return Transform(Axes(self.axes), self.origin)


class Moving(NamedTuple):
    """A pose, and the velocity (linear, angular) in the axes of the frame itself."""

    pose: Pose
    velocity: Pair


class Accelerated(NamedTuple):
    """A pose, and the motion in the axes of the frame itself."""

    pose: Pose
    motion: Motion


class Relative(NamedTuple):
    """The axes of a body in the world, its columns, and the vector from its parent's origin to its own, in the world's
    axes. Sums of such vectors along a path lose no digits where the robot is far from the world's origin."""

    axes: Matrix
    offset: Vector


WORLD = Pose(vec.IDENTITY_MATRIX, vec.ZERO)
AT_REST = Moving(WORLD, twist.ZERO)
ROOT = Relative(vec.IDENTITY_MATRIX, vec.ZERO)


def inside(pose: Pose, placement: Transform) -> Pose:
    """The pose of a frame whose placement is `placement` in the frame that has this pose."""
    return Pose(
        axes_inside(pose.axes, placement.rotation), vec.add(pose.origin, vec.times(pose.axes, placement.translation))
    )


def axes_inside(axes: Matrix, rotation: Rotation) -> Matrix:
    """The axes in the world of a frame with this rotation in the frame that has these axes."""
    x, y, z = axes
    into = rotation.into
    return into(x), into(y), into(z)


def placed(joint: Joint, parent: Pose) -> Pose:
    """Forward step: the pose of the body."""
    return inside(parent, joint.transform)


def relative(joint: Joint, parent: Relative) -> Relative:
    """Forward step: the body's axes, and its origin seen from its parent's."""
    return Relative(axes_inside(parent.axes, joint.rotation), vec.times(parent.axes, joint.origin))


def velocity(joint: Joint, parent: Pair, v: Sequence[Scalar]) -> Pair:
    """Forward step: v_i = X v_p + S v."""
    return twist.add(joint.transform.motion_to_child(parent), joint.rate(v))


def moving(joint: Joint, parent: Moving, v: Sequence[Scalar]) -> Moving:
    """Forward step: pose and velocity of the body."""
    return Moving(placed(joint, parent.pose), velocity(joint, parent.velocity, v))


def accelerated(joint: Joint, parent: Accelerated, v: Sequence[Scalar], a: Sequence[Scalar]) -> Accelerated:
    """Forward step: pose and motion of the body."""
    return Accelerated(placed(joint, parent.pose), rnea.motion(joint, parent.motion, v, a))


def placements(tree: Sweeps) -> Field[Pose]:
    """The pose of every body."""
    return tree.forward(placed, WORLD)


def relatives(tree: Sweeps) -> Field[Relative]:
    """Every body seen from its parent, in the world's axes."""
    return tree.forward(relative, ROOT)


def frame_placements(tree: Sweeps) -> tuple[list[Scalar], list[Scalar]]:
    """(rotations, 9 numbers each, row by row; translations, 3 each) of every requested frame in the world."""
    poses = tree.at_frames(lambda at, pose: inside(pose, at), WORLD, placements(tree))
    return [x for pose in poses for row in pose.axes for x in row], [x for pose in poses for x in pose.origin]


def frame_velocities(tree: Sweeps, v: Field[Sequence[Scalar]]) -> list[Scalar]:
    """The velocity of every requested frame, [linear; angular] in the reference frame."""

    def seen(placement: Transform, link: Moving) -> Pair:
        if tree.reference_frame == "world":
            return link.pose.transform.motion_to_parent(link.velocity)
        local = placement.motion_to_child(link.velocity)
        return local if tree.reference_frame == "local" else turned(inside(link.pose, placement).axes, local)

    return _flat(tree.at_frames(seen, AT_REST, tree.forward(moving, AT_REST, v)))


def frame_accelerations(tree: Sweeps, v: Field[Sequence[Scalar]], a: Field[Sequence[Scalar]]) -> list[Scalar]:
    """The classical acceleration of every requested frame, [linear of its origin; angular], without gravity."""

    def seen(placement: Transform, link: Accelerated) -> Pair:
        of_origin = vec.add(link.motion.a, vec.times(link.motion.U, placement.translation))
        local = placement.rotation.into(of_origin), placement.rotation.into(link.motion.dw)
        return local if tree.reference_frame == "local" else turned(inside(link.pose, placement).axes, local)

    still = Accelerated(WORLD, rnea.at_rest(vec.ZERO))
    return _flat(tree.at_frames(seen, still, tree.forward(accelerated, still, v, a)))


def turned(axes: Matrix, pair: Pair) -> Pair:
    """Both parts, from the frame whose axes these columns are to the frame that the columns are given in."""
    return vec.times(axes, pair[0]), vec.times(axes, pair[1])


def _flat(pairs: Sequence[Pair]) -> list[Scalar]:
    return [x for linear, angular in pairs for x in (*linear, *angular)]
