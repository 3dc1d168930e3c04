"""-Minv times dense matrices, a warp for each state: the last stage of derivatives that are too long for one kernel.

A lane has its columns of the right-hand sides in registers. All lanes read the same rows of Minv.
"""

from __future__ import annotations

from collections.abc import Sequence

from condyle.backends.cuda.emit import write_entry, write_head
from condyle.backends.cuda.target import TARGET, WARP, Target
from condyle.backends.cuda.trig import literal
from condyle.text import Emitter

NAME = "condyle_product"


def emit_product(nv: int, matrices: int, bits: int, target: Target = TARGET) -> str:
    """The text of a module with one kernel: inputs Minv and `matrices` matrices, `matrices` outputs, all (n, nv, nv).

    Parameters as in `emit.emit`; no shared memory.
    """
    e = Emitter()
    write_head(e, target)
    write_entry(e, NAME, (matrices + 1, matrices), target.most_threads)
    units = [(k, start) for k in range(matrices) for start in range(0, nv, WARP)]
    together = max(1, target.values(bits) // (2 * nv))
    with e.block("{"):
        e(f".reg .f{bits} %d<{nv * together}>, %sum<{together}>, %m;", f".reg .pred %done, %inside<{together}>;")
        e(".reg .b32 %lane, %state, %left, %k, %n;", f".reg .b64 %a, %s, %from, %to<{together}>;")
        e("mov.u32 %lane, %tid.x;", "mov.u32 %k, %ntid.x;", "mov.u32 %state, %ctaid.x;")
        e("mad.lo.u32 %state, %state, %k, %lane;", "shr.u32 %state, %state, 5;", "and.b32 %lane, %lane, 31;")
        e("ld.param.u32 %n, [n];", "setp.ge.u32 %done, %state, %n;", "@%done ret;")
        for number, first in enumerate(range(0, len(units), together)):
            _columns(e, units[first : first + together], nv, bits, number)
        e("ret;")
    return e.text()


def _columns(e: Emitter, units: Sequence[tuple[int, int]], nv: int, bits: int, number: int) -> None:
    """Writes columns of the outputs. units: (matrix, first column) of groups of 32 columns."""
    f, item = f"f{bits}", bits // 8
    zero = literal(0.0, bits)
    for u, (matrix, start) in enumerate(units):
        e(f"add.u32 %k, %lane, {start};", f"setp.lt.u32 %inside{u}, %k, {nv};")
        e(f"mul.wide.u32 %to{u}, %k, {item};", "cvt.u64.u32 %s, %state;")
        e(f"ld.param.u64 %a, [stride{matrix + 1}];", f"mad.lo.u64 %from, %s, %a, %to{u};")
        e(f"ld.param.u64 %a, [in{matrix + 1}];", "cvta.to.global.u64 %a, %a;", "add.u64 %from, %from, %a;")
        e(f"mad.lo.u64 %to{u}, %s, {nv * nv * item}, %to{u};", f"ld.param.u64 %a, [out{matrix}];")
        e("cvta.to.global.u64 %a, %a;", f"add.u64 %to{u}, %to{u}, %a;")
        for k in range(nv):
            e(
                f"mov.{f} %d{u * nv + k}, {zero};",
                f"@%inside{u} ld.global.nc.{f} %d{u * nv + k}, [%from+{k * nv * item}];",
            )
    e("cvt.u64.u32 %s, %state;", "ld.param.u64 %a, [stride0];", "mul.lo.u64 %from, %s, %a;", "ld.param.u64 %a, [in0];")
    e("cvta.to.global.u64 %a, %a;", "add.u64 %from, %from, %a;", f"mov.u32 %left, {nv};", f"ROW{number}:")
    e(*(f"mov.{f} %sum{u}, {zero};" for u in range(len(units))))
    for k in range(nv):
        e(f"ld.global.nc.{f} %m, [%from+{k * item}];", f"neg.{f} %m, %m;")
        e(*(f"fma.rn.{f} %sum{u}, %m, %d{u * nv + k}, %sum{u};" for u in range(len(units))))
    for u in range(len(units)):
        e(f"@%inside{u} st.global.{f} [%to{u}], %sum{u};", f"add.u64 %to{u}, %to{u}, {nv * item};")
    e(f"add.u64 %from, %from, {nv * item};", "sub.u32 %left, %left, 1;", "setp.ne.u32 %done, %left, 0;")
    e(f"@%done bra ROW{number};")
