"""The Riccati recursion in panels against a dense one, by the interpreter of schedules on compiled kernels."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.backends.common.facts import Facts
from condyle.compile.compiler import Compiler
from condyle.compile.targets import CPU
from condyle.functions.riccati import backward, columns_of_q, forward, riccati, slabs
from condyle.ir.schedule import Move, Operand, Run, Schedule, Slab, interpret, verify_schedule
from condyle.model.tree import tree_of

Array = np.ndarray
KNOTS = 6
JOINTS: list[tuple[int, int, int, Any]] = [
    (6, 2, 4, ()),
    (14, 7, 8, ()),
    (10, 3, 8, ((0, 3), (4, 1))),
    (14, 7, 16, ((0, 6),)),
    (36, 12, 8, ((0, 6),)),
]
"""The last of nx, nu, lanes: joints with blocks."""
SIZES = [(5, 2, 4), (14, 7, 8), (36, 12, 8), (14, 7, 16)]


@cache
def compiler() -> Compiler:
    nothing = condyle.Builder().body("world").build()
    return Compiler(tree_of(nothing), Facts(nothing.nq, nothing.nv))


def kernels(nx: int, nu: int, lanes: int, dtype: str = "float64", turning: Any = None) -> dict[str, Run]:
    def run(function: Any) -> Run:
        kernel = compiler().bodies(function, CPU.computes, dtype)

        def rows(n: int, inputs: Any, outputs: Any) -> None:
            inputs = [np.ascontiguousarray(x) for x in inputs]
            form = getattr(kernel, "columns", None)
            if form is None or form.lanes != lanes or n % lanes:
                kernel(n, inputs, outputs, 1)
                return
            shared = [port.is_shared for port in function.inputs]
            panels = [panel(x.T, lanes) if not held else x for x, held in zip(inputs, shared, strict=True)]
            panels = [x if held else x.reshape(n // lanes, -1, lanes) for x, held in zip(panels, shared, strict=True)]
            answers = [np.zeros((n // lanes, x.shape[1], lanes), dtype) for x in outputs]
            form.run(n, panels, answers, 1)
            for output, answer in zip(outputs, answers, strict=True):
                output[...] = answer.swapaxes(1, 2).reshape(n, -1)

        return rows

    return {function.name: run(function) for function in riccati(nx, nu, lanes, turning)}


def panel(A: Array, lanes: int) -> Array:
    """Matrices (..., rows, columns) as rows of a slab."""
    *batch, rows, columns = A.shape
    A = np.concatenate([A, np.zeros((*batch, rows, -columns % lanes), A.dtype)], -1)
    return A.reshape(*batch, rows, -1, lanes).swapaxes(-3, -2).reshape(*batch, -1)


def matrix(rows: Array, shape: tuple[int, int], lanes: int) -> Array:
    """The matrices of rows of a slab."""
    A = rows.reshape(len(rows), -1, shape[0], lanes).swapaxes(1, 2)
    return A.reshape(len(rows), shape[0], -1)[..., : shape[1]]


def problem(nx: int, nu: int, rng: Any) -> tuple[Array, Array, Array, Array]:
    """F^ (KNOTS, nx + 1, nx + 1), B (KNOTS, nx, nu), H of [x^; u] and the last value."""
    F = np.zeros((KNOTS, nx + 1, nx + 1))
    F[:, :nx] = np.eye(nx, nx + 1) + 0.2 * rng.normal(size=(KNOTS, nx, nx + 1)) / np.sqrt(nx)
    F[:, nx, nx] = 1.0
    B = rng.normal(size=(KNOTS, nx, nu)) / np.sqrt(nx)
    R = rng.normal(size=(KNOTS + 1, nx + 1 + nu, nx + 1 + nu)) / np.sqrt(nx + nu)
    H = R @ R.swapaxes(1, 2)
    return F, B, H[:-1], H[-1, : nx + 1, : nx + 1]


def dense(F: Array, B: Array, H: Array, last: Array, reg: float) -> tuple[list[Array], list[Array]]:
    n, V, K = F.shape[-1], [last], list[Array]()
    for k in reversed(range(len(F))):
        both = np.hstack([F[k], np.vstack([B[k], np.zeros((1, B.shape[-1]))])])
        Q = H[k] + both.T @ V[0] @ both
        K.insert(0, -np.linalg.solve(Q[n:, n:] + reg * np.eye(len(Q) - n), Q[n:, :n]))
        V.insert(0, Q[:n, :n] + Q[:n, n:] @ K[0])
    return V, K


def schedule(nx: int, nu: int, lanes: int, turning: Any = None) -> Schedule:
    sizes = KNOTS, nx, nu, lanes, turning
    inputs = (*(("Fx", "Fu") if turning is None else ("Mx", "Mu", "J", "E")), "Hx", "Hu", "reg", "last")
    arrays, outputs = slabs(*sizes), ("V", "K", "dx", "du")
    last = next(Slab("last", 1, slab.size) for slab in arrays if slab.name == "V")
    body = Move(Operand("last"), Operand("V", KNOTS), 1), backward(*sizes), forward(*sizes)
    return verify_schedule(Schedule("riccati", (last, *arrays), inputs, outputs, body, lanes))


def joints(
    nx: int, nu: int, lanes: int, turning: Any, rng: Any, push: float = 0.0
) -> tuple[Array, Array, dict[str, Array]]:
    """F^ and B of semi-implicit steps, and what they are made of as inputs. push: what v grows by with q, in a step."""
    nv, h = nx // 2, 0.1
    M = 0.5 * rng.normal(size=(KNOTS, nv, nx + 1)) / np.sqrt(nx) + np.eye(nv, nx + 1, nv) + push * np.eye(nv, nx + 1)
    N, d = rng.normal(size=(KNOTS, nv, nu)) / np.sqrt(nx), 0.1 * rng.normal(size=(KNOTS, nv))
    J1, J2 = np.zeros((KNOTS, nv, nv)) + np.eye(nv), np.zeros((KNOTS, nv, nv)) + h * np.eye(nv)
    E = np.zeros((KNOTS, nx + 1, 2 + sum(size for _, size in turning)))
    E += matrix(np.array(columns_of_q(nx, nu, lanes, turning))[None], (E.shape[2], nx + 1), lanes)[0].T
    numbers, row = [np.full((KNOTS, 1), h), d], 2
    for A in (J1, J2):
        for first, size in turning:
            within = slice(first, first + size)
            A[:, within, within] += 0.1 * rng.normal(size=(KNOTS, size, size))
            numbers.append(A[:, within, within].reshape(KNOTS, -1))
            if A is J1:
                E[:, within, row : row + size] = A[:, within, within].swapaxes(1, 2)
                row += size
    B = np.concatenate([J2 @ N, N], 1)
    F = np.concatenate([J2 @ M, M, np.eye(1, nx + 1, nx) + np.zeros((KNOTS, 1, 1))], 1)
    F[:, :nv, :nv] += J1
    F[:, :nv, nx] += d
    inputs = {"Mx": panel(M, lanes), "Mu": panel(N, lanes), "J": np.concatenate(numbers, 1)}
    E = panel(E.swapaxes(1, 2), lanes)
    return F, B, {**inputs, "E": E if turning else E[:1]}


def answers(
    nx: int,
    nu: int,
    lanes: int,
    reg: float,
    dtype: str = "float64",
    bad: bool = False,
    turning: Any = None,
    push: float = 0.0,
) -> Any:
    """(of the schedule, exact) by name."""
    rng = np.random.default_rng(nx)
    F, B, H, last = problem(nx, nu, rng)
    steps = {"Fx": panel(F, lanes), "Fu": panel(B, lanes)}
    if turning is not None:
        F, B, steps = joints(nx, nu, lanes, turning, rng, push)
    if bad:
        H[2, -1, -1] = -1e3
    V, K = dense(F, B, H, last, reg)
    n = nx + 1
    inputs = {
        **steps,
        "Hx": panel(H[..., :n], lanes),
        "Hu": panel(H[:, n:, n:], lanes),
        "reg": np.array(reg),
        "last": panel(last, lanes),
    }
    inputs = {name: A.astype(dtype) for name, A in inputs.items()}
    sizes = nx, nu, lanes
    result = interpret(schedule(*sizes, turning), kernels(*sizes, dtype, turning), inputs, dtype)
    x, u = [np.zeros(nx)], list[Array]()
    for k in range(KNOTS):
        u.append(K[k] @ [*x[-1], 1.0])
        x.append((F[k] @ [*x[-1], 1.0])[:nx] + B[k] @ u[-1])
    V_lower = np.tril(matrix(result["V"], (n, n), lanes))
    ours = {"V": V_lower + np.tril(V_lower, -1).swapaxes(1, 2), "K": matrix(result["K"], (nu, n), lanes)}
    return {**ours, "dx": result["dx"], "du": result["du"]}, {"V": V, "K": K, "dx": x, "du": u}


@pytest.mark.parametrize(("nx", "nu", "lanes"), SIZES)
def test_sweeps_are_those_of_matrices(nx: int, nu: int, lanes: int) -> None:
    """1e-11: conditions of Quu are below 1e4 here. Padding is 0 in and not read. V: its lower triangle."""
    ours, exact = answers(nx, nu, lanes, 1e-3)
    for name, value in ours.items():
        error = np.abs(value - np.array(exact[name])).max() / np.abs(exact[name]).max()
        assert error < 1e-11, (name, error)


@pytest.mark.parametrize(("nx", "nu", "lanes", "turning"), JOINTS)
def test_steps_of_joints_are_those_of_matrices(nx: int, nu: int, lanes: int, turning: Any) -> None:
    """As above."""
    ours, exact = answers(nx, nu, lanes, 1e-3, turning=turning)
    for name, value in ours.items():
        error = np.abs(value - np.array(exact[name])).max() / np.abs(exact[name]).max()
        assert error < 1e-11, (name, error)


def test_rounding_does_not_grow_as_the_states_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without control they grow by half and more in each of 80 steps; rounding would by 1e14."""
    monkeypatch.setitem(globals(), "KNOTS", 80)
    for turning in (None, (), ((0, 3),)):
        ours, exact = answers(6, 3, 4, 1e-3, turning=turning, push=3.0)
        V = ours["V"]
        assert np.abs(V - np.array(exact["V"])).max() < 1e-10 * np.abs(V).max(), turning


