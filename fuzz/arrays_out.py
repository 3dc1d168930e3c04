"""Arguments for out=: arrays that must be filled, without writing beside them, and some that must be refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from condyle.calls.methods import result_of
from condyle.specification import Function
from fuzz.guarded import Guarded, guarded

Rng = np.random.Generator
Shapes = Sequence[tuple[int, ...]]


class Out(NamedTuple):
    """An argument for out=; its arrays, or None if it must be refused; the guarded memory to check after the call."""

    argument: object
    arrays: tuple[np.ndarray, ...] | None
    guards: tuple[Guarded, ...] = ()


def fenced(rng: Rng, shape: tuple[int, ...], dtype: np.dtype[np.floating]) -> tuple[np.ndarray, Guarded]:
    """An array in guarded memory, in C order or in another one, with gaps or without, and the memory."""
    how = rng.random()
    if how < 0.7 or not shape:
        return guarded(shape, dtype, at_end=bool(rng.random() < 0.7))
    if how < 0.85:
        order = rng.permutation(len(shape))
        array, memory = guarded(tuple(shape[k] for k in order), dtype, at_end=True)
        return array.transpose(np.argsort(order)), memory
    if how < 0.92:
        array, memory = guarded(shape, dtype, at_end=True)
        return array[(slice(None, None, -1),)], memory
    array, memory = guarded((*shape[:-1], shape[-1] + 3), dtype, at_end=True)
    return array[..., 1:-2], memory


def good(rng: Rng, function: Function, shapes: Shapes, dtype: np.dtype[np.floating]) -> Out:
    """Arrays that must be filled, as an array, a tuple, a list or the named tuple that calls return."""
    made = [fenced(rng, shape, dtype) for shape in shapes]
    arrays = tuple(array for array, _ in made)
    forms: list[object] = [arrays, list(arrays)]
    if len(arrays) == 1:
        forms += [arrays[0]] * 4
    elif result := result_of(function):
        forms += [result(*arrays)] * 2
    return Out(forms[int(rng.integers(len(forms)))], arrays, tuple(memory for _, memory in made))


def bad(rng: Rng, shapes: Shapes, dtype: np.dtype[np.floating], inputs: Sequence[object]) -> Out:
    """An argument that must be refused; it may overlap `inputs`."""
    other = np.dtype("float32" if dtype == np.float64 else "float64")
    arrays = [np.zeros(shape, dtype) for shape in shapes]
    rest = arrays[1:]
    locked = arrays[0].copy()
    locked.flags.writeable = False
    wrong: list[Callable[[], object]] = [
        lambda: [np.zeros(shapes[0], other), *rest],
        lambda: [np.zeros(shapes[0], dtype.newbyteorder(">")), *rest],
        lambda: [np.zeros((*shapes[0], 1), dtype), *rest],
        lambda: [np.zeros((2, *shapes[0]), dtype), *rest],
        lambda: [locked, *rest],
        lambda: [*arrays, np.zeros(shapes[0], dtype)],
        lambda: arrays[1:],
        lambda: [arrays[0].tolist(), *rest],
        lambda: 3,
        lambda: "out",
        dict,
        lambda: object(),
        lambda: [np.zeros(shapes[0], object), *rest],
    ]
    if arrays[0].size > 1:
        wrong += [
            lambda: [np.lib.stride_tricks.as_strided(arrays[0], shapes[0], (0,) * len(shapes[0])), *rest],
            lambda: [np.broadcast_to(np.zeros((), dtype), shapes[0]), *rest],
        ]
        wrong += [lambda: [arrays[0], *([arrays[0]] * len(rest))]] * bool(rest)
        wrong += [_over(x, shapes[0], rest) for x in inputs if _may_lie_under(x, shapes[0], dtype)]
    return Out(wrong[int(rng.integers(len(wrong)))](), None)


def _may_lie_under(x: object, shape: tuple[int, ...], dtype: np.dtype[np.floating]) -> bool:
    fits = isinstance(x, np.ndarray) and x.dtype == dtype and x.flags.c_contiguous and x.flags.writeable
    return fits and isinstance(x, np.ndarray) and x.size >= int(np.prod(shape)) > 0


def _over(x: object, shape: tuple[int, ...], rest: list[np.ndarray]) -> Callable[[], object]:
    """An out= whose first array is the last bytes of an input."""
    assert isinstance(x, np.ndarray)
    flat = x.view(np.ndarray).reshape(-1)
    return lambda: [flat[len(flat) - int(np.prod(shape)) :].reshape(shape), *rest]
