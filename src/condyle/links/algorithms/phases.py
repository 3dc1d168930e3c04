"""The phases of a function parallel in the links: on a GPU each is one launch, with NumPy one call on all links."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from condyle.algorithms import aba, rnea
from condyle.algorithms.aba import Elimination
from condyle.algorithms.joint import NO_FORCE, Joint, Wrench
from condyle.algorithms.matrix import flat, refilled
from condyle.algorithms.unrolled import Unrolled
from condyle.links.algorithms import dynamics as sums
from condyle.links.algorithms.arrays import Array, ArrayLinks, Index, Kinds, array, taken
from condyle.links.algorithms.articulated import passes
from condyle.links.algorithms.derivatives import MASS_RECORD, RECORD, mass_pair, pair, spans
from condyle.links.algorithms.links import Inward, Links, Map, OfJoints, Outward, ParallelRoute
from condyle.model.tree import Tree
from condyle.scalar import Scalar, number
from condyle.spatial import six, twist
from condyle.spatial.six import Rows, Six

Quantity: TypeAlias = Any
"""What a phase passes to the next one; each runner has its own type."""


@dataclass(frozen=True)
class PairRule:
    """How matrices are computed from pairs of records.

    entries(ancestor, record): of two records the entry of each matrix at (record, ancestor), then that of each at
    (ancestor, record). symmetric: one entry for both, and the last number of a record is added on the diagonal.
    """

    name: str
    record: tuple[object, ...]
    entries: Callable[..., tuple[Scalar, ...]]
    matrices: int
    symmetric: bool = False


DERIVATIVES = PairRule("derivatives", RECORD, pair, 2)
MASS = PairRule("mass", MASS_RECORD, mass_pair, 1, symmetric=True)


class Phases(Protocol):
    """The phases that a runner implements; matrices are (nv, nv)."""

    tree: Tree

    def input(self, port: str) -> Quantity:
        """An input of the function that has a number for each degree of freedom."""
        ...

    def matrix(self, port: str) -> Quantity:
        """An input that is a joint-space matrix."""
        ...

    def links(self, run: Callable[..., object], *quantities: Quantity) -> Quantity:
        """run(links, *quantities) for all links: its result, one or more numbers for each degree of freedom."""
        ...

    def eliminated(self, run: Callable[..., tuple[object, ...]], *quantities: Quantity) -> Sequence[Quantity]:
        """The same where run gives the eliminations of all degrees of freedom, and then possibly outputs."""
        ...

    def pairs(self, rule: PairRule, records: Quantity) -> Sequence[Quantity]:
        """Matrices of records."""
        ...

    def own_added(self, matrix: Quantity, step: Callable[..., object], *quantities: Quantity) -> Quantity:
        """The matrix with step(joint, *quantities) added at the rows and columns of each joint's degrees of freedom."""
        ...

    def minus_solved(self, eliminated: Quantity, matrix: Quantity) -> Quantity:
        """-M^-1 times a matrix, which may be overwritten."""
        ...

    def inverse(self, eliminated: Quantity) -> Quantity:
        """M^-1."""
        ...

    def minus_products(self, left: Quantity, matrices: Sequence[Quantity]) -> Sequence[Quantity]:
        """-left times matrices."""
        ...


# Matrices of records by NumPy: for all pairs of a degree of freedom and one of an ancestor or of the same joint.


def pairs(tree: Tree) -> tuple[Index, Index, NDArray[np.bool_]]:
    """(rows, columns, same): all pairs where the column's joint is an ancestor of the row's, or the same joint."""
    table = np.array(spans(tree), np.int64)
    first, last = table[:, 0], table[:, 1]
    row, column = np.nonzero((first <= first[:, None]) & (first[:, None] <= last))
    return row, column, first[row] == first[column]


def mass_entries(links: ArrayLinks, rule: PairRule, records: object) -> Sequence[Array]:
    """A symmetric matrix, (nv, nv, states)."""
    row, column, own = pairs(links.tree)
    kept = ~own | (column <= row)  # one triangle serves both
    row, column = row[kept], column[kept]
    (value,) = rule.entries(taken(records, column), taken(records, row))
    result = _matrix(links, value)
    result[row, column] = result[column, row] = array(value)[:, 0]
    diagonal = np.arange(links.tree.nv)
    result[diagonal, diagonal] += array(flat(records)[-1])[:, 0]
    return (result,)


def entries(links: ArrayLinks, rule: PairRule, records: object) -> Sequence[Array]:
    """Matrices, each (nv, nv, states)."""
    row, column, own = pairs(links.tree)
    values = rule.entries(taken(records, column), taken(records, row))
    result = [_matrix(links, values[0]) for _ in range(rule.matrices)]
    for k, value in enumerate(values):
        part, matrix = array(value)[:, 0], result[k % rule.matrices]
        if k < rule.matrices:
            matrix[row, column] = part
        else:
            matrix[column[~own], row[~own]] = part[~own]
    return result


