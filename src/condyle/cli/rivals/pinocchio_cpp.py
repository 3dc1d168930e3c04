"""Pinocchio's C++ for one robot, called with plain arrays, one thread. Answers stay in its Data unless asked for."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from condyle.cli.rivals import toolchain
from condyle.cli.rivals.numbers import numbers_of
from condyle.cli.rivals.rival import EXACT, Array, Model

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
        self.about = {
            "version": headers.pinocchio,
            "eigen": headers.eigen,
            "compiler": compiler.version,
            "flags": " ".join(FLAGS),
        }
        self._model = Model(library, ctypes.byref(numbers.struct()))

    def call(self, function: str, arrays: Sequence[Array]) -> Callable[[], object]:
        return self._model.call(function, arrays)

    def answers(self, function: str, arrays: Sequence[Array], out: Sequence[Array]) -> None:
        self._model.call(function, arrays, out)()

    def tolerance(self, function: str) -> float:
        del function
        return EXACT
