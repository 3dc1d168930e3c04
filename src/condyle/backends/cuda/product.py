"""-Minv times matrices, a warp for each state: the last stage of derivatives that are too long for one kernel.

The warp copies rows of Minv to shared memory, from where all lanes read the same ones. A lane has columns of one
right-hand side in registers, without the rows that are zero in all columns that the warp has at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from condyle.backends.cuda.target import TARGET, WARP, Target
from condyle.backends.cuda.thread_kernel import write_entry, write_head
from condyle.backends.cuda.trig import literal
from condyle.text import Emitter

Entries: TypeAlias = NDArray[np.bool_]
NAME = "condyle_product"
STAGED = 32
"""Numbers of Minv that a lane reads before it stores them."""


class Columns(NamedTuple):
    """A column of every lane. rows: those that can differ from zero, of any lane."""

    start: int
    rows: tuple[int, ...]


class Product:
    """The kernel for right-hand sides of which only the entries `kept`, (nv, nv), can differ from zero."""

    def __init__(self, kept: Entries, matrices: int, bits: int, target: Target = TARGET) -> None:
        self.nv, self.matrices, self.bits, self.target = len(kept), matrices, bits, target
        self.f, self.item, self.wide = f"f{bits}", bits // 8, WARP // matrices
        self.pitch = -(-max(self.nv, WARP) * bits // 128) * 16
        """Bytes of a row of Minv in shared memory: each lane stores a number, loads take 16 bytes."""
        self.rows = max(
            r for r in range(1, self.nv + 1) if self.nv % r == 0 and (r == 1 or r * self.pitch <= target.pool)
        )
        """Rows of Minv that are in shared memory at a time."""
        self.groups: list[list[Columns]] = [[]]
        for start in range(0, self.nv, self.wide):
            rows = np.flatnonzero(kept[:, start : start + self.wide].any(axis=1))
            columns = Columns(start, tuple(rows.tolist()))
            held = sum(len(other.rows) for other in (*self.groups[-1], columns))
            if self.groups[-1] and held > 0.8 * target.values(bits):
                self.groups.append([])
            self.groups[-1].append(columns)

    @property
    def pool(self) -> int:
        """Bytes of shared memory of a warp."""
        return self.rows * self.pitch

    def text(self) -> str:
        """A module with one kernel: inputs Minv and the right-hand sides, then outputs, all (n, nv, nv).

        Parameters as in `thread_kernel.emit`; `pool` bytes of dynamic shared memory for each warp.
        """
        e, most = Emitter(), max(map(len, self.groups))
        write_head(e, self.target)
        e(".extern .shared .align 16 .b8 pool[];", "")
        write_entry(e, NAME, (self.matrices + 1, self.matrices), self.target.most_threads)
        with e.block("{"):
            e(f".reg .{self.f} %d<{self.nv * most}>, %sum<{most}>, %m<{128 // self.bits}>, %x<{STAGED}>;")
            e(".reg .pred %done, %tail;", f".reg .b64 %a, %s, %in, %last, %from, %out, %to<{most}>;")
            e(".reg .b32 %lane, %column, %state, %base, %row, %left, %blocks, %matrix, %k, %n;")
            e("mov.u32 %lane, %tid.x;", "mov.u32 %k, %ntid.x;", "mov.u32 %state, %ctaid.x;", "shr.u32 %row, %lane, 5;")
            e("mad.lo.u32 %state, %state, %k, %lane;", "shr.u32 %state, %state, 5;", "and.b32 %lane, %lane, 31;")
            e("ld.param.u32 %n, [n];", "setp.ge.u32 %done, %state, %n;", "@%done ret;", "cvt.u64.u32 %s, %state;")
            e("mov.u32 %base, pool;", f"mad.lo.u32 %base, %row, {self.pool}, %base;")
            self._choose_matrix(e)
            for number, group in enumerate(self.groups):
                self._compute(e, group, number)
            e("ret;")
        return e.text()

    def _choose_matrix(self, e: Emitter) -> None:
        """The addresses of this lane's right-hand side and output: the first lanes have the first, and so on. Lanes
        that are left over do what a lane of the first does, as those beyond the last column do what that of it does."""
        e(
            f"div.u32 %matrix, %lane, {self.wide};",
            f"mul.lo.u32 %k, %matrix, {self.wide};",
            "sub.u32 %column, %lane, %k;",
        )
        e("ld.param.u64 %from, [in1];", "ld.param.u64 %in, [stride1];", "ld.param.u64 %out, [out0];")
        for k in range(1, self.matrices):
            e(f"setp.eq.u32 %done, %matrix, {k};")
            for name, parameter in (("from", f"in{k + 1}"), ("in", f"stride{k + 1}"), ("out", f"out{k}")):
                e(f"ld.param.u64 %a, [{parameter}];", f"selp.b64 %{name}, %a, %{name}, %done;")
        e("cvta.to.global.u64 %from, %from;", "mad.lo.u64 %from, %s, %in, %from;")
        e("cvta.to.global.u64 %out, %out;", f"mad.lo.u64 %out, %s, {self.nv**2 * self.item}, %out;")

    def _compute(self, e: Emitter, group: Sequence[Columns], number: int) -> None:
        """Writes some columns of the outputs."""
        nv, item = self.nv, self.item
        places: dict[tuple[int, int], str] = {}
        for u, columns in enumerate(group):
            e(f"add.u32 %k, %column, {columns.start};", f"min.u32 %k, %k, {nv - 1};")
            e(f"mul.wide.u32 %to{u}, %k, {item};", f"add.u64 %a, %from, %to{u};", f"add.u64 %to{u}, %out, %to{u};")
            for row in columns.rows:
                places[u, row] = f"%d{len(places)}"
                e(f"ld.global.nc.{self.f} {places[u, row]}, [%a+{row * nv * item}];")
        e("ld.param.u64 %a, [stride0];", "ld.param.u64 %in, [in0];", "cvta.to.global.u64 %in, %in;")
        e("mad.lo.u64 %last, %s, %a, %in;", f"mul.wide.u32 %a, %lane, {item};", "add.u64 %in, %last, %a;")
        e(f"min.u32 %k, %lane, {(nv - 1) % WARP};", f"mul.wide.u32 %a, %k, {item};", "add.u64 %last, %last, %a;")
        e(
            f"setp.lt.u32 %tail, %lane, {(nv - 1) % WARP + 1};",
            f"mov.u32 %blocks, {nv // self.rows};",
            f"BLOCK{number}:",
        )
        self._stage(e)
        unrolled = max(r for r in (1, 2, 3, 4) if self.rows % r == 0)
        e("mov.u32 %row, %base;", f"mov.u32 %left, {self.rows // unrolled};", f"ROWS{number}:")
        for row in range(unrolled):
            self._row(e, group, places, row)
        e(*(f"add.u64 %to{u}, %to{u}, {unrolled * nv * item};" for u in range(len(group))))
        e(f"add.u32 %row, %row, {unrolled * self.pitch};", "sub.u32 %left, %left, 1;", "setp.ne.u32 %done, %left, 0;")
        e(f"@%done bra ROWS{number};", "bar.warp.sync 0xFFFFFFFF;")
        e(*(f"add.u64 {address}, {address}, {self.rows * nv * item};" for address in ("%in", "%last")))
        e("sub.u32 %blocks, %blocks, 1;", "setp.ne.u32 %done, %blocks, 0;", f"@%done bra BLOCK{number};")

    def _stage(self, e: Emitter) -> None:
        """Copies rows of Minv to shared memory. Lanes beyond the last column read it again, and store it where rows
        have room: the assembler makes a branch of a load and a store that share a predicate."""
        e(f"mad.lo.u32 %row, %lane, {self.item}, %base;")
        pieces = list(product(range(self.rows), range(0, self.nv, WARP)))
        for first in range(0, len(pieces), STAGED):
            batch = list(enumerate(pieces[first : first + STAGED]))
            for k, (row, start) in batch:
                lanes = "%in" if start + WARP <= self.nv else "%last"
                e(f"ld.global.nc.{self.f} %x{k}, [{lanes}+{(row * self.nv + start) * self.item}];")
            for k, (row, start) in batch:
                guard = "" if self.nv <= WARP or start + WARP <= self.nv else "@%tail "
                e(f"{guard}st.shared.{self.f} [%row+{row * self.pitch + start * self.item}], %x{k};")
        e("bar.warp.sync 0xFFFFFFFF;")

    def _row(self, e: Emitter, group: Sequence[Columns], places: dict[tuple[int, int], str], row: int) -> None:
        """Writes a row of some columns."""
        vector = 128 // self.bits
        e(*(f"mov.{self.f} %sum{u}, {literal(0.0, self.bits)};" for u in range(len(group))))
        for k in range(self.nv):
            if k % vector == 0:
                names = ", ".join(f"%m{j}" for j in range(vector))
                e(f"ld.shared.v{vector}.{self.f} {{{names}}}, [%row+{row * self.pitch + k * self.item}];")
                e(*(f"neg.{self.f} %m{j}, %m{j};" for j in range(vector)))
            for u in range(len(group)):
                if (u, k) in places:
                    e(f"fma.rn.{self.f} %sum{u}, %m{k % vector}, {places[u, k]}, %sum{u};")
        for u in range(len(group)):
            e(f"st.global.{self.f} [%to{u}+{row * self.nv * self.item}], %sum{u};")
