"""Forward dynamics, a link a lane: rotations out, articulated elements in, affine maps of accelerations out.

As in chunks of a chain what velocities do enters joint by joint, in each link's own frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

from condyle.algorithms import aba, rotors
from condyle.algorithms.aba import Elimination
from condyle.algorithms.joint import Joint
from condyle.algorithms.rnea import NO_FORCE, Wrench, coasting, less_external, newton_euler, turning
from condyle.algorithms.scans.affine import Map, Outward
from condyle.algorithms.scans.articulated import Bias, Segments, passes, single
from condyle.algorithms.values import flat, plus
from condyle.ir import chunked as ir
from condyle.model.tree import Tree
from condyle.scalar import Scalar, number
from condyle.spatial import six, twist
from condyle.spatial import vector as vec
from condyle.spatial.vector import ONE, Matrix
from condyle.trace.chunks.forward_dynamics import EMPTY, FREE, KNOWN, NOTHING, SAME, STILL, Turnings, turned
from condyle.trace.linked.links import MOST, Links
from condyle.trace.linked.universal import Universal
from condyle.trace.stage import Stage


class Freed(NamedTuple):
    """A joint whose load is known."""

    eliminated: tuple[Elimination, ...]
    u: tuple[Scalar, ...]
    known: Bias


SOLVER = [(ONE, vec.ZERO, *[Elimination(NO_FORCE, number(0.0))] * nv) for nv in range(MOST + 1)]
"""What `solve` needs of a joint, by its degrees of freedom: parent axes to its own, its origin, eliminations."""


def places_of_solver(tree: Tree) -> list[int]:
    """Where each link's numbers begin."""
    sizes = [len(flat(SOLVER[link.kind.nv])) for link in tree.links]
    return [sum(sizes[:i]) for i in range(len(sizes))]


def size_of_solver(tree: Tree) -> int:
    return sum(len(flat(SOLVER[link.kind.nv])) for link in tree.links)


def eliminations(tree: Tree, lanes: int, guard: float) -> ir.Chunked:
    """What `solve` needs, from q."""
    links = Links(tree, lanes, False)
    for bank in ("v", "tau"):
        links.start(bank, (0.0,) * MOST)
    _loaded(links, guard)
    links.of_kinds("eliminate", lambda stage, joint: _eliminate(links, stage, joint))
    return links.chunked("eliminations", ("q",), {"solver": places_of_solver(tree)})


def forward_dynamics(tree: Tree, lanes: int, f_ext: bool, guard: float, solver: bool = False) -> ir.Chunked:
    """a = M(q)^-1 (tau - c(q, v, f_ext)). guard: see `Segments`. solver: what `solve` needs is an answer too."""
    links = Links(tree, lanes, f_ext)
    falling = (vec.scale(-1.0, (tree.gravity[0], tree.gravity[1], tree.gravity[2])), vec.ZERO)
    links.start("map", SAME, identity=True)
    links.start("reached", falling, identity=True)
    links.start("at", falling)
    _loaded(links, guard)
    if solver:
        links.of_kinds("eliminate", lambda stage, joint: _eliminate(links, stage, joint))
    links.of_kinds("free", lambda stage, joint: _free(links, stage, joint))
    links.outward("map", SAME, Outward().combine)
    links.all("reach", lambda stage: stage.write("reached", stage.value("map", SAME)(six.joined(falling))))
    links.of_parent("reached", "at", twist.ZERO)
    links.of_kinds("accelerate", lambda stage, joint: _accelerate(links, stage, joint))
    outputs = {"a": links.of_dofs(), **({"solver": places_of_solver(tree)} if solver else {})}
    return links.chunked("fd", ("q", "v", "tau", *(("f_ext",) if f_ext else ())), outputs)


def _loaded(links: Links, guard: float) -> None:
    """The load of every link, by a scan of elements."""
    links.start("turning", STILL, identity=True)
    links.start("segment", EMPTY, identity=True)
    for bank, value in (("wp", vec.ZERO), ("known", KNOWN), ("load", NOTHING)):
        links.start(bank, value)
    universal = Universal(links)
    links.sines()
    links.of_kinds("turn", _turn)
    links.outward("turning", STILL, Turnings().combine)
    links.of_parent("turning", "wp", vec.ZERO, 9)
    links.of_kinds("form", lambda stage, joint: _form(links, universal, stage, joint))
    universal.join()
    links.inward("segment", EMPTY, Segments(guard).combine, FREE)
    links.of_children("segment", "load", NOTHING, FREE)
    universal.part()


def _turn(stage: Stage, joint: Joint) -> None:
    stage.write("turning", turned(joint, STILL, stage.read("v", len(joint.dofs))))


def _form(links: Links, universal: Universal, stage: Stage, joint: Joint) -> None:
    """What velocity does to a link, and the link as an element."""
    v, tau = stage.read("v", len(joint.dofs)), _tau(links, stage, joint)
    moved = coasting(joint, stage.value("wp", vec.ZERO), v)
    force = newton_euler(joint, turning(moved.w))
    if links.f_ext:
        force = less_external(joint, force, links.external(stage))
    known = Bias((moved.a, moved.dw), force)
    stage.write("known", known)
    stage.write("segment", single(joint, aba.rigid(joint), known.force, known.before, tau))
    universal.form(stage, joint, known.before, tau)


def _tau(links: Links, stage: Stage, joint: Joint) -> Sequence[Scalar]:
    """tau less what the rotors of a free joint take of it."""
    tau = stage.read("tau", len(joint.dofs))
    return rotors.less_bias(joint, tau, stage.read("v", len(tau))) if links.tree.has_free_rotors else tau


def _freed(links: Links, stage: Stage, joint: Joint) -> Freed:
    known, load = stage.value("known", KNOWN), stage.value("load", NOTHING)
    eliminated, _ = aba.articulate(joint, plus(aba.rigid(joint), load.J))
    force = Wrench(*twist.add(known.force, load.h))
    u, _ = aba.load(joint, force, eliminated, _tau(links, stage, joint))
    return Freed(eliminated, u, known)


def _eliminate(links: Links, stage: Stage, joint: Joint) -> None:
    rows = vec.transpose(cast(Matrix, tuple(joint.rotation.into(e) for e in ONE)))
    stage.write("solver", (rows, joint.origin, *_freed(links, stage, joint).eliminated))


def _free(links: Links, stage: Stage, joint: Joint) -> None:
    """The map of accelerations through a joint."""
    eliminated, u, known = _freed(links, stage, joint)
    _, b = aba.respond(joint, known.before, u, eliminated)
    stage.write("map", Map(passes(joint, eliminated), six.joined(b)))


def _accelerate(links: Links, stage: Stage, joint: Joint) -> None:
    eliminated, u, known = _freed(links, stage, joint)
    at = twist.add(aba.carry(joint, stage.value("at", twist.ZERO)), known.before)
    stage.write("a", aba.respond(joint, at, u, eliminated)[0])
