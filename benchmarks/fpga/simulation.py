"""Long simulations: every bit of every answer of the Verilog against the integer model, stalls in turns, by verilator.

The command is the user's own: `condyle fpga simulate ROBOT --tool verilator ...`. Atlas is done a few functions a
design, which a compiler has in minutes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from benchmarks.fpga.cases import version
from condyle.fpga.rtl.header import TAG_BITS

ATLAS = {"id": 100_000, "m, minv, fd": 20_000, "did": 10_000, "difd": 10_000, "dfd": 10_000}
"""Functions in one design, states."""
CASES: dict[str, tuple[str, str, int]] = {
    "hyq": ("hyq", "", 100_000),
    "iiwa14": ("iiwa14", "", 100_000),
    **{f"atlas {names}": ("atlas", names.replace(", ", ","), states) for names, states in ATLAS.items()},
}
"""Row to robot, functions (all seven where none are named), states a function."""
PATTERNS = 4
"""Of stalls, batch by batch: both ends, none, the input alone, the output alone."""
ROWS = tuple(CASES)


def measure(row: str) -> dict[str, Any]:
    robot, functions, states = CASES[row]
    tool = version("verilator", "--version", install="apt-get install verilator g++")
    words = [robot, "--tool", "verilator", "--states", str(states), *(["--functions", functions] if functions else [])]
    command = [sys.executable, "-m", "condyle", "fpga", "simulate", *words, "--json"]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    found = json.loads(ran.stdout)
    patterns = min(PATTERNS, -(-found["tasks"] // (1 << TAG_BITS)))
    kept = {key: found[key] for key in ("right", "tasks", "cycles")}
    return {"states": states, **kept, "patterns": patterns, "tool": tool}
