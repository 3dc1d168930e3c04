"""What travels to a machine with a GPU, in one folder that git ignores, and how it is unpacked there.

modules: compiled modules of the package for that machine's Python. reference: answers of target "cpu". cache.tar.xz:
kernels, assembled by this Python's nvJitLink, which should have the version of that machine. grid: headers that GRiD
generated, ROBOT/grid.cuh. packages: what its Python lacks.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from benchmarks import results

TRAVELS = results.ROOT / ".gpu"
MOST_MB = 48
"""64 MiB travel, with the repository, which takes some 15."""
FOLDERS = ("grid", "packages")
SUFFIX = ".so"


def fill(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--python", default="python3.12", help="the Python of the machine, with NumPy 2 and setuptools"
    )
    command.add_argument("--arch", default="sm_90", help="the architecture that kernels are assembled for; '' for none")
    command.add_argument("--grid", type=Path, help="a folder with ROBOT/grid.cuh for iiwa14, hyq and atlas")
    command.add_argument("--packages", type=Path, help="a folder by pip install --target: mujoco-mjx and what it needs")


def prepare(
    options: argparse.Namespace, references: Callable[[], None], assemble: Callable[[str], None], folder: Path = TRAVELS
) -> int:
    """Fills the folder; what cannot be had is said. Exit status 1 where it becomes too large.

    references: saves what `correct` compares with. assemble: puts kernels for an architecture into the cache.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    modules(options.python, folder / "modules")
    references()
    if options.arch:
        packed(folder / "cache.tar.xz", lambda: assemble(options.arch))
    for name in FOLDERS:
        if source := getattr(options, name):
            ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
            shutil.copytree(source, folder / name, ignore=ignored)
    if sum(map(mib, folder.iterdir())) > MOST_MB:
        print("reference is left out, for there is no room: the machine computes it, in half a minute")
        shutil.rmtree(folder / "reference")
    for path in sorted(folder.iterdir()):
        print(f"{path.name:16} {mib(path):6.1f} MiB")
    print(f"{mib(folder):.1f} MiB of {MOST_MB}")
    return int(mib(folder) > MOST_MB)


def mib(path: Path) -> float:
    """The size of a file, or of all files of a folder."""
    return sum(file.stat().st_size for file in (path, *path.rglob("*")) if file.is_file()) / 2**20


def modules(python: str, folder: Path) -> None:
    """Compiles the package's modules for another Python."""
    with tempfile.TemporaryDirectory() as build:
        words = [python, "setup.py", "-q", "build_ext", "--build-lib", str(folder), "--build-temp", build]
        try:
            done = subprocess.run(words, cwd=results.ROOT, capture_output=True, text=True, check=False)
        except OSError as error:
            print(f"no compiled modules: {error}; the run builds them on the machine")
            return
    if done.returncode:
        print(f"no compiled modules: {done.stderr.strip()[-300:]}; the run builds them on the machine")


def packed(path: Path, work: Callable[[], None]) -> None:
    """Does the work with an empty cache, and packs that."""
    with tempfile.TemporaryDirectory() as folder:
        set_cache(Path(folder))
        work()
        with tarfile.open(path, "w:xz") as archive:
            archive.add(folder, "cache")


def set_cache(folder: Path) -> None:
    """For this process and all that it starts."""
    os.environ |= {"CONDYLE_CACHE_DIR": str(folder), "CONDYLE_CACHE_MAX_MB": "4000"}


def unpack(folder: Path = TRAVELS, source: Path = results.ROOT / "src") -> None:
    """On the machine: modules to the package, where it has none; the cache; packages for the processes that follow."""
    for path in (folder / "modules").rglob(f"*{SUFFIX}"):
        place = source / path.relative_to(folder / "modules")
        if not place.exists():
            shutil.copy(path, place)
    archive = folder / "cache.tar.xz"
    if archive.exists() and "CONDYLE_CACHE_DIR" not in os.environ:
        place = Path(tempfile.mkdtemp())
        with tarfile.open(archive) as packed_cache:
            packed_cache.extractall(place, filter="data")
        (place / "cache").chmod(0o700)
        set_cache(place / "cache")
    paths = [str(source), str(results.ROOT), str(folder / "packages"), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # many parts run beside each other
    sys.path.insert(0, str(source))
    try:
        import_module("condyle.runtime._native")
    except ImportError:
        print("compiling the package's modules", flush=True)
        subprocess.run([sys.executable, "setup.py", "-q", "build_ext", "--inplace"], cwd=results.ROOT, check=True)
