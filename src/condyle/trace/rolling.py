"""Sweeps that are recorded as loops: each step is traced once for every kind of joint.

Steps that can be in one loop are put into one: a step uses the results of earlier steps at the same joint directly, and
only values that another loop reads are stored. Steps of `each` that depend on no loop are traced into their readers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar, cast

from condyle.algorithms.joint import Joint
from condyle.algorithms.sweeps import Entry, Field, Matrix, PairStep, Vector
from condyle.algorithms.values import flat, like, plus
from condyle.errors import UnsupportedError
from condyle.ir import sweep as ir
from condyle.ir.segments import Product, whole
from condyle.model.tree import Tree
from condyle.scalar import Scalar, number
from condyle.spatial import vector as vec
from condyle.trace.contexts import angles, context_of, external, write_pair
from condyle.trace.finish import Scope
from condyle.trace.kinds import constants, kinds_of
from condyle.trace.steps import TRIG, External, Group, Handle, Lazy, MatrixHandle, StepContext, Unit
from condyle.trace.structure import connected, coupled, rows_of

T = TypeVar("T")
U = TypeVar("U")
Column: TypeAlias = Callable[[Field[Sequence[Scalar]]], Field[Sequence[Scalar]]]
CARRY = ir.Ref("carry")
NAUGHT = number(0.0)


def _handles(fields: Sequence[Field[object]]) -> Sequence[Handle[object]]:
    return cast("Sequence[Handle[object]]", fields)


class Rolling:
    """`algorithms.sweeps.Sweeps` that record loops."""

    def __init__(self, tree: Tree, forces: bool) -> None:
        if tree.has_shared_coordinates:
            raise UnsupportedError("loops need every joint to move alone, and this robot has mimic joints")
        self.gravity, self.free_rotors, self.world_forces = cast(vec.Vector, tree.gravity), tree.has_free_rotors, False
        self.kinds, kind_of = kinds_of(tree)
        self.joints = tuple(
            ir.Joint(kind, link.parent, link.q[0].entry, link.v[0].entry, 6 * link.body, constants(link))
            for link, kind in zip(tree.links, kind_of, strict=True)
        )
        self.related, self.connected = rows_of(coupled(tree)), rows_of(connected(coupled(tree)))
        self.scope = self.top = Scope()
        self.buffers, self.matrices = dict[str, int](), list[str]()
        self._turn()
        self.damping = None
        self.f_ext: Field[tuple[vec.Vector, vec.Vector]] | None = None
        if forces:
            self.f_ext = External(ir.Ref("input", "f_ext"), ())

    def each(self, step: Callable[..., T], *fields: Field[object]) -> Field[T]:
        handles = _handles(fields)
        needs = [group for handle in handles for group in handle.needs()]
        home = self.scope.latest(needs)
        if home is None or home.walk:
            return Lazy(step, handles)
        home.needs.update(needs)

        def run(context: StepContext) -> T:
            return step(context.joint, *self._reads(context, handles))

        return self._stored(home, self._buffer(step.__name__, ()), run)

    def forward(self, step: Callable[..., T], world: T, *fields: Field[object]) -> Field[T]:
        handles = _handles(fields)
        group, name = self._group(step.__name__, False, handles), self._buffer(step.__name__, flat(world))

        def run(context: StepContext) -> T:
            return step(context.joint, self._parent(context, name, world), *self._reads(context, handles))

        return self._stored(group, name, run)

    def outward(self, step: Callable[..., tuple[U, T]], world: T, *fields: Field[object]) -> Field[U]:
        handles = _handles(fields)
        group, name = self._group(step.__name__, False, handles), self._buffer(step.__name__, flat(world))

        def run(context: StepContext) -> U:
            result, value = step(context.joint, self._parent(context, name, world), *self._reads(context, handles))
            context.write(ir.Ref("here", name), flat(value))
            return result

        return self._stored(group, self._buffer(step.__name__, ()), run)

    def backward(self, step: Callable[..., tuple[U, T]], values: Field[T], *fields: Field[object]) -> Field[U]:
        handles = _handles(fields)
        if self.scope.unit:
            return self._climb(step, values, handles)
        group = self._group(step.__name__, True, [cast("Handle[object]", values), *handles])
        name = self._buffer(f"{step.__name__}_sum", ())

        def run(context: StepContext) -> U:
            kind = self.kinds[context.kind]
            total = self._read(context, values)
            if not kind.is_leaf:
                total = plus(total, cast(T, like(total, iter(self._rows(context, ir.Ref("here", name), flat(total))))))
            result, up = step(context.joint, total, *self._reads(context, handles))
            ups, ref = flat(up), ir.Ref("parent", name)
            if not kind.is_first:
                ups = [a + b for a, b in zip(self._rows(context, ref, ups), ups, strict=True)]
            if not kind.is_root:
                context.write(ref, ups)
            return result

        return self._stored(group, self._buffer(step.__name__, ()), run)

    def _climb(self, step: Callable[..., tuple[U, T]], values: Field[T], handles: Sequence[Handle[object]]) -> Field[U]:
        """A backward sweep for the unit vector of a column: a walk, since only its joint and the ancestors matter."""
        group = self._walk(step.__name__)

        def run(context: StepContext) -> U:
            total = self._read(context, values)
            if context.dof is None:
                total = plus(total, cast(T, like(total, iter(self._rows(context, CARRY, flat(total))))))
            result, up = step(context.joint, total, *self._reads(context, handles))
            self._carry(group, context, flat(up))
            return result

        handle = self._stored(group, self._buffer(step.__name__, ()), run)
        group.clears.append(handle.ref.name)
        return handle

    def pairs(
        self,
        start: Callable[..., T],
        meet: PairStep,
        rise: Callable[[Joint, T], T],
        entries: Sequence[Entry],
        *fields: Field[object],
        diagonal: PairStep | None = None,
    ) -> Sequence[Matrix]:
        names = [self._matrix() for _ in range(1 + max(entry.matrix for entry in entries))]
        outside, self.scope = self.scope, self.scope.columns(unit=True)
        group = self._walk(meet.__name__)
        shape = cast(T, None)  # set by the starts, which come first
        for context in group.contexts:
            here = self._reads(context, _handles(fields))
            if context.dof is not None:
                shape = value = start(context.joint, context.dof, *here)
                met = (
                    diagonal(context.joint, context.dof, value, *here)
                    if diagonal
                    else meet(context.joint, value, *here)
                )
            else:
                value = cast(T, like(shape, iter(self._rows(context, CARRY, flat(shape)))))
                met = meet(context.joint, value, *here)
            for m, entry in enumerate(entries):
                write_pair(context, entry, names[entry.matrix], [values[m] for values in met])
            self._carry(group, context, flat(rise(context.joint, value)))
        self.scope = outside
        return [MatrixHandle(name) for name in names]

    def add_diagonal(self, matrix: Matrix, values: Field[Sequence[Scalar]]) -> None:
        ref = ir.Ref("diagonal", cast(MatrixHandle, matrix).name)
        for context in self.scope.add(self._sweep("diagonal", False)).contexts:
            added = flat(self._read(context, values))
            before = context.graph.read(ref, len(added))
            context.write(ref, [a + b for a, b in zip(before, added, strict=True)])

    def unit_columns(self, column: Column) -> MatrixHandle:
        outside, self.scope = self.scope, self.scope.columns(unit=True)
        inverse = MatrixHandle(self._matrix())
        self._put(ir.Ref("column", inverse.name), column(Unit(ir.Ref("here"), ())))
        self.scope = outside
        self.scope.items.append(ir.Mirror(inverse.name))
        return inverse

    def map_columns(self, column: Column, matrix: Matrix) -> MatrixHandle:
        """In place: the result overwrites the matrix."""
        handle = cast(MatrixHandle, matrix)
        outside, self.scope = self.scope, self.scope.columns(unit=False)
        ref = ir.Ref("column", handle.name)
        self._put(ref, column(self._dof_handle(ref)))
        self.scope = outside
        return handle

    def minus_product(self, left: str, right: Matrix) -> MatrixHandle:
        name = self._matrix()
        x, y = (whole(array, len(self.related)) for array in (left, cast(MatrixHandle, right).name))
        self.scope.items.append(Product(x, y, name, self.related, self.connected, minus=True))
        return MatrixHandle(name)

    def input(self, port: str) -> Field[Sequence[Scalar]]:
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
        for context in home.contexts:
            context.write(ref, flat(self._read(context, values)))

    def _stored(self, group: Group, name: str, run: Callable[[StepContext], T]) -> Handle[T]:
        """The results of `run` in the contexts of a group, stored in the buffer of this name for other loops."""
        ref = ir.Ref("here", name)
        handle: Handle[T] = Handle(ref, [None] * len(self.kinds), group)
        shapes: dict[int, object] = {}
        for context in group.contexts:
            handle.values[context] = shapes[context.kind] = value = run(context)
            context.write(ref, flat(value))
            self.buffers[name] = max(self.buffers[name], len(flat(value)))
        handle.shapes = [shapes[kind] for kind in range(len(self.kinds))]
        return handle

    def _carry(self, group: Group, context: StepContext, values: Sequence[Scalar]) -> None:
        group.carry = len(values)
        if not self.kinds[context.kind].is_root:
            context.write(CARRY, values)

    def _parent(self, context: StepContext, name: str, world: T) -> T:
        """The parent's value in a sweep towards the leaves."""
        if self.kinds[context.kind].is_root:
            return world
        return cast(T, like(world, iter(self._rows(context, ir.Ref("parent", name), flat(world)))))

    def _rows(self, context: StepContext, ref: ir.Ref, shape: Sequence[Scalar]) -> list[Scalar]:
        if ref.name:
            self.buffers[ref.name] = max(self.buffers[ref.name], len(shape))
        return context.graph.read(ref, len(shape))

    def _reads(self, context: StepContext, handles: Sequence[Handle[object]]) -> list[object]:
        return [self._read(context, handle) for handle in handles]

    def _read(self, context: StepContext, field: Field[T]) -> T:
        """A field's value in a context: known there, computed there, or read from storage."""
        handle = cast("Handle[T]", field)
        if context in handle.values:
            return cast(T, handle.values[context])
        if isinstance(handle, Unit):
            return cast(T, tuple(number(float(k == context.dof)) for k in range(self.kinds[context.kind].nv)))
        if isinstance(handle, External):
            value = cast(T, external(context, self.kinds[context.kind]))
        elif isinstance(handle, Lazy):
            value = handle.step(context.joint, *self._reads(context, handle.fields))
        else:
            shape = handle.shapes[context.kind]
            known = flat(shape)
            read = context.graph.read(handle.ref, len(known))
            if handle.home is not None and not handle.home.walk:
                read = [a if isinstance(a, float) else b for a, b in zip(known, read, strict=True)]
            value = cast(T, like(shape, iter(read)))
        handle.values[context] = value
        return value

    def _group(self, name: str, backward: bool, handles: Sequence[Handle[object]]) -> Group:
        """A sweep of this direction after all loops that these fields need: an existing one, or a new one."""
        needs = [group for handle in handles for group in handle.needs()]
        group = self.scope.sharing(backward, needs) or self.scope.add(self._sweep(name, backward, self.scope.unit))
        group.needs.update(needs)
        return group

    def _sweep(self, name: str, backward: bool, upto: bool = False) -> Group:
        return Group(name, backward, [context_of(kind, about) for kind, about in enumerate(self.kinds)], upto)

    def _walk(self, name: str) -> Group:
        starts = [context_of(kind, about, k) for kind, about in enumerate(self.kinds) for k in range(about.nv)]
        visits = [context_of(kind, about) for kind, about in enumerate(self.kinds)]
        return self.scope.add(Group(name, True, starts + visits, walk=True))

    def _turn(self) -> None:
        """The first sweep: cosine and sine of every coordinate that is an angle."""
        group = self.scope.add(self._sweep(TRIG, False))
        group.sealed = True
        for context in group.contexts:
            context.write(ir.Ref("here", TRIG), angles(context, self.kinds[context.kind]))
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
