"""The Lie-group element of Yang, Wu, Pan 2017, equation 13: velocities and accelerations of links by one scan.

An element (g, A, V) takes the motion of a segment's base to that of its tip: velocity Ad_g v + V, acceleration
Ad_g a + A - ad_V Ad_g v. In the paper's letters, the tip first:

    (g, A, V) + (g', A', V') = (g g', Ad_g A' + A - ad_V Ad_g V', Ad_g V' + V)

It is associative because it is a product of matrices: Ad_g ad_x Ad_g^-1 = ad_(Ad_g x), so that an element is
[[Ad_g, -ad_V Ad_g, A], [0, Ad_g, V], [0, 0, 1]]. Forces go the other way: (g, F) + (g', F') = (g g', F + Ad*_g F').
"""

from __future__ import annotations

from typing import NamedTuple

from condyle.algorithms.rnea import NO_FORCE, Wrench
from condyle.algorithms.scans.turns import Turns
from condyle.spatial import twist
from condyle.spatial import vector as vec
from condyle.spatial.rotation import Full
from condyle.spatial.twist import Pair
from condyle.spatial.vector import ONE, Matrix, Vector


class Pose(NamedTuple):
    """Axes of a segment's tip in the axes of its base (columns), and the tip's origin seen from the base."""

    axes: Matrix
    origin: Vector

    def motion_to_tip(self, m: Pair) -> Pair:
        """Ad_g m: a spatial motion about the tip's origin, in the tip's axes."""
        into = Full(vec.transpose(self.axes)).into
        return into(vec.add(m[0], vec.cross(m[1], self.origin))), into(m[1])

    def motion_to_base(self, m: Pair) -> Pair:
        """Ad_g^-1 m."""
        linear, angular = vec.times(self.axes, m[0]), vec.times(self.axes, m[1])
        return vec.sub(linear, vec.cross(angular, self.origin)), angular

    def force_to_base(self, f: Pair) -> Wrench:
        """Ad*_g f: a force about the base's origin, in the base's axes."""
        force, torque = vec.times(self.axes, f[0]), vec.times(self.axes, f[1])
        return Wrench(force, vec.add(torque, vec.cross(self.origin, force)))


def joined(base: Pose, tip: Pose) -> Pose:
    """The pose of the tip's tip in the base."""
    return Pose(Turns().combine(base.axes, tip.axes), vec.add(base.origin, vec.times(base.axes, tip.origin)))


class Moved(NamedTuple):
    """Pose, acceleration and velocity of a segment's tip against its base, in the tip's frame."""

    pose: Pose
    acceleration: Pair
    velocity: Pair


class Motions:
    """The group of the paper's equation 13."""

    def identity(self) -> Moved:
        return Moved(Pose(ONE, vec.ZERO), twist.ZERO, twist.ZERO)

    def combine(self, base: Moved, tip: Moved) -> Moved:
        velocity = tip.pose.motion_to_tip(base.velocity)
        acceleration = twist.add(tip.pose.motion_to_tip(base.acceleration), tip.acceleration)
        coriolis = twist.cross_motion(velocity, tip.velocity)  # - ad_V Ad_g V'
        return Moved(joined(base.pose, tip.pose), twist.add(acceleration, coriolis), twist.add(velocity, tip.velocity))

    def inverse(self, a: Moved) -> Moved:
        velocity = _minus(a.pose.motion_to_base(a.velocity))
        # from combine(inverse, a) = identity: the Coriolis term of a velocity on itself is zero
        acceleration = _minus(a.pose.motion_to_base(a.acceleration))
        back = Pose(vec.transpose(a.pose.axes), vec.scale(-1.0, vec.transposed_times(a.pose.axes, a.pose.origin)))
        return Moved(back, acceleration, velocity)


class Loaded(NamedTuple):
    """A segment's pose, and the force at its base that all its links need, in the frame before its first link."""

    pose: Pose
    force: Wrench


class Forces:
    """(g, F) + (g', F') = (g g', F + Ad*_g F'), the base first."""

    def identity(self) -> Loaded:
        return Loaded(Pose(ONE, vec.ZERO), NO_FORCE)

    def combine(self, base: Loaded, tip: Loaded) -> Loaded:
        force = twist.add(base.force, base.pose.force_to_base(tip.force))
        return Loaded(joined(base.pose, tip.pose), Wrench(*force))

    def inverse(self, a: Loaded) -> Loaded:
        back = Pose(vec.transpose(a.pose.axes), vec.scale(-1.0, vec.transposed_times(a.pose.axes, a.pose.origin)))
        return Loaded(back, Wrench(*_minus(back.force_to_base(a.force))))


def _minus(a: Pair) -> Pair:
    return vec.scale(-1.0, a[0]), vec.scale(-1.0, a[1])
