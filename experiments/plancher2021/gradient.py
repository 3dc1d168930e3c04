"""Figures 1 to 3: the gradient of forward dynamics of iiwa14 from a given M^-1 (`difd`), of one state and of N states.

Measured are: ours on one core and on all cores; exported C; Pinocchio compiled for this machine, and without -march as
in the paper; CasADi's C, for derivatives of inverse dynamics only (it has no difd, so it computes less); the
accelerator by simulated cycles. A GPU's kernels are counted, and launched where there is a GPU: see `partitionings`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import condyle
from experiments import accelerator, gpu
from experiments.figure import Figure, Lines
from experiments.numbers import digits
from experiments.plancher2021 import partitionings
from experiments.plancher2021.printed import FIGURE_1, FIGURE_2, FIGURE_3, FPGA_US, MACHINE
from experiments.timed import OURS, Timed, us

ROBOT, FUNCTION, OTHER = "iiwa14", "difd", "did"
BATCHES = (1, 10, 16, 32, 64, 128, 256, 1024, 4096, 16384, 65536)
DESIGNS = ("iiwa14 27x18 difd", "iiwa14 27x18", "iiwa14 32")
FPGA, GPU, LAUNCHED, PROCESSOR = "accelerator", "GPU kernels", "GPU", "processor beside a GPU"
ROWS = (*(f"N {n}" for n in BATCHES), FPGA, GPU, LAUNCHED, PROCESSOR)
QUICK = ("N 1", FPGA, GPU, PROCESSOR)
SHOWN = (*OURS, "pinocchio", "pinocchio plain", "pinocchio all")

Rows = Mapping[str, Mapping[str, Any]]
Table = list[list[str]]

TEXT = (
    f"The paper prints only ratios, not the heights of its bars. Its machine: {MACHINE}. Dadu-RBD prints {FPGA_US} us "
    f"for the FPGA. With the paper's ratios this gives {FPGA_US * FIGURE_1['FPGA over CPU']:.1f} us for its CPU and "
    f"{FPGA_US * FIGURE_1['FPGA over GPU']:.1f} us for its GPU. The paper compiled Pinocchio without -march and its "
    "own code with it. Here Pinocchio is measured with and without it.\n\n"
    "On a GPU our did is the paper's fused kernel, difd is its completely fused kernel, and did_split is its split "
    "kernel. The split kernel computes dc/du alone, from the motions and forces of the links, which the processor "
    "computes. Our split kernel does not take v, because the links' velocities contain it.\n\n"
    f"We assume a link of {accelerator.LINK_BYTES_PER_S / 1e9:g} GB/s with copies both ways and no overlap. The paper "
    "states the generation of PCIe, but not the number of lanes.\n\n" + accelerator.ALONE
)


def measure(row: str, quick: bool) -> dict[str, Any]:
    if row == FPGA:
        return {design: accelerator.cycles(design) for design in DESIGNS} | {"bytes": accelerator.bytes_of(FUNCTION)}
    if row == GPU:
        return partitionings.counted()
    if row == LAUNCHED:
        return partitionings.launched(BATCHES)
    if row == PROCESSOR:
        return partitionings.processor((1, 16) if quick else BATCHES, quick)
    n = int(row.split()[1])
    timed = Timed(condyle.load(ROBOT), ("condyle", "condyle float32") if quick else SHOWN, quick)
    found = timed.row(FUNCTION, n)
    other = Timed(timed.robot, () if quick else ("condyle", "casadi", "pinocchio"), quick)
    return {**found, "rivals": timed.about(), "did": {} if quick else other.row(OTHER, n)}


def tables(rows: Rows) -> dict[str, Table]:
    return {
        "Figure 1: one computation, us": single(rows),
        "Figure 3: N computations, us": batches(rows),
        "Derivatives of inverse dynamics, ours and CasADi's, us": beside_casadi(rows),
        "Accelerator, by simulated cycles": fpga(rows),
        "Figure 2: what the processor and the GPU compute": partitionings.parts(rows.get(GPU, {})),
        "Figure 2: counts of a GPU's kernels": partitionings.kernels(rows.get(GPU, {})),
        "Figure 2: N computations, the processor's part, us": partitionings.on_processor(rows.get(PROCESSOR, {})),
        "Figure 2: N computations end to end, us": partitioned(rows),
        "Ratios": ratios(rows),
    }


def figures(rows: Rows) -> dict[str, Figure]:
    """Figure 3, with the accelerator by its cycles."""
    lines = {name: _line(rows, name) for name in SHOWN if not name.endswith("plain")}
    if FPGA in rows:
        of = accelerator.of(rows[FPGA][DESIGNS[0]], FUNCTION)
        cycles = [accelerator.microseconds(of, n, accelerator.ASSUMED_HZ) for n in BATCHES]
        lines["accelerator alone, 125 MHz assumed"] = (BATCHES, cycles)
    return {"difd of iiwa14, N computations": Lines("N", "us", lines)}


def _line(rows: Rows, engine: str) -> tuple[list[int], list[float]]:
    """Batches and microseconds."""
    measured = {n: rows.get(f"N {n}", {}).get("ns", {}).get(engine) for n in BATCHES}
    found = {n: n * spread["median"] / 1e3 for n, spread in measured.items() if spread}
    return list(found), list(found.values())


def single(rows: Rows) -> Table:
    row = rows.get("N 1", {})
    return [["engine", "us"], *([engine, us(row, engine)] for engine in SHOWN if engine != "pinocchio all")]


def batches(rows: Rows) -> Table:
    found = [["N", *SHOWN, "our GPU", "with copies"]]
    for n in BATCHES:
        times = [gpu.us(rows.get(LAUNCHED), FUNCTION, n, what) for what in (gpu.KERNEL, gpu.WHOLE)]
        found.append([str(n), *(us(rows.get(f"N {n}", {}), engine, n) for engine in SHOWN), *times])
    return found


def beside_casadi(rows: Rows) -> Table:
    engines = ("condyle", "casadi", "pinocchio")
    return [["N", *engines], *([str(n), *(us(_did(rows, n), e, n) for e in engines)] for n in BATCHES)]


def fpga(rows: Rows) -> Table:
    """Microseconds of N tasks at the paper's clock, at the assumed one, and what the link adds."""
    found = [["design", "N", "cycles", "at 55.6 MHz, us", "at 125 MHz (assumed), us", "link, us"]]
    row = rows.get(FPGA)
    for design in DESIGNS if row else ():
        assert row is not None
        of = accelerator.of(row[design], FUNCTION)
        for n in (1, 16, 32, 64, 128):
            clocks = accelerator.PAPER_HZ, accelerator.ASSUMED_HZ
            at = [digits(accelerator.microseconds(of, n, hz)) for hz in clocks]
            link = digits(accelerator.link_microseconds(row["bytes"], n))
            found.append([design, str(n), f"{of['latency'] + (n - 1) * of['interval']:.0f}", *at, link])
    return found if row else [*found, ["not measured"]]


