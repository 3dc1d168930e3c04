"""A function repeated over time as PTX: one kernel with the loop inside, a thread for each state.

Carried and constant inputs are in registers; inputs with a time axis are loaded at each step, outputs are stored at the
kept steps. The number of steps, and which are kept, are parameters: one text is for every rollout of its kind.

A state that is done keeps its inputs, so that later steps compute its answers again. When all states of a warp are
done, the next step is the last one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from condyle.backends.common.facts import packed
from condyle.backends.cuda.constants import in_memory
from condyle.backends.cuda.launches import Part, Parts, Text, straight
from condyle.backends.cuda.lower import lower
from condyle.backends.cuda.target import TARGET, WARP, Target
from condyle.backends.cuda.thread_kernel import Body, kernel_name, write_entry, write_head
from condyle.backends.cuda.thread_steps import Flush, Group, Guard, Load, Lowered, Put, Step
from condyle.backends.cuda.thread_steps import Take as Taken
from condyle.backends.cuda.trig import literal, write_table
from condyle.ir.loops import COUNT, Give, Take, TimeLoop
from condyle.ir.program import Array, Program, input_of
from condyle.ir.segments import Iteration, Product, Segmented, gives
from condyle.ir.segments import reads as reads_of
from condyle.passes.elementary.expand import expand
from condyle.text import Emitter


class Kind(NamedTuple):
    """The properties that a text depends on: carried, timed of each input; outputs, summed, rows of each output.

    until: the output that ends a state's loop, or -1.
    """

    carried: tuple[int, ...]
    timed: tuple[bool, ...]
    outputs: tuple[int, ...]
    summed: tuple[bool, ...]
    rows: tuple[bool, ...]
    backwards: bool
    until: int

    @staticmethod
    def from_loop(loop: TimeLoop) -> Kind:
        gives = loop.gives
        return Kind(
            tuple(take.carried for take in loop.takes),
            tuple(take.every > 0 for take in loop.takes),
            tuple(give.output for give in gives),
            tuple(give.summed for give in gives),
            tuple(give.every > 0 for give in gives),
            loop.backwards,
            loop.until,
        )


def texts(program: Program, kind: Kind, bits: int, target: Target = TARGET) -> tuple[Text, ...]:
    """The texts to choose from, for every loop of a kind."""
    return tuple(
        Text(kernel_name(low), emit(low, kind, target), low.pool, 32, low.order, low.slots * bits // 8)
        for low in lower(expand(program, bits), bits, replace(target, whole_rows=False))
    )


def parts(name: str, program: Program, loop: TimeLoop, bits: int, texts: tuple[Text, ...]) -> Parts:
    """The launch of a rollout. Each output of the body may be an output of the loop once."""
    inputs = tuple(_in_time(array, take.every, loop) for take, array in zip(loop.takes, program.inputs, strict=True))
    count = Array("iterations", ())
    outputs = tuple(
        count if give.output == COUNT else _in_time(program.arrays[give.output], give.every, loop)
        for give in loop.gives
    )
    everies = [port.every for port in (*loop.takes, *loop.gives) if port.every]
    paces = [array.size * bits // 8 for array in outputs]
    part = Part(texts, inputs, outputs, numbers=(loop.steps, *everies, *paces))
    return Parts(name, bits, inputs, outputs, (part,))


def _in_time(array: Array, every: int, loop: TimeLoop) -> Array:
    return Array(array.name, (loop.rows(every), *array.shape)) if every else array


def emit(low: Lowered, kind: Kind, target: Target = TARGET) -> str:
    """The text of a module with one kernel.

    Parameters: those of `thread_kernel.emit`, with the outputs of the loop; then the number of steps; `every` of each
    input with a time axis; `every` of each output with rows; and bytes between states of each output.
    """
    e = Emitter()
    write_head(e, target)
    if any(isinstance(step, Guard) for step in low.steps):
        write_table(e)
    e(".extern .shared .align 16 .b8 pool[];", "")
    more = ["steps", *(f"ein{k}" for k, timed in enumerate(kind.timed) if timed)]
    more += [f"eout{k}" for k, rows in enumerate(kind.rows) if rows] + [f"pace{k}" for k in range(len(kind.outputs))]
    write_entry(e, kernel_name(low), (len(low.program.inputs), len(kind.outputs)), target.most_threads, more)
    with e.block("{"):
        _TimeLoopBody(e, low, kind).write()
    return in_memory(e.text())


class _TimeLoopBody(Body):
    """Registers: c: carried and constant inputs, by input and entry; d: their values at the next step; s: sums, by
    output and entry."""

    def __init__(self, e: Emitter, low: Lowered, kind: Kind) -> None:
        super().__init__(e, low)
        self.kind = kind
        self.number = {array: k for k, array in enumerate(kind.outputs)}
        self.outs = {array: group for array, group in self.outs.items() if array in self.number}
        self.c: dict[tuple[int, int], int] = {}
        self.s: dict[tuple[int, int], int] = {}
        for node in low.program.nodes:
            if node[0] == "input" and self._stays(input_of(node)[0]):
                self.c.setdefault(input_of(node), len(self.c))
        for step in low.steps:
            if isinstance(step, Put) and step.node >= 0 and self._is_summed(step.array):
                self.s.setdefault((step.array, step.entry), len(self.s))

    def _stays(self, array: int) -> bool:
        """Whether an input is in registers."""
        return self.kind.carried[array] >= 0 or not self.kind.timed[array]

    def _is_summed(self, array: int) -> bool:
        return array in self.number and self.kind.summed[self.number[array]]

    def write(self) -> None:
        e = self.e
        self.declare()
        e(f".reg .{self.f} %c<{len(self.c) + 1}>, %d<{len(self.c) + 1}>, %s<{len(self.s) + 1}>;")
        e(".reg .b32 %steps, %number, %time, %u;", ".reg .pred %ends, %more;", ".reg .b64 %long;")
        if self.kind.until >= 0:
            e(".reg .pred %running, %stop, %finish;", ".reg .b32 %count;")
        ports = len(self.kind.timed) + len(self.kind.outputs)
        e(f".reg .b32 %every<{ports}>;", f".reg .b64 %at<{ports}>, %pace<{ports}>;", f".reg .pred %kept<{ports}>;")
        self.where()
        self._begin()
        e("STEP:")
        self._times()
        for step in self.low.steps:
            self.step(step)
        self._carry()
        for number, output in enumerate(self.kind.outputs):
            if output == COUNT:
                self._give_count(number)
        e("ret;")

    def outputs(self) -> None:
        for array, group in self.outs.items():
            e, port = self.e, self._port(array)
            e(f"ld.param.u64 %out{array}, [out{self.number[array]}];", f"cvta.to.global.u64 %out{array}, %out{array};")
            e(f"ld.param.u64 %pace{port}, [pace{self.number[array]}];", f"add.u32 %k, %first, %row{group.width};")
            e("cvt.u64.u32 %a, %k;", f"mad.lo.u64 %out{array}, %a, %pace{port}, %out{array};")
            e(f"mul.wide.u32 %a, %col{group.width}, {self.item};", f"add.u64 %out{array}, %out{array}, %a;")
            e(f"mul.lo.u64 %pace{port}, %pace{port}, {group.rows};")

    def _port(self, array: int) -> int:
        """The number of an output's registers, which come after those of the inputs."""
        return len(self.kind.timed) + self.number[array]

    def _begin(self) -> None:
        """Loads carried and constant inputs; sets all other registers to zero."""
        e = self.e
        for name, count in (("c", len(self.c)), ("d", len(self.c)), ("s", len(self.s))):
            e(*(f"mov.{self.f} %{name}{k}, {literal(0.0, self.bits)};" for k in range(count)))
        e("ld.param.u64 %long, [steps];", "cvt.u32.u64 %steps, %long;", "mov.u32 %number, 0;")
        named = [(k, f"ein{k}") for k, timed in enumerate(self.kind.timed) if timed]
        named += [(len(self.kind.timed) + k, f"eout{k}") for k, rows in enumerate(self.kind.rows) if rows]
        for port, name in named:
            e(f"ld.param.u64 %long, [{name}];", f"cvt.u32.u64 %every{port}, %long;")
        for step in self.low.steps:
            if isinstance(step, Load) and not self.kind.timed[step.group.array]:
                self._keep(step.group, step.offset)
        if self.kind.until >= 0:
            e("setp.lt.s32 %running, %lane, %left;", "mov.u32 %count, 0;")
            e("setp.ne.u32 %stop, %steps, %steps;", "setp.ne.u32 %finish, %steps, %steps;")

    def _keep(self, group: Group, offset: int) -> None:
        self.load(group, offset)
        for (array, entry), k in self.c.items():
            if array == group.array and group.start <= entry < group.start + group.count:
                place = offset + (entry - group.start) * group.pitch * self.item
                self.e(f"ld.shared.{self.f} %c{k}, [%mine+{place}];")
        self.e("bar.warp.sync 0xFFFFFFFF;")

    def _times(self) -> None:
        """Computes the rows of this step."""
        e, kind = self.e, self.kind
        e("add.u32 %u, %number, 1;", "setp.eq.u32 %ends, %u, %steps;")
        if kind.until >= 0:
            e("or.pred %ends, %ends, %finish;")
        e("sub.u32 %time, %steps, %u;" if kind.backwards else "mov.u32 %time, %number;")
        for array, timed in enumerate(kind.timed):
            if timed:
                self._row(array, self.low.program.inputs[array].size)
        for array, number in self.number.items():
            if kind.rows[number]:
                self._row(self._port(array), self.low.program.arrays[array].size)

    def _row(self, port: int, size: int) -> None:
        """Computes whether a port has a row for this step, and the byte offset of the row."""
        e = self.e
        e("add.u32 %u, %time, 1;", "setp.eq.u32 %more, %u, %steps;", f"rem.u32 %u, %u, %every{port};")
        e(f"setp.eq.u32 %kept{port}, %u, 0;", f"or.pred %kept{port}, %kept{port}, %more;")
        e(f"div.u32 %u, %time, %every{port};", f"mul.wide.u32 %at{port}, %u, {size * self.item};")

    def step(self, step: Step) -> None:
        if isinstance(step, Load):
            if self.kind.timed[step.group.array]:
                self.load(step.group, step.offset, f"%at{step.group.array}", f"%kept{step.group.array}")
        elif isinstance(step, Taken) and self.low.program.nodes[step.node][0] == "input":
            self._take(step)
        elif isinstance(step, Put):
            self._put(step)
        elif not isinstance(step, Flush) or step.group.array in self.number:
            super().step(step)

    def _take(self, step: Taken) -> None:
        array, entry = input_of(self.low.program.nodes[step.node])
        if not self._stays(array):
            super().step(step)
        elif self.kind.timed[array]:
            super().step(step)
            name = self.names[step.node]
            self.e(f"add.rn.{self.f} {name}, %c{self.c[array, entry]}, {name};")
        else:
            self.names[step.node] = f"%c{self.c[array, entry]}"

    def _put(self, step: Put) -> None:
        e = self.e
        if step.array == self.kind.until:
            e(f"setp.gt.{self.f} %stop, {self.register(step.node)}, {literal(0.0, self.bits)};")
        for array, carried in enumerate(self.kind.carried):
            if carried == step.array and (array, step.entry) in self.c:
                e(f"mov.{self.f} %d{self.c[array, step.entry]}, {self.register(step.node)};")
        if step.array not in self.number:
            return
        if (step.array, step.entry) in self.s:
            total = f"%s{self.s[step.array, step.entry]}"
            running = "@%running " if self.kind.until >= 0 else ""
            e(f"{running}add.rn.{self.f} {total}, {total}, {self.register(step.node)};")
            e(f"st.shared.{self.f} [%mine+{step.offset}], {total};")
        else:
            super().step(step)

    def flush(self, group: Group, offset: int) -> None:
        """Stores a tile to an output's row, if this step has one."""
        e, f, array = self.e, self.f, group.array
        port, rows = self._port(array), self.kind.rows[self.number[array]]
        left = self.bounds(group, f"%kept{port}" if rows else "%ends")
        e(f"add.u64 %a, %out{array}, {group.start * self.item};", *([f"add.u64 %a, %a, %at{port};"] if rows else ()))
        tile = self.tile_to_store(group, offset)
        for k in range(group.width):
            row = k * group.rows
            e(f"setp.gt.s32 %there, {left}, {row};")
            self.stored_entry(tile, offset, row)
            e(f"@%there st.global.{f} [%a], %t;", f"add.u64 %a, %a, %pace{port};")

    def _carry(self) -> None:
        """Moves carried outputs to the next step's inputs; after the barrier tiles can be reused."""
        e, ends = self.e, self.kind.until >= 0
        if ends:
            e("@%running add.u32 %count, %count, 1;", "not.pred %more, %stop;", "and.pred %running, %running, %more;")
        for (array, _), k in self.c.items():
            if self.kind.carried[array] >= 0:
                e(f"{'@%running ' if ends else ''}mov.{self.f} %c{k}, %d{k};")
        e("bar.warp.sync 0xFFFFFFFF;", "add.u32 %number, %number, 1;")
        if ends:
            e("vote.sync.any.pred %more, %running, 0xFFFFFFFF;", "not.pred %finish, %more;", "not.pred %more, %ends;")
        else:
            e("setp.lt.u32 %more, %number, %steps;")
        e("@%more bra STEP;")

    def _give_count(self, number: int) -> None:
        e, f = self.e, self.f
        e(f"ld.param.u64 %a, [out{number}];", "cvta.to.global.u64 %a, %a;", f"ld.param.u64 %pace0, [pace{number}];")
        e("add.u32 %k, %first, %lane;", "cvt.u64.u32 %long, %k;", "mad.lo.u64 %a, %long, %pace0, %a;")
        e(f"cvt.rn.{f}.u32 %t, %count;", "setp.lt.s32 %there, %lane, %left;", f"@%there st.global.{f} [%a], %t;")


