"""Upper bounds of the norms of vectors that depend on inputs only, and the bounds recorded for nodes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias, cast

import numpy as np

from condyle.algorithms.joint import Dof, Inertia, Joint
from condyle.algorithms.values import flat, numbers
from condyle.ir.expr import Expr
from condyle.ir.program import Program, constant_of, input_of, operands
from condyle.operations import TRIGONOMETRIC

Pair: TypeAlias = tuple[float, float]
"""Bounds of the norms of a linear and an angular part, or of a force and a torque."""


class Moving(NamedTuple):
    """Bounds of the norms of a body's w, dw, a, u, and of U as a matrix."""

    w: float
    dw: float
    a: float
    u: float
    U: float


class Mass(NamedTuple):
    """Bounds of the norms of a composite's mass, first and second moment, and rotational inertia."""

    mass: float
    first: float
    second: float
    turn: float


class Load(NamedTuple):
    """Bounds of the norms of the parts of `rnea_derivatives.Carried`."""

    inertia: Pair
    coriolis: float
    by_q: Pair
    by_v: Pair


class Lengths:
    """Bounds in a program. edges: of its inputs, by name and entry. upper: the recorded bounds, {node: bound}."""

    def __init__(self, program: Program, edges: Mapping[tuple[str, int], float]) -> None:
        self.program, self.edges = program, edges
        self.upper: dict[int, float] = {}

    def bound(self, bound: float, value: object) -> None:
        """Records a bound for all scalars of a value, and for the operand where a scalar is a negation."""
        for x in flat(value):
            node = x.index if isinstance(x, Expr) else -1
            while node >= 0:
                self.upper[node] = min(bound, self.upper.get(node, math.inf))
                negated = self.program.nodes[node][0] == "neg"
                (node,) = operands(self.program.nodes[node]) if negated else (-1,)

    def bound_pair(self, bound: Pair, value: Sequence[object]) -> None:
        for one, part in zip(bound, value, strict=True):
            self.bound(one, part)

    def size(self, x: object) -> float:
        """The bound of a scalar that depends on inputs only."""
        return self._size(x.index) if isinstance(x, Expr) else abs(cast(float, x))

    def _size(self, k: int) -> float:
        node = self.program.nodes[k]
        if node[0] == "input":
            array, entry = input_of(node)
            return self.edges.get((self.program.inputs[array].name, entry), math.inf)
        if node[0] == "const":
            return abs(constant_of(node))
        if node[0] in TRIGONOMETRIC:
            return 1.0
        parts = [self._size(a) for a in operands(node)]
        if node[0] in ("neg", "add", "sub"):
            return sum(parts)
        return math.prod(parts) if node[0] == "mul" else math.inf

    def length(self, vector: Sequence[object]) -> float:
        return math.hypot(*(self.size(x) for x in vector))

    def rate(self, joint: Joint, x: Sequence[object]) -> Pair:
        """|S x|, linear and angular."""
        sizes = [self.size(one) for one in x]

        def norm(parts: Sequence[Sequence[object]]) -> float:
            rows = [[rate * self.size(p) for p in part] for rate, part in zip(sizes, parts, strict=True)]
            return math.hypot(*(sum(row) for row in zip(*rows, strict=True)))

        return norm([dof.linear for dof in joint.dofs]), norm([dof.angular for dof in joint.dofs])

    def along(self, dof: Dof, force: Pair) -> float:
        return self.length(dof.angular) * force[1] + self.length(dof.linear) * force[0]


def second_moments(inertia: Inertia) -> list[float]:
    """Eigenvalues of the second moment, ascending."""
    xx, xy, xz, yy, yz, zz = numbers(inertia.second)
    return np.linalg.eigvalsh(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])).tolist()


def turning_moments(inertia: Inertia) -> list[float]:
    """Eigenvalues of the rotational inertia tr(second) 1 - second, ascending."""
    found = second_moments(inertia)
    return sorted(sum(found) - x for x in found)
