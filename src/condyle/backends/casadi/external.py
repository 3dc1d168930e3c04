"""Functions with CasADi's interface, on matrices in compressed column format, from Programs and their derivatives.

CasADi finds the derivatives of an external function F(i) -> (o) by their names:

    jac_F(i, out_o) -> every d o / d i               the Jacobian; out_o are the outputs of F, which are not read
    adj1_F(i, out_o, adj_o) -> adj_i                 the adjoint: sum of adj_o times d o / d i
    jac_adj1_F(i, out_o, adj_o, out_adj_i) -> ...    its Jacobian: the Hessian of adj_o times o, and d o / d i

So the Hessian of a Lagrangian is exact, without finite differences.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from condyle.ir.program import Array, Program

Place = tuple[int, int]
"""(number of an array, entry)."""


@dataclass(frozen=True)
class Port:
    """An input or output. entries: (row, column) of those that can differ from zero, column by column."""

    name: str
    rows: int
    columns: int
    entries: tuple[tuple[int, int], ...]

    @property
    def nnz(self) -> int:
        return len(self.entries)

    @cached_property
    def place(self) -> dict[tuple[int, int], int]:
        return {entry: k for k, entry in enumerate(self.entries)}


@dataclass(frozen=True)
class Part:
    """A Program, with reads {(input, entry): (argument, nonzero)} and writes (output, nonzero, node)."""

    program: Program
    reads: Mapping[Place, Place]
    writes: Sequence[tuple[int, int, int]]


@dataclass(frozen=True)
class External:
    """A function with CasADi's interface."""

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Shape:
    """An array as a matrix of CasADi: a vector is a column, (1, m, n) is (m, n), all others are columns."""

    array: Array

    @cached_property
    def matrix(self) -> tuple[int, int]:
        shape = [size for k, size in enumerate(self.array.shape) if size != 1 or k >= len(self.array.shape) - 2]
        return (shape[0], shape[1]) if len(shape) == 2 else (prod(shape), 1)

    @property
    def size(self) -> int:
        return self.array.size

    def cell(self, k: int) -> tuple[int, int]:
        """Row and column of entry k, counted row by row."""
        return divmod(k, self.matrix[1])

    def number(self, k: int) -> int:
        """The number of entry k counted column by column, as CasADi vectorises a matrix."""
        row, column = self.cell(k)
        return row + column * self.matrix[0]


def _port(name: str, rows: int, columns: int, cells: Sequence[tuple[int, int]]) -> Port:
    return Port(name, rows, columns, tuple(sorted(set(cells), key=lambda cell: (cell[1], cell[0]))))


def _dense(name: str, rows: int, columns: int) -> Port:
    return _port(name, rows, columns, [(i, j) for j in range(columns) for i in range(rows)])


def _empty(name: str, port: Port) -> Port:
    return Port(name, port.rows, port.columns, ())


def _reads(shapes: Sequence[Shape], ports: Sequence[Port], numbers: Sequence[int]) -> dict[Place, Place]:
    """The reads of arrays whose arguments have these numbers."""
    return {
        (i, k): (number, port.place[shape.cell(k)])
        for i, (shape, port, number) in enumerate(zip(shapes, ports, numbers, strict=True))
        for k in range(shape.size)
        if shape.cell(k) in port.place
    }


