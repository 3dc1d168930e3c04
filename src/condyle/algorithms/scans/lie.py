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
from condyle.spatial import twist
from condyle.spatial import vector as vec
from condyle.spatial.transform import IDENTITY, Transform
from condyle.spatial.twist import Pair


class Moved(NamedTuple):
    """Pose, acceleration and velocity of a segment's tip against its base, in the tip's frame."""

    pose: Transform
    acceleration: Pair
    velocity: Pair


class Motions:
    """The group of the paper's equation 13."""

    def identity(self) -> Moved:
        return Moved(IDENTITY, twist.ZERO, twist.ZERO)

    def combine(self, base: Moved, tip: Moved) -> Moved:
        velocity = tip.pose.motion_to_child(base.velocity)
        acceleration = twist.add(tip.pose.motion_to_child(base.acceleration), tip.acceleration)
        coriolis = twist.cross_motion(velocity, tip.velocity)  # - ad_V Ad_g V'
        return Moved(base.pose.compose(tip.pose), twist.add(acceleration, coriolis), twist.add(velocity, tip.velocity))

    def inverse(self, a: Moved) -> Moved:
        velocity = _minus(a.pose.motion_to_parent(a.velocity))
        # from combine(inverse, a) = identity: the Coriolis term of a velocity on itself is zero
        acceleration = _minus(a.pose.motion_to_parent(a.acceleration))
        return Moved(a.pose.inverse(), acceleration, velocity)


class Loaded(NamedTuple):
    """A segment's pose, and the force at its base that all its links need, in the frame before its first link."""

    pose: Transform
    force: Wrench


class Forces:
    """(g, F) + (g', F') = (g g', F + Ad*_g F'), the base first."""

    def identity(self) -> Loaded:
        return Loaded(IDENTITY, NO_FORCE)

    def combine(self, base: Loaded, tip: Loaded) -> Loaded:
        force = twist.add(base.force, base.pose.force_to_parent(tip.force))
        return Loaded(base.pose.compose(tip.pose), Wrench(*force))

    def inverse(self, a: Loaded) -> Loaded:
        back = a.pose.inverse()
        return Loaded(back, Wrench(*_minus(back.force_to_parent(a.force))))


def _minus(a: Pair) -> Pair:
    return vec.scale(-1.0, a[0]), vec.scale(-1.0, a[1])
