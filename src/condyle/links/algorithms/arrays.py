"""`Links` as NumPy arrays, for a batch of states: a primitive is one call on all links.

Every scalar is an array (links, columns, states). Columns are right-hand sides of one system, usually one. A step is
called once for every joint type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Generic, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from condyle.algorithms.joint import Inertia, Joint, Wrench, joint_placed, wrench_on
from condyle.algorithms.matrix import flat, refilled
from condyle.links.algorithms.dynamics import axes_of
from condyle.links.algorithms.links import NONE, Branching, OfJoints, Semigroup, check_alone, exchange_map
from condyle.model.tree import Link, Tree, carried
from condyle.scalar import Scalar, number
from condyle.spatial import vector as vec
from condyle.spatial.rotation import Full, Transform
from condyle.spatial.vector import Vector

# Values whose scalars are arrays with one row for each link.


Index: TypeAlias = NDArray[np.int64]
Array: TypeAlias = NDArray[np.floating]


def array(x: Scalar) -> Array:
    """A scalar as the array it is."""
    return cast(Array, np.asarray(x))


def taken(value: T, index: Index) -> T:
    """These rows; a scalar that is no array is the same in every row."""
    return refilled(value, [x if isinstance(x, float) else number(array(x)[index]) for x in flat(value)])


def stored(value: T, index: Index, part: T) -> T:
    """The value with these rows replaced; the value's own arrays stay as they are."""
    return refilled(value, [_with_row(array(x), index, array(y)) for x, y in zip(flat(value), flat(part), strict=True)])


def _with_row(x: Array, index: Index, part: Array) -> Scalar:
    """The array with these rows replaced, broadcast to the columns and states of the part."""
    shape = np.broadcast_shapes(x.shape[1:], part.shape[1:])
    result = np.array(np.broadcast_to(x, (*x.shape[:1], *shape)))
    result[index] = part
    return number(result)


def assembled(parts: Sequence[tuple[Index, T]]) -> T:
    """One value, given (row numbers, these rows) that cover it."""
    indices = [index for index, _ in parts]
    columns = zip(*(flat(part) for _, part in parts), strict=True)
    return refilled(parts[0][1], [_assembled(indices, [array(x) for x in column]) for column in columns])


def _assembled(indices: Sequence[Index], arrays: Sequence[Array]) -> Scalar:
    shape = np.broadcast_shapes(*(array.shape[1:] for array in arrays))
    result: Array = np.empty((sum(len(index) for index in indices), *shape), np.result_type(*arrays))
    for index, part in zip(indices, arrays, strict=True):
        result[index] = part
    return number(result)


T = TypeVar("T")
U = TypeVar("U")
GUARD = 2.0
"""guard of `articulated.Segments` in units of rounding. With 0.5 a pivot can be zero; each unit more adds a few units
of error to the result."""


@dataclass(frozen=True)
class Kinds(Generic[T]):
    """A value of every joint, {joint type: value}."""

    values: Mapping[str, T]


