"""The tables of the FPGA page that put choices beside each other, from the rows of `variants`."""

from __future__ import annotations

from typing import Any

from benchmarks.fpga.text import Found, error
from benchmarks.sections import FUNCTIONS, table


def _rows(found: Found, kind: str) -> dict[str, Found]:
    """Rows of a kind, without its name."""
    rows = found.get("variants", {}).items()
    return {row.removeprefix(f"{kind} "): entry for row, entry in rows if row.startswith(f"{kind} ")}


def _latency(entry: Found, *functions: str) -> str:
    return " / ".join(str(entry["latency"][name]) for name in functions if name in entry["latency"])


def _errors(entry: Found, *functions: str) -> str:
    """The largest relative error of each."""
    of = entry["errors"]
    largest = (max(x for name, x in of[f].items() if name.endswith("relative")) for f in functions if f in of)
    return " / ".join(error(x) for x in largest) or "-"


def constants(found: Found) -> list[str]:
    """All seven functions, 27x18; `--constants`."""
    rows = [
        [row, str(e["dsp"]), str(e["sums_of_shifts"]), _latency(e, "id", "difd", "fd")]
        for row, e in _rows(found, "constants").items()
    ]
    return table(["robot, interval, constants", "DSPs", "sums of shifts", "latency id / difd / fd"], rows)


def folding(found: Found) -> list[str]:
    """Folding of branches, all seven functions, 27x18; `--folding`, or as the budget chooses."""
    rows = [
        [
            row,
            *(str(e[key]) for key in ("interval", "folding", "dsp", "words", "sums")),
            _latency(e, "id", "difd", "fd"),
        ]
        for row, e in _rows(found, "folding").items()
    ]
    heads = ["robot, DSPs allowed, folding", "interval", "folding", "DSPs", "words in registers", "sums"]
    return table([*heads, "latency id / difd / fd"], rows)


def roots(found: Found) -> list[str]:
    """Atlas floating; id, fd, did; 27x18, interval 7; `--root`."""
    rows = [[row, str(e["dsp"]), _latency(e, "id", "did", "fd")] for row, e in _rows(found, "root").items()]
    return table(["robot, root", "DSPs", "latency id / did / fd"], rows)


def base(found: Found) -> list[str]:
    """HyQ floating, 27x18, with and without functions of a given base; 1000 states."""
    rows = [
        [row, str(e["interval"]), str(e["dsp"]), _latency(e, "fd", "fd_given"), _errors(e, "fd", "fd_given"),
         _errors(e, "minv", "minv_given"), _errors(e, "dfd", "dfd_given")]
        for row, e in _rows(found, "base").items()
    ]  # fmt: skip
    heads = ["robot, functions", "interval", "DSPs", "latency fd / given", "errors fd / given"]
    return table([*heads, "minv / given", "dfd / given"], rows)


def steps(found: Found) -> list[str]:
    """Errors after one step over 1000 states, against the same step in float64."""
    rows = [
        [
            row,
            str(e["dsp"]),
            str(e["latency"]["rk4"]),
            str(e["intervals"]["rk4"]),
            *(_step(e, f) for f in ("euler", "rk4")),
        ]
        for row, e in _rows(found, "steps").items()
    ]
    heads = ["robot, word, h (27x18, 1 ms)", "DSPs", "latency rk4", "interval rk4", "euler: q, v", "rk4: q, v"]
    return table(heads, rows)


def _step(entry: Found, function: str) -> str:
    """The largest absolute errors of q and v after one step."""
    if function not in entry["errors"]:
        return "-"
    return ", ".join(error(x) for name, x in entry["errors"][function].items() if name.endswith("absolute"))


def proven(found: Found) -> list[str]:
    """27x18, defaults, fixed base."""
    rows = [
        [robot, *(_part(entry["signals"][name]) for name in FUNCTIONS)]
        for robot, entry in found.get("generation", {}).items()
        if "signals" in entry
    ]
    return table(["proven / all signals", *FUNCTIONS], rows)


def _part(signals: Found) -> str:
    return f"{signals['proven']} / {signals['proven'] + signals['sampled']}"


SECTIONS: tuple[Any, ...] = (
    ("Constants", "variants", constants),
    ("Folding", "variants", folding),
    ("Roots", "variants", roots),
    ("Base", "variants", base),
    ("Steps", "variants", steps),
    ("Proven formats", "generation", proven),
)
"""Title, whose word is that of the rows of `variants`, but for an s; section of the results; the table."""
