"""The interface of an adapter to another library, and the plain C call that all adapters use."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from condyle.errors import UnsupportedError
from condyle.runtime import cache, trusted_folders
from condyle.runtime.toolchain import find_compiler, run

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


# Headers of other libraries, C++ compilers, and adapters built from the sources in this folder.


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

    return trusted_folders.library(cache.fetch(parts, f"{label}, for comparison", make))


def _eigen_version(include: Path) -> str:
    numbers = {"WORLD": "?", "MAJOR": "?", "MINOR": "?"}
    for line in (include / "Eigen" / "src" / "Core" / "util" / "Macros.h").read_text().splitlines():
        words = line.split()
        for part in numbers:
            if words[:2] == ["#define", f"EIGEN_{part}_VERSION"]:
                numbers[part] = words[2]
    return ".".join(numbers.values())
