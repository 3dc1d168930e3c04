"""`condyle fpga`: a robot's accelerator, simulated to the bit or reported, without leaving the shell."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import condyle
from condyle import api, fpga
from condyle.backends.common.facts import checked_name
from condyle.cli.common import add_robot, check_page, load_aloud, positive, progress, say, show, show_json, table
from condyle.cli.export import add_functions, add_hardware, hardware_options, named_functions, with_plans
from condyle.compile.routes import check_solvable
from condyle.errors import UnsupportedError
from condyle.fpga import simulation
from condyle.fpga.functions import chosen
from condyle.fpga.plans import STATES, WORDS
from condyle.fpga.rtl.export import Facts, Sheet
from condyle.fpga.rtl.page import page
from condyle.fpga.rtl.report import Report, report, said_box, said_latency
from condyle.fpga.rtl.target import word_of


def fill(command: argparse.ArgumentParser) -> None:
    command.description = (
        "simulate: run the Verilog of a robot's accelerator on random states and compare every bit of every result "
        "with the integer model. report: print cycles, DSPs and errors against float64. No Verilog is kept: `condyle "
        "export --target verilog` writes it."
    )
    command.epilog = "example: condyle fpga simulate iiwa14 --functions id --states 100"
    command.add_argument("what", choices=("simulate", "report"), help="simulate: its Verilog; report: cycles, DSPs")
    add_robot(command)
    add_functions(command, named_functions, "such as id,did,rk4,")
    command.add_argument(
        "--states",
        type=positive,
        metavar="N",
        help="states per function (default: 20 for simulate, 10000 for report)",
    )
    command.add_argument(
        "--stall",
        type=int,
        metavar="PERCENT",
        help="simulate: per cent of the cycles in which the test bench stalls input and output, 0 to 95 (default 40)",
    )
    command.add_argument(
        "--tool",
        choices=tuple(simulation.TOOLS),
        help="simulate: iverilog starts at once (default); verilator compiles for minutes and runs faster",
    )
    command.add_argument("--html", metavar="FILE", type=Path, help="report: write an HTML page that draws the pipeline")
    command.add_argument(
        "--words",
        metavar="WORD,WORD",
        nargs="?",
        const=",".join(reversed(WORDS)),
        help="report: compare DSPs, registers and errors of number formats over 1000 states (default "
        f"{','.join(reversed(WORDS))})",
    )
    add_hardware(command, "options of the accelerator")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    _check_taken(arguments)
    check_page(arguments.html)
    loaded = load_aloud(arguments)
    functions = with_plans(arguments.functions, loaded.robot)
    options = fpga.Options(functions, name=_name(loaded.robot), **hardware_options(arguments, loaded.robot))
    robot = fpga.held(loaded.robot, options.root)
    check_solvable(robot, [task.function for task in chosen(options.functions)])
    if arguments.words is not None:
        return _words(arguments, robot, options)
    progress("generating ...")
    acc = fpga.accelerator(robot, options)
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
    wrong = ("html", "words") if arguments.what == "simulate" else ("stall", "tool")
    for name in wrong:
        if getattr(arguments, name) is not None:
            raise UnsupportedError(f"--{name}: `condyle fpga {arguments.what}` does not take this option; leave it out")


def _simulate(arguments: argparse.Namespace, robot: api.Robot, acc: fpga.Accelerator, facts: Facts) -> int:
    """Every bit of every result against the integer model; status 1 if one differs."""
    progress("simulating ...")
    with tempfile.TemporaryDirectory() as folder:
        states = 20 if arguments.states is None else arguments.states
        stall = 40 if arguments.stall is None else arguments.stall
        found = simulation.check(Path(folder), robot, acc, facts, states, stall, arguments.tool or "iverilog")
    progress("")
    show_json({"right": found.right, **found._asdict()}) if arguments.json else show(found.answer)
    return 0 if found.right else 1


def _words(arguments: argparse.Namespace, robot: api.Robot, options: fpga.Options) -> int:
    """A row for each function and word; words that cannot be had are said."""
    words = list(dict.fromkeys(arguments.words.split(",")))
    for word in words:
        word_of(word)
    rows: list[dict[str, str | float]] = []
    refused: list[str] = []
    for word in words:
        progress(f"comparing word {word} with the reference ...")
        try:
            rows += fpga.compared(robot, options, word, arguments.states or STATES)
        except UnsupportedError as error:
            refused.append(f"word {word!r}: {error}")
    progress("")
    if not rows:
        raise UnsupportedError("; ".join(refused))
    for text in refused:
        say(text)
    if arguments.json:
        show_json({"words": [*rows]})
        return 0
    heads = ["function", "word", "interval", "DSPs", "register bits", "error: median", "99 %", "maximum", "flagged"]
    rows.sort(key=lambda row: options.functions.index(str(row["function"])))
    show(table(heads, [_compared_word(row) for row in rows]))
    show(f"\nDSPs, register bits: of the arrays that a function uses, on an {options.device.name}; errors: relative")
    return 0


def _compared_word(row: Mapping[str, str | float]) -> list[str]:
    counts = [f"{row[name]}" for name in ("function", "word", "ii", "dsp", "register_bits")]
    return counts + [f"{row[name]:.1e}" for name in ("p50", "p99", "max", "flagged")]


def _compared(arguments: argparse.Namespace, robot: api.Robot, acc: fpga.Accelerator, options: fpga.Options) -> Sheet:
    """Errors against the reference; warnings about them are printed."""
    progress("comparing with the reference ...")
    sheet = fpga.sheet_of(robot, acc.plan, options, arguments.states or 10_000)
    progress("")
    for warning in sheet.warnings:
        say(f"warning: {warning}")
    return sheet


def _report(arguments: argparse.Namespace, robot: api.Robot, acc: fpga.Accelerator, facts: Facts, sheet: Sheet) -> int:
    found = report(acc, facts, sheet)
    if arguments.html:
        arguments.html.write_text(page(acc, found, robot.name), encoding="utf-8")
    if arguments.json:
        show_json(found)
        return 0
    show(
        table(
            [
                "function",
                "latency",
                "interval",
                "DSPs",
                "bytes in, out",
                "M/s alone, board",
                "error: median",
                "99 %",
                "maximum",
                "flagged",
            ],
            [_row(name, row) for name, row in found["functions"].items()],
        )
    )
    device = f"{found['dsp_percent']} % of an {found['device']}"
    show(f"\n{acc.dsp} DSPs, {device}; words {facts.word}; {said_box(found)}")
    show("latency: cycles from a task to its result; interval: cycles from one task to the next")
    show(
        f"M/s: million tasks a second at {facts.clock:g} MHz (assumed), of the accelerator alone and with bus and link"
    )
    show(f"error: relative, of {sheet.states} random states in the box; the maximum is not a bound on other states")
    show("words: id often needs only 18 bits, fd and gradients 20x18; --words compares words for this robot")
    show("flagged: part of the states with an input outside the box or a clamped signal")
    return 0


def _row(function: str, report: Report) -> list[str]:
    rates = report["boundary"]
    return [
        function,
        said_latency(report),
        *(str(report[name]) for name in ("ii", "dsp")),
        f"{rates['task_bytes']:.0f}, {rates['result_bytes']:.0f}",
        f"{rates['chip_million_per_s']:.4g}, {rates['board_million_per_s']:.4g}",
        *(f"{report['relative_quantiles'][part]:.1e}" for part in ("p50", "p99")),
        f"{report['worst_relative']:.1e}",
        f"{report['errors']['clamped']:.1e}",
    ]
