"""Derivatives of any function that can be recorded: its answers on symbols, then the chain rule.

Every input is moved by a small change e: a configuration by q ⊕ e, others by their sum; derivatives are by e, at e = 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from condyle.derivatives.chain_rule import ChainRule
from condyle.derivatives.recording import Recording, recorded
from condyle.derivatives.tangent import apart
from condyle.ir.expr import Value
from condyle.passes.forward import Directions
from condyle.specification import Derivative

Values: TypeAlias = Sequence[Value]
Answers: TypeAlias = "Sequence[Values]"


class Recorded:
    """A function recorded on the inputs of its derivative, for differentiation by changes of its inputs."""

    def __init__(self, recording: Recording, origin: Derivative, inputs: Mapping[str, Values]) -> None:
        self.recording, self.origin, self.rule = recording, origin, ChainRule(recording)
        self.changes: dict[str, Values] = {}
        moved: list[Values] = []
        for port in origin.function.inputs:
            entries: Values = inputs[port.name]
            if port.is_configuration:
                entries, self.changes[port.name] = self.rule.moved(entries)
            else:
                self.changes[port.name] = entries
            moved.append(entries)
        self.inputs = moved
        self.answers = [
            apart(recording.tree, recording.equal(answer), answer) if port.is_configuration else answer
            for port, answer in zip(origin.function.outputs, recorded(recording, origin.function, moved), strict=True)
        ]

    @property
    def flat(self) -> list[Value]:
        """All entries of all answers."""
        return [entry for answer in self.answers for entry in answer]

    def by(self, ports: Sequence[str]) -> list[Value]:
        """The changes of some inputs."""
        return [e for port in ports for e in self.changes[port]]

    def shaped(self, entries: Values) -> list[Values]:
        """Entries as the answers have them."""
        parts, begin = list[Values](), 0
        for answer in self.answers:
            parts.append(entries[begin : begin + len(answer)])
            begin += len(answer)
        return parts


def jvp(base: Recorded, inputs: Mapping[str, Values], more: Sequence[str]) -> Answers:
    """One direction."""
    seeds: list[tuple[Value, Directions]] = []
    for port, tangent in zip(base.origin.function.inputs, more, strict=True):
        seeds += ((e, {0: x}) for e, x in zip(base.changes[port.name], inputs[tangent], strict=True))
    return base.shaped([tangent.get(0, 0.0) for tangent in base.rule.tangents(base.flat, seeds)])


def vjp(base: Recorded, inputs: Mapping[str, Values], more: Sequence[str]) -> Answers:
    """One sweep back."""
    seeds = [x for cotangent in more for x in inputs[cotangent]]
    names = [port.name for port in base.origin.function.inputs]
    found = iter(base.rule.cotangents(base.flat, seeds, base.by(names)))
    return [[next(found) for _ in base.changes[name]] for name in names]


def jacobian(base: Recorded, inputs: Mapping[str, Values], more: Sequence[str]) -> Answers:
    """Column by column, or row by row where there are fewer rows."""
    values, leaves = base.flat, base.by(base.origin.by)
    n = len(leaves)
    if len(values) < n:
        rows = [base.rule.cotangents([value], [1.0], leaves) for value in values]
    else:
        rows = [[of_row.get(k, 0.0) for k in range(n)] for of_row in base.rule.tangents(values, _units(leaves))]
    blocks, row = list[Values](), 0
    for answer in base.answers:
        column = 0
        for port in base.origin.by:
            width = len(base.changes[port])
            blocks.append([x for line in rows[row : row + len(answer)] for x in line[column : column + width]])
            column += width
        row += len(answer)
    return blocks


def hessian(base: Recorded, inputs: Mapping[str, Values], more: Sequence[str]) -> Answers:
    """Forward over reverse; the lower triangle, mirrored.

    Rules of calls give gradients in the tangent space at the moved inputs: see `_hessian_of_rule`. The antisymmetric
    part is there where two velocities are of one joint.
    """
    if "vjp" in base.origin.function.closed:
        return _hessian_of_rule(base, inputs, more)
    factors = [x for lam in more for x in inputs[lam]]
    leaves = base.by(base.origin.by)
    n = len(leaves)
    gradient = base.rule.cotangents(base.flat, factors, leaves)
    rows, end = list[Directions](), 0
    for port in base.origin.by:  # what is right of the block on the diagonal is not asked for
        begin, end = end, end + len(base.changes[port])
        rows += base.rule.tangents(gradient[begin:end], _units(leaves[:end]))
    mixed = _of_one_joint(base)

    def entry(i: int, j: int) -> Value:
        """i >= j."""
        own = rows[i].get(j, 0.0)
        return 0.5 * (own + rows[j].get(i, 0.0)) if (i, j) in mixed else own

    lower = [[entry(i, j) for j in range(i + 1)] for i in range(n)]
    return [[lower[max(i, j)][min(i, j)] for i in range(n) for j in range(n)]]


def _of_one_joint(base: Recorded) -> set[tuple[int, int]]:
    """Pairs of changes, the larger first, of a joint whose q is no plain vector."""
    found, begin = set[tuple[int, int]](), 0
    for port in base.origin.function.inputs:
        if port.is_configuration:
            for kind, _, rates in base.recording.tree.configurations:
                if not kind.is_flat:
                    found |= {(begin + i, begin + j) for i in rates for j in rates if i > j}
        begin += len(base.changes[port.name])
    return found


def _hessian_of_rule(base: Recorded, inputs: Mapping[str, Values], more: Sequence[str]) -> Answers:
    """The same by a gradient in closed form, which is in the tangent space at the moved inputs.

    Its derivative has, beside the second derivative by e, an antisymmetric part by the joints' brackets.
    """
    primal = base.origin.function
    vjp_of_primal = base.recording.derive("vjp", primal)
    bars = [port.name for port in vjp_of_primal.inputs[len(primal.inputs) :]]
    moved = {port.name: entries for port, entries in zip(primal.inputs, base.inputs, strict=True)}
    factors = {bar: inputs[lam] for bar, lam in zip(bars, more, strict=True)}
    gradient = recorded(base.recording, vjp_of_primal, [*moved.values(), *factors.values()])
    leaves = base.by(base.origin.by)
    n = len(leaves)
    rows = base.rule.tangents([x for part in gradient for x in part], _units(leaves))
    return [[0.5 * (rows[i].get(j, 0.0) + rows[j].get(i, 0.0)) for i in range(n) for j in range(n)]]


def _units(leaves: Values) -> list[tuple[Value, Directions]]:
    """A direction for every leaf."""
    return [(leaf, {k: 1.0}) for k, leaf in enumerate(leaves)]


DIFFERENTIATE = {"jvp": jvp, "vjp": vjp, "jacobian": jacobian, "hessian": hessian}
"""By kind: (function, inputs, names of the derivative's own inputs) -> its answers, each flat."""
