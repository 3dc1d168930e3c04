"""The meaning of a loop over time: all kinds of inputs and outputs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from condyle.ir.expr import Graph
from condyle.ir.interp import run_repeated
from condyle.ir.loops import Give, Repeated, Take, TimeLoop, verify_repeated
from condyle.ir.program import Array, Program

N = 3


def body() -> Program:
    """x, u, c -> 2 x + u, c x."""
    graph = Graph()
    x, u, c = (graph.input(k, 0) for k in range(3))
    values = [(0, 0, 2.0 * x + u), (1, 0, c * x)]
    names = [tuple(Array(name, (1,)) for name in of) for of in (("x", "u", "c"), ("x_next", "y"))]
    return graph.program("body", *names, values)


def code(steps: int, takes: tuple[Take, ...], gives: tuple[Give, ...], backwards: bool = False) -> Repeated:
    loop, of = TimeLoop(steps, takes, gives, backwards), body()
    inputs = tuple(
        Array(a.name, (loop.rows(t.every) if t.every else 1,)) for a, t in zip(of.inputs, takes, strict=True)
    )
    arrays = tuple(Array(f"o{k}", (loop.rows(g.every) if g.every else 1,)) for k, g in enumerate(gives))
    return verify_repeated(Repeated("repeated", of, loop, inputs, arrays))


def test_carried_by_time_and_held() -> None:
    made = code(5, (Take(0), Take(every=1), Take()), (Give(0, 2), Give(0), Give(1, summed=True)))
    x, u, c = np.array([[1.0], [2.0], [3.0]]), np.arange(15.0).reshape(3, 5), np.array([[10.0]])
    every, last, total = run_repeated(made, [x, u, c])
    states, sums = [], np.zeros((N, 1))
    for t in range(5):
        sums = sums + c * x
        x = 2.0 * x + u[:, t : t + 1]
        states.append(x)
    np.testing.assert_array_equal(every, np.concatenate([states[1], states[3], states[4]], axis=1))
    np.testing.assert_array_equal(last, states[4])
    np.testing.assert_array_equal(total, sums)


def test_backward_with_rows_added_at_kept_steps() -> None:
    made = code(5, (Take(0, 2), Take(-1, 3), Take(every=1)), (Give(0), Give(1, 1)), backwards=True)
    added, rows, c = np.ones((N, 3)), np.array([[10.0, 20.0]]), np.arange(5.0)[None]
    last, each = run_repeated(made, [added, rows, c])
    x, expected = 0.0, np.zeros(5)
    for t in (4, 3, 2, 1, 0):
        x += 1.0 if t in (1, 3, 4) else 0.0
        expected[t] = t * x
        x = 2.0 * x + {2: 10.0, 4: 20.0}.get(t, 0.0)
    np.testing.assert_array_equal(last, np.full((N, 1), x))
    np.testing.assert_array_equal(each, np.broadcast_to(expected, (N, 5)))


def test_a_lone_row_keeps_the_sign_of_zero() -> None:
    made = code(1, (Take(0), Take(every=1), Take()), (Give(1, summed=True),))
    (total,) = run_repeated(made, [np.array([[1.0]]), np.array([[0.0]]), np.array([[-0.0]])])
    assert np.signbit(total[0, 0])


@pytest.mark.parametrize("every", [1, 2, 3, 5, 7])
def test_kept_steps(every: int) -> None:
    loop = TimeLoop(5, (), ())
    kept = [t for t in range(5) if loop.row(every, t) >= 0]
    assert kept == sorted({*range(every - 1, 5, every), 4})
    assert [loop.row(every, t) for t in kept] == list(range(loop.rows(every)))


def test_what_breaks_a_rule_is_found() -> None:
    made = code(5, (Take(0), Take(every=1), Take()), (Give(0, 2),))
    for wrong in (
        replace(made, loop=replace(made.loop, steps=0)),
        replace(made, loop=replace(made.loop, steps=6)),
        replace(made, loop=replace(made.loop, takes=(Take(2), Take(every=1), Take()))),
        replace(made, loop=replace(made.loop, gives=(Give(2, 2),))),
        replace(made, loop=replace(made.loop, gives=(Give(0, 2, summed=True),))),
    ):
        with pytest.raises(AssertionError):
            verify_repeated(wrong)
