"""Columns of M^-1 and of products with it, a link a lane: two affine scans that some columns share.

What they need is known of every joint at q: where it stands, and what was eliminated there (`forward_dynamics`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from condyle.algorithms import aba
from condyle.algorithms.aba import Elimination
from condyle.algorithms.joint import Dof, Inertia, Joint
from condyle.algorithms.rnea import NO_FORCE, Wrench
from condyle.algorithms.scans.affine import Inward, Map, Outward
from condyle.algorithms.scans.articulated import passes
from condyle.ir import chunked as ir
from condyle.model.joints.base import JointType
from condyle.model.tree import Tree
from condyle.scalar import Scalar, number
from condyle.spatial import six, twist
from condyle.spatial import vector as vec
from condyle.spatial.rotation import Full
from condyle.spatial.six import Rows, Six
from condyle.spatial.transform import Transform
from condyle.spatial.twist import Pair
from condyle.trace.linked.forward_dynamics import SOLVER, places_of_solver
from condyle.trace.linked.links import Links
from condyle.trace.stage import Stage

COLUMNS = 4
"""That share their maps: with these they are just as many numbers as lanes hand each other in registers."""
MAP = 36
"""Entries of `Maps` from which on it is what a branch hands over."""


class Maps(NamedTuple):
    """x -> A x + b for several columns."""

    A: Rows
    b: tuple[Six, ...]


class Solving(NamedTuple):
    """A joint, what was eliminated there, and the forces on it, a column each."""

    joint: Joint
    eliminated: tuple[Elimination, ...]
    tau: list[list[Scalar]]


NONE = (six.ZERO,) * COLUMNS
SAME = Maps(six.ONE, NONE)


def solve(tree: Tree, lanes: int, unit: bool) -> ir.Chunked:
    """x = -M^-1 x for columns of a matrix, in place; unit: M^-1 itself."""
    links = Links(tree, lanes, False)
    source = "unit" if unit else "given"
    links.start("inner", SAME, identity=True)
    links.start("outer", SAME, identity=True)
    links.start("received", NONE)
    links.start("at", NONE)
    _of_kinds(links, source, "gather", _gather)
    links.inward("inner", SAME, _combined(Inward().combine), MAP)
    links.of_children("inner", "received", NONE, MAP)
    _of_kinds(links, source, "respond", _respond)
    links.outward("outer", SAME, _combined(Outward().combine))
    links.of_parent("outer", "at", NONE, MAP)
    _of_kinds(links, source, "answer", _answer)
    rows, nv = links.of_dofs(), tree.nv
    of_matrix = [nv * at for at in rows]
    places = {"solver": places_of_solver(tree), "x": of_matrix, **({"unit": rows} if unit else {"given": of_matrix})}
    ports = ("solver",) if unit else ("solver", "given")
    return links.columns("solve", ports, "x", places, ir.Columns(COLUMNS, nv, unit))


def _of_kinds(links: Links, source: str, name: str, step: Callable[[Stage, Solving], None]) -> None:
    for k, kind in enumerate(links.kinds):
        stage = Stage(name)
        step(stage, _solving(links, source, stage, kind))
        links.ops.append(ir.Sweep(stage.program(), False, k))


def _solving(links: Links, source: str, stage: Stage, kind: JointType) -> Solving:
    rotation, origin, *eliminated = stage.value("solver", SOLVER[kind.nv])
    none = number(0.0)
    subspace = kind.subspace(links.numbers(stage).pitch)
    dofs = tuple(Dof(linear, angular, none) for linear, angular in subspace)
    joint = Joint(Transform(Full(rotation), origin), dofs, Inertia(none, vec.ZERO, vec.ZERO_SYMMETRIC), True)
    given = stage.read(source, kind.nv * COLUMNS)
    forces = given if source == "unit" else [-x for x in given]
    tau = [[forces[d * COLUMNS + c] for d in range(kind.nv)] for c in range(COLUMNS)]
    return Solving(joint, tuple(eliminated), tau)


def _combined(combine: Callable[[Map, Map], Map]) -> Callable[[Maps, Maps], Maps]:
    """Column by column; the product of the matrices is the same for all."""

    def together(base: Maps, tip: Maps) -> Maps:
        maps = [combine(Map(base.A, b), Map(tip.A, c)) for b, c in zip(base.b, tip.b, strict=True)]
        return Maps(maps[0].A, tuple(one.b for one in maps))

    return together


def _gather(stage: Stage, of: Solving) -> None:
    """Forces through a joint, from those behind it to those before it."""
    up = [aba.load(of.joint, NO_FORCE, of.eliminated, tau)[1] for tau in of.tau]
    across = six.transpose(passes(of.joint, of.eliminated))
    stage.write("inner", Maps(across, tuple(six.joined(force) for force in up)))


def _left(stage: Stage, of: Solving) -> list[Sequence[Scalar]]:
    """u of each column, now that what a joint carries is known."""
    received = (Wrench(*six.halves(b)) for b in stage.value("received", NONE))
    return [aba.load(of.joint, b, of.eliminated, tau)[0] for b, tau in zip(received, of.tau, strict=True)]


def _respond(stage: Stage, of: Solving) -> None:
    reached = [aba.respond(of.joint, twist.ZERO, u, of.eliminated)[1] for u in _left(stage, of)]
    stage.write("outer", Maps(passes(of.joint, of.eliminated), tuple(six.joined(at) for at in reached)))


def _answer(stage: Stage, of: Solving) -> None:
    before: list[Pair] = [aba.carry(of.joint, six.halves(b)) for b in stage.value("at", NONE)]
    left = zip(before, _left(stage, of), strict=True)
    rates = [aba.respond(of.joint, at, u, of.eliminated)[0] for at, u in left]
    stage.write("x", tuple(zip(*rates, strict=True)))
