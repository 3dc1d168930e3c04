"""Entries of arrays: symbols, truths, and numbers as floats."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, TypeAlias, cast

import numpy as np

from condyle.errors import UnsupportedError
from condyle.symbolic.truths import not_equal

Entries: TypeAlias = Any
"""An array of objects: NumPy's types know nothing of its entries."""

numpy: Any = np
"""NumPy, called with symbols, which its types do not expect."""


def as_objects(entries: object) -> Entries:
    """The same as an array of objects; a lone one as an array without dimensions."""
    if isinstance(entries, np.ndarray):
        return cast(Entries, entries).astype(object, copy=False)
    made: Entries = np.empty((), object)
    made[()] = entries
    return made


def each(function: Callable[..., object], *arrays: Entries) -> Entries:
    """A function of every entry, as an array of objects."""
    return as_objects(np.frompyfunc(function, len(arrays), 1)(*arrays))


def entry(x: Any) -> object:
    """One entry of an array of objects: a symbol or a truth as it is, a real number as a float; UnsupportedError."""
    if type(x) is float:
        return x
    if isinstance(x, (bool, np.bool_)):
        return bool(cast(Any, x))
    if isinstance(x, Real):
        try:
            return float(x)
        except OverflowError as error:
            raise UnsupportedError(
                f"a number among symbols is beyond {np.finfo(np.float64).max:.1e}, the largest float64"
            ) from error
    if hasattr(x, "function") or hasattr(x, "chosen"):
        return x
    raise UnsupportedError(
        f"{type(x).__name__} among symbols; give real numbers and arrays of them: float(x) of what has such a value"
    )


def number(x: Any) -> object:
    """The same, a plain truth as 1 or 0."""
    return float(x) if isinstance(x, bool) else x


def truth(x: Any) -> object:
    if isinstance(x, (bool, float)):
        return bool(x)
    return x if hasattr(x, "chosen") else not_equal(x, 0.0)
