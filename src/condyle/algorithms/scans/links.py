"""A tree at a batch of states with all its links side by side: what steps run on when nothing is done one by one.

Every scalar is an array (links, columns, states), or (degrees of freedom, columns, states); columns are right-hand
sides that share everything else, usually one. A step of an algorithm runs once for every kind of joint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

import numpy as np

from condyle.algorithms.joint import Dof, Inertia, Joint
from condyle.algorithms.rnea import Wrench
from condyle.algorithms.scans import along
from condyle.algorithms.scans.paths import levels
from condyle.algorithms.scans.scan import Array, Index, Scan, array, kogge_stone, taken, zeros_like
from condyle.algorithms.scans.sums import Sums
from condyle.algorithms.unrolled import is_axial, joint_placed, wrench_on
from condyle.algorithms.values import flat, refilled
from condyle.errors import UnsupportedError
from condyle.model.joints.base import JointType
from condyle.model.tree import Numbers, Tree
from condyle.scalar import Scalar, number
from condyle.spatial import vector as vec
from condyle.spatial.rotation import Full
from condyle.spatial.transform import Transform
from condyle.spatial.vector import Matrix, Vector

T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True)
class Dofs(Generic[T]):
    """A value that every degree of freedom has, handed to a step as a tuple over its joint's degrees of freedom."""

    value: T


