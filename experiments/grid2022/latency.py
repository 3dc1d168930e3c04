"""Table I, figure 4 and figure 5 of GRiD: five functions of three robots, one computation and N = 16 to 256.

The paper's CPU code is Pinocchio with generated code, 8 threads, float32. Here it is Pinocchio's C++ in float64, on one
core and on all cores. CasADi's generated C is measured too. Kernels are launched where there is a GPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import condyle
from experiments import gpu
from experiments.figure import Figure, Lines
from experiments.grid2022.printed import FIGURE_4_CPU_256, FREEDOMS, MACHINE, ROBOTS, TABLE_I
from experiments.timed import Timed, us

FUNCTIONS = ("id", "minv", "fd", "did", "dfd")
BATCHES = (1, 16, 32, 64, 128, 256)
GPU = "GPU"
CELLS = tuple(f"{robot} {function}" for robot in ROBOTS for function in FUNCTIONS)
ROWS = (*CELLS, *(f"{robot} {GPU}" for robot in ROBOTS))
QUICK = ("iiwa14 id",)
ENGINES = ("condyle", "condyle float32", "condyle all", "condyle float32 all", "pinocchio", "pinocchio all", "casadi")
QUICK_ENGINES = ("condyle", "condyle float32")

Rows = Mapping[str, Mapping[str, Any]]
Table = list[list[str]]

TEXT = (
    f"The paper prints table I, and in its text three numbers of figure 4. Its machine: {MACHINE}. Figure 5 is derived "
    "from table I. The paper does not print its raw data, nor the mass and inertia of each model."
)


def measure(row: str, quick: bool) -> dict[str, Any]:
    robot, function = row.split()
    if function == GPU:
        return gpu.times(robot, FUNCTIONS, BATCHES)
    timed = Timed(condyle.load(robot), QUICK_ENGINES if quick else ENGINES, quick)
    batches = {str(n): timed.row(function, n) for n in (BATCHES[:2] if quick else BATCHES)}
    return {"batches": batches, "rivals": timed.about()}


def tables(rows: Rows) -> dict[str, Table]:
    return {
        "Table I: one computation, us": one(rows),
        "Figure 4: dfd of N states, us": many(rows),
        "Figure 5: one computation, relative to iiwa14": scaling(rows),
    }


def figures(rows: Rows) -> dict[str, Figure]:
    """Figure 4 for each robot, and the paper's number at N = 256."""
    found: dict[str, Figure] = {}
    for robot, title in ROBOTS.items():
        lines: dict[str, tuple[list[int], list[float]]] = {}
        for engine in ("condyle", "condyle float32 all", "pinocchio", "pinocchio all", "casadi"):
            ns = {n: cell(rows, robot, "dfd", n).get("ns", {}).get(engine) for n in BATCHES[1:]}
            lines[engine] = ([n for n, of in ns.items() if of], [n * of["median"] / 1e3 for n, of in ns.items() if of])
        printed = {"paper, 8 cores": ([256], [FIGURE_4_CPU_256[robot]])}
        found[f"dfd of {title}, N computations"] = Lines("N", "us", lines, points=printed)
    return found


def one(rows: Rows) -> Table:
    engines = ("condyle", "condyle float32", "pinocchio", "casadi")
    found = [["robot", "function", *engines, "our GPU", "paper, CPU", "paper, GPU"]]
    for k, robot in enumerate(ROBOTS):
        for name in FUNCTIONS:
            row = cell(rows, robot, name, 1)
            printed = [f"{TABLE_I[device][name][k]:g}" for device in ("CPU", "GPU")]
            ours = [*(us(row, engine) for engine in engines), gpu.us(rows.get(f"{robot} {GPU}"), name, 1)]
            found.append([robot, name, *ours, *printed])
    return found


def many(rows: Rows) -> Table:
    engines = ("condyle", "condyle all", "condyle float32 all", "pinocchio", "pinocchio all")
    found = [["robot", "N", *engines, "paper, 8 cores", "our GPU", "with copies"]]
    for robot in ROBOTS:
        for n in BATCHES[1:]:
            row = cell(rows, robot, "dfd", n)
            printed = f"{FIGURE_4_CPU_256[robot]:g}" if n == 256 else "in the figure only"
            ours = [gpu.us(rows.get(f"{robot} {GPU}"), "dfd", n, what) for what in (gpu.KERNEL, gpu.WHOLE)]
            found.append([robot, str(n), *(us(row, engine, n) for engine in engines), printed, *ours])
    return found


def scaling(rows: Rows) -> Table:
    found = [["function", "robot", "degrees of freedom", "condyle", "pinocchio", "paper, CPU", "paper, GPU"]]
    for name in FUNCTIONS:
        for k, robot in enumerate(ROBOTS):
            if k:
                ours = [ratio(rows, robot, name, engine) for engine in ("condyle", "pinocchio")]
                printed = [f"{TABLE_I[device][name][k] / TABLE_I[device][name][0]:.1f}" for device in ("CPU", "GPU")]
                freedoms = f"{FREEDOMS[robot] / FREEDOMS['iiwa14']:.1f}"
                found.append([name, ROBOTS[robot], freedoms, *ours, *printed])
    return found


def ratio(rows: Rows, robot: str, function: str, engine: str) -> str:
    ends = [cell(rows, name, function, 1).get("ns", {}).get(engine) for name in (robot, "iiwa14")]
    return "not measured" if None in ends else f"{ends[0]['median'] / ends[1]['median']:.1f}"


def cell(rows: Rows, robot: str, function: str, n: int) -> Mapping[str, Any]:
    """The measurement, empty where there is none."""
    return rows.get(f"{robot} {function}", {}).get("batches", {}).get(str(n), {})
