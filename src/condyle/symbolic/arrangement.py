"""NumPy's functions that only put entries in another order, or multiply and add them: NumPy does these itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from condyle.errors import UnsupportedError
from condyle.symbolic.arrays import FUNCTIONS, Held, Symbols, Trace, entries_of, numbers_of
from condyle.symbolic.entries import Entries, as_objects, entry, numpy

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
