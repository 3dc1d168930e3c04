"""`condyle bench`: time per state of each function over batch sizes, alone or beside Pinocchio's C++."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from condyle.cli import machine
from condyle.cli.common import Json, Loaded, add_robot, integers, load, progress, say, show, show_json, table
from condyle.cli.export import functions
from condyle.cli.report import page
from condyle.cli.states import Array, States, draw
from condyle.cli.timing import Call, Row, Sampling, Spread, interleaved
from condyle.signature import FUNCTIONS

if TYPE_CHECKING:
    from argparse import _SubParsersAction  # pyright: ignore[reportPrivateUsage]

    from condyle import Dynamics, Robot
    from condyle.cli.rivals.pinocchio_cpp import Pinocchio


def add(commands: _SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser("bench", help="time each function over batch sizes")
    add_robot(command)
    command.add_argument("--batch", metavar="16,64,256", type=integers, default=(16, 64, 256))
    command.add_argument("--dtype", choices=("float64", "float32"), default="float64")
    command.add_argument("--target", choices=("cpu", "c", "numpy"), default="cpu")
    command.add_argument("--functions", metavar="id,dfd", type=functions, default=tuple(FUNCTIONS))
    command.add_argument("--threads", type=int, help="default: every core; one beside a rival, which has one")
    command.add_argument("--against", choices=("pinocchio",), help="time another library in the same process")
    command.add_argument("--html", metavar="FILE", type=Path, help="write one self-contained page with plots")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    loaded = load(arguments)
    for warning in loaded.warnings:
        say(f"warning: {warning}")
    rival = _rival(loaded) if arguments.against else None
    threads: int | None = 1 if rival is not None and arguments.threads is None else arguments.threads
    dtype: str = arguments.dtype
    dynamics = loaded.robot.compile(target=arguments.target, dtype=dtype, threads=threads)
    sampling = Sampling("wall" if rival is None else "cpu")
    rows = measure(loaded.robot, dynamics, rival, arguments.functions, arguments.batch, sampling)
    about = _about(loaded, dtype, arguments.target, threads, rival is not None)
    found: Json = {**about, "machine": machine.describe(), "rows": [asdict(row) for row in rows]}
    if arguments.html is not None:
        html: Path = arguments.html
        html.write_text(page(str(about["title"]), machine.one_line(), rows), encoding="utf-8")
    if arguments.json:
        show_json(found)
    else:
        show(f"{about['title']}\n{machine.one_line()}\n")
        show(table(*_table(rows)))
        show("\nmedian of interleaved samples; inputs and outputs are NumPy arrays, out= is reused")
    return 0


def measure(
    robot: Robot,
    dynamics: Dynamics,
    rival: Pinocchio | None,
    names: tuple[str, ...],
    batches: tuple[int, ...],
    sampling: Sampling,
) -> list[Row]:
    """Every function at every batch size, in the number type of `dynamics`; the rival has float64."""
    states = draw(robot, max(batches), str(dynamics.dtype), names)
    exact = states if rival is None else draw(robot, max(batches), "float64", names)
    rows: list[Row] = []
    for name in names:
        progress(f"{name}: compiling")
        _call(dynamics, name, states.first(1))()
        for n in batches:
            progress(f"{name}: timing {n} states")
            calls = {"condyle": _call(dynamics, name, states.first(n))}
            if rival is not None:
                calls["pinocchio"] = _rival_call(rival, name, exact.first(n))
            rows += [Row(name, n, engine, ns.per(n)) for engine, ns in interleaved(calls, sampling).items()]
    progress("")
    return rows


def _call(dynamics: Dynamics, name: str, states: States) -> Call:
    function, arguments, outputs = dynamics.function(name), states.arguments(name), states.outputs(name)
    out = outputs[0] if len(outputs) == 1 else outputs
    return lambda: function(*arguments, out=out)


def _rival_call(rival: Pinocchio, name: str, states: States) -> Call:
    arguments: tuple[Array, ...] = states.arguments(name)
    return lambda: rival.run(name, arguments)


def _rival(loaded: Loaded) -> Pinocchio:
    # here, not above: what is not asked for is not looked for
    from condyle.cli.rivals.build import find_toolchain, library
    from condyle.cli.rivals.pinocchio_cpp import Pinocchio

    toolchain = find_toolchain()
    progress("compiling Pinocchio for this machine, once (one to four minutes)")
    return Pinocchio(loaded.robot, library(toolchain))


def _about(loaded: Loaded, dtype: str, target: str, threads: int | None, against: bool) -> dict[str, str | int]:
    robot = loaded.robot
    cores = "every core" if threads is None else f"{threads} thread{'s' if threads > 1 else ''}"
    beside = ", beside Pinocchio's C++ (float64, one thread, CPU time)" if against else ""
    title = f"{robot.name}, nv {robot.nv}: {dtype}, target {target}, {cores}{beside}"
    return {"title": title, "robot": robot.name, "fingerprint": robot.fingerprint, "nv": robot.nv, "dtype": dtype}


def _table(rows: list[Row]) -> tuple[list[str], list[list[str]]]:
    if all(row.engine == "condyle" for row in rows):
        cells = [[r.function, str(r.batch), _ns(r.ns.median), _ns(r.ns.minimum), _rate(r.ns)] for r in rows]
        return ["function", "batch", "ns/state", "min", "states/s"], cells
    ours, theirs = ([r for r in rows if r.engine == engine] for engine in ("condyle", "pinocchio"))
    cells = [
        [a.function, str(a.batch), _ns(a.ns.median), _ns(b.ns.median), f"{b.ns.median / a.ns.median:.2f}", _rate(a.ns)]
        for a, b in zip(ours, theirs, strict=True)
    ]
    return ["function", "batch", "condyle ns/state", "pinocchio ns/state", "ratio", "states/s"], cells


def _ns(ns: float) -> str:
    return f"{ns:.0f}" if ns >= 100 else f"{ns:.1f}"


def _rate(ns: Spread) -> str:
    return f"{1e9 / ns.median:.3g}"
