"""What a host pays for a task of iiwa14: packing and unpacking on one core, beside computing the function there itself.

C by host.c of this folder, NumPy by condyle_host.py with MANY tasks a call, the function itself by `compile`.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np

import condyle
from benchmarks.fpga.cases import version
from benchmarks.fpga.text import Found
from benchmarks.sections import table
from condyle.cli.machine import compiler, instructions
from condyle.fpga import Options, accelerator
from condyle.fpga.rtl.boundary import Boundary, rate
from condyle.functions import FUNCTIONS

ROWS = ("iiwa14", "iiwa14 float32")
NAMES, MANY, CLOCK, SECONDS = ("id", "fd", "did", "dfd", "difd"), 1024, 125.0, 1.0
FLAGS = ("-std=c99", "-O2", "-D_POSIX_C_SOURCE=199309L", '-DNAME_H="rig_host.h"', "-DNAME(x)=rig_##x")


def measure(row: str) -> dict[str, Any]:
    version("cc", "--version", install="apt-get install gcc")
    robot, float32 = condyle.load("iiwa14"), "float32" in row
    plan = accelerator(robot, Options(NAMES))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        condyle.export(robot, "verilog", folder, NAMES, name="rig", float32=float32)
        c, numpy = in_c(folder), in_numpy(folder, robot)
    computed = alone(robot)
    found = {
        function: {
            "board_per_s": rate(plan.plan, Boundary(float32=float32), function, plan.interval(function), CLOCK).board,
            "c_ns": c[function],
            "numpy_ns": numpy[function],
            "core_per_s": computed[function],
        }
        for function in NAMES
    }
    return {"functions": found, "instructions": instructions(), "tool": compiler()}


def in_c(folder: Path) -> dict[str, tuple[float, float]]:
    """Nanoseconds to pack a task and to unpack a result."""
    source, program = Path(__file__).with_name("host.c"), folder / "host"
    subprocess.run(["cc", *FLAGS, "-I", folder, source, "-o", program], check=True)
    said = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    print("\n".join(said))
    rows = [line.split() for line in said if len(line.split()) == 4 and line.split()[0] in NAMES]
    return {name: (float(pack), float(unpack)) for name, pack, unpack, _ in rows}


def in_numpy(folder: Path, robot: condyle.Robot) -> dict[str, tuple[float, float]]:
    """The same, of the program in Python. The results that it unpacks are made of its own tasks' words: zeros."""
    spec = spec_from_file_location("condyle_host", folder / "condyle_host.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    host, tags, found = module.Host(folder / "rig_stream.json"), np.arange(MANY), dict[str, tuple[float, float]]()
    q, v = robot.random_state(MANY, 0)
    for name, row in host.functions.items():
        given = {"q": q, "v": v, "a": v, "tau": v, "Minv": np.zeros((MANY, robot.nv**2))}
        inputs = {key: given[key] for key in row["inputs"]}
        received = np.zeros((MANY, row["result"]["bytes"]), np.uint8)
        received[:, 0] = row["code"]
        pack = best(partial(host.pack, name, tags, **inputs))
        unpack = best(partial(host.answers, received.tobytes()))
        found[name] = (1e9 * pack / MANY, 1e9 * unpack / MANY)
    return found


def alone(robot: condyle.Robot) -> dict[str, float]:
    """States a second in float32 on one core, with packed arrays."""
    dynamics, found = robot.compile(dtype="float32", threads=1), dict[str, float]()
    q, v = robot.random_state(MANY, 0)
    states = {"q": q, "v": v, "a": v, "tau": v, "Minv": dynamics.mass_matrix_inverse(q.astype(np.float32))}
    for name in NAMES:
        names = [port.name for port in FUNCTIONS[name].inputs]
        args = [dynamics.pack(states[key].astype(np.float32), key) for key in names]
        method = getattr(dynamics, FUNCTIONS[name].method)
        out = method(*args)
        found[name] = MANY / best(partial(method, *args, out=out))
    return found


def best(call: Callable[[], object]) -> float:
    """Seconds of the quickest call."""
    found, end = [], time.monotonic() + SECONDS
    while time.monotonic() < end:
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return min(found)


def host(found: Found) -> list[str]:
    """iiwa14 at the boundary, with streams of 512 bits and an assumed clock of 125 MHz, beside one core of a processor
    that computes the same function itself.

    * **Board**: the least of the accelerator's and the bus's rates; no link and no board were used. million tasks a
      second.
    * **Pack, unpack**: what the host takes for one task and for its result, by `NAME_host.h` (C, `cc -O2`) and by
      `condyle_host.py` (NumPy, 1024 tasks a call), on one core. No transfer is in these times.
    * **Fed by one core**: the tasks that one core can pack and unpack in C.
    * **Computed by one core**: the same function by `compile(dtype="float32", threads=1)` with AVX-512, 1024 packed
      states a call.

    Times are the shortest of many runs on a machine that did other work too."""
    rows = [
        [
            _words(row),
            function,
            f"{1e-6 * of['board_per_s']:.1f}",
            *(f"{ns:.0f}" for ns in of["c_ns"]),
            f"{1e3 / sum(of['c_ns']):.1f}",
            *(f"{1e-3 * ns:.2g}" for ns in of["numpy_ns"]),
            f"{1e-6 * of['core_per_s']:.1f}",
        ]
        for row, entry in found.get("host", {}).items()
        for function, of in entry["functions"].items()
    ]
    heads = ["words on the bus", "function", "board, million/s", "C: pack, ns", "C: unpack, ns"]
    heads += ["fed by one core, million/s", "NumPy: pack, µs", "NumPy: unpack, µs", "computed by one core, million/s"]
    return table(heads, rows)


def _words(row: str) -> str:
    return "float32" if "float32" in row else "integers"
