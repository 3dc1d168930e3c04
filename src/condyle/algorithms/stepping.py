"""One step of time: (q, v) after h seconds, on any scalar; see `condyle.integrators` for the equations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from condyle.integrators import Method
from condyle.model.tree import Tree
from condyle.scalar import Scalar, number

Vector: TypeAlias = Sequence[Scalar]


def stepped(
    tree: Tree,
    method: Method,
    acceleration: Callable[[Vector, Vector], Vector],
    move: Callable[[Vector, Vector], Vector],
    q: Vector,
    v: Vector,
    h: Scalar,
) -> tuple[Vector, Vector]:
    """(q', v') after h [s]. acceleration(q, v) is forward dynamics, move(q, u) is q ⊕ u."""
    u, after = displacement(tree, method, acceleration, move, q, v, h)
    return move(q, u), after


def displacement(
    tree: Tree,
    method: Method,
    acceleration: Callable[[Vector, Vector], Vector],
    move: Callable[[Vector, Vector], Vector],
    q: Vector,
    v: Vector,
    h: Scalar,
) -> tuple[Vector, Vector]:
    """(u, v') with q' = q ⊕ u; arguments as in `stepped`. Every stage but the last ends with one move."""
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
    after = [x + y for x, y in zip(v, sum_v, strict=True)]
    return [h * x for x in after] if method.moves_last else u, after


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
