"""Functions that have a file of their own: a file of this folder with a specification, FUNCTION, adds it."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from condyle.specification import Function

ADDED: tuple[Function, ...] = tuple(
    import_module(f"{__name__}.{found.name}").FUNCTION for found in iter_modules(__path__)
)