@dataclass(frozen=True)
class Family:
    """A function and its derivatives as Programs. inputs, outputs: names of its arrays."""

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    value: Program
    jacobian: Program
    vjp: Program
    hessian: Program

    @cached_property
    def takes(self) -> list[Shape]:
        return [Shape(array) for array in self.value.inputs]

    @cached_property
    def gives(self) -> list[Shape]:
        return [Shape(array) for array in self.value.arrays]

    @cached_property
    def ins(self) -> list[Port]:
        return [_dense(name, *shape.matrix) for name, shape in zip(self.inputs, self.takes, strict=True)]

    @cached_property
    def outs(self) -> list[Port]:
        cells: list[list[tuple[int, int]]] = [[] for _ in self.gives]
        for output in self.value.outputs:
            cells[output.array].append(self.gives[output.array].cell(output.index))
        named = zip(self.outputs, self.gives, cells, strict=True)
        return [_port(name, *shape.matrix, cell) for name, shape, cell in named]

    def externals(self) -> list[External]:
        """The function, its Jacobian, its adjoint, and the Jacobian of the adjoint."""
        return [self._value(), self._jacobian(), self._adjoint(), self._second()]

    def _value(self) -> External:
        return _assembled(self.name, self.ins, self.outs, [self._evaluated()])

    def _evaluated(self) -> tuple[Program, dict[Place, Place], list[tuple[int, tuple[int, int], int]]]:
        writes = [(o.array, self.gives[o.array].cell(o.index), o.node) for o in self.value.outputs]
        return self.value, _reads(self.takes, self.ins, range(len(self.ins))), writes

    def _blocks(self) -> list[tuple[int, int, int, int, int]]:
        """(output, input, row, column, node) of every entry of the Jacobian; arrays count as columns."""
        found: list[tuple[int, int, int, int, int]] = []
        for o in self.jacobian.outputs:
            of, by = divmod(o.array, len(self.takes))
            row, column = divmod(o.index, self.takes[by].size)
            found.append((of, by, self.gives[of].number(row), self.takes[by].number(column), o.node))
        return found

    def _jacobian(self) -> External:
        n = len(self.takes)
        inputs = [*self.ins, *(_empty(f"out_{port.name}", port) for port in self.outs)]
        cells: list[list[tuple[int, int]]] = [[] for _ in range(n * len(self.gives))]
        writes: list[tuple[int, tuple[int, int], int]] = []
        for of, by, row, column, node in self._blocks():
            cells[of * n + by].append((row, column))
            writes.append((of * n + by, (row, column), node))
        outputs = [
            _port(f"jac_{y.name}_{x.name}", g.size, t.size, cells[of * n + by])
            for of, (y, g) in enumerate(zip(self.outs, self.gives, strict=True))
            for by, (x, t) in enumerate(zip(self.ins, self.takes, strict=True))
        ]
        part = (self.jacobian, _reads(self.takes, self.ins, range(n)), writes)
        return _assembled(f"jac_{self.name}", inputs, outputs, [part])

    @property
    def _seeded(self) -> list[Port]:
        """Inputs of the adjoint."""
        seeds = [Port(f"adj_{port.name}", port.rows, port.columns, port.entries) for port in self.outs]
        return [*self.ins, *(_empty(f"out_{port.name}", port) for port in self.outs), *seeds]

    def _seeded_reads(self) -> dict[Place, Place]:
        n, m, ports = len(self.takes), len(self.gives), self._seeded
        numbers = [*range(n), *range(n + m, n + 2 * m)]
        return _reads([*self.takes, *self.gives], [ports[k] for k in numbers], numbers)

    def _adjoint(self) -> External:
        outputs = [_dense(f"adj_{port.name}", port.rows, port.columns) for port in self.ins]
        return _assembled(f"adj1_{self.name}", self._seeded, outputs, [self._pulled()])

    def _pulled(self) -> tuple[Program, dict[Place, Place], list[tuple[int, tuple[int, int], int]]]:
        writes = [(o.array, self.takes[o.array].cell(o.index), o.node) for o in self.vjp.outputs]
        return self.vjp, self._seeded_reads(), writes

    def _second(self) -> External:
        n, m = len(self.takes), len(self.gives)
        inputs = [*self._seeded, *(_empty(f"out_adj_{port.name}", port) for port in self.ins)]
        width = n + 2 * m
        cells: list[list[tuple[int, int]]] = [[] for _ in range(n * width)]
        curved: list[tuple[int, tuple[int, int], int]] = []
        owner = [(by, self.takes[by].number(k)) for by in range(n) for k in range(self.takes[by].size)]
        for o in self.hessian.outputs:
            (by, row), (also, column) = (owner[k] for k in divmod(o.index, len(owner)))
            curved.append((by * width + also, (row, column), o.node))
        sloped = [(by * width + n + m + of, (col, row), node) for of, by, row, col, node in self._blocks()]
        for where, cell, _ in (*curved, *sloped):
            cells[where].append(cell)
        columns = [*self.ins, *(_empty(f"out_{port.name}", port) for port in self.outs), *self._seeded[n + m :]]
        outputs = [
            _port(f"jac_adj_{x.name}_{y.name}", x.rows * x.columns, y.rows * y.columns, cells[by * width + k])
            for by, x in enumerate(self.ins)
            for k, y in enumerate(columns)
        ]
        slopes = (self.jacobian, _reads(self.takes, self.ins, range(n)), sloped)
        parts = [(self.hessian, self._seeded_reads(), curved), slopes]
        return _assembled(f"jac_adj1_{self.name}", inputs, outputs, parts)


def _assembled(
    name: str,
    inputs: Sequence[Port],
    outputs: Sequence[Port],
    parts: Sequence[tuple[Program, dict[Place, Place], list[tuple[int, tuple[int, int], int]]]],
) -> External:
    made = [
        Part(program, reads, [(k, outputs[k].place[cell], node) for k, cell, node in writes])
        for program, reads, writes in parts
    ]
    return External(name, tuple(inputs), tuple(outputs), tuple(made))
