"""Kernels in the cache, found by a key of all that determines them, before anything is traced."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from condyle.backends.cpu.build import load, supported
from condyle.backends.cpu.object_code import ObjectCode, from_bytes, to_bytes
from condyle.errors import BuildError
from condyle.runtime import cache
from condyle.runtime.layout import Layouts
from condyle.runtime.native import NativeKernel
from condyle.runtime.own import identity


@dataclass(frozen=True, slots=True)
class Key:
    """All that one kernel depends on, in addition to the processor and Condyle itself.

    fingerprint: that of the robot; empty for a robot whose kernels are not kept. function: its key. routes: the
    requested ones. name: of the function, for people.
    """

    fingerprint: str
    function: str
    routes: str
    dtype: str
    name: str = field(repr=False)


def find(key: Key, layouts: Layouts | None) -> NativeKernel | None:
    """The kernel, if this version of Condyle kept it for this instruction set and it can be loaded.

    BuildError where CONDYLE_CACHE_DIR names a directory that is refused.
    """
    cache.check()
    parts = _parts(key)
    data = cache.look(parts) if parts else None
    if data is None:
        return None
    try:
        return load(from_bytes(data), layouts)
    except (BuildError, ValueError):
        return None


def keep(key: Key, code: ObjectCode) -> None:
    """Keeps a kernel for the next process."""
    parts = _parts(key)
    if parts:
        cache.keep(parts, f"{key.name} {key.dtype} {key.fingerprint[:12]} machine code", to_bytes(code))


def _parts(key: Key) -> list[str]:
    """The parts of the cache key; empty where there can be none."""
    can = supported()
    if not (key.fingerprint and can and identity()):
        return []
    return ["cpu", identity(), str(vars(np)["__version__"]), can[0].name, repr(key)]
