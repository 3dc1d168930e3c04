"""A user's function repeated until it is done: the same to the bit as a rollout of as many steps, state by state."""

from __future__ import annotations

import pickle
import re
from typing import Any

import numpy as np
import pytest

import condyle
from condyle import Robot, ShapeError, UnsupportedError
from tests.laws.robots import robot_named
from tests.processor import slow

Array = np.ndarray
MOST = 20
SIZES = (1, 3, 8, 9, 100)


def roots(x: Any, a: Any, gain: Any) -> dict[str, Any]:
    """Square roots by Newton's method; done where all are near, and never with a NaN among them."""
    y = x + 0.5 * gain * (a / x - x)
    far = np.max(np.abs(y * y - a) / a)
    return {"x": y, "done": 1e-6 - far, "cost": np.sum(np.abs(y - x)), "step": y - x}


def walk(at: Any, goal: Any) -> dict[str, Any]:
    """A configuration that goes to its goal in its own space."""
    v = 0.5 * (goal - at.v)
    return {"q": at.integrate(v), "v": at.v + v, "done": np.where(v @ v < 1e-4, 1.0, 0.0)}


def made(target: str, dtype: str = "float64") -> Any:
    return condyle.function(roots, inputs={"x": 3, "a": 3, "gain": ()}).compile(target, dtype=dtype, threads=2)


def drawn(n: int, dtype: str, by_time: bool = False, seed: int = 0) -> list[Array]:
    """Quick states and slow ones, some done at the first step, some never, some with NaN."""
    rng = np.random.default_rng(seed)
    a = np.exp(rng.normal(size=(n, 3)))
    x = np.sqrt(a) * np.exp(rng.choice([0.0, 0.1, 3.0, 9.0, 20.0], (n, 1)) * rng.normal(size=(n, 3)))
    x[rng.uniform(size=n) < 0.1, 1] = np.nan
    gain = rng.choice([1.0, 0.9], (n, MOST) if by_time else n)
    return [np.ascontiguousarray(part, dtype) for part in (x, a, gain)]


def every_step(f: Any, given: list[Array], timed: tuple[str, ...]) -> Any:
    """The answers of all steps, with those of the sum."""
    rows = f.rollout(*given, by_time=timed, steps=MOST)
    return rows._replace(cost=np.add.accumulate(rows.cost, axis=-1))


def check(f: Any, given: list[Array], timed: tuple[str, ...] = (), together: bool = False) -> Array:
    """The answers are those of the rollout at each state's last step; gives the numbers of iterations."""
    until: Any = ("done", "any") if together else "done"
    found = f.iterate(*given, until=until, most=MOST, by_time=timed, sum="cost")
    expected, n = every_step(f, given, timed), len(given[0])
    done = expected.done > 0.0
    done = np.broadcast_to(done.any(axis=0), done.shape) if together else done
    last = np.where(done.any(axis=1), done.argmax(axis=1), MOST - 1)
    np.testing.assert_array_equal(found.iterations, last + 1)
    for name in expected._fields:
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name)[np.arange(n), last], name)
    return found.iterations


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("target", ["cpu", "numpy", slow("c")])
@pytest.mark.parametrize("timed", [(), ("gain",)])
def test_each_state_ends_as_its_rollout(target: str, dtype: str, timed: tuple[str, ...]) -> None:
    f = made(target, dtype)
    for n in SIZES if target != "cpu" else (*SIZES, 1000):
        counts = check(f, drawn(n, dtype, bool(timed)), timed)
    assert counts.min() == 1 and counts.max() == MOST and len(set(counts)) > 5


@pytest.mark.parametrize("target", ["cpu", "numpy", slow("c")])
@pytest.mark.parametrize("timed", [(), ("gain",)])
def test_candidates_of_one_query_end_together(target: str, timed: tuple[str, ...]) -> None:
    f = made(target)
    for n in SIZES:
        x, a, gain = drawn(n, "float64", bool(timed), n)
        x[:] = np.abs(x) * 1e3
        check(f, [x, a, gain], timed, together=True)
    never = f.iterate(np.full((9, 3), np.nan), np.ones(3), 1.0, until=("done", "any"), most=7)
    np.testing.assert_array_equal(never.iterations, np.full(9, 7.0))


def test_neither_place_nor_batch_nor_threads_change_an_answer() -> None:
    given = drawn(1000, "float64")
    f = made("cpu")
    alone = condyle.function(roots, inputs={"x": 3, "a": 3, "gain": ()}).compile(threads=1)
    every = f.iterate(*given, most=MOST)
    order = np.random.default_rng(1).permutation(1000)
    for found, states in (
        (alone.iterate(*given, most=MOST), slice(None)),
        (f.iterate(*(part[order] for part in given), most=MOST), order),
        (f.iterate(*(part[333:351] for part in given), most=MOST), slice(333, 351)),
        (f.iterate(*(part[990:992] for part in given), most=MOST), slice(990, 992)),
    ):
        for one, other in zip(found, every, strict=True):
            np.testing.assert_array_equal(one, other[states])


