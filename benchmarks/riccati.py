"""The Riccati recursion of `condyle.functions.riccati` as a compiled schedule, beside NumPy and LAPACK.

    python -m benchmarks.riccati

Writes results/riccati.json. One thread; backwards and forwards over all knots: gains, values and the steps that follow
from them. "any": x+ = F x^ + B u. "joints": semi-implicit steps, all joints with J1 = 1, J2 = h; "floating": the first
six coordinates have blocks. Times are least ones of a call. NumPy: its products, and LAPACK's posv of SciPy, written
into arrays that are there, with the same F; backwards only. Errors are of K, beside its largest entry, against that
recursion in float64.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import get_lapack_funcs

import condyle
from benchmarks import results
from benchmarks.bench import pinned
from condyle.backends.common.facts import Facts
from condyle.compile.compiler import Compiler
from condyle.compile.kernels.scheduled import scheduled
from condyle.compile.targets import CPU
from condyle.functions import riccati
from condyle.ir.schedule import Move, Operand, Schedule, Slab
from condyle.model.tree import tree_of

SIZES = ((14, 7, 64), (36, 12, 50), (36, 24, 50), (48, 30, 67))
"""nx, nu, knots."""
FORMS: dict[str, Any] = {"any": None, "joints": (), "floating": ((0, 6),)}
SECONDS, ROUNDS, REG = 0.5, 10, 1e-3


class Problem(NamedTuple):
    """Steps F^ (knots, nx + 1, nx + 1), B; costs H of [x^; u], the last value, and the inputs of the form of joints."""

    F: Any
    B: Any
    H: Any
    last: Any
    joints: dict[str, Any]


def problem(nx: int, nu: int, knots: int, turning: Any, lanes: int) -> Problem:
    random, nv, h, n = np.random.default_rng(nx), nx // 2, 0.02, nx + 1
    M = 0.02 * random.normal(size=(knots, nv, n)) + np.eye(nv, n, nv)
    N, d = 0.1 * random.normal(size=(knots, nv, nu)), 0.01 * random.normal(size=(knots, nv))
    J1, J2 = (np.broadcast_to(x * np.eye(nv), (knots, nv, nv)).copy() for x in (1.0, h))
    E = np.array(riccati.columns_of_q(nx, nu, lanes, turning or ()))
    E = np.tile(E, (knots, 1)) if turning else E[None]
    numbers, rows = [np.full((knots, 1), h), d], 2
    for J in (J1, J2):
        for first, size in turning or ():
            within = slice(first, first + size)
            J[:, within, within] += 0.01 * random.normal(size=(knots, size, size))
            numbers.append(J[:, within, within].reshape(knots, -1))
            panels = E.reshape(knots, -1, 2 + size, lanes)  # one block, within the first columns
            for c in range(first, first + size) if J is J1 else ():
                panels[:, c // lanes, rows:, c % lanes] = J1[:, within, c]
    F = np.zeros((knots, n, n))
    F[:, :nv], F[:, nv:nx], F[:, nx, nx] = J2 @ M, M, 1.0
    F[:, :nv, :nv] += J1
    F[:, :nv, nx] += d
    R = 0.1 * random.normal(size=(knots + 1, n + nu, n + nu))
    H = R @ R.swapaxes(1, 2) + np.eye(n + nu)
    inputs = {"Mx": panel(M, lanes), "Mu": panel(N, lanes), "J": np.concatenate(numbers, 1), "E": E}
    return Problem(F, np.concatenate([J2 @ N, N], 1), H[:-1], H[-1, :n, :n], inputs)


def panel(A: Any, lanes: int) -> Any:
    """Matrices as rows of panels."""
    *batch, rows, columns = A.shape
    A = np.concatenate([A, np.zeros((*batch, rows, -columns % lanes))], -1)
    return A.reshape(*batch, rows, -1, lanes).swapaxes(-3, -2).reshape(*batch, -1)


def compiled(nx: int, nu: int, knots: int, turning: Any, p: Problem, dtype: Any) -> tuple[Callable[[], None], Any]:
    """A call of the schedule, and K (knots, gx, nu, lanes), which it writes."""
    lanes = CPU.lanes(dtype.name)
    sizes = knots, nx, nu, lanes, turning
    n = nx + 1
    steps = p.joints if turning is not None else {"Fx": panel(p.F, lanes), "Fu": panel(p.B, lanes)}
    costs = {"Hx": panel(p.H[..., :n], lanes), "Hu": panel(p.H[:, n:, n:], lanes), "last": panel(p.last, lanes)}
    values = {**steps, **costs, "reg": np.full(1, REG)}
    slabs = riccati.slabs(*sizes)
    last = next(Slab("last", 1, slab.size) for slab in slabs if slab.name == "V")
    body = Move(Operand("last"), Operand("V", knots), 1), riccati.backward(*sizes), riccati.forward(*sizes)
    schedule = Schedule("riccati", (last, *slabs), tuple(values), ("V", "K", "dx", "du"), body, lanes)
    nothing = condyle.Builder().body("world").build()
    compiler = Compiler(tree_of(nothing), Facts(nothing.nq, nothing.nv))
    kernels = {
        function.name: compiler.bodies(function, CPU, dtype.name)
        for function in riccati.riccati(nx, nu, lanes, turning)
    }
    kernel = scheduled(schedule, kernels, dtype)
    inputs = [np.ascontiguousarray(values[name], dtype).reshape(1, -1) for name in schedule.inputs]
    outputs = [np.zeros((1, schedule.slab(name).length), dtype) for name in schedule.outputs]
    return lambda: kernel(1, inputs, outputs, 1), outputs[1].reshape(knots, -1, nu, lanes)


def by_numpy(p: Problem, dtype: Any) -> tuple[Callable[[], None], Any]:
    """The same by NumPy and LAPACK, all columns together, and -K^T (knots, nx + 1, nu), which it writes."""
    knots, n, nu = len(p.F), p.F.shape[1], p.B.shape[2]
    both = np.zeros((knots, n, n + nu))
    both[..., :n], both[:, : n - 1, n:] = p.F, p.B
    both, H, last = (np.array(x, dtype) for x in (both, p.H, p.last))
    H[:, range(n, n + nu), range(n, n + nu)] += dtype.type(REG)
    posv: Any = get_lapack_funcs("posv", dtype=dtype)
    half, Q, value = np.empty((n, n + nu), dtype), np.empty((n + nu, n + nu), dtype), np.empty((n, n), dtype)
    K = np.zeros((knots, n, nu), dtype)

    def run() -> None:
        V = last.copy()
        for k in reversed(range(knots)):
            np.matmul(V, both[k], out=half)
            np.matmul(both[k].T, half, out=Q)
            np.add(Q, H[k], out=Q)
            _, K[k].T[...], _ = posv(Q[n:, n:], Q[n:, :n])
            np.matmul(Q[:n, n:], K[k].T, out=value)
            np.subtract(Q[:n, :n], value, out=V)
            np.add(V, V.T.copy(), out=V)
            np.multiply(V, dtype.type(0.5), out=V)

    return run, K


def least(run: Callable[[], None]) -> float:
    """Microseconds."""
    times, start = list[float](), time.perf_counter()
    while len(times) < ROUNDS or time.perf_counter() - start < SECONDS:
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return 1e6 * min(times)


def measured(nx: int, nu: int, knots: int) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for dtype in map(np.dtype, (np.float64, np.float32)):
        row = facts[dtype.name] = dict[str, Any]()
        for form, turning in FORMS.items():
            p = problem(nx, nu, knots, turning, CPU.lanes(dtype.name))
            exact, K = by_numpy(p, np.dtype(np.float64))
            exact()
            run, panels = compiled(nx, nu, knots, turning, p, dtype)
            numpy_run, _ = by_numpy(p, dtype)
            run()
            ours = panels.swapaxes(1, 2).reshape(knots, nu, -1)[..., : nx + 1]
            error = np.abs(ours + K.swapaxes(1, 2)).max() / np.abs(K).max()
            us, numpy_us = least(run), least(numpy_run)
            row[form] = {"us": us, "error": float(error), "numpy": {"us": numpy_us, "ratio": numpy_us / us}}
            print(nx, nu, knots, dtype.name, form, f"{us:.1f} us, NumPy {numpy_us:.0f} us, error {error:.1e}")
    return facts


def main() -> None:
    with pinned():
        sizes = {f"{nx} {nu} {knots}": measured(nx, nu, knots) for nx, nu, knots in SIZES}
    whole = {**results.certificate(), "machine": results.machine(), "sizes": sizes}
    results.write(results.FOLDER / "riccati.json", whole)


if __name__ == "__main__":
    main()
