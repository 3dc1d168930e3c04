"""Quadratic programs in a compiled function, beside DAQP, quadprog, OSQP and ProxQP one by one.

    python -m benchmarks.quadratic_programs

Writes results/quadratic_programs.json. One thread, float64, batches of 256; random problems of four sizes, and friction
pyramids of four feet. Times are least ones of a call, a problem: all of Condyle's call; what the other libraries say
that setup and solve took, of quadprog the call. Errors are of x, beside the largest entry, against quadprog at scaled
numbers. The libraries are in `condyle[solvers]`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import condyle
from benchmarks import results
from benchmarks.bench import pinned

COUNT, OTHERS, ROUNDS = 256, 64, 40
FRICTION = 0.6


class Problems(NamedTuple):
    """rows: lower <= A x <= upper."""

    H: Any
    g: Any
    box: tuple[Any, Any]
    A: Any
    limits: tuple[Any, Any]

    def stacked(self, k: int) -> tuple[Any, Any, Any]:
        """All rows of one problem, those of the box first, and their limits."""
        rows = np.concatenate([np.eye(self.g.shape[1]), self.A[k]])
        return rows, *(np.concatenate([box[k], rows[k]]) for box, rows in zip(self.box, self.limits, strict=True))


def dense(n: int, m: int, count: int = COUNT) -> Problems:
    random = np.random.default_rng(n)
    B, A = random.normal(size=(count, n, n)), random.normal(size=(count, m, n)) / np.sqrt(n)
    H, half, w = B @ B.swapaxes(1, 2) / n + 0.05 * np.eye(n), np.full((count, n), 0.5 if not m else 1.0), 0.3
    limits = (np.full((count, m), -w), np.full((count, m), w))
    return Problems(H, 2.0 * random.normal(size=(count, n)), (-half, half), A, limits)


def pyramids(count: int = COUNT) -> Problems:
    """Forces of four feet for a wrench, within pyramids, in units of 100 N."""
    random = np.random.default_rng(4)
    feet = np.array([[0.37, 0.21, -0.5], [0.37, -0.21, -0.5], [-0.37, 0.21, -0.5], [-0.37, -0.21, -0.5]])
    G = np.zeros((count, 6, 12))
    for k, p in enumerate(np.moveaxis(feet + 0.05 * random.normal(size=(count, 4, 3)), 1, 0)):
        G[:, :3, 3 * k : 3 * k + 3] = np.eye(3)
        G[:, 3:, 3 * k : 3 * k + 3] = np.cross(p[:, None], np.eye(3)[None]).swapaxes(1, 2)
    wrench = np.array([0, 0, 8.0, 0, 0, 0]) + random.normal(size=(count, 6)) * [3, 3, 3, 1, 1, 1]
    H, g = G.swapaxes(1, 2) @ G + 1e-2 * np.eye(12), -np.einsum("nij,ni->nj", G, wrench)
    low, high = np.tile([-np.inf, -np.inf, 0.05], (count, 4)), np.tile([np.inf, np.inf, 5.0], (count, 4))
    pyramid = np.array([[1, 0, -FRICTION], [-1, 0, -FRICTION], [0, 1, -FRICTION], [0, -1, -FRICTION]])
    A = np.broadcast_to(np.kron(np.eye(4), pyramid), (count, 16, 12))
    return Problems(H, g, (low, high), A, (np.full((count, 16), -np.inf), np.zeros((count, 16))))


FAMILIES: dict[str, Callable[[], Problems]] = {
    "box of 7": lambda: dense(7, 0),
    "pyramids of 12 forces": pyramids,
    "12 + 12 rows": lambda: dense(12, 12),
    "18 + 12 rows": lambda: dense(18, 12),
    "30 + 12 rows": lambda: dense(30, 12),
}


def ours(problems: Problems) -> tuple[Callable[..., Any], Any, list[Any]]:
    """The compiled function, its derivative, and arguments: what is the same in all states is a constant."""
    m = problems.A.shape[1]
    is_fixed = m > 0 and bool(np.ptp(problems.A, axis=0).max() == 0)
    arrays = {"H": problems.H, "g": problems.g}
    if not is_fixed:
        arrays |= {"low": problems.box[0], "high": problems.box[1]}
        arrays |= {"A": problems.A, "lower": problems.limits[0], "upper": problems.limits[1]} if m else {}

    def f(
        H: Any, g: Any, low: Any = None, high: Any = None, A: Any = None, lower: Any = None, upper: Any = None
    ) -> Any:
        if is_fixed:
            box, limits = ((a[0], b[0]) for a, b in (problems.box, problems.limits))
            return condyle.qp(H, g, problems.A[0], *limits, box=box)._asdict()
        return condyle.qp(H, g, A, lower, upper, box=(low, high))._asdict()

    inputs = {name: array.shape[1:] if name in ("H", "A") else array.shape[1] for name, array in arrays.items()}
    compiled = condyle.function(f, inputs=inputs).compile(threads=1)
    return compiled, compiled.vjp(), list(arrays.values())


def truth(problems: Problems) -> Any:
    import quadprog

    cases: list[Any] = []
    for k in range(OTHERS):
        rows, lower, upper = problems.stacked(k)
        G = np.concatenate([rows[lower > -np.inf], -rows[upper < np.inf]]).T
        h = np.concatenate([lower[lower > -np.inf], -upper[upper < np.inf]])
        cases.append((problems.H[k].copy(), -problems.g[k], np.ascontiguousarray(G), h))
    return cases, np.array([quadprog.solve_qp(*case)[0] for case in cases])


def least(run: Callable[[], Any], rounds: int) -> float:
    times: list[float] = []
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def daqp_of(problems: Problems, k: int) -> Callable[[], tuple[float, Any]]:
    import daqp

    _, lower, upper = problems.stacked(k)
    arguments = (problems.H[k], problems.g[k], np.ascontiguousarray(problems.A[k]), upper, lower)
    sense = np.zeros(len(upper), np.int32)

    def run() -> tuple[float, Any]:
        x, _, _, info = daqp.solve(*(np.nan_to_num(a, posinf=1e30, neginf=-1e30) for a in arguments), sense.copy())
        return info["setup_time"] + info["solve_time"], x

    return run


def osqp_of(problems: Problems, k: int) -> Callable[[], tuple[float, Any]]:
    import osqp
    from scipy.sparse import csc_matrix

    rows, lower, upper = problems.stacked(k)

    def run() -> tuple[float, Any]:
        solver = osqp.OSQP()
        options = {"verbose": False, "eps_abs": 1e-8, "eps_rel": 0.0, "max_iter": 20000, "polishing": False}
        solver.setup(csc_matrix(np.triu(problems.H[k])), problems.g[k], csc_matrix(rows), lower, upper, **options)
        answer = solver.solve()
        return answer.info.setup_time + answer.info.solve_time, answer.x

    return run


def proxqp_of(problems: Problems, k: int) -> Callable[[], tuple[float, Any]]:
    from proxsuite import proxqp

    rows, lower, upper = problems.stacked(k)

    def run() -> tuple[float, Any]:
        solver = proxqp.dense.QP(len(problems.g[k]), 0, len(rows))
        solver.settings.eps_abs, solver.settings.compute_timings = 1e-8, True
        low, high = np.maximum(lower, -1e20), np.minimum(upper, 1e20)
        solver.init(problems.H[k], problems.g[k], None, None, rows, low, high)
        solver.solve()
        info = solver.results.info
        return 1e-6 * (info.setup_time + info.solve_time), solver.results.x

    return run


def beside(run_of: Callable[..., Any], problems: Problems, x: Any) -> dict[str, float]:
    """Least times, in the mean over problems, and the largest error."""
    runs = [run_of(problems, k) for k in range(OTHERS)]
    answers = [min((run() for _ in range(5)), key=lambda answer: answer[0]) for run in runs]
    off = [np.abs(answer[1] - right).max() / np.abs(right).max() for answer, right in zip(answers, x, strict=True)]
    return {"us": 1e6 * float(np.mean([answer[0] for answer in answers])), "error": float(max(off))}


def measured(problems: Problems) -> dict[str, Any]:
    import quadprog

    compiled, slopes, arguments = ours(problems)
    answer = compiled(*arguments)
    bars = [np.ones_like(part) for part in answer]
    (cases, x), both = truth(problems), (*arguments, *bars)
    slopes(*both)
    us = least(lambda: compiled(*arguments), ROUNDS) / COUNT * 1e6
    rows: dict[str, Any] = {
        "daqp": beside(daqp_of, problems, x),
        "quadprog": {"us": least(lambda: [quadprog.solve_qp(*case) for case in cases], 10) / OTHERS * 1e6},
        "osqp": beside(osqp_of, problems, x),
        "proxqp": beside(proxqp_of, problems, x),
    }
    again = least(lambda: compiled(*arguments), ROUNDS) / COUNT * 1e6
    with_slopes = least(lambda: slopes(*both), ROUNDS) / COUNT * 1e6
    ours_us, off = min(us, again), np.abs(answer.x[:OTHERS] - x).max(1) / np.abs(x).max(1)
    return {
        "us": ours_us,
        "error": float(off.max()),
        "solved": float(np.mean(answer.status == 1)),
        "derivative": with_slopes / ours_us - 1.0,
        "others": {name: {**row, "ratio": row["us"] / ours_us} for name, row in rows.items()},
    }


def main() -> None:
    with pinned():
        families = {name: measured(make()) for name, make in FAMILIES.items()}
    whole = {**results.certificate(), "machine": results.machine(), "problems": COUNT, "families": families}
    results.write(results.FOLDER / "quadratic_programs.json", whole)
    for name, row in families.items():
        others = ", ".join(f"{other} {times['ratio']:.1f}" for other, times in row["others"].items())
        print(f"{name}: {row['us']:.2f} us, error {row['error']:.0e}, derivative {row['derivative']:.0%}; {others}")


if __name__ == "__main__":
    main()
