"""`condyle bench`: time per state of each function over batch sizes, alone or compared with other libraries."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from condyle.cli import machine, rivals
from condyle.cli.bound import (
    WIDE,
    Call,
    Row,
    Sampling,
    add_bound,
    contacts_of,
    controlled,
    driving,
    frames_of,
    interleaved,
    spelled_out,
    those_there,
)
from condyle.cli.common import (
    Json,
    Loaded,
    add_machine,
    add_robot,
    check_page,
    integers,
    load_aloud,
    positive,
    progress,
    show,
    show_json,
    table,
    words,
)
from condyle.cli.export import add_functions, functions_that_run
from condyle.cli.rivals.numbers import agreement, word_of
from condyle.cli.states import Array, States, draw
from condyle.specification import Function
from condyle.text import printable

if TYPE_CHECKING:
    from condyle import Dynamics, Robot
    from condyle.cli.rivals.rival import Rival

OURS = "condyle"
RIVAL_FEWEST = 256
"""Rivals compute one state at a time. They are timed over at least so many states, so that the call into C takes a
negligible part."""


def fill(command: argparse.ArgumentParser) -> None:
    command.description = (
        "Time each function on random states, in nanoseconds per state, alone or compared with other libraries."
    )
    command.epilog = "example: condyle bench arm.urdf --batch 256 --functions fd,dfd --threads 1"
    add_robot(command)
    command.add_argument(
        "--batch",
        metavar="N,N,..",
        type=integers,
        default=(16, 64, 256),
        help="states per call, one or more sizes (default 16,64,256)",
    )
    add_machine(command)
    add_functions(command, functions_that_run)
    add_bound(command)
    command.add_argument(
        "--threads",
        type=positive,
        metavar="N",
        help="at most N threads (default: every core; 1 with --against, since the other libraries use one thread)",
    )
    command.add_argument(
        "--against",
        metavar="NAME,NAME",
        type=lambda text: words(text, rivals.NAMES),
        default=(),
        help=f"time other libraries in the same process: {', '.join(rivals.NAMES)}; they are built at their first use, "
        "which takes minutes",
    )
    command.add_argument("--html", metavar="FILE", type=Path, help="write an HTML page with plots too")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    if arguments.html is not None:
        from condyle.cli.report import (
            page,  # first, like the folder: what is missing is said before minutes have passed
        )

        check_page(arguments.html)
    loaded = load_aloud(arguments)
    against: tuple[str, ...] = arguments.against
    threads: int | None = 1 if against and arguments.threads is None else arguments.threads
    dtype: str = arguments.dtype
    frames, contacts = frames_of(loaded.robot, arguments), contacts_of(loaded.robot, arguments)
    dynamics = loaded.robot.compile(
        target=arguments.target, dtype=dtype, threads=threads, frames=frames, contacts=contacts, **driving(arguments)
    )
    functions = controlled(those_there(arguments.functions, arguments), arguments)
    others = _opened(loaded, against, functions, frames)
    sampling = Sampling("cpu" if against else "wall")
    rows = measure(loaded.robot, dynamics, others, functions, arguments.batch, sampling)
    about = _about(loaded, dtype, dynamics.target, threads)
    certificate = {**machine.describe(), "clock": "CPU time" if against else "wall time", **machine.moment()}
    libraries: dict[str, Json] = {name: {**rival.about, **rival.algorithms} for name, rival in others.items()}
    found: Json = {**about, "machine": certificate, "rivals": libraries, "rows": [asdict(row) for row in rows]}
    if arguments.html is not None:
        html: Path = arguments.html
        html.write_text(page(found), encoding="utf-8")  # pyright: ignore[reportPossiblyUnboundVariable]
    if arguments.json:
        show_json(found)
    else:
        _print(str(about["title"]), rows, others, any(word_of(one) == "rollout" for one in functions))
    return 0


def measure(
    robot: Robot,
    dynamics: Dynamics,
    others: Mapping[str, Rival],
    functions: tuple[Function, ...],
    batches: tuple[int, ...],
    sampling: Sampling,
) -> list[Row]:
    """Every function at every batch size, in the number type of `dynamics`; rivals have float64."""
    made = dynamics.n_frames, dynamics.contacts
    states = draw(robot, max(batches), str(dynamics.dtype), functions, 0, *made)
    exact = draw(robot, max(*batches, RIVAL_FEWEST), "float64", functions, 0, *made) if others else states
    cells = [(function, n) for function in functions for n in batches]
    rows: list[Row] = []
    for k, (function, n) in enumerate(cells):
        progress(f"{function.name}, {n} states", k, len(cells))
        calls = {OURS: call(dynamics, function, states.first(n))}
        many = max(n, RIVAL_FEWEST)
        arrays = exact.first(many).arguments(function)
        word = word_of(function)
        calls.update({other: rival.call(word, arrays) for other, rival in others.items() if word in rival.algorithms})
        found = interleaved(calls, sampling)
        rows += [Row(function.name, n, engine, ns.per(n if engine == OURS else many)) for engine, ns in found.items()]
    progress("")
    return rows


def call(dynamics: Dynamics, function: Function, states: States, outputs: tuple[Array, ...] | None = None) -> Call:
    """Our function at these states, its outputs reused."""
    outputs = outputs or states.outputs(function)
    out = outputs[0] if len(outputs) == 1 else outputs
    return spelled_out(dynamics.function(function), states.arguments(function), out)


def _opened(
    loaded: Loaded, against: tuple[str, ...], functions: tuple[Function, ...], frames: tuple[str, ...]
) -> dict[str, Rival]:
    """The rivals, each of which agrees with our float64 answers."""
    others: dict[str, Rival] = {}
    exact = loaded.robot.compile(threads=1, frames=frames)
    for k, library in enumerate(against):
        progress(f"building {library} for this machine; this is done once and takes minutes", k, len(against))
        rival = others[library] = rivals.opened(library, loaded.robot, frames)
        for function in [function for function in functions if word_of(function) in rival.algorithms]:
            progress(f"comparing the answers of {library}, {function.name}", k, len(against))
            agreement(loaded.robot, exact, rival, function)
    return others


def _about(loaded: Loaded, dtype: str, target: str, threads: int | None) -> dict[str, str | int]:
    robot = loaded.robot
    cores = "every core" if threads is None else f"{threads} thread{'s' if threads > 1 else ''}"
    title = f"{printable(robot.name)}, nv {robot.nv}: {dtype}, target {target}, {cores}"
    return {"title": title, "robot": robot.name, "fingerprint": robot.fingerprint, "nv": robot.nv, "dtype": dtype}


def _print(title: str, rows: list[Row], others: Mapping[str, Rival], has_rollout: bool) -> None:
    show(f"{title}\n{machine.one_line()}\n")
    show(table(*_table(rows, list(others))))
    show(
        "\nns/state: the median of the samples; min: the smallest. Inputs and outputs are NumPy arrays, out= is reused"
    )
    if has_rollout:
        show("rollout: the time is that of all steps")
    for name, rival in others.items():
        about = ", ".join(f"{key} {value}" for key, value in rival.about.items())
        show(f"{name}: float64, one thread, processor time of a C or C++ loop over the same states; {about}")
        if marked := [f"{key}: {how}" for key, how in rival.algorithms.items() if "(" in how]:
            show(f"{name}: {'; '.join(marked)}")
    if n := sum(row.ns.wide for row in rows):
        apart = f"the quartiles are more than {100 * WIDE:.0f} % apart: the machine was busy, use min"
        show(f"~: in {n} of {len(rows)} times {apart}")


def _table(rows: list[Row], others: list[str]) -> tuple[list[str], list[list[str]]]:
    found = {(row.function, row.batch, row.engine): row.ns for row in rows}
    cells: list[list[str]] = []
    for row in (row for row in rows if row.engine == OURS):
        ns = row.ns
        line = [row.function, str(row.batch), _ns(ns.median) + "~" * ns.wide, _ns(ns.minimum), f"{1e9 / ns.median:.3g}"]
        for other in others:
            theirs = found.get((row.function, row.batch, other))
            line += ["-", "-"] if theirs is None else [_ns(theirs.median), f"{theirs.median / ns.median:.2f}"]
        cells.append(line)
    return ["function", "batch", "ns/state", "min", "states/s", *(w for o in others for w in (o, "ratio"))], cells


def _ns(ns: float) -> str:
    return f"{ns:.0f}" if ns >= 100 else f"{ns:.1f}"
