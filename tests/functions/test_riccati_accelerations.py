"""The Riccati recursion of accelerations against that of dense matrices, by the interpreter of schedules."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from condyle.functions.riccati_accelerations import backward, finite, follow, forward, functions, groups, slabs
from condyle.ir.schedule import Move, Operand, Run, Schedule, Slab, interpret, verify_schedule
from condyle.specification import Function
from tests.functions.test_riccati import matrix
from tests.functions.test_riccati import panel as panel_of

Array = np.ndarray
KNOTS, H = 5, 0.05


def run_of(function: Function) -> Run:
    """A function on the numbers of many states."""

    def run(n: int, inputs: Any, outputs: Any) -> None:
        columns = {port.name: list(x.T) for port, x in zip(function.inputs, inputs, strict=True)}
        answers = function.routes["columns"].run(SimpleNamespace(inputs=columns))
        for output, answer in zip(outputs, answers, strict=True):
            output[...] = np.stack(np.broadcast_arrays(np.zeros(n), *answer)[1:], axis=1)

    return run


def panel(A: Array, lanes: int, n: int) -> Array:
    """Matrices (knots, rows, columns) as rows of a slab, all as wide as the widest."""
    return panel_of(np.pad(A, ((0, 0), (0, 0), (0, groups(n, lanes) * lanes - A.shape[2]))), lanes)


def dense(Q: Array, last: Array, n: int, reg: float) -> tuple[Array, Array, Array, Array]:
    """F^ and B of a step, V and K of each knot."""
    one, none, m = np.eye(n), np.zeros((n, n)), 2 * n + 1
    F = np.eye(m)
    F[:n, n : 2 * n] = H * one
    both = np.hstack([F, np.vstack([H * H * one, H * one, none[:1]])])
    V, K = [last], list[Array]()
    for k in reversed(range(KNOTS)):
        whole = Q[k] + both.T @ V[0] @ both
        K.insert(0, -np.linalg.solve(whole[m:, m:] + reg * one, whole[m:, :m]))
        V.insert(0, whole[:m, :m] + whole[:m, m:] @ K[0])
    return F, both[:, m:], np.array(V), np.array(K)


@pytest.mark.parametrize(("n", "lanes"), [(1, 4), (3, 4), (4, 4), (7, 8)])
def test_sweeps_are_those_of_matrices(n: int, lanes: int) -> None:
    rng, m, reg = np.random.default_rng(n), 2 * n + 1, 0.3
    half = rng.normal(size=(KNOTS + 1, m + n, m + n))
    Q = half @ half.swapaxes(1, 2)
    last = Q[-1, :m, :m]
    F, B, V, K = dense(Q, last, n, reg)
    kernels = {function.name: run_of(function) for function in functions(n, lanes, H).values()}
    arrays = slabs(KNOTS, n, lanes)
    by_name = {slab.name: slab for slab in arrays}
    given = [Slab(f"last{part}", 1, by_name[part].size) for part in ("VQ", "VV")]
    begin = [Move(Operand(f"last{part}"), Operand(part, KNOTS), 1) for part in ("VQ", "VV")]
    schedule = verify_schedule(
        Schedule(
            "accelerations",
            (*given, *arrays),
            ("lastVQ", "lastVV", "HQ", "HV", "HU", "reg"),
            ("VQ", "VV", "KQ", "KV", "dx", "du"),
            (*begin, backward(KNOTS, n, lanes, H), forward(KNOTS, n, lanes, H)),
            lanes,
        )
    )
    inputs = {
        "lastVQ": panel(last[None, :, :n], lanes, n),
        "lastVV": panel(last[None, :, n:], lanes, n),
        "HQ": panel(Q[:-1, :, :n], lanes, n),
        "HV": panel(Q[:-1, :, n:m], lanes, n),
        "HU": panel(Q[:-1, m:, m:], lanes, n),
        "reg": np.array(reg),
    }
    found = interpret(schedule, kernels, inputs)
    for name, exact in (("VQ", V[..., :n]), ("VV", V[..., n:]), ("KQ", K[..., :n]), ("KV", K[..., n:])):
        ours = matrix(found[name], exact.shape[1:], lanes)
        np.testing.assert_allclose(ours, exact, rtol=0, atol=1e-9 * np.abs(exact).max())
    x, u = [np.zeros(2 * n)], list[Array]()
    for gain in K:
        u.append(gain @ [*x[-1], 1.0])
        x.append((F @ [*x[-1], 1.0] + B @ u[-1])[:-1])
    np.testing.assert_allclose(found["dx"], x, rtol=0, atol=1e-9 * np.abs(x).max())
    np.testing.assert_allclose(found["du"], u, rtol=0, atol=1e-9 * np.abs(u).max())


def test_a_control_that_is_no_number_is_zero() -> None:
    assert [float(finite(x)) for x in (2.0, -9e29, 1.1e30, -np.inf, np.nan)] == [2.0, -9e29, 0.0, 0.0, 0.0]


def test_a_state_beside_the_plan_follows_its_gains() -> None:
    """From row `shift` of the gains on, without their slope; where they are no numbers it goes on without control."""
    n, lanes, shift, rng = 3, 4, 2, np.random.default_rng(0)
    K = rng.normal(size=(KNOTS + shift, n, 2 * n + 1))
    K[3] = np.nan
    parts = {"start_KQ": panel(K[..., :n], lanes, n), "start_KV": panel(K[..., n:], lanes, n)}
    arrays = [Slab(name, len(K), rows.shape[1]) for name, rows in parts.items()]
    arrays += [Slab("begin", 1, 2 * n), Slab("beside", KNOTS + 1, 2 * n), Slab("by", KNOTS, n)]
    body = Move(Operand("begin"), Operand("beside"), 1), follow(KNOTS, n, lanes, H, shift)
    schedule = Schedule("follow", tuple(arrays), ("begin", *parts), ("beside", "by"), body, lanes)
    kernels = {function.name: run_of(function) for function in functions(n, lanes, H).values()}
    begin = rng.normal(size=2 * n)
    found = interpret(verify_schedule(schedule), kernels, {"begin": begin, **parts})
    x, u = [begin], list[Array]()
    for gain in K[shift:]:
        u.append(np.nan_to_num(gain[:, : 2 * n] @ x[-1]))
        v = x[-1][n:] + H * u[-1]
        x.append(np.concatenate([x[-1][:n] + H * v, v]))
    assert not u[1].any() and u[0].all()
    np.testing.assert_allclose(found["beside"], x, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found["by"], u, rtol=0, atol=1e-12)
