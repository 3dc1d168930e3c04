"""NumPy's functions that make one entry of many, and those that choose."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, TypeAlias, cast

import numpy as np

from condyle.errors import UnsupportedError
from condyle.symbolic.arrays import (
    FUNCTIONS,
    REDUCED,
    UNIVERSAL,
    Condition,
    Held,
    Symbols,
    Trace,
    entries_of,
    numbers_of,
    truths_of,
)
from condyle.symbolic.elementwise import Entries, as_objects, both, chosen, each, either, entry, numpy

# NumPy's functions that only put entries in another order, or multiply and add them: NumPy does these itself.


NAMES = """
array_split atleast_1d atleast_2d atleast_3d block broadcast_arrays broadcast_to column_stack concatenate
copy cumprod cumsum delete diag diagflat diagonal diff dsplit dstack ediff1d expand_dims flip fliplr
flipud hsplit hstack insert meshgrid moveaxis ravel repeat reshape resize roll rollaxis rot90
split squeeze stack swapaxes take take_along_axis tile trace transpose tril triu vsplit vstack
"""

PRODUCTS = "convolve cross inner kron outer polyval tensordot"
"""Those of two operands, which NumPy multiplies."""


def held_in(*values: object) -> Held | None:
    """The first array of symbols among these, lists looked into."""
    for value in values:
        within = held_in(*cast("Sequence[object]", value)) if isinstance(value, (list, tuple)) else value
        if isinstance(within, Held):
            return within
    return None


def source_of(*values: object) -> Trace:
    """The trace that it is from."""
    found = held_in(*values)
    assert found is not None, "NumPy calls these with an array of symbols"
    return found.source


def _by_numpy(function: Callable[..., Any], operands: int = 0) -> Callable[..., object]:
    """The function on arrays of objects; operands: how many of its first arguments are numbers whatever they hold."""

    def run(*args: object, **options: object) -> object:
        first = held_in(*args, *options.values())
        assert first is not None, "NumPy calls these with an array of symbols"

        def bare(value: object) -> object:
            if isinstance(value, Held):
                if type(value) is not type(first):
                    raise UnsupportedError("a condition among numbers; write np.where(condition, 1.0, 0.0)")
                return entries_of(value, first.source)
            if isinstance(value, (list, tuple)):
                return [bare(x) for x in cast("Sequence[object]", value)]
            return entries_of(value, first.source) if np.ma.is_masked(value) else value

        given = [
            numbers_of(x, first.source) if k < operands else x if _is_plain(x) else bare(x) for k, x in enumerate(args)
        ]
        return _dressed(function(*given, **{name: bare(x) for name, x in options.items()}), first)

    return run


def _is_plain(value: object) -> bool:
    """Whether there are no symbols in it, as in a shape."""
    return held_in(value) is None


def _dressed(value: object, like: Held) -> object:
    """An answer of NumPy's as ours: an array, a lone entry, or a list of such. Views stay views."""
    if isinstance(value, (list, tuple)):
        return [_dressed(x, like) for x in cast("Sequence[object]", value)]
    array = as_objects(value)
    of_each_type: dict[object, object] = {
        x.__class__: x for x in array.flat
    }  # NumPy's own zeros are whole, other numbers may be anything
    clean = all(entry(x) is x for x in of_each_type.values())
    return type(like)(array if clean else entries_of(array, like.source), like.source)


def _filled(like: Held, value: object, shape: Any = None) -> Symbols:
    """An array into which symbols can be put."""
    filled: Entries = np.broadcast_to(entries_of(value, like.source), like.shape if shape is None else shape)
    return Symbols(filled.copy(), like.source)


def _full_like(like: Held, fill_value: object, dtype: object = None, *, shape: Any = None) -> Symbols:
    return _filled(like, fill_value, shape)


def _append(arr: object, values: object, axis: int | None = None) -> object:
    source = source_of(arr, values)
    parts = [Symbols(entries_of(part, source), source) for part in (arr, values)]
    joined: Any = [part.ravel() if axis is None else part for part in parts]
    return numpy.concatenate(joined, axis=axis or 0)


def _shape(a: Held) -> tuple[int, ...]:
    return a.shape


def _ndim(a: Held) -> int:
    return a.ndim


def _size(a: Held, axis: int | None = None) -> int:
    return np.size(a.entries, axis)


def _filled_by(value: float) -> Callable[..., Symbols]:
    def run(like: Held, dtype: object = None, *, shape: Any = None) -> Symbols:
        return _filled(like, value, shape)

    return run


FUNCTIONS.update({getattr(np, name): _by_numpy(getattr(np, name)) for name in NAMES.split()})
FUNCTIONS.update({getattr(np, name): _by_numpy(getattr(np, name), 2) for name in PRODUCTS.split()})
FUNCTIONS.update(
    {
        np.append: _append,
        numpy.shape: _shape,
        np.ndim: _ndim,
        np.size: _size,
        np.zeros_like: _filled_by(0.0),
        np.empty_like: _filled_by(0.0),
        np.ones_like: _filled_by(1.0),
        np.full_like: _full_like,
    }
)


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
