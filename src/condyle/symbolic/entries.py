"""Entries of arrays: symbols, truths, and numbers as floats."""

from __future__ import annotations

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


def entry(x: Any) -> object:
    """One entry of an array of objects."""
    if type(x) is float:
        return x
    if isinstance(x, (bool, np.bool_)):
        return bool(cast(Any, x))
    if isinstance(x, (int, float, np.integer, np.floating)):
        return float(cast(float, x))
    if hasattr(x, "function") or hasattr(x, "chosen"):
        return x
    raise UnsupportedError(f"{type(x).__name__} among symbols; give numbers and arrays of numbers")


def truth(x: Any) -> object:
    if isinstance(x, (bool, float)):
        return bool(x)
    return x if hasattr(x, "chosen") else not_equal(x, 0.0)