# Segments as launches: a kernel for each segment, with arrays between them in device memory.
#
# An iteration is a kernel with the loop inside: a state that is done keeps its answers.
#
# In a product a lane has one column. A warp has the columns of as many states as fit into 32 lanes; with a vector on
# the right, a state has one lane. A lane computes TOGETHER entries of its column at once. If the left operand is the
# same for all states, all lanes read the same numbers.


NAME = "condyle_matrices"
TOGETHER = 4
"""Lines that a lane computes at once."""


def segmented(code: Segmented, bits: int, target: Target = TARGET) -> Parts:
    """The launches; UnsupportedError for a constant that is not finite in this precision."""
    arrays = {array.name: array for array in (*code.inputs, *(a for part in code.segments for a in gives(part)))}
    tables = {constant.name: packed(constant.values, bits) for constant in code.constants}
    launches: list[Part] = []
    for segment in code.segments:
        if isinstance(segment, Program):
            launches.append(straight(segment, bits, target))
        elif isinstance(segment, Iteration):
            reads = tuple(arrays[name] for name in reads_of(segment))
            launches.append(_iteration(segment, reads, bits, target))
        else:
            names = (segment.left.array, segment.right.array)
            reads = tuple(arrays[name] for name in names if name in arrays)
            launches.append(_product(segment, reads, tables.get(names[0], b""), bits, target))
    return Parts(code.name, bits, code.inputs, code.arrays, tuple(launches))


