"""A Program as a C source: header comment, support text, body, and the entry that packs, computes and unpacks tiles."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from condyle.backends.c.rolled import (
    Body,
    Tile,
    dialect_of,
    operand,
    rolled_body,
    straight,
    write_numbers,
    write_product,
    write_table,
)
from condyle.backends.c.target import TARGET, Target
from condyle.backends.common.chunks import lower
from condyle.backends.common.facts import IN_C, LONG, Facts, argument_names, body_of, checked_name, header, held_of
from condyle.backends.common.forms import beyond, literal, write_functions
from condyle.backends.common.loops import Copy, Workspace, on_the_left
from condyle.ir.count import tally
from condyle.ir.loops import Code, Repeated
from condyle.ir.program import Program
from condyle.ir.segments import Iteration, Segmented
from condyle.passes.elementary.expand import RANDOM, expand
from condyle.text import Emitter

# A function repeated over time as C: a `cd_body` for support/repeat.h, and the entries that run the loop.


ARRAYS = "const void *const *in, const ptrdiff_t *in_stride, void *const *out, const ptrdiff_t *out_stride, void *work"


def room(code: Code) -> int:
    """Vectors of workspace in addition to those of a step."""
    return sum(array.size for array in (*code.inputs, *code.arrays))


def write_body(e: Emitter, code: Code, bits: int, body: Body) -> None:
    """`NAME_body`: one step as a `cd_body` of support/repeat.h."""
    name = code.name
    with e.block(f"CD_STATIC void {name}_begin(real_v *w)\n{{"):
        e(*(f"w[{slot}] = cd_splat({literal(value, bits)});" for slot, value in ((body.zero, 0.0), *body.constants)))
    with e.block(f"CD_STATIC void {name}_turn(real_v *w, const real *const *held)\n{{"):
        e("(void)held;", f"{name}_tile({body.arguments});")
    inputs = [
        f"{{{base}, {array.size}, {int(k in body.alone)}}}"
        for k, (base, array) in enumerate(zip(body.bases, code.inputs, strict=True))
    ]
    outputs = [f"{{{f'{name}_out_{k}' if table else 'NULL'}, {len(table)}}}" for k, table in enumerate(body.tables)]
    longest = max((len(table) for table in body.tables), default=0)
    write_table(e, f"{name}_line", [*range(longest), *(0 for _ in range(-longest % 16 or 16 * (not longest)))])
    e.table(f"static const cd_input {name}_takes", inputs or ["{0, 0, 0}"], 4)
    e.table(f"static const cd_output {name}_gives", outputs or ["{NULL, 0}"], 4)
    e.table(f"static const size_t {name}_held", list(map(str, body.held)) or ["0"], 16)
    sizes = f"{len(code.inputs)}, {len(body.held)}, {body.size}"
    with e.block(f"static const cd_body {name}_body = {{", "};"):
        e(f"{name}_takes, {name}_gives, {name}_held, {sizes},", f"{name}_begin, {name}_turn, {name}_line")


def write_time_loop(e: Emitter, symbol: str, code: Code, bits: int, body: Body) -> None:
    """The entry for loops that are given at run time: as `_strided`, and a `cd_loop` as numbers."""
    write_body(e, code, bits, body)
    e("")
    head = f"int {symbol}_repeat(size_t n, {ARRAYS},\n    const void *numbers)"
    with e.block(f"{head};\n{head}\n{{"):
        e("const ptrdiff_t *const at = (const ptrdiff_t *)numbers;")
        e(f"const cd_take *const take = (const cd_take *)(at + {HEAD});")
        e(f"const cd_loop loop = {{at[0], at[1], at[2], at[3], take, (const cd_give *)(take + {len(code.inputs)})}};")
        write_call(e, code, body, "(const real *const *)in", "(real *const *)out")
    e("")


HEAD = 4
"""Numbers of a loop before those of its inputs."""


def write_call(e: Emitter, code: Code, body: Body, inputs: str, outputs: str) -> None:
    """Writes the call that runs `loop`."""
    e(f"const real *held[{max(1, len(body.held))}];")
    arrays = f"{inputs}, in_stride, {outputs}, out_stride, NULL, NULL, NULL, held"
    e(f"const cd_call call = {{&{code.name}_body, &loop, {arrays}}};", "return cd_repeat(&call, n, work);")


TIMES = "size_t n, size_t steps, size_t every"


def strided_rollout(symbol: str, real: str) -> str:
    """The entry for arrays with strides, in elements; 0: one row for all states, or for all steps."""
    return (
        f"int {symbol}_strided({TIMES},\n"
        f"    const {real} *const *in, const ptrdiff_t *in_stride, const ptrdiff_t *in_step,\n"
        f"    {real} *const *out, const ptrdiff_t *out_stride, const ptrdiff_t *out_step, void *work)"
    )


def write_rollout(e: Emitter, symbol: str, code: Repeated, bits: int, body: Body, line: int) -> None:
    """The entry for arrays with strides; its arguments give the loop."""
    write_body(e, code.body, bits, body)
    e("")
    with e.block(f"size_t {symbol}_work(void)\n{{"):
        e(f"return {body.size + room(code.body)} * sizeof(real_v) + {line};")
    e("")
    takes, gives = code.loop.takes, code.loop.gives
    with e.block(strided_rollout(symbol, "double" if bits == 64 else "float") + "\n{"):
        e(f"static const ptrdiff_t carried[] = {{{', '.join(str(take.carried) for take in takes)}}};")
        e(f"static const ptrdiff_t summed[] = {{{', '.join(str(int(give.summed)) for give in gives)}}};")
        e(f"cd_take take[{len(takes)}];", f"cd_give give[{len(gives)}];")
        e(f"const cd_loop loop = {{(ptrdiff_t)steps, 0, {len(gives)}, -1, take, give}};", "size_t k;")
        with e.block(f"for (k = 0; k < {len(takes)}; k++) {{"):
            e("take[k].carried = carried[k];", "take[k].every = carried[k] < 0 && in_step[k] != 0;")
            e("take[k].distance = in_step[k];")
        with e.block(f"for (k = 0; k < {len(gives)}; k++) {{"):
            e("give[k].output = (ptrdiff_t)k;", "give[k].every = summed[k] ? 0 : (ptrdiff_t)every;")
            e("give[k].summed = summed[k];", "give[k].distance = out_step[k];")
        with e.block("{"):
            write_call(e, code.body, body, "in", "out")
    e("")


def time_strides(code: Repeated) -> list[str]:
    """The strides of states and of steps of contiguous arrays, as C."""
    held = held_of(code.body)
    pairs = list(zip(code.loop.takes, code.body.inputs, strict=True))
    before = ["0" if x.name in held else f"{x.size} * steps" if take.every else str(x.size) for take, x in pairs]
    steps = [str(x.size) if take.every else "0" for take, x in pairs]
    after = [
        str(x.size) if give.summed else f"{x.size} * rows"
        for give, x in zip(code.loop.gives, code.body.arrays, strict=True)
    ]
    rows = [str(x.size) for x in code.body.arrays]
    return [
        "const ptrdiff_t rows = every == 0 ? 1 : (ptrdiff_t)((steps + every - 1) / every);",
        *(
            f"const ptrdiff_t {name}[] = {{{', '.join(of).replace('steps', '(ptrdiff_t)steps')}}};"
            for name, of in (("in_stride", before), ("in_step", steps), ("out_stride", after), ("out_step", rows))
        ),
    ]


# Segments as C: the chunks of Programs, with copies and products (support/product.h) between.


def segmented_body(code: Segmented, bits: int, target: Target) -> Body:
    """The body: `NAME_tile` runs one segment after another."""
    tile, space = Tile(code.name, bits), Workspace(code)
    constants: list[tuple[int, float]] = []
    tables = {constant.name: f"{code.name}_constant_{k}" for k, constant in enumerate(code.constants)}
    for constant in code.constants:
        write_numbers(tile.tables, tables[constant.name], constant.values, bits)
    numbers = {array.name: k for k, array in enumerate(code.inputs)}
    rows = sorted({product.left.array for product in code.products} & code.held, key=lambda name: numbers[name])
    for segment in code.segments:
        if isinstance(segment, Program):
            room = space.room(segment)
            low = lower(segment, target.cut, room=room)
            tile.add(low)
            constants += low.constants
            for copy in space.programmed(low, room.first, low.size):
                _copy(tile, copy, space.zero)
        elif isinstance(segment, Iteration):
            constants += _iteration(tile, space, segment, target)
        else:
            left, right = segment.left.array, space.bases[segment.right.array]
            place = tables.get(left) or space.bases[left]
            at = place, right, space.multiplied(segment)
            row = rows.index(left) if left in rows else None
            write_product(tile.tables, tile.statements, segment, tile.named("blocks"), *at, row)
    bases = tuple(space.bases[array.name] for array in code.inputs)
    slots = bases, space.tables, space.zero, tuple(constants), space.size
    held, alone = (tuple(sorted(numbers[name] for name in names)) for names in (rows, on_the_left(code)))
    return Body(tuple(tile.chunks), tile.text(bool(held)), *slots, products=True, held=held, alone=alone)


def _iteration(tile: Tile, space: Workspace, iteration: Iteration, target: Target) -> Sequence[tuple[int, float]]:
    """Writes a loop around the chunks of its body; the constants that these need."""
    for copy in space.begun(iteration):
        _copy(tile, copy, space.zero)
    room = space.room(iteration.body, is_body=True)
    low = lower(iteration.body, target.cut, room=room)
    count = tile.named("again")
    tile.statements(f"size_t {count} = {iteration.most};", "do {")
    tile.add(low)
    for copy in space.iterated(low, room.first, low.size):
        _copy(tile, copy, space.zero)
    ends = (
        "" if iteration.until < 0 else (f" && !cd_done(w, {space.bases[iteration.body.arrays[iteration.until].name]})")
    )
    tile.statements(f"}} while (--{count} != 0{ends});")
    return low.constants


def _copy(tile: Tile, copy: Copy, zero: int) -> None:
    """Writes a copy. Zeros are copied too: the driver sets only single slots, once for each call."""
    pairs = [*zip(copy.slots, copy.to, strict=True), *((zero, slot) for slot in copy.cleared)]
    table = tile.named("copy")
    write_table(tile.tables, table, [slot for pair in pairs for slot in pair])
    tile.statements(f"cd_copy(w, {table}, {len(pairs)});")


LINE = 64
"""Bytes of the longest vector, the alignment of a workspace."""

_SUPPORT = Path(__file__).parent / "support"


@dataclass(frozen=True, slots=True)
class Source:
    """One function as C text: a main unit, and further units if it is to be compiled in parallel.

    work: bytes of workspace that are enough on any machine. plain: whether there is a plain entry, with its workspace
    on the stack.
    """

    main: str
    parts: tuple[str, ...]
    work: int
    plain: bool

    @property
    def units(self) -> tuple[str, ...]:
        return (self.main, *self.parts)


def support(name: str) -> str:
    """The text of a hand-written file that is included in generated code."""
    return (_SUPPORT / name).read_text(encoding="ascii")


def source(
    program: Code | Repeated,
    facts: Facts,
    bits: int,
    split: bool = False,
    constants: bool = True,
    target: Target = TARGET,
    loops: bool = False,
) -> Source:
    """The complete, self-contained C source of one function.

    split: distribute its chunks over several units. constants: define the robot's exported constants too. loops: add an
    entry that repeats the function over time.
    """
    checked_name(program.name, IN_C, LONG)
    code = in_rounds(body_of(program), bits)
    body = body_in_c(code, bits, target)
    groups = _groups(body, target) if split else [[text for text, _ in body.chunks]]
    apart = len(groups) > 1
    e = Emitter()
    e(*header(program, facts, f"float{bits}", TARGET.abi), "")
    ops = tally(code)
    write_preamble(e, bits, apart, ops)
    e(f"typedef unsigned {'short' if body.size < 65536 else 'int'} cd_slot;", "")
    e(support("sincos.h"), support("transpose.h"), support("tiles.h"))
    if body.products:
        e(support("product.h"))
    if loops or isinstance(program, Repeated):
        e(f"#define CD_LINE {LINE}", support("repeat.h"))
    if apart:
        e(*(f"CD_CHUNK void {program.name}_{k}(real_v *w);" for k in range(len(body.chunks))), "")
    write_function(e, program, facts, bits, body, () if apart else groups[0], target)
    if loops:
        write_time_loop(e, f"{facts.name}_{program.name}", code, bits, body)
    if constants:
        write_facts(e, facts)
    parts = tuple(_part(group, bits, ops) for group in groups) if apart else ()
    return Source(e.text(), parts, most(program, body), most(program, body) <= target.stack)


def in_rounds(code: Code, bits: int) -> Code:
    """The code with random numbers expanded, so that those of one block share its rounds."""

    def rewritten(program: Program) -> Program:
        return expand(program, bits, RANDOM)

    if isinstance(code, Program):
        return rewritten(code)
    return code.rewritten(rewritten) if isinstance(code, Segmented) else code


def body_in_c(program: Code, bits: int, target: Target = TARGET) -> Body:
    """The body of code in any form."""
    if isinstance(program, Program):
        return straight(lower(program, target.cut), bits)
    return segmented_body(program, bits, target) if isinstance(program, Segmented) else rolled_body(program, bits)


def _groups(body: Body, target: Target) -> list[list[str]]:
    groups: list[list[str]] = [[]]
    count = 0
    for text, operations in body.chunks:
        if count >= target.part:
            groups.append([])
            count = 0
        groups[-1].append(text)
        count += operations
    return groups


def _part(texts: Sequence[str], bits: int, ops: Collection[str]) -> str:
    e = Emitter()
    write_preamble(e, bits, apart=True, ops=ops)
    e(*texts)
    return e.text()


def write_preamble(e: Emitter, bits: int, apart: bool, ops: Collection[str] = (), freestanding: bool = False) -> None:
    """Number type, vector type, functions that these operations need, and the declaration of chunk functions.

    freestanding: one state at a time, without any library.
    """
    if freestanding:
        e("#define CD_SCALAR", "#define CD_FREESTANDING")
    e(f"#define REAL_BITS {bits}", support("vector.h"))
    if freestanding or beyond(ops):
        e(support("bits.h"))
    if freestanding:
        e(support("freestanding.h"))
    if beyond(ops):
        e(support("operations.h"))
        write_functions(e, ops, bits, "CD_STATIC real_v", dialect_of(bits), lambda value: operand(value, bits))
    storage = '__attribute__((visibility("hidden")))' if apart else "CD_STATIC"
    e(f"#define CD_CHUNK {storage}", "")


def most(program: Code | Repeated, body: Body) -> int:
    """Bytes of workspace with the longest vectors, and for alignment."""
    return (body.size + (room(program.body) if isinstance(program, Repeated) else 0) + 1) * LINE


def write_function(
    e: Emitter,
    program: Code | Repeated,
    facts: Facts,
    bits: int,
    body: Body,
    chunks: Sequence[str],
    target: Target,
) -> None:
    """Chunks, tables and the exported symbols of one function."""
    name, symbol, real = program.name, f"{facts.name}_{program.name}", real_of(bits)
    write_tile(e, name, body, chunks)
    if isinstance(program, Repeated):
        write_rollout(e, symbol, program, bits, body, LINE)
    else:
        with e.block(f"size_t {symbol}_work(void)\n{{"):
            e(f"return {body.size} * sizeof(real_v) + {LINE};")
        e("")
        with e.block(strided_head(program, symbol, real) + "\n{"):
            write_driver(e, program, bits, body)
        e("")
    with e.block(given_head(program, symbol, real) + "\n{"):
        _write_given(e, program, symbol, real)
    e("")
    if most(program, body) <= target.stack:
        with e.block(plain_head(program, symbol, real) + "\n{"):
            e(f"unsigned char work[{most(program, body) // LINE - 1} * sizeof(real_v) + {LINE}];")
            e(f"return {symbol}_with({', '.join([*_passed(program), 'work'])});")
        e("")


def write_tile(e: Emitter, name: str, body: Body, chunks: Sequence[str]) -> None:
    """Chunks, `NAME_tile`, and the tables of outputs."""
    e(*chunks)
    e(body.main)
    for k, table in enumerate(body.tables):
        if table:
            write_table(e, f"{name}_out_{k}", table + (body.zero,) * (-len(table) % 16))
    e("")


def _passed(program: Code | Repeated) -> list[str]:
    code = body_of(program)
    times = ["steps", "every"] if isinstance(program, Repeated) else []
    return ["n", *times, *argument_names(code.inputs, "in"), *argument_names(code.arrays, "out")]


def real_of(bits: int) -> str:
    return "double" if bits == 64 else "float"


def strided_head(program: Code | Repeated, symbol: str, real: str) -> str:
    """The entry for arrays with strides, in elements; 0: one row for all states."""
    if isinstance(program, Repeated):
        return strided_rollout(symbol, real)
    return (
        f"int {symbol}_strided(size_t n, const {real} *const *in, const ptrdiff_t *in_stride,\n"
        f"    {real} *const *out, const ptrdiff_t *out_stride, void *work)"
    )


def plain_head(program: Code | Repeated, symbol: str, real: str) -> str:
    """The entry for contiguous arrays, with its workspace on the stack."""
    return f"int {symbol}({', '.join(_arguments(program, real))})"


def given_head(program: Code | Repeated, symbol: str, real: str) -> str:
    """The entry for contiguous arrays and a given workspace."""
    return f"int {symbol}_with({', '.join([*_arguments(program, real), 'void *work'])})"


def _arguments(program: Code | Repeated, real: str) -> list[str]:
    code = body_of(program)
    inputs = [f"const {real} *{name}" for name in argument_names(code.inputs, "in")]
    outputs = [f"{real} *{name}" for name in argument_names(code.arrays, "out")]
    return [TIMES if isinstance(program, Repeated) else "size_t n", *inputs, *outputs]


def write_driver(e: Emitter, program: Code, bits: int, body: Body) -> None:
    """Writes the loop over tiles of rows."""
    used = [(k, array.size) for k, array in enumerate(program.inputs) if array.size]
    e(f"real_v *const w = (real_v *)(((uintptr_t)work + {LINE - 1}) / {LINE} * {LINE});", "size_t k;")
    if not used:
        e("(void)in;", "(void)in_stride;")
    with e.block("if (n == 0) {"):
        e("return 0;")
    for slot, value in ((body.zero, 0.0), *body.constants):
        e(f"w[{slot}] = cd_splat({literal(value, bits)});")
    if body.held:
        e(f"const real *const held[] = {{{', '.join(f'in_stride[{k}] == 0 ? in[{k}] : NULL' for k in body.held)}}};")
    for k, size in used:
        if k in body.alone:
            continue
        with e.block(f"if (in_stride[{k}] == 0) {{"):
            e(f"cd_pack_one(in[{k}], {size}, w + {body.bases[k]});")
    with e.block("for (k = 0; k < n; k += LANES) {"):
        e("const size_t rows = n - k < LANES ? n - k : LANES;")
        for k, size in used:
            place = f"in[{k}] + (ptrdiff_t)k * in_stride[{k}], in_stride[{k}]"
            with e.block(f"if (in_stride[{k}] != 0) {{"):
                e(f"cd_pack({place}, rows, {size}, w + {body.bases[k]});")
        e(f"{program.name}_tile({body.arguments});")
        for k, table in enumerate(body.tables):
            if table:
                place = f"out[{k}] + (ptrdiff_t)k * out_stride[{k}], out_stride[{k}]"
                e(f"cd_unpack(w, {program.name}_out_{k}, {len(table)}, {place}, rows);")
    e("return 0;")


def _write_given(e: Emitter, program: Code | Repeated, symbol: str, real: str) -> None:
    code = body_of(program)
    inputs, outputs = argument_names(code.inputs, "in"), argument_names(code.arrays, "out")
    e(f"const {real} *in[{max(1, len(inputs))}];", f"{real} *out[{max(1, len(outputs))}];")
    if isinstance(program, Repeated):
        e(*time_strides(program))
    else:
        held = held_of(program)
        strides = ["0" if array.name in held else str(array.size) for array in program.inputs]
        e(f"const ptrdiff_t in_stride[] = {{{', '.join(strides) or '0'}}};")
        e(f"const ptrdiff_t out_stride[] = {{{', '.join(str(a.size) for a in program.arrays) or '0'}}};")
    e(*(f"in[{k}] = {name};" for k, name in enumerate(inputs)))
    e(*(f"out[{k}] = {name};" for k, name in enumerate(outputs)))
    if isinstance(program, Repeated):
        e(f"return {symbol}_strided(n, steps, every, in, in_stride, in_step, out, out_stride, out_step, work);")
    else:
        e(f"return {symbol}_strided(n, in, in_stride, out, out_stride, work);")


def write_facts(e: Emitter, facts: Facts) -> None:
    """Writes the exported constants; needs the vector type for the number of lanes."""
    for head, value in fact_symbols(facts):
        e(f"extern const {head};", f"const {head} = {value};")


def fact_symbols(facts: Facts) -> list[tuple[str, str]]:
    """Declaration and value of each exported constant."""
    return [
        (f"unsigned {facts.name}_abi", str(TARGET.abi)),
        (f"unsigned {facts.name}_lanes", "LANES"),
        (f"unsigned {facts.name}_nq", str(facts.nq)),
        (f"unsigned {facts.name}_nv", str(facts.nv)),
        (f"char {facts.name}_fingerprint[{len(facts.fingerprint) + 1}]", f'"{facts.fingerprint}"'),
        (f"char {facts.name}_version[{len(facts.version) + 1}]", f'"{facts.version}"'),
    ]
