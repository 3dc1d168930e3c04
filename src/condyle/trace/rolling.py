"""Sweeps that are recorded instead of run: each step is traced once for every kind of joint, and loops come out.

Steps that can share a loop share it: what one computes the next one of the same joint has at hand, and only what
another loop wants is stored. Steps that need no other loop are traced into whoever reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar, cast

from condyle.algorithms.joint import Joint
from condyle.algorithms.sweeps import Entry, Field, Matrix, Meet, Vector
from condyle.algorithms.values import flat, like, plus
from condyle.errors import UnsupportedError
from condyle.ir import sweep as ir
from condyle.model.tree import Tree
from condyle.scalar import Scalar, number
from condyle.spatial import vector as vec
from condyle.trace.finish import Scope
from condyle.trace.kinds import constants, kinds_of
from condyle.trace.places import angles, external, place_of
from condyle.trace.steps import TRIG, External, Group, Handle, Lazy, MatrixHandle, Place, Unit
from condyle.trace.structure import connected, coupled, rows_of

T = TypeVar("T")
U = TypeVar("U")
Column: TypeAlias = Callable[[Field[Sequence[Scalar]]], Field[Sequence[Scalar]]]
CARRY = ir.Ref("carry")
NAUGHT = number(0.0)


def _handles(fields: Sequence[Field[object]]) -> Sequence[Handle[object]]:
    return cast("Sequence[Handle[object]]", fields)


class Rolling:
    """Sweeps that are recorded as loops; has the methods of `algorithms.sweeps.Sweeps`."""

    def __init__(self, tree: Tree, f_ext: bool) -> None:
        if tree.has_shared_coordinates:
            raise UnsupportedError("loops need every joint to move alone, and this robot has mimic joints")
        self.gravity, self.free_rotors = cast(vec.Vector, tree.gravity), tree.has_free_rotors
        self.kinds, kind_of = kinds_of(tree)
        self.joints = tuple(
            ir.Joint(kind, link.parent, link.q[0].at, link.v[0].at, 6 * link.body, constants(link))
            for link, kind in zip(tree.links, kind_of, strict=True)
        )
        self.related, self.connected = rows_of(coupled(tree)), rows_of(connected(coupled(tree)))
        self.scope = self.top = Scope()
        self.buffers: dict[str, int] = {}
        self.matrices: list[str] = []
        self._turn()
        self.f_ext: Field[tuple[vec.Vector, vec.Vector]] | None = None
        if f_ext:
            self.f_ext = External(ir.Ref("input", "f_ext"), ())

    def each(self, step: Callable[..., T], *given: Field[object]) -> Field[T]:
        handles = _handles(given)
        needs = [group for handle in handles for group in handle.needs()]
        home = self.scope.latest(needs)
        if home is None or home.walk:
            return Lazy(step, handles)
        home.needs.update(needs)

        def run(place: Place) -> T:
            return step(place.joint, *self._reads(place, handles))

        return self._stored(home, self._buffer(step.__name__, ()), run)

    def forward(self, step: Callable[..., T], world: T, *given: Field[object]) -> Field[T]:
        handles = _handles(given)
        group, name = self._group(step.__name__, False, handles), self._buffer(step.__name__, flat(world))

        def run(place: Place) -> T:
            return step(place.joint, self._parent(place, name, world), *self._reads(place, handles))

        return self._stored(group, name, run)

    def outward(self, step: Callable[..., tuple[U, T]], world: T, *given: Field[object]) -> Field[U]:
        handles = _handles(given)
        group, name = self._group(step.__name__, False, handles), self._buffer(step.__name__, flat(world))

        def run(place: Place) -> U:
            result, value = step(place.joint, self._parent(place, name, world), *self._reads(place, handles))
            place.write(ir.Ref("here", name), flat(value))
            return result

        return self._stored(group, self._buffer(step.__name__, ()), run)

    def backward(self, step: Callable[..., tuple[U, T]], own: Field[T], *given: Field[object]) -> Field[U]:
        handles = _handles(given)
        if self.scope.unit:
            return self._climb(step, own, handles)
        group = self._group(step.__name__, True, [cast("Handle[object]", own), *handles])
        name = self._buffer(f"{step.__name__}_sum", ())

        def run(place: Place) -> U:
            kind = self.kinds[place.kind]
            total = self._read(place, own)
            if not kind.is_leaf:
                total = plus(total, cast(T, like(total, iter(self._rows(place, ir.Ref("here", name), flat(total))))))
            result, up = step(place.joint, total, *self._reads(place, handles))
            values, ref = flat(up), ir.Ref("parent", name)
            if not kind.is_first:
                values = [a + b for a, b in zip(self._rows(place, ref, values), values, strict=True)]
            if not kind.is_root:
                place.write(ref, values)
            return result

        return self._stored(group, self._buffer(step.__name__, ()), run)

    def _climb(self, step: Callable[..., tuple[U, T]], own: Field[T], handles: Sequence[Handle[object]]) -> Field[U]:
        """A backward sweep under the unit vector of a column: nothing but the way from its joint to the root counts."""
        group = self._walk(step.__name__)

        def run(place: Place) -> U:
            total = self._read(place, own)
            if place.dof is None:
                total = plus(total, cast(T, like(total, iter(self._rows(place, CARRY, flat(total))))))
            result, up = step(place.joint, total, *self._reads(place, handles))
            self._carry(group, place, flat(up))
            return result

        handle = self._stored(group, self._buffer(step.__name__, ()), run)
        group.clears.append(handle.ref.name)
        return handle

    def pairs(
        self,
        start: Callable[..., T],
        meet: Meet,
        rise: Callable[[Joint, T], T],
        entries: Sequence[Entry],
        *given: Field[object],
        own: Meet | None = None,
    ) -> Sequence[Matrix]:
        names = [self._matrix() for _ in range(1 + max(entry.matrix for entry in entries))]
        outside, self.scope = self.scope, self.scope.columns(unit=True)
        group = self._walk(meet.__name__)
        shape = cast(T, None)  # known as soon as one start is
        for place in group.places:
            fields = self._reads(place, _handles(given))
            if place.dof is not None:
                shape = value = start(place.joint, place.dof, *fields)
                met = own(place.joint, place.dof, value, *fields) if own else meet(place.joint, value, *fields)
            else:
                value = cast(T, like(shape, iter(self._rows(place, CARRY, flat(shape)))))
                met = meet(place.joint, value, *fields)
            for m, entry in enumerate(entries):
                _write_pair(place, entry, names[entry.matrix], [values[m] for values in met])
            self._carry(group, place, flat(rise(place.joint, value)))
        self.scope = outside
        return [MatrixHandle(name) for name in names]

    def add_diagonal(self, matrix: Matrix, values: Field[Sequence[Scalar]]) -> None:
        ref = ir.Ref("diagonal", cast(MatrixHandle, matrix).name)
        for place in self.scope.add(self._sweep("diagonal", False)).places:
            added = flat(self._read(place, values))
            before = place.graph.read(ref, len(added))
            place.write(ref, [a + b for a, b in zip(before, added, strict=True)])

    def unit_columns(self, column: Column) -> MatrixHandle:
        outside, self.scope = self.scope, self.scope.columns(unit=True)
        inverse = MatrixHandle(self._matrix())
        self._put(ir.Ref("column", inverse.name), column(Unit(ir.Ref("here"), ())))
        self.scope = outside
        self.scope.items.append(ir.Mirror(inverse.name))
        return inverse

    def map_columns(self, column: Column, matrix: Matrix) -> MatrixHandle:
        """In place: the matrix is its own image afterwards."""
        handle = cast(MatrixHandle, matrix)
        outside, self.scope = self.scope, self.scope.columns(unit=False)
        ref = ir.Ref("column", handle.name)
        self._put(ref, column(self._dof_handle(ref)))
        self.scope = outside
        return handle

    def minus_product(self, left: str, right: Matrix) -> MatrixHandle:
        name = self._matrix()
        self.scope.items.append(ir.Product(left, cast(MatrixHandle, right).name, name, self.related, self.connected))
        return MatrixHandle(name)

    def given(self, port: str) -> Field[Sequence[Scalar]]:
        return self._dof_handle(ir.Ref("input", port))

    def dofs(self, values: Vector) -> Field[Sequence[Scalar]]:
        """The same: every joint moves alone."""
        return cast("Field[Sequence[Scalar]]", values)

    def gathered(self, field: Field[Sequence[Scalar]]) -> Field[Sequence[Scalar]]:
        """The same: every joint moves alone."""
        return field

    def total(self, values: Field[T]) -> T:
        raise UnsupportedError("loops over joints have no sum over all of them")

    def output(self, port: str, values: Field[Sequence[Scalar]]) -> None:
        """The joints' values are this output port."""
        self._put(ir.Ref("output", port), values)

    def loops(self) -> tuple[ir.Loop, ...]:
        """Everything recorded."""
        return self.top.finished()

    def _put(self, ref: ir.Ref, values: Field[Sequence[Scalar]]) -> None:
        home = self.scope.latest(_handles([values])[0].needs()) or self.scope.add(self._sweep(ref.space, False))
        for place in home.places:
            place.write(ref, flat(self._read(place, values)))

    def _stored(self, group: Group, name: str, run: Callable[[Place], T]) -> Handle[T]:
        """What `run` gives at each place of a group, kept in the buffer of this name for other loops."""
        ref = ir.Ref("here", name)
        handle: Handle[T] = Handle(ref, [None] * len(self.kinds), group)
        shapes: dict[int, object] = {}
        for place in group.places:
            handle.values[place] = shapes[place.kind] = value = run(place)
            place.write(ref, flat(value))
            self.buffers[name] = max(self.buffers[name], len(flat(value)))
        handle.shapes = [shapes[kind] for kind in range(len(self.kinds))]
        return handle

    def _carry(self, group: Group, place: Place, values: Sequence[Scalar]) -> None:
        group.carry = len(values)
        if not self.kinds[place.kind].is_root:
            place.write(CARRY, values)

    def _parent(self, place: Place, name: str, world: T) -> T:
        """The parent's value in a sweep towards the leaves."""
        if self.kinds[place.kind].is_root:
            return world
        return cast(T, like(world, iter(self._rows(place, ir.Ref("parent", name), flat(world)))))

    def _rows(self, place: Place, ref: ir.Ref, shape: Sequence[Scalar]) -> list[Scalar]:
        if ref.name:
            self.buffers[ref.name] = max(self.buffers[ref.name], len(shape))
        return place.graph.read(ref, len(shape))

    def _reads(self, place: Place, handles: Sequence[Handle[object]]) -> list[object]:
        return [self._read(place, handle) for handle in handles]

    def _read(self, place: Place, field: Field[T]) -> T:
        """A field's value at a place: at hand, computed here, or read from storage."""
        handle = cast("Handle[T]", field)
        if place in handle.values:
            return cast(T, handle.values[place])
        if isinstance(handle, Unit):
            return cast(T, tuple(number(float(k == place.dof)) for k in range(self.kinds[place.kind].nv)))
        if isinstance(handle, External):
            value = cast(T, external(place, self.kinds[place.kind]))
        elif isinstance(handle, Lazy):
            value = handle.step(place.joint, *self._reads(place, handle.given))
        else:
            shape = handle.shapes[place.kind]
            known = flat(shape)
            read = place.graph.read(handle.ref, len(known))
            if handle.home is not None and not handle.home.walk:
                read = [a if isinstance(a, float) else b for a, b in zip(known, read, strict=True)]
            value = cast(T, like(shape, iter(read)))
        handle.values[place] = value
        return value

    def _group(self, name: str, backward: bool, handles: Sequence[Handle[object]]) -> Group:
        """A sweep of this direction that has what these fields need: one that is there, or a new one."""
        needs = [group for handle in handles for group in handle.needs()]
        group = self.scope.sharing(backward, needs) or self.scope.add(self._sweep(name, backward, self.scope.unit))
        group.needs.update(needs)
        return group

    def _sweep(self, name: str, backward: bool, upto: bool = False) -> Group:
        return Group(name, backward, [place_of(kind, about) for kind, about in enumerate(self.kinds)], upto)

    def _walk(self, name: str) -> Group:
        starts = [place_of(kind, about, k) for kind, about in enumerate(self.kinds) for k in range(about.nv)]
        visits = [place_of(kind, about) for kind, about in enumerate(self.kinds)]
        return self.scope.add(Group(name, True, starts + visits, walk=True))

    def _turn(self) -> None:
        """The first sweep: cosine and sine of every coordinate, for the joints that turn by angles."""
        group = self.scope.add(self._sweep(TRIG, False))
        group.sealed = True
        for place in group.places:
            place.write(ir.Ref("here", TRIG), angles(place, self.kinds[place.kind]))
        self.buffers[TRIG] = 2 * max(kind.type.nq for kind in self.kinds)

    def _dof_handle(self, ref: ir.Ref) -> Handle[Sequence[Scalar]]:
        return Handle(ref, [tuple(NAUGHT for _ in range(kind.nv)) for kind in self.kinds])

    def _buffer(self, name: str, values: Sequence[Scalar]) -> str:
        while name in self.buffers:
            name += "_"
        self.buffers[name] = len(values)
        return name

    def _matrix(self) -> str:
        self.matrices.append(f"matrix{len(self.matrices)}")
        return self.matrices[-1]


def _write_pair(place: Place, entry: Entry, name: str, values: Sequence[Scalar]) -> None:
    """What degree of freedom k of a walk's start has with those of the joint at `place`."""
    row, column, k = ir.Ref("row", name), ir.Ref("column", name), place.dof
    if not entry.symmetric:
        if k is None or not entry.transposed:
            place.write(column if entry.transposed else row, values)
        return
    place.write(row, values if k is None else values[: k + 1])
    if k != 0:
        place.write(column, values if k is None else values[:k])
