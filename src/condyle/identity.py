"""Whether two things are the same: sha256 of their exact content, with a hash of each part, so that a difference has a
name.

All that asks whether two robots, compiled functions or functions of users are the same asks here: caches, keys of
frameworks, pickles, journals. Floats count by their bits.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, cast

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


def differing(some: Parts, others: Parts) -> list[str]:
    """The names of parts that are not the same in both."""
    return [name for name in {**some, **others} if some.get(name) != others.get(name)]


def key_of(parts: Parts) -> str:
    """A text that is equal only for equal parts, and that says later which parts differ: see `nearest`."""
    return f"{whole(parts)}.{''.join(parts[name][:_LETTERS] for name in sorted(parts))}"


def nearest(key: str, those: Sequence[Parts]) -> list[str]:
    """The names of parts in which the thing of a key differs from that one of those which is nearest.

    Empty where there are none, or where the key was not written by this version.
    """
    written = key.partition(".")[2]
    letters = [written[k : k + _LETTERS] for k in range(0, len(written), _LETTERS)]
    found: list[list[str]] = []
    for parts in those:
        if len(parts) == len(letters):
            pairs = zip(sorted(parts), letters, strict=True)
            found.append([name for name, start in pairs if not parts[name].startswith(start)])
    return min(filter(None, found), key=len, default=[])


def _fields(value: object) -> list[str]:
    return [field.name for field in fields(cast(Any, value)) if field.init]


def _append(content: bytearray, value: object) -> None:
    """Each value begins with the letter of its type; what has no fixed length has its length in front."""
    if value is None or isinstance(value, bool):
        content += b"N" if value is None else b"T" if value else b"F"
    elif isinstance(value, int):
        content += b"i%d;" % value
    elif isinstance(value, float):
        content += b"f" + struct.pack("<d", value)
    elif isinstance(value, str):
        text = value.encode("utf-8", "surrogatepass")
        content += b"s%d;" % len(text) + text
    elif isinstance(value, np.ndarray):
        _append_array(content, cast("NDArray[Any]", value))
    elif isinstance(value, (tuple, list)):
        listed = cast("Sequence[object]", value)
        content += b"(%d;" % len(listed)
        for item in listed:
            _append(content, item)
    elif isinstance(value, Mapping):
        pairs = cast("Mapping[object, object]", value)
        content += b"{%d;" % len(pairs)
        for pair in pairs.items():
            _append(content, pair[0])
            _append(content, pair[1])
    elif is_dataclass(value) and not isinstance(value, type):
        names = _fields(value)
        content += b"d%d;" % len(names)
        for name in names:
            _append(content, name)
            _append(content, getattr(value, name))
    else:
        raise TypeError(f"{type(value).__name__} is no plain data")


def _append_array(content: bytearray, array: NDArray[Any]) -> None:
    if array.dtype.kind not in "biuf":
        raise TypeError(f"an array of {array.dtype} is no plain data")
    content += b"a%s%d;" % (array.dtype.str[1:].encode(), array.ndim)
    content += b"".join(b"%d;" % size for size in array.shape)
    content += array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
