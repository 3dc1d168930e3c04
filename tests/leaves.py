"""Data with one leaf changed: every number and every word of a thing, alone, by its place in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

Place = tuple[Any, ...]


def leaves(value: Any) -> Iterator[Place]:
    """The places of all leaves: names of fields that are compared, keys, and indices."""
    if is_dataclass(value):
        names = [field.name for field in fields(value) if field.init and field.compare]
        yield from ((name, *rest) for name in names for rest in leaves(getattr(value, name)))
    elif isinstance(value, Mapping):
        yield from ((key, *rest) for key, item in value.items() for rest in leaves(item))
    elif isinstance(value, (tuple, list)):
        yield from ((k, *rest) for k, item in enumerate(value) for rest in leaves(item))
    elif isinstance(value, np.ndarray):
        yield from np.ndindex(value.shape)
    else:
        yield ()


def changed(value: Any, place: Place) -> Any:
    """The same with another leaf at a place: the next float, another word or number. Nothing is checked."""
    if not place:
        return _other(value)
    first, rest = place[0], place[1:]
    if is_dataclass(value):
        copied = object.__new__(type(value))
        for field in fields(value):
            object.__setattr__(copied, field.name, getattr(value, field.name))
        object.__setattr__(copied, first, changed(getattr(value, first), rest))
        if hasattr(value, "_parts"):
            object.__setattr__(copied, "_parts", {})
        return copied
    if isinstance(value, Mapping):
        return {key: changed(item, rest) if key == first else item for key, item in value.items()}
    if isinstance(value, np.ndarray):
        array = value.copy()
        array[place] = _other(float(array[place]))
        return array
    items = [changed(item, rest) if k == first else item for k, item in enumerate(value)]
    return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)


def leaf(value: Any, place: Place) -> Any:
    """The leaf at a place."""
    for step in place:
        value = getattr(value, step) if is_dataclass(value) else value[step]
    return value


def _other(value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return 1.0 if value is None else not value
    if isinstance(value, str):
        return f"{value}x"
    return value + 1 if isinstance(value, int) else 0.0 if np.isinf(value) else float(np.nextafter(value, np.inf))