class Links:
    """See above. `inputs`: arrays by name, each (n or 1, size), as the reference takes them."""

    def __init__(self, tree: Tree, inputs: Mapping[str, Array], scan: Scan[object] = kogge_stone) -> None:
        self.tree = check_alone(tree)
        self.dtype = inputs["q"].dtype
        self.n = len(tree.links)
        self.scan = scan
        self.parents = np.array(tree.parents, np.int64)
        self.levels = levels(tree.parents)
        self.first_dof = np.array([link.v[0].at for link in tree.links], np.int64)
        self.link_of_dof = np.empty(tree.nv, np.int64)
        for i, link in enumerate(tree.links):
            self.link_of_dof[[c.at for c in link.v]] = i
        x, y, z = (number(np.full((1, 1, 1), g, self.dtype)) for g in tree.gravity)
        self.gravity: Vector = (x, y, z)
        self.kinds = _kinds(tree)
        self._place(inputs["q"])
        self.f_ext = self._external(inputs["f_ext"]) if "f_ext" in inputs else None

    @property
    def still(self) -> Scalar:
        """Zero for every degree of freedom."""
        return number(np.zeros((self.tree.nv, 1, 1), self.dtype))

    def weightless(self) -> Links:
        """The same without gravity and outer forces."""
        other = copy(self)
        none = number(np.zeros((1, 1, 1), self.dtype))
        other.gravity, other.f_ext = (none, none, none), None
        return other

    def _place(self, q: Array) -> None:
        """Where every link stands in its parent, its inertia, and the columns of its motion subspace."""
        placed: list[tuple[Index, tuple[Matrix, Vector]]] = []
        columns: list[tuple[Index, tuple[Vector, Vector]]] = []
        numbers: list[Numbers] = [link.numbers for link in self.tree.links]
        self.inertia: Inertia = self.column([Inertia(x.mass, x.first, x.second) for x in numbers])
        self.axial: dict[str, bool] = {}
        for kind, rows in self.kinds:
            which: list[int] = rows.tolist()
            own = self.column([numbers[i]._replace(armature=()) for i in which])
            at = [[c.at for c in self.tree.links[i].q] for i in which]
            values = [self.rows(q[:, [some[k] for some in at]]) for k in range(kind.nq)]
            joint = joint_placed(kind, own._replace(armature=(number(0.0),) * kind.nv), Full(own.rotation), values)
            axes = vec.transpose(tuple(joint.rotation.into(e) for e in vec.ONE))  # pyright: ignore[reportArgumentType]
            placed.append((rows, self.filled((axes, joint.origin), len(rows))))
            self.axial[kind.name] = is_axial(joint.dofs)
            for k, dof in enumerate(joint.dofs):
                columns.append((self.first_dof[rows] + k, self.filled((dof.linear, dof.angular), len(rows))))
        self.turn, self.origin = along.assembled(placed)
        self.subspace = along.assembled(columns)
        self.armature = self.column([x for link in self._in_dof_order() for x in link.armature])

    def _in_dof_order(self) -> list[Numbers]:
        order: list[int] = np.argsort(self.first_dof).tolist()
        return [self.tree.links[i].numbers for i in order]

    def _external(self, f_ext: Array) -> Wrench:
        """The external wrench on every link, in its own frame."""
        links = self.tree.links
        bodies = np.array([link.body for link in links])
        wrenches = np.reshape(f_ext, (len(f_ext), -1, 6))
        padded = np.concatenate((wrenches, np.zeros_like(wrenches[:, :1])), axis=1)  # row -1: no body, no force
        part = [self.rows(padded[:, bodies, k]) for k in range(6)]
        return wrench_on(self.column([link.body_frame for link in links]), part)

    def rows(self, values: Array) -> Scalar:
        """(states, links) -> (links, 1, states); for degrees of freedom too."""
        return number(np.ascontiguousarray(np.transpose(values))[:, None, :])

    def column(self, values: Sequence[T]) -> T:
        """Constants of many links, or degrees of freedom, as one value of arrays (n, 1, 1)."""
        table = [flat(value) for value in values]
        scalars = [np.array(column, self.dtype)[:, None, None] for column in zip(*table, strict=True)]
        return refilled(values[0], [number(x) for x in scalars])

    def filled(self, value: T, n: int) -> T:
        """Plain numbers as arrays of n rows, rows of one as many."""
        return refilled(value, [number(self._filled(array(x), n)) for x in flat(value)])

    def _filled(self, x: Array, n: int) -> Array:
        wide = np.asarray(x, self.dtype)
        return np.full((n, 1, 1), wide) if wide.ndim == 0 else np.broadcast_to(wide, (n, *wide.shape[1:]))

    def joint(self, kind: JointType, rows: Index) -> Joint:
        """Joint and body of these links, all of one kind."""
        dofs = [self._dof(self.first_dof[rows] + k) for k in range(kind.nv)]
        return self._joint(rows, tuple(dofs), self.axial[kind.name])

    def joint_of_dof(self) -> Joint:
        """For every degree of freedom its joint, with no other degree of freedom."""
        return self._joint(self.link_of_dof, (self._dof(np.arange(self.tree.nv)),), False)

    def _joint(self, rows: Index, dofs: tuple[Dof, ...], axial: bool) -> Joint:
        turn, origin, inertia = taken((self.turn, self.origin, self.inertia), rows)
        return Joint(Transform(Full(turn), origin), dofs, inertia, axial)

    def _dof(self, at: Index) -> Dof:
        (linear, angular), armature = taken((self.subspace, self.armature), at)
        return Dof(linear, angular, armature)

    def each(self, step: Callable[..., T], *given: object, links: Index | None = None) -> T:
        """step(joint, *given) of every link, or of these: one value of arrays over them.

        given: values over these links, and `Dofs` over all degrees of freedom.
        """
        where = np.arange(self.n) if links is None else links
        parts = [
            (at, self.filled(step(self.joint(kind, where[at]), *self._given(kind, where[at], at, given)), len(at)))
            for kind, at in self._of_kinds(where)
        ]
        return along.assembled(parts)

    def each_dof(self, step: Callable[..., Sequence[T]], *given: object) -> T:
        """step(joint, *given) has one value for each degree of freedom of the joint: one value over all of them."""
        parts: list[tuple[Index, T]] = []
        for kind, rows in self.kinds:
            values = step(self.joint(kind, rows), *self._given(kind, rows, rows, given))
            for k, value in enumerate(values):
                parts.append((self.first_dof[rows] + k, self.filled(value, len(rows))))
        return along.assembled(parts)

    def _of_kinds(self, links: Index) -> Iterator[tuple[JointType, Index]]:
        """Each kind that is there, and where in `links`."""
        for kind, rows in self.kinds:
            at = np.flatnonzero(np.isin(links, rows))
            if at.size:
                yield kind, at

    def _given(self, kind: JointType, rows: Index, at: Index, given: Sequence[object]) -> list[object]:
        first = self.first_dof[rows]
        return [
            tuple(taken(cast("Dofs[object]", field).value, first + k) for k in range(kind.nv))
            if isinstance(field, Dofs)
            else taken(field, at)
            for field in given
        ]

    def of_parent(self, value: T, world: T) -> T:
        """Every link's parent's value; `world` for those that have none."""
        at_root = (self.parents < 0)[:, None, None]
        pairs = zip(flat(value), flat(world), strict=True)
        return refilled(
            value,
            [number(np.where(at_root, np.asarray(array(w), self.dtype), array(x)[self.parents])) for x, w in pairs],
        )

    def to_parent(self, value: T) -> T:
        """For every link the sum of its children's values."""
        return along.added(zeros_like(value), self.parents, value)

    def root_sums(self, value: T) -> T:
        """For every link the sum over itself and all its ancestors."""
        return along.outward(self.levels, cast("Scan[T]", self.scan), Sums(value), value)

    def subtree_sums(self, value: T) -> T:
        """For every link the sum over itself and all that it carries."""
        zeros = zeros_like(value)

        def form(links: Index, received: T) -> T:
            return Sums(zeros).combine(taken(value, links), received)

        return along.inward(self.levels, cast("Scan[T]", self.scan), Sums(zeros), form, lambda x: x, zeros)[0]


def check_alone(tree: Tree) -> Tree:
    """The tree itself; UnsupportedError for one whose joints share coordinates."""
    if tree.has_shared_coordinates:
        raise UnsupportedError(
            "links='scan' needs every joint to move alone, and this robot has mimic joints: use links='serial', or "
            "load the robot with mimic='independent'"
        )
    return tree


def _kinds(tree: Tree) -> list[tuple[JointType, Index]]:
    """Each kind of joint and its links."""
    known: dict[str, tuple[JointType, list[int]]] = {}
    for i, link in enumerate(tree.links):
        known.setdefault(link.kind.name, (link.kind, []))[1].append(i)
    return [(kind, np.array(rows, np.int64)) for kind, rows in known.values()]
