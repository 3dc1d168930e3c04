"""Packed copies of arrays, for calls that take and give packed arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from difflib import get_close_matches

import numpy as np
from numpy.typing import ArrayLike

from condyle.compile.serial import Compiler
from condyle.errors import ShapeError, UnsupportedError
from condyle.functions import FUNCTIONS, found, quantities, short_name
from condyle.functions.quantities import Q, V
from condyle.runtime import memory
from condyle.runtime.arrays import Binder
from condyle.runtime.given import as_array
from condyle.runtime.packed import Packed, pack_rows, packed_bytes
from condyle.runtime.rows import broadcast
from condyle.specification import F_EXT, Function, Port
from condyle.trace.structure import layout_of, sizes

FORCES = (F_EXT.name, f"d{F_EXT.name}")
"""Ports whose arrays packed calls broadcast: forces and tangents of them are mostly one for all states, or none."""


def known_function(name: object) -> Function:
    """A function by its short name or its method's, derivatives too; UnsupportedError for what names none."""
    function = found(short_name(name))
    if function is None:
        methods = {one.method: one.name for one in FUNCTIONS.values()}
        if name == "rollout":
            raise UnsupportedError("there is no function 'rollout'; one of 50 steps is 'rollout_50_by_tau_of_step'")
        close = get_close_matches(name, methods, 1, 0.75) if isinstance(name, str) else []
        cure = f"did you mean {methods[close[0]]!r}, {close[0]}?" if close else f"there are {', '.join(FUNCTIONS)}"
        raise UnsupportedError(f"there is no function {name!r}; {cure}")
    return function


class Packing:
    """What `Dynamics` packs arrays by."""

    _compiler: Compiler
    _target: str
    _dtype: str

    @property
    def dtype(self) -> np.dtype[np.floating]:
        """The dtype of every array, in and out."""
        return np.dtype(self._dtype)

    def pack(self, array: ArrayLike, port: str = "", of: str = "") -> Packed:
        """Return a packed copy of an array of many states; calls with packed arrays give packed answers.

        array: (..., nq) or (..., nv), or what port names: "f_ext", "Minv", "M". of: short name of the function whose
        port it is, such as "vjp_m" for "M_bar". Errors: ShapeError, DTypeError, OutOfMemoryError; UnsupportedError for
        a name.
        """
        for name, value in (("port", port), ("of", of)):
            if not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise UnsupportedError(f"pack: {name} is {type(value).__name__}, expected a name such as 'f_ext'")
        given = as_array("pack", port or "array", array)
        return self.packed(array, self._port(given.shape, port, of))

    def packed(self, array: ArrayLike, chosen: Port) -> Packed:
        """A packed copy of what a port takes."""
        given = as_array("pack", chosen.name, array)
        layout = layout_of(self._compiler.tree, chosen, self._compiler.lanes(self._target, self._dtype))
        batch = given.shape[: given.ndim - len(layout.dims)]
        memory.check("pack", math.prod(batch), packed_bytes(math.prod(batch), layout, self.dtype))
        only = Function("pack", "pack", "", (chosen,), (), takes_f_ext=False)
        listed = type(array) in (list, tuple)  # numbers of any precision
        bound = Binder(only, sizes(self._compiler.tree), self.dtype).bind((array,) if listed else (given,))
        return pack_rows(bound.inputs[0], layout, batch)

    def with_packed_forces(
        self, name: str, given: Sequence[ArrayLike], f_ext: bool, batch: tuple[int, ...]
    ) -> tuple[ArrayLike, ...]:
        """The arguments of a packed call, dense external forces and tangents of them packed, one for each state.

        An array without batch dimensions stays as it is where forces are an input like others: calls take it.
        """
        ports = known_function(name).ports(f_ext)
        if len(ports) != len(given):
            return tuple(given)  # the call says what is missing
        dense = [
            port.name in FORCES and not isinstance(x, Packed) and (f_ext or np.ndim(x) > len(port.dims))
            for port, x in zip(ports, given, strict=True)
        ]
        every = zip(ports, given, dense, strict=True)
        return tuple(self._packed_forces(x, batch, port) if pack else x for port, x, pack in every)

    def _packed_forces(self, f_ext: ArrayLike, batch: tuple[int, ...], port: Port) -> Packed:
        packed = self.packed(f_ext, port)
        if packed.batch == batch:
            return packed
        if broadcast((packed.batch, batch)) != batch:
            others = f"{batch}, the batch of the other arguments"
            raise ShapeError(f"{port.name} has the batch {packed.batch}, which does not broadcast to {others}")
        return self.packed(np.broadcast_to(packed.dense(), batch + packed.layout.dims), port)

    def _port(self, shape: tuple[int, ...], name: str, of: str) -> Port:
        if not name:
            return V if shape[-1:] == (self._compiler.tree.nv,) else Q
        function = known_function(of) if of else None
        ports = quantities() if function is None else function.by_name
        if name not in ports:
            raise UnsupportedError(f"pack: there is no port {name!r}; there are {', '.join(ports)}")
        return ports[name]
