"""`condyle.random`: random numbers that are a function of a key and a counter, of symbols and of numbers alike.

The same key and counter give the same numbers, on every target and in both types; another word gives others. So nothing
is kept from one call to the next.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index
from typing import Any, cast

import numpy as np

from condyle import scalar
from condyle.operations import WORDS, uniforms
from condyle.symbolic.arrays import Symbols, numbers_of
from condyle.symbolic.elementwise import Entries
from condyle.symbolic.reductions import held_in, source_of

__all__ = ["normal", "seed_words", "uniform"]

KEYS, COUNTERS = 4, 3
"""Words of a key and of a counter; the fourth word of the counter is the number of the block."""


def uniform(key: Any, counter: Any, shape: int | tuple[int, ...] = ()) -> Any:
    """Return numbers that are equally likely everywhere in [0, 1), an array (..., *shape).

    x = (w mod 2**23) 2**-23, w being the words of Threefry4x32 with twenty rounds, four of each block. A number is a
    multiple of 2**-23, the same in float32 and in float64. Derivatives are zero.

    key, counter: one to four, and one to three, whole numbers from 0 to 2**23 - 1, such as a seed, a robot, an episode,
    and a step, a purpose; those left out are 0. Each is an array with the words on its last axis, or a list of words,
    which are numbers, arrays of any leading dimensions or symbols of a user's function. shape: of the result for one
    key and counter. Two calls with the same key and counter begin with the same numbers: give each its purpose.

    Errors: ValueError for numbers that are not whole or out of range. Of a symbol the nearest whole number is taken
    modulo 2**23; where it is not finite, all results are NaN. Source: Salmon, Moraes, Dror, Shaw 2011, "Parallel random
    numbers: as easy as 1, 2, 3", section 4.2.
    """
    sizes = np.broadcast_shapes(shape)
    numbers = _drawn("condyle.random.uniform", key, counter, math.prod(sizes))
    return numbers.reshape((*numbers.shape[:-1], *sizes))


def normal(key: Any, counter: Any, shape: int | tuple[int, ...] = ()) -> Any:
    """Return numbers of the normal distribution with mean 0 and variance 1, an array (..., *shape).

    x = sqrt(-2 log(1 - u)) cos(2 pi v), y = sqrt(-2 log(1 - u)) sin(2 pi v), for each pair u, v that `uniform` has for
    this key and counter. All are finite, of magnitude 5.65 at most. Derivatives are zero.

    key, counter, shape, errors: as of `uniform`. Source: Box, Muller 1958.
    """
    sizes = np.broadcast_shapes(shape)
    n = math.prod(sizes)
    pairs = _drawn("condyle.random.normal", key, counter, n + n % 2)
    radius, angle = np.sqrt(-2.0 * np.log(1.0 - pairs[..., 0::2])), 2.0 * math.pi * pairs[..., 1::2]
    numbers: Any = np.stack([radius * np.cos(angle), radius * np.sin(angle)], -1)
    return numbers.reshape(pairs.shape)[..., :n].reshape((*pairs.shape[:-1], *sizes))


def seed_words(seed: int) -> tuple[int, int]:
    """Return two words for a key, of any whole number; different seeds give different words, but for one pair in
    2**46.

    By `numpy.random.SeedSequence`, the lowest 23 bits of each of two words. Errors: TypeError for other seeds.
    """
    entropy = [int(seed < 0), abs(index(seed))]
    first, second = np.random.SeedSequence(entropy).generate_state(2)
    return int(first) % WORDS, int(second) % WORDS


def _drawn(name: str, key: Any, counter: Any, n: int) -> Any:
    """The first n uniform numbers, (..., n)."""
    if held_in(key, counter) is not None:
        return _of_symbols(name, key, counter, n)
    keys, counters = _padded(name, "key", key, KEYS), _padded(name, "counter", counter, COUNTERS)
    words = [x[..., None] for array in (keys, counters) for x in np.moveaxis(array, -1, 0)]
    blocks = np.arange(-(-n // 4), dtype=np.float64)
    numbers: Any = np.stack(uniforms(words[:KEYS], [*words[KEYS:], blocks]), -1)
    return numbers.reshape((*numbers.shape[:-2], 4 * len(blocks)))[..., :n]


def _of_symbols(name: str, key: Any, counter: Any, n: int) -> Symbols:
    source = source_of(key, counter)
    words: list[Any] = []
    for what, given, most in (("key", key, KEYS), ("counter", counter, COUNTERS)):
        entries = numbers_of(given, source)
        if entries.ndim != 1:
            raise ValueError(f"{name}: {what} of symbols has no dimension but that of words, got shape {entries.shape}")
        _padded(name, what, [x if isinstance(x, float) else 0.0 for x in entries], most)
        words += (*entries, *(0.0 for _ in range(most - len(entries))))
    drawn = [scalar.operation(f"random{k % 4}", [*words, float(k // 4)]) for k in range(n)]
    numbers: Entries = np.empty(n, object)
    numbers[:] = drawn
    return Symbols(numbers, source)


def _padded(name: str, what: str, words: Any, most: int) -> Any:
    """Words (..., most) of an array, or of a list of numbers and arrays; zeros for those that are left out."""
    if isinstance(words, (list, tuple)) and words:
        words = np.stack(np.broadcast_arrays(*cast("Sequence[Any]", words)), -1)
    array: Any = np.asarray(words, np.float64)
    if not array.ndim or not 1 <= array.shape[-1] <= most:
        raise ValueError(f"{name}: {what} has 1 to {most} words, got shape {array.shape}")
    wrong = array[~((array >= 0) & (array < WORDS) & (array == np.floor(array)))]
    if wrong.size:
        raise ValueError(f"{name}: {what} has {wrong[0]:.10g}; give whole numbers from 0 to {WORDS - 1}")
    return np.concatenate([array, np.zeros((*array.shape[:-1], most - array.shape[-1]))], -1)
