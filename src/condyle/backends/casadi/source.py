"""C that `casadi.external` loads: scalar code of Programs, and the functions with their names, sizes and sparsities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate
from math import prod

from condyle.backends.common.chunks import CUT, Chunk, Lowered, Room, lower
from condyle.backends.common.forms import ARITHMETIC, Dialect, literal, write_functions
from condyle.errors import UnsupportedError
from condyle.ir.program import Array, Program, constant_of, input_of, operands
from condyle.operations import OPERATIONS
from condyle.passes.elementary.expand import RANDOM
from condyle.text import Emitter

# Operations of a Program as scalar C.


FORMS = {
    **ARITHMETIC,
    "rcp": "1.0 / {0}",
    "min": "cd_min({0}, {1})",
    "max": "cd_max({0}, {1})",
    "select": "({0} >= 0 ? {1} : {2})",
    **{op: f"{row.c}({', '.join(f'{{{k}}}' for k in range(row.arity))})" for op, row in OPERATIONS.items() if row.c},
    **{op: f"cd_{op}({', '.join(f'{{{k}}}' for k in range(8))})" for op in RANDOM},
}
"""Operations on doubles in C."""


def value(part: Part, index: int) -> str:
    """A constant or an entry of an argument."""
    node = part.program.nodes[index]
    if node[0] == "const":
        return literal(constant_of(node), 64)
    place = part.reads.get(input_of(node))
    return "0" if place is None else f"a[{place[0]}][{place[1]}]"


def write_nodes(e: Emitter, part: Part, order: Iterable[int], slots: Mapping[int, int]) -> None:
    """Writes nodes in order, each as a variable t. slots: index in w of those that other functions compute."""
    nodes, named = part.program.nodes, set[int]()

    def bring(index: int) -> None:
        if index not in named:
            named.add(index)
            said = value(part, index) if nodes[index][0] in ("const", "input") else f"w[{slots[index]}]"
            e(f"const casadi_real t{index} = {said};")

    for index in order:
        node = nodes[index]
        if node[0] in ("const", "input"):
            bring(index)
            continue
        if node[0] not in FORMS:
            raise UnsupportedError(f"target 'casadi': the operation {node[0]!r} has no word in C")
        for used in operands(node):
            bring(used)
        named.add(index)
        e(f"const casadi_real t{index} = {FORMS[node[0]].format(*(f't{i}' for i in operands(node)))};")


# A long Program as several C functions, because compile time grows faster than the length of a function.
#
# It is cut as for target "c" (`backends.common.chunks`): values that other functions read are in the workspace.


LONGEST = 2000
"""Most operations of a Program that is not cut, since loads and stores between functions take time."""


def is_long(program: Program) -> bool:
    """Whether it is cut."""
    return len(program.nodes) > LONGEST


@lru_cache(maxsize=16)
def _lowered(program: Program) -> Lowered:
    """The chunks. Sines and cosines are operations like any other; inputs are read from the arguments."""
    angles = range(len(program.nodes))
    return lower(program, CUT, inline=angles, room=Room((0,) * len(program.inputs), 0, 0, 0))


def room(program: Program) -> int:
    """Numbers of the workspace for its values."""
    return _lowered(program).size


class Split:
    """The functions of one part, called NAME_0, NAME_1, ..."""

    def __init__(self, name: str, part: Part) -> None:
        low = _lowered(part.program)
        self._name, self._part, self._slots = name, part, low.slots
        self._chunks = [step for step in low.steps if isinstance(step, Chunk)]
        assert len(self._chunks) == len(low.steps), name
        self._writes: dict[int, list[tuple[int, int]]] = {}
        for k, i, node in part.writes:
            self._writes.setdefault(node, []).append((k, i))

    def write(self, e: Emitter) -> None:
        """Writes the functions; each stores the outputs that it computes, and the values that later ones read."""
        head = "const casadi_real *const *a, casadi_real *const *r, casadi_real *w"
        for number, chunk in enumerate(self._chunks):
            with e.block(f"static void {self._name}_{number}({head})\n{{"):
                write_nodes(e, self._part, chunk.nodes, self._slots)
                e(*(f"w[{self._slots[node]}] = t{node};" for node in chunk.nodes if node in self._slots))
                e(*(f"r[{k}][{i}] = t{node};" for node in chunk.nodes for k, i in self._writes.get(node, ())))
                e("(void)a, (void)r, (void)w;")
            e("")

    def call(self, e: Emitter, first: int) -> None:
        """Writes the calls in order, then outputs that are constants or inputs. first: begin of their workspace."""
        e(*(f"{self._name}_{number}(a, r, w + {first});" for number in range(len(self._chunks))))
        for node, places in self._writes.items():
            if self._part.program.nodes[node][0] in ("const", "input"):
                e(*(f"r[{k}][{i}] = {value(self._part, node)};" for k, i in places))


PREAMBLE = """\
#include <math.h>

