"""What a ground's numbers may be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any, cast

import numpy as np

from condyle.errors import ShapeError, UnsupportedError
from condyle.symbolic import Symbols


def check_values(values: Mapping[str, Any], zero: tuple[str, ...]) -> None:
    """One real number each, or a symbol of one; zero: those that may be zero, the others are positive."""
    for name, value in values.items():
        if isinstance(value, Symbols):
            if value.shape != ():
                raise ShapeError(f"Ground: {name} has shape {value.shape}; give one number for all feet: ()")
            continue
        allowed = "zero or a positive number" if name in zero else "a positive number"
        if not is_number(value) or value < 0.0 or (value == 0.0 and name not in zero):
            raise UnsupportedError(f"Ground: {name}={value!r}; give {allowed}, SI")


def check_inputs(inputs: Sequence[str], allowed: Iterable[str]) -> None:
    """UnsupportedError for names that a step of the ground cannot take as inputs."""
    if isinstance(inputs, str):
        raise UnsupportedError(f"inputs={inputs!r}: give a list of names, such as ({inputs!r},)")
    if unknown := [name for name in inputs if name not in allowed]:
        raise UnsupportedError(f"inputs: {unknown[0]!r}; allowed is {', '.join(map(repr, allowed))}")


def is_number(x: Any) -> bool:
    """A finite real number, and no truth."""
    return isinstance(x, (int, float, np.integer, np.floating)) and not isinstance(x, bool) and isfinite(cast(float, x))


def numbers(x: Any, n: int) -> tuple[float, ...] | None:
    """n real numbers of a sequence or an array; None where it is not that."""
    try:
        found = tuple(x)
    except TypeError:
        return None
    return tuple(map(float, found)) if len(found) == n and all(map(is_number, found)) else None
