"""The scalar that algorithms compute with: a float, a NumPy array (a batch) or a symbol, told apart nowhere else.

Symbols answer `sin`, `cos` and `sqrt` as methods; numbers and arrays go to NumPy.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import reduce
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray


class Scalar(Protocol):
    """What an algorithm may do with a number, whatever stands behind it."""

    def __add__(self, other: Scalar | float, /) -> Scalar: ...
    def __radd__(self, other: Scalar | float, /) -> Scalar: ...
    def __sub__(self, other: Scalar | float, /) -> Scalar: ...
    def __rsub__(self, other: Scalar | float, /) -> Scalar: ...
    def __mul__(self, other: Scalar | float, /) -> Scalar: ...
    def __rmul__(self, other: Scalar | float, /) -> Scalar: ...
    def __truediv__(self, other: Scalar | float, /) -> Scalar: ...
    def __rtruediv__(self, other: Scalar | float, /) -> Scalar: ...
    def __neg__(self) -> Scalar: ...


class Symbol(Scalar, Protocol):
    """A scalar of our own."""

    def sin(self) -> Scalar: ...
    def cos(self) -> Scalar: ...
    def sqrt(self) -> Scalar: ...


def number(x: float | NDArray[np.floating]) -> Scalar:
    """A float or a batch of floats, seen as the scalar of an algorithm (nothing happens at run time)."""
    return cast(Scalar, x)


def is_zero(value: Scalar) -> bool:
    """Whether it is zero whatever the state: a plain number, and 0."""
    return isinstance(value, float) and value == 0.0


def sin(x: Scalar) -> Scalar:
    return cast(Symbol, x).sin() if hasattr(x, "sin") else cast(Scalar, np.sin(cast(float, x)))


def cos(x: Scalar) -> Scalar:
    return cast(Symbol, x).cos() if hasattr(x, "cos") else cast(Scalar, np.cos(cast(float, x)))


def sqrt(x: Scalar) -> Scalar:
    return cast(Symbol, x).sqrt() if hasattr(x, "sqrt") else cast(Scalar, np.sqrt(cast(float, x)))


def total(terms: Sequence[Scalar]) -> Scalar:
    """The sum, in order, of one term at least."""
    return reduce(operator.add, terms)


def reciprocal(x: Scalar) -> Scalar:
    """1 / x; not finite where x is zero, never an exception. Of a float a float, which leaves arrays their dtype."""
    with np.errstate(all="ignore"):
        return cast(Scalar, float(1.0 / np.float64(x))) if isinstance(x, float) else 1.0 / x
