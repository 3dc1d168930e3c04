"""`Symbols`, an array whose entries are symbols or numbers, and `Condition`, an array of truths.

Both are what NumPy's functions make of them: universal functions come in by `__array_ufunc__`, others by
`__array_function__`, and what `FUNCTIONS` does not have is an error that says what to write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from inspect import signature
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from condyle.errors import UnsupportedError
from condyle.symbolic.elementwise import (
    COMPARISONS,
    LOGIC,
    NUMBERS,
    Entries,
    as_objects,
    each,
    entry,
    number,
    of_numbers,
    truth,
)

# What is said of symbols that are used as numbers.


BRANCH = (
    "the truth of a symbol differs from state to state, so Python's `if`, `while`, `and`, `or`, `not`, min, max and "
    "sorted cannot ask for it; write np.where(condition, a, b), np.logical_and, np.logical_or, np.logical_not, "
    "np.minimum, np.maximum"
)
NUMBER = (
    "a symbol has no value yet, so float(x), int(x), range(x), math.sin(x), an index and an array of numbers cannot "
    "have it; use NumPy's functions (np.sin), np.where(condition, a, b) where code depends on it, and np.zeros_like(x) "
    "for an array to put it into"
)
ARRAY = (
    "an array of numbers cannot hold symbols; write np.stack([...]) in place of np.array([...]), "
    "np.block([[...], [...]]) for a matrix, np.zeros_like(x) or np.zeros_like(x, shape=...) to put them into"
)


# What to write in place of functions of NumPy that take no symbols.


SAME: Mapping[str, str] = {
    "np.add.accumulate": "np.cumsum(x)",
    "np.allclose": "np.all(np.abs(x - y) <= 1e-8 + 1e-5 * np.abs(y))",
    "np.arccosh": "np.log(x + np.sqrt(x * x - 1.0))",
    "np.arcsinh": "np.sign(x) * np.log(np.abs(x) + np.sqrt(x * x + 1.0))",
    "np.arctanh": "0.5 * np.log((1.0 + x) / (1.0 - x))",
    "np.around": "np.rint(x)",
    "np.array_equal": "np.all(x == y)",
    "np.cbrt": "np.sign(x) * np.abs(x) ** (1.0 / 3.0)",
    "np.copysign": "np.where(y < 0.0, -np.abs(x), np.abs(x))",
    "np.fix": "np.where(x < 0.0, np.ceil(x), np.floor(x))",
    "np.floor_divide": "np.floor(x / y)",
    "np.fmod": "x - y * np.where(x / y < 0.0, np.ceil(x / y), np.floor(x / y))",
    "np.isclose": "np.abs(x - y) <= 1e-8 + 1e-5 * np.abs(y)",
    "np.linalg.cross": "np.cross(x, y)",
    "np.linalg.diagonal": "np.diagonal(A)",
    "np.linalg.matmul": "A @ x",
    "np.linalg.matrix_norm": "np.linalg.norm(A)",
    "np.linalg.matrix_transpose": "A.T",
    "np.linalg.outer": "np.outer(x, y)",
    "np.linalg.tensordot": "np.tensordot(A, A)",
    "np.linalg.trace": "np.trace(A)",
    "np.linalg.vecdot": "x @ y",
    "np.linalg.vector_norm": "np.linalg.norm(x)",
    "np.logaddexp2": "np.logaddexp(x * np.log(2.0), y * np.log(2.0)) / np.log(2.0)",
    "np.multiply.accumulate": "np.cumprod(x)",
    "np.nan_to_num": "np.where(np.isnan(x), 0.0, x)",
    "np.nansum": "np.sum(np.where(np.isnan(x), 0.0, x))",
    "np.ptp": "np.max(x) - np.min(x)",
    "np.remainder": "x - y * np.floor(x / y)",
    "np.round": "np.rint(x)",
    "np.signbit": "x < 0.0",
    "np.sinc": "np.where(x == 0.0, 1.0, np.sin(np.pi * x) / np.where(x == 0.0, 1.0, np.pi * x))",
    "np.trapezoid": "np.sum(0.5 * (y[1:] + y[:-1]) * np.diff(x))",
    "np.trapz": "np.sum(0.5 * (y[1:] + y[:-1]) * np.diff(x))",
    "np.trunc": "np.where(x < 0.0, np.ceil(x), np.floor(x))",
}
"""Expressions that are equal; of x and y, or of a matrix A."""

_SPECTRUM = (
    "its steps differ from state to state. Where it measures how near J is to a singular matrix, write "
    "np.linalg.det(J @ J.T); else compute it outside and give it as an input"
)
_ORDER = (
    "the order of symbols differs from state to state; np.max, np.min, np.maximum, np.minimum and "
    "np.where(condition, a, b) choose among them"
)
_PSEUDO = (
    "write A.T @ np.linalg.inv(A @ A.T) for a wide A, np.linalg.inv(A.T @ A) @ A.T for a tall one, with "
    "+ 1e-6 * np.eye(n) behind the product where A may lose its rank"
)
_LEAST_SQUARES = "write np.linalg.solve(A.T @ A, A.T @ b) for least squares"

_OF_SPECTRUM = "cond eig eigh eigvals eigvalsh matrix_rank svd svdvals"
_OF_ORDER = """
argmax argmin argpartition argsort argwhere digitize flatnonzero lexsort median nonzero partition percentile quantile
searchsorted sort unique
"""
INSTEAD: Mapping[str, str] = {
    **{f"np.linalg.{name}": _SPECTRUM for name in _OF_SPECTRUM.split()},
    **{f"np.{name}": _ORDER for name in _OF_ORDER.split()},
    "np.average": "write np.sum(w * x) / np.sum(w)",
    "np.isfinite": "test the answer outside: a state whose numbers are not finite spoils no other state",
    "np.isinf": "test the answer outside: a state whose numbers are not finite spoils no other state",
    "np.linalg.lstsq": _LEAST_SQUARES,
    "np.linalg.matrix_power": "write A @ A",
    "np.linalg.multi_dot": "write A @ B @ C",
    "np.linalg.pinv": _PSEUDO,
    "np.linalg.qr": _LEAST_SQUARES,
    "np.linalg.slogdet": "write np.log(np.abs(np.linalg.det(A)))",
    "np.linalg.tensorinv": "write np.linalg.inv of the array as a matrix, A.reshape(n, n)",
    "np.linalg.tensorsolve": "write np.linalg.solve of the array as a matrix, A.reshape(n, n)",
    "ndarray.tolist": "take the entries, x[0], or loop over x",
}
"""Sentences."""


def instead(name: str, there: Iterable[str]) -> str:
    """What to do without a function of NumPy; there: the names of those that take symbols."""
    if name in SAME:
        return f"write {SAME[name]}"
    if name in INSTEAD:
        return INSTEAD[name]
    near = get_close_matches(name, list(there), 3, 0.8)
    like = f"the nearest that do are {', '.join(near)}; " if near else ""
    return f"{like}docs/how-to/your-functions.md lists those that do, or compute it outside and give it as an input"


T = TypeVar("T", bound="Held")

FUNCTIONS: dict[Callable[..., object], Callable[..., object]] = {}
"""What NumPy's functions that are not universal do with symbols. The other files of this package put theirs in."""

