"""A Program as a C source: header comment, support text, body, and the entry that packs, computes and unpacks tiles."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from condyle.backends.c.body import Body, dialect_of, operand, straight, write_table
from condyle.backends.c.repeat import TIMES, room, strided_rollout, time_strides, write_rollout, write_time_loop
from condyle.backends.c.rolled import rolled_body
from condyle.backends.c.segments import segmented_body
from condyle.backends.c.target import TARGET, Target
from condyle.backends.common.chunks import lower
from condyle.backends.common.describe import argument_names, body_of, header, held_of
from condyle.backends.common.facts import LONG, Facts, checked_name
from condyle.backends.common.forms import beyond, write_functions
from condyle.backends.common.literals import literal
from condyle.backends.common.words import IN_C
from condyle.ir.count import tally
from condyle.ir.program import Program
from condyle.ir.repeated import Repeated
from condyle.ir.segments import Segmented
from condyle.ir.sweep import Code
from condyle.text import Emitter

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
    code = body_of(program)
    body = _body(code, bits, target)
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


def _body(program: Code, bits: int, target: Target) -> Body:
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


def write_preamble(e: Emitter, bits: int, apart: bool, ops: Collection[str] = ()) -> None:
    """Number type, vector type, functions that these operations need, and the declaration of chunk functions."""
    e(f"#define REAL_BITS {bits}", support("vector.h"))
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
    e(*chunks)
    e(body.main)
    for k, table in enumerate(body.tables):
        if table:
            write_table(e, f"{name}_out_{k}", table + (body.zero,) * (-len(table) % 16))
    e("")
    if isinstance(program, Repeated):
        write_rollout(e, symbol, program, bits, body, LINE)
    else:
        with e.block(f"size_t {symbol}_work(void)\n{{"):
            e(f"return {body.size} * sizeof(real_v) + {LINE};")
        e("")
        with e.block(strided_head(program, symbol, real) + "\n{"):
            _write_driver(e, program, bits, body)
        e("")
    with e.block(given_head(program, symbol, real) + "\n{"):
        _write_given(e, program, symbol, real)
    e("")
    if most(program, body) <= target.stack:
        with e.block(plain_head(program, symbol, real) + "\n{"):
            e(f"unsigned char work[{most(program, body) // LINE - 1} * sizeof(real_v) + {LINE}];")
            e(f"return {symbol}_with({', '.join([*_passed(program), 'work'])});")
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


def _write_driver(e: Emitter, program: Code, bits: int, body: Body) -> None:
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