def test_single_precision() -> None:
    """A thousand roundings."""
    ours, exact = answers(14, 7, 16, 1e-2, "float32")
    for name, value in ours.items():
        assert np.abs(value - np.array(exact[name])).max() < 1e-3 * np.abs(exact[name]).max(), name


@pytest.mark.parametrize("pivot", [0.0, -1.0])
def test_a_pivot_that_is_not_above_zero_gives_nan(pivot: float) -> None:
    factor = kernels(5, 2, 4)[riccati(5, 2, 4).factor.name]
    for diagonal in ((pivot, 1.0), (1.0, pivot), (pivot, pivot)):
        L = np.zeros((1, 3))
        factor(1, [panel(np.diag(diagonal), 4)[None], np.zeros((1, 1))], [L])
        assert np.isnan(L[0, 1:]).all(), diagonal
    ours, _ = answers(5, 2, 4, 0.0, bad=True)
    assert np.isnan(ours["K"][:3]).all() and np.isnan(ours["V"][:3]).all()
    assert np.isfinite(ours["K"][3:]).all()


def test_padding_is_not_read() -> None:
    """Shared panels with NaN where there is no column, and V above its diagonal."""
    nx, nu, lanes = 5, 2, 4
    rng = np.random.default_rng(1)
    F, B, H, last = problem(nx, nu, rng)
    run, functions = kernels(nx, nu, lanes), riccati(nx, nu, lanes)
    V = np.where(np.tri(nx + 1) > 0, last, np.nan)
    shared = []
    for A in (V, F[0], B[0]):
        rows = panel(A, lanes).reshape(-1, len(A), lanes)
        rows[-1, :, A.shape[1] % lanes or lanes :] = np.nan
        shared.append(rows.reshape(1, -1))
    out = np.zeros((nx + 1, nx + 1 + nu))
    run[functions.state.name](nx + 1, [F[0].T.copy(), H[0, :, : nx + 1].T.copy(), *shared], [out])
    both = np.hstack([F[0], np.vstack([B[0], np.zeros((1, nu))])])
    exact = H[0, : nx + 1] + F[0].T @ last @ both
    assert np.allclose(out, exact, rtol=0, atol=1e-12)
