"""Sweeps that are recorded instead of run: each step is traced once for every kind of joint, and loops come out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar, cast

from condyle.algorithms.joint import Joint
from condyle.algorithms.rnea import Wrench
from condyle.algorithms.sweeps import Entry, Field, Matrix
from condyle.algorithms.unrolled import joint_at, wrench_on
from condyle.algorithms.values import flat, like
from condyle.errors import UnsupportedError
from condyle.ir import sweep as ir
from condyle.ir.expr import Expr, Graph
from condyle.model.tree import Tree
from condyle.scalar import Scalar, number
from condyle.spatial.vector import ZERO, Vector
from condyle.trace.kinds import Kind, constants, kinds_of, matrix, numbers_of, three
from condyle.trace.steps import TRIG, Handle, MatrixHandle, StepGraph

T = TypeVar("T")
U = TypeVar("U")
Column: TypeAlias = Callable[[Field[Sequence[Scalar]]], Field[Sequence[Scalar]]]
CARRY = ir.Ref("carry")
Read: TypeAlias = Callable[[object], object]


class Rolling:
    """Sweeps that are recorded as loops; has the methods of `algorithms.sweeps.Sweeps`."""

    def __init__(self, tree: Tree, f_ext: bool) -> None:
        if tree.has_shared_coordinates:
            raise UnsupportedError("rolled sweeps need every joint to move alone: this robot has mimic joints")
        self.gravity = cast(Vector, tree.gravity)
        self.kinds, kind_of = kinds_of(tree)
        self.joints = tuple(
            ir.Joint(kind, link.parent, link.q[0].at, link.v[0].at, 6 * link.body, constants(link))
            for link, kind in zip(tree.links, kind_of, strict=True)
        )
        self.loops: list[ir.Loop] = []
        self.buffers: dict[str, int] = {}
        self.world: dict[str, Sequence[float]] = {}
        self.matrices: list[str] = []
        self.f_ext: Field[tuple[Vector, Vector]] | None = None
        self._place()
        if f_ext:
            self.f_ext = self._record("f_ext", [self._external(kind) for kind in self.kinds])

    def each(self, step: Callable[..., T], *given: Field[object]) -> Field[T]:
        return self._sweep(step.__name__, lambda joint, read: (step(joint, *map(read, given)), None, None), False)

    def forward(self, step: Callable[..., T], world: T, *given: Field[object]) -> Field[T]:
        name, parent = self._parent(step.__name__, world)
        return self._sweep(
            step.__name__, lambda joint, read: (step(joint, read(parent), *map(read, given)), None, None), False, name
        )

    def outward(self, step: Callable[..., tuple[U, T]], world: T, *given: Field[object]) -> Field[U]:
        name, parent = self._parent(step.__name__, world)

        def run(joint: Joint, read: Read) -> tuple[U, ir.Ref, T]:
            result, value = step(joint, read(parent), *map(read, given))
            return result, ir.Ref("here", name), value

        return self._sweep(step.__name__, run, False)

    def backward(self, step: Callable[..., tuple[U, T]], own: Field[T], *given: Field[object]) -> Field[U]:
        total = cast("Handle[T]", self.each(_same, own))

        def run(joint: Joint, read: Read) -> tuple[U, ir.Ref, T]:
            result, up = step(joint, read(total), *map(read, given))
            return result, ir.Ref("add", total.ref.name), up

        return self._sweep(step.__name__, run, True)

    def pairs(
        self,
        start: Callable[..., T],
        meet: Callable[..., Sequence[Sequence[Scalar]]],
        rise: Callable[[Joint, T], T],
        entries: Sequence[Entry],
        *given: Field[object],
    ) -> Sequence[Matrix]:
        names = [self._matrix() for _ in range(1 + max(entry.matrix for entry in entries))]
        starts, shape = self._starts(start, given)
        carried: Handle[T] = Handle(CARRY, [shape] * len(self.kinds))
        meets: list[ir.Step] = []
        rises: list[ir.Step] = []
        for kind in range(len(self.kinds)):
            graph, joint = self._symbolic(kind)
            fields = [self._read(graph, kind, field) for field in given]
            values = meet(joint, self._read(graph, kind, carried), *fields)
            meets.append(graph.step(meet.__name__, [(ir.Ref("meeting"), flat(tuple(map(tuple, values))))]))
            graph, joint = self._symbolic(kind)
            value = rise(joint, cast(T, self._read(graph, kind, carried)))
            rises.append(graph.step(rise.__name__, [(CARRY, flat(value))]))
        targets = tuple(ir.Target(names[entry.matrix], entry.transposed) for entry in entries)
        self.loops.append(ir.Pairs(starts, tuple(meets), tuple(rises), targets, len(flat(shape))))
        return [MatrixHandle(name) for name in names]

    def _starts(
        self, start: Callable[..., T], given: Sequence[Field[object]]
    ) -> tuple[tuple[tuple[ir.Step, ...], ...], T | None]:
        """The starting step of each degree of freedom of each kind, and the structure of what pairs carry."""
        shape: T | None = None
        starts: list[tuple[ir.Step, ...]] = []
        for kind in range(len(self.kinds)):
            steps: list[ir.Step] = []
            for k in range(self.kinds[kind].nv):
                graph, joint = self._symbolic(kind)
                shape = start(joint, k, *(self._read(graph, kind, field) for field in given))
                steps.append(graph.step(start.__name__, [(CARRY, flat(shape))]))
            starts.append(tuple(steps))
        return tuple(starts), shape

    def add_diagonal(self, matrix: Matrix, values: Field[Sequence[Scalar]]) -> None:
        self._put(ir.Ref("diagonal", cast(MatrixHandle, matrix).name), values)

    def unit_columns(self, column: Column) -> MatrixHandle:
        inverse = self._columns(column, ir.Ref("unit"))
        self.loops.append(ir.Mirror(inverse.name))
        return inverse

    def map_columns(self, column: Column, matrix: Matrix) -> MatrixHandle:
        return self._columns(column, ir.Ref("column", cast(MatrixHandle, matrix).name))

    def _columns(self, column: Column, ref: ir.Ref) -> MatrixHandle:
        name, outside = self._matrix(), self.loops
        self.loops = []
        self._put(ir.Ref("column", name), column(self._dof_handle(ref)))
        body = tuple(cast("list[ir.Sweep]", self.loops))
        self.loops = [*outside, ir.Columns(body)]
        return MatrixHandle(name)

    def minus_product(self, left: str, right: Matrix) -> MatrixHandle:
        """-left right, `left` an input port."""
        name = self._matrix()
        self.loops.append(ir.Product(left, cast(MatrixHandle, right).name, name))
        return MatrixHandle(name)

    def dofs(self, port: str) -> Field[Sequence[Scalar]]:
        """An input port of joint-space size, dealt out to the joints."""
        return self._dof_handle(ir.Ref("input", port))

    def output(self, port: str, values: Field[Sequence[Scalar]]) -> None:
        """The joints' values are this output port."""
        self._put(ir.Ref("output", port), values)

    def _parent(self, name: str, world: T) -> tuple[str, Handle[T]]:
        """A buffer that starts at the world, and the parent's row of it."""
        buffer = self._buffer(name, [flat(world)])
        self.world[buffer] = [float(cast(float, value)) for value in flat(world)]
        return buffer, Handle(ir.Ref("parent", buffer), [world] * len(self.kinds))

    def _dof_handle(self, ref: ir.Ref) -> Handle[Sequence[Scalar]]:
        return Handle(ref, [tuple(number(0.0) for _ in range(kind.nv)) for kind in self.kinds])

    def _put(self, ref: ir.Ref, values: Field[Sequence[Scalar]]) -> None:
        steps: list[ir.Step] = []
        for kind in range(len(self.kinds)):
            graph, _ = self._symbolic(kind)
            steps.append(graph.step(ref.space, [(ref, flat(self._read(graph, kind, values)))]))
        self.loops.append(ir.Sweep(False, tuple(steps)))

    def _sweep(
        self,
        name: str,
        run: Callable[[Joint, Read], tuple[T, ir.Ref | None, object]],
        backward: bool,
        into: str | None = None,
    ) -> Handle[T]:
        """Record a sweep whose step gives (value kept here, where else something goes, what goes there)."""
        traced: list[tuple[StepGraph, T, ir.Ref | None, object]] = []
        for kind in range(len(self.kinds)):
            graph, joint = self._symbolic(kind)

            def read(field: object, graph: StepGraph = graph, kind: int = kind) -> object:
                return self._read(graph, kind, field)

            traced.append((graph, *run(joint, read)))
        buffer = into or self._buffer(name, [flat(kept) for _, kept, _, _ in traced])
        steps = [
            graph.step(name, [(ir.Ref("here", buffer), flat(kept)), *([(ref, flat(other))] if ref else [])])
            for graph, kept, ref, other in traced
        ]
        self.loops.append(ir.Sweep(backward, tuple(steps)))
        return Handle(ir.Ref("here", buffer), [kept for _, kept, _, _ in traced])

    def _record(self, name: str, steps: Sequence[tuple[StepGraph, object]]) -> Handle[tuple[Vector, Vector]]:
        buffer = self._buffer(name, [flat(kept) for _, kept in steps])
        recorded = [graph.step(name, [(ir.Ref("here", buffer), flat(kept))]) for graph, kept in steps]
        self.loops.append(ir.Sweep(False, tuple(recorded)))
        return Handle(ir.Ref("here", buffer), [kept for _, kept in steps])

    def _external(self, kind: Kind) -> tuple[StepGraph, object]:
        graph = StepGraph(kind.type.nq)
        if not kind.carries_body:
            return graph, Wrench(ZERO, ZERO)
        numbers = kind.bound(graph.read(ir.Ref("table"), len(kind.fixed)))
        return graph, wrench_on(matrix(numbers[-12:-3]), three(numbers[-3:]), graph.read(ir.Ref("input", "f_ext"), 6))

    def _place(self) -> None:
        """The first sweep: cosine and sine of every coordinate, for the joints that turn by angles."""
        steps: list[tuple[StepGraph, object]] = []
        for kind in self.kinds:
            graph = StepGraph(0)
            q = graph.read(ir.Ref("input", "q"), kind.type.nq)
            angles = tuple((Graph.cos(graph, cast(Expr, x)), Graph.sin(graph, cast(Expr, x))) for x in q)
            steps.append((graph, angles if kind.type.name not in ("free", "spherical") else ()))
        self._record(TRIG, steps)

    def _symbolic(self, kind: int) -> tuple[StepGraph, Joint]:
        """A fresh graph, and the joint of this kind as steps see it."""
        about = self.kinds[kind]
        graph = StepGraph(about.type.nq)
        numbers = about.bound(graph.read(ir.Ref("table"), len(about.fixed)))
        joint = joint_at(about.type, numbers_of(numbers), graph.read(ir.Ref("input", "q"), about.type.nq))
        return graph, joint

    def _read(self, graph: StepGraph, kind: int, field: object) -> object:
        handle = cast("Handle[object]", field)
        shape = handle.shapes[kind]
        return like(shape, iter(graph.read(handle.ref, len(flat(shape)))))

    def _buffer(self, name: str, values: Sequence[Sequence[Scalar]]) -> str:
        unique = name
        while unique in self.buffers:
            unique += "_"
        self.buffers[unique] = max(len(value) for value in values)
        return unique

    def _matrix(self) -> str:
        self.matrices.append(f"matrix{len(self.matrices)}")
        return self.matrices[-1]


def _same(joint: Joint, value: T) -> T:
    return value
