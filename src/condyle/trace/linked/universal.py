"""Universal joints: the massless link inside makes one element with the link behind it, as in `algorithms.scans`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from condyle.algorithms import aba
from condyle.algorithms.joint import Dof, Inertia, Joint
from condyle.algorithms.rnea import NO_FORCE
from condyle.algorithms.scans.articulated import NO_INERTIA, extended
from condyle.algorithms.unrolled import is_zero
from condyle.ir import chunked as ir
from condyle.model.tree import Tree
from condyle.scalar import Scalar, number
from condyle.spatial import twist
from condyle.spatial import vector as vec
from condyle.spatial.rotation import Full
from condyle.spatial.transform import Transform
from condyle.spatial.twist import Pair
from condyle.spatial.vector import ONE, Matrix
from condyle.trace.chunks.forward_dynamics import EMPTY, KNOWN, NOTHING
from condyle.trace.linked.links import Links
from condyle.trace.stage import Stage

ZERO = number(0.0)
HINGE = (ONE, vec.ZERO, twist.ZERO, ZERO, ZERO)
"""Rotation and origin of a turning joint, the bias acceleration behind it, its torque and its armature."""


class Universal:
    """The universal joints of a tree, if it has any."""

    def __init__(self, links: Links) -> None:
        self.links = links
        inside = _inside(links.tree)
        self.some = bool(inside)
        if not self.some:
            return
        for rows, met in (("inside", inside), ("outside", {first: second for second, first in inside.items()})):
            links.partners[rows] = (tuple(met.get(lane, ir.NONE) for lane in range(links.lanes)),)
        links.start("hinge", HINGE)
        links.start("handed", NOTHING)

    def form(self, stage: Stage, joint: Joint, before: Pair, tau: Sequence[Scalar]) -> None:
        """What the link behind needs of a joint, beside the joint's own element. before: see `extended`."""
        if self.some and _turns(joint):
            axes = vec.transpose(cast(Matrix, tuple(joint.rotation.into(e) for e in ONE)))
            stage.write("hinge", (axes, joint.origin, before, tau[0], joint.dofs[0].armature))

    def join(self) -> None:
        """One element for both links, where the second is."""
        if not self.some:
            return
        stage = Stage("inside")
        axes, origin, before, torque, armature = stage.value("base", HINGE)
        turn = Dof(vec.ZERO, (ZERO, ZERO, number(1.0)), armature)
        joint = Joint(Transform(Full(axes), origin), (turn,), Inertia(ZERO, vec.ZERO, vec.ZERO_SYMMETRIC), True)
        both = extended(joint, stage.value("tip", EMPTY), NO_INERTIA, NO_FORCE, before, (torque,))
        stage.write("segment", both)
        none = Stage("outside")
        none.write("segment", EMPTY)
        self.links.ops.append(ir.Meet(stage.program(), "segment", "hinge", "inside", False))
        self.links.ops.append(ir.Meet(none.program(), "segment", "handed", "outside", True))

    def part(self) -> None:
        """What the second link alone hands to the first."""
        if not self.some:
            return
        self.links.of_kinds("part", _part)
        stage = Stage("outside")
        stage.write("load", stage.value("tip", NOTHING))
        self.links.ops.append(ir.Meet(stage.program(), "load", "handed", "outside", True))


def _inside(tree: Tree) -> dict[int, int]:
    """The second link of each universal joint, and its first."""
    links = tree.links
    return {i: link.parent for i, link in enumerate(links) if link.parent >= 0 and links[link.parent].body < 0}


def _turns(joint: Joint) -> bool:
    """Whether it may be one of the two revolute joints of a universal one."""
    return len(joint.dofs) == 1 and is_zero(joint.dofs[0].linear[2])


def _part(stage: Stage, joint: Joint) -> None:
    if not _turns(joint):
        return
    known, load = stage.value("known", KNOWN), stage.value("load", NOTHING)
    after = extended(joint, load.segment(), aba.rigid(joint), known.force, known.before, stage.read("tau", 1))
    stage.write("handed", after.load)
