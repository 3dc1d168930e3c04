"""Derivatives of inverse dynamics and M: sums over subtrees with a link a lane, then products of pairs, all at once.

The first part leaves a record of every degree of freedom, in world axes about its link's own origin; the second makes
an entry of the matrices from two records and the distance between them. See `algorithms.rnea_derivatives`.
"""

from __future__ import annotations

from typing import NamedTuple

from condyle.algorithms import rnea_derivatives as closed
from condyle.algorithms.joint import Dof, Inertia, Joint, along
from condyle.algorithms.rnea import NO_FORCE, Wrench, at_rest, spin
from condyle.algorithms.rnea_derivatives import Before, Carried, Column, Momentum, State
from condyle.algorithms.scans.motions import second_lever
from condyle.algorithms.values import flat, plus
from condyle.ir import chunked as ir
from condyle.ir.pairs import Pairs
from condyle.ir.program import Program
from condyle.model.tree import Tree, carried
from condyle.scalar import Scalar, number
from condyle.spatial import vector as vec
from condyle.spatial.rotation import Full, Identity, Rotation
from condyle.spatial.transform import Transform
from condyle.spatial.vector import ONE, Matrix, Symmetric, Vector
from condyle.trace.linked.inverse_dynamics import forced, into, motion_of, moved, out
from condyle.trace.linked.links import MOST, Links
from condyle.trace.stage import Stage

BODY = Inertia(number(0.0), vec.ZERO, vec.ZERO_SYMMETRIC)


class Record(NamedTuple):
    """A degree of freedom: what it carries to its ancestors, what it is to those that it carries, and where it is,
    seen from the root link.
    """

    carried: Carried
    motion: Wrench
    column: Column
    place: Vector
    armature: Scalar


class Linear(NamedTuple):
    """Momentum and first moment of all that a joint carries; `Momentum` has the first twice."""

    p: Vector
    first: Vector


class Quadratic(NamedTuple):
    """Twice sum m u rᵀ and sum m r rᵀ of all that a joint carries."""

    Q: Matrix
    second: Symmetric


EMPTY = Record(
    Carried(NO_FORCE, vec.ZERO, NO_FORCE, NO_FORCE),
    NO_FORCE,
    Column(NO_FORCE, NO_FORCE, NO_FORCE),
    vec.ZERO,
    number(0.0),
)
RECORD = len(flat(EMPTY))
LINEAR, QUADRATIC = Linear(vec.ZERO, vec.ZERO), Quadratic(vec.ZERO_MATRIX, vec.ZERO_SYMMETRIC)


def records(tree: Tree, lanes: int, f_ext: bool, still: bool = False) -> ir.Chunked:
    """Records of all degrees of freedom, from q, v, a; still: from q, nothing moves."""
    links = Links(tree, lanes, f_ext)
    if still:
        links.start("v", (0.0,) * MOST)
        links.start("a", (0.0,) * MOST)
    for bank, value in (("u", vec.ZERO), ("place", vec.ZERO), ("linear", LINEAR), ("quadratic", QUADRATIC)):
        links.start(bank, value, identity=True)
    links.start("levers", QUADRATIC, identity=True)
    for bank, value in (("before_u", vec.ZERO), ("before_lift", vec.ZERO), ("weights", vec.ZERO)):
        links.start(bank, value)
    links.start("weight", vec.ZERO, identity=True)
    links.start("behind", QUADRATIC)
    moved(links)
    links.all("speed", lambda stage: _speed(links, stage))
    links.outward("u", vec.ZERO, plus)
    links.outward("place", vec.ZERO, plus)
    links.of_parent("u", "before_u", vec.ZERO)
    links.of_parent("lift", "before_lift", vec.ZERO)
    forced(links)
    links.all("moments", lambda stage: _moments(links, stage))
    links.of_children("weight", "weights", vec.ZERO)
    links.all("first", _first)
    links.inward("linear", LINEAR, plus)
    links.all("levers", lambda stage: _levers(links, stage))
    links.of_children("levers", "behind", QUADRATIC)
    links.all("second", _second)
    links.inward("quadratic", QUADRATIC, plus)
    links.of_kinds("record", lambda stage, joint: _record(links, stage, joint))
    first = [RECORD * at for at in links.of_dofs()]
    inputs = ("q",) if still else ("q", "v", "a", *(("f_ext",) if f_ext else ()))
    return links.chunked("records", inputs, {"record": first})


def pairs(tree: Tree) -> Pairs:
    """Both derivatives, of records."""
    return Pairs("did", _half(upper=False), _half(upper=True), RECORD, 2, spans(tree))


def mass_pairs(tree: Tree) -> Pairs:
    """M, of records."""
    return Pairs("m", _mass("column", "row"), _mass("row", "column"), RECORD, 1, spans(tree), RECORD - 1)


def _mass(ancestor: str, of: str) -> Program:
    """S_jᵀ I_i S_i, with the second brought to the first."""
    stage = Stage("mass")
    over, under = stage.value(ancestor, EMPTY), stage.value(of, EMPTY)
    stage.write("0", along(_dof(over), *_brought(over, under).inertia))
    return stage.program()


