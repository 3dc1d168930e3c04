"""Dense linear systems as functions, made by size: what `np.linalg.solve` of symbols calls, and its kin.

Derivatives are known in closed form, and are solves with the same matrix, which is factored once:
dx = A^-1 (db - dA x), b_bar = A^-T x_bar, A_bar = -b_bar xᵀ. Of a symmetric matrix the lower triangle is an input.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, TypeAlias, cast

import numpy as np

from condyle.algorithms.linear_systems import Cholesky, Eliminated, Panel, Vector, scales
from condyle.derivatives.composed import Composed
from condyle.derivatives.products import multiplied, shaped
from condyle.functions.quantities import ByName, Values
from condyle.ir.expr import Value
from condyle.specification import Accuracy, Function, Numerics, Port, Route, Size, Ways

Solve: TypeAlias = Callable[[Sequence[Vector]], Callable[[Vector], Vector]]
"""Rows of a matrix -> (b -> x)."""

KINDS: dict[str, Solve] = {
    "solve": lambda A: Eliminated(A).solve,
    "solve_transposed": lambda A: Eliminated(A).solve_transposed,
    "solve_symmetric": lambda A: Cholesky(A).solve,
}
SHORT, TOGETHER = 20_000, 8
"""About how many operations straight code of a solve with pivots may have, and columns that are reflected
together."""
TRANSPOSED = {"solve": "solve_transposed", "solve_transposed": "solve", "solve_symmetric": "solve_symmetric"}


@cache
def linear_system(kind: str, n: int, m: int) -> Function:
    """x (n, m) of A x = b, by kind: of Aᵀ x = b, or of the symmetric matrix with the lower triangle of A."""
    A, b = (Port(name, (str(n), str(k)), "as given", "as given", "entries") for name, k in (("A", n), ("b", m)))
    name = f"{kind}_{n}_{m}"
    return Function(
        name,
        name,
        f"A x = b, {n} rows, {m} columns of b",
        (A, b),
        (Port("x", b.dims, "as given", "as given", "entries"),),
        Ways(
            lambda: {"elimination": _route(kind, n, m)},
            closed=lambda: {"jvp": partial(_jvp, kind), "vjp": partial(_vjp, kind)},
        ),
        Numerics(Size(0), Accuracy(1e-9, 1e-3)),
        source="Golub, Van Loan 2013, chapters 3 and 4",
        content=f"linear system {name}",
    )


def _route(kind: str, n: int, m: int) -> Route:
    if kind == "solve_symmetric" or _is_short(n, m):
        return Route(partial(_solved, kind))
    return Route(Composed(partial(_reflected, kind)), recorded=True)


def _is_short(n: int, m: int) -> bool:
    return n * n * (n + 2.5 * m) <= SHORT


def _solved(kind: str, sweeps: Any) -> tuple[list[Any], ...]:
    A, b = _rows(sweeps.inputs)
    solve = KINDS[kind](A.tolist())
    return ([x for row in zip(*map(solve, np.transpose(b).tolist()), strict=True) for x in row],)


def _reflected(kind: str, calls: Any, inputs: ByName) -> list[list[Any]]:
    """By D A = Q R, D scales rows: x = R^-1 Qᵀ D b, or D Q R^-T b."""
    A, b = _rows(inputs)
    D = _columns([scales(A.tolist())])
    R, panels = A * D, dict[int, Panel]()
    for k in range(0, len(A), TOGETHER):
        panels[k] = Panel(R[k:, k : k + TOGETHER].T.tolist())
        R[k:, k : k + TOGETHER] = _columns(panels[k].columns)
        R[k:, k + TOGETHER :] = _turned(calls, panels[k], R[k:, k + TOGETHER :], False)
    if kind == "solve_transposed":
        x = _triangular(calls, R.T, panels, b.copy(), True)
        for k, panel in reversed(panels.items()):
            x[k:] = _turned(calls, panel, x[k:], True)
        return [(x * D).ravel().tolist()]
    x = b * D
    for k, panel in panels.items():
        x[k:] = _turned(calls, panel, x[k:], False)
    return [_triangular(calls, R, panels, x, False).ravel().tolist()]


def _triangular(calls: Any, T: Any, panels: Mapping[int, Panel], x: Any, is_lower: bool) -> Any:
    """x of T x = b, written into b."""
    way = 1 if is_lower else -1
    for k, panel in list(panels.items())[::way]:
        end = k + len(panel.V)
        for i in range(k, end)[::way]:
            x[i] = x[i] * panel.inverse[i - k]
            within = slice(i + 1, end) if is_lower else slice(k, i)
            x[within] -= np.outer(T[within, i], x[i])
        others = slice(end, None) if is_lower else slice(k)
        x[others] -= _product(calls, T[others, k:end], x[k:end])
    return x


def _turned(calls: Any, panel: Panel, x: Any, backwards: bool) -> Any:
    """A matrix after the reflections of a panel."""
    if not x.size:
        return x
    V = _columns(panel.V)
    weights = [panel.weights(column, backwards) for column in _product(calls, V.T, x).T.tolist()]
    return x - _product(calls, V, _columns(weights))


def _product(calls: Any, left: Any, right: Any) -> Any:
    return multiplied(calls, left.copy(), right.copy())  # it is kept, and these are written later


def _columns(columns: Sequence[Vector]) -> Any:
    flat: Any = [x for column in columns for x in column]
    return np.transpose(shaped(flat, (len(columns), len(columns[0]))))


def _rows(inputs: ByName, first: str = "A", second: str = "b") -> list[Any]:
    """A and b as arrays of objects."""
    n = round(len(inputs[first]) ** 0.5)
    return [shaped(cast("Sequence[Value]", inputs[name]), (n, len(inputs[name]) // n)) for name in (first, second)]


def _again(calls: Any, kind: str, A: Values, b: Any) -> Any:
    """x of the same matrix, or of its transpose."""
    (x,) = calls.call(linear_system(kind, *b.shape), A, b.ravel().tolist())
    return shaped(x, b.shape)


def _jvp(kind: str, calls: Any, inputs: ByName) -> ByName:
    _, b = _rows(inputs)
    dA, db = _rows(inputs, "dA", "db")
    moved = {"solve": dA, "solve_transposed": dA.T, "solve_symmetric": np.tril(dA) + np.tril(dA, -1).T}[kind]
    x = _again(calls, kind, inputs["A"], b)
    return {"dx": _again(calls, kind, inputs["A"], db - multiplied(calls, moved, x)).ravel().tolist()}


def _vjp(kind: str, calls: Any, inputs: ByName) -> ByName:
    _, b = _rows(inputs)
    x = _again(calls, kind, inputs["A"], b)
    b_bar = _again(calls, TRANSPOSED[kind], inputs["A"], shaped(cast("Sequence[Value]", inputs["x_bar"]), b.shape))
    left, right = (x, b_bar) if kind == "solve_transposed" else (b_bar, x)
    A_bar: Any = -multiplied(calls, left, right.T)
    if kind == "solve_symmetric":
        A_bar = np.tril(A_bar) + np.tril(A_bar.T, -1)
    return {"A_bar": A_bar.ravel().tolist(), "b_bar": b_bar.ravel().tolist()}
