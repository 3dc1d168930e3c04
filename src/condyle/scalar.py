"""The scalar that algorithms compute with: a float, a NumPy array (a batch) or a symbol, told apart nowhere else.

Symbols are asked for a function by its name in the table of operations (`operations.py`); its meaning there is what
these functions do with numbers and arrays.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from condyle.operations import MEANING


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

    def function(self, op: str, operands: Sequence[Scalar | float]) -> Scalar: ...


def number(x: float | NDArray[np.floating]) -> Scalar:
    """A float or a batch of floats, seen as the scalar of an algorithm (nothing happens at run time)."""
    return cast(Scalar, x)


def is_zero(value: Scalar) -> bool:
    """Whether it is zero whatever the state: a plain number, and 0."""
    return isinstance(value, float) and value == 0.0


def _function(op: str, *operands: Scalar | float) -> Scalar:
    """The operation by this name, on symbols if there is one among the operands."""
    for operand in operands:
        if hasattr(operand, "function"):
            return cast(Symbol, operand).function(op, operands)
    return cast(Scalar, MEANING[op](*operands))


def sin(x: Scalar) -> Scalar:
    return _function("sin", x)


def cos(x: Scalar) -> Scalar:
    return _function("cos", x)


def sqrt(x: Scalar) -> Scalar:
    return _function("sqrt", x)


def exp(x: Scalar) -> Scalar:
    return _function("exp", x)


def log(x: Scalar) -> Scalar:
    """The natural logarithm: minus infinity of 0, NaN below it."""
    return _function("log", x)


def tanh(x: Scalar) -> Scalar:
    return _function("tanh", x)


def atan2(y: Scalar | float, x: Scalar | float) -> Scalar:
    """The angle of the point (x, y), from -pi to pi; zeros and infinities as in C."""
    return _function("atan2", y, x)


def absolute(x: Scalar) -> Scalar:
    return _function("abs", x)


def minimum(x: Scalar | float, y: Scalar | float) -> Scalar:
    """The smaller one; NaN if either is. Of 0.0 and -0.0 it is one of both."""
    return _function("min", x, y)


def maximum(x: Scalar | float, y: Scalar | float) -> Scalar:
    """The larger one; NaN if either is. Of 0.0 and -0.0 it is one of both."""
    return _function("max", x, y)


def floor(x: Scalar) -> Scalar:
    """The largest whole number that is at most x."""
    return _function("floor", x)


def rint(x: Scalar) -> Scalar:
    """The nearest whole number; of halves the even one."""
    return _function("rint", x)


def select(x: Scalar | float, a: Scalar | float, b: Scalar | float) -> Scalar:
    """`a` where x >= 0, and so where x is -0.0; else `b`, and so where x is NaN."""
    return _function("select", x, a, b)


def total(terms: Sequence[Scalar]) -> Scalar:
    """The sum, in order, of one term at least."""
    return reduce(operator.add, terms)


def matrix_product(rows: Sequence[Sequence[Scalar]], columns: Sequence[Sequence[Scalar]]) -> list[list[Scalar]]:
    """The product of two matrices as sums of products, by `rows` of the left one and `columns` of the right one."""
    return [[_dot(row, column) for column in columns] for row in rows]


def _dot(row: Sequence[Scalar], column: Sequence[Scalar]) -> Scalar:
    return total([x * y for x, y in zip(row, column, strict=True)]) if row else number(0.0)


def reciprocal(x: Scalar) -> Scalar:
    """1 / x; not finite where x is zero, never an exception. Of a float a float, which leaves arrays their dtype."""
    with np.errstate(all="ignore"):
        return cast(Scalar, float(1.0 / np.float64(x))) if isinstance(x, float) else 1.0 / x


_OPERATORS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "neg": operator.neg,
    "rcp": reciprocal,
}


def operation(op: str, operands: Sequence[Scalar | float]) -> Scalar:
    """Any operation that symbols have, by its name in the table."""
    return _OPERATORS[op](*operands) if op in _OPERATORS else _function(op, *operands)