def _matrix(links: ArrayLinks, like: Scalar) -> Array:
    return np.zeros((links.tree.nv, links.tree.nv, array(like).shape[-1]), links.dtype)


# M^-1 times several columns by two affine scans: forces inward, accelerations outward.
#
# The linear part of the maps is the same for all columns. The joints' placements and eliminations are given: see
# `forward_dynamics.eliminated`.


Columns: TypeAlias = Sequence[Sequence[Scalar]]
"""Of one joint: for every column one number for each degree of freedom."""
Eliminations: TypeAlias = Sequence[Elimination]


class Maps(NamedTuple):
    """x -> A x + b_c for several columns c."""

    A: Rows
    b: tuple[Six, ...]


@dataclass(frozen=True)
class Together:
    """The composition of maps for all columns; the product of the matrices is the same for all."""

    semigroup: Inward | Outward
    count: int

    def identity(self) -> Maps:
        return Maps(six.IDENTITY_MATRIX, (six.ZERO,) * self.count)

    def combine(self, base: Maps, tip: Maps) -> Maps:
        maps = [self.semigroup.combine(Map(base.A, b), Map(tip.A, c)) for b, c in zip(base.b, tip.b, strict=True)]
        return Maps(maps[0].A, tuple(one.b for one in maps))

    def handed(self, branch: Maps) -> Maps:
        return Maps(six.IDENTITY_MATRIX, branch.b)


def solve(links: Links, eliminated: OfJoints, tau: OfJoints, count: int, force: Wrench = NO_FORCE) -> OfJoints:
    """x = M^-1 (tau - sum Jᵀ force) for `count` columns of tau. force: on every body, the same in all columns."""
    none = (six.ZERO,) * count
    inner = links.inward(Together(Inward(), count), links.each(_gather, eliminated, tau, force))
    received = links.of_children(inner.b)
    outer = links.each(_respond, eliminated, tau, force, received)
    at = links.of_parent(links.outward(Together(Outward(), count), outer).b, none)
    return links.answer("x", _answer, eliminated, tau, force, received, at)


def _gather(joint: Joint, eliminated: Eliminations, tau: Columns, force: Wrench) -> Maps:
    """The map of a joint from the force of its children to the force on its parent."""
    up = [aba.load(joint, force, eliminated, one)[1] for one in tau]
    return Maps(six.transpose(passes(joint, eliminated)), tuple(six.joined(one) for one in up))


def _left(
    joint: Joint, eliminated: Eliminations, tau: Columns, force: Wrench, received: tuple[Six, ...]
) -> list[tuple[Scalar, ...]]:
    """u / D of each column, given the sum of the children's forces (`received`)."""
    totals = (Wrench(*twist.add(force, six.halves(b))) for b in received)
    return [aba.load(joint, total, eliminated, one)[0] for total, one in zip(totals, tau, strict=True)]


def _respond(joint: Joint, eliminated: Eliminations, tau: Columns, force: Wrench, received: tuple[Six, ...]) -> Maps:
    left = _left(joint, eliminated, tau, force, received)
    reached = [aba.respond(joint, twist.ZERO, u, eliminated)[1] for u in left]
    return Maps(passes(joint, eliminated), tuple(six.joined(one) for one in reached))


def _answer(
    joint: Joint,
    eliminated: Eliminations,
    tau: Columns,
    force: Wrench,
    received: tuple[Six, ...],
    parents: tuple[Six, ...],
) -> tuple[tuple[Scalar, ...], ...]:
    """For every degree of freedom one number for each column."""
    left = _left(joint, eliminated, tau, force, received)
    before = (joint.transform.motion_to_child(six.halves(b)) for b in parents)
    rates = [aba.respond(joint, a, u, eliminated)[0] for a, u in zip(before, left, strict=True)]
    return tuple(zip(*rates, strict=True))


# `Phases` by NumPy, and two more routes to forward dynamics, from Yang, Wu, Pan 2017 (Algorithms 2 and 3).


Inputs: TypeAlias = Mapping[str, Array]


