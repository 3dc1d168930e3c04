"""The birth certificate of a measurement: machine, system and versions."""

from __future__ import annotations

import datetime
import os
import platform
from importlib import metadata
from pathlib import Path

import condyle
from condyle.backends.cpu.build import supported
from condyle.errors import BuildError
from condyle.runtime.native import cores
from condyle.runtime.toolchain import find_compiler


def describe() -> dict[str, str | int]:
    """Machine and versions, as strings and numbers for a results file."""
    return {
        "cpu": cpu(),
        "cores": cores(),
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "python": platform.python_version(),
        "numpy": metadata.version("numpy"),
        "condyle": condyle.__version__,
        "compiler": compiler(),
        "instructions": instructions(),
    }


def moment() -> dict[str, str | float]:
    """When, and how busy the machine is: runnable processes, averaged over a minute."""
    now = datetime.datetime.now(datetime.timezone.utc)
    return {"date": now.strftime("%Y-%m-%d %H:%M UTC"), "load": round(os.getloadavg()[0], 2)}


def one_line() -> str:
    """The machine in one line of text."""
    found = describe()
    return f"{found['cpu']}, {found['cores']} cores, {found['compiler']}"


def cpu() -> str:
    """The processor's name, with family and model (a virtual machine's name often says little)."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    pairs = (line.split(":", 1) for line in lines if ":" in line)
    facts: dict[str, str] = {}
    for key, value in pairs:
        facts.setdefault(key.strip(), value.strip())
    name = facts.get("model name", platform.machine())
    return f"{name} (family {facts['cpu family']} model {facts['model']})" if "cpu family" in facts else name


def instructions() -> str:
    """What target "cpu" writes code for."""
    names = [isa.name for isa in supported()]
    return f"machine code, {names[0]}" if names else "no machine code"


def compiler() -> str:
    """The first line that the C compiler says of itself."""
    try:
        return find_compiler().version
    except BuildError:
        return "no C compiler"
