"""Whether two things are the same: sha256 of their exact content, with a hash of each part, so that a difference has a
name.

All that asks whether two robots, compiled functions or functions of users are the same asks here: caches, keys of
frameworks, pickles, journals. Floats count by their bits.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

Parts = Mapping[str, str]
"""Hashes (sha256, hex) of what a thing is made of, by name."""

_VERSION = b"condyle content 1"
_LETTERS = 8
"""Of each part's hash in a key: they name a difference and decide nothing."""


def digest(value: object) -> str:
    """sha256 (hex) of plain data: numbers, text, arrays, sequences, mappings in their order, dataclasses by their
    fields.

    Equal only where all types, shapes, names and bits are equal. TypeError for anything else.
    """
    content = bytearray(_VERSION)
    _append(content, value)
    return hashlib.sha256(content).hexdigest()


def parts_of(value: object, prefix: str = "") -> dict[str, str]:
    """The hash of each field of a dataclass, by the field's name."""
    return {f"{prefix}{name}": digest(getattr(value, name)) for name in _fields(value)}


def whole(parts: Parts) -> str:
    """sha256 (hex) over all parts and their names."""
    return digest(sorted(parts.items()))


def differing(first: Parts, second: Parts) -> list[str]:
    """The names of parts that are not the same in both."""
    return [name for name in {**first, **second} if first.get(name) != second.get(name)]


def key_of(parts: Parts) -> str:
    """A text that is equal only for equal parts, and that says later which parts differ: see `nearest`."""
    return f"{whole(parts)}.{''.join(parts[name][:_LETTERS] for name in sorted(parts))}"


def nearest(key: str, candidates: Iterable[Parts]) -> list[str]:
    """The names of parts in which the thing of a key differs from the candidate that has the fewest such parts.

    Empty where there are no candidates, or where another version wrote the key.
    """
    letters = key.partition(".")[2]
    starts = [letters[k : k + _LETTERS] for k in range(0, len(letters), _LETTERS)]
    fewest: list[str] = []
    for parts in candidates:
        if len(parts) == len(starts):
            pairs = zip(sorted(parts), starts, strict=True)
            names = [name for name, start in pairs if not parts[name].startswith(start)]
            fewest = names if not fewest or 0 < len(names) < len(fewest) else fewest
    return fewest


class Identified:
    """What has an identity."""

    __slots__ = ()

    if TYPE_CHECKING:
        _parts: dict[str, str]
        """Empty before it is asked for the first time."""

    def _identified(self) -> Parts:
        """Hashes of all that an answer depends on."""
        raise NotImplementedError

    @property
    def identity_parts(self) -> Parts:
        """What `identity` is made of: the hash of each part, by name, to see in what two things differ."""
        if not self._parts:
            self._parts.update(self._identified())
        return MappingProxyType(self._parts)

    @property
    def identity(self) -> str:
        """sha256 (hex) of all that an answer depends on, to the last bit; equal for the same thing in any process."""
        return whole(self.identity_parts)

    def __dask_tokenize__(self) -> tuple[object, ...]:
        return "condyle", self.identity


def _fields(value: object) -> list[str]:
    """What a thing is made of: what follows from these, and what is not compared, is left out."""
    return [field.name for field in fields(cast(Any, value)) if field.init and field.compare]


def _append(content: bytearray, value: object) -> None:
    """Each value begins with the letter of its type; what has no fixed length has its length in front."""
    if isinstance(value, (tuple, list)):
        listed = cast("Sequence[object]", value)
        _append_all(content, b"(", len(listed), listed)
    elif isinstance(value, Mapping):
        pairs = cast("Mapping[object, object]", value)
        _append_all(content, b"{", len(pairs), chain.from_iterable(pairs.items()))
    elif is_dataclass(value) and not isinstance(value, type):
        names = _fields(value)
        _append_all(content, b"d", len(names), chain.from_iterable((name, getattr(value, name)) for name in names))
    elif isinstance(value, np.ndarray):
        _append_array(content, cast("NDArray[Any]", value))
    else:
        content += _plain(value)


def _append_all(content: bytearray, letter: bytes, length: int, values: Iterable[object]) -> None:
    content += letter + b"%d;" % length
    for value in values:
        _append(content, value)


def _append_array(content: bytearray, array: NDArray[Any]) -> None:
    dtype: Any = array.dtype
    kind: str = dtype.str[1:]
    if dtype.kind not in "biuf":
        raise TypeError(f"an array of {kind} is no plain data")
    _append_all(content, b"a", array.ndim, (kind, *array.shape))
    content += array.astype(f"<{kind}", copy=False).tobytes()


def _plain(value: object) -> bytes:
    if isinstance(value, (np.bool_, np.integer)):
        return _plain(cast("np.generic", value).item())
    if value is None or isinstance(value, bool):
        return b"N" if value is None else b"T" if value else b"F"
    if isinstance(value, int):
        return b"i%d;" % value
    if isinstance(value, float):
        return b"f" + struct.pack("<d", value)
    if isinstance(value, str):
        text = value.encode("utf-8", "surrogatepass")
        return b"s%d;" % len(text) + text
    raise TypeError(f"{type(value).__name__} is no plain data")