def test_what_all_states_share_and_packed_arrays_and_out() -> None:
    f, (x, a, gain) = made("cpu"), drawn(100, "float64")
    expected = f.iterate(x[:1], a, gain, most=MOST)
    for one, other in zip(f.iterate(x[0], a, gain, most=MOST), expected, strict=True):
        np.testing.assert_array_equal(one, other)
    packed = f.iterate(*(f.pack(part, name) for part, name in ((x, "x"), (a, "a"), (gain, "gain"))), most=MOST)
    out = tuple(np.full_like(part, np.nan) for part in expected)
    assert f.iterate(x=x, a=a, gain=gain, most=MOST, out=out) is not None
    for one, other in zip(packed, out, strict=True):
        np.testing.assert_array_equal(one.dense(), other)


@pytest.mark.parametrize("target", ["cpu", "numpy", slow("c")])
def test_a_configuration_is_carried(target: str) -> None:
    robot: Robot = robot_named("floating-2")
    f = robot.function(walk, inputs={"q": "nq", "v": "nv", "goal": "nv"}).compile(target)
    q, v = robot.random_state(9, np.random.default_rng(0))
    found = f.iterate(q, v, v[::-1], most=30)
    assert len(set(found.iterations)) > 1 and np.all(found.done > 0.0)
    for k in range(9):
        rows = f.rollout(q[k], v[k], v[8 - k], steps=int(found.iterations[k]), last=True)
        assert rows.done > 0.0
        np.testing.assert_array_equal(found.q[k], rows.q)
    again = pickle.loads(pickle.dumps(f)).iterate(q, v, v[::-1], most=30)
    np.testing.assert_array_equal(again.q, found.q)


def test_what_cannot_be_is_said() -> None:
    f, (x, a, gain) = made("numpy"), drawn(5, "float64")
    for options, said in (
        ({"until": "x"}, "until='x'; name an output that is one number: done, cost"),
        ({"until": 3}, r"until=3; give the name of an output, or \('done', 'any'\)"),
        ({"until": ("done", "all")}, r"until=\('done', 'all'\); give the name"),
        ({"most": 0}, "iterate: most=0; give a whole number from 1 to 16777216"),
        ({"most": 2.5}, "iterate: most=2.5; give a whole number"),
        ({"by_time": "x"}, "iterate: by_time=.*give some of its inputs that are not carried, each once: a, gain"),
        ({"by_time": 3}, "iterate: by_time=3: give names"),
        ({"sum": "x"}, "iterate: sum=.*give some of its outputs that are not carried, each once: done, cost, step"),
    ):
        with pytest.raises(UnsupportedError, match=said):
            f.iterate(x, a, gain, **options)
    with pytest.raises(ShapeError, match="most=50, and the time axes have other lengths: gain 5: give 50 rows"):
        f.iterate(x, a, gain, by_time="gain")
    with pytest.raises(UnsupportedError, match=r"vjp\('iterate'\): an iteration that ends has no such derivative"):
        f.vjp("iterate")
    with pytest.raises(TypeError, match="missing"):
        f.iterate(x, a)
    counts = condyle.function(lambda x: {"x": 2 * x, "done": x[0], "iterations": x[1]}, inputs={"x": 2}).compile(
        "numpy"
    )
    with pytest.raises(UnsupportedError, match="an output 'iterations': give it another name"):
        counts.iterate(x[:, :2])
    shorter = condyle.function(lambda x: {"x": x[:2], "done": x[0]}, inputs={"x": 3}).compile("numpy")
    with pytest.raises(ShapeError, match=r"iterate of .*output x has shape \(2,\), input x has shape \(3,\)"):
        shorter.iterate(x)


def test_what_ran_is_said() -> None:
    for target, form in (("cpu", "tiles of [0-9]+ states, one that is done leaves"), ("numpy", "all states take each")):
        f, (x, a, gain) = made(target), drawn(100, "float64")
        assert "iterate" not in f.explain(5)
        counts = f.iterate(x, a, gain, most=MOST).iterations
        lines = f.explain(5).splitlines()
        assert "at most 20 times, until done > 0 for each state: roots" in lines[-2]
        said = f"states 100, iterations on average {counts.mean():.1f}, at the most 20 of 20"
        assert lines[-1].startswith("the last call of iterate: at most 20 steps") and lines[-1].endswith(said)
        assert re.search(form, lines[-1])
