"""Latencies, intervals and DSPs of the schedule; latencies and intervals of the simulated Verilog beside them.

Latency is that of a task alone, all arrays empty; the interval that of a few tasks one after the other.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

import condyle
from benchmarks.fpga.cases import ACCELERATORS, SHOWN, version
from condyle import fpga
from condyle.fpga.rtl.build import Accelerator
from condyle.fpga.rtl.export import Facts, Sheet, write
from condyle.fpga.rtl.target import XCVU9P
from condyle.fpga.simulation import simulate

ROWS = tuple(ACCELERATORS)
TASKS = 6


def measure(row: str) -> dict[str, Any]:
    name, options = ACCELERATORS[row]
    tool = version("iverilog", "-V", install="apt-get install iverilog")
    robot = condyle.load(name)
    acc = fpga.accelerator(robot, options)
    planned = {f: {"latency": acc.latency(f), "interval": acc.interval(f)} for f in acc.plan.functions}
    with tempfile.TemporaryDirectory() as folder:
        sheet = Sheet({function: {} for function in acc.plan.functions}, 0, acc.plan.box)
        tasks = fpga.tasks(robot, acc, TASKS)
        write(Path(folder), acc, Facts("rig", robot.fingerprint, "", 125.0, options.word), sheet, tasks, {})
        simulated = {f: _simulated(Path(folder), acc, f) for f in SHOWN if f in acc.plan.functions}
    return {
        "word": options.word,
        "budget": options.budget,
        "folding": max(array.datapath.folding for array in acc.arrays.values()),
        "dsp": acc.dsp,
        "share": 100.0 * acc.dsp / XCVU9P.dsp,
        "functions": planned,
        "simulated": simulated,
        "tool": tool,
    }


def _simulated(folder: Path, acc: Accelerator, function: str) -> dict[str, float]:
    """Cycles found by iverilog; every answer was right."""
    only = f"+only={acc.plan.tasks[function].codes[0]}"
    alone = simulate(folder, "rig", (only, f"+sparse={max(acc.latency(f) for f in acc.plan.functions)}"))
    stream = simulate(folder, "rig", (only,))
    latency, (cycles, gaps) = re.findall(r"latency (\d+)", alone)[0], re.findall(r"interval (\d+)/(\d+)", stream)[0]
    return {"latency": int(latency), "interval": int(cycles) / int(gaps)}
