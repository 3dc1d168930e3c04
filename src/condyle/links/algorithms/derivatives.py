"""M and the derivatives of inverse dynamics: sums over subtrees, then products of all pairs in parallel.

The first phase gives a record of every degree of freedom, in world axes about its link's own origin. The second
computes the entries of the matrices, each from two records and the vector between their origins. The equations are
those of `algorithms.rnea_derivatives` and `algorithms.crba`.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from condyle.algorithms import rnea_derivatives as closed
from condyle.algorithms.crba import unit_force
from condyle.algorithms.joint import NO_BODY, NO_FORCE, Dof, Inertia, Joint, Wrench
from condyle.algorithms.kinematics import turned
from condyle.algorithms.matrix import plus
from condyle.algorithms.rnea import Motion, at_rest, spin
from condyle.algorithms.rnea_derivatives import Before, Carried, Column, Momentum, State
from condyle.links.algorithms.dynamics import VECTORS, Rates, body, forces, into_own, motion, moved, world_axes
from condyle.links.algorithms.links import Links, OfJoints, Sums
from condyle.model.tree import Tree, carried
from condyle.scalar import Scalar, number
from condyle.spatial import twist
from condyle.spatial import vector as vec
from condyle.spatial.rotation import Full, Identity, Transform
from condyle.spatial.twist import Pair
from condyle.spatial.vector import IDENTITY_MATRIX, Matrix, Symmetric, Vector


class Record(NamedTuple):
    """Of a degree of freedom: its record for ancestors (`Carried`), S and its columns for those that it carries, and
    its link's origin relative to that of the root link."""

    carried: Carried
    motion: Pair
    column: Column
    origin: Vector


class MassRecord(NamedTuple):
    """The same for the mass matrix: I S, S, and armature."""

    inertia: Wrench
    motion: Pair
    origin: Vector
    armature: Scalar


class Linear(NamedTuple):
    """2 sum m u and sum m r over all bodies that a joint carries."""

    p: Vector
    first: Vector


class Quadratic(NamedTuple):
    """2 sum m u rᵀ and sum m r rᵀ over all bodies that a joint carries."""

    Q: Matrix
    second: Symmetric


class Moments(NamedTuple):
    """Both for a body alone."""

    linear: Linear
    quadratic: Quadratic


RECORD = Record(
    Carried(NO_FORCE, vec.ZERO, NO_FORCE, NO_FORCE), twist.ZERO, Column(twist.ZERO, twist.ZERO, twist.ZERO), vec.ZERO
)
MASS_RECORD = MassRecord(NO_FORCE, twist.ZERO, vec.ZERO, number(0.0))
SECOND = Sums(vec.ZERO_SYMMETRIC)
LINEAR, QUADRATIC = Sums(Linear(vec.ZERO, vec.ZERO)), Sums(Quadratic(vec.ZERO_MATRIX, vec.ZERO_SYMMETRIC))


def records(links: Links, v: OfJoints, a: OfJoints) -> OfJoints:
    """The record of every degree of freedom for the derivatives."""
    move = moved(links, v, a)
    offset = move.rates.offset
    u = links.outward(VECTORS, links.all(_speed, move.wp, move.rates))
    before = links.of_parent(u, vec.ZERO), links.of_parent(move.lift, vec.ZERO)
    moving = motion(links, move)
    state = links.view(
        partial(_state, at_rest(links.gravity).a), moving, move.axes, offset, move.wp, move.dwp, u, before
    )
    force = forces(links, move, moving)
    own = links.all(_moments, links.inertia, move.axes, state)
    linear = links.inward(LINEAR, links.all(_linear, own.linear, _levers_of_mass(links, offset)))
    behind = links.of_children(links.all(_levers, links.carried_mass, linear, offset))
    quadratic = links.inward(QUADRATIC, links.all(plus, own.quadratic, behind))
    given = (state, move.axes, force, links.carried_mass, linear, quadratic, origins(links, offset))
    return links.answer("record", _record, *given)


def mass_records(links: Links) -> OfJoints:
    """The same for the mass matrix."""
    axes = world_axes(links)
    offset = links.all(vec.times, links.of_parent(axes, IDENTITY_MATRIX), links.each(_origin))
    first = links.inward(VECTORS, links.all(_first, links.inertia, axes, _levers_of_mass(links, offset)))
    behind = links.of_children(links.all(second_lever, links.carried_mass, first, offset))
    second = links.inward(SECOND, links.all(_second, links.inertia, axes, behind))
    return links.answer("record", _mass_record, axes, links.carried_mass, first, second, origins(links, offset))


def origins(links: Links, offset: Vector) -> Vector:
    """Every link's origin seen from where something turns first, so that accuracy does not depend on the world's
    origin."""
    return links.outward(VECTORS, links.all(vec.scale, links.lever, offset))


def _levers_of_mass(links: Links, offset: Vector) -> Vector:
    """For every link sum (mass r) over its children: carried mass times the vector to the child, in world axes."""
    return links.of_children(links.all(vec.scale, links.carried_mass, offset))


