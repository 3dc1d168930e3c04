"""How rules and recorded routes call other functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from condyle.functions import takes, variant


def call(
    at: Any,
    given: Mapping[str, Sequence[Any]],
    function: str,
    *inputs: Sequence[Any],
    kind: str = "",
    by: str = "",
    more: Sequence[Sequence[Any]] = (),
) -> tuple[list[Any], ...]:
    """A function with what is given behind its own inputs (forces, numbers of the robot), as far as it depends on it.

    kind, by: of a derivative, such as "jacobian_" and "_by_f_ext". more: what it takes behind all inputs.
    """
    extra = [name for name in takes(function) if name in given]
    return at.call(kind + variant(function, extra) + by, *inputs, *(given[name] for name in extra), *more)
