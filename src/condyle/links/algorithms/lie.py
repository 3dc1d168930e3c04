"""The element of Yang, Wu, Pan 2017, equation 13, in SE(3): velocities and accelerations of links by one scan.

An element (g, A, V) takes the motion of a segment's base to that of its tip: velocity Ad_g v + V, acceleration
Ad_g a + A - ad_V Ad_g v. In the paper's letters, the tip first:

    (g, A, V) + (g', A', V') = (g g', Ad_g A' + A - ad_V Ad_g V', Ad_g V' + V)

It is associative because it is a product of matrices: Ad_g ad_x Ad_g^-1 = ad_(Ad_g x), so that an element is
[[Ad_g, -ad_V Ad_g, A], [0, Ad_g, V], [0, 0, 1]]. Forces go the other way: (g, F) + (g', F') = (g g', F + Ad*_g F').
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from condyle.algorithms import crba
from condyle.algorithms.joint import NO_FORCE, Joint, Wrench
from condyle.algorithms.matrix import plus
from condyle.algorithms.rnea import torques
from condyle.links.algorithms.dynamics import axes_of, outer, rotor_rates
from condyle.links.algorithms.links import Links, OfJoints
from condyle.scalar import Scalar, number
from condyle.spatial import twist
from condyle.spatial import vector as vec
from condyle.spatial.rotation import IDENTITY, Axes, Transform
from condyle.spatial.twist import Pair
from condyle.spatial.vector import Vector


class Moved(NamedTuple):
    """Pose, acceleration and velocity of a segment's tip relative to its base, in the tip's frame (g, A, V)."""

    pose: Transform
    acceleration: Pair
    velocity: Pair


class Motions:
    """The composition of the paper's equation 13."""

    def identity(self) -> Moved:
        return Moved(IDENTITY, twist.ZERO, twist.ZERO)

    def combine(self, base: Moved, tip: Moved) -> Moved:
        velocity = tip.pose.motion_to_child(base.velocity)
        acceleration = twist.add(tip.pose.motion_to_child(base.acceleration), tip.acceleration)
        coriolis = twist.cross_motion(velocity, tip.velocity)  # - ad_V Ad_g V'
        return Moved(base.pose.compose(tip.pose), twist.add(acceleration, coriolis), twist.add(velocity, tip.velocity))


class Loaded(NamedTuple):
    """A segment's pose g, and the sum F of its links' forces, in the frame of the parent of its first link."""

    pose: Transform
    force: Wrench


class Forces:
    """(g, F) + (g', F') = (g g', F + Ad*_g F'), the base first."""

    def identity(self) -> Loaded:
        return Loaded(IDENTITY, NO_FORCE)

    def combine(self, base: Loaded, tip: Loaded) -> Loaded:
        force = twist.add(base.force, base.pose.force_to_parent(tip.force))
        return Loaded(base.pose.compose(tip.pose), Wrench(*force))

    def handed(self, branch: Loaded) -> Loaded:
        return Loaded(IDENTITY, branch.force)


def inverse_dynamics(links: Links, v: OfJoints, a: OfJoints) -> OfJoints:
    """tau by one scan of motions outward, one of forces inward."""
    pose = links.each(_pose)
    moved = links.outward(Motions(), links.each(_moved, pose, v, a))
    down = vec.scale(-1.0, links.gravity)
    own = links.each(partial(_force, down), moved, *outer(links))
    behind = links.inward(Forces(), links.all(_loaded, pose, own))
    total = links.all(plus, own, links.of_children(behind.force))
    return links.answer("tau", torques, total, rotor_rates(links, v, a))


def _pose(joint: Joint) -> Transform:
    return Transform(Axes(axes_of(joint)), joint.origin)


def _moved(joint: Joint, pose: Transform, v: Sequence[Scalar], a: Sequence[Scalar]) -> Moved:
    return Moved(pose, joint.rate(a), joint.rate(v))


def _force(down: Vector, joint: Joint, moved: Moved, *external: Wrench) -> Wrench:
    """I a + v x* I v - f_ext of one link, with spatial accelerations."""
    acceleration = twist.add(moved.pose.motion_to_child((down, vec.ZERO)), moved.acceleration)
    momentum = crba.times_motion(joint.inertia, *moved.velocity)
    own = twist.add(crba.times_motion(joint.inertia, *acceleration), twist.cross_force(moved.velocity, momentum))
    return Wrench(*(twist.add(own, twist.scale(number(-1.0), *external)) if external else own))


def _loaded(pose: Transform, wrench: Wrench) -> Loaded:
    return Loaded(pose, Wrench(*pose.force_to_parent(wrench)))
