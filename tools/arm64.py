"""Uses the wheel for Linux on ARM64 under qemu-user, and runs tests of it.

python tools/arm64.py [FOLDER] [-- TESTS ...]    exit status 0 if all passed; FOLDER keeps what was fetched

The wheel is that of `tools/wheels.py` for Debian's Python. It needs Debian's packages gcc-aarch64-linux-gnu,
libc6-dev-arm64-cross and qemu-user-static. Python for ARM64 and its C library come from Debian's packages, unpacked
into a folder; NumPy and pytest from PyPI. Nothing is installed. What target "c" compiles is compiled by the cross
compiler: an emulated one takes minutes.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
USE = ROOT / "tools" / "wheel_use.py"
MACHINE = "aarch64-linux-gnu"
PACKAGES = ("python3", "python3-dev", "libpython3-dev", "libstdc++6")
WHEELS = ("numpy", "scipy", "pytest", "hypothesis", "pytest-xdist")
TESTS = (
    "tools/tests/test_arm64_use.py",
    "tests/runtime/test_native.py",
    "tests/runtime/test_function.py",
    "tests/runtime/test_answers.py",
    "tests/runtime/test_arrays.py",
    "tests/backends/c/test_build.py",
    "tests/backends/c/test_sincos.py",
    "tests/spatial",
)
"""The native call path on several threads, the C target, a robot on each target. The pool's tests fork and send signals
to many processes, which did not end under qemu-user within minutes."""


def run(*command: str | Path, env: dict[str, str] | None = None) -> str:
    """What a command prints; ends this program with all it said where it fails."""
    done = subprocess.run([str(word) for word in command], env=env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def debian() -> str:
    """The release of this Debian."""
    found = re.search(r"^VERSION_CODENAME=(\w+)", Path("/etc/os-release").read_text(), re.MULTILINE)
    if found is None:
        sys.exit("arm64: this is no Debian: its packages for ARM64 are not known")
    return found[1]


def system(folder: Path) -> Path:
    """Debian's Python and C library for ARM64, unpacked; apt's state stands in the folder too."""
    root, state = folder / "root", folder / "apt"
    if (root / "usr/bin/python3").exists():
        return root
    for place in ("lists/partial", "cache/archives/partial"):
        (state / place).mkdir(parents=True, exist_ok=True)
    (state / "status").touch()
    key = "/usr/share/keyrings/debian-archive-keyring.gpg"
    source = f"deb [signed-by={key}] http://deb.debian.org/debian {debian()} main\n"
    (state / "sources.list").write_text(source)
    (state / "apt.conf").write_text(
        f'APT::Architecture "arm64";\nAPT::Architectures {{ "arm64"; }};\nAPT::Sandbox::User "";\n'
        f'Dir::State "{state}";\nDir::State::status "{state}/status";\nDir::Cache "{state}/cache";\n'
        f'Dir::Etc::sourcelist "{state}/sources.list";\nDir::Etc::sourceparts "/nonexistent";\n'
    )
    env = {**os.environ, "APT_CONFIG": str(state / "apt.conf")}
    run("apt-get", "update", "-qq", env=env)
    run("apt-get", "install", "-qq", "-y", "--download-only", "--no-install-recommends", *PACKAGES, env=env)
    for package in sorted((state / "cache/archives").glob("*.deb")):
        run("dpkg-deb", "-x", package, root)
    return root


def emulated(root: Path) -> list[str]:
    """The start of a command that runs Python for ARM64; through its own loader, so that paths stay those of this
    machine."""
    libraries = ":".join(f"{root}/{place}/{MACHINE}" for place in ("lib", "usr/lib"))
    loader = ("qemu-aarch64-static", f"{root}/lib/ld-linux-aarch64.so.1", "--library-path", libraries)
    return [*loader, str(next(root.glob("usr/bin/python3.[0-9]*[0-9]")))]


def packages(folder: Path, version: str, wheel: Path) -> Path:
    """The wheel, NumPy and what tests need, for ARM64, unpacked."""
    site = folder / "site-packages"
    platforms = [f"--platform=manylinux_{word}_aarch64" for word in ("2_28", "2_27", "2_17")]
    where = ("--target", site, *platforms, "--implementation", "cp", "--python-version", version, "--no-compile")
    pip = (sys.executable, "-m", "pip", "install", "-q", "--only-binary", ":all:", *where)
    if not site.exists():
        run(*pip, *WHEELS)
    run(*pip, "--no-deps", "--upgrade", wheel)
    return site


def wheel_for(version: str) -> Path:
    """The wheel for ARM64 and this Python that `tools/wheels.py` has built."""
    wheels = sorted((ROOT / "dist").glob(f"condyle-*-cp{version.replace('.', '')}-*_aarch64.whl"))
    if not wheels:
        sys.exit(f"arm64: dist/ has no wheel for Python {version} on ARM64: run tools/wheels.py first")
    return wheels[-1]


def programs(folder: Path, python: list[str], site: Path) -> Path:
    """The folder of `cc`, the cross compiler, which knows no `native` processor, and of `python3`, what tests start."""
    place = folder / "bin"
    place.mkdir(exist_ok=True)
    words = f'for word do shift; [ "$word" = -march=native ] || set -- "$@" "$word"; done\nexec {MACHINE}-gcc "$@"\n'
    for name, text in (("cc", words), ("python3", f'exec {" ".join(python)} "$@"\n')):
        (place / name).write_text(f"#!/bin/sh\n{text}")
        (place / name).chmod(0o755)
    (site / "sitecustomize.py").write_text(f"import sys\n\nsys.executable = {str(place / 'python3')!r}\n")
    return place


def main() -> int:
    words = sys.argv[1:]
    tests = words[words.index("--") + 1 :] if "--" in words else TESTS
    given = words[: words.index("--")] if "--" in words else words
    with tempfile.TemporaryDirectory(prefix="condyle-arm64-") as temporary:
        folder = Path(given[0]).resolve() if given else Path(temporary)
        root = system(folder)
        python = emulated(root)
        version = run(*python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])").strip()
        wheel = wheel_for(version)
        site = packages(folder, version, wheel)
        env = {
            **os.environ,
            "PYTHONPATH": f"{site}:{ROOT}",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PATH": f"{programs(folder, python, site)}{os.pathsep}{os.environ['PATH']}",
        }
        # qemu raises flags of the floating-point unit that OpenBLAS's kernels do not mean
        quiet = ("-W", "ignore:.*encountered in matmul:RuntimeWarning")
        said = run(*python, *quiet, USE, "c", env={**env, "CONDYLE_NO_CACHE": "1"})
        print(f"{wheel.name}: {said.strip()}", flush=True)
        command = [*python, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", *quiet, *tests]
        return subprocess.run(command, cwd=ROOT, env=env, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
