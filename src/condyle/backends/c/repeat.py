"""A function repeated over time as C: a `cd_body` for support/repeat.h, and the entries that run the loop."""

from __future__ import annotations

from condyle.backends.c.body import Body, write_table
from condyle.backends.common.describe import held_of
from condyle.backends.common.literals import literal
from condyle.ir.repeated import Repeated
from condyle.ir.sweep import Code
from condyle.text import Emitter

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
        e(f"const cd_loop loop = {{at[0], at[1], at[2], take, (const cd_give *)(take + {len(code.inputs)})}};")
        write_call(e, code, body, "(const real *const *)in", "(real *const *)out")
    e("")


HEAD = 3
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
        e(f"const cd_loop loop = {{(ptrdiff_t)steps, 0, {len(gives)}, take, give}};", "size_t k;")
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
