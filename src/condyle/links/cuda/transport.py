"""How lanes of one state exchange values: by shuffles within a warp, by shared memory within a block.

An exchange through shared memory begins after all threads have read the values of the one before.
"""

from __future__ import annotations

from collections.abc import Sequence

from condyle.backends.cuda.target import TARGET, WARP
from condyle.links.cuda.lanes import Lanes
from condyle.links.cuda.stage import Registers
from condyle.text import Emitter

WIDE = 60
"""Variables with more numbers are exchanged in shared memory: two such values do not fit into registers."""
ALL = "0xFFFFFFFF"
NOTHING, OWN, OTHERS = range(3)
"""Whose values in shared memory a thread may have read since the last barrier."""


class Transport:
    """%slot: shared address of this thread's values, entry e at %slot + e pitch; %g: number of this lane in its
    state."""

    slot, partner, space = "%slot", "%partner", "shared"

    def __init__(self, e: Emitter, lanes: Lanes, fresh: Registers) -> None:
        self.e, self.lanes, self.fresh = e, lanes, fresh
        self.f, self.item = f"f{lanes.bits}", lanes.item
        self.pitch = lanes.slots * lanes.item
        self.most = 0
        self.read = NOTHING

    @property
    def pool(self) -> int:
        """Bytes of shared memory of a warp or a block: a row for angles, then the widest exchange."""
        return (1 + self.most) * self.pitch

    @property
    def room(self) -> int:
        """The numbers of each lane that fit into the shared memory of every GPU."""
        return TARGET.shared // self.pitch - 1

    def wait(self) -> None:
        """A barrier for all lanes of the state."""
        self.e(f"bar.warp.sync {ALL};" if self.lanes.in_warp else "bar.sync 0;")

    def store(self, values: Sequence[str], guard: str = "") -> None:
        """Stores this lane's values; other lanes may read them after the next `wait`."""
        self.most = max(self.most, len(values))
        for k, value in enumerate(values):
            self.e(f"{guard}st.{self.space}.{self.f} [{self.slot}+{k * self.pitch}], {value};")

    def publish(self, values: Sequence[str]) -> None:
        """Stores this lane's values, with the barriers before and after, so that other lanes may read them."""
        self.begin(OWN)
        self.store(values)
        self.wait()
        self.read = OTHERS

    def begin(self, most: int) -> None:
        """A barrier, unless no more than this (NOTHING, OWN) was read since the last one."""
        if self.read > most:
            self.wait()

    def load(self, entry: int, address: str = "") -> str:
        """An entry of this lane, or of the lane whose slot has this address."""
        value = self.fresh()
        self.e(f"ld.{self.space}.{self.f} {value}, [{address or self.slot}+{entry * self.pitch}];")
        return value

    def partner_at(self, by: str, from_tip: bool) -> None:
        """Sets %valid to whether there is a lane `by` further (towards the tip, or the base), and %partner to its slot,
        or to this lane's own."""
        e = self.e
        if from_tip:
            e(f"add.u32 %k, %g, {by};", f"setp.lt.u32 %valid, %k, {self.lanes.count};")
        else:
            e(f"sub.u32 %k, %g, {by};", f"setp.ge.u32 %valid, %g, {by};")
        self._slot_of("%k")

    def partner_named(self, lane: str) -> None:
        """The same for a lane of this state given by its number, negative for none."""
        self.e(f"setp.ge.s32 %valid, {lane}, 0;")
        self._slot_of(lane)

    def _slot_of(self, lane: str) -> None:
        self.e(f"selp.b32 %k, {lane}, %g, %valid;", "sub.u32 %k, %k, %g;")
        self.e(f"mul.lo.u32 %k, %k, {self.item};", "add.u32 %partner, %slot, %k;")

    def shifted(self, values: Sequence[str], by: str, from_tip: bool, width: int) -> list[str]:
        """The values of the lane `by` further among `width` of a warp; sets %valid to whether there is one."""
        limit = ((WARP - width) << 8) | (WARP - 1 if from_tip else 0)
        return [
            self._shuffled(
                value, f"shfl.sync.{'down' if from_tip else 'up'}.b32", f"{by}, {limit}", "" if k else "|%valid"
            )
            for k, value in enumerate(values)
        ]

    def named(self, values: Sequence[str], lane: str, width: int = WARP) -> list[str]:
        """The values of the lane `lane` among `width` of a warp."""
        limit = ((WARP - width) << 8) | (WARP - 1)
        return [self._shuffled(value, "shfl.sync.idx.b32", f"{lane}, {limit}", "") for value in values]

    def _shuffled(self, value: str, op: str, source: str, valid: str) -> str:
        e, result = self.e, self.fresh()
        if self.lanes.bits == 32:
            e(f"mov.b32 %lo, {value};", f"{op} %lo{valid}, %lo, {source}, {ALL};", f"mov.b32 {result}, %lo;")
            return result
        e(f"mov.b64 %pair, {value};", "cvt.u32.u64 %lo, %pair;", "shr.u64 %pair, %pair, 32;", "cvt.u32.u64 %hi, %pair;")
        e(f"{op} %lo{valid}, %lo, {source}, {ALL};", f"{op} %hi, %hi, {source}, {ALL};")
        e("cvt.u64.u32 %pair, %hi;", "shl.b64 %pair, %pair, 32;", "cvt.u64.u32 %half, %lo;")
        e("or.b64 %pair, %pair, %half;", f"mov.b64 {result}, %pair;")
        return result


class Far(Transport):
    """The same in device memory, for blocks whose values do not fit. %deep: address of the state's values."""

    slot, partner, space = "%deep_slot", "%deep_partner", "global"

    @property
    def numbers(self) -> int:
        """Numbers of one state, or task; 0 if there is no exchange in device memory."""
        return self.most * self.lanes.slots

    def opening(self, address: str, task: str) -> list[str]:
        """Lines that set the addresses. address: name of the parameter. task: a register with the block's task."""
        if not self.most:
            return []
        return [
            f"ld.param.u64 %deep, [{address}];",
            "cvta.to.global.u64 %deep, %deep;",
            f"cvt.u64.u32 %a, {task};",
            f"mul.lo.u64 %a, %a, {self.numbers * self.item};",
            "add.u64 %deep, %deep, %a;",
            f"mul.wide.u32 %a, %g, {self.item};",
            "add.u64 %deep_slot, %deep, %a;",
        ]

    def _slot_of(self, lane: str) -> None:
        self.e(f"selp.b32 %k, {lane}, %g, %valid;", f"mul.wide.u32 %a, %k, {self.item};")
        self.e("add.u64 %deep_partner, %deep, %a;")