def _iteration(iteration: Iteration, reads: tuple[Array, ...], bits: int, target: Target) -> Part:
    body, carried = iteration.body, len(iteration.starts)
    takes = tuple(Take(k if k < carried else -1) for k in range(len(body.inputs)))
    loop = TimeLoop(iteration.most, takes, tuple(map(Give, range(carried))), until=iteration.until)
    made = texts(body, Kind.from_loop(loop), bits, target)
    (part,) = parts(body.name, body, loop, bits, made).launches
    return replace(part, reads=reads)


def _product(product: Product, reads: tuple[Array, ...], constants: bytes, bits: int, target: Target) -> Part:
    lanes = min(WARP, 1 << (product.shape[1] - 1).bit_length())
    text = Text(NAME, emit_matrices(product, lanes, bool(constants), bits, target), 0, WARP // lanes, "lines", 0)
    return Part((text,), reads, (product.array,), constants)


def emit_matrices(product: Product, lanes: int, constants: bool, bits: int, target: Target = TARGET) -> str:
    """The text of a module with one kernel. lanes: lanes of a state, a power of two.

    Parameters as in `thread_kernel.emit`, with left and right as inputs; with `constants` only right is an input, and
    the address of the left numbers is the last parameter. No shared memory.
    """
    lines, columns = product.shape
    right, together = (0 if constants else 1), min(TOGETHER, lines)
    e = Emitter()
    write_head(e, target)
    write_entry(e, NAME, (right + 1, 1), target.most_threads, ["constants"] * constants)
    with e.block("{"):
        e(f".reg .f{bits} %sum<{together}>, %m, %d;", ".reg .pred %done, %inside, %again;")
        e(".reg .b32 %lane, %state, %column, %line, %k, %n;")
        e(".reg .b64 %s, %a, %left, %right, %out, %x, %y, %to, %own;")
        e("mov.u32 %lane, %tid.x;", "mov.u32 %k, %ntid.x;", "mov.u32 %state, %ctaid.x;")
        e("mad.lo.u32 %state, %state, %k, %lane;", f"shr.u32 %state, %state, {lanes.bit_length() - 1};")
        e(f"and.b32 %column, %lane, {lanes - 1};", "ld.param.u32 %n, [n];", "setp.ge.u32 %done, %state, %n;")
        e("@%done ret;", "cvt.u64.u32 %s, %state;")
        _address(e, "left", "constants" if constants else "in0", "" if constants else "stride0")
        _address(e, "right", f"in{right}", f"stride{right}")
        _address(e, "out", "out0", str(lines * columns * bits // 8))
        _columns(e, product, lanes, together, bits)
        e("ret;")
    return e.text()


def _address(e: Emitter, to: str, base: str, stride: str) -> None:
    """Computes the address of this state's part of an array. stride: a parameter, a number of bytes, or "" for none."""
    e(f"ld.param.u64 %{to}, [{base}];", f"cvta.to.global.u64 %{to}, %{to};")
    if stride.isdigit():
        e(f"mad.lo.u64 %{to}, %s, {stride}, %{to};")
    elif stride:
        e(f"ld.param.u64 %a, [{stride}];", f"mad.lo.u64 %{to}, %s, %a, %{to};")


def _columns(e: Emitter, product: Product, lanes: int, together: int, bits: int) -> None:
    """Writes the loops over columns of this lane, lines and terms. Lanes beyond the last column compute the last one
    and store nothing."""
    f, item = f"f{bits}", bits // 8
    (lines, columns), left, right = product.shape, product.left, product.right
    e(f"mov.u32 %n, {-(-columns // lanes)};", "COLUMN:", f"setp.lt.u32 %inside, %column, {columns};")
    e(f"selp.b32 %k, %column, {columns - 1}, %inside;", f"mul.wide.u32 %own, %k, {item};", "add.u64 %own, %out, %own;")
    e(f"mul.wide.u32 %s, %k, {right.column * item};", "add.u64 %s, %right, %s;", "mov.u32 %line, 0;", "LINE:")
    e(f"setp.lt.u32 %again, %line, {lines - together};", f"selp.b32 %k, %line, {lines - together}, %again;")
    e(f"mul.wide.u32 %x, %k, {left.row * item};", "add.u64 %x, %left, %x;", f"mul.wide.u32 %to, %k, {columns * item};")
    e("add.u64 %to, %own, %to;", "mov.u64 %y, %s;", f"mov.u32 %k, {product.inner};")
    e(*(f"mov.{f} %sum{k}, {literal(0.0, bits)};" for k in range(together)), "TERM:")
    e(f"ld.global.nc.{f} %d, [%y+{right.offset * item}];", *([f"neg.{f} %d, %d;"] if product.minus else []))
    for k in range(together):
        e(f"ld.global.nc.{f} %m, [%x+{(left.offset + k * left.row) * item}];", f"fma.rn.{f} %sum{k}, %m, %d, %sum{k};")
    e(f"add.u64 %x, %x, {left.column * item};", f"add.u64 %y, %y, {right.row * item};", "sub.u32 %k, %k, 1;")
    e("setp.ne.u32 %again, %k, 0;", "@%again bra TERM;")
    e(*(f"@%inside st.global.{f} [%to+{k * columns * item}], %sum{k};" for k in range(together)))
    e(f"add.u32 %line, %line, {together};", f"setp.lt.u32 %again, %line, {lines};", "@%again bra LINE;")
    e(f"add.u32 %column, %column, {lanes};", "sub.u32 %n, %n, 1;", "setp.ne.u32 %again, %n, 0;", "@%again bra COLUMN;")
