"""Arguments that every call must accept, the same numbers in unusual memory layouts, and some that it must refuse."""

from __future__ import annotations

import array as bytes_arrays
import mmap
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fuzz.guarded import guarded

Rng = np.random.Generator


class Given(NamedTuple):
    """One argument: the object passed, its numbers (None: it must be refused), and bytes that must not change."""

    argument: object
    numbers: np.ndarray | None
    memory: np.ndarray | None = None


class Lends:
    """Not an array, but has `__array__`."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array

    def __array__(self, dtype: object = None, copy: bool | None = None) -> np.ndarray:
        return self._array


class Unwilling:
    """Its `__array__` raises."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __array__(self, dtype: object = None, copy: bool | None = None) -> np.ndarray:
        raise self._error


class Sub(np.ndarray):
    """A subclass of ndarray that overrides nothing."""


def bytes_of(array: np.ndarray) -> np.ndarray | None:
    """All memory of an array and its bases, as bytes; for mapped memory only the array's own."""
    while isinstance(array.base, np.ndarray) and not isinstance(array.base.base, (mmap.mmap, memoryview)):
        array = array.base
    contiguous = array.flags.c_contiguous and array.ndim > 0
    return array.view(np.ndarray).reshape(-1).view(np.uint8) if contiguous and array.size else None


def gaps(rng: Rng, x: np.ndarray) -> np.ndarray:
    steps = rng.integers(1, 4, x.ndim)
    wide = np.full([int(length * step) for length, step in zip(x.shape, steps, strict=True)], 7.0, x.dtype)
    view = wide[(*(slice(None, None, int(step)) for step in steps), ...)]
    view[...] = x
    return view


def backwards(rng: Rng, x: np.ndarray) -> np.ndarray:
    turn = (*(slice(None, None, -1 if rng.random() < 0.5 else 1) for _ in range(x.ndim)), ...)
    return x[turn].copy()[turn]


def permuted(rng: Rng, x: np.ndarray) -> np.ndarray:
    order = rng.permutation(x.ndim)
    return x.transpose(order).copy("C").transpose(np.argsort(order))


def one_for_all(rng: Rng, x: np.ndarray) -> np.ndarray:
    """Zero strides along some dimensions, which changes the numbers."""
    part = x[tuple(slice(0, 1) if rng.random() < 0.5 and length else slice(None) for length in x.shape)]
    return np.broadcast_to(part, x.shape)


def unaligned(rng: Rng, x: np.ndarray) -> np.ndarray:
    view = np.zeros(x.nbytes + 16, np.uint8)[int(rng.integers(1, 8)) :][: x.nbytes].view(x.dtype).reshape(x.shape)
    view[...] = x
    return view


def field(rng: Rng, x: np.ndarray) -> np.ndarray:
    packed = rng.random() < 0.5
    view = np.zeros(x.shape, np.dtype([("flag", "i1"), ("x", x.dtype)], align=not packed))["x"]
    view[...] = x
    return view


def fenced(rng: Rng, x: np.ndarray) -> np.ndarray:
    view, _ = guarded(x.shape, x.dtype, at_end=bool(rng.random() < 0.7))
    view[...] = x
    return view


def locked(rng: Rng, x: np.ndarray) -> np.ndarray:
    x = x.copy()
    x.flags.writeable = False
    return x


SAME: tuple[Callable[[Rng, np.ndarray], np.ndarray], ...] = (
    lambda rng, x: x,
    lambda rng, x: x,
    lambda rng, x: x,
    gaps,
    backwards,
    permuted,
    one_for_all,
    unaligned,
    field,
    fenced,
    fenced,
    locked,
    lambda rng, x: np.asfortranarray(x),
    lambda rng, x: x.reshape((1,) * int(rng.integers(1, 55)) + x.shape),
    lambda rng, x: x.view(Sub),
    lambda rng, x: np.ma.masked_array(x, mask=np.zeros(x.shape, bool)),
    lambda rng, x: x.view(x.dtype.newbyteorder("=")),
)


def in_a_file(x: np.ndarray, folder: Path) -> np.ndarray:
    if not x.size:
        return x
    mapped = np.memmap(folder / f"{len(list(folder.iterdir()))}.bin", x.dtype, "w+", shape=x.shape or (1,))
    mapped[...] = x
    return mapped if x.shape else x