def spans(tree: Tree) -> tuple[tuple[int, int], ...]:
    """For every degree of freedom (its link, the last link that it carries), links numbered depth first."""
    counts = carried(tree.parents, [1] * len(tree.links))
    free, found = {-1: 0}, [(0, 0)] * tree.nv
    for i, (link, count) in enumerate(zip(tree.links, counts, strict=True)):
        first = free[link.parent]
        free[link.parent] += count
        free[i] = first + 1
        for coordinate in link.v:
            found[coordinate.entry] = (first, first + count - 1)
    return tuple(found)


def pair(ancestor: Record, record: Record) -> tuple[Scalar, ...]:
    """The entries of a degree of freedom and one of an ancestor, in the order of `closed.ENTRIES`."""
    dof = Dof(*ancestor.motion, number(0.0))
    joint = Joint(Transform(Identity(), vec.ZERO), (dof,), NO_BODY, True)
    carry = closed.rise(_between(ancestor.origin, record.origin), record.carried)
    (values,) = closed.meet(joint, carry, (ancestor.column,))
    return tuple(values)


def mass_pair(ancestor: MassRecord, record: MassRecord) -> tuple[Scalar, ...]:
    """S_jᵀ F_i, F_i = I_i^c S_i moved to the origin of j."""
    force = _between(ancestor.origin, record.origin).transform.force_to_parent(record.inertia)
    return (twist.dot(ancestor.motion, force),)


def _between(ancestor: Vector, origin: Vector) -> Joint:
    """A joint without motion from the ancestor's origin to the other one."""
    return Joint(Transform(Identity(), vec.sub(origin, ancestor)), (), NO_BODY, True)


def _origin(joint: Joint) -> Vector:
    return joint.origin


def _speed(wp: Vector, rates: Rates) -> Vector:
    """Linear velocity of a link's origin minus that of its parent's."""
    return vec.add(vec.cross(wp, rates.offset), rates.slide)


def _state(
    rest: Vector,
    motion: Motion,
    axes: Matrix,
    offset: Vector,
    wp: Vector,
    dwp: Vector,
    u: Vector,
    parent: tuple[Vector, Vector],
) -> State:
    """The state in a link's own axes. parent: the parent's linear velocity, and its acceleration without -g
    (lift)."""
    a = vec.add(vec.add(parent[1], rest), vec.times(spin(wp, dwp), offset))
    before = (wp, vec.add(parent[0], vec.cross(wp, offset)), dwp, a)
    return State(motion, vec.transposed_times(axes, u), Before(*(vec.transposed_times(axes, x) for x in before)))


def _moments(inertia: Inertia, axes: Matrix, state: State) -> Moments:
    own, momentum = Full(vec.transpose(axes)), closed.own_momentum(body(inertia), state)
    linear = Linear(own.back(momentum.p), own.back(inertia.first))
    return Moments(linear, Quadratic(own.back_matrix(momentum.Q), own.back_symmetric(inertia.second)))


def _linear(linear: Linear, levers: Vector) -> Linear:
    return Linear(linear.p, vec.add(linear.first, levers))


def _first(inertia: Inertia, axes: Matrix, levers: Vector) -> Vector:
    return vec.add(vec.times(axes, inertia.first), levers)


def second_lever(mass: Scalar, first: Vector, r: Vector) -> Symmetric:
    """The change of a second moment when its point moves by -r. first: the first moment about the old point."""
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = vec.outer(vec.scale(mass, r), r)
    return vec.add_symmetric(vec.outer_symmetric(first, r), (xx, xy, xz, yy, yz, zz))


def _levers(mass: Scalar, linear: Linear, offset: Vector) -> Quadratic:
    """The difference between the moments about the parent's origin and those about the link's own."""
    return Quadratic(vec.outer(linear.p, offset), second_lever(mass, linear.first, offset))


def _second(inertia: Inertia, axes: Matrix, levers: Symmetric) -> Symmetric:
    return vec.add_symmetric(Full(vec.transpose(axes)).back_symmetric(inertia.second), levers)


def _record(
    joint: Joint,
    state: State,
    axes: Matrix,
    force: Wrench,
    mass: Scalar,
    linear: Linear,
    quadratic: Quadratic,
    origin: Vector,
) -> tuple[Record, ...]:
    own, back = Full(vec.transpose(axes)), Full(axes)
    inertia = Inertia(mass, back.back(linear.first), back.back_symmetric(quadratic.second))
    momentum = Momentum(back.back(linear.p), back.back_matrix(quadratic.Q))
    columns = closed.columns(joint, state)
    world = Joint(Transform(own, vec.ZERO), (), joint.inertia, True)

    def record(k: int, dof: Dof) -> Record:
        start = closed.start(joint, k, columns, inertia, momentum, into_own(axes, force))
        of_column = (turned(axes, column) for column in columns[k])
        return Record(closed.rise(world, start), turned(axes, dof.column), Column(*of_column), origin)

    return tuple(record(k, dof) for k, dof in enumerate(joint.dofs))


def _mass_record(
    joint: Joint, axes: Matrix, mass: Scalar, first: Vector, second: Symmetric, origin: Vector
) -> tuple[MassRecord, ...]:
    back = Full(axes)
    inertia = Inertia(mass, back.back(first), back.back_symmetric(second))

    return tuple(
        MassRecord(Wrench(*turned(axes, unit_force(joint, k, inertia))), turned(axes, dof.column), origin, dof.armature)
        for k, dof in enumerate(joint.dofs)
    )
