"""NumPy's functions that make one entry of many, and those that choose."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, TypeAlias, cast

import numpy as np

from condyle.errors import UnsupportedError
from condyle.symbolic.arrangement import source_of
from condyle.symbolic.arrays import FUNCTIONS, REDUCED, UNIVERSAL, Condition, Held, Symbols, numbers_of, truths_of
from condyle.symbolic.entries import Entries, as_objects, each, numpy
from condyle.symbolic.truths import both, chosen, either

Axis: TypeAlias = "int | Sequence[int] | None"
BLOCK = 8
"""So many terms are added one after the other; sums of such are added in pairs."""


def total(terms: Sequence[Any]) -> Any:
    """A sum, in pairs of blocks as NumPy's."""
    if len(terms) <= BLOCK:
        return reduce(operator.add, terms, 0.0)
    middle = (len(terms) // BLOCK + 1) // 2 * BLOCK
    return total(terms[:middle]) + total(terms[middle:])


def reduced(reduction: Callable[[Sequence[Any]], object], entries: Entries, axis: Axis, keepdims: bool) -> Entries:
    """One entry for each row along these axes."""
    n = entries.ndim
    shape = np.any(np.empty(entries.shape, bool), axis=cast(Any, axis), keepdims=keepdims).shape  # or NumPy's error
    axes = range(n) if axis is None else [k % n for k in np.atleast_1d(cast(Any, axis)).tolist()]
    others = [k for k in range(n) if k not in axes]
    moved = entries.transpose([*others, *axes])
    made: Entries = np.empty(moved.shape[: len(others)], object)
    for index in numpy.ndindex(made.shape):
        made[index] = reduction(as_objects(moved[index]).ravel().tolist())
    return made.reshape(shape)


def _of_numbers(reduction: Callable[[Sequence[Any]], object]) -> Callable[..., Symbols]:
    def run(a: Held, axis: Axis = None, dtype: object = None, out: None = None, keepdims: bool = False) -> Symbols:
        _check_no_out(out)
        return Symbols(reduced(reduction, numbers_of(a, a.source), axis, keepdims), a.source)

    return run


def _of_extremes(ufunc: Any) -> Callable[..., Symbols]:
    def reduce_row(row: Sequence[Any]) -> Any:
        if not row:
            raise ValueError(f"np.{ufunc.__name__} of no entries; give one or more")
        return pairwise(lambda x, y: _lone(ufunc, x, y), row)

    def run(a: Held, axis: Axis = None, out: None = None, keepdims: bool = False) -> Symbols:
        return _of_numbers(reduce_row)(a, axis, None, out, keepdims)

    return run


def pairwise(join: Callable[[Any, Any], Any], row: Sequence[Any]) -> Any:
    """All joined, in pairs."""
    middle = len(row) // 2
    return row[0] if len(row) == 1 else join(pairwise(join, row[:middle]), pairwise(join, row[middle:]))


def _lone(ufunc: Any, x: Any, y: Any) -> Any:
    from condyle.symbolic.elementwise import NUMBERS

    return float(ufunc(x, y)) if isinstance(x, float) and isinstance(y, float) else NUMBERS[ufunc](x, y)


def _of_truths(join: Callable[[Any, Any], Any], start: bool) -> Callable[..., Condition]:
    def run(a: Held, axis: Axis = None, out: None = None, keepdims: bool = False) -> Condition:
        _check_no_out(out)
        return Condition(
            reduced(lambda row: reduce(join, row, start), truths_of(a, a.source), axis, keepdims), a.source
        )

    return run


def _mean_of(row: Sequence[Any]) -> Any:
    return total(row) * (1.0 / len(row)) if row else float("nan")


def _variance(
    a: Held, axis: Axis = None, dtype: object = None, out: None = None, ddof: int = 0, keepdims: bool = False
) -> Symbols:
    _check_no_out(out)

    def reduce_row(row: Sequence[Any]) -> Any:
        mean = _mean_of(row)
        apart = [x - mean for x in row]
        return total([x * x for x in apart]) / float(len(row) - ddof)

    return Symbols(reduced(reduce_row, numbers_of(a, a.source), axis, keepdims), a.source)


def _deviation(a: Held, *args: Any, **options: Any) -> object:
    return numpy.sqrt(_variance(a, *args, **options))


def _check_no_out(out: object) -> None:
    if out is not None:
        raise UnsupportedError("out= holds no symbols; leave it out")


def _where(condition: object, *values: object) -> Symbols:
    if not values:
        raise UnsupportedError(
            "np.where(condition) alone has a length that differs from state to state; write np.where(condition, a, b)"
        )
    if len(values) != 2:
        raise ValueError("np.where takes a condition alone or with two values: np.where(condition, a, b)")
    source = source_of(condition, *values)
    a, b = (numbers_of(value, source) for value in values)
    return Symbols(each(chosen, truths_of(condition, source), a, b), source)


def _select(condlist: Sequence[object], choicelist: Sequence[object], default: object = 0.0) -> object:
    if len(condlist) != len(choicelist):
        raise ValueError(
            f"np.select: {len(condlist)} conditions and {len(choicelist)} choices; give a choice for each condition"
        )
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        default = numpy.where(condition, choice, default)
    return default


def _clip(a: Any, a_min: Any = None, a_max: Any = None, out: None = None, *, min: Any = None, max: Any = None) -> Any:
    _check_no_out(out)
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    above = a if low is None else numpy.maximum(a, low)
    return above if high is None else numpy.minimum(above, high)


def _interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: None = None) -> Any:
    """Piecewise linear; xp are numbers, the values may be symbols."""
    if isinstance(xp, Held) or period is not None:
        raise UnsupportedError("np.interp: xp must be numbers, and period= is not taken")
    xp = np.asarray(xp, np.float64)
    if xp.ndim != 1 or numpy.shape(fp) != xp.shape or not xp.size:
        raise ValueError(f"np.interp: xp has shape {xp.shape}, fp {numpy.shape(fp)}; give two vectors of one length")
    if not (np.diff(xp) > 0.0).all():
        raise ValueError("np.interp: xp must increase from each entry to the next")
    source = source_of(x, fp, left, right)
    values = list(Symbols(numbers_of(fp, source), source))
    answer = numpy.where(x < xp[0], values[0] if left is None else left, x)  # NaN of NaN
    for k in range(len(xp) - 1):
        slope = (values[k + 1] - values[k]) / (xp[k + 1] - xp[k])
        answer = numpy.where(x >= xp[k], values[k] + slope * (x - xp[k]), answer)
    answer = numpy.where(x >= xp[-1], values[-1], answer)
    return answer if right is None else numpy.where(x > xp[-1], right, answer)


def _vecdot(x: object, y: object) -> object:
    return numpy.sum(numpy.multiply(x, y), axis=-1)


_maximum, _minimum, _sum = _of_extremes(np.maximum), _of_extremes(np.minimum), _of_numbers(total)
_any, _all = _of_truths(either, False), _of_truths(both, True)
_product = _of_numbers(lambda row: pairwise(operator.mul, row) if row else 1.0)
FUNCTIONS.update(
    {
        np.sum: _sum,
        np.prod: _product,
        np.mean: _of_numbers(_mean_of),
        np.var: _variance,
        np.std: _deviation,
        np.max: _maximum,
        np.min: _minimum,
        np.amax: _maximum,
        np.amin: _minimum,
        np.any: _any,
        np.all: _all,
        np.where: _where,
        np.select: _select,
        numpy.clip: _clip,
        np.interp: _interp,
    }
)
REDUCED.update(
    {
        np.add: _sum,
        np.multiply: _product,
        np.maximum: _maximum,
        np.minimum: _minimum,
        np.logical_and: _all,
        np.logical_or: _any,
    }
)
if hasattr(np, "vecdot"):
    UNIVERSAL[np.vecdot] = _vecdot
