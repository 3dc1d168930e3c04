"""One array as Verilog: a module for each stage, with registers by phase and flags; the array's own module with the
stages wired together, the phase counter, the tasks in flight.

Nothing in an array waits: a task enters only when the queue in which its result will wait has a credit for it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from condyle.fpga.rtl.accelerator import Leaf, Plan
from condyle.fpga.rtl.constants import Operand, adder_bits, literal, name_of, product, summands
from condyle.fpga.rtl.datapath import CLAMPING, SHARED, Word
from condyle.fpga.rtl.expressions import Count, Phases, any_of, cases, copy, is_one_of, module, packed
from condyle.fpga.rtl.operators import splits
from condyle.fpga.rtl.schedule import INPUTS, Binding, Schedule, Tap, pool_of
from condyle.fpga.rtl.stream import codes_of, head, laid
from condyle.fpga.rtl.target import ADDER, A, Format
from condyle.text import Emitter, wrapped

# The operators of a stage in Verilog: shared units with operands selected by phase, a fit or a sum each.


def word(width: int) -> str:
    return f"signed [{width - 1}:0]"


def added(a: Operand, b: Operand, sub: bool = False) -> str:
    """a + b, or a - b: a bit wider than the operands."""
    width = adder_bits(a, b)
    return f"{a.aligned(width)} {'-' if sub else '+'} {b.aligned(width)}"


def clamped(x: Operand, width: int, target: str, over: str) -> list[str]:
    """x / 2^right, bits below dropped, clamped to so many bits. target: the assignment's left (`w12 <=`); over: a
    statement for when it was clamped."""
    top, low, high = x.width - 1, max(0, x.right), x.right + width - 1
    zeros = f", {-x.right}'b0" if x.right < 0 else ""
    bits = top - high + 1
    if bits < 2:
        low = min(low, top)
        more = width - (top - low + 1) - max(0, -x.right)
        spare = f"{{{more}{{{x.text}[{top}]}}}}, " if more else ""
        return [f"{target} {{{spare}{x.text}[{top}:{low}]{zeros}}};"]
    upper = f"{x.text}[{top}:{high}]"
    value = f"{{{x.text}[{high}:{low}]{zeros}}}"
    fitting = f"{bits}'d0, {bits}'d{(1 << bits) - 1}"
    if high < 0:
        fitting, upper, value = "0", x.text, f"{width}'d0"
    sign = f"{x.text}[{top}]"
    limit = f"{{{sign}, {{{width - 1}{{~{sign}}}}}}}"
    return [
        f"case ({upper})",
        f"    {fitting}: {target} {value};",
        f"    default: begin {target} {limit}; {over} end",
        "endcase",
    ]


class Turn(NamedTuple):
    """A sum in one phase: a + b (0), a - b (1) or b - a (2)."""

    phase: int
    sign: int
    texts: tuple[str, str]


def _pieces(name: str, width: int, place: int) -> dict[int, tuple[str, int]]:
    """Of a factor the upper bits from a place on (1) and those below (0), where there are any: text, width."""
    low = {0: (f"$signed({{1'b0, {name}[{place - 1}:0]}})", place + 1)} if place else {}
    return {1: (f"$signed({name}[{width - 1}:{place}])" if place else name, width - place)} | low


class OperatorEmitter:
    """Writes the operations of one stage. phases: assignments to registers by the phase in which they are loaded; bit:
    of `over`, for each operation that clamps: whether it did in this cycle."""

    def __init__(self, binding: Binding, module: str, stage: str) -> None:
        self.binding, self.module, self.stage, self.e = binding, module, stage, Emitter()
        self.schedule, self.datapath = binding.schedule, binding.datapath
        self.ii, self.pipeline = self.schedule.ii, self.datapath.pipeline
        self.ops = binding.stages[stage]
        self.count = Count(self.ii, self.pipeline.one_hot)
        self.phases, self.lane = Phases(self.e, self.count), dict[int, int]()
        self.unit_name: dict[int, str] = {}
        self.factors: dict[str, list[tuple[str, dict[int, str]]]] = defaultdict(list)
        clamping = [k for k in self.ops if self.datapath.ops[k].kind in CLAMPING]
        cones = self.datapath.cones.values()  # by their ends, so that what one flag asks for lies side by side
        clamping.sort(key=lambda k: (self.schedule.ready[k], [k in cone for cone in cones], k))
        self.bit = {k: place for place, k in enumerate(clamping)}

    def format_of(self, k: int) -> Format:
        return self.datapath.ops[k].format

    def write_units(self) -> None:
        """Shared units, each with its operands selected by the phase."""
        users: dict[tuple[object, int], list[int]] = defaultdict(list)
        for k in self.ops:
            if self.datapath.ops[k].kind in SHARED:
                users[(pool_of(self.datapath, k)[1:], self.schedule.unit[k])].append(k)
        for number, ops in enumerate(users.values()):
            self._unit(f"u{number}", ops)
        for unit, factors in self.factors.items():
            with self.e.block(f"always @* case ({unit})", "endcase"):
                for phase in range(self.ii):
                    with self.e.block(f"{phase if phase < self.ii - 1 else 'default'}: begin", "end"):
                        self.e(*(f"{name} = {of.get(phase, max(of.items())[1])};" for name, of in factors))

    def _unit(self, name: str, ops: list[int]) -> None:
        (kind, a, b), more = self.datapath.unit(ops[0]), self.pipeline.product
        self.unit_name.update(dict.fromkeys(ops, name))
        every = [member for k in ops for member in self.datapath.members[k]]
        self._chosen(f"{name}_a", a, [(self._phase(k), self._operand(k, 0)) for k in every], shared=True)
        if kind == "mul":
            self._chosen(f"{name}_b", b, [(self._phase(k), self._factor(k)) for k in every], shared=True)
            self._product(name, a, b)
        elif kind == "sincos":
            self.e(f"wire signed [17:0] {name}_s, {name}_c;")
            ports = f".clock(clock), .a({name}_a), .s({name}_s), .c({name}_c)"
            self.e(f"fx_sincos #({a}, {b}, {more}, {self.pipeline.clamp}) {name} ({ports});")
        else:
            self.e(f"wire [27:0] {name}_r;", f"wire [4:0] {name}_place;", f"wire {name}_bad;")
            ports = f".a({name}_a), .r({name}_r), .place({name}_place), .bad({name}_bad)"
            self.e(f"fx_reciprocal #({a}, {more}, {self.pipeline.clamp}) {name} (.clock(clock), {ports});")

    def _phase(self, k: int) -> int:
        return self.schedule.start[k] % self.ii

    def _operand(self, k: int, which: int) -> str:
        a = self.datapath.ops[k].args[which]
        return name_of(self.binding.read(a, self.schedule.start[k]), self.format_of(a).width)

    def _factor(self, k: int) -> str:
        """The upper bits of the second factor."""
        op = self.datapath.ops[k]
        where, width = self.binding.read(op.args[1], self.schedule.start[k]), self.format_of(op.args[1]).width
        drop = max(0, width - op.factor)
        if isinstance(where, Tap):
            return f"{where}[{width - 1}:{drop}]" if drop else str(where)
        return literal(where >> drop, op.factor)

    def _chosen(
        self, name: str, width: int, values: list[tuple[int, str]], signed: bool = True, shared: bool = False
    ) -> None:
        """A word by the phase, or what it always is. shared: a factor of a unit, chosen with those of the stage's other
        units, which simulates five times as fast."""
        kind, same = word(width) if signed else f"[{width - 1}:0]", len({value for _, value in values}) == 1
        if same or self.count.one_hot:
            self.e(f"wire {kind} {name} = {values[0][1] if same else self.phases.chosen(width, values)};")
            return
        self.e(f"reg {kind} {name};")
        copy = self.phases.copy(width, self.ii if shared else len(values))
        if shared:
            self.factors[copy].append((name, dict(values)))
        else:
            *rest, (_, last) = sorted(values)
            cases(self.e, name, copy, rest, last)

    def _product(self, name: str, a: int, b: int) -> None:
        """One DSP for each pair of pieces; the lower piece of a factor is unsigned."""
        first, second = splits(a, b)
        for i, (left, wa) in _pieces(f"{name}_a", a, first).items():
            for j, (right, wb) in _pieces(f"{name}_b", b, second).items():
                m, p, more = f"{name}_m{i}{j}", f"{name}_p{i}{j}", self.pipeline.product
                self.e(f"wire {word(wa + wb)} {p};")
                self.e(f"fx_product #({wa}, {wb}, {more}) {m} (.clock(clock), .a({left}), .b({right}), .p({p}));")

    def write_operation(self, k: int) -> None:
        op = self.datapath.ops[k]
        self.lane[k] = self.phases.lane(self._bits(k))
        if op.kind == "input":
            self.phases.load(self.lane[k], 0, f"w{k} <= d{k};")
        elif op.kind in ("sin", "cos"):
            self._load(k, f"w{k} <= {self.unit_name[op.args[0]]}_{op.kind[0]};")
        elif op.kind == "mul":
            self._fit_product(k)
        elif op.kind == "rcp":
            shift, u = 26 - self.format_of(op.args[0]).narrowed(A).frac - op.format.frac, self.unit_name[k]
            ports = f".clock(clock), .r({u}_r), .place({u}_place), .bad({u}_bad)"
            self._result(k, f"fx_denormal #({literal(shift, 9)}, {op.format.width}, {self.pipeline.clamp})", ports)
        else:
            self._add(k)

    def _add(self, k: int) -> None:
        """A sum, or several that take turns."""
        op, turns = self.datapath.ops[k], [self._turn(k, member) for member in self.datapath.members[k]]
        first, second = (self._in_turn(f"x{which}_{k}", op.args[which], turns, which) for which in (0, 1))
        a, b = summands(self.datapath, k, (first, second))
        if len({turn.sign for turn in turns}) == 1:
            self._sum(k, a, b, op.kind == "sub")
            return
        self._chosen(f"m{k}", 2, [(turn.phase, f"2'd{turn.sign}") for turn in turns], signed=False)
        bits = adder_bits(a, b)
        ports = f".sign(m{k}), .a({a.aligned(bits)}), .b({b.aligned(bits)})"
        self._result(k, f"fx_add_in_turns #({bits}, {op.format.width})", ports, self.pipeline.sum_cycles)

    def _turn(self, k: int, member: int) -> Turn:
        """A sum as its operator's first one: operands in the order of its formats, the same words where they are."""
        ops, first = self.datapath.ops, [self._operand(k, which) for which in (0, 1)]
        formats, sub = [self.format_of(a) for a in ops[k].args], ops[member].kind == "sub"
        fitting = [
            Turn(self._phase(member), sign, (self._operand(member, a), self._operand(member, b)))
            for (a, b), sign in (((0, 1), int(sub)), ((1, 0), 2 * sub))
            if [self.format_of(ops[member].args[which]) for which in (a, b)] == formats
        ]
        return max(fitting, key=lambda turn: sum(a == b for a, b in zip(turn.texts, first, strict=True)))

    def _in_turn(self, name: str, operand: int, turns: list[Turn], which: int) -> str:
        """An operand of a sum, selected by the time slot if it differs."""
        if len({turn.texts[which] for turn in turns}) == 1:
            return turns[0].texts[which]
        self._chosen(name, self.format_of(operand).width, [(turn.phase, turn.texts[which]) for turn in turns])
        return name

    def _load(self, k: int, *statements: str, before: int = 1) -> None:
        for phase in self.schedule.phases(k, self.schedule.ready[k] - before):
            self.phases.load(self.lane[k], phase, *statements)

    def _bits(self, k: int) -> int:
        """Of the registers of a word; a table holds sixteen of a line. All are in one lane: a line has one enable."""
        copies = [0, *self.binding.used.get(k, [])]
        return self.format_of(k).width * (1 + sum(min(b - a, 2 + (b - a) // 16) for a, b in pairwise(copies)))

    def _result(self, k: int, module: str, ports: str, cycles: int = 1) -> None:
        """An operation with its own instance; its result may have one more register."""
        kind = word(self.format_of(k).width)
        self.e(f"wire {kind} d{k};", f"wire o{k};", f"{module} f{k} ({ports}, .y(d{k}), .over(o{k}));")
        value, over = f"d{k}", f"o{k}"
        if cycles > 1:
            self.e(f"reg {kind} x{k};", f"reg p{k};")
            self._load(k, f"x{k} <= d{k};", f"p{k} <= o{k};", before=2)
            value, over = f"x{k}", f"p{k}"
        self._load(k, f"w{k} <= {value};", f"over[{self.bit[k]}] = {over};")

    def _sum(self, k: int, a: Operand, b: Operand, sub: bool = False, over: str = "") -> None:
        """x is the sum, clamped in the same cycle or in the next; over: whether an operand was clamped before."""
        x, bits, total = f"x{k}", adder_bits(a, b) + 1, added(a, b, sub)
        self.e(f"reg {word(bits)} {x};")
        if self.pipeline.clamp:
            if over:
                self.e(f"reg q{k};")
                self._load(k, f"q{k} <= {over};", before=2)
                over = f"q{k}"
            self._load(k, f"{x} <= {total};", before=2)
        now = [f"over[{self.bit[k]}] = {over};"] * bool(over) + [f"{x} = {total};"] * (not self.pipeline.clamp)
        self._load(k, *now, *self._clamped(k, Operand(x, bits, self.datapath.ops[k].drop)))

    def _clamped(self, k: int, x: Operand, target: str = "w{} <=") -> list[str]:
        """The result of an operation, clamped."""
        return clamped(x, self.format_of(k).width, target.format(k), f"over[{self.bit[k]}] = 1'b1;")

    def _named(self, name: str, x: Operand) -> Operand:
        """An expression as a wire, so that its bits have names."""
        self.e(f"wire {word(x.width)} {name} = {x.text};")
        return x._replace(text=name)

    def _fit_product(self, k: int) -> None:
        """h: the upper and lower pieces side by side; t: what crosses; x: their sum."""
        straight, across = product(self.datapath, k, self.unit_name[k])
        if not across:
            self._load(k, *self._clamped(k, straight))
            return
        high, over = Operand(f"h{k}", self.format_of(k).width), f"p{k} <= 1'b1;"
        straight = self._named(f"h{k}_p", straight)
        pieces = [self._named(f"t{k}_p{n}", piece) for n, piece in enumerate(across)]
        self.e(f"reg {word(high.width)} h{k};")
        if not self.pipeline.has_pieces_held(2 * len(pieces)):
            self._load(k, *self._clamped(k, straight, "h{} ="))
            self._sum(k, high, pieces[0])
            return
        first = [f"p{k} <= 1'b0;", *clamped(straight, high.width, f"h{k} <=", over)]
        low = pieces[0]._replace(text=f"t{k}") if len(pieces) == 1 else Operand(f"t{k}", ADDER)
        self.e(f"reg {word(low.width)} t{k};", f"reg p{k};")
        if len(pieces) == 1:
            first.append(f"t{k} <= {pieces[0].text};")
        else:
            a, b = pieces
            both = Operand(f"y{k}", adder_bits(a, b) + 1, self.datapath.ops[k].drop)
            self.e(f"reg {word(both.width)} y{k};")
            first += [f"y{k} = {added(a, b)};", *clamped(both, ADDER, f"t{k} <=", over)]
        self._load(k, *first, before=1 + self.pipeline.sum_cycles)
        self._sum(k, high, low, over=f"p{k}")


LONG = 3
"""From so many registers in a row on they are a delay line, whose inner words are not read."""


def slices(name: str, places: list[int]) -> list[str]:
    """The bits at ascending positions; adjacent ones are one range."""
    starts = [place for place in places if place - 1 not in places]
    stops = [place for place in places if place + 1 not in places]
    return [f"{name}[{b}:{a}]" if a < b else f"{name}[{a}]" for a, b in zip(starts, stops, strict=True)]


class StageEmitter(OperatorEmitter):
    """Writes the module of one stage."""

    def text(self) -> str:
        ports = ["input clock", *([f"input [{self.count.bits - 1}:0] next_phase"] if self.has_phases else [])]
        if self.stage == INPUTS:
            ports += [f"input {word(self.format_of(k).width)} d{k}" for k in self.ops]
        ports += [f"input {word(self.format_of(tap.op).width)} {tap}" for tap in self.binding.taken[self.stage]]
        words = [k for k in self.ops if self.datapath.ops[k].kind != "sincos"]  # which has two
        kinds = dict[Tap, str]()  # how each register is declared: the end of a line is a wire
        for k in words:
            kinds[Tap(k, 0)] = "reg "
            kinds |= {tap: "reg " if gap < LONG else "" for tap, gap in self._links(k)}
        offered = self.binding.offered.get(self.stage, [])
        ports += [f"output {kinds[tap]}{word(self.format_of(tap.op).width)} {tap}" for tap in offered]
        ports += [f"output over_{group}" for group in self.flags]
        with module(self.e, self.module, ports):
            for tap in (tap for tap in kinds if tap not in offered):
                self.e(f"{kinds[tap] or 'wire '}{word(self.format_of(tap.op).width)} {tap};")
            self.write_units()
            for k in words:
                self.write_operation(k)
            self._registers(words)
        return self.e.text()

    @property
    def has_phases(self) -> bool:
        """Whether the stage does different things in the cycles of an interval."""
        return self.ii > 1 and bool(self.ops)

    @cached_property
    def flags(self) -> Mapping[str, Mapping[int, set[int]]]:
        """For each group that this stage serves: the bits of clamping operations by the cycle in which they end."""
        found: dict[str, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
        for name, _ in self.datapath.groups:
            for k, bit in self.bit.items():
                for member in self.datapath.cones[name].intersection(self.datapath.members[k]):
                    found[name][self.schedule.ready[member] - 1].add(bit)
        return found

    def _registers(self, words: Sequence[int]) -> None:
        for tap, gap in (link for k in words for link in self._links(k)):
            self._link(tap, gap)
        shifted = self._flags()
        if not self.phases.lanes:
            return
        with self.e.block("always @(posedge clock) begin", "end"):
            self.e(*(["over = 0;"] if self.bit else []), *shifted)
            self.phases.write()

    def _links(self, k: int) -> list[tuple[Tap, int]]:
        """The word's registers behind its first, each with its place behind the one before: LONG or more are a line."""
        result: list[tuple[Tap, int]] = []
        for before, last in pairwise([0, *self.binding.used.get(k, [])]):
            gap = last - before
            result += [(Tap(k, last), gap)] if gap >= LONG else [(Tap(k, n + 1), 1) for n in range(before, last)]
        return result

    def _link(self, tap: Tap, gap: int) -> None:
        k, before, width = tap.op, Tap(tap.op, tap.copy - gap), self.format_of(tap.op).width
        if gap < LONG:
            self._load(k, f"{tap} <= {before};")
            return
        line = f"l{k}_{tap.copy}"
        self.e(f"reg [{width * gap - 1}:0] {line};")
        self.e(f"assign {tap} = {line}[{width * gap - 1}:{width * (gap - 1)}];")
        self._load(k, f"{line} <= {{{line}[{width * (gap - 1) - 1}:0], {before}}};")

    def _flags(self) -> list[str]:
        """Of each group a row of flags that its tasks go along; the statements that move them on."""
        if self.bit:
            self.e(f"reg [{len(self.bit) - 1}:0] over;")
        shifts: list[str] = []
        for group, ends in self.flags.items():
            first, n, row = min(ends), self.schedule.taps[group] - min(ends), f"flag_{group}"
            self.e(f"reg [{n - 1}:0] {row};", f"assign over_{group} = {row}[{n - 1}];")
            shifts.append(f"{row} <= {{{row}[{n - 2}:0], 1'b0}};" if n > 1 else f"{row} <= 1'b0;")
            for cycle in sorted(ends):
                asked = any_of(slices("over", sorted(ends[cycle])))
                self.phases.load(-1, cycle % self.ii, f"if ({asked}) {row}[{cycle - first}] <= 1'b1;")
        return shifts


class ArrayEmitter:
    """Writes the modules of an array. emitters: of its stages."""

    def __init__(self, plan: Plan, array: Schedule, prefix: str) -> None:
        self.plan, self.array, self.id, self.e = plan, array, plan.id, Emitter()
        self.name, self.binding = f"{prefix}_{array.datapath.name}", Binding(array)
        self.count = Count(array.ii, array.datapath.pipeline.one_hot)
        self.emitters = {name: StageEmitter(self.binding, f"{self.name}_{name}", name) for name in self.binding.stages}

    def text(self) -> str:
        """The stages and the array itself, last."""
        texts = [emitter.text() for emitter in self.emitters.values()]
        ports = ["input clock", "input reset", "input in_valid", "output in_ready"]
        ports.append(f"input [{self.id.width - 1}:0] in_id")
        ports.append(f"input [{bits_of(self.array, self.array.datapath.inputs) - 1}:0] in_data")
        for group, words in self.array.datapath.groups:
            ports += [f"output {group}_valid", f"output [{self.id.width - 1}:0] {group}_id"]
            ports.append(f"output reg [{bits_of(self.array, words) - 1}:0] {group}_data")
        with module(self.e, self.name, ports):
            self._control()
            self._stages()
            for group, _ in self.array.datapath.groups:
                self._group(group)
        return "\n".join([*texts, self.e.text()])

    def _control(self) -> None:
        """An empty array waits in phase 0; what goes with a task moves on by a place an interval."""
        e, count, ii, id_ = self.e, self.count, self.array.ii, self.id.width
        depth = -(-self.array.latency // ii)
        older = f"live[{depth - 2}:0], " if depth > 1 else ""
        ids = f"ids[{(depth - 1) * id_ - 1}:0], " if depth > 1 else ""
        e(f"reg [{depth - 1}:0] live;", f"reg [{depth * id_ - 1}:0] ids;")
        moves = ""
        if ii > 1:
            e(f"wire [{count.bits - 1}:0] phase, next_phase;", f"assign in_ready = {count.equals(0)};")
            e(f"assign next_phase = {count.after(f'{count.equals(0)} & ~in_valid & live == 0')};")
            e(copy(count.bits, "counter", "next_phase", "phase"))
            moves = f"if ({count.equals(0)}) "
        else:
            e("assign in_ready = 1'b1;")
        with e.block("always @(posedge clock) begin", "end"):
            e("if (reset) live <= 0;", f"else {moves}live <= {{{older}in_valid}};", f"{moves}ids <= {{{ids}in_id}};")

    def _stages(self) -> None:
        e, binding, inputs, ops = self.e, self.binding, self.array.datapath.inputs, self.array.datapath.ops
        for taps in binding.offered.values():
            e(*(f"wire {word(ops[tap.op].format.width)} {tap};" for tap in taps))
        fields = laid((what, ops[k].format) for what, k in inputs)
        for (_, k), field in zip(inputs, fields, strict=True):
            e(f"wire {word(field.format.width)} d{k} = in_data[{field.high}:{field.low}];")
        for stage, emitter in self.emitters.items():
            ports = [".clock(clock)", *([".next_phase(next_phase)"] if emitter.has_phases else [])]
            ports += [f".d{k}(d{k})" for k in binding.stages[stage]] if stage == INPUTS else []
            ports += [f".{tap}({tap})" for tap in (*binding.taken[stage], *binding.offered.get(stage, []))]
            for group in emitter.flags:
                e(f"wire over_{group}_{stage};")
                ports.append(f".over_{group}(over_{group}_{stage})")
            e(f"{emitter.module} {stage} (" + wrapped(", ", ports) + ");")

    def _group(self, group: str) -> None:
        e, path, id_, ii = self.e, self.array.datapath, self.id, self.array.ii
        tap = self.array.taps[group]
        age = -(-tap // ii) - 1
        tag, code, over = laid(head(id_), age * id_.width)
        due = f"{self.count.equals(tap % ii)} & " if ii > 1 else ""
        codes, wants = self.plan.through(Leaf(path.name, group)), ""
        if set(codes) < codes_of(self.plan, path.name):
            e(f"wire [{id_.code_bits - 1}:0] {group}_is = ids[{code.high}:{code.low}];")
            wants = f" & {is_one_of(f'{group}_is', codes)}"
        e(f"assign {group}_valid = {due}live[{age}]{wants};")
        flags = [f"over_{group}_{stage}" for stage, emitter in self.emitters.items() if group in emitter.flags]
        flag = " | ".join(flags if self.plan.flags else ()) or "1'b0"
        e(f"assign {group}_id = ids[{over.high}:{tag.low}] | {{{flag}, {id_.width - 1}'b0}};")
        leaving = zip(path.group(group), self.binding.leaving[group], strict=True)
        join_bus(e, f"{group}_data", [name_of(where, path.ops[k].format.width) for (_, k), where in leaving])


def join_bus(e: Emitter, name: str, parts: list[str]) -> None:
    """A combinational `reg` that joins words, the first lowest. Simulators evaluate it once for each change."""
    whole = packed(parts) if parts else "1'b0"
    varies = any(not part.lstrip("-").split("'")[0].isdigit() for part in parts)
    e(f"always @* {name} = {whole};" if varies else f"initial {name} = {whole};")


def bits_of(array: Schedule, words: Iterable[tuple[Word, int]]) -> int:
    """Bits of joined words, each with its operation; one bit if there are no words."""
    return max(1, sum(array.datapath.ops[k].format.width for _, k in words))
