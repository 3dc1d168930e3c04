"""The boundary of iiwa14 by simulation: beats, bytes, tasks a second at 125 MHz, the cycles that it adds.

Tasks of one function after the other through NAME_axi; the limit is a beat in every cycle of the wider direction.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

import condyle
from benchmarks.fpga.cases import version
from condyle import fpga
from condyle.fpga import Options
from condyle.fpga.rtl.boundary import Boundary, rate
from condyle.fpga.rtl.export import Facts, Sheet, write
from condyle.fpga.rtl.header import HEADER
from condyle.fpga.simulation import simulate

CASES = {"iiwa14 512": Boundary(512), "iiwa14 512 float32": Boundary(512, float32=True), "iiwa14 128": Boundary(128)}
ROWS = tuple(CASES)
FUNCTIONS, TASKS, CLOCK = ("id", "fd", "did", "dfd", "difd"), 40, 125.0


def measure(row: str) -> dict[str, Any]:
    tool = version("iverilog", "-V", install="apt-get install iverilog")
    robot, boundary = condyle.load("iiwa14"), CASES[row]
    acc = fpga.accelerator(robot, Options(FUNCTIONS))
    with tempfile.TemporaryDirectory() as name:
        folder, sheet = Path(name), Sheet({function: {} for function in FUNCTIONS}, 0, acc.plan.box)
        tasks = fpga.tasks(robot, acc, TASKS, boundary=boundary, wrong=False)
        write(folder, acc, Facts("rig", robot.fingerprint, "", CLOCK, "27x18", boundary), sheet, tasks, {})
        codes = [packet.task[0] % (2 << HEADER["function"].high) for packet in tasks.packets]
        found = {function: _of(folder, acc, boundary, function, codes) for function in FUNCTIONS}
    return {"interval": acc.ii, "functions": found, "tool": tool}


def _of(folder: Path, acc: fpga.Accelerator, boundary: Boundary, function: str, codes: list[int]) -> dict[str, float]:
    """Of one function, every answer right."""
    code = acc.plan.tasks[function].codes[0]
    first, only = f"+first={codes.index(code)}", f"+only={code}"
    alone = re.findall(r"latency (\d+)", simulate(folder, "rig_axi", (first, "+tasks=1")))[0]
    cycles, gaps = re.findall(r"interval (\d+)/(\d+)", simulate(folder, "rig_axi", (only,)))[0]
    known = rate(acc.plan, boundary, function, acc.interval(function), CLOCK)
    per_s = 1e6 * CLOCK * int(gaps) / int(cycles)
    return {
        "task_beats": known.task,
        "result_beats": known.result,
        "task_bytes": known.task * known.bytes,
        "result_bytes": known.result * known.bytes,
        "per_s": per_s,
        "share": per_s / min(known.bus, known.chip),
        "latency": int(alone),
        "added": int(alone) - acc.latency(function),
    }
