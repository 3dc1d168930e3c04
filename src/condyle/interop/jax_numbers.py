"""Numbers by which programs of XLA call what this process has compiled."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from itertools import count

from condyle.interop.jax_calls import Engine

_TAKEN: set[int] = set()


def number_of(engine: Engine, said: object, export: Callable[[int], None]) -> int:
    """The number of what is said; `export` gives that to XLA's handler, once."""
    if said not in engine.numbers:
        number = _number(f"{engine.said} {said}")
        export(number)
        engine.numbers[said] = number
    return engine.numbers[said]


def _number(said: str) -> int:
    """The same for the same function in every process, so that kept programs of XLA find it."""
    digests = (hashlib.sha256(f"{said} {k}".encode()).digest() for k in count())
    numbers = (int.from_bytes(digest[:8], "little", signed=True) for digest in digests)
    number = next(number for number in numbers if number not in _TAKEN)
    _TAKEN.add(number)
    return number
