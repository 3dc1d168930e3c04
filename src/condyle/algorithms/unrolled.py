"""`Sweeps` that call a step for one joint after the other, on any scalar: floats, arrays (a batch) or symbols."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, reduce
from typing import TypeVar, cast

from condyle.algorithms.crba import crba
from condyle.algorithms.joint import (
    NO_FORCE,
    Joint,
    Wrench,
    external_wrench,
    inertia_of,
    inertia_to_parent,
    joint_at,
    placement,
)
from condyle.algorithms.kinematics import placements
from condyle.algorithms.ltl import Factors, ltl
from condyle.algorithms.matrix import SparseMatrix, flat, plus
from condyle.algorithms.sweeps import Entry, Field, Matrix, PairStep, Vector
from condyle.model.tree import Coordinate, Link, Numbers, Tree
from condyle.scalar import Scalar, is_zero, number
from condyle.spatial import vector as vec
from condyle.spatial.rotation import Full, Transform

T = TypeVar("T")
U = TypeVar("U")


class Unrolled:
    """Sweeps over one tree at one state."""

    def __init__(self, tree: Tree, inputs: Mapping[str, Sequence[Scalar]]) -> None:
        """inputs: {name of the port: its entries}."""
        self.tree, self.inputs, self.nv = tree, inputs, tree.nv
        f_ext = inputs.get("f_ext")
        self.gravity = vec.three(inputs.get("gravity") or [number(x) for x in tree.gravity])
        self.reference_frame = tree.reference_frame
        self.free_rotors = tree.has_free_rotors or ("armature" in inputs and tree.has_free_joints)
        self.world_forces = f_ext is not None and tree.has_world_forces
        self.f_ext: Field[tuple[vec.Vector, vec.Vector]] | None = None
        if f_ext is not None:
            self.f_ext = [external_wrench(*of, f_ext) for of in zip(tree.links, self.force_frames, strict=True)]
        self._negated: dict[str, SparseMatrix] = {}

    @cached_property
    def joints(self) -> Sequence[Joint]:
        """All joints at q."""
        return [joint_at(link.kind, self._numbers(link), shared(link.q, self.inputs["q"])) for link in self.tree.links]

    def _numbers(self, link: Link) -> Numbers:
        """A link's constants; inertia and armature come from the inputs where they are inputs."""
        numbers, inertias, armature = link.numbers, self.inputs.get("inertias"), self.inputs.get("armature")
        if inertias is not None and link.body >= 0:
            body = inertia_of(inertias[10 * link.body : 10 * link.body + 10])
            numbers = numbers._replace(**inertia_to_parent(link.body_frame, body)._asdict())
        if armature is not None:
            rotors = zip(numbers.armature, link.v, strict=True)
            numbers = numbers._replace(
                armature=tuple(armature[c.entry] if c.is_independent else own for own, c in rotors)
            )
        return numbers

    @cached_property
    def force_frames(self) -> Sequence[Transform]:
        """For each link the frame, placed in the link, that f_ext is given in: its body's frame, or one at the same
        origin with the world's axes.
        """
        frames = [link.body_frame for link in self.tree.links]
        if not self.tree.has_world_forces:
            return frames
        poses = zip(placements(self), frames, strict=True)
        return [Transform(Full(pose.axes), frame.translation) for pose, frame in poses]

    def factors(self, mass: SparseMatrix) -> Factors:
        """The sparse factors of the mass matrix."""
        return ltl(mass)

    def each(self, step: Callable[..., T], *fields: Field[object]) -> Field[T]:
        return [step(joint, *(field[i] for field in fields)) for i, joint in enumerate(self.joints)]

    def forward(self, step: Callable[..., T], world: T, *fields: Field[object]) -> Field[T]:
        values: list[T] = []
        for i, (joint, link) in enumerate(zip(self.joints, self.tree.links, strict=True)):
            parent = values[link.parent] if link.parent >= 0 else world
            values.append(step(joint, parent, *(field[i] for field in fields)))
        return values

    def outward(self, step: Callable[..., tuple[U, T]], world: T, *fields: Field[object]) -> Field[U]:
        values: list[T] = []
        results: list[U] = []
        for i, (joint, link) in enumerate(zip(self.joints, self.tree.links, strict=True)):
            parent = values[link.parent] if link.parent >= 0 else world
            result, value = step(joint, parent, *(field[i] for field in fields))
            results.append(result)
            values.append(value)
        return results

    def backward(self, step: Callable[..., tuple[U, T]], values: Field[T], *fields: Field[object]) -> Field[U]:
        totals = list(values)
        results: list[U | None] = [None] * len(totals)
        for i in reversed(range(len(totals))):
            results[i], up = step(self.joints[i], totals[i], *(field[i] for field in fields))
            parent = self.tree.links[i].parent
            if parent >= 0:
                totals[parent] = plus(totals[parent], up)
        return cast("Field[U]", results)

    def pairs(
        self,
        start: Callable[..., T],
        meet: PairStep,
        rise: Callable[[Joint, T], T],
        entries: Sequence[Entry],
        *fields: Field[object],
        diagonal: PairStep | None = None,
    ) -> Sequence[SparseMatrix]:
        matrices = [SparseMatrix(self.tree.nv) for _ in range(1 + max(entry.matrix for entry in entries))]
        for i, link in enumerate(self.tree.links):
            for k, row in enumerate(link.v):
                carry = start(self.joints[i], k, *(field[i] for field in fields))
                j = i
                while True:
                    here = [field[j] for field in fields]
                    joint = self.joints[j]
                    values = diagonal(joint, k, carry, *here) if diagonal and j == i else meet(joint, carry, *here)
                    for l, (column, value) in enumerate(zip(self.tree.links[j].v, values, strict=True)):
                        _scatter(matrices, entries, row, column, value, difference=l - k if j == i else None)
                    if self.tree.links[j].parent < 0:
                        break
                    carry = rise(self.joints[j], carry)
                    j = self.tree.links[j].parent
        return matrices

    def add_diagonal(self, matrix: Matrix, values: Field[Sequence[Scalar]]) -> None:
        for link, field in zip(self.tree.links, values, strict=True):
            for coordinate, value in zip(link.v, field, strict=True):
                assert isinstance(matrix, SparseMatrix)
                if not is_zero(value):
                    matrix.add(coordinate.entry, coordinate.entry, value * coordinate.ratio**2)

    def unit_columns(self, column: Callable[[Field[Sequence[Scalar]]], Field[Sequence[Scalar]]]) -> SparseMatrix:
        unit = SparseMatrix(self.tree.nv)
        for c in range(self.tree.nv):
            unit.put(c, c, number(1.0))
        inverse = SparseMatrix(self.tree.nv)
        for row, c, value in self.map_columns(column, unit):
            if row >= c:  # one triangle serves both, its zeros too
                inverse.put(row, c, value)
                inverse.put(c, row, value)
        return inverse

    def map_columns(
        self, column: Callable[[Field[Sequence[Scalar]]], Field[Sequence[Scalar]]], matrix: Matrix
    ) -> SparseMatrix:
        result = SparseMatrix(self.tree.nv)
        for c in range(self.tree.nv):
            entries = [matrix.get(row, c) for row in range(self.tree.nv)]
            values = [number(0.0) if entry is None else entry for entry in entries]
            for row, value in enumerate(self.gathered(column(self.dofs(values)))):
                if not is_zero(value):
                    result.put(row, c, value)
        return result

    def minus_product(self, left: str, right: Matrix) -> SparseMatrix:
        if left not in self._negated:
            mass = cast(SparseMatrix, crba(self))
            self._negated[left] = mass.connected(self.inputs[left]).scaled(-1.0)
        return self._negated[left].times(cast(SparseMatrix, right))

    def input(self, port: str) -> Field[Sequence[Scalar]]:
        return self.dofs(self.inputs[port])

    def dofs(self, values: Vector) -> Field[Sequence[Scalar]]:
        return [shared(link.v, cast("Sequence[Scalar]", values)) for link in self.tree.links]

    def total(self, values: Field[T], none: T) -> T:
        return reduce(plus, values) if values else none

    def to_world(self, step: Callable[..., T], values: Field[T], none: T) -> T:
        def twice(joint: Joint, x: T) -> tuple[T, T]:
            up = step(joint, x)
            return up, up

        ups = self.backward(twice, values)
        return self.total([up for up, link in zip(ups, self.tree.links, strict=True) if link.parent < 0], none)

    def at_frames(self, step: Callable[[Transform, T], U], world: T, values: Field[T]) -> list[U]:
        return [step(at, values[link] if link >= 0 else world) for link, at in self.frames]

    @cached_property
    def frames(self) -> Sequence[tuple[int, Transform]]:
        """The link of each frame, and the frame's placement in it."""
        return [(frame.link, Transform(placement(frame.rotation), frame.origin)) for frame in self.tree.frames]

    def frame_columns(
        self,
        start: Callable[[Transform, U], T],
        meet: Callable[..., Sequence[object]],
        rise: Callable[..., T],
        world: U,
        values: Field[U],
    ) -> list[list[list[Scalar]]]:
        carries = [(j, start(at, values[j] if j >= 0 else world)) for j, at in self.frames]
        return [self._columns(j, carry, meet, rise, values) for j, carry in carries]

    def body_columns(
        self,
        start: Callable[[Transform, U], T],
        meet: Callable[..., Sequence[object]],
        rise: Callable[..., T],
        values: Field[U],
    ) -> list[list[list[Scalar]]]:
        bodies = [(link.body, j, link.body_frame) for j, link in enumerate(self.tree.links) if link.body >= 0]
        return [self._columns(j, start(at, values[j]), meet, rise, values) for _, j, at in sorted(bodies)]

    def _columns(
        self,
        j: int,
        carry: T,
        meet: Callable[..., Sequence[object]],
        rise: Callable[..., T],
        values: Field[object],
    ) -> list[list[Scalar]]:
        """The matrix of `columns` as rows; no rows where j is the world."""
        columns = self.columns(j, carry, meet, rise, values)
        size = max(map(len, columns.values()), default=0)
        none = (number(0.0),) * size
        return [[columns.get(k, none)[row] for k in range(self.tree.nv)] for row in range(size)]

    def columns(
        self,
        j: int,
        carry: T,
        meet: Callable[..., Sequence[object]],
        rise: Callable[..., T],
        values: Field[object],
    ) -> dict[int, tuple[Scalar, ...]]:
        """{coordinate: column} of all joints from link j to the root; see `frame_columns`."""
        columns: dict[int, tuple[Scalar, ...]] = {}
        while j >= 0:
            link, joint = self.tree.links[j], self.joints[j]
            for coordinate, met in zip(link.v, meet(joint, carry, values[j]), strict=True):
                column = tuple(scaled(value, coordinate.ratio) for value in flat(met))
                columns[coordinate.entry] = (
                    plus(columns[coordinate.entry], column) if coordinate.entry in columns else column
                )
            carry, j = rise(joint, carry, values[j]), link.parent
        return columns

    def pushed(self, wrenches: Mapping[int, Wrench]) -> Unrolled:
        """The same tree with these external wrenches added, {link: wrench}, each in the link's axes about its
        origin."""
        own = cast("Field[Wrench]", self.f_ext or [NO_FORCE] * len(self.tree.links))
        found = Unrolled(self.tree, self.inputs)
        found.f_ext = [plus(wrench, wrenches[i]) if i in wrenches else wrench for i, wrench in enumerate(own)]
        return found

    def gathered(self, field: Field[Sequence[Scalar]]) -> list[Scalar]:
        result: list[Scalar | None] = [None] * self.tree.nv
        for link, values in zip(self.tree.links, field, strict=True):
            for coordinate, value in zip(link.v, values, strict=True):
                part = scaled(value, coordinate.ratio)
                before = result[coordinate.entry]
                result[coordinate.entry] = part if before is None else before + part
        return [number(0.0) if value is None else value for value in result]


