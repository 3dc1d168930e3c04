"""A datapath: the operations of one pipeline, each with its number format; what is scheduled, emitted and modelled."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import gcd, inf
from typing import NamedTuple

from condyle.backends.common.chunks import reached
from condyle.fpga.rtl.operators import splits
from condyle.fpga.rtl.target import PIPELINES, RECIPROCAL_PRODUCTS, SINCOS_PRODUCTS, Device, Format, Pipeline
from condyle.ir.program import Program, constant_of, input_of, operands

LEAVES = frozenset({"input", "const"})
SHARED = frozenset({"mul", "sincos", "rcp"})
CLAMPING = frozenset({"add", "sub", "mul", "rcp"})


@dataclass(frozen=True, slots=True)
class Op:
    """One operation; `args` are numbers of earlier ones.

    kind: "input" | "const" (`value` is the integer) | "add" | "sub" | "mul" | "rcp" | "sincos" (an angle; makes no
    word itself) | "sin" | "cos" (of a sincos) | "wire" (the same integer in another unit: a product with 2^k).
    factor: bits of a product's second factor. stage: its pipeline stage; stages with the same part before a dot share
    units. noise: an estimate of its rounding error. drop: bits that a sum loses before it becomes a word. shifts: if
    this is the last sum of a chain for the constant `value`, the number of its sums. upper: a bound of its magnitude.
    lower: a bound of a reciprocal's argument, see `report`.
    """

    kind: str
    format: Format
    args: tuple[int, ...] = ()
    stage: str = ""
    value: int = 0
    factor: int = 0
    noise: float = 0.0
    drop: int = 0
    shifts: int = 0
    upper: float = inf
    lower: float = 0.0


@dataclass(frozen=True)
class Word:
    """A named input or output word of a datapath: entry `index` of array `name`."""

    name: str
    index: int

    def __str__(self) -> str:
        return f"{self.name}_{self.index}"


@dataclass(frozen=True, slots=True)
class Incoming:
    """An input word: its name, its format, an estimate of its rounding error."""

    word: Word
    format: Format
    noise: float = 0.0


class Fold(NamedTuple):
    """An operation that uses the operator of operation `first`, in time slot `turn` of `turns` in an interval."""

    first: int
    turn: int
    turns: int


@dataclass(frozen=True)
class Datapath:
    """inputs[k] is the word of the k-th "input"; groups: named outputs that leave together, (word, op) each.

    shared: operations that isomorphic branches have in common, -1 for one that a branch does otherwise. folding: how
    many branches share one array, or the largest number below that divides the number of branches. pipeline: registers
    that operators have beyond their first.
    """

    name: str
    ops: tuple[Op, ...]
    inputs: tuple[tuple[Word, int], ...]
    groups: tuple[tuple[str, tuple[tuple[Word, int], ...]], ...]
    shared: tuple[tuple[int, ...], ...] = ()
    folding: int = 1
    pipeline: Pipeline = PIPELINES[0]

    @cached_property
    def folds(self) -> dict[int, Fold]:
        """The operations that share operators, without those that would have to wait for each other."""
        result = self._wanted()
        while True:
            members = self._members(result)
            there = set(self.ordered(members))
            if len(there) == len(members):
                return result
            result = {k: fold for k, fold in result.items() if fold.first in there}

    def ordered(self, members: Mapping[int, list[int]]) -> list[int]:
        """Operators in the order in which they read each other's words. Those in a cycle are left out."""
        first = {k: operator for operator, ops in members.items() for k in ops}
        waits = {k: {first[a] for member in ops for a in self.ops[member].args} for k, ops in members.items()}
        readers: dict[int, list[int]] = {k: [] for k in members}
        for k, before in waits.items():
            for a in before:
                readers[a].append(k)
        left = {k: len(before) for k, before in waits.items()}
        ready = [k for k, n in left.items() if n == 0]
        for k in ready:
            for reader in readers[k]:
                left[reader] -= 1
                if left[reader] == 0:
                    ready.append(reader)
        return ready

    def _wanted(self) -> dict[int, Fold]:
        result: dict[int, Fold] = {}
        for alike in self.shared:
            turns = gcd(self.folding, len(alike))
            for start in range(0, len(alike) if turns > 1 else 0, turns):
                there = [(turn, k) for turn, k in enumerate(alike[start : start + turns]) if k >= 0]
                if len(there) > 1:
                    (before, first), *_ = there
                    result.update({k: Fold(first, turn - before, turns) for turn, k in there})
        return result

    def first(self, k: int) -> int:
        """The operation whose operator computes this one too."""
        return self.folds[k].first if k in self.folds else k

    @cached_property
    def members(self) -> dict[int, list[int]]:
        """For each operator the operations that share it."""
        return self._members(self.folds)

    def _members(self, folds: Mapping[int, Fold]) -> dict[int, list[int]]:
        result: dict[int, list[int]] = {}
        for k in range(len(self.ops)):
            result.setdefault(folds[k].first if k in folds else k, []).append(k)
        return result

    def rate(self, k: int, ii: int) -> int:
        """For how many cycles a register holds this word if a task comes every `ii` cycles."""
        return ii // self.folds[k].turns if k in self.folds else ii

    def lag(self, k: int, ii: int) -> int:
        """Cycles after the operator's first operation."""
        return self.folds[k].turn * self.rate(k, ii) if k in self.folds else 0

    @cached_property
    def words(self) -> dict[int, Word]:
        """The word of each operation that is an input."""
        return {k: word for word, k in self.inputs}

    @cached_property
    def outputs(self) -> tuple[tuple[Word, int], ...]:
        return tuple(pair for _, pairs in self.groups for pair in pairs)

    def group(self, name: str) -> tuple[tuple[Word, int], ...]:
        return dict(self.groups)[name]

    def formats(self, group: str) -> dict[Word, Format]:
        """The words of a group and their formats."""
        return {word: self.ops[k].format for word, k in self.group(group)}

    @cached_property
    def cones(self) -> dict[str, frozenset[int]]:
        """For each group all operations that it depends on."""
        ops = self.ops
        return {name: frozenset(reached((k for _, k in pairs), lambda k: ops[k].args)) for name, pairs in self.groups}

    def cycles(self, k: int) -> int:
        """Cycles from reading the operands to the result in its register."""
        op = self.ops[k]
        if op.kind == "mul":
            return self.pipeline.product_cycles(self.ops[op.args[0]].format.width, op.factor)
        more = self.pipeline
        cycles = {"rcp": more.reciprocal_cycles, "sincos": more.sincos_cycles}
        return {"add": more.sum_cycles, "sub": more.sum_cycles, **cycles}.get(op.kind, 0)

    def unit(self, k: int) -> tuple[str, int, int]:
        """The kind of unit that computes this operation: its name and the widths of its factors.

        For an angle: its width and its bits behind the point.
        """
        op = self.ops[k]
        if op.kind == "mul":
            return ("mul", self.ops[op.args[0]].format.width, op.factor)
        format = self.ops[op.args[0]].format
        return (op.kind, format.width, format.frac if op.kind == "sincos" else 0)

    def source(self, k: int) -> int:
        """The operation whose register holds the word; wires have no register."""
        while self.ops[k].kind == "wire":
            (k,) = self.ops[k].args
        return k


