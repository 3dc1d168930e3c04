"""Small float64 arrays that cannot be written, so that a robot stays what it is."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from condyle.errors import DTypeError, ShapeError, UnsupportedError
from condyle.specification.integrators import DTYPES

Array: TypeAlias = NDArray[np.float64]

LARGEST = 1e30  # of a model's numbers: products of a few of them, squared, stay finite


def moderate(x: ArrayLike) -> bool:
    """Whether every number is one that dynamics can be computed with: none NaN, none beyond `LARGEST`."""
    return bool((np.abs(x) <= LARGEST).all())


def reals(name: str, x: ArrayLike) -> NDArray[np.generic]:
    """x as an array of real numbers; ShapeError or DTypeError where it is none."""
    try:
        array = np.asarray(x)
    except ValueError as error:
        raise ShapeError(f"{name} is not a regular array: {error}") from error
    if array.dtype.kind not in "fiub":
        raise DTypeError(f"{name} is {array.dtype}, expected real numbers")
    return array


def dtype_name(dtype: DTypeLike) -> str:
    """ "float64" or "float32", however NumPy lets it be said; UnsupportedError for anything else."""
    try:
        found = None if dtype is None else np.dtype(dtype)  # pyright: ignore[reportUnnecessaryComparison]
    except TypeError:
        found = None
    for name in DTYPES:
        if found is not None and found == np.dtype(name):  # NumPy takes None for float64
            return name
    raise UnsupportedError(f"dtype={dtype!r}: allowed is {', '.join(map(repr, DTYPES))}")


def generator_of(called: str, rng: int | np.random.Generator) -> np.random.Generator:
    """A generator, of its seed too; DTypeError for what is neither."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise DTypeError(f"{called}: rng={rng!r}: give a seed, a whole number from 0 on, or a Generator") from None


def frozen(x: ArrayLike, *shape: int) -> Array:
    """A read-only float64 copy of x with this shape (ValueError otherwise); -0.0 becomes 0.0."""
    array: Array = np.array(x, dtype=np.float64, order="C") + 0.0
    if array.shape != shape:
        raise ValueError(f"expected shape {shape}, got {array.shape}")
    array.setflags(write=False)
    return array


def short(x: Array) -> str:
    """The numbers on one line, to four digits, for a prompt."""
    shown = np.array2string(x + 0.0, formatter={"float_kind": lambda v: f"{v:.4g}"}, max_line_width=10**6)
    return " ".join(shown.split())


def transpose(m: Array) -> Array:
    """mᵀ of a matrix."""
    return np.transpose(m)


def congruence(turn: Array, m: Array) -> Array:
    """R M Rᵀ of a symmetric M, symmetric to the last digit."""
    turned = turn @ m @ transpose(turn)
    return 0.5 * (turned + transpose(turned))


def diagonal(values: ArrayLike) -> Array:
    """The square matrix with these values on its diagonal."""
    array = np.asarray(values, dtype=np.float64)
    return np.eye(len(array)) * array


_SKEW = np.array(((0, 0, 0, 0, 0, -1, 0, 1, 0), (0, 0, 1, 0, 0, 0, -1, 0, 0), (0, -1, 0, 1, 0, 0, 0, 0, 0)), np.float64)


def skew(r: Array) -> Array:
    """[r]x, (..., 3, 3)."""
    return np.reshape(r @ _SKEW, (*r.shape, 3))


def motion_matrix(rotation: Array, origin: Array) -> Array:
    """X (..., 6, 6): takes [linear; angular] of a parent to its child. rotation: parent axes to child axes."""
    result = np.zeros((*origin.shape[:-1], 6, 6))
    result[..., :3, :3] = result[..., 3:, 3:] = rotation
    result[..., :3, 3:] = -rotation @ skew(origin)
    return result


def bracket(x: Array, y: Array, axis: int = -1) -> Array:
    """[x, y] of motions [linear; angular] along an axis."""
    (a, wa), (b, wb) = np.split(x, 2, axis), np.split(y, 2, axis)
    linear = np.cross(wa, b, axis=axis) + np.cross(a, wb, axis=axis)
    return np.concatenate((linear, np.cross(wa, wb, axis=axis)), axis=axis)
