"""Functions, with external forces or without."""

from __future__ import annotations

from condyle.functions import function_of
from condyle.specification import Function
from condyle.specification.ports import F_EXT


def function_with(name: str | Function, f_ext: bool = True) -> Function:
    """The function; with f_ext it takes external forces, if it depends on them."""
    function = function_of(name)
    return function.taking(F_EXT) if f_ext else function
