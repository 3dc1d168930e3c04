"""Square matrices with a thread for each entry; a block has entries of one row."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from condyle.backends.cuda.emit import write_entry, write_head
from condyle.backends.cuda.parts import Part, Text
from condyle.backends.cuda.target import TARGET, WARP, Target
from condyle.backends.cuda.trig import literal
from condyle.ir.program import Array
from condyle.links.cuda.lanes import lanes_for
from condyle.links.cuda.stage import Registers
from condyle.text import Emitter


class Entries:
    """A kernel around a body. The body finds row %r, column %c and state %state, and sets %x0, %x1, ..., which are zero
    at first, to the entry of each output. %in0, %in1, ...: addresses of the state's inputs. Free registers: %k, %j, %a,
    %at.
    """

    def __init__(self, name: str, reads: Sequence[Array], writes: Sequence[Array], bits: int, target: Target) -> None:
        self.name, self.reads, self.writes, self.bits, self.target = name, tuple(reads), tuple(writes), bits, target
        self.e, self.fresh = Emitter(), Registers()
        self.f, self.item, self.size = f"f{bits}", bits // 8, writes[0].shape[0]
        self.threads = min(target.most_threads, max(WARP, lanes_for(self.size)))

    def part(self, body: Callable[[], None], constants: bytes = b"") -> Part:
        """The launch."""
        self._where(bool(constants))
        body()
        for k in range(len(self.writes)):
            self.e(f"@%inside st.global.{self.f} [%to{k}], %x{k};")
        blocks = self.size * -(-self.size // self.threads)
        text = Text(self.name, self._module(bool(constants)), 0, 1, "entries", 0, self.threads, blocks)
        return Part((text,), self.reads, self.writes, constants)

    def _module(self, constants: bool) -> str:
        e, target = Emitter(), self.target
        write_head(e, target)
        ports = len(self.reads), len(self.writes)
        write_entry(e, self.name, ports, self.threads, ["constants"] * constants)
        with e.block("{"):
            e(f".reg .{self.f} %v<{self.fresh.count + 1}>, %x<{len(self.writes)}>, %na, %nc;")
            e(f".reg .b64 %a, %at, %in<{len(self.reads)}>, %to<{len(self.writes)}>;", ".reg .b32 %k, %j, %state;")
            e(".reg .b32 %r, %c;", ".reg .pred %inside;")
            e(*self.e.text().splitlines(), "ret;")
        return e.text()

    def _where(self, constants: bool) -> None:
        e, size, blocks = self.e, self.size, -(-self.size // self.threads)
        e("mov.u32 %k, %ctaid.x;", f"div.u32 %r, %k, {blocks};", f"mul.lo.u32 %j, %r, {blocks};")
        e("sub.u32 %k, %k, %j;", "mov.u32 %c, %tid.x;", f"mad.lo.u32 %c, %k, {self.threads}, %c;")
        e(f"setp.lt.u32 %inside, %c, {size};", f"min.u32 %c, %c, {size - 1};", f"div.u32 %state, %r, {size};")
        e(f"mul.lo.u32 %j, %state, {size};", "sub.u32 %r, %r, %j;", "cvt.u64.u32 %at, %state;")
        for k in range(len(self.reads)):
            e(f"ld.param.u64 %a, [stride{k}];", "mul.lo.u64 %a, %at, %a;", f"ld.param.u64 %in{k}, [in{k}];")
            e(f"cvta.to.global.u64 %in{k}, %in{k};", f"add.u64 %in{k}, %in{k}, %a;")
        e(f"mad.lo.u32 %k, %state, {size}, %r;", f"mul.wide.u32 %at, %k, {size * self.item};")
        e(f"mul.wide.u32 %a, %c, {self.item};", "add.u64 %at, %at, %a;")
        for k in range(len(self.writes)):
            e(f"ld.param.u64 %a, [out{k}];", "cvta.to.global.u64 %a, %a;", f"add.u64 %to{k}, %a, %at;")
            e(f"mov.{self.f} %x{k}, {literal(0.0, self.bits)};")
        if constants:
            e("ld.param.u64 %at, [constants];", "cvta.to.global.u64 %at, %at;")


def multiplied(inverse: Array, matrices: Sequence[Array], writes: Sequence[Array], bits: int) -> Part:
    """The launch that computes -Minv times each of these matrices."""
    made = Entries("condyle_entries_product", (inverse, *matrices), writes, bits, TARGET)
    e, f, item, size = made.e, made.f, made.item, made.size

    def body() -> None:
        m, x = made.fresh(), [made.fresh() for _ in matrices]
        e(f"mul.wide.u32 %a, %r, {size * item};", "add.u64 %in0, %in0, %a;", f"mul.wide.u32 %a, %c, {item};")
        e(*(f"add.u64 %in{k + 1}, %in{k + 1}, %a;" for k in range(len(matrices))))
        e(f"mov.u32 %k, {size};", ".reg .pred %more;", "TERM:", f"ld.global.nc.{f} {m}, [%in0];", f"neg.{f} {m}, {m};")
        for k, value in enumerate(x):
            e(f"ld.global.nc.{f} {value}, [%in{k + 1}];", f"fma.rn.{f} %x{k}, {m}, {value}, %x{k};")
            e(f"add.u64 %in{k + 1}, %in{k + 1}, {size * item};")
        e(f"add.u64 %in0, %in0, {item};", "sub.u32 %k, %k, 1;", "setp.ne.u32 %more, %k, 0;", "@%more bra TERM;")

    return made.part(body)
