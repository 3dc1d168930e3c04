"""The meaning of a loop over time: all kinds of inputs and outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

import condyle
from condyle.functions import FUNCTIONS
from condyle.ir.expr import Graph
from condyle.ir.interp import repeat, run, run_code, run_repeated
from condyle.ir.loops import COUNT, Give, Repeated, Take, TimeLoop, verify_repeated
from condyle.ir.program import Array, Program
from condyle.ir.segments import Segmented
from condyle.model.tree import tree_of
from condyle.trace.loops import roll
from condyle.trace.reference import evaluate
from condyle.trace.straight import trace

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


def test_rows_and_the_last_step() -> None:
    forward, backward = TimeLoop(5, (), ()), TimeLoop(5, (), (), backwards=True)
    assert [*forward.times()] == [0, 1, 2, 3, 4] and [*backward.times()] == [4, 3, 2, 1, 0]
    assert (forward.last, backward.last) == (4, 0)
    assert [forward.rows(every) for every in (0, 1, 2, 3, 5, 6)] == [1, 5, 3, 2, 1, 1]


@pytest.mark.parametrize(("steps", "expected"), [(1, 1), (7, 7), (8, 8), (9, 8), (128, 8), (144, 9), (1600, 100)])
def test_a_loop_that_ends_by_itself_is_expected_to_take_a_part_of_its_steps(steps: int, expected: int) -> None:
    assert TimeLoop(steps, (), ()).expected == steps
    assert [TimeLoop(steps, (), (), until=k).expected for k in (0, 3)] == [expected, expected]


def countdown() -> Program:
    """x -> flag, x - 1; the flag is 1 - x."""
    graph = Graph()
    x = graph.input(0, 0)
    arrays = (Array("flag", (1,)), Array("x_next", (1,)))
    return graph.program("countdown", (Array("x", (1,)),), arrays, [(0, 0, 1.0 - x), (1, 0, x - 1.0)])


def ending(steps: int, together: bool = False) -> Repeated:
    gives = (Give(1), Give(COUNT), Give(1, summed=True))
    loop = TimeLoop(steps, (Take(1),), gives, until=0, together=together)
    names = tuple(Array(name, (1,)) for name in ("x", "count", "sum"))
    return verify_repeated(Repeated("ending", countdown(), loop, names[:1], names))


@pytest.mark.parametrize(
    ("steps", "together", "answers"),
    [
        (10, False, [(-1, 2, -1), (-1, 3, 0), (-1, 4, 2)]),
        (3, False, [(-1, 2, -1), (-1, 3, 0), (0, 3, 3)]),
        (10, True, [(-1, 2, -1), (0, 2, 1), (1, 2, 3)]),
        (1, False, [(0, 1, 0), (1, 1, 1), (2, 1, 2)]),
    ],
)
def test_the_first_step_whose_flag_is_above_zero_is_the_last_one(
    steps: int, together: bool, answers: list[tuple[int, int, int]]
) -> None:
    """From 1, 2 and 3: a flag of 0 ends nothing."""
    found = run_repeated(ending(steps, together), [np.array([[1.0], [2.0], [3.0]])], np.float32)
    assert np.concatenate(found, axis=1).tolist() == [list(row) for row in answers]
    assert [one.dtype for one in found] == [np.float32] * 3


def test_no_step_is_taken_when_all_have_ended() -> None:
    made, calls = ending(10), list[int]()

    def step(values: Sequence[np.ndarray]) -> list[np.ndarray]:
        calls.append(1)
        return run(made.body, values)  # type: ignore[arg-type]

    answers = [np.full((2, 1), np.nan) for _ in range(3)]
    repeat(made.loop, step, [1], [np.array([[1.0], [2.0]])], answers)
    assert len(calls) == 3
    assert [answer[:, 0].tolist() for answer in answers] == [[-1, -1], [2, 3], [-1, 0]]


def test_one_row_serves_all_states_and_arrays_keep_their_shapes() -> None:
    made = code(2, (Take(0), Take(every=1), Take()), (Give(0, 1), Give(1)))
    every, last = run_repeated(made, [np.ones((1, 1)), np.zeros((1, 2)), np.arange(3.0)[:, None]])
    assert every.tolist() == [[2.0, 4.0]] * 3 and last[:, 0].tolist() == [0.0, 2.0, 4.0]


@pytest.mark.parametrize("form", ["program", "loops", "segments"])
def test_a_body_may_have_any_form(form: str) -> None:
    robot = condyle.chain(2)
    tree, function = tree_of(robot), FUNCTIONS["id"]
    straight = trace(tree, function, "rnea")
    segments = Segmented("id", straight.inputs, straight.arrays, (), (straight,))
    body = {"program": straight, "loops": roll(tree, function), "segments": segments}[form]
    inputs = [np.linspace(0.1, 0.9, 6).reshape(3, 2), np.full((1, 2), 0.5), np.ones((3, 2))]
    (found,) = run_code(body, inputs, np.float64)
    expected = evaluate(tree, function, "rnea", dict(zip("qva", inputs, strict=True)))[0]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_loop_that_is_sound_passes() -> None:
    one = code(1, (Take(), Take(), Take()), (Give(0),))
    assert verify_repeated(one) is one
    held = code(5, (Take(1, 5), Take(0, 7), Take(-1, 2)), (Give(1, 5), Give(0, 7), Give(1, summed=True)))
    assert verify_repeated(held) is held


def test_a_number_of_steps_is_one_number_and_comes_once() -> None:
    made = ending(10)
    two, gives = Array("two", (2,)), made.loop.gives
    for wrong in (
        replace(made, arrays=(made.arrays[0], two, made.arrays[2])),
        replace(made, loop=replace(made.loop, gives=(gives[0], Give(COUNT, 10), gives[2]))),
        replace(made, loop=replace(made.loop, gives=(Give(1, 10), *gives[1:]))),
        replace(made, loop=replace(made.loop, gives=(Give(-2), *gives[1:]))),
        replace(made, loop=replace(made.loop, gives=gives[:2])),
        replace(made, body=replace(made.body, arrays=(two, made.body.arrays[1]))),  # type: ignore[type-var]
        replace(made, body=replace(made.body, arrays=(made.body.arrays[0], two))),  # type: ignore[type-var]
    ):
        with pytest.raises(AssertionError):
            verify_repeated(wrong)


def test_inputs_fit_what_is_taken() -> None:
    made = code(5, (Take(0), Take(every=1), Take()), (Give(0, 2),))
    loop, (x, u, c), longer = made.loop, made.inputs, Array("longer", (2,))
    for wrong in (
        replace(made, inputs=(longer, u, c)),
        replace(made, inputs=(x, longer, c)),
        replace(made, inputs=(x, u)),
        replace(made, loop=replace(loop, takes=loop.takes[:2])),
        replace(made, loop=replace(loop, takes=(Take(0), Take(every=-1), Take()))),
        replace(made, loop=replace(loop, gives=(Give(0, -2),))),
        replace(made, arrays=(longer,)),
    ):
        with pytest.raises(AssertionError):
            verify_repeated(wrong)


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
