"""Which operations of isomorphic branches can share one operator (folding): they differ in their numbers only.

The result does not depend on a match: an operation without a match keeps its own operator.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf

from condyle.fpga.rtl.datapath import CLAMPING, Op
from condyle.ir.program import Program, constant_of, input_of, operands

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
