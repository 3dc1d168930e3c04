"""What the machine can do: callables that move bytes or issue multiply-adds, to be timed in turn with ours."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np

from condyle.cli.bound import Call
from condyle.cli.rivals.rival import SHARED, library
from condyle.runtime.toolchain import find_compiler

SOURCE = Path(__file__).with_name("probes.c")
FLAGS = ("-std=gnu11", "-O3", "-march=native", "-ffp-contract=fast")
LINE = 64
STEP_BYTES = 4096
"""That are moved before the next array has its turn: as a tile or some of an arm."""


class Array(ctypes.Structure):
    """array_t of probes.c."""

    _fields_: ClassVar = [("first", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]


@cache
def probes() -> ctypes.CDLL:
    built = library([find_compiler().path, *FLAGS, *SHARED], SOURCE, (), "probes")
    size, place = ctypes.c_size_t, ctypes.c_void_p
    built.move_lines.argtypes = [place, size, place, size, size, ctypes.c_int]
    built.move_lines.restype = ctypes.c_longlong
    built.peak_double.argtypes = [ctypes.c_double, ctypes.POINTER(ctypes.c_double)]
    built.peak_float.argtypes = [ctypes.c_float, ctypes.POINTER(ctypes.c_float)]
    built.peak_double.restype = built.peak_float.restype = ctypes.c_longlong
    text = ctypes.c_char_p
    built.code_new.argtypes = [text, size, ctypes.POINTER(size), size, text, size, text, size]
    built.code_new.restype = place
    built.code_run.argtypes = [place, size]
    built.code_run.restype = None
    built.run_alone.argtypes = [place, place, place, size, place, place, size, place]
    built.run_alone.restype = None
    built.run_batch.argtypes = [place, place, place, size, place, place, place, place, size]
    built.run_batch.restype = None
    built.code_free.argtypes = [place]
    built.code_free.restype = None
    return built


def mover(inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray], streaming: bool) -> Call:
    """Reads these arrays and writes those, in step; `streaming`: stores go past the caches."""
    total = sum(array.nbytes for array in (*inputs, *outputs))
    steps = max(1, total // STEP_BYTES)
    move, before, after = probes().move_lines, _places(inputs), _places(outputs)
    return lambda: (move(before, len(inputs), after, len(outputs), steps, int(streaming)), inputs, outputs)


def peak(dtype: str) -> tuple[Call, int]:
    """A loop of independent multiply-adds, and how many operations it does (two each)."""
    built, number = probes(), ctypes.c_double if dtype == "float64" else ctypes.c_float
    loop = built.peak_double if dtype == "float64" else built.peak_float
    result = number()
    operations = int(loop(0.5, ctypes.byref(result)))
    return lambda: loop(0.5, ctypes.byref(result)), operations


class Code:
    """Kernels of target "cpu" alone, in memory: no rows are moved and no sines taken."""

    def __init__(self, kernels: Sequence[bytes], constants: bytes, work: bytes) -> None:
        text, offsets = b"", list[int]()
        for kernel in kernels:
            offsets.append(len(text))
            text += kernel + b"\xcc" * (-len(kernel) % LINE)
        built, count = probes(), len(offsets)
        table = (ctypes.c_size_t * count)(*offsets)
        code: int | None = built.code_new(text, len(text), table, count, constants, len(constants), work, len(work))
        if code is None:
            raise OSError("the system lets this process make no code")
        self._run, self._free, self._code = built.code_run, built.code_free, code

    def __del__(self) -> None:
        if hasattr(self, "_code"):
            self._free(self._code)

    def call(self, times: int) -> Call:
        """Runs all kernels so many times."""
        run, code = self._run, self._code
        return lambda: (run(code, times), self)


class Entry(Protocol):
    """Code of the form in src/condyle/runtime/tiles/single.h, in memory."""

    entry: int
    context: int
    work_bytes: int


def alone(code: Entry, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> Call:
    """Calls the code with one row of each input after the other, all answers to the same place."""
    states, places = len(inputs[0]), ctypes.c_void_p
    work = _lines(code.work_bytes)
    before = (places * len(inputs))(*(array.ctypes.data for array in inputs))
    after = (places * len(outputs))(*(array.ctypes.data for array in outputs))
    steps = (ctypes.c_size_t * len(inputs))(*(array.nbytes // states for array in inputs))
    run, where = probes().run_alone, _aligned(work)
    return lambda: (
        run(code.entry, code.context, where, states, before, steps, len(inputs), after),
        (code, work, inputs, outputs),
    )


class Batches(Protocol):
    """Code of the form in src/condyle/runtime/tiles/plan.h, in memory."""

    context: int
    work_bytes: int

    def entry(self, way: int, /) -> int: ...


def batches(plan: Batches, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray], times: int) -> Call:
    """Calls the plan with rows of NumPy arrays so many times; the first dimension counts states."""
    states, places = len(inputs[0]), ctypes.c_void_p
    work = _lines(plan.work_bytes)

    def pointers(arrays: Sequence[np.ndarray]) -> tuple[Any, Any]:
        strides = (ctypes.c_ssize_t * len(arrays))(*(array.size // states for array in arrays))
        return (places * len(arrays))(*(array.ctypes.data for array in arrays)), strides

    before, after = pointers(inputs), pointers(outputs)
    run, where = probes().run_batch, _aligned(work)
    return lambda: (
        run(plan.entry(0), plan.context, where, states, *before, *after, times),
        (plan, work, inputs, outputs),
    )


def _places(arrays: Sequence[np.ndarray]) -> Any:
    return (Array * len(arrays))(*(Array(array.ctypes.data, array.nbytes) for array in arrays))


def _lines(size: int) -> np.ndarray:
    """Room for so many bytes, every page of it there."""
    buffer = np.empty(size + 2 * LINE, dtype=np.uint8)
    buffer[:] = 1
    return buffer


def _aligned(buffer: np.ndarray) -> int:
    return -(-buffer.ctypes.data // LINE) * LINE
