"""Rolled sweeps as C: a function a step, loops that call them, the robot in tables."""

from __future__ import annotations

from collections.abc import Sequence

from condyle.backends.c.body import FORMS, Body, literal, write_table
from condyle.backends.c.rolled_layout import layout, steps_of, used_constants
from condyle.ir.ops import Node
from condyle.ir.program import constant_of, input_of, operands
from condyle.ir.sweep import Columns, Loop, Mirror, Pairs, Product, Ref, Rolled, Step, Sweep
from condyle.text import Emitter


def rolled_body(rolled: Rolled, bits: int) -> Body:
    """The body of rolled sweeps: `NAME_tile` runs the loops once for LANES states."""
    return _Writer(rolled, bits).body()


class _Writer:
    """Writes steps as they are met, then the loops that call them."""

    def __init__(self, rolled: Rolled, bits: int) -> None:
        self.rolled, self.bits = rolled, bits
        self.place = layout(rolled)
        self.steps = Emitter()
        self.count = 0
        self.used = used_constants(rolled)

    def body(self) -> Body:
        rolled, place = self.rolled, self.place
        loops = Emitter()
        with loops.block(f"CD_STATIC void {rolled.name}_tile(real_v *w)\n{{"):
            loops("size_t i, c = 0;", "(void)c;")
            if place.matrices:
                first = min(place.matrices.values())
                loops(f"memset(w + {first}, 0, {rolled.nv**2 * len(place.matrices)} * sizeof(real_v));")
            for loop in rolled.loops:
                self._loop(loops, loop)
        tables = Emitter()
        self._write_tables(tables)
        results = [place.matrices[rolled.results[a.name]] if a.name in rolled.results else place.outputs[a.name]
                   for a in rolled.arrays]  # fmt: skip
        slots = tuple(tuple(range(base, base + a.size)) for base, a in zip(results, rolled.arrays, strict=True))
        main = tables.text() + self.steps.text() + loops.text()
        return Body((), main, place.inputs, slots, place.zero, self._world(), place.size)

    def _world(self) -> tuple[tuple[int, float], ...]:
        """The world's row of the buffers that start from it."""
        n = len(self.rolled.joints)
        return tuple(
            (self.place.buffers[name] + n * self.rolled.buffers[name] + k, value)
            for name, values in self.rolled.world.items()
            for k, value in enumerate(values)
        )

    def _write_tables(self, e: Emitter) -> None:
        rolled, name = self.rolled, self.rolled.name
        n = len(rolled.joints)
        rows = [0] * len(rolled.kinds)
        row_of: list[int] = []
        for joint in rolled.joints:
            row_of.append(rows[joint.kind])
            rows[joint.kind] += 1
        columns = {
            "kind": [joint.kind for joint in rolled.joints],
            "parent": [joint.parent if joint.parent >= 0 else n for joint in rolled.joints],
            "q": [joint.q for joint in rolled.joints],
            "v": [joint.v for joint in rolled.joints],
            "f_ext": [max(joint.f_ext, 0) for joint in rolled.joints],
            "row": row_of,
        }
        for label, numbers in columns.items():
            write_table(e, f"{name}_{label}", numbers)
        for kind, used in enumerate(self.used):
            values = [joint.table[k] for joint in rolled.joints if joint.kind == kind for k in used]
            with e.block(f"static const real {name}_table{kind}[{max(1, len(values))}] = {{", "};"):
                texts = [literal(value, self.bits) for value in values] or ["0"]
                for k in range(0, len(texts), 4):
                    e(", ".join(texts[k : k + 4]) + ",")

    def _loop(self, e: Emitter, loop: Loop) -> None:
        if isinstance(loop, Sweep):
            self._sweep(e, loop)
        elif isinstance(loop, Pairs):
            self._pairs(e, loop)
        elif isinstance(loop, Columns):
            with e.block(f"for (c = 0; c < {self.rolled.nv}; c++) {{"):
                for sweep in loop.body:
                    self._sweep(e, sweep)
        elif isinstance(loop, Product):
            self._product(e, loop)
        else:
            self._mirror(e, loop)

    def _sweep(self, e: Emitter, sweep: Sweep) -> None:
        n = len(self.rolled.joints)
        head = f"for (i = {n}; i-- > 0;) {{" if sweep.backward else f"for (i = 0; i < {n}; i++) {{"
        calls = [
            f"{self._step(step)}(w, i, c);" if any(a.size for a in step.program.arrays) else "" for step in sweep.steps
        ]
        if any(calls):
            with e.block(head):
                self._switch(e, calls, "i")

    def _switch(self, e: Emitter, calls: Sequence[str], index: str) -> None:
        """The call for the joint's kind."""
        if len(calls) == 1:
            e(calls[0])
            return
        with e.block(f"switch ({self.rolled.name}_kind[{index}]) {{"):
            for kind, call in enumerate(calls):
                e(f"case {kind}:", *([f"    {call}"] if call else []), "    break;")
            e("default:", "    break;")

    def _pairs(self, e: Emitter, pairs: Pairs) -> None:
        name, n = self.rolled.name, len(self.rolled.joints)
        starts = [[self._step(step) for step in steps] for steps in pairs.starts]
        meets = [f"{self._meeting(pairs, kind)}(w, j, {name}_v[i] + k, i == j);" for kind in range(len(pairs.meets))]
        rises = [f"{self._step(step)}(w, j, 0);" for step in pairs.rises]
        widths = f"{name}_nv{self.count}"
        write_table(self.steps, widths, [len(steps) for steps in pairs.starts])
        with e.block(f"for (i = 0; i < {n}; i++) {{"):
            e("size_t k;")
            with e.block(f"for (k = 0; k < {widths}[{name}_kind[i]]; k++) {{"):
                e("size_t j = i;")
                for kind, steps in enumerate(starts):
                    for k, step in enumerate(steps):
                        with e.block(f"if ({name}_kind[i] == {kind} && k == {k}) {{"):
                            e(f"{step}(w, i, 0);")
                with e.block("for (;;) {"):
                    self._switch(e, meets, "j")
                    with e.block(f"if ({name}_parent[j] == {n}) {{"):
                        e("break;")
                    self._switch(e, rises, "j")
                    e(f"j = {name}_parent[j];")

    def _meeting(self, pairs: Pairs, kind: int) -> str:
        """The function of one meeting: its values go straight into the matrices."""
        step, nv = pairs.meets[kind], self.rolled.nv
        function = f"{self.rolled.name}_step{self.count}"
        self.count += 1
        e = self.steps
        with e.block(f"CD_STATIC void {function}(real_v *w, size_t i, size_t row, int own)\n{{"):
            names = self._statements(step)
            e("(void)own;")
            for output in step.program.outputs:
                dof, m = divmod(output.index, len(pairs.targets))
                target, column = pairs.targets[m], f"{self.rolled.name}_v[i] + {dof}"
                base = self.place.matrices[target.matrix]
                if target.transposed:
                    with e.block("if (!own) {"):
                        e(f"w[{base} + ({column}) * {nv} + row] = {names[output.node]};")
                else:
                    e(f"w[{base} + row * {nv} + {column}] = {names[output.node]};")
        return function

    def _product(self, e: Emitter, product: Product) -> None:
        nv = self.rolled.nv
        left = self.place.inputs[[array.name for array in self.rolled.inputs].index(product.left)]
        right, result = self.place.matrices[product.right], self.place.matrices[product.result]
        with e.block(f"for (i = 0; i < {nv * nv}; i++) {{"):
            e("size_t k;", "real_v sum = cd_splat(0);")
            with e.block(f"for (k = 0; k < {nv}; k++) {{"):
                e(f"sum = sum - w[{left} + i / {nv} * {nv} + k] * w[{right} + k * {nv} + i % {nv}];")
            e(f"w[{result} + i] = sum;")

    def _mirror(self, e: Emitter, mirror: Mirror) -> None:
        nv, base = self.rolled.nv, self.place.matrices[mirror.matrix]
        with e.block(f"for (i = 0; i < {nv * nv}; i++) {{"), e.block(f"if (i % {nv} > i / {nv}) {{"):
            e(f"w[{base} + i] = w[{base} + i % {nv} * {nv} + i / {nv}];")

    def _step(self, step: Step) -> str:
        """Write the function of one step; its name."""
        function = f"{self.rolled.name}_step{self.count}"
        self.count += 1
        e = self.steps
        with e.block(f"CD_STATIC void {function}(real_v *w, size_t i, size_t c)\n{{"):
            names = self._statements(step)
            e("(void)c;")
            for k, ref in enumerate(step.writes):
                entries = [output for output in step.program.outputs if output.array == k]
                known = {output.index: names[output.node] for output in entries}
                size = step.program.arrays[k].size
                values = [known.get(index, "cd_splat(0)") for index in range(size)]
                self._write(e, ref, values)
        return function

    def _write(self, e: Emitter, ref: Ref, values: Sequence[str]) -> None:
        name, nv = self.rolled.name, self.rolled.nv
        if ref.space == "add":
            width, base = self.rolled.buffers[ref.name], self.place.buffers[ref.name]
            with e.block(f"if ({name}_parent[i] != {len(self.rolled.joints)}) {{"):
                e(f"real_v *const up = w + {base} + {name}_parent[i] * {width};")
                e(*(f"up[{k}] = up[{k}] + {value};" for k, value in enumerate(values) if value != "cd_splat(0)"))
            return
        for k, value in enumerate(values):
            if ref.space == "diagonal":
                at = f"{self.place.matrices[ref.name]} + ({name}_v[i] + {k}) * {nv + 1}"
                if value != "cd_splat(0)":
                    e(f"w[{at}] = w[{at}] + {value};")
            else:
                e(f"{self._at(ref, k)} = {value};")

    def _at(self, ref: Ref, k: int) -> str:
        """Entry k of what a reference is bound to, as an expression on w, i and c."""
        name, place, nv = self.rolled.name, self.place, self.rolled.nv
        if ref.space == "input":
            port = [array.name for array in self.rolled.inputs].index(ref.name)
            return f"w[{place.inputs[port] + k} + {name}_{ref.name if ref.name in ('q', 'f_ext') else 'v'}[i]]"
        if ref.space == "output":
            return f"w[{place.outputs[ref.name] + k} + {name}_v[i]]"
        if ref.space == "carry":
            return f"w[{place.carry + k}]"
        if ref.space == "column":
            return f"w[{place.matrices[ref.name]} + ({name}_v[i] + {k}) * {nv} + c]"
        row = f"{name}_parent[i]" if ref.space == "parent" else "i"
        return f"w[{place.buffers[ref.name] + k} + {row} * {self.rolled.buffers[ref.name]}]"

    def _statements(self, step: Step) -> dict[int, str]:
        """Write the values of a step; the name of each."""
        e, program = self.steps, step.program
        names: dict[int, str] = {}
        angles = sorted({operands(node)[0] for node in program.nodes if node[0] in ("sin", "cos")})
        turns: dict[int, int] = {angle: 3 * k for k, angle in enumerate(angles)}
        for index, node in enumerate(program.nodes):
            names[index] = f"t{index}"
            if node[0] in ("sin", "cos"):
                names[index] = f"turn[{turns[operands(node)[0]] + (1 if node[0] == 'sin' else 2)}]"
            else:
                e(f"const real_v t{index} = {self._value(step, node, names)};")
            if index == max(angles, default=-1):
                self._sincos(turns, names)
        return names

    def _sincos(self, turns: dict[int, int], names: dict[int, str]) -> None:
        """All angles of a step at once."""
        e = self.steps
        slots = ", ".join(str(k) for k in range(3 * len(turns)))
        e(f"static const cd_slot at[] = {{{slots}}};", f"real_v turn[{3 * len(turns)}];")
        e(*(f"turn[{k}] = {names[angle]};" for angle, k in turns.items()))
        e(f"cd_sincos(turn, at, {len(turns)});")

    def _value(self, step: Step, node: Node, names: dict[int, str]) -> str:
        if node[0] == "const":
            return f"cd_splat({literal(constant_of(node), self.bits)})"
        if node[0] == "input":
            return self._input(step, *input_of(node))
        one = "1.0f" if self.bits == 32 else "1.0"
        return FORMS[node[0]].format(*(names[a] for a in operands(node)), one=one)

    def _input(self, step: Step, array: int, k: int) -> str:
        ref, name = step.reads[array], self.rolled.name
        if ref.space == "table":
            kind = self._kind_of(step)
            used = self.used[kind]
            return f"cd_splat({name}_table{kind}[{name}_row[i] * {len(used)} + {used.index(k)}])"
        if ref.space == "unit":
            return f"cd_splat({name}_v[i] + {k} == c ? 1 : 0)"
        return self._at(ref, k)

    def _kind_of(self, step: Step) -> int:
        return next(kind for kind, steps in enumerate(steps_of(self.rolled)) if any(other is step for other in steps))
