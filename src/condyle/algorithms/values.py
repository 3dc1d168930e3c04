"""Values of joints: scalars in nested tuples, named or plain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeGuard, TypeVar, cast

from condyle.scalar import Scalar

T = TypeVar("T")


def plus(a: T, b: T) -> T:
    """The sum of two values of one structure."""
    if _is_tuple(a):
        return cast(T, _rebuilt(a, [plus(x, y) for x, y in zip(a, cast("tuple[object, ...]", b), strict=True)]))
    return cast(T, cast(Scalar, a) + cast(Scalar, b))


def flat(value: object) -> list[Scalar]:
    """The scalars of a value."""
    return [scalar for part in value for scalar in flat(part)] if _is_tuple(value) else [cast(Scalar, value)]


def like(shape: object, values: Iterator[Scalar]) -> object:
    """A value of this structure, filled with these scalars."""
    return _rebuilt(shape, [like(part, values) for part in shape]) if _is_tuple(shape) else next(values)


def refilled(shape: T, values: Iterable[Scalar]) -> T:
    """The same structure, filled with these scalars."""
    return cast(T, like(shape, iter(values)))


def numbers(value: object) -> tuple[float, ...]:
    """The scalars of a value whose scalars are floats."""
    return tuple(float(cast(float, x)) for x in flat(value))


def _is_tuple(value: object) -> TypeGuard[tuple[object, ...]]:
    return isinstance(value, tuple)


def _rebuilt(value: object, parts: list[object]) -> object:
    """A tuple of the same type with other parts."""
    return cast("Callable[..., object]", type(value))(*parts) if hasattr(value, "_fields") else tuple(parts)
