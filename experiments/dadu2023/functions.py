"""Figures 15 to 17 and the resources of Dadu-RBD: latency and throughput of seven functions of three robots.

Latency is one task in a call on one thread; in the paper it is the mean of 128 tasks in a loop. Throughput is that of
batches of 256 tasks on all cores. The accelerator's numbers are cycles at the paper's 125 MHz (see
experiments.accelerator), without a link, because no board was used. Power, energy and the energy-delay product are not
measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import condyle
from experiments import accelerator
from experiments.dadu2023.printed import (
    DEVICE,
    DIFD_US,
    FIGURE_16,
    GPU_WINS_ABOVE,
    LATENCY,
    POWER_W,
    RESOURCES,
    THROUGHPUT,
)
from experiments.figure import Figure, Lines
from experiments.numbers import digits
from experiments.timed import Timed

FUNCTIONS = ("id", "fd", "m", "minv", "did", "dfd", "difd")
DESIGNS = {"iiwa14": "iiwa14 27x18", "hyq": "hyq 27x18", "atlas": "atlas 27x18"}
BATCH, LARGER = 256, (16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
FPGA, SCALES, HEAD = "accelerator", "iiwa14 dfd larger batches", "accelerator alone, 125 MHz assumed"
ROWS = (*(f"{robot} {function}" for robot in DESIGNS for function in FUNCTIONS), SCALES, FPGA)
QUICK = ("iiwa14 id", FPGA)
ONE, ALL = ("condyle", "pinocchio"), ("condyle all", "condyle float32 all", "pinocchio all")

Rows = Mapping[str, Mapping[str, Any]]
Table = list[list[str]]

TEXT = (
    f"The paper prints ranges and means of ratios, the latency of difd ({DIFD_US} us), shares of the device, and "
    f"{POWER_W[0]} to {POWER_W[1]} W. The values of its bars are not printed, nor the word of each robot. Not measured "
    "here: power, energy, the energy-delay product, GPUs, an Orin, an i9-13900HX.\n\n"
    "Cycles of id, fd and difd are simulated; those of the other functions are the schedule's. Flip-flops inside DSPs "
    "are not counted. Ours is called from Python for one task, and that call is counted. Pinocchio runs in a loop in "
    "C++ over 256 tasks; the paper's loop has 128.\n\n" + accelerator.ALONE
)


def measure(row: str, quick: bool) -> dict[str, Any]:
    if row == FPGA:
        return {
            robot: {"cycles": accelerator.cycles(design), "counted": accelerator.counted(robot)}
            for robot, design in DESIGNS.items()
        }
    if row == SCALES:
        timed = Timed(condyle.load("iiwa14"), ALL, quick)
        return {"batches": {str(n): timed.row("dfd", n) for n in LARGER}}
    robot, function = row.split()
    one = Timed(condyle.load(robot), ONE[:1] if quick else ONE, quick)
    many = Timed(one.robot, ALL[:1] if quick else ALL, quick)
    return {"latency": one.row(function, 1), "throughput": many.row(function, BATCH), "rivals": one.about()}


def tables(rows: Rows) -> dict[str, Table]:
    return {
        "Figure 15: latency, us": latency(rows),
        "Figure 15: throughput of 256 tasks, million a second": throughput(rows),
        "Ratios printed in the paper": printed(),
        "Figure 17: throughput of dfd of iiwa14, million a second": larger(rows),
        "Resources, share of an XCVU9P": resources(rows),
        "Power and energy": [["", "paper", "ours"], ["W", f"{POWER_W[0]} to {POWER_W[1]}", "unmeasured"]],
    }


def figures(rows: Rows) -> dict[str, Figure]:
    """Figure 17."""
    lines: dict[str, tuple[list[int], list[float]]] = {name: ([], []) for name in (HEAD, *ALL)}
    for n in LARGER:
        fpga, row = _fpga_us(rows, "iiwa14", "dfd", n), rows.get(SCALES, {}).get("batches", {}).get(str(n), {})
        rates = {engine: 1e3 / of["median"] for engine, of in row.get("ns", {}).items()}
        rates |= {HEAD: n / fpga} if fpga else {}
        for name, rate in rates.items():
            lines[name][0].append(n)
            lines[name][1].append(rate)
    return {"Throughput of dfd of iiwa14": Lines("N", "million a second", lines)}


def latency(rows: Rows) -> Table:
    found = [["robot", "function", HEAD, "condyle", "pinocchio", "accelerator over pinocchio"]]
    for robot, function in _cells():
        fpga, ns = _fpga_us(rows, robot, function, 1), _ns(rows, robot, function, "latency")
        times = [_number(fpga), *(_number(ns[e] / 1e3 if e in ns else None) for e in ONE)]
        of = f"{1e3 * fpga / ns['pinocchio']:.2f}" if fpga and "pinocchio" in ns else "not measured"
        found.append([robot, function, *times, of])
    return found


def throughput(rows: Rows) -> Table:
    found = [["robot", "function", HEAD, *ALL, "accelerator over condyle float32 all"]]
    for robot, function in _cells():
        fpga, ns = _fpga_us(rows, robot, function, BATCH), _ns(rows, robot, function, "throughput")
        rates = [_number(BATCH / fpga if fpga else None), *(_number(1e3 / ns[e] if e in ns else None) for e in ALL)]
        best = ns.get("condyle float32 all")
        over = f"{best * BATCH / 1e3 / fpga:.2f}" if fpga and best else "not measured"
        found.append([robot, function, *rates, over])
    return found


def printed() -> Table:
    found = [["of", "against", "paper"]]
    found += [["throughput, times higher", name, str(x)] for name, x in THROUGHPUT.items()]
    found += [["latency, relative to the processor's", name, str(x)] for name, x in LATENCY.items()]
    found += [["figure 16, difd, times faster", f"{name} of Plancher 2021", str(x)] for name, x in FIGURE_16.items()]
    return [*found, ["figure 17, dfd", "RTX 4090M", f"the GPU is faster above N = {GPU_WINS_ABOVE}"]]


def larger(rows: Rows) -> Table:
    found = [["N", HEAD, *ALL]]
    for n in LARGER:
        fpga, row = _fpga_us(rows, "iiwa14", "dfd", n), rows.get(SCALES, {}).get("batches", {}).get(str(n), {})
        ns = {engine: of["median"] for engine, of in row.get("ns", {}).items()}
        rates = [_number(n / fpga if fpga else None), *(_number(1e3 / ns[e] if e in ns else None) for e in ALL)]
        found.append([str(n), *rates])
    return found


def resources(rows: Rows) -> Table:
    """Ours are counted by Yosys before place and route; DSPs where only the schedule is known are the schedule's."""
    found = [["", "paper", *DESIGNS]]
    for kind, share in RESOURCES.items():
        ours: list[str] = []
        for robot in DESIGNS:
            of = rows.get(FPGA, {}).get(robot, {})
            number = of.get("counted", {}).get(kind) or (of.get("cycles", {}).get("dsp") if kind == "dsp" else None)
            ours.append("whole design not counted" if number is None else f"{number / DEVICE[kind]:.0%}")
        found.append([kind.upper(), f"{share:.0%}", *ours])
    return found


def _cells() -> list[tuple[str, str]]:
    return [(robot, function) for robot in DESIGNS for function in FUNCTIONS]


def _fpga_us(rows: Rows, robot: str, function: str, tasks: int) -> float | None:
    design = rows.get(FPGA, {}).get(robot, {}).get("cycles")
    return accelerator.microseconds(accelerator.of(design, function), tasks, accelerator.ASSUMED_HZ) if design else None


def _ns(rows: Rows, robot: str, function: str, part: str) -> dict[str, float]:
    found = rows.get(f"{robot} {function}", {}).get(part, {}).get("ns", {})
    return {engine: of["median"] for engine, of in found.items()}


def _number(x: float | None) -> str:
    return "not measured" if x is None else digits(x)
