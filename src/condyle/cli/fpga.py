"""`condyle fpga`: a robot's accelerator, simulated to the bit or reported, without leaving the shell."""

from __future__ import annotations

import argparse
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import cast

import condyle
from condyle import api, hardware, simulation
from condyle.backends.common.facts import checked_name
from condyle.backends.fpga.export import Facts, Sheet
from condyle.backends.fpga.page import page
from condyle.backends.fpga.report import report, said_box, said_latency
from condyle.cli.common import Json, add_robot, check_page, load_aloud, positive, progress, say, show, show_json, table
from condyle.cli.export import add_functions, add_hardware, hardware_functions, hardware_options
from condyle.errors import UnsupportedError


def fill(command: argparse.ArgumentParser) -> None:
    command.description = (
        "Simulate the accelerator of a robot, every bit of every answer against the integer model; or "
        "report its cycles, DSPs and errors. Nothing is kept: `condyle export` writes the Verilog."
    )
    command.epilog = "example: condyle fpga simulate iiwa14 --functions id --states 100"
    command.add_argument("what", choices=("simulate", "report"), help="run the test bench, or print cycles and errors")
    add_robot(command)
    add_functions(command, hardware_functions)
    command.add_argument(
        "--states", type=positive, metavar="N", help="states a function: simulated (20), or compared (10000)"
    )
    command.add_argument(
        "--stall",
        type=int,
        metavar="PERCENT",
        help="simulate: cycles stalled at either end, 0 to 95 (default 40)",
    )
    command.add_argument(
        "--tool", choices=tuple(simulation.TOOLS), help="simulate: iverilog (default), or verilator for many states"
    )
    command.add_argument("--html", metavar="FILE", type=Path, help="report: also a page with the pipeline drawn")
    add_hardware(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    _check_taken(arguments)
    check_page(arguments.html)
    loaded = load_aloud(arguments)
    options = hardware.Options(arguments.functions, name=_name(loaded.robot), **hardware_options(arguments))
    robot = hardware.held(loaded.robot, options.root)
    api.check_solvable(robot, options.functions)
    progress("generating ...")
    acc = hardware.accelerator(robot, options)
    facts = Facts(options.name, robot.fingerprint, condyle.__version__, options.clock, options.word, options.boundary)
    if arguments.what == "simulate":
        return _simulate(arguments, robot, acc, facts)
    return _report(arguments, robot, acc, facts, _compared(arguments, robot, acc, options))


def _name(robot: api.Robot) -> str:
    """What modules are called: the robot's own name where it can be one."""
    with suppress(UnsupportedError):
        return checked_name(robot.name)
    return "robot"


def _check_taken(arguments: argparse.Namespace) -> None:
    """UnsupportedError for an option of `simulate` given to `report`, and the other way round."""
    wrong = ("html",) if arguments.what == "simulate" else ("stall", "tool")
    for name in wrong:
        if getattr(arguments, name) is not None:
            raise UnsupportedError(f"--{name}: `condyle fpga {arguments.what}` does not take this option; leave it out")


def _simulate(arguments: argparse.Namespace, robot: api.Robot, acc: hardware.Accelerator, facts: Facts) -> int:
    """Every bit of every answer against the integer model; status 1 at the first that differs."""
    progress("simulating ...")
    with tempfile.TemporaryDirectory() as folder:
        states = 20 if arguments.states is None else arguments.states
        stall = 40 if arguments.stall is None else arguments.stall
        found = simulation.check(Path(folder), robot, acc, facts, states, stall, arguments.tool or "iverilog")
    progress("")
    show_json({"right": found.right, **found._asdict()}) if arguments.json else show(found.answer)
    return 0 if found.right else 1


def _compared(
    arguments: argparse.Namespace, robot: api.Robot, acc: hardware.Accelerator, options: hardware.Options
) -> Sheet:
    """Errors against the reference; what is to be said of them is said."""
    progress("comparing with the reference ...")
    sheet = hardware.sheet_of(robot, acc.plan, options, arguments.states or 10_000)
    progress("")
    for warning in sheet.warnings:
        say(f"warning: {warning}")
    return sheet


def _report(
    arguments: argparse.Namespace, robot: api.Robot, acc: hardware.Accelerator, facts: Facts, sheet: Sheet
) -> int:
    found = report(acc, facts, sheet)
    if arguments.html:
        arguments.html.write_text(page(acc, found, robot.name), encoding="utf-8")
    if arguments.json:
        show_json(found)
        return 0
    rows: list[list[str]] = []
    for function in acc.plan.functions:
        row = found["functions"]
        assert isinstance(row, dict)
        rows.append(_row(function, row[function]))
    show(
        table(
            [
                "function",
                "latency",
                "ii",
                "dsp",
                "bytes in, out",
                "M/s chip, board",
                "relative: median",
                "99 %",
                "maximum",
                "clamped",
            ],
            rows,
        )
    )
    device = f"{found['dsp_percent']} % of an {found['device']}"
    show(f"\n{acc.dsp} DSPs, {device}; words {facts.word}; {said_box(found)}")
    show(f"errors: quantiles, and the maximum of {sheet.states} samples of the box, which is not a bound")
    return 0


def _row(function: str, found: Json) -> list[str]:
    assert isinstance(found, dict) and isinstance(found["errors"], dict)
    rates = cast("dict[str, float]", found["boundary"])
    return [
        function,
        said_latency(found),
        *(str(found[name]) for name in ("ii", "dsp")),
        f"{rates['task_bytes']:.0f}, {rates['result_bytes']:.0f}",
        f"{rates['chip_million_per_s']:.4g}, {rates['board_million_per_s']:.4g}",
        *(f"{cast('dict[str, float]', found['relative_quantiles'])[part]:.1e}" for part in ("p50", "p99")),
        f"{found['worst_relative']:.1e}",
        f"{found['errors']['clamped']:.1e}",
    ]