def good(rng: Rng, x: np.ndarray, dtype: np.dtype[np.floating], folder: Path) -> Given:
    """An argument with a port's numbers that must be accepted."""
    kind = rng.random()
    if kind < 0.06:
        near = np.nan_to_num(x, nan=1, posinf=1, neginf=-1).clip(-9, 9)
        whole = np.round(near).astype(str(rng.choice(["i1", "i4", ">i8"])))
        return Given(whole, whole.astype(dtype), bytes_of(whole))
    x = x.astype(dtype)
    if kind < 0.12 and x.size:
        return Given(x.tolist(), x)
    if kind < 0.15:
        return Given(Lends(x), x, bytes_of(x))
    if kind < 0.17 and x.ndim == 1 and x.size:
        return Given(bytes_arrays.array(dtype.char, x.tolist()), x)
    if kind < 0.19 and x.size and x.ndim:
        return Given(memoryview(np.ascontiguousarray(x)), x)
    if kind < 0.21:
        odd = in_a_file(x, folder)
    else:
        odd = SAME[int(rng.integers(len(SAME)))](rng, x)
    numbers = np.array(odd.view(np.ndarray) if isinstance(odd, np.ndarray) else odd, dtype)
    return Given(odd, numbers, bytes_of(odd))


def beyond(rng: Rng, x: np.ndarray, dtype: np.dtype[np.floating], positive: bool) -> Given:
    """Numbers of which one is out of range: not above 0, or, of fractions, below 0 or above 1."""
    x = x.astype(dtype)
    above = [0.0, -0.0] if positive else [1.01, 2.0, np.inf]
    x.flat[int(rng.integers(x.size))] = rng.choice([-np.inf, -1.0, -0.01, *above])
    return Given(x, None)


def not_unit(rng: Rng, x: np.ndarray, dtype: np.dtype[np.floating], quaternions: list[int]) -> Given:
    """Configurations (..., nq) of which one has a quaternion that is too long or too short, or zero."""
    x = x.astype(dtype)
    rows = x.reshape(-1, x.shape[-1])
    first = int(rng.choice(quaternions))
    rows[int(rng.integers(len(rows))), first : first + 4] *= rng.choice([0.0, 0.5, 0.998, 1.002, 2.0, 1e18])
    return Given(x, None)


def bad(rng: Rng, x: np.ndarray, dtype: np.dtype[np.floating], size: tuple[int, ...]) -> Given:
    """An argument that must be refused with one of condyle's own errors."""
    other = np.dtype("float32" if dtype == np.float64 else "float64")
    x, last = x.astype(dtype), size[-1] if size else 1
    wrong: list[Callable[[], object]] = [
        lambda: x.astype(other),
        lambda: x.astype("f2"),
        lambda: x.astype(np.longdouble),
        lambda: x.astype(dtype.newbyteorder(">")),
        lambda: x.astype(complex),
        lambda: np.ones(x.shape, bool),
        lambda: x.astype(object),
        lambda: x.astype(str),
        lambda: np.zeros(x.shape, "M8[s]"),
        lambda: np.zeros(x.shape, [("x", dtype), ("y", dtype)]),
        lambda: None,
        lambda: "text",
        lambda: b"\x00" * 8,
        lambda: {"q": 1.0},
        lambda: {1.0, 2.0},
        lambda: (number for number in (1.0, 2.0)),
        lambda: [[1.0] * (last + 1), [1.0]],
        lambda: [None] * last,
        lambda: ["a"] * last,
        lambda: [1j] * last,
        lambda: Unwilling(RuntimeError("detach it")),
        lambda: Unwilling(ValueError("no")),
        lambda: Unwilling(BufferError("no")),
        lambda: Lends([1.0]),  # type: ignore[arg-type]
        lambda: object,
    ]
    if size:  # any shape is a batch of single numbers
        wrong += [
            lambda: np.zeros((*x.shape, 1), dtype),
            lambda: np.zeros((*x.shape[:-1], last + 1), dtype),
            lambda: np.zeros((*x.shape[:-1], 0), dtype),
            lambda: np.zeros((1,) * 62 + (2, last + 1), dtype),
            lambda: np.float64(1.0),
            lambda: np.zeros((), dtype),
            lambda: 1.0,
            lambda: np.ma.masked,
        ]
    return Given(wrong[int(rng.integers(len(wrong)))](), None)
