"""One step of time: (q, v) after h seconds, on any scalar, by `condyle.specification.integrators`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from condyle.model.joints.base import JointType
from condyle.model.tree import Tree
from condyle.scalar import Scalar, number
from condyle.specification.integrators import Method

Vector: TypeAlias = Sequence[Scalar]


class Moves(Protocol):
    """How configurations are moved: joint by joint, or by calls of a recording."""

    def along(self, q: Vector, u: Vector) -> Vector:
        """q ⊕ u."""
        ...

    def shift_and_turn(self, q: Vector, shift: Vector, turn: Vector, fixed: Vector) -> tuple[Vector, Vector]:
        """q ⊕ shift ⊕ turn, and `fixed`, a velocity in axes that stand still, in the axes behind the turn."""
        ...


@dataclass(frozen=True)
class StepParts:
    """Of a step of first order: v~, h l* and h w* of `condyle.specification.integrators`."""

    fixed: Vector
    shift: Vector
    turn: Vector


def stepped(
    tree: Tree,
    method: Method,
    acceleration: Callable[[Vector, Vector], Vector],
    moves: Moves,
    q: Vector,
    v: Vector,
    h: Scalar,
) -> tuple[Vector, Vector]:
    """(q', v') after h [s]. acceleration(q, v) is forward dynamics."""
    if method.order == 1:
        plain = [x + h * y for x, y in zip(v, acceleration(q, v), strict=True)]
        return first_order(tree, method, moves, q, v, plain, h)
    u, after = displacement(tree, method, acceleration, moves.along, q, v, h)
    return moves.along(q, u), after


def first_order(
    tree: Tree, method: Method, moves: Moves, q: Vector, v: Vector, plain: Vector, h: Scalar
) -> tuple[Vector, Vector]:
    """(q', v'), given plain = v + h a."""
    parts = step_parts(tree, method, v, plain, h)
    if not any(turning_joints(tree)):
        return moves.along(q, parts.turn), parts.fixed
    return moves.shift_and_turn(q, parts.shift, parts.turn, parts.fixed)


def step_parts(tree: Tree, method: Method, v: Vector, plain: Vector, h: Scalar) -> StepParts:
    """The parts of a step, given plain = v + h a."""
    fixed, linear = list(plain), linear_brackets(tree, v)
    for k, x in linear.items():
        fixed[k] = fixed[k] + h * x
    shift, turn = ([number(0.0)] * tree.nv for _ in range(2))
    for k, x in enumerate(fixed if method.moves_last else v):
        (shift if k in linear else turn)[k] = h * x
    return StepParts(fixed, shift, turn)


def linear_brackets(tree: Tree, v: Vector) -> dict[int, Scalar]:
    """[w, l] by the entries of v that have one: those along axes which turn."""
    found = dict[int, Scalar]()
    for kind, rates, entries in turning_joints(tree):
        line = [v[k] if k in entries else number(0.0) for k in rates]
        turn = [number(0.0) if k in entries else v[k] for k in rates]
        found |= {k: x for k, x in zip(rates, kind.bracket(turn, line), strict=True) if k in entries}
    return found


def turning_joints(tree: Tree) -> Iterator[tuple[JointType, list[int], list[int]]]:
    """The joints with velocities along axes that turn, where their velocities stand in v, and these among them."""
    for kind, _, rates in tree.configurations:
        if kind.turning_entries:
            yield kind, rates, [rates[k] for k in kind.turning_entries]


def displacement(
    tree: Tree,
    method: Method,
    acceleration: Callable[[Vector, Vector], Vector],
    move: Callable[[Vector, Vector], Vector],
    q: Vector,
    v: Vector,
    h: Scalar,
) -> tuple[Vector, Vector]:
    """(u, v') with q' = q ⊕ u of a method of higher order. Every stage but the last ends with one move."""
    at_q, at_v, u = q, v, q
    sum_q = sum_v = [number(0.0)] * tree.nv
    for stage in method.stages:
        rates, a = at_v, acceleration(at_q, at_v)
        u = _plus(sum_q if stage.e else None, h * stage.c, rates)
        if stage.d:
            u = _plus(u, h * h * stage.d, brackets(tree, v, rates))
        sum_q, sum_v = _plus(sum_q, h * stage.b, rates), _plus(sum_v, h * stage.b, a)
        if stage is not method.stages[-1]:
            at_q, at_v = move(q, u), _plus(v, h * stage.c, a)
    return u, [x + y for x, y in zip(v, sum_v, strict=True)]


def _plus(x: Vector | None, weight: Scalar, y: Vector) -> Vector:
    """x + weight y."""
    parts = [weight * one for one in y]
    return parts if x is None else [a + b for a, b in zip(x, parts, strict=True)]


def brackets(tree: Tree, x: Vector, y: Vector) -> list[Scalar]:
    """The Lie bracket [x, y] of each joint's group; zero for joints whose q is a plain vector."""
    found = [number(0.0)] * tree.nv
    for kind, _, rates in tree.configurations:
        if not kind.is_flat:
            for k, value in zip(rates, kind.bracket([x[k] for k in rates], [y[k] for k in rates]), strict=True):
                found[k] = value
    return found


# Moving in the space of configurations: q ⊕ dv and q1 ⊖ q0, joint by joint.
#
# Solà, Deray, Atchuthan 2018, right plus and right minus. Tangent vectors are in the body's own axes, as velocities
# are.


def integrate(tree: Tree, inputs: Mapping[str, Sequence[Scalar]]) -> list[Scalar]:
    """q ⊕ dv."""
    q, dv, moved = inputs["q"], inputs["dv"], dict[int, Scalar]()
    for kind, at, rates in tree.configurations:
        moved.update(zip(at, kind.integrate([q[k] for k in at], [dv[k] for k in rates]), strict=True))
    return [moved[k] for k in range(tree.nq)]


def difference(tree: Tree, inputs: Mapping[str, Sequence[Scalar]]) -> list[Scalar]:
    """q1 ⊖ q0."""
    q0, q1, left = inputs["q0"], inputs["q1"], dict[int, Scalar]()
    for kind, at, rates in tree.configurations:
        left.update(zip(rates, kind.difference([q0[k] for k in at], [q1[k] for k in at]), strict=True))
    return [left[k] for k in range(tree.nv)]


@dataclass(frozen=True)
class JointByJoint:
    """How a step moves configurations: `condyle.algorithms.stepping.Moves`."""

    tree: Tree

    def along(self, q: Sequence[Scalar], u: Sequence[Scalar]) -> Sequence[Scalar]:
        return integrate(self.tree, {"q": q, "dv": u})

    def shift_and_turn(
        self, q: Sequence[Scalar], shift: Sequence[Scalar], turn: Sequence[Scalar], fixed: Sequence[Scalar]
    ) -> tuple[Sequence[Scalar], Sequence[Scalar]]:
        moved, after = dict[int, Scalar](), list(fixed)
        for kind, at, rates in self.tree.configurations:
            joint_q, joint_turn = [q[k] for k in at], [turn[k] for k in rates]
            if not kind.turning_entries:
                moved.update(zip(at, kind.integrate(joint_q, joint_turn), strict=True))
                continue
            velocity = [fixed[k] if i in kind.turning_entries else number(0.0) for i, k in enumerate(rates)]
            joint_q, turned = kind.shift_and_turn(joint_q, [shift[k] for k in rates], joint_turn, velocity)
            moved.update(zip(at, joint_q, strict=True))
            for i in kind.turning_entries:
                after[rates[i]] = turned[i]
        return [moved[k] for k in range(self.tree.nq)], after
