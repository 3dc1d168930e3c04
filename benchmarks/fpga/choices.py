"""The tables of the FPGA page that compare options, from the rows of `variants`."""

from __future__ import annotations

from typing import Any

from benchmarks.fpga.cases import SHOWN
from benchmarks.fpga.text import Found, error
from benchmarks.sections import FUNCTIONS, table

LATENCY = tuple(f"latency: {name}" for name in SHOWN)


def _rows(found: Found, kind: str) -> dict[str, Found]:
    """Rows of a kind, without its name."""
    rows = found.get("variants", {}).items()
    return {row.removeprefix(f"{kind} "): entry for row, entry in rows if row.startswith(f"{kind} ")}


def _latency(entry: Found, *functions: str) -> list[str]:
    return [str(entry["latency"].get(name, "-")) for name in functions]


def _error(entry: Found, function: str) -> str:
    """The largest relative error of a function."""
    of = entry["errors"].get(function, {})
    return error(max(x for name, x in of.items() if name.endswith("relative"))) if of else "-"


def constants(found: Found) -> list[str]:
    """Products with constants by DSPs, by chains of shifts and sums, or chosen by the generator (`--constants`). All
    seven functions, word 27x18."""
    rows = [
        [*row.split(), str(e["dsp"]), str(e["sums_of_shifts"]), *_latency(e, *SHOWN)]
        for row, e in _rows(found, "constants").items()
    ]
    return table(["robot", "interval", "`--constants`", "DSPs", "sums in the chains", *LATENCY], rows)


def folding(found: Found) -> list[str]:
    """Equal branches on one array (`--folding`), beside the same budget without folding. All seven functions, word
    27x18. The DSP budget decides the interval. In the rows without the option it decides the folding factor too.
    Registers are counted in words: each holds one word of a signal."""
    rows = [
        [
            *_folded(row),
            *(str(e[key]) for key in ("folding", "interval", "dsp", "words", "sums")),
            *_latency(e, *SHOWN),
        ]
        for row, e in _rows(found, "folding").items()
    ]
    heads = [
        "robot",
        "DSP budget",
        "`--folding`",
        "folding factor",
        "interval",
        "DSPs",
        "registers, in words",
        "adders",
    ]
    return table([*heads, *LATENCY], rows)


def _folded(row: str) -> list[str]:
    """Of a row "hyq 450 chosen"."""
    robot, dsp, option = row.split()
    return [robot, dsp, "not given" if option == "chosen" else option]


def roots(found: Found) -> list[str]:
    """Floating Atlas with other links as root (`--root`): functions id, fd and did, word 27x18, interval 7. The root of
    its file is pelvis."""
    rows = [[*row.split(), str(e["dsp"]), *_latency(e, "id", "did", "fd")] for row, e in _rows(found, "root").items()]
    return table(["robot", "root", "DSPs", *(f"latency: {name}" for name in ("id", "did", "fd"))], rows)


def base(found: Found) -> list[str]:
    """Floating HyQ, word 27x18, with and without the functions of a given base. *All* are the seven functions, *given*
    are minv_given, fd_given and dfd_given. Errors are the largest relative ones over 1000 states."""
    pairs = [(name, f"{name}_given") for name in ("fd", "minv", "dfd")]
    rows = [
        [
            row.partition(" ")[2],
            str(e["interval"]),
            str(e["dsp"]),
            *(cell for name in pairs[0] for cell in _latency(e, name)),
            *(_error(e, name) for pair in pairs for name in pair),
        ]
        for row, e in _rows(found, "base").items()
    ]
    heads = ["functions", "interval", "DSPs", *(f"latency: {name}" for name in pairs[0])]
    return table([*heads, *(f"error: {name}" for pair in pairs for name in pair)], rows)


def steps(found: Found) -> list[str]:
    """Errors of q and v after one integration step, against the same step in float64: the largest absolute ones over
    1000 states, in SI units. The accelerator has fd and rk4; with a floating base euler too."""
    rows = [
        [
            *_stepped(row),
            str(e["dsp"]),
            str(e["latency"]["rk4"]),
            str(e["intervals"]["rk4"]),
            *(cell for function in ("rk4", "euler") for cell in _step(e, function)),
        ]
        for row, e in _rows(found, "steps").items()
    ]
    heads = ["robot", "base", "word", "step, ms", "DSPs", "latency: rk4", "interval: rk4"]
    return table([*heads, *(f"{function}: error of {x}" for function in ("rk4", "euler") for x in "qv")], rows)


def _stepped(row: str) -> list[str]:
    """Of a row "hyq floating 27x18 10 ms", or "hyq" with a fixed base and the defaults."""
    robot, *more = row.split()
    return [robot, "floating", *more[1:3]] if more else [robot, "fixed", "27x18", "1"]


def _step(entry: Found, function: str) -> list[str]:
    """The largest absolute errors of q and v after one step."""
    errors = entry["errors"].get(function, {})
    return [error(x) for name, x in errors.items() if name.endswith("absolute")] or ["-", "-"]


def proven(found: Found) -> list[str]:
    """How many signals of a function have a proven format, of how many: a format that holds every state of the box.
    Word 27x18, default options, fixed base."""
    rows = [
        [robot, *(_part(entry["signals"][name]) for name in FUNCTIONS)]
        for robot, entry in found.get("generation", {}).items()
        if "signals" in entry
    ]
    return table(["robot", *FUNCTIONS], rows)


def _part(signals: Found) -> str:
    return f"{signals['proven']} of {signals['proven'] + signals['sampled']}"


SECTIONS: tuple[Any, ...] = (
    ("Constants", "variants", constants),
    ("Folding", "variants", folding),
    ("Root link", "variants", roots),
    ("Base with a given motion", "variants", base),
    ("Steps of integration", "variants", steps),
    ("Proven formats", "generation", proven),
)
"""Title, which begins with the first word of its rows of `variants`; section of the results; the table."""
