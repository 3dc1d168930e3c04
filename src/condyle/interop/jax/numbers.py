"""Numbers by which programs of XLA call what this process has compiled."""

from __future__ import annotations

import hashlib
import weakref
from collections.abc import Callable
from itertools import count

from condyle.identity import nearest
from condyle.interop.jax.calls import Engine
from condyle.runtime._native import explain_unknown

_TAKEN: set[int] = set()
_SHARED: dict[str, int] = {}
"""Numbers of what serves everyone who asks for the same."""
_ENGINES: weakref.WeakSet[Engine] = weakref.WeakSet()


def number_of(engine: Engine, said: object, export: Callable[[int], None], is_shared: bool = False) -> int:
    """The number of what is said; `export` gives that to XLA's handler, once.

    is_shared: what was exported for another engine of the same identity serves this one too.
    """
    _ENGINES.add(engine)
    if said not in engine.numbers:
        content = f"{engine.key} {said}"
        number = _SHARED.get(content) if is_shared else None
        if number is None:
            number = _number(content)
            export(number)
            if is_shared:
                _SHARED[content] = number
        engine.numbers[said] = number
    return engine.numbers[said]


def _number(content: str) -> int:
    """The same for the same function in every process, so that kept programs find it; never one for two functions."""
    digests = (hashlib.sha256(f"{content} {k}".encode()).digest() for k in count())
    numbers = (int.from_bytes(digest[:8], "little", signed=True) for digest in digests)
    number = next(number for number in numbers if number not in _TAKEN)
    _TAKEN.add(number)
    return number


def _explained(key: str) -> str:
    """What a program's function differs in from those of this process, for the handler's message."""
    differences = ", ".join(nearest(key, [engine.parts for engine in list(_ENGINES)]))
    return f"the nearest that is loaded differs in {differences}" if differences else ""


explain_unknown(_explained)
