"""Universal joints: the link inside is massless and has no element; it forms one element with the link after it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from condyle.algorithms.joint import NO_BODY, Dof, Joint
from condyle.algorithms.rnea import NO_FORCE
from condyle.links.algorithms.articulated import NO_INERTIA, NOTHING, Bias, Load, Segment, extended, in_front
from condyle.links.algorithms.inverse_dynamics import axes_of
from condyle.links.algorithms.links import Links, OfJoints
from condyle.scalar import Scalar, is_zero, number
from condyle.spatial import twist
from condyle.spatial import vector as vec
from condyle.spatial.rotation import Full
from condyle.spatial.transform import Transform
from condyle.spatial.twist import Pair
from condyle.spatial.vector import IDENTITY_MATRIX, Matrix, Vector

ZERO = number(0.0)


class Hinge(NamedTuple):
    """The first of the two revolute joints: axes and origin, bias acceleration of its link, torque and armature."""

    axes: Matrix
    origin: Vector
    before: Pair
    tau: Scalar
    armature: Scalar


class Universal:
    """The universal joints of a tree, if it has any."""

    def __init__(self, links: Links) -> None:
        self.links, tree = links, links.tree.links
        self.first = [i.parent if i.parent >= 0 and tree[i.parent].body < 0 else -1 for i in tree]
        second = {first: i for i, first in enumerate(self.first) if first >= 0}
        self.second = [second.get(i, -1) for i in range(len(tree))]
        self.some = bool(second)

    def joined(self, segments: Segment, bias: Bias, tau: OfJoints) -> Segment:
        """One element for both links, stored at the second; the first gets an empty one."""
        if not self.some:
            return segments
        hinges = self.links.each(_hinge, bias, tau)
        segments = self.links.with_partner(self.first, _joined, segments, hinges)
        return self.links.with_partner(self.second, _empty, segments, hinges)

    def parted(self, load: Load, bias: Bias, tau: OfJoints) -> Load:
        """The load that the second link alone passes to the first."""
        if not self.some:
            return load
        return self.links.with_partner(self.second, _handed, load, self.links.each(_second, bias, load, tau))


def _turns(joint: Joint) -> bool:
    """Whether the joint can be one of the two revolute joints of a universal joint."""
    return len(joint.dofs) == 1 and is_zero(joint.dofs[0].linear[2])


def _hinge(joint: Joint, bias: Bias, tau: Sequence[Scalar]) -> Hinge:
    if not _turns(joint):
        return Hinge(IDENTITY_MATRIX, vec.ZERO, twist.ZERO, ZERO, ZERO)
    return Hinge(axes_of(joint), joint.origin, bias.before, tau[0], joint.dofs[0].armature)


def _joined(segment: Segment, hinge: Hinge) -> Segment:
    turn = Dof(vec.ZERO, (ZERO, ZERO, number(1.0)), hinge.armature)
    joint = Joint(Transform(Full(vec.transpose(hinge.axes)), hinge.origin), (turn,), NO_BODY, True)
    return in_front(joint, NO_INERTIA, Bias(hinge.before, NO_FORCE), segment, (hinge.tau,))


def _empty(segment: Segment, hinge: Hinge) -> Segment:
    return NOTHING.segment()


def _second(joint: Joint, bias: Bias, load: Load, tau: Sequence[Scalar]) -> Load:
    if not _turns(joint):
        return NOTHING
    return extended(joint, bias, load.segment(), tau).load


def _handed(load: Load, second: Load) -> Load:
    return second
