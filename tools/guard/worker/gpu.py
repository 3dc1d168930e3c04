"""PTX of every form without a GPU: modules that stand for CUDA's bindings take down what they are given.

So it is what Condyle would load and launch, and nothing of Condyle's own is known here.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from itertools import count
from types import SimpleNamespace
from typing import Any

import numpy as np

import condyle
from tools.guard.worker.normal import digest, normal
from tools.guard.worker.states import States

ATTRIBUTES = {
    "CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT": 132,
    "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR": 9,
    "CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": 227 * 1024,
}
LOG = b"ptxas info: Used 32 registers\n0 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads\n"
"""Of an assembler that spills: then all texts of a kernel are tried."""


class _Names:
    """An enumeration: each member is its name."""

    def __getattr__(self, name: str) -> str:
        return name


class Driver:
    """A driver that computes nothing and remembers what it was told to launch, and the constants of that."""

    def __init__(self) -> None:
        self.launches: list[str] = []
        self._numbers = count(1 << 20, 1 << 12)
        self._host: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("cu"):
            return _Names()
        return lambda *arguments: (0, next(self._numbers))

    def cuDeviceGetCount(self) -> tuple[int, int]:
        return 0, 1

    def cuDriverGetVersion(self) -> tuple[int, int]:
        return 0, 13_000

    def cuDeviceGetAttribute(self, name: str, device: int) -> tuple[int, int]:
        return 0, ATTRIBUTES.get(name, 0)

    def cuFuncGetAttribute(self, name: str, function: int) -> tuple[int, int]:
        return 0, 1024

    def cuMemGetInfo(self) -> tuple[int, int, int]:
        return 0, 1 << 36, 1 << 36

    def cuMemHostAlloc(self, size: int, flags: int) -> tuple[int, int]:
        self._host.append((ctypes.c_uint8 * size)())
        return 0, ctypes.addressof(self._host[-1])

    def cuMemAlloc(self, size: int) -> tuple[int, int]:
        return 0, next(self._numbers) + (size << 32)

    def cuMemcpyHtoD(self, to: int, source: int, size: int) -> tuple[int]:
        """Constants of a kernel; rows travel by other calls."""
        self.launches.append(f"constants {digest(ctypes.string_at(source, size).hex())}")
        return (0,)

    def cuLaunchKernel(self, function: int, *numbers: Any) -> tuple[int]:
        *grid, _, _, _ = numbers  # the stream, and the address of the parameters
        self.launches.append(f"launch {grid}")
        return (0,)


class Linker:
    """An assembler that keeps the texts."""

    InputType = SimpleNamespace(PTX="ptx")
    nvJitLinkError = RuntimeError

    def __init__(self) -> None:
        self.texts: list[str] = []

    def version(self) -> tuple[int, int]:
        return 13, 0

    def create(self, *options: object) -> int:
        return 1

    def add_data(self, handle: int, kind: str, data: bytes, *rest: object) -> None:
        self.texts.append(data.decode("ascii"))

    def complete(self, handle: int) -> None:
        pass

    destroy = complete

    def get_linked_cubin_size(self, handle: int) -> int:
        return 4

    def get_linked_cubin(self, handle: int, into: bytearray) -> None:
        into[:] = b"code"

    def get_info_log_size(self, handle: int) -> int:
        return len(LOG)

    def get_info_log(self, handle: int, into: bytearray) -> None:
        into[:] = LOG


DRIVER, LINKER = Driver(), Linker()


def hashes(
    robot: Any,
    states: States,
    functions: Sequence[str],
    dtype: str,
    links: str,
    forms: Sequence[str],
    forces: bool,
) -> dict[str, str]:
    """By "function form": all texts of a call, their constants, its launches; an error is known by its type."""
    modules: dict[str, Any] = {"cuda.bindings.driver": DRIVER, "cuda.bindings.nvjitlink": LINKER}
    sys.modules.update(modules)
    found: dict[str, str] = {}
    for function in functions:
        for form in forms:
            name = f"{function} {form}" + (" f_ext" if forces else "")
            try:
                found[name] = _call(robot, states, function, dtype, links, form, forces)
            except Exception as error:
                found[name] = type(error).__name__
    return found


def _call(robot: Any, states: States, function: str, dtype: str, links: str, form: str, forces: bool) -> str:
    dyn = robot.compile("cuda", dtype=dtype, links=links, kernels={function: form})
    rows = [np.ascontiguousarray(x, dtype=dtype) for x in states.arguments(dyn.signature[function])]
    LINKER.texts.clear()
    DRIVER.launches.clear()
    given = {"f_ext": np.ascontiguousarray(states.f_ext, dtype=dtype)} if forces else {}
    dyn.function(function)(*rows, **given)
    if not LINKER.texts:
        raise SystemExit(f"{function} {form}: no text reached the assembler")
    every = [*(normal(text, "ptx", condyle.__version__) for text in LINKER.texts), *DRIVER.launches]
    return digest("\n".join(every))
