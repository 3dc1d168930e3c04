"""A datapath: the operations of one pipeline, each with its number format; what is scheduled, emitted and modelled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import gcd, inf
from typing import NamedTuple

from condyle.backends.common.order import reached
from condyle.fpga.rtl.formats import Format
from condyle.fpga.rtl.operators import splits
from condyle.fpga.rtl.target import PIPELINES, RECIPROCAL_PRODUCTS, SINCOS_PRODUCTS, Device, Pipeline

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
    lower: a bound of a reciprocal's argument, see `bounds`.
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
