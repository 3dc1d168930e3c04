"""Kernels that are made of others: each by kernels of NumPy whose answers are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.compile.kernels.composed import (
    TAPE,
    Calls,
    ColumnsKernel,
    ComposedKernel,
    EitherKernel,
    GradientKernel,
    count,
    heights,
    multiplied,
    refused,
    widths,
)
from condyle.compile.options import bound_of
from condyle.derivatives import columns_of, derivative
from condyle.functions import function_of
from condyle.model.tree import tree_of

Array = np.ndarray
F8 = np.dtype("f8")
HYQ = condyle.load("hyq", floating_base=True)  # nq 19, nv 18


class Kernel:
    """Answers by NumPy."""

    def __init__(self, run: Callable[[Sequence[Array]], Sequence[Array]], description: str = "plain") -> None:
        self._run, self.dtype, self.description = run, F8, description
        self.calls: list[int] = []

    def __call__(self, n: int, inputs: Sequence[Array], outputs: Sequence[Array], threads: int) -> None:
        self.calls.append(threads)
        for output, answer in zip(outputs, self._run(inputs), strict=True):
            output[...] = answer


def test_columns_of_a_jacobian_are_derivatives_along_unit_vectors() -> None:
    """f(x, y, z) = (A x + B z, z z^T y) for x of 2, y of 3 and z of 3 entries, by z and x: a block a part and input."""
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(4, 2)), rng.normal(size=(4, 3))

    def jvp(inputs: Sequence[Array]) -> Sequence[Array]:
        _, y, z, dx, dy, dz = inputs
        assert not dy.any()
        inner, change = (z * y).sum(1, keepdims=True), (dz * y + z * dy).sum(1, keepdims=True)
        return dx @ A.T + dz @ B.T, dz * inner + z * change

    n, plain = 5, Kernel(jvp)
    kernel = ColumnsKernel(plain, (2, 3, 3), (2, 0), (4, 3), False)
    x, y, z = (rng.normal(size=(n, size)) for size in (2, 3, 3))
    sizes = ((4, 3), (4, 2), (3, 3), (3, 2))
    outputs = [np.full((n, rows * columns), np.nan) for rows, columns in sizes]
    kernel(n, [x, y, z], outputs, 3)
    found = [output.reshape(n, *size) for output, size in zip(outputs, sizes, strict=True)]
    np.testing.assert_array_equal(found[0], np.broadcast_to(B, (n, 4, 3)))
    np.testing.assert_array_equal(found[1], np.broadcast_to(A, (n, 4, 2)))
    slope = (z * y).sum(1)[:, None, None] * np.eye(3) + z[:, :, None] * y[:, None, :]
    np.testing.assert_allclose(found[2], slope, rtol=0, atol=1e-15)
    assert not found[3].any()
    assert kernel.count == 5 and plain.calls == [3] * 5 and kernel.dtype == F8
    assert kernel.description == "5 columns, each plain"


def test_columns_of_a_hessian_are_one_symmetric_matrix() -> None:
    """The mean of what stands on both sides of the diagonal."""
    H = np.arange(25.0).reshape(5, 5)

    def jvp(inputs: Sequence[Array]) -> Sequence[Array]:
        whole = np.concatenate([np.broadcast_to(x, (4, x.shape[1])) for x in inputs[2:]], axis=1) @ H.T
        return whole[:, :2], whole[:, 2:]

    kernel, out = ColumnsKernel(Kernel(jvp), (2, 3), (0, 1), (2, 3), True), np.full((4, 25), np.nan)
    kernel(4, [np.zeros((4, 2)), np.zeros((4, 3))], [out], 1)
    np.testing.assert_array_equal(out.reshape(4, 5, 5), np.broadcast_to((H + H.T) / 2, (4, 5, 5)))


@pytest.mark.parametrize(
    ("name", "by", "wide", "high", "columns"),
    [
        ("fd", None, [18, 18, 18], [18], 54),
        ("fd", ("q", "tau"), [18, 18, 18], [18], 36),
        ("fk", None, [18], [2 * 9, 2 * 3], 18),
    ],
)
def test_sizes_of_columns_are_those_of_tangents(
    name: str, by: Any, wide: list[int], high: list[int], columns: int
) -> None:
    """Of two frames."""
    tree = tree_of(HYQ, bound_of(HYQ, [*HYQ.frames][:2]))
    function = derivative("jacobian", function_of(name), by)
    of = columns_of(function)
    assert of is not None and not of.symmetric
    assert (widths(tree, of), heights(tree, of), count(tree, of)) == (wide, high, columns)
    row = {"function": "x", "route": "y", "mul": 3, "add": 0}
    want = {"function": function.name, "route": f"{columns} x {of.function}", "mul": 3 * columns, "add": 0}
    assert multiplied(row, function, tree, of) == want
    assert str(refused(function, of)).endswith(f"column by column; elsewhere call {of.function}")


def test_one_of_two_kernels_by_the_size_of_the_batch() -> None:
    first, second = (Kernel(lambda _, k=k: [float(k)], f"kernel {k}") for k in (1, 2))
    either, out = EitherKernel(first, second, lambda n: n < 3), np.zeros((1, 1))
    for n, answer in ((2, 1.0), (3, 2.0)):
        either(n, [], [out], 7)
        assert out[0, 0] == answer
    assert first.calls == second.calls == [7]
    assert either.dtype == F8 and either.description == "kernel 2, or kernel 1"


@pytest.mark.parametrize(
    ("n", "threads", "states", "piece"),
    [
        (10**6, 1, 1024, 1024),
        (10**6, 3, 1024, 3 * 1024),
        (10**6, 1, 960, 17 * 64),
        (100, 1, 1024, 100),
        (10**6, 1, TAPE, 64),
        (10, 1, TAPE, 10),
        (0, 1, 1024, 1),
        (10**7, 1, 0, 2**20),
    ],
)
def test_a_gradient_keeps_a_mib_of_states_a_thread(n: int, threads: int, states: int, piece: int) -> None:
    """states: bytes of a rollout's. 64 rollouts at the least, and whole multiples of as many."""
    kernel = GradientKernel(None, Kernel(lambda _: []), 1, (), {0: states // 16, 2: states // 16})
    assert TAPE == 1024**2 and kernel.piece(n, threads) == piece
    assert kernel.description == "forward and back, plain" and kernel.dtype == F8


def test_a_gradient_keeps_the_states_before_each_step() -> None:
    """Forward: x doubles in each of two steps, u by time is read but for the last; backward takes all states."""
    seen: list[tuple[list[tuple[int, ...]], Any]] = []

    def forward(inputs: Sequence[Array]) -> Sequence[Array]:
        seen.append(([x.shape for x in inputs], None))
        return [np.concatenate([2 * inputs[0], 4 * inputs[0]], axis=1)]

    def backward(inputs: Sequence[Array]) -> Sequence[Array]:
        seen.append(([x.shape for x in inputs], inputs[0].copy()))
        return [inputs[0].sum(axis=1, keepdims=True)]

    n, steps = 2**17 + 70, 3
    kernel = GradientKernel(Kernel(forward), Kernel(backward), steps, (1, 2, 1), {0: 1})
    x, u, out = np.arange(float(n))[:, None], np.zeros((n, steps)), np.full((n, 1), np.nan)
    kernel(n, [x, u, np.zeros((1, 1))], [out], 1)
    np.testing.assert_array_equal(out, 7 * x)
    most = 2**20 // 24 // 64 * 64
    rows = [*[most] * (n // most), n % most]
    assert [shapes for shapes, _ in seen[::2]] == [[(k, 1), (k, 2), (1, 1)] for k in rows]
    assert [shapes for shapes, _ in seen[1::2]] == [[(k, 3), (k, 3), (1, 1)] for k in rows]
    np.testing.assert_array_equal(seen[-1][1], x[-rows[-1] :] * [1.0, 2.0, 4.0])


def test_a_function_is_recorded_as_calls_of_others() -> None:
    """2 M(q) v, by the mass matrix of another kernel; NumPy is quiet between."""
    robot = condyle.chain(3, rng=0)
    tree, n = tree_of(robot), 4
    q, v = robot.random_state(n, 0)
    asked: list[int] = []

    def mass(inputs: Sequence[Array]) -> Sequence[Array]:
        assert inputs[0].dtype == F8 and inputs[0].shape == (n, 3)
        return [robot.compile("numpy").mass_matrix(inputs[0]).reshape(n, 9)]

    def record(calls: Calls, given: Any) -> list[list[Any]]:
        (entries,) = calls.call(function_of("m"), [*given["q"][:2], given["q"][2]])
        asked.append(calls.threads)
        still = given["v"][0] / np.zeros(n)
        return [[2 * sum(entries[3 * k + j] * given["v"][j] for j in range(3)) for k in range(3)], [still]]

    kernel = ComposedKernel(tree, record, ("q", "v"), lambda _: Kernel(mass), F8, "calls of m")
    answers = np.full((n, 3), np.nan), np.zeros((n, 1))
    kernel(n, [q, v], answers, 5)
    want = 2 * np.einsum("nij,nj->ni", robot.compile("numpy").mass_matrix(q), v)
    np.testing.assert_allclose(answers[0], want, rtol=1e-14)
    assert np.isinf(answers[1]).all() and asked == [5]
