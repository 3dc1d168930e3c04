"""External forces of packed calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from condyle.errors import ShapeError
from condyle.runtime.packed import Packed
from condyle.runtime.rows import broadcast
from condyle.specification import F_EXT, Function, Port, Taking

FORCES = (F_EXT.name, f"d{F_EXT.name}")
"""Ports whose arrays packed calls broadcast: forces and tangents of them are mostly one for all states, or none."""


class Packs(Protocol):
    """What packs arrays: `Dynamics`."""

    def packed(self, array: ArrayLike, chosen: Port) -> Packed: ...


def with_packed_forces(
    dyn: Packs, function: Function, arguments: Sequence[ArrayLike], batch: tuple[int, ...]
) -> Sequence[ArrayLike]:
    """The arguments of a packed call, dense external forces and tangents of them packed, one for each state.

    Of a derivative an array without batch dimensions stays as it is: calls take it.
    """
    ports = function.inputs
    if len(ports) != len(arguments):
        return arguments  # the call says what is missing
    taken = isinstance(function.origin, Taking)
    dense = [
        port.name in FORCES and not isinstance(x, Packed) and (taken or np.ndim(x) > len(port.dims))
        for port, x in zip(ports, arguments, strict=True)
    ]
    every = zip(ports, arguments, dense, strict=True)
    return [_packed_forces(dyn, x, batch, port) if pack else x for port, x, pack in every]


def _packed_forces(dyn: Packs, f_ext: ArrayLike, batch: tuple[int, ...], port: Port) -> Packed:
    packed = dyn.packed(f_ext, port)
    if packed.batch == batch:
        return packed
    if broadcast((packed.batch, batch)) != batch:
        others = f"{batch}, the batch of the other arguments"
        raise ShapeError(f"{port.name} has the batch {packed.batch}, which does not broadcast to {others}")
    return dyn.packed(np.broadcast_to(packed.dense(), batch + packed.layout.dims), port)
