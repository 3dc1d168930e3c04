"""The same state gives the same bits: anywhere in a batch, on any number of threads, whatever stands beside it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import condyle
from condyle import Dynamics
from condyle.functions import DEFAULT, FUNCTIONS
from tests.laws.robots import changed, states

Compiled = Callable[..., Dynamics]
N = 67  # no multiple of a vector's length
ROBOT = changed(condyle.random_tree(3, rng=6), armature=True, gravity=(1.0, -2.0, 4.0))


def arguments(function: str, dtype: str) -> list[np.ndarray]:
    q, v, a, _ = states(ROBOT, N)
    Minv = np.random.default_rng(1).uniform(-1, 1, (N, ROBOT.nv, ROBOT.nv))
    known = {"q": q, "v": v, "a": a, "tau": a, "Minv": Minv}
    return [known[port.name].astype(dtype) for port in FUNCTIONS[function].inputs]


def bits(answer: object) -> np.ndarray:
    arrays = answer if isinstance(answer, tuple) else (answer,)
    return np.concatenate([array.reshape(len(array), -1) for array in arrays], axis=1)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("function", DEFAULT)
def test_place_in_the_batch(function: str, dtype: str, compiled: Compiled) -> None:
    call = compiled(ROBOT, dtype).function(function)
    inputs = arguments(function, dtype)
    whole = bits(call(*inputs))
    order = np.random.default_rng(0).permutation(N)
    assert np.array_equal(bits(call(*(x[order] for x in inputs))), whole[order])
    for part in (slice(0, 1), slice(5, 6), slice(3, 12), slice(N - 1, N)):
        assert np.array_equal(bits(call(*(x[part] for x in inputs))), whole[part])


@pytest.mark.parametrize("function", ["id", "dfd"])
def test_number_of_threads(function: str, compiled: Compiled) -> None:
    inputs = [np.tile(x, (60, *([1] * (x.ndim - 1)))) for x in arguments(function, "float64")]
    one, many = (compiled(ROBOT, threads=n).function(function) for n in (1, 7))
    first = bits(one(*inputs))
    assert np.array_equal(bits(many(*inputs)), first)
    assert np.array_equal(bits(one(*inputs)), first)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("function", DEFAULT)
def test_a_state_that_is_no_number_spoils_itself_only(function: str, bad: float, compiled: Compiled) -> None:
    call = compiled(ROBOT).function(function)
    inputs = arguments(function, "float64")
    whole = bits(call(*inputs))
    for spoilt in inputs:
        spoilt[20] = bad
    answer = bits(call(*inputs))
    others = np.arange(N) != 20
    assert np.array_equal(answer[others], whole[others])
    assert not np.isfinite(answer[20]).all()


def test_where_the_numbers_stand_in_memory(compiled: Compiled) -> None:
    call = compiled(ROBOT).function("id")
    q, v, a = arguments("id", "float64")
    strided = [np.asfortranarray(q), np.repeat(v, 2, axis=0)[::2], a[::-1].copy()[::-1]]
    assert np.array_equal(call(*strided), call(q, v, a))
    assert np.array_equal(call(q[0], v, a)[0], call(q, v, a)[0])
