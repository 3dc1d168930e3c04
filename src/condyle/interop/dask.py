"""Functions of a robot on Dask arrays: lazy, by blocks of states, on threads, processes or a cluster.

    far = condyle.interop.dask.wrap(dyn)
    tau = far.inverse_dynamics(q, v, a)         # one Dask array or more; NumPy arrays are cut alike, or one for all
    tau.compute()

Blocks are those of the first Dask argument along the states; the dimensions of a state are one block. A worker has the
robot and the options by pickle, and compiles, or takes the kernel from its own cache, at its first block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from condyle.dynamics import Dynamics
from condyle.errors import ShapeError, UnsupportedError
from condyle.functions import FUNCTIONS
from condyle.methods import made
from condyle.packing import known_function
from condyle.specification import Function

Array = NDArray[np.floating]


def wrap(dyn: Dynamics) -> Lazy:
    """An object with the methods of `dyn`; UnsupportedError where Dask is not installed."""
    try:
        return Lazy(dyn, import_module("dask.array"), import_module("dask").delayed)
    except ImportError as error:
        raise UnsupportedError("Dask is not installed: pip install 'condyle[dask]'") from error


class Lazy:
    """Methods of `Dynamics` on Dask arrays (states, ...)."""

    def __init__(self, dyn: Dynamics, array: Any, delayed: Callable[..., Any]) -> None:
        self._dyn, self._array, self._delayed = dyn, array, delayed
        self._there = delayed(dyn, pure=True, traverse=False)  # one value of the graph, sent to a worker once

    def __getattr__(self, method: str) -> Callable[..., Any]:
        if method.startswith("__"):  # copy and pickle ask before there is a Dynamics
            raise AttributeError(method)
        known = {FUNCTIONS[name].method: name for name in self._dyn.signature}
        if method not in known:
            raise AttributeError(f"{method}: Dask arrays are taken by {', '.join(known)}")

        def far(*args: Any, f_ext: Any = None) -> Any:
            return self._call(known[method], FUNCTIONS[known[method]], args, f_ext)

        return far

    def jvp(self, name: str) -> Callable[..., Any]:
        """As `Dynamics.jvp`, without forces."""
        return lambda *args: self._call(f"jvp_{name}", known_function(f"jvp_{name}"), args)

    def jacobian(self, name: str) -> Callable[..., Any]:
        """As `Dynamics.jacobian` by all inputs, without forces."""
        return lambda *args: self._call(f"jacobian_{name}", known_function(f"jacobian_{name}"), args)

    def hessian(self, name: str) -> Callable[..., Any]:
        """As `Dynamics.hessian`, without forces."""
        return lambda *args: self._call(f"hessian_{name}", known_function(f"hessian_{name}"), args)

    def _call(self, name: str, function: Function, args: Sequence[Any], f_ext: Any = None) -> Any:
        """Answers as Dask arrays, in a named tuple where there are several."""
        inputs, outputs = self._dyn.binder(name).specs
        if len(args) != len(function.inputs):
            said = ", ".join(port.name for port in function.inputs)
            raise ShapeError(f"{function.method}({said}): {len(args)} arguments given, expected {len(function.inputs)}")
        if f_ext is not None and not function.takes_f_ext:
            raise UnsupportedError(f"{function.method} takes no f_ext here: leave it out")
        args = args if f_ext is None else (*args, f_ext)
        lengths = self._blocks(function.method, args)
        given = [self._split(arg, len(spec.dims), lengths) for arg, spec in zip(args, inputs, strict=False)]
        blocks = [self._delayed(_block)(self._there, name, [part[k] for part in given]) for k in range(len(lengths))]
        answers: list[Any] = []
        for i, spec in enumerate(outputs):
            parts = [
                self._array.from_delayed(block[i], (length, *spec.dims), self._dyn.dtype)
                for block, length in zip(blocks, lengths, strict=True)
            ]
            answers.append(self._array.concatenate(parts))
        return made(function, answers)

    def _blocks(self, method: str, args: Sequence[Any]) -> tuple[int, ...]:
        """Lengths of the blocks of states."""
        first = next((arg for arg in args if isinstance(arg, self._array.Array)), None)
        if first is None:
            raise ShapeError(f"{method}: no argument is a Dask array; call the method of the Dynamics itself")
        found: tuple[int, ...] = first.chunks[0]
        if any(np.isnan(length) for length in found):
            raise ShapeError(f"{method}: a Dask array has blocks of unknown length: call its compute_chunk_sizes()")
        return found

    def _split(self, arg: Any, dims: int, lengths: tuple[int, ...]) -> list[Any]:
        """What each block gets of an argument: its own states, or all of what all states share."""
        if not isinstance(arg, self._array.Array):
            return [arg] * len(lengths) if np.ndim(arg) == dims else self._split_array(np.asarray(arg), lengths)
        if arg.ndim != dims + 1 or arg.shape[0] != sum(lengths):
            raise ShapeError(
                f"a Dask array has shape {arg.shape}, expected {sum(lengths)} states in its first dimension"
            )
        whole = arg.rechunk((lengths, *((size,) for size in arg.shape[1:])))
        return list(whole.to_delayed().ravel())

    def _split_array(self, arg: Array, lengths: tuple[int, ...]) -> list[Array]:
        if len(arg) != sum(lengths):
            raise ShapeError(f"an array has {len(arg)} states, the Dask arrays {sum(lengths)}")
        ends = np.cumsum(lengths)
        return [arg[end - length : end] for length, end in zip(lengths, ends, strict=True)]


def _block(dyn: Dynamics, name: str, args: Sequence[Array]) -> tuple[Array, ...]:
    """A block, in a worker."""
    n = len(known_function(name).inputs)
    return dyn.call(name, args[:n], *args[n:])  # external forces come last
