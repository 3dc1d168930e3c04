"""Kernels kept between runs, found again by what determines them, before anything is traced."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from condyle.backends.cpu.build import load, supported
from condyle.backends.cpu.recipe import Recipe, from_bytes, to_bytes
from condyle.errors import BuildError
from condyle.runtime import cache
from condyle.runtime.layout import Layouts
from condyle.runtime.native import NativeKernel
from condyle.runtime.own import identity


@dataclass(frozen=True, slots=True)
class Key:
    """All that one kernel depends on, beside the processor and Condyle itself.

    fingerprint: of the robot; an empty one stands for a robot whose kernels are not kept. routes: those asked for.
    """

    fingerprint: str
    function: str
    f_ext: bool
    routes: str
    dtype: str


def find(key: Key, layouts: Layouts | None) -> NativeKernel | None:
    """The kernel, if it was kept by this Condyle for this instruction set and can still be loaded.

    BuildError where CONDYLE_CACHE_DIR asks for a directory that is refused.
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


def keep(key: Key, made: Recipe) -> None:
    """Keeps a kernel for the next process."""
    parts = _parts(key)
    if parts:
        ports = "f_ext " if key.f_ext else ""
        cache.keep(parts, f"{key.function} {ports}{key.dtype} {key.fingerprint[:12]} machine code", to_bytes(made))


def _parts(key: Key) -> list[str]:
    """What the entry is named by; nothing where it cannot be named."""
    can = supported()
    if not (key.fingerprint and can and identity()):
        return []
    return ["cpu", identity(), str(vars(np)["__version__"]), can[0].name, repr(key)]
