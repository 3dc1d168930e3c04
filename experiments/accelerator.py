"""Times of the FPGA's accelerator from the cycles of its simulated Verilog (benchmarks/results/fpga.json).

N tasks take latency + (N - 1) interval cycles. Cycles of functions that were simulated (id, fd, difd) are the
simulation's; those of the others are the schedule's. No board was used: the clock is an assumption.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from benchmarks import results

ALONE = (
    "Numbers of the accelerator are its own: cycles with --pipeline 0, at a clock that no tool has confirmed. They "
    "leave out packets on a bus, and the host that packs and unpacks them. For iiwa14 both are in benchmarks/FPGA.md, "
    "section The host beside one core: there one core with AVX-512 computes id, fd and did faster than the board, and "
    "the derivatives of fd about as fast."
)
"""What every table of it leaves out."""
FILE = results.FOLDER / "fpga.json"
PAPER_HZ, ASSUMED_HZ = 55.6e6, 125e6
"""Of Plancher 2021; of Dadu-RBD, on a device with the same fabric."""
LINK_BYTES_PER_S = 2e9
"""Eight lanes of PCIe Gen1 without overhead. The lanes are our assumption: no paper states them."""


def cycles(design: str) -> dict[str, Any]:
    """Latency and interval of every function of a design, with the commit and the date of the measurement."""
    return _measurement("cycles", design)


def counted(robot: str) -> dict[str, Any]:
    """LUTs, flip-flops and DSPs of a whole design, counted by Yosys; empty where it was not counted whole."""
    return _measurement("counts", robot).get("whole", {})


def bytes_of(function: str, design: str = "iiwa14 512") -> tuple[int, int]:
    """Bytes of a task and of its result at the accelerator's boundary."""
    found = _measurement("axi", design)["functions"][function]
    return found["task_bytes"], found["result_bytes"]


def of(design: Mapping[str, Any], function: str) -> dict[str, Any]:
    """Cycles of one function: those simulated where they were."""
    simulated = design["simulated"].get(function)
    return {**(simulated or design["functions"][function]), "simulated": simulated is not None}


def microseconds(of: Mapping[str, float], tasks: int, hz: float) -> float:
    return 1e6 * (of["latency"] + (tasks - 1) * of["interval"]) / hz


def link_microseconds(task_and_result: tuple[int, int], tasks: int) -> float:
    """Both ways one after the other, nothing overlapped with computing: the most that it can add."""
    return 1e6 * tasks * sum(task_and_result) / LINK_BYTES_PER_S


def _measurement(section: str, row: str) -> dict[str, Any]:
    return json.loads(FILE.read_text())["measurements"].get(section, {}).get(row, {})