def unit_products(unit: tuple[str, int, int]) -> tuple[tuple[int, int], ...]:
    """The bits of the factors of each `fx_product` in a unit."""
    kind, a, b = unit
    if kind == "mul":
        first, second = splits(a, b)
        return tuple((x, y) for x in _pieces(a, first) for y in _pieces(b, second))
    return {"sincos": SINCOS_PRODUCTS, "rcp": RECIPROCAL_PRODUCTS}[kind]


def _pieces(width: int, place: int) -> tuple[int, ...]:
    """The lower piece of a factor is unsigned, so it gets a zero as its sign bit."""
    return (width - place, place + 1) if place else (width,)


def unit_dsp(unit: tuple[str, int, int], device: Device) -> int:
    """Multipliers of the part that a unit takes."""
    return sum(device.product(a, b) for a, b in unit_products(unit))


# Which operations of isomorphic branches can share one operator (folding): they differ in their numbers only.
#
# The result does not depend on a match: an operation without a match keeps its own operator.


Place = tuple[int, int, int]
"""Kind of branch, number of the branch, position in it."""
Branches = tuple[Mapping[int, Place], Mapping[tuple[str, int], Place]]
"""The positions of joints, and of entries of input arrays."""
Side = tuple[int, int]
"""Kind of branch, number of the branch."""
ROUNDS = 8
SUMS = frozenset({"add", "sub"})


