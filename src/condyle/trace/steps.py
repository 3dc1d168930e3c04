"""What a rolled run records: steps, and handles that stand for values and matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar, cast, overload

from condyle.ir import sweep as ir
from condyle.ir.expr import Expr, Graph
from condyle.ir.program import Array, input_of
from condyle.passes import pipeline
from condyle.scalar import Scalar

T = TypeVar("T")
TRIG = "trig"  # the buffer of cosines and sines of all joints


class StepGraph(Graph):
    """A step's graph: sine and cosine of the joint's own coordinates were computed once, by the first sweep."""

    def __init__(self, nq: int) -> None:
        super().__init__()
        self.nq = nq
        self.arrays: list[Array] = []
        self.refs: list[ir.Ref] = []

    def read(self, ref: ir.Ref, size: int) -> list[Scalar]:
        """Symbols for what `ref` is bound to."""
        if ref in self.refs:
            k = self.refs.index(ref)
        else:
            k = len(self.refs)
            self.refs.append(ref)
            self.arrays.append(Array(f"{ref.space} {ref.name}".strip(), (size,)))
        return [cast(Scalar, self.input(k, entry)) for entry in range(size)]

    def _own_coordinate(self, x: Expr) -> int | None:
        node = self.nodes[x.index]
        if node[0] != "input":
            return None
        array, entry = input_of(node)
        return entry if self.refs[array] == ir.Ref("input", "q") else None

    def _computed(self, entry: int) -> Expr:
        return cast(Expr, self.read(ir.Ref("here", TRIG), 2 * self.nq)[entry])

    def sin(self, x: Expr) -> Expr:
        k = self._own_coordinate(x)
        return super().sin(x) if k is None else self._computed(2 * k + 1)

    def cos(self, x: Expr) -> Expr:
        k = self._own_coordinate(x)
        return super().cos(x) if k is None else self._computed(2 * k)

    def step(self, name: str, writes: Sequence[tuple[ir.Ref, Sequence[Scalar]]]) -> ir.Step:
        """The step that writes these values."""
        arrays = [Array(f"{ref.space} {ref.name}".strip(), (len(values),)) for ref, values in writes]
        entries = [
            (k, index, cast(Expr, value)) for k, (_, values) in enumerate(writes) for index, value in enumerate(values)
        ]
        program = self.program(name, self.arrays, arrays, entries)
        program = pipeline.apply(pipeline.apply(program, pipeline.CLEAN), pipeline.CODE)
        return ir.Step(program, tuple(self.refs), tuple(ref for ref, _ in writes))


class Handle(Sequence[T]):
    """A Field of a rolled run: where its values are, and their structure for each kind of joint."""

    def __init__(self, ref: ir.Ref, shapes: Sequence[object]) -> None:
        self.ref = ref
        self.shapes = shapes

    def __len__(self) -> int:
        raise TypeError("a rolled field has no elements")

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        raise TypeError("a rolled field has no elements")


@dataclass(frozen=True)
class MatrixHandle:
    """A joint-space matrix of a rolled run."""

    name: str

    def get(self, row: int, column: int) -> Scalar | None:
        raise TypeError("a rolled matrix has no elements")
