"""The interface of an adapter to another library, and the plain C call that all adapters use."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from condyle.model.robot import Robot

Array: TypeAlias = NDArray[np.floating]
FUNCTIONS = ("id", "fd", "m", "minv", "did", "dfd", "difd")
"""The numbers of functions that adapters written in C go by."""
EXACT = 1e-8
FIRST_ORDER = 1e-3
"""Of steps that take v + dt a in axes which turn, where ours stand still: dt² in each step."""


class Rival(Protocol):
    """One robot in another library. Arrays are those of our own functions: float64, C-contiguous, our coordinates.

    algorithms: what answers each function there; one that is missing has no counterpart. about: versions, compiler,
    flags.
    """

    @property
    def name(self) -> str: ...

    @property
    def algorithms(self) -> Mapping[str, str]: ...

    @property
    def about(self) -> Mapping[str, str]: ...

    def call(self, function: str, arrays: Sequence[Array]) -> Callable[[], object]:
        """What is timed: the function at every state, its answers left where that library puts them."""
        ...

    def answers(self, function: str, arrays: Sequence[Array], out: Sequence[Array]) -> None:
        """The same with the answers in our arrays, to be compared before anything is timed."""
        ...

    def tolerance(self, function: str) -> float:
        """How far the answers may differ from ours, relative to the largest entry."""
        ...


def step_tolerance(robot: Robot) -> float:
    """Of libraries whose Euler's step is v + dt a and q moved by dt times that, whatever the joint."""
    return FIRST_ORDER if any(joint.kind.turning_entries for joint in robot.joints) else EXACT


class Compiled:
    """`rival_run(handle, function, n, q, v, x, minv, out)` of a shared library; with no `out` answers stay inside."""

    def __init__(self, library: ctypes.CDLL, handle: int | None) -> None:
        self.library = library
        self._run = library.rival_run
        self._run.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_long, *[ctypes.c_void_p] * 5]
        self._run.restype = None
        self._handle = handle

    def number(self, function: str) -> int:
        """What the library calls a function by."""
        return FUNCTIONS.index(function)

    def call(self, function: str, arrays: Sequence[Array], out: Sequence[Array] | None = None) -> Callable[[], object]:
        """A callable without arguments; keeps the model and the arrays alive."""
        q, v, x = arrays[0], arrays[min(1, len(arrays) - 1)], arrays[min(2, len(arrays) - 1)]
        minv = arrays[3].ctypes.data if len(arrays) > 3 else None
        pointers = None if out is None else (ctypes.c_void_p * len(out))(*(array.ctypes.data for array in out))
        numbers = (self._handle, self.number(function), len(q), q.ctypes.data, v.ctypes.data, x.ctypes.data)
        run, keep = self._run, (self, q, v, x, *arrays)

        def calling() -> object:
            run(*numbers, minv, pointers)
            return keep

        return calling


class Model(Compiled):
    """One robot that `rival_new` made of these arguments; `rival_free` takes it back. handle: None if it refused."""

    def __init__(self, library: ctypes.CDLL, *arguments: object) -> None:
        library.rival_new.restype = ctypes.c_void_p
        library.rival_free.argtypes = [ctypes.c_void_p]
        library.rival_free.restype = None
        self._free = library.rival_free
        self.handle: int | None = library.rival_new(*arguments)
        super().__init__(library, self.handle)

    def __del__(self) -> None:
        if getattr(self, "handle", None) is not None:
            self._free(self.handle)