UNIVERSAL: dict[Any, Callable[..., object]] = {}
"""The same of universal functions that are not entry by entry, such as `np.matmul`."""

REDUCED: dict[Any, Callable[..., object]] = {}
"""What `ufunc.reduce` is: the function of NumPy that does the same."""


class Trace(Protocol):
    """Where symbols are from."""

    def product(self, left: Entries, right: Entries) -> Entries | None:
        """A large product of matrices, kept as one; None where it shall be sums of products."""
        ...

    def linear(self, kind: str, *operands: Entries) -> Entries:
        """x of A x = b for kind "solve" or "solve_symmetric", the lower factor of A for "cholesky", or "det"."""
        ...


class Held(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of things that NumPy knows nothing of; source: the trace that they are from."""

    __slots__ = ("entries", "source")
    __hash__ = None  # pyright: ignore[reportAssignmentType]  # `==` is entry by entry

    def __init__(self, entries: object, trace: Trace) -> None:
        self.entries: Entries = as_objects(entries)
        self.source = trace

    @property
    def shape(self) -> tuple[int, ...]:
        return self.entries.shape

    @property
    def ndim(self) -> int:
        return self.entries.ndim

    @property
    def size(self) -> int:
        return self.entries.size

    @property
    def T(self: T) -> T:
        return type(self)(self.entries.T, self.source)

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self: T) -> Iterator[T]:
        return (self[k] for k in range(len(self)))

    def __getitem__(self: T, index: Any) -> T:
        return type(self)(self.entries[_plain_index(index)], self.source)

    def __setitem__(self, index: Any, value: object) -> None:
        if not self.entries.flags.writeable:
            raise UnsupportedError(
                "an input of a function, or an answer of `at`, is not written; change a copy: x = x.copy()"
            )
        entries = entries_of(value, self.source)
        self.entries[_plain_index(index)] = entries if entries.ndim else entries.item()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.shape}>"

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: object, **options: Any) -> object:
        """What a universal function does; called by NumPy, and by operators."""
        written = options.pop("out", (None,))[0]
        known = UNIVERSAL.get(ufunc) if method == "__call__" else None
        if method == "reduce" and ufunc in REDUCED:
            axis = options.pop("axis", 0)
            answer = REDUCED[ufunc](inputs[0], axis=axis, keepdims=options.pop("keepdims", False))
        elif method not in ("__call__", "outer") or not (known or is_elementwise(ufunc)):
            raise unsupported(f"np.{ufunc.__name__}" + ("" if method == "__call__" else f".{method}"))
        else:
            given = _side_by_side(inputs, self.source) if method == "outer" else inputs
            answer = known(*given) if known else elementwise(ufunc, given, self.source)
        if any(option != "dtype" for option in options):
            raise UnsupportedError(f"np.{ufunc.__name__} of symbols takes no option {', '.join(options)}")
        return answer if written is None else _written(ufunc, answer, written)

    def __array_function__(
        self,
        function: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object],
        kwargs: Mapping[str, object],
    ) -> object:
        """What another function of NumPy does; called by NumPy."""
        if function not in FUNCTIONS:
            raise unsupported(_name(function))
        try:
            signature(FUNCTIONS[function]).bind(*args, **kwargs)
        except TypeError as error:  # an option of NumPy's that has no meaning, or none yet, for symbols
            raise UnsupportedError(f"{_name(function)} of symbols: {error}") from error
        return FUNCTIONS[function](*args, **kwargs)

    def flatten(self) -> Held:
        return type(self)(self.entries.flatten(), self.source)

    def reshape(self, *shape: Any, **order: Any) -> Held:
        return type(self)(self.entries.reshape(*shape, **order), self.source)

    def transpose(self, *axes: Any) -> Held:
        return type(self)(self.entries.transpose(*axes), self.source)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """NumPy's function of this name, where arrays have a method of it."""
        function = getattr(np, name, None)
        if not name.startswith("_") and hasattr(np.ndarray, name):
            if function is None:
                raise unsupported(f"ndarray.{name}")

            def method(*args: object, **options: object) -> object:
                return function(self, *args, **options)

            return method
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __bool__(self) -> bool:
        if self.size == 1 and isinstance(self.entries.item(), (bool, float)):
            return bool(self.entries.item())
        raise UnsupportedError(BRANCH)

    def __float__(self) -> float:
        if self.size == 1 and isinstance(self.entries.item(), float):
            return float(self.entries.item())
        raise UnsupportedError(NUMBER)

    def __array__(self, dtype: object = None, copy: object = None) -> object:
        """Called where an array of numbers is made of it, or it is put into one."""
        raise UnsupportedError(ARRAY)

    def _refused(self, *_: object) -> int:
        raise UnsupportedError(NUMBER)

    __int__ = __index__ = __complex__ = __round__ = __trunc__ = __floor__ = __ceil__ = _refused


class Symbols(Held):
    """An array of symbols, and of numbers among them."""

    __slots__ = ()

    @property
    def dtype(self) -> np.dtype[np.float64]:
        """As of a plain array of floats."""
        return np.dtype(np.float64)

    @property
    def real(self) -> Symbols:
        return self

    def item(self, *index: int) -> Symbols:
        """One entry, as an array without dimensions."""
        return Symbols(self.entries.item(*index), self.source)

    def astype(self, dtype: object, **_: object) -> Symbols:
        """A copy; a symbol stays one."""
        if np.dtype(cast(Any, dtype)).kind != "f":
            raise UnsupportedError(NUMBER)
        return Symbols(self.entries.copy(), self.source)


class Condition(Held):
    """An array of what may hold or not: for `np.where`, `np.select`, `&`, `|`, `~`, `np.logical_and`, ..."""

    __slots__ = ()


def entries_of(value: object, trace: Trace) -> Entries:
    """The entries of an array of numbers or of symbols of this trace, or of a list of such; numbers as floats."""
    if isinstance(value, Held):
        if value.source is not trace:
            raise UnsupportedError(
                "a symbol of another trace: a function must not keep what it was given, or what it made of it, for a "
                "later call; give it as an input"
            )
        return value.entries
    if isinstance(value, (list, tuple)):
        parts = [entries_of(x, trace) for x in cast("Sequence[object]", value)]
        if len({part.shape for part in parts}) > 1:
            shapes = " and ".join(map(str, dict.fromkeys(part.shape for part in parts)))
            raise UnsupportedError(f"a list among symbols has parts of shapes {shapes}; give parts of one shape")
        return np.stack(parts) if parts else as_objects(np.zeros(0))
    if np.ma.is_masked(value):
        raise UnsupportedError("an array among symbols has masked entries; give x.filled(...), a number for each")
    array: Any = np.asarray(cast(Any, value))
    if array.dtype.kind in "biuf":
        return as_objects(array.astype(bool if array.dtype.kind == "b" else np.float64))
    if array.dtype.kind != "O":
        raise UnsupportedError(f"an array of {array.dtype} among symbols; give real numbers")
    return each(entry, array)


def numbers_of(value: object, trace: Trace) -> Entries:
    """The same; truths of numbers count as 1 and 0, those of symbols are refused."""
    if isinstance(value, Condition):
        raise UnsupportedError("a condition is no number; write np.where(condition, 1.0, 0.0)")
    entries = entries_of(value, trace)
    return each(number, entries) if bool in set(map(type, entries.flat)) else entries


def truths_of(value: object, trace: Trace) -> Entries:
    """The same as truths: a number holds where it is not zero."""
    return each(truth, entries_of(value, trace))


def is_elementwise(ufunc: Any) -> bool:
    return of_numbers(ufunc) is not None or ufunc in COMPARISONS or ufunc in LOGIC


def elementwise(ufunc: Any, operands: Sequence[object], trace: Trace) -> Held:
    """A universal function, entry by entry; of numbers alone it is NumPy's own."""
    if ufunc in LOGIC:
        return Condition(each(LOGIC[ufunc], *(truths_of(x, trace) for x in operands)), trace)
    if ufunc in COMPARISONS:
        return Condition(_applied(ufunc, COMPARISONS[ufunc], operands, trace), trace)
    of_symbols = of_numbers(ufunc)
    assert of_symbols is not None  # see is_elementwise
    return Symbols(_applied(ufunc, of_symbols, operands, trace), trace)


def _applied(ufunc: Any, of_symbols: Callable[..., object], operands: Sequence[object], trace: Trace) -> object:
    def of_entries(*numbers: Any) -> object:
        if all(isinstance(x, float) for x in numbers):
            return ufunc(*map(np.float64, numbers)).item()
        return of_symbols(*numbers)

    with np.errstate(all="ignore"):
        return each(of_entries, *(numbers_of(x, trace) for x in operands))


def unsupported(name: str) -> UnsupportedError:
    """That a function of NumPy takes no symbols, and what to write."""
    names = {f"np.{ufunc.__name__}" for ufunc in (*NUMBERS, *COMPARISONS, *LOGIC, *UNIVERSAL)}
    names |= {_name(function) for function in FUNCTIONS}
    return UnsupportedError(f"{name} takes no symbols: {instead(name, sorted(names))}")


def _name(function: Callable[..., object]) -> str:
    _, _, module = (function.__module__ or "").partition("numpy.")
    within = "" if not module or module.startswith("_") else module.split(".")[0] + "."
    return f"np.{within}{function.__name__}"


def _plain_index(index: Any) -> Any:
    parts = cast("tuple[object, ...]", index) if isinstance(index, tuple) else (index,)
    if any(isinstance(part, Held) for part in parts):
        raise UnsupportedError(f"an index that differs from state to state; {BRANCH}")
    return cast(Any, index)


def _side_by_side(inputs: Sequence[object], trace: Trace) -> list[Entries]:
    """The operands of `ufunc.outer`, so that they broadcast to all pairs."""
    first, second = (entries_of(x, trace) for x in inputs)
    return [first.reshape(first.shape + (1,) * second.ndim), second]


def _written(ufunc: Any, answer: object, out: object) -> object:
    """`x += y` and `out=`: only an array of symbols can hold symbols."""
    if not isinstance(out, Held) or not isinstance(answer, Held):
        raise UnsupportedError(
            f"np.{ufunc.__name__} into an array of numbers, which cannot hold symbols; write x = x + y in place of "
            "x += y, and leave out= out"
        )
    out[...] = answer
    return out
