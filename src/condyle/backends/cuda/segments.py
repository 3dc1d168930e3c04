"""Segments as launches: a kernel for each Program and for each product, with arrays between them in device memory.

In a product a lane has one column. A warp has the columns of as many states as fit into 32 lanes; with a vector on the
right, a state has one lane. A lane computes TOGETHER entries of its column at once. If the left operand is the same for
all states, all lanes read the same numbers.
"""

from __future__ import annotations

from condyle.backends.common.facts import packed
from condyle.backends.cuda.emit import write_entry, write_head
from condyle.backends.cuda.parts import Part, Parts, Text, straight
from condyle.backends.cuda.target import TARGET, WARP, Target
from condyle.backends.cuda.trig import literal
from condyle.ir.program import Array, Program
from condyle.ir.segments import Product, Segmented, gives
from condyle.text import Emitter

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
        else:
            names = (segment.left.array, segment.right.array)
            reads = tuple(arrays[name] for name in names if name in arrays)
            launches.append(_product(segment, reads, tables.get(names[0], b""), bits, target))
    return Parts(code.name, bits, code.inputs, code.arrays, tuple(launches))


def _product(product: Product, reads: tuple[Array, ...], constants: bytes, bits: int, target: Target) -> Part:
    lanes = min(WARP, 1 << (product.shape[1] - 1).bit_length())
    text = Text(NAME, emit_matrices(product, lanes, bool(constants), bits, target), 0, WARP // lanes, "lines", 0)
    return Part((text,), reads, (product.array,), constants)


def emit_matrices(product: Product, lanes: int, constants: bool, bits: int, target: Target = TARGET) -> str:
    """The text of a module with one kernel. lanes: lanes of a state, a power of two.

    Parameters as in `emit.emit`, with left and right as inputs; with `constants` only right is an input, and the
    address of the left numbers is the last parameter. No shared memory.
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