def partitioned(rows: Rows) -> Table:
    """Kernel, copies, and the processor's part on all cores; unmeasured without a GPU."""
    found = [["N", *partitionings.PARTITIONINGS]]
    for n in BATCHES:
        each = [_end_to_end(rows, n, name) for name in partitionings.PARTITIONINGS]
        found.append([str(n), *("unmeasured" if us is None else digits(us) for us in each)])
    return found


def _end_to_end(rows: Rows, n: int, name: str) -> float | None:
    return partitionings.end_to_end(rows.get(PROCESSOR, {}), rows.get(LAUNCHED), n, name)


def ratios(rows: Rows) -> Table:
    """The paper's, and ours of the same name."""
    one = rows.get("N 1", {})
    ours = {
        "CPU over Pinocchio": _over(one, "pinocchio plain", "condyle float32"),
        "FPGA over CPU": _fpga_over_cpu(rows, 1),
    }
    found = [["one computation", "paper", "ours"]]
    found += [[name, f"{x:g}", ours.get(name, "unmeasured")] for name, x in FIGURE_1.items()]
    for n, x in FIGURE_2.items():
        mine = partitionings.ratio(rows.get(PROCESSOR, {}), rows.get(LAUNCHED), n)
        found.append([f"split over completely fused, N = {n}", f"{x:g}", mine])
    for name, of in FIGURE_3.items():
        for n, x in of.items():
            mine = _fpga_over_cpu(rows, n) if name == "FPGA over CPU" else _gpu_over_cpu(rows, n)
            found.append([f"{name}, N = {n}", f"{x:g}", mine])
    return found


def _over(row: Mapping[str, Any], above: str, below: str) -> str:
    ns = row.get("ns", {})
    return f"{ns[above]['median'] / ns[below]['median']:.2f}" if above in ns and below in ns else "not measured"


def _fpga_over_cpu(rows: Rows, n: int) -> str:
    """Simulated cycles at the paper's clock; for more than one state with the link, and against all cores."""
    engine = "condyle float32" if n == 1 else "condyle float32 all"
    ours, row = rows.get(f"N {n}", {}).get("ns", {}).get(engine), rows.get(FPGA)
    if ours is None or row is None:
        return "not measured"
    us = accelerator.microseconds(accelerator.of(row[DESIGNS[0]], FUNCTION), n, accelerator.PAPER_HZ)
    us += accelerator.link_microseconds(row["bytes"], n) if n > 1 else 0.0
    return f"{n * ours['median'] / 1e3 / us:.2f}"


def _gpu_over_cpu(rows: Rows, n: int) -> str:
    """With copies, against all cores."""
    ns = rows.get(f"N {n}", {}).get("ns", {}).get("condyle float32 all")
    whole = gpu.us(rows.get(LAUNCHED), FUNCTION, n, gpu.WHOLE)
    return "unmeasured" if ns is None or whole == "unmeasured" else f"{n * ns['median'] / 1e3 / float(whole):.2f}"


def _did(rows: Rows, n: int) -> Mapping[str, Any]:
    return rows.get(f"N {n}", {}).get("did", {})
