"""Iterations and quadratic programs: each state ends by itself, within its own arrays, and says what it is.

An iteration is held to rollouts of as many steps, in guarded arrays. A quadratic program is drawn with rows of every
kind and in any units, from a point that is feasible or with rows that contradict each other.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import condyle
from fuzz.guarded import guarded

WHAT = "iterations end as rollouts do, quadratic programs keep their conditions and are not called infeasible"
Array = np.ndarray
OF_COMPILED = 6, 5, 1
"""Variables, rows and equalities of the programs in compiled code."""
SIZES = (1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 64, 65, 200, 1030)
MOST = 30
RIGHT = 2e-5
"""Of the conditions of a minimum, in units in which all is of order 1."""


def roots(x: Any, a: Any) -> dict[str, Any]:
    """Square roots by Newton's method, done where all are near."""
    y = 0.5 * (x + a / x)
    return {"x": y, "moved": np.sum(np.abs(y - x)), "done": 1e-9 - np.max(np.abs(y - x))}


@cache
def compiled(target: str, dtype: str) -> Any:
    return condyle.function(roots, inputs={"x": 3, "a": 3}).compile(target, dtype=dtype, threads=2)


def case(rng: np.random.Generator, folder: Path) -> None:
    (iteration, program, program, programs)[int(rng.integers(4))](rng)


def iteration(rng: np.random.Generator) -> None:
    f = compiled("cpu" if rng.random() < 0.8 else "numpy", str(rng.choice(["float64", "float32"])))
    n, most = int(rng.choice(SIZES)), int(rng.integers(1, MOST))
    x, a = (10.0 ** rng.uniform(-3.0, 3.0, (n, 3)) for _ in range(2))
    a[rng.random(n) < 0.1] = rng.choice([np.nan, np.inf, -1.0, 0.0])
    x, a = x.astype(f.dtype), a.astype(f.dtype)
    shapes, at_end = ((n, 3), (n,), (n,), (n,)), bool(rng.integers(2))
    pairs = [guarded(shape, f.dtype, at_end) for shape in shapes]
    answer = f.iterate(x, a, most=most, out=tuple(array for array, _ in pairs))
    for _, guard in pairs:
        guard.check()
    for count in np.unique(answer.iterations):
        states = answer.iterations == count
        steps = f.rollout(x[states], a[states], steps=int(count), last=True)
        for name in ("x", "moved", "done"):
            assert np.array_equal(getattr(answer, name)[states], getattr(steps, name), equal_nan=True), name
        before = f.rollout(x[states], a[states], steps=int(count), every=1).done[:, :-1]
        assert not (before > 0.0).any(), f"{count} steps: some were done before"
    assert ((answer.done > 0.0) | (answer.iterations == most)).all(), "one ended that was not done"


class Problem(NamedTuple):
    """Numbers of order 1; x0 is feasible, if anything is. units: of x, of the cost, of rows."""

    H: Array
    g: Array
    A: Array
    limits: tuple[Array, Array]
    box: tuple[Array, Array]
    E: Array
    x0: Array
    units: tuple[float, float, Array]
    is_feasible: bool
    is_tight: bool

    def arguments(self) -> tuple[Array, ...]:
        """H, g, A, lower, upper, the box, E and e in their units."""
        length, force, units = self.units
        limits, box = ([side * unit for side in pair] for pair, unit in ((self.limits, units), (self.box, length)))
        A = self.A * units[:, None] / length
        return self.H * force / length, self.g * force, A, *limits, *box, self.E / length, self.E @ self.x0


def drawn(rng: np.random.Generator, n: int, m: int, p: int, units: float = 5.0) -> Problem:
    half = rng.normal(size=(n, int(rng.integers(0, n + 1))))
    H, g = half @ half.T / n + rng.choice([0.0, 1e-3, 1.0]) * np.eye(n), rng.normal(size=n)
    A, E = rng.normal(size=(m, n)) * (rng.random((m, n)) < 0.7), rng.normal(size=(p, n))
    if m > 1 and rng.random() < 0.3:
        A[0] = A[1] * rng.choice([1.0, -1.0])
    x0, is_tight = rng.uniform(-1.0, 1.0, n), bool(rng.random() < 0.2)
    lower = A @ x0 - (0.0 if is_tight else rng.uniform(0.0, 1.0, m))
    upper, box = A @ x0 + rng.uniform(0.0, 1.0, m), [x0 + side * rng.uniform(0.1, 1.1, n) for side in (-1.0, 1.0)]
    lower[rng.random(m) < 0.3] = -np.inf
    is_feasible = bool(rng.random() < 0.8) or m < 1
    if not is_feasible:  # beyond all that the box allows
        lower[0] = np.abs(A[0]) @ np.maximum(*map(np.abs, box)) + rng.uniform(0.1, 1.0)
        upper[0] = np.inf
    length, force, *of_rows = 10.0 ** rng.uniform(-units, units, m + 2)
    of_problem = length, force, np.array(of_rows)
    return Problem(H, g, A, (lower, upper), (box[0], box[1]), E, x0, of_problem, is_feasible, is_tight)


