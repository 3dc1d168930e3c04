"""Kernels that read and write arrays where they stand: columns of panels, a vector of them at a time, or one state.

A number that all columns share, and each number of one state, is put into every lane where it is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from condyle.backends.c.rolled import write_nodes, write_table
from condyle.backends.common.chunks import Chunk, angle_slots, lower
from condyle.backends.common.forms import literal
from condyle.ir.program import Program, constant_of, input_of, operands
from condyle.text import Emitter


class Form(NamedTuple):
    """How a kernel is called. columns: of panels, else one state. panels: for each input whether it is a panel."""

    columns: bool
    panels: tuple[bool, ...]

    @property
    def name(self) -> str:
        return "columns_" + "".join(str(int(panel)) for panel in self.panels) if self.columns else "single"


def write_in_place(e: Emitter, program: Program, form: Form, bits: int) -> int:
    """Writes `NAME_FORM(n, in, out, w)`; how many vectors of w it needs."""
    writer = _Writer(program, form, bits)
    writer.write(e)
    return writer.low.size


class _Writer:
    """x0, x1, ... and y0, ... are where the arrays of the columns begin that are computed."""

    def __init__(self, program: Program, form: Form, bits: int) -> None:
        self.program, self.form, self.bits, self.low = program, form, bits, lower(program)
        self.function = f"{program.name}_{form.name}"
        self.inputs = [f"x{a}" for a in range(len(program.inputs))]
        self.outputs = [f"y{a}" for a in range(len(program.arrays))]
        self.answers: dict[int, list[str]] = {}
        for output in program.outputs:
            self.answers.setdefault(output.node, []).append(self._entry(f"y{output.array}", output.index))
        self.kept = frozenset(self._kept())

    def _kept(self) -> Iterator[int]:
        """Values that other chunks than their own read, and angles."""
        for step in self.low.steps:
            if isinstance(step, Chunk):
                inside = set(step.nodes)
                yield from (
                    used for index in inside for used in operands(self.program.nodes[index]) if used not in inside
                )
            else:
                yield from (angle.angle for angle in step.angles)

    def _entry(self, array: str, k: int, panel: bool | None = None) -> str:
        panel = self.form.columns if panel is None else panel
        return f"{array} + {k} * CD_PANEL" if panel else f"{array}[{k}]"

    def _load(self, node: int) -> str:
        """A value that is not computed here."""
        what = self.program.nodes[node]
        if what[0] == "const":
            return f"cd_splat({literal(constant_of(what), self.bits)})"
        if what[0] != "input":
            return f"w[{self.low.slots[node]}]"
        array, k = input_of(what)
        panel = self.form.panels[array]
        entry = self._entry(f"x{array}", k, panel)
        return f"CD_GET_ALL({entry})" if panel else f"cd_splat({entry})"

    def _put(self, place: str, value: str) -> str:
        return f"CD_PUT_ALL({place}, {value});" if self.form.columns else f"{place} = CD_FIRST({value});"

    def _store(self, node: int) -> list[str]:
        kept = [f"w[{self.low.slots[node]}] = t{node};"] if node in self.kept else []
        return [*kept, *(self._put(place, f"t{node}") for place in self.answers.get(node, ()))]

    def _chunk(self, e: Emitter, function: str, order: Sequence[int]) -> None:
        arrays = [*(f"const real *{x}" for x in self.inputs), *(f"real *{y}" for y in self.outputs)]
        with e.block(f"CD_CHUNK void {function}({', '.join(['real_v *w', *arrays])})\n{{"):
            e(", ".join(f"(void){name}" for name in ("w", *self.inputs, *self.outputs)) + ";")
            write_nodes(e, self.program.nodes, order, self.bits, self._load, self._store)

    def write(self, e: Emitter) -> None:
        nodes, columns, computed, body = self.program.nodes, self.form.columns, set[int](), Emitter()
        for number, step in enumerate(self.low.steps):
            name = f"{self.function}_{number}"
            if isinstance(step, Chunk):
                computed |= set(step.nodes)
                self._chunk(e, name, step.nodes)
                body(f"{name}({', '.join(['w', *self.inputs, *self.outputs])});")
                continue
            write_table(e, name, [slot for angle in step.angles for slot in angle_slots(self.low, angle)])
            asked = [angle.angle for angle in step.angles if nodes[angle.angle][0] == "input"]
            body(*(f"w[{self.low.slots[angle]}] = {self._load(angle)};" for angle in asked))
            body(f"cd_sincos(w, {name}, {len(step.angles)});")
        rest = {node: places for node, places in self.answers.items() if node not in computed}
        body(*(self._put(place, self._load(node)) for node, places in rest.items() for place in places))
        written = {(output.array, output.index) for output in self.program.outputs}
        sizes = [array.size for array in self.program.arrays]
        zeros = [(a, k) for a, size in enumerate(sizes) for k in range(size) if (a, k) not in written]
        body(*(self._put(self._entry(f"y{a}", k), "cd_splat(0)") for a, k in zeros))
        with e.block(f"CD_STATIC void {self.function}(size_t n, const real *const *x, real *const *y, real_v *w)\n{{"):
            e("size_t k = 0;", "(void)n, (void)x, (void)w;")
            e(*(f"w[{slot}] = cd_splat({literal(value, self.bits)});" for slot, value in self.low.constants))
            with e.block("do {", "} while (k < n);"):
                for a, (array, panel) in enumerate(zip(self.program.inputs, self.form.panels, strict=True)):
                    e(f"const real *const x{a} = {f'CD_COLUMN(x[{a}], {array.size}, k)' if panel else f'x[{a}]'};")
                for a, size in enumerate(sizes):
                    e(f"real *const y{a} = {f'CD_COLUMN(y[{a}], {size}, k)' if columns else f'y[{a}]'};")
                e(", ".join(f"(void){name}" for name in (*self.inputs, *self.outputs)) + ";")
                e(*body.text().splitlines(), "k += LANES;")
        e("")