class ArrayLinks:
    """`Links` as arrays. inputs: arrays by name, each (n or 1, size), as the reference takes them."""

    def __init__(self, tree: Tree, inputs: Mapping[str, Array]) -> None:
        self.tree = check_alone(tree)
        self.dtype = inputs["q"].dtype
        self.n = len(tree.links)
        self.guard = GUARD * float(np.finfo(self.dtype).eps)
        self.gravity: Vector = vec.three([number(g) for g in tree.gravity])
        self.parents = np.array(tree.parents, np.int64)
        self.exchange = exchange_map(tree.parents, self.n)
        kinds = dict.fromkeys(link.kind.name for link in tree.links)
        self.rows: dict[str, list[int]] = {
            kind: [i for i, link in enumerate(tree.links) if link.kind.name == kind] for kind in kinds
        }
        own = [link.numbers for link in tree.links]
        self.inertia: Inertia = self._column([Inertia(x.mass, x.first, x.second) for x in own])
        masses = carried(tree.parents, [float(cast(float, x.mass)) for x in own])
        self.carried_mass = self._column([number(mass) for mass in masses])
        self.lever = self._column([number(float(lever)) for lever in tree.levers])
        self.joints = {kind: self._joint(kind, inputs["q"]) for kind in self.rows}
        self.external = self._external(inputs["f_ext"]) if "f_ext" in inputs else None
        self.still: OfJoints = Kinds({kind: (number(0.0),) * len(joint.dofs) for kind, joint in self.joints.items()})

    def _links(self, kind: str) -> list[Link]:
        return [self.tree.links[i] for i in self.rows[kind]]

    def weightless(self) -> ArrayLinks:
        """The same without gravity and external forces."""
        other = copy(self)
        other.gravity, other.external = vec.ZERO, None
        return other

    def _joint(self, kind: str, q: Array) -> Joint:
        """The joints of one type, and their bodies."""
        links = self._links(kind)
        own = self._column([link.numbers for link in links])
        values = [self._entries(q[:, [link.q[k].entry for link in links]]) for k in range(links[0].kind.nq)]
        joint = joint_placed(links[0].kind, own, Full(own.rotation), values)
        axes = vec.transpose(axes_of(joint))
        rotation, origin = Full(self.filled(axes, len(links))), joint.origin
        return replace(joint, transform=Transform(rotation, origin))

    def _external(self, f_ext: Array) -> Wrench:
        """The external wrench on every link, in its own frame."""
        links = self.tree.links
        bodies = np.array([link.body for link in links])
        wrenches = np.reshape(f_ext, (len(f_ext), -1, 6))
        padded = np.concatenate((wrenches, np.zeros_like(wrenches[:, :1])), axis=1)  # row -1: no body, no force
        part = [self._entries(padded[:, bodies, k]) for k in range(6)]
        return wrench_on(self._column([link.body_frame for link in links]), part)

    def _entries(self, values: Array) -> Scalar:
        """(states, links) -> (links, 1, states)."""
        return number(np.ascontiguousarray(np.transpose(values))[:, None, :])

    def _column(self, values: Sequence[T]) -> T:
        """Constants of n links as one value of arrays (n, 1, 1)."""
        table = zip(*(flat(value) for value in values), strict=True)
        return refilled(values[0], [number(np.array(column, self.dtype)[:, None, None]) for column in table])

    def dofs(self, values: Array) -> OfJoints:
        """An array (states, nv), or (nv, columns, states), as one tuple of scalars for each joint."""
        x = np.ascontiguousarray(np.transpose(values))[:, None, :] if values.ndim == 2 else values
        return Kinds({kind: tuple(number(x[at]) for at in self.dofs_of(kind)) for kind in self.rows})

    def dofs_of(self, kind: str) -> list[Index]:
        """The entries of v of all joints of a type: for each of its degrees of freedom one index for each joint."""
        return [
            np.array(at, np.int64)
            for at in zip(*([c.entry for c in link.v] for link in self._links(kind)), strict=True)
        ]

    def gathered(self, values: OfJoints) -> object:
        """One value of arrays (nv, ...), given for each joint a tuple of one value for each degree of freedom."""
        parts: list[tuple[Index, object]] = []
        for kind, found in cast("Kinds[tuple[object, ...]]", values).values.items():
            parts += [(at, self.filled(x, len(at))) for at, x in zip(self.dofs_of(kind), found, strict=True)]
        return assembled(parts)

    def filled(self, value: T, n: int) -> T:
        """The value with all scalars as arrays of n rows; numbers and single rows are repeated."""
        return refilled(value, [number(self._filled(array(x), n)) for x in flat(value)])

    def _filled(self, x: Array, n: int) -> Array:
        wide = np.asarray(x, self.dtype)
        return np.full((n, 1, 1), wide) if wide.ndim == 0 else np.broadcast_to(wide, (n, *wide.shape[1:]))

    def _stepped(self, step: Callable[..., T], values: Sequence[object]) -> dict[str, T]:
        def of_kind(kind: str, value: object) -> object:
            known = isinstance(value, Kinds)
            return cast("Kinds[object]", value).values[kind] if known else taken(value, np.array(self.rows[kind]))

        return {kind: step(joint, *(of_kind(kind, value) for value in values)) for kind, joint in self.joints.items()}

    def each(self, step: Callable[..., T], *values: object) -> T:
        found = self._stepped(step, values).items()
        return assembled(
            [(np.array(rows), self.filled(x, len(rows))) for kind, x in found for rows in [self.rows[kind]]]
        )

    def all(self, step: Callable[..., T], *values: object) -> T:
        return self.filled(step(*values), self.n)

    def view(self, step: Callable[..., T], *values: object) -> T:
        return self.all(step, *values)

    def of_joints(self, step: Callable[..., object], *values: object) -> OfJoints:
        return Kinds(self._stepped(step, values))

    def answer(self, port: str, step: Callable[..., object], *values: object) -> OfJoints:
        return self.of_joints(step, *values)

    def outward(self, semigroup: Semigroup[T], elements: T) -> T:
        for row in self.exchange["ancestors"]:
            elements = self.with_partner(row, lambda tip, base: semigroup.combine(base, tip), elements, elements)
        return elements

    def inward(self, semigroup: Branching[T], elements: T) -> T:
        for row in self.exchange["behind"]:
            branches = min(row) < NONE  # a row names links along paths, or branches
            partners = [-2 - i if i < NONE else NONE for i in row] if branches else row
            other = semigroup.handed(elements) if branches else elements
            elements = self.with_partner(partners, semigroup.combine, elements, other)
        return elements

    def with_partner(self, partners: Sequence[int], step: Callable[[T, U], T], value: T, other: U) -> T:
        row = np.array(partners, np.int64)
        those = np.flatnonzero(row >= 0)
        return stored(value, those, step(taken(value, those), taken(other, row[those])))

    def of_parent(self, value: T, world: T) -> T:
        at_root = (self.parents < 0)[:, None, None]
        pairs = zip(flat(value), flat(world), strict=True)
        found = [np.where(at_root, np.asarray(array(w), self.dtype), array(x)[self.parents]) for x, w in pairs]
        return refilled(value, [number(x) for x in found])

    def of_children(self, value: T) -> T:
        inside = np.flatnonzero(self.parents >= 0)
        sums: list[Scalar] = []
        for x in flat(value):
            total = np.zeros_like(array(x))
            np.add.at(total, self.parents[inside], array(x)[inside])
            sums.append(number(total))
        return refilled(value, sums)
