"""Runs the tests of the native extensions under ASAN and UBSAN: overruns, use after free and undefined steps end it.

python tools/sanitize.py [FOLDER]    exit status 0 if nothing was found; FOLDER keeps the build

First the extension that calls kernels is built with two faults, each of which must be seen. Then all extensions are
built into a folder of their own, with a copy of the package, by the C compiler `cc`; what is installed stays.

Three things are not watched. Machine code that the package makes itself is not instrumented; the fuzzers put guard
pages around what it writes. Large results lie in mapped memory without red zones. Leaks are not counted
(detect_leaks=0): Python keeps types, names and modules until it ends; `tests/runtime/test_leaks.py` counts what calls
leave behind.
"""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
FLAGS = ("-g", "-O1", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
TESTS = (
    "tests/runtime/test_native.py",
    "tests/runtime/test_function.py",
    "tests/runtime/test_answers.py",
    "tests/runtime/test_quaternions.py",
    "tests/runtime/test_arrays.py",
    "tests/runtime/test_rows.py",
    "tests/runtime/test_packed.py",
    "tests/runtime/test_packed_checks.py",
    "tests/runtime/test_memory.py",
    "tests/runtime/test_pool.py",
    "tests/runtime/test_scheduled.py",
    "tests/runtime/test_leaks.py",
    "tests/runtime/test_gpu_arrays.py",
    "tests/runtime/test_dlpack.py",
    "tests/gpu/test_arrays.py",
    "tests/gpu/test_host_path.py",
    "tests/backends/cpu/test_allocate.py",
    "tests/backends/cpu/test_loops.py",
    "tests/backends/cpu/test_repeat.py",
    "tests/backends/cpu/test_single.py",
    "tests/backends/cpu/test_stores.py",
    "tests/backends/test_held.py",
    "tests/test_links.py",
    "tests/test_scheduled.py",
    "tests/interop/test_jax_native.py",
    "tests/interop/test_jax_tape.py",
)
NO_ROOM = "tests/runtime/test_native.py::test_without_threads_the_caller_does_it_alone"
"""It forbids itself any more memory, and ASAN ends a process that gives it none."""
BROKEN = {
    "heap-buffer-overflow": (".basicsize = sizeof(Entry)", ".basicsize = sizeof(Entry) / 2"),
    "shift exponent": ("self->lanes = (size_t)lanes;", "self->lanes = (size_t)(lanes << (lanes + 63));"),
}
"""What a build of runtime/_native must show if one line of native/entry.h is spoilt so."""
USE = "from condyle.runtime._native import Entry; Entry(1, 64, 1, 'd', (7,) * 20, (7,) * 20, 1)"


@dataclass(frozen=True)
class Extension:
    """As setup.py declares it."""

    name: str
    sources: list[str]
    include_dirs: tuple[str, ...] = ()
    extra_compile_args: tuple[str, ...] = ()
    extra_link_args: tuple[str, ...] = ()
    depends: tuple[str, ...] = ()
    optional: bool = False


def declared() -> list[Extension]:
    """What setup.py would build; it is run with another `setuptools`."""
    found: list[Extension] = []
    stand_in = ModuleType("setuptools")
    vars(stand_in).update(Extension=Extension, setup=lambda ext_modules: found.extend(ext_modules))
    before = sys.modules.get("setuptools")
    sys.modules["setuptools"] = stand_in
    try:
        runpy.run_path(str(ROOT / "setup.py"))
    finally:
        del sys.modules["setuptools"]
        if before is not None:
            sys.modules["setuptools"] = before
    return found


def copy_package(folder: Path) -> None:
    """The sources and the Python files, without what was built."""
    ignore = shutil.ignore_patterns("*.so", "__pycache__")
    shutil.copytree(ROOT / "src" / "condyle", folder / "src" / "condyle", ignore=ignore, dirs_exist_ok=True)


def build(folder: Path, extension: Extension) -> None:
    """One extension, beside its sources in the folder."""
    target = folder / "src" / Path(*extension.name.split("."))
    includes = [f"-I{folder}/{path}" for path in extension.include_dirs if not Path(path).is_absolute()]
    includes += [f"-I{sysconfig.get_path('include')}", f"-I{np.get_include()}"]
    command = ["cc", "-shared", "-fPIC", *includes, *extension.extra_compile_args, *FLAGS]
    output = [*extension.sources, *extension.extra_link_args, "-o", f"{target}{sysconfig.get_config_var('EXT_SUFFIX')}"]
    subprocess.run([*command, *output], cwd=folder, check=True)


def output(command: list[str], env: dict[str, str] | None = None) -> str:
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout.strip()


def environment(folder: Path) -> dict[str, str]:
    """Of a Python whose own memory has red zones too, with the sanitizers loaded first."""
    # libstdc++ too: jaxlib throws exceptions, and ASAN ends a process whose libstdc++ was loaded after it started
    first = [output(["cc", f"-print-file-name={name}"]) for name in ("libasan.so", "libstdc++.so.6")]
    return os.environ | {
        "LD_PRELOAD": " ".join(first),
        "PYTHONPATH": f"{folder}/src",
        "PYTHONMALLOC": "malloc",
        # a test asks for 2^45 bytes and expects a MemoryError
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1:allocator_may_return_null=1:detect_stack_use_after_return=1",
        "UBSAN_OPTIONS": "halt_on_error=1:abort_on_error=1:print_stacktrace=1",
    }


def finds(folder: Path, native: Extension, words: str) -> bool:
    """Whether a spoilt build of _native is noticed."""
    copy_package(folder)
    header = folder / "src/condyle/runtime/native/entry.h"
    right, wrong = BROKEN[words]
    text = header.read_text()
    assert text.count(right) == 1, f"{header.name} has no line {right!r} any more: give BROKEN another one"
    header.write_text(text.replace(right, wrong))
    build(folder, native)
    spoilt = [sys.executable, "-c", USE]
    done = subprocess.run(spoilt, env=environment(folder), capture_output=True, text=True, check=False)
    return done.returncode != 0 and words in done.stderr


def main() -> int:
    extensions = declared()
    native = next(extension for extension in extensions if extension.name.endswith("._native"))
    with tempfile.TemporaryDirectory(prefix="condyle-sanitize-") as temporary:
        for number, words in enumerate(BROKEN):
            if not finds(Path(temporary) / f"broken{number}", native, words):
                print(f"sanitize: a build that is broken on purpose was not noticed: {words}", file=sys.stderr)
                return 1
        folder = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else Path(temporary) / "whole"
        copy_package(folder)
        for extension in extensions:
            build(folder, extension)
        env = environment(folder)
        where = output([sys.executable, "-c", "import condyle.runtime._native as m; print(m.__file__)"], env)
        assert where.startswith(str(folder)), f"the tests would run {where}"
        tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--deselect", NO_ROOM, *TESTS]
        return subprocess.run(tests, cwd=ROOT, env=env, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
