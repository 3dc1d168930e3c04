"""A function repeated over time as C: what support/repeat.h has to know of a body, and the entries that run the loop."""

from __future__ import annotations

from condyle.backends.c.body import Body, literal, write_table
from condyle.ir.sweep import Code
from condyle.text import Emitter

PLACES = "const void *const *in, const ptrdiff_t *in_stride, void *const *out, const ptrdiff_t *out_stride, void *work"


def room(code: Code) -> int:
    """Vectors of workspace behind those of a step."""
    return sum(array.size for array in (*code.inputs, *code.arrays))


def write_body(e: Emitter, code: Code, bits: int, body: Body) -> None:
    """`NAME_body`: one step, as support/repeat.h takes it."""
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


def write_loop(e: Emitter, symbol: str, code: Code, bits: int, body: Body) -> None:
    """The entry for loops that are not known yet: as `_strided`, and numbers that are a `cd_loop`."""
    write_body(e, code, bits, body)
    e("")
    head = f"int {symbol}_repeat(size_t n, {PLACES},\n    const void *numbers)"
    with e.block(f"{head};\n{head}\n{{"):
        e("const ptrdiff_t *const at = (const ptrdiff_t *)numbers;")
        e(f"const cd_take *const take = (const cd_take *)(at + {HEAD});")
        e(f"const cd_loop loop = {{at[0], at[1], at[2], take, (const cd_give *)(take + {len(code.inputs)})}};")
        write_call(e, code, body, "(const real *const *)in", "(real *const *)out")
    e("")


HEAD = 3
"""Numbers of a loop before those of its inputs."""


def write_work(e: Emitter, symbol: str, code: Code, body: Body, line: int) -> None:
    with e.block(f"size_t {symbol}_work(void);\nsize_t {symbol}_work(void)\n{{"):
        e(f"return {body.size + room(code)} * sizeof(real_v) + {line};")
    e("")


def write_call(e: Emitter, code: Code, body: Body, inputs: str, outputs: str) -> None:
    """Runs `loop`."""
    e(f"const real *held[{max(1, len(body.held))}];")
    places = f"{inputs}, in_stride, {outputs}, out_stride, NULL, NULL, NULL, held"
    e(f"const cd_call call = {{&{code.name}_body, &loop, {places}}};", "return cd_repeat(&call, n, work);")