def spans(tree: Tree) -> tuple[tuple[int, int], ...]:
    """For every degree of freedom its link and the last of those that it carries, numbered so that these follow it."""
    counts = carried(tree.parents, [1] * len(tree.links))
    free, found = {-1: 0}, [(0, 0)] * tree.nv
    for i, (link, count) in enumerate(zip(tree.links, counts, strict=True)):
        first = free[link.parent]
        free[link.parent] += count
        free[i] = first + 1
        for coordinate in link.v:
            found[coordinate.at] = (first, first + count - 1)
    return tuple(found)


def _half(upper: bool) -> Program:
    """Entries (row, column) of both matrices: where the column's joint carries the row's, or is the same; upper: where
    the row's carries the column's.
    """
    stage = Stage("upper" if upper else "lower")
    row, column = stage.value("row", EMPTY), stage.value("column", EMPTY)
    by_q, by_v = _meeting(row, column)[2:] if upper else _meeting(column, row)[:2]
    stage.write("0", by_q)
    stage.write("1", by_v)
    return stage.program()


def _meeting(ancestor: Record, of: Record) -> tuple[object, ...]:
    joint = Joint(Transform(Identity(), vec.ZERO), (_dof(ancestor),), BODY, True)
    (values,) = closed.meet(joint, _brought(ancestor, of), (ancestor.column,))
    return tuple(values)


def _brought(ancestor: Record, of: Record) -> Carried:
    """What a degree of freedom carries, about the origin of one that carries it."""
    return closed.rise(Joint(Transform(Identity(), vec.sub(of.place, ancestor.place)), (), BODY, True), of.carried)


def _dof(of: Record) -> Dof:
    return Dof(of.motion.force, of.motion.torque, number(0.0))


def _speed(links: Links, stage: Stage) -> None:
    """Linear velocity against the parent's, and the way from the parent, none at a root."""
    offset = stage.value("offset", vec.ZERO)
    stage.write("u", vec.add(vec.cross(stage.value("wp", vec.ZERO), offset), stage.value("slide", vec.ZERO)))
    stage.write("place", vec.scale(links.hangs(stage), offset))


def _state(links: Links, stage: Stage) -> State:
    """In a link's own axes."""
    wp, dwp, offset = (stage.value(bank, vec.ZERO) for bank in ("wp", "dwp", "offset"))
    x, y, z = (number(g) for g in links.tree.gravity)
    u = vec.add(stage.value("before_u", vec.ZERO), vec.cross(wp, offset))
    a = vec.add(stage.value("before_lift", vec.ZERO), at_rest((x, y, z)).a)
    a = vec.add(a, vec.times(spin(wp, dwp), offset))
    before = Before(into(stage, wp), into(stage, u), into(stage, dwp), into(stage, a))
    return State(motion_of(links, stage), into(stage, stage.value("u", vec.ZERO)), before)


def _own(stage: Stage) -> Rotation:
    """World axes to a link's own."""
    return Full(vec.transpose(stage.value("axes", ONE)))


def _moments(links: Links, stage: Stage) -> None:
    """Of a body, in world axes, and the lever of the mass that its joint carries."""
    inertia, own = links.inertia(stage), _own(stage)
    body = Joint(Transform(Identity(), vec.ZERO), (), inertia, True)
    momentum = closed.own_momentum(body, _state(links, stage))
    stage.write("linear", Linear(own.back(momentum.p), own.back(inertia.first)))
    stage.write("quadratic", Quadratic(own.back_matrix(momentum.Q), own.back_symmetric(inertia.second)))
    stage.write("weight", vec.scale(links.carried_mass(stage), stage.value("offset", vec.ZERO)))


def _first(stage: Stage) -> None:
    linear = stage.value("linear", LINEAR)
    stage.write("linear", Linear(linear.p, vec.add(linear.first, stage.value("weights", vec.ZERO))))


def _levers(links: Links, stage: Stage) -> None:
    """What about the parent's origin differs from what is about the own."""
    linear, offset = stage.value("linear", LINEAR), stage.value("offset", vec.ZERO)
    second = second_lever(links.carried_mass(stage), linear.first, offset)
    stage.write("levers", Quadratic(vec.outer(linear.p, offset), second))


def _second(stage: Stage) -> None:
    stage.write("quadratic", plus(stage.value("quadratic", QUADRATIC), stage.value("behind", QUADRATIC)))


def _record(links: Links, stage: Stage, joint: Joint) -> None:
    own, state = _own(stage), _state(links, stage)
    linear, quadratic = stage.value("linear", LINEAR), stage.value("quadratic", QUADRATIC)
    back = Full(stage.value("axes", ONE))
    inertia = Inertia(links.carried_mass(stage), back.back(linear.first), back.back_symmetric(quadratic.second))
    momentum = Momentum(back.back(linear.p), back.back_matrix(quadratic.Q))
    force = Wrench(*(into(stage, stage.value(bank, vec.ZERO)) for bank in ("force", "torque")))
    columns = closed.columns(joint, state)
    world = Joint(Transform(own, vec.ZERO), (), joint.inertia, True)
    for k, dof in enumerate(joint.dofs):
        brought = closed.rise(world, closed.start(joint, k, columns, inertia, momentum, force))
        motion = Wrench(out(stage, dof.linear), out(stage, dof.angular))
        rate, rate2, both = (Wrench(out(stage, pair[0]), out(stage, pair[1])) for pair in columns[k])
        place = stage.value("place", vec.ZERO)
        record = Record(brought, motion, Column(rate, rate2, both), place, dof.armature)
        stage.write("record", record, k * RECORD)