#ifndef casadi_real
#define casadi_real double
#endif
#ifndef casadi_int
#define casadi_int long long int
#endif
#if defined(_WIN32)
#define CD_API __declspec(dllexport)
#elif defined(__GNUC__)
#define CD_API __attribute__((visibility("default")))
#else
#define CD_API
#endif
#ifdef __cplusplus
extern "C" {
#endif

/* NaN if either is NaN */
static double cd_min(double a, double b) { return a < b || a != a ? a : b; }
static double cd_max(double a, double b) { return a > b || a != a ? a : b; }
static double cd_unused(void) { return cd_min(0, 0) + cd_max(0, 0); }
"""

BITS = """
#include <stdint.h>
#include <string.h>

static uint64_t cd_word(double x) { uint64_t w; memcpy(&w, &x, sizeof w); return w; }
static double cd_real(uint64_t w) { double x; memcpy(&x, &w, sizeof x); return x; }
static double cd_and(double a, double b) { return cd_real(cd_word(a) & cd_word(b)); }
static double cd_or(double a, double b) { return cd_real(cd_word(a) | cd_word(b)); }
static double cd_xor(double a, double b) { return cd_real(cd_word(a) ^ cd_word(b)); }
static double cd_iadd(double a, double b) { return cd_real(cd_word(a) + cd_word(b)); }
static double cd_rotl(double x, int n) { return cd_real(cd_word(x) << n | (cd_word(x) & 0xFFFFFFFFu) >> (32 - n)); }
static double cd_floor(double x) { return floor(x); }
static double cd_rint(double x) { return rint(x); }
"""
"""What random numbers are made of."""


def text_of(externals: Sequence[External], lines: Sequence[str]) -> str:
    """One file with these functions. lines: the comment at the top."""
    e = Emitter()
    e("/* " + lines[0], *(f" * {line}" for line in lines[1:]), " */")
    e(*PREAMBLE.splitlines())
    drawn = {node[0] for external in externals for part in external.parts for node in part.program.nodes} & set(RANDOM)
    if drawn:
        e(*BITS.splitlines())
        write_functions(e, drawn, 64, "static double", Dialect("1.0", "sqrt", "cd_"), lambda value: literal(value, 64))
    largest = max((port.nnz for one in externals for port in one.inputs), default=1)
    e(f"static const casadi_real cd_zeros[{max(1, largest)}] = {{0}};", "")
    for one in externals:
        _write_code(e, one)
        _write_questions(e, one)
    e("#ifdef __cplusplus", "}", "#endif")
    return e.text()


def _write_code(e: Emitter, external: External) -> None:
    """Writes the function. An input that is NULL is zero; an output that is NULL goes to the workspace."""
    split = {k: Split(f"{external.name}_{k}", part) for k, part in enumerate(external.parts) if is_long(part.program)}
    for chunks in split.values():
        chunks.write(e)
    inputs, outputs = (", ".join(port.name for port in ports) for ports in (external.inputs, external.outputs))
    e(f"/* {external.name}({inputs}) -> ({outputs}) */")
    head = "const casadi_real **arg, casadi_real **res, casadi_int *iw, casadi_real *w, int mem"
    with e.block(f"CD_API int {external.name}({head})\n{{"):
        _write_places(e, external)
        e("(void)arg, (void)res, (void)iw, (void)w, (void)mem, (void)cd_unused;")
        for k, part in enumerate(external.parts):
            with e.block("{"):
                if k in split:
                    split[k].call(e, _answers(external))
                else:
                    write_nodes(e, part, range(len(part.program.nodes)), {})
                    e(*(f"r[{k}][{i}] = t{node};" for k, i, node in part.writes))
        written = {(k, i) for part in external.parts for k, i, _ in part.writes}
        e(*(f"r[{k}][{i}] = 0;" for k, p in enumerate(external.outputs) for i in range(p.nnz) if (k, i) not in written))
        e("return 0;")


def _write_places(e: Emitter, external: External) -> None:
    """Writes the tables of addresses: a: inputs; r: outputs."""
    given = [f"arg[{k}] ? arg[{k}] : cd_zeros" for k in range(len(external.inputs))]
    ends = list(accumulate((port.nnz for port in external.outputs), initial=0))
    taken = [f"res[{k}] ? res[{k}] : w + {at}" for k, at in enumerate(ends[:-1])]
    e(f"const casadi_real *const a[] = {{{', '.join(given) or '0'}}};")
    e(f"casadi_real *const r[] = {{{', '.join(taken) or '0'}}};", "(void)a, (void)r;")


def _answers(external: External) -> int:
    """Numbers of the workspace for outputs that are NULL."""
    return sum(port.nnz for port in external.outputs)


def _work(external: External) -> int:
    rooms = [room(part.program) for part in external.parts if is_long(part.program)]
    return _answers(external) + max(rooms, default=0)


def _write_questions(e: Emitter, external: External) -> None:
    """Writes the functions for sizes, names, sparsities and workspace."""
    name = external.name
    e(f"CD_API int {name}_checkout(void) {{ return 0; }}")
    e(f"CD_API void {name}_release(int mem) {{ (void)mem; }}")
    e(f"CD_API void {name}_incref(void) {{ }}", f"CD_API void {name}_decref(void) {{ }}")
    for way, ports in (("in", external.inputs), ("out", external.outputs)):
        e(f"CD_API casadi_int {name}_n_{way}(void) {{ return {len(ports)}; }}")
        with e.block(f"CD_API const char *{name}_name_{way}(casadi_int i)\n{{"), e.block("switch (i) {"):
            e(*(f'case {k}: return "{port.name}";' for k, port in enumerate(ports)), "default: return 0;")
        with e.block(f"CD_API const casadi_int *{name}_sparsity_{way}(casadi_int i)\n{{"):
            for k, port in enumerate(ports):
                e(f"static const casadi_int s{k}[] = {{{', '.join(map(str, _columns(port)))}}};")
            with e.block("switch (i) {"):
                e(*(f"case {k}: return s{k};" for k in range(len(ports))), "default: return 0;")
    head = "casadi_int *sz_arg, casadi_int *sz_res, casadi_int *sz_iw, casadi_int *sz_w"
    with e.block(f"CD_API int {name}_work({head})\n{{"):
        for what, size in (
            ("arg", len(external.inputs)),
            ("res", len(external.outputs)),
            ("iw", 0),
            ("w", _work(external)),
        ):
            e(f"if (sz_{what}) *sz_{what} = {size};")
        e("return 0;")
    e("")


def _columns(port: Port) -> list[int]:
    """Sparsity in CasADi's format: rows, columns, begin of each column, row of each entry. Dense: rows, columns, 1."""
    if port.nnz == port.rows * port.columns:
        return [port.rows, port.columns, 1]
    begins = [0] * (port.columns + 1)
    for _, column in port.entries:
        begins[column + 1] += 1
    for k in range(port.columns):
        begins[k + 1] += begins[k]
    return [port.rows, port.columns, *begins, *(row for row, _ in port.entries)]


# Functions with CasADi's interface, on matrices in compressed column format, from Programs and their derivatives.
#
# CasADi finds the derivatives of an external function F(i) -> (o) by their names:
#
#     jac_F(i, out_o) -> every d o / d i               the Jacobian; out_o are the outputs of F, which are not read
#     adj1_F(i, out_o, adj_o) -> adj_i                 the adjoint: sum of adj_o times d o / d i
#     jac_adj1_F(i, out_o, adj_o, out_adj_i) -> ...    its Jacobian: the Hessian of adj_o times o, and d o / d i
#
# So the Hessian of a Lagrangian is exact, without finite differences.


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
