"""Pinocchio's C++ for one robot, called with plain arrays, one thread. Answers stay in its Data unless asked for."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from condyle.cli.rivals import toolchain
from condyle.cli.rivals.numbers import Struct, numbers_of
from condyle.cli.rivals.rival import EXACT, Array, Compiled

if TYPE_CHECKING:
    from condyle.model.robot import Robot

SOURCE = Path(__file__).with_name("pinocchio_cpp.cpp")
FLAGS = ("-std=c++17", "-O3", "-march=native", "-DNDEBUG")
COMPILERS = {"pinocchio": toolchain.CLANG_FIRST, "pinocchio-gcc": toolchain.GCC}
ALGORITHMS = {
    "id": "rnea",
    "fd": "aba",
    "m": "crba",
    "minv": "computeMinverse",
    "did": "computeRNEADerivatives",
    "dfd": "computeABADerivatives",
    "difd": "computeRNEADerivatives and two dense products",
}


class PinocchioCpp:
    """Pinocchio compiled for this very machine."""

    algorithms = ALGORITHMS

    def __init__(self, robot: Robot, name: str = "pinocchio") -> None:
        self.name = name
        numbers = numbers_of(robot, "Pinocchio")
        headers = toolchain.pinocchio_headers()
        compiler = toolchain.cpp_compiler(COMPILERS[name])
        command = [compiler.path, *FLAGS, *headers.flags, *toolchain.SHARED]
        library = toolchain.library(command, SOURCE, (toolchain.MODEL,), f"Pinocchio {headers.pinocchio} by {name}")
        library.rival_new.restype = ctypes.c_void_p
        library.rival_new.argtypes = [ctypes.POINTER(Struct)]
        library.rival_free.argtypes = [ctypes.c_void_p]
        library.rival_free.restype = None
        self.about = {
            "version": headers.pinocchio,
            "eigen": headers.eigen,
            "compiler": compiler.version,
            "flags": " ".join(FLAGS),
        }
        self._free = library.rival_free
        self._handle: int = library.rival_new(ctypes.byref(numbers.struct()))
        self._compiled = Compiled(library, self._handle)

    def __del__(self) -> None:
        if hasattr(self, "_handle"):
            self._free(self._handle)

    def call(self, function: str, arrays: Sequence[Array]) -> Callable[[], object]:
        return self._compiled.call(function, arrays)

    def answers(self, function: str, arrays: Sequence[Array], out: Sequence[Array]) -> None:
        self._compiled.call(function, arrays, out)()

    def tolerance(self, function: str) -> float:
        del function
        return EXACT