@dataclass
class _Matcher:
    """A label is the operation of a node and its operands, without numbers and without the branch."""

    program: Program
    joints: Mapping[int, Place]
    inputs: Mapping[tuple[str, int], Place]
    sides: list[Side | None] = field(default_factory=list["Side | None"])
    odd: set[int] = field(default_factory=set[int])
    """Nodes that not every branch has. Nodes that depend on them may still match."""

    def __post_init__(self) -> None:
        for k in range(len(self.program)):
            self.sides.append(self._side(k))

    def _joint(self, k: int) -> Place | None:
        number = re.search(r"\d+$", self.program.note(k).stage)
        return self.joints.get(int(number[0])) if number else None

    def _input(self, k: int) -> Place | None:
        array, entry = input_of(self.program.nodes[k])
        return self.inputs.get((self.program.inputs[array].name, entry))

    def _side(self, k: int) -> Side | None:
        node = self.program.nodes[k]
        if node[0] == "const":
            return None
        place = self._input(k) if node[0] == "input" else self._joint(k)
        if place or node[0] == "input":
            return place[:2] if place else None
        found = {self.sides[a] for a in operands(node)} - {None}
        return found.pop() if len(found) == 1 else None

    def _label(self, k: int, labels: Sequence[object]) -> object:
        node, side = self.program.nodes[k], self.sides[k]
        if node[0] == "input":
            place = self._input(k)
            return (node[1], place[0], place[2]) if place else k
        if node[0] == "const":
            return "const"
        if side is None:
            return k
        place = self._joint(k)
        where = (re.sub(r"\d+$", "", self.program.note(k).stage), place[2] if place else self.program.note(k).stage)
        seen = [self._seen(a, side, labels) for a in operands(node)]
        return ("sum" if node[0] in SUMS else node[0], side[0], where, *sorted(seen, key=str))

    def _seen(self, a: int, side: Side, labels: Sequence[object]) -> object:
        """An operand without its sign, because mirrored branches differ in signs."""
        while self.program.nodes[a][0] == "neg":
            (a,) = operands(self.program.nodes[a])
        if a in self.odd:
            return "odd"
        return labels[a] if self.sides[a] in (side, None) else "far"

    def groups(self) -> list[dict[Side, list[int]]]:
        """Nodes of equal label, those of each branch in order."""
        interned: dict[object, int] = {}
        labels: list[object] = []
        found: dict[int, dict[Side, list[int]]] = defaultdict(lambda: defaultdict(list))
        for k in range(len(self.program)):
            label = interned.setdefault(self._label(k, labels), len(interned))
            labels.append(label)
            side = self.sides[k]
            if side is not None:
                found[label][side].append(k)
        return list(found.values())

    def run(self) -> list[tuple[int, ...]]:
        branches: dict[int, set[Side]] = defaultdict(set)
        for kind, branch, _ in self.joints.values():
            branches[kind].add((kind, branch))
        whole: list[dict[Side, list[int]]] = []
        for _ in range(ROUNDS):
            groups = self.groups()
            full = [group for group in groups if set(group) == branches[next(iter(group))[0]]]
            whole = [group for group in full if len({len(nodes) for nodes in group.values()}) == 1]
            kept = {k for group in whole for nodes in group.values() for k in nodes}
            odd = {k for group in groups for nodes in group.values() for k in nodes} - kept
            if odd <= self.odd:
                break
            self.odd |= odd
        return [nodes for group in whole for nodes in zip(*(group[side] for side in sorted(group)), strict=True)]


def shared_operations(
    program: Program, joints: Mapping[int, Place], inputs: Mapping[tuple[str, int], Place]
) -> list[tuple[int, ...]]:
    """Tuples of matching nodes, one of each branch of a kind."""
    return _Matcher(program, joints, inputs).run() if joints else []


def equalised(largest: Sequence[float], shared: Sequence[tuple[int, ...]]) -> list[float]:
    """Gives shared operations the same range, so that they have the same format."""
    result = list(largest)
    for nodes in shared:
        for k in nodes:
            result[k] = max(largest[x] for x in nodes)
    return result


def scales(program: Program, shared: Sequence[tuple[int, ...]]) -> dict[int, float]:
    """For shared products with constants, the largest of these constants."""
    result: dict[int, float] = {}
    for nodes in shared:
        heads = [operands(program.nodes[k])[0] for k in nodes if program.nodes[k][0] == "mul"]
        values = [abs(constant_of(program.nodes[x])) for x in heads if program.nodes[x][0] == "const"]
        if values:
            result.update(dict.fromkeys(nodes, max(values)))
    return result


def folded(
    ops: Sequence[Op], done: Mapping[int, int], shared: Sequence[tuple[int, ...]]
) -> tuple[tuple[int, ...], ...]:
    """The shared operations; -1 for one with another operator or other formats than most."""
    result: list[tuple[int, ...]] = []
    for nodes in shared:
        ks = [done.get(node, -1) for node in nodes]
        kinds = [_kind(ops, k) if k >= 0 and ops[k].kind in CLAMPING else None for k in ks]
        counts = Counter(kind for kind in kinds if kind is not None)
        if counts and counts.most_common(1)[0][1] > 1:
            usual = counts.most_common(1)[0][0]
            result.append(tuple(k if kind == usual else -1 for k, kind in zip(ks, kinds, strict=True)))
    return tuple(dict.fromkeys(result))


def _kind(ops: Sequence[Op], k: int) -> tuple[object, ...]:
    """What shared operations must have in common. A sum may add or subtract, in either order."""
    op = ops[k]
    bare = replace(op, args=(), stage="", value=0, noise=0.0, upper=inf)
    formats = [ops[a].format for a in op.args]
    if op.kind in SUMS and ops[op.args[0]].kind != "const":
        return (replace(bare, kind="sum"), *sorted(formats, key=str))
    return (bare, *formats)
