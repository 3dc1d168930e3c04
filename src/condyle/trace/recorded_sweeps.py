"""Sweeps that are recorded as loops: each step is traced once for every kind of joint.

Steps that can be in one loop are put into one: a step uses the results of earlier steps at the same joint directly, and
only values that another loop reads are stored. Steps of `each` that depend on no loop are traced into their readers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar, cast

from condyle.algorithms.joint import NO_FORCE, Joint, Wrench, joint_at, wrench_on
from condyle.algorithms.matrix import flat, like, plus
from condyle.algorithms.sweeps import Entry, Field, Matrix, PairStep, Vector
from condyle.errors import UnsupportedError
from condyle.ir import loops as ir
from condyle.ir.expr import Expr, Graph
from condyle.ir.segments import Product, whole
from condyle.model.tree import Tree
from condyle.scalar import Scalar, number
from condyle.spatial import vector as vec
from condyle.trace.recorded_steps import (
    TRIG,
    External,
    Group,
    Handle,
    JointGroup,
    Lazy,
    MatrixHandle,
    StepContext,
    StepGraph,
    Unit,
    constants,
    kinds_of,
)
from condyle.trace.straight import connected, coupled, rows_of

# Contexts of steps for a kind of joint: a new graph, and the joint with symbols of that graph.


def context_of(number: int, kind: JointGroup, dof: int | None = None) -> StepContext:
    """A new graph, and the joint of this kind as steps take it."""
    graph = StepGraph(kind.type.nq)
    numbers = kind.bound(graph.read(ir.Ref("table"), len(kind.fixed))).numbers
    joint = joint_at(kind.type, numbers, graph.read(ir.Ref("input", "q"), kind.type.nq))
    return StepContext(number, graph, joint, dof)


def angles(context: StepContext, kind: JointGroup) -> list[Scalar]:
    """Cosine and sine of every coordinate of a joint whose coordinates are angles; else nothing."""
    if not kind.type.angles:
        return []
    q = cast("list[Expr]", context.graph.read(ir.Ref("input", "q"), kind.type.nq))
    return [cast(Scalar, Graph.function(context.graph, op, (x,))) for x in q for op in ("cos", "sin")]


def external(context: StepContext, kind: JointGroup) -> Wrench:
    """The external wrench on the link, in its own frame."""
    if not kind.carries_body:
        return NO_FORCE
    _, frame = kind.bound(context.graph.read(ir.Ref("table"), len(kind.fixed)))
    return wrench_on(frame, context.graph.read(ir.Ref("input", "f_ext"), 6))


def write_pair(context: StepContext, entry: Entry, name: str, values: Sequence[Scalar]) -> None:
    """Writes the values of the pairs of the walk's degree of freedom and those of the joint at `context`."""
    row, column, k = ir.Ref("row", name), ir.Ref("column", name), context.dof
    if not entry.symmetric:
        if k is None or not entry.transposed:
            context.write(column if entry.transposed else row, values)
        return
    context.write(row, values if k is None else values[: k + 1])
    if k != 0:
        context.write(column, values if k is None else values[:k])


# Loops under construction: which sweep a step can be added to, and which entries have to be stored.


Reads: TypeAlias = set[tuple[str, int]]
STORED = ("here", "parent")


@dataclass(eq=False)
class Scope:
    """Loops in order: of the function, or of the body of a loop over columns. unit: the columns are unit vectors."""

    unit: bool = False
    items: list[Group | Scope | ir.Mirror | Product] = field(
        default_factory=list["Group | Scope | ir.Mirror | Product"]
    )

    def add(self, group: Group) -> Group:
        self.items.append(group)
        return group

    def columns(self, unit: bool) -> Scope:
        """The body of a loop over columns: the last one if both are for general columns, else a new one."""
        last = self.items[-1]
        if isinstance(last, Scope) and not unit and not last.unit:
            return last
        self.items.append(inner := Scope(unit))
        return inner

    def latest(self, groups: Collection[Group]) -> Group | None:
        """The last of these groups that is in this scope."""
        mine = [item for item in self.items if isinstance(item, Group) and item in groups]
        return mine[-1] if mine else None

    def sharing(self, backward: bool, needs: Collection[Group]) -> Group | None:
        """The last sweep of this direction that a step with these needs can be added to, if any.

        A step that needs a sweep of the same direction can be in that sweep: at each joint it runs after the other
        step, and it reads no values of joints that the sweep has not reached.
        """
        first = self.latest(needs)
        for item in reversed(self.items):
            if isinstance(item, Group) and not item.walk and not item.sealed and item.backward == backward:
                return item
            if item is first:
                return None
        return None

    def finished(self) -> tuple[ir.Loop, ...]:
        """The loops, without computations whose results are not read."""
        reads: Reads = set()
        loops: list[ir.Loop] = []
        for item in reversed(self.items):
            if isinstance(item, Scope):
                loops.append(ir.Columns(item.body(reads)))
            elif isinstance(item, Group):
                loop = _finished(item, reads)
                assert isinstance(loop, ir.Sweep)
                loops.append(loop)
            else:
                loops.append(item)
        return tuple(reversed(loops))

    def body(self, reads: Reads) -> tuple[ir.Sweep | ir.Walk, ...]:
        """The sweeps and walks of one column."""
        groups = [item for item in self.items if isinstance(item, Group)]
        return tuple(reversed([_finished(group, reads) for group in reversed(groups)]))


def _finished(group: Group, reads: Reads) -> ir.Sweep | ir.Walk:
    """One loop, given the entries that later ones read; adds those that it reads itself."""

    def wanted(ref: ir.Ref, k: int) -> bool:
        return ref.space not in STORED or (ref.name, k) in reads

    while True:
        known = len(reads)
        loop = group.finished(wanted)
        read = [pair for _, step in ir.steps(loop) for pair in ir.entries_read(step)]
        reads.update((ref.name, k) for ref, k in read if ref.space in STORED)
        if len(reads) == known:
            return loop


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
        self.f_ext: Field[tuple[vec.Vector, vec.Vector]] | None = None
        if forces:
            self.f_ext = External(ir.Ref("input", "f_ext"), ())

    def each(self, step: Callable[..., T], *fields: Field[object]) -> Field[T]:
        handles = _handles(fields)
        needs = [group for handle in handles for group in handle.needs()]
        home = self.scope.latest(needs)
        if home is None or home.walk:
            return Lazy(step, handles)

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
        return self.scope.sharing(backward, needs) or self.scope.add(self._sweep(name, backward, self.scope.unit))

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
