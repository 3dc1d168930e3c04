"""Which inputs have a time axis, how many steps they say, and what of a rollout is NaN: by hand."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from condyle import AccuracyWarning, ShapeError, UnsupportedError
from condyle.calls.rollouts import (
    Options,
    RolloutCall,
    names,
    risen,
    steps_of,
    stop_torn,
    timed_names,
    timed_ports,
)
from condyle.functions import function_of

AXES: Sequence[tuple[str, Any, int]] = (("tau", np.zeros((4, 5, 7)), 1), ("dt", np.zeros((4, 5)), 0))


def test_steps_are_those_of_the_time_axes_or_as_they_are_said() -> None:
    """A time axis stands before the axes of one step, whatever stands before it."""
    assert steps_of(AXES, None) == steps_of(AXES, 5) == steps_of((), 5) == 5
    assert steps_of([("x", np.zeros((3, 2, 7)), 2)], None) == 3
    assert steps_of([("x", [[0.0] * 7] * 2, 1)], None) == 2
    assert type(steps_of(AXES, None)) is int


@pytest.mark.parametrize(
    ("timed", "steps", "called", "error", "said"),
    [
        (
            (),
            None,
            "rollout",
            UnsupportedError,
            "rollout: no input has a time axis: name some in by_time=, or say steps=",
        ),
        (
            (),
            [5],
            "rollout",
            UnsupportedError,
            "rollout: steps=[5]; give a whole number, which jit and vmap do not trace",
        ),
        (
            (),
            [5],
            "iterate",
            UnsupportedError,
            "iterate: most=[5]; give a whole number, which jit and vmap do not trace",
        ),
        (
            [("dt", np.zeros(3), 0), AXES[0]],
            None,
            "rollout",
            ShapeError,
            "rollout: the time axes disagree: dt 3, tau 5: give each input in by_time the same steps",
        ),
        (
            AXES[:1],
            6,
            "rollout",
            ShapeError,
            "rollout: the time axes disagree: tau 5; steps=6: give each input in by_time the same steps",
        ),
        (
            AXES,
            6,
            "iterate",
            ShapeError,
            "iterate: most=6, and the time axes have other lengths: tau 5, dt 5: give 6 rows",
        ),
        (
            [("tau", np.zeros(7), 1)],
            None,
            "rollout",
            ShapeError,
            "rollout: tau has shape (7,), expected a time axis: (..., steps, 7); steps=T holds it for T steps",
        ),
        (
            [("gain", np.zeros((2, 3)), 2)],
            4,
            "iterate",
            ShapeError,
            "iterate: gain has shape (2, 3), expected a time axis: (..., steps, 2, 3)",
        ),
        (
            [("tau", np.zeros((4, 0, 7)), 1)],
            None,
            "rollout",
            ShapeError,
            "rollout: tau has shape (4, 0, 7): its time axis has no step; give at least one",
        ),
    ],
)
def test_steps_that_are_not_said_or_said_twice(
    timed: Any, steps: Any, called: str, error: type[Exception], said: str
) -> None:
    with pytest.raises(error) as info:
        steps_of(timed, steps, called)
    assert str(info.value) == said


def test_names_are_one_or_several() -> None:
    assert names("tau") == ("tau",) and names(["tau", "dt"]) == ("tau", "dt") and names(()) == ()
    for options, said in (((), "rollout: by_time=3: "), (("sum", "iterate"), "iterate: sum=3: ")):
        with pytest.raises(UnsupportedError, match=f"^{said}give names of inputs or outputs"):
            names(3, *options)  # type: ignore[arg-type]


def test_what_is_carried_has_no_time_axis_of_its_own() -> None:
    assert timed_ports(function_of("step"), ("dt", "q", "tau")) == [(2, "tau", 1), (3, "dt", 0)]


def timed(q: Any, v: Any, tau: Any, steps: int | None = None, by_time: Any = ()) -> tuple[tuple[str, ...], list[str]]:
    """Names of inputs with a time axis, and what is warned of, by shapes."""
    warned = list[str]()
    arrays = {name: np.zeros(shape) for name, shape in (("q", q), ("v", v), ("tau", tau))}
    return timed_names(("tau",), by_time, steps, arrays, warned.append), warned


HELD = "steps=T holds one row for each state for T steps; by_time=('tau',) says that tau has a time axis"


def test_torques_have_a_time_axis_unless_steps_hold_them() -> None:
    assert timed((7,), (6,), (5, 6)) == (("tau",), [])
    assert timed((7,), (6,), (6,), 5) == ((), [])
    assert timed((7,), (6,), (5, 6), None, "dt") == (("tau", "dt"), [])
    assert timed((7,), (6,), (5, 6), None, ("dt", "tau")) == (("tau", "dt"), [])
    assert timed((7,), (6,), (6,), 5, ("dt",)) == (("dt",), [])
    assert timed_names((), "x", None, {}) == ("x",)


@pytest.mark.parametrize(
    ("shapes", "steps", "read"),
    [
        (((4, 7), (4, 6), (4, 6)), None, 4),
        (((4, 7), (6,), (4, 6)), None, 4),
        (((7,), (4, 6), (4, 6)), None, 4),
        (((1, 7), (1, 6), (1, 6)), None, 0),
        (((4, 7), (4, 6), (3, 6)), None, 0),
        (((4, 7), (4, 6), (4, 5, 6)), None, 0),
        (((7,), (6,), (5, 6)), 5, 5),
        (((7,), (6,), (1, 6)), 5, 0),
        (((7,), (6,), (4, 6)), 5, 0),
        (((4, 7), (4, 6), (4, 6)), 4, 0),
    ],
)
def test_torques_that_could_be_meant_otherwise_are_a_warning(shapes: Any, steps: int | None, read: int) -> None:
    """Of the shape of v, or with an axis as long as the steps; one row has but one reading."""
    q, v, tau = shapes
    _, said = timed(q, v, tau, steps)
    if not read:
        assert said == []
    elif steps is None:
        assert said == [
            f"rollout: tau has shape {tau}, one row for each state, and is read as {read} time steps: {HELD}"
        ]
    else:
        text = (
            f"rollout: tau has shape {tau} and is held for steps={steps}: what looks like a time axis is one of "
            "states: leave steps= out, or add by_time=('tau',), if tau has a time axis; give q the same batch if it "
            "has none"
        )
        assert said == [text]
    assert timed(q, v, tau, steps, ("tau",))[1] == []


@pytest.mark.parametrize(
    ("shapes", "steps"),
    [
        (((2, 4, 7), (2, 4, 6), (2, 4, 6)), None),
        (((4, 7), (4, 6), (4, 5, 6)), 5),
        (((4, 7), (4, 6), (4, 1, 6)), 5),
    ],
)
def test_torques_whose_batch_would_be_taken_for_time_are_an_error(shapes: Any, steps: int | None) -> None:
    with pytest.raises(ShapeError, match=r"^rollout: tau has shape"):
        timed(*shapes, steps)


def test_flags_rise_where_they_were_off() -> None:
    """Never in the first step; of a flag in part as much as it may rise."""
    active = [[0.0, 1.0], [1.0, 1.0], [1.0, 0.0], [0.0, 0.5]]
    want = [[0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [0.0, 0.5]]
    np.testing.assert_array_equal(risen(active, "f8"), want)
    np.testing.assert_array_equal(risen([active, active], "f4"), [want, want])
    assert risen(active, "f4").dtype == np.float32
    np.testing.assert_array_equal(risen([1, 0], "f8"), [1.0, 0.0])


class Noted(RolloutCall):
    """What a call asks for."""

    def bound(self, args: Any, named: Any) -> Any:
        return {**dict(zip("qv", args, strict=False)), **named}

    def run(self, arguments: Any, options: Options) -> Any:
        return arguments, options


def test_a_call_says_all_options() -> None:
    asks = Noted(("goal",))
    assert asks(1, 2, goal=3) == ({"q": 1, "v": 2, "goal": 3}, Options(("goal",), 1, False, (), None, "", False))
    assert asks(every=3, by_time="w", sum="cost")[1] == Options(("goal", "w"), 3, False, ("cost",), None, "", False)
    assert asks(last=True, steps=4)[1] == Options((), 1, True, (), 4, "", False)
    assert asks.iterate((1,), {"v": 2}) == ({"q": 1, "v": 2}, Options((), 1, True, (), 50, "done", False))
    asked = asks.iterate((), {}, ("end", "any"), 7, "w", ("cost",))[1]
    assert asked == Options(("w",), 1, True, ("cost",), 7, "end", True)
    assert asked.called == "iterate" and asks()[1].called == "rollout"


@pytest.mark.parametrize("until", [3, "", None, ("done",), ("done", "all"), ("done", "any", "more"), ("", "any")])
def test_an_end_is_one_output_or_any_of_a_query(until: Any) -> None:
    with pytest.raises(UnsupportedError, match=r"^iterate: until=.*; give the name of an output, or \('done', 'any'\)"):
        Noted(()).iterate((), {}, until)


def torn(v: Any, dt: Any, last: bool = False, asked: Any = (1.0,)) -> tuple[np.ndarray, list[str]]:
    """Which states are NaN after a rollout with these speeds, and what is said of it."""
    v = np.array(v, np.float64)
    q = np.zeros((*v.shape[:-1], 3))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        stop_torn((q, v), np.asarray(dt), last, asked)  # type: ignore[arg-type]
    assert np.array_equal(np.isnan(q).all(axis=-1), np.isnan(q).any(axis=-1))
    assert np.array_equal(np.isnan(q).any(axis=-1), np.isnan(v).all(axis=-1))
    assert all(one.category is AccuracyWarning for one in seen)
    return np.isnan(v).all(axis=-1), [str(one.message) for one in seen]


SAID = (
    "rollout: states {} pass 100 rad or m in one step; they are NaN from there on; take a smaller dt, or other gains "
    "of the contacts: see docs/how-to/loops.md, Limits"
)


def test_a_state_that_passes_100_in_a_step_is_nan_from_there_on() -> None:
    slow, fast = [[1.0, -2.0]] * 3, [[1.0, 0.0], [0.0, -20_001.0], [1.0, 20_001.0]]
    assert torn([slow, fast], 0.005)[0].tolist() == [[False] * 3, [False, True, True]]
    assert torn([slow, fast], 0.005)[1] == [SAID.format("1")]
    assert torn([slow, fast], [0.005, 0.004])[1] == []
    exact = [[1.0, 0.0], [0.0, 1.0], [0.0, 20_000.0]]
    assert torn([exact, exact], 0.005)[1] == [] and torn([exact, fast], 0.005)[1] == [SAID.format("1")]
    assert torn([slow[0], fast[1]], 0.005, last=True)[0].tolist() == [False, True]
    assert torn([fast[1]] * 5, 0.005, last=True)[1] == [SAID.format("0, 1, 2 and 2 more")]
    assert torn(np.zeros((0, 3, 2)), np.zeros(0))[1] == []


def test_a_state_that_comes_back_stays_torn() -> None:
    """As long as one of the batch is fast at the end: answers that are slow again were not looked at."""
    back = [[1.0, 0.0], [0.0, 1e6], [1.0, 1.0]]
    ends = [[1.0, 0.0], [0.0, 1.0], [1.0, 1e6]]
    assert torn([back, ends], 0.005)[0].tolist() == [[False, True, True], [False, False, True]]


def test_nothing_is_said_of_states_that_were_no_numbers_already() -> None:
    fast = [[[0.0, 1e6]] * 2]
    assert torn(fast, 0.005, asked=(1.0, None, np.zeros(3)))[1] == [SAID.format("0")]
    for asked in ((np.nan,), (1.0, np.inf), (None, [0.0, np.nan])):
        is_nan, said = torn(fast, 0.005, asked=asked)
        assert is_nan.all() and said == []


def test_a_call_of_no_function_binds_and_runs_nothing() -> None:
    bare: Any = RolloutCall(())
    for use in (lambda: bare.bound((), {}), lambda: bare.run({}, Options((), 1, False, (), None, "", False))):
        with pytest.raises(NotImplementedError):
            use()
