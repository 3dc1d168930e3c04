"""Find Pinocchio's headers and a C++ compiler, and build the adapter beside this file."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from condyle.errors import UnsupportedError
from condyle.runtime import cache
from condyle.runtime.toolchain import find_compiler, run

SOURCE = Path(__file__).with_name("pinocchio_cpp.cpp")
FLAGS = ("-std=c++17", "-O3", "-march=native", "-DNDEBUG")
# as in Pinocchio's own CMake targets: its joint variant is longer than Boost's default lists
DEFINITIONS = (
    "-DBOOST_MPL_LIMIT_LIST_SIZE=30",
    "-DBOOST_MPL_LIMIT_VECTOR_SIZE=30",
    "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
    "-DBOOST_FUSION_INVOKE_MAX_ARITY=12",
)
LINK = ("-fPIC", "-shared", "-fvisibility=hidden", "-w")
COMPILERS = ("clang++-19", "clang++", "g++", "c++")
TIMEOUT_S = 900.0


@dataclass(frozen=True, slots=True)
class Toolchain:
    """What Pinocchio is compiled from and with."""

    compiler: str
    compiler_version: str
    includes: tuple[str, ...]
    pinocchio: str
    eigen: str

    @property
    def flags(self) -> str:
        return " ".join(FLAGS)


def find_toolchain() -> Toolchain:
    """The headers of the `pin` wheel, Eigen's, and the best C++ compiler here; says what is missing."""
    prefixes = [Path(entry) / "cmeel.prefix" / "include" for entry in sys.path]
    wheel = next((path for path in prefixes if (path / "pinocchio" / "multibody.hpp").is_file()), None)
    if wheel is None:
        raise UnsupportedError("Pinocchio's headers are not installed: pip install 'condyle[bench]'")
    candidates = [path / "eigen3" for path in prefixes] + [
        Path("/usr/include/eigen3"),
        Path("/usr/local/include/eigen3"),
    ]
    eigen = next((path for path in candidates if (path / "Eigen" / "Core").is_file()), None)
    if eigen is None:
        raise UnsupportedError(
            "Eigen's headers are not installed: pip install 'condyle[bench]' (or Debian's libeigen3-dev)"
        )
    compiler = next((found for name in COMPILERS if (found := shutil.which(name))), None)
    if compiler is None:
        raise UnsupportedError("no C++ compiler found: install g++ or clang++ (Debian: apt-get install g++)")
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False).stdout.splitlines()
    return Toolchain(
        compiler,
        version[0] if version else "",
        (str(wheel), str(eigen)),
        metadata.version("pin"),
        _eigen_version(eigen),
    )


def library(toolchain: Toolchain) -> ctypes.CDLL:
    """The adapter's shared library, kept in the cache; building it takes one to four minutes."""
    command = [toolchain.compiler, *FLAGS, *DEFINITIONS, *LINK]
    for include in toolchain.includes:
        command += ["-isystem", include]
    # find_compiler's identity stands for what -march=native means here
    parts = ["rival", *command, repr(toolchain), find_compiler().identity, SOURCE.read_text(encoding="utf-8")]

    def make(built: Path) -> None:
        run([[*command, "-o", str(built), str(SOURCE)]], built.parent, TIMEOUT_S, 1)

    label = f"Pinocchio {toolchain.pinocchio} for comparison"
    return cache.fetch(parts, label, make, lambda built: ctypes.CDLL(str(built)))


def _eigen_version(include: Path) -> str:
    numbers = {"WORLD": "?", "MAJOR": "?", "MINOR": "?"}
    for line in (include / "Eigen" / "src" / "Core" / "util" / "Macros.h").read_text().splitlines():
        words = line.split()
        for part in numbers:
            if words[:2] == ["#define", f"EIGEN_{part}_VERSION"]:
                numbers[part] = words[2]
    return ".".join(numbers.values())
