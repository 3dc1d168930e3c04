"""Headers of other libraries, C++ compilers, and adapters built from the sources in this folder."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from condyle.errors import UnsupportedError
from condyle.runtime import cache, loading
from condyle.runtime.toolchain import find_compiler, run

MODEL = Path(__file__).with_name("pinocchio_model.hpp")
# as in Pinocchio's own CMake targets: its joint variant is longer than Boost's default lists
DEFINITIONS = (
    "-DBOOST_MPL_LIMIT_LIST_SIZE=30",
    "-DBOOST_MPL_LIMIT_VECTOR_SIZE=30",
    "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
    "-DBOOST_FUSION_INVOKE_MAX_ARITY=12",
)
SHARED = ("-fPIC", "-shared", "-fvisibility=hidden", "-w")
GCC = ("g++", "c++")
CLANG_FIRST = ("clang++-19", "clang++", *GCC)
TIMEOUT_S = 900.0


@dataclass(frozen=True, slots=True)
class Cpp:
    """A C++ compiler."""

    path: str
    version: str


@dataclass(frozen=True, slots=True)
class Headers:
    """Pinocchio's headers: what a compiler must be told, and versions."""

    flags: tuple[str, ...]
    pinocchio: str
    eigen: str


def pinocchio_headers() -> Headers:
    """Those of the `pin` wheel, and Eigen's; says what is missing."""
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
    flags = (*DEFINITIONS, "-isystem", str(wheel), "-isystem", str(eigen))
    return Headers(flags, metadata.version("pin"), _eigen_version(eigen))


def cpp_compiler(names: Sequence[str]) -> Cpp:
    """The first of these that is there and says its version."""
    for path in filter(None, map(shutil.which, names)):
        done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return Cpp(path, done.stdout.partition("\n")[0])
    raise UnsupportedError(f"no C++ compiler that runs: tried {', '.join(names)} (Debian: apt-get install g++)")


def package(module: str, install: str) -> Any:
    """An optional package, imported; says how to install one that is not there."""
    try:
        return import_module(module)
    except ImportError as error:
        raise UnsupportedError(f"{module} is not installed: pip install {install}") from error


def wheel_folder(module: str, extra: str, header: str) -> Path:
    """The folder of a package that is installed but need not be imported; says how to install one that is not, or one
    that was built without this header.
    """
    folder = next((path for entry in sys.path if (path := Path(entry) / module).is_dir()), None)
    if folder is None:
        raise UnsupportedError(f"{module} is not installed: pip install 'condyle[{extra}]'")
    if not (folder / "include" / header).is_file():
        raise UnsupportedError(
            f"{module} is installed without its C headers (there is no include/{header} in {folder}). Wheels from PyPI "
            f"have them: pip install --force-reinstall --no-deps --only-binary :all: {module}"
        )
    return folder


def library(command: Sequence[str], source: Path, beside: Sequence[Path], label: str) -> ctypes.CDLL:
    """`command` run on one source file, kept in the cache; the files in `beside` are those that it includes."""
    texts = [path.read_text(encoding="utf-8") for path in (source, *beside)]
    # find_compiler's identity stands for what -march=native means here
    parts = ["rival", *command, source.name, find_compiler().identity, *texts]

    def make(built: Path) -> None:
        # libraries named in the command must follow the source that uses them
        first, last = [word for word in command if word[:2] != "-l"], [word for word in command if word[:2] == "-l"]
        run([[*first, "-o", str(built), str(source), *last]], built.parent, TIMEOUT_S, 1)

    return loading.library(cache.fetch(parts, f"{label}, for comparison", make))


def _eigen_version(include: Path) -> str:
    numbers = {"WORLD": "?", "MAJOR": "?", "MINOR": "?"}
    for line in (include / "Eigen" / "src" / "Core" / "util" / "Macros.h").read_text().splitlines():
        words = line.split()
        for part in numbers:
            if words[:2] == ["#define", f"EIGEN_{part}_VERSION"]:
                numbers[part] = words[2]
    return ".".join(numbers.values())