class ArrayPhases:
    """`Phases` on arrays: vectors as values of `ArrayLinks`, matrices (nv, nv, states)."""

    def __init__(self, tree: Tree, inputs: Inputs) -> None:
        self.tree, self.all, self.inputs = tree, ArrayLinks(tree, inputs), inputs

    def input(self, port: str) -> OfJoints:
        return self.all.dofs(self.inputs[port])

    def matrix(self, port: str) -> Array:
        given = self.inputs[port]
        return np.moveaxis(np.reshape(given, (len(given), self.tree.nv, self.tree.nv)), 0, 2)

    def links(self, run: Callable[..., object], *quantities: OfJoints) -> OfJoints:
        return run(self.all, *quantities)

    def eliminated(self, run: Callable[..., tuple[object, ...]], *quantities: OfJoints) -> Sequence[OfJoints]:
        return run(self.all, *quantities)

    def pairs(self, rule: PairRule, records: OfJoints) -> Sequence[Array]:
        found = self.all.gathered(records)
        return mass_entries(self.all, rule, found) if rule.symmetric else entries(self.all, rule, found)

    def own_added(self, matrix: Array, step: Callable[..., object], *quantities: OfJoints) -> Array:
        for kind, rows in cast(
            "Kinds[Sequence[Sequence[Scalar]]]", self.all.of_joints(step, *quantities)
        ).values.items():
            at = self.all.dofs_of(kind)
            for i, row in zip(at, rows, strict=True):
                for j, value in zip(at, row, strict=True):
                    matrix[i, j] += self.all.filled(array(value), len(i))[:, 0]
        return matrix

    def minus_solved(self, eliminated: OfJoints, matrix: Array) -> Array:
        return self.solved(eliminated, self.all.dofs(-matrix))

    def inverse(self, eliminated: OfJoints) -> Array:
        """The mean of both triangles."""
        columns = self.solved(eliminated, self.unit())
        return 0.5 * (columns + np.swapaxes(columns, 0, 1))

    def minus_products(self, left: Array, matrices: Sequence[Array]) -> Sequence[Array]:
        minus = -np.moveaxis(left, 2, 0)
        return [np.moveaxis(minus @ np.moveaxis(part, 2, 0), 0, 2) for part in matrices]

    def unit(self) -> OfJoints:
        """Columns of the identity."""
        return self.all.dofs(np.eye(self.all.tree.nv, dtype=self.all.dtype)[:, :, None])

    def vector(self, values: OfJoints) -> Array:
        """Of all degrees of freedom, (nv, columns, states)."""
        return array(cast(Scalar, self.all.gathered(values)))

    def solved(self, eliminated: OfJoints, tau: OfJoints, force: Wrench = NO_FORCE) -> Array:
        """M^-1 (tau - forces on bodies), for as many columns as these have."""
        answers = solve(self.all, eliminated, self.all.of_joints(_one_column, tau), 1, force)
        return self.vector(self.all.of_joints(_of_one_column, answers))


def _one_column(joint: Joint, tau: Sequence[Scalar]) -> Sequence[Sequence[Scalar]]:
    return (tau,)


def _of_one_column(joint: Joint, rows: Sequence[Sequence[Scalar]]) -> tuple[Scalar, ...]:
    return tuple(x for (x,) in rows)


def hybrid(k: ArrayPhases) -> Array:
    """Forward dynamics with articulated inertias link by link and all else by affine scans: the paper's Algorithm 3."""
    links, v = k.all, k.input("v")
    motion = sums.motion(links, sums.moved(links, v, links.still))
    force = links.each(sums.own_force, motion, *sums.outer(links))
    left = links.of_joints(rnea.less_bias, k.input("tau"), v)
    return k.solved(_serial_eliminations(links, k.inputs["q"]), left, force)


def _serial_eliminations(links: ArrayLinks, q: Array) -> OfJoints:
    """The articulated-body algorithm's eliminations, computed link by link."""
    found = aba.eliminations(Unrolled(links.tree, {"q": [number(q[:, k]) for k in range(q.shape[1])]}))

    def together(some: list[tuple[Elimination, ...]]) -> tuple[Elimination, ...]:
        table = zip(*map(flat, some), strict=True)
        wide = [[np.broadcast_to(np.asarray(array(x), links.dtype), len(q)) for x in column] for column in table]
        return refilled(some[0], [number(np.stack(column)[:, None, :]) for column in wide])

    return Kinds({kind: together([found[i] for i in rows]) for kind, rows in links.rows.items()})


def through_mass_matrix(k: ArrayPhases) -> Array:
    """M a = tau - c by a dense solve: the paper's Algorithm 2. Column j of M is inverse dynamics of the j-th unit
    acceleration, without velocity and gravity."""
    links = k.all
    bias = k.vector(sums.inverse_dynamics(links, k.input("v"), links.still))
    left = k.vector(sums.inverse_dynamics(links.weightless(), links.still, k.unit()))
    right = k.vector(k.input("tau")) - bias
    return np.moveaxis(np.linalg.solve(np.moveaxis(left, 2, 0), np.moveaxis(right, 2, 0)), 0, 2)


def evaluate(tree: Tree, route: ParallelRoute, inputs: Inputs) -> list[Array]:
    """The outputs, each flat (n, size), for inputs by name, each flat (n or 1, size), in the inputs' dtype."""
    n = max(len(rows) for rows in inputs.values())
    with np.errstate(all="ignore"):
        phases = ArrayPhases(tree, inputs)
        found = route.run(phases)
    answers = cast("Sequence[object]", found) if isinstance(found, (tuple, list)) else [found]
    arrays = [cast(Array, x) if isinstance(x, np.ndarray) else phases.vector(x) for x in answers]
    wide = [np.broadcast_to(answer, (*answer.shape[:2], n)) for answer in arrays]
    return [np.reshape(np.moveaxis(answer, 2, 0), (n, -1)) for answer in wide]