def program(rng: np.random.Generator) -> None:
    n, m = int(rng.integers(1, 10)), int(rng.integers(0, 12))
    problem = drawn(rng, n, m, min(int(rng.integers(0, 3)), n - 1))
    H, g, A, lower, upper, low, high, E, e = problem.arguments()
    answer = condyle.qp(H, g, A, lower, upper, box=(low, high), equal=(E, e) if len(e) else None)
    judge(answer, problem)


def solve(H: Any, g: Any, A: Any, lower: Any, upper: Any, low: Any, high: Any, E: Any, e: Any) -> dict[str, Any]:
    return condyle.qp(H, g, A, lower, upper, box=(low, high), equal=(E, e))._asdict()


@cache
def solver(dtype: str) -> Any:
    n, m, p = OF_COMPILED
    sizes = {"H": (n, n), "g": n, "A": (m, n), "lower": m, "upper": m, "low": n, "high": n, "E": (p, n), "e": p}
    return condyle.function(solve, inputs=sizes).compile(dtype=dtype, threads=2)


def programs(rng: np.random.Generator) -> None:
    """A batch in compiled code, each state as if it were alone; in single precision with units of order 1."""
    f, count = solver(str(rng.choice(["float64", "float32"]))), int(rng.integers(1, 40))
    problems = [drawn(rng, *OF_COMPILED, units=5.0 if f.dtype == np.float64 else 0.5) for _ in range(count)]
    stacks = [np.stack(arrays).astype(f.dtype) for arrays in zip(*(x.arguments() for x in problems), strict=True)]
    answers = f(*stacks)
    for k, problem in enumerate(problems):
        answer = type(answers)(*(array[k] for array in answers))
        if f.dtype == np.float64:
            judge(answer, problem)
            continue
        assert np.isfinite(answer.x).all(), f"state {k}: {answer}"
        assert answer.status != (-1 if problem.is_feasible else 1), f"state {k}: status {answer.status}"


def judge(answer: Any, problem: Problem) -> None:
    """Statuses are right, and so is what is solved."""
    assert np.isfinite(answer.x).all() and np.isfinite(answer.multipliers).all(), f"{answer}"
    if not problem.is_feasible:
        assert answer.status != 1, "solved, though nothing is feasible"
        return
    assert answer.status != -1, "infeasible, though one point is not"
    assert problem.is_tight or answer.status == 1, f"not solved: residual {answer.residual}"
    if answer.status == 1:
        check(answer, problem)


def check(answer: Any, problem: Problem) -> None:
    """The conditions of a minimum, in the units of order 1."""
    H, g, A, (lower, upper), box, E, x0, (length, force, units), _, _ = problem
    n, m, x = len(g), len(A), answer.x / length
    of_box, of_rows, of_equal = np.split(answer.multipliers, [n, n + m])
    of_box, of_rows, of_equal = of_box / force, of_rows * units / (force * length), of_equal / (force * length)
    size = 1.0 + np.abs(np.concatenate([of_box, of_rows, of_equal])).max()
    slope = H @ x + g + of_box + A.T @ of_rows + E.T @ of_equal
    assert np.abs(slope).max() <= RIGHT * size, f"slope {slope}"
    assert np.abs(E @ (x - x0)).max(initial=0.0) <= RIGHT, "equalities"
    for values, low, high, z in ((x, *box, of_box), (A @ x, lower, upper, of_rows)):
        assert (values >= low - RIGHT).all() and (values <= high + RIGHT).all(), "limits"
        left = np.where(z > 0.0, high - values, values - low)
        held = np.abs(z) > RIGHT * size
        assert (np.abs(z[held]) * np.abs(left[held]) <= RIGHT * size).all(), f"multipliers {z} of slacks {left}"