def _scatter(
    matrices: Sequence[SparseMatrix],
    entries: Sequence[Entry],
    row: Coordinate,
    column: Coordinate,
    values: Sequence[Scalar],
    difference: int | None,
) -> None:
    """Stores the values of a pair. difference: the column's dof minus the row's, by number; None for two joints."""
    ratio = row.ratio * column.ratio
    for entry, value in zip(entries, values, strict=True):
        matrix, part = matrices[entry.matrix], scaled(value, ratio)
        if entry.symmetric and difference is not None and difference > 0:
            continue
        if not entry.transposed:
            matrix.add(row.entry, column.entry, part)
        if (entry.transposed and difference is None) or (entry.symmetric and difference != 0):
            matrix.add(column.entry, row.entry, part)


def scaled(value: Scalar, ratio: float) -> Scalar:
    """value ratio; the ratio of most coordinates is 1, and then nothing is computed."""
    return value if ratio == 1.0 else value * ratio


def shared(coordinates: Sequence[Coordinate], values: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """The coordinates of one link: ratio x + offset, or x where the ratio is 1 and the offset 0."""
    return tuple(
        values[c.entry] if c.ratio == 1.0 and c.offset == 0.0 else values[c.entry] * c.ratio + c.offset
        for c in coordinates
    )
