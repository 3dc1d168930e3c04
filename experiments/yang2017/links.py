"""Chains of links, as benchmarks.links measures them: one state of each length, and groups of 1 to 1000 states.

A row is one length and number type, or one length of groups, so that a run can be interrupted.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from benchmarks import links
from condyle.backends.cpu.build import supported
from experiments.figure import Figure, Lines
from experiments.yang2017.printed import JSIIA_LOSES, MACHINE, REPEATS

GROUP_LENGTHS = (10, 100, 200)
ONE = tuple(f"{name} {dtype} {n}" for name in ("fd", "id") for dtype, ns in links.LENGTHS.items() for n in ns)
MANY = tuple(f"groups {n}" for n in GROUP_LENGTHS)
ROWS = (*ONE, *MANY)
QUICK = ("fd float32 8", "id float64 8")

Rows = Mapping[str, Mapping[str, Any]]
Table = list[list[str]]

_LOSES = " and ".join(f"than {name} from {n} links on" for name, n in JSIIA_LOSES.items())
TEXT = (
    f"The paper's machine: {MACHINE}; {REPEATS} repeats, random twists. Its figures have no numbers. Its text says "
    f"that forward dynamics by inverse dynamics (JSIIA) is slower {_LOSES}. The paper does not state the number type "
    "or the ranges of parameters. No GPU was measured here. docs/results/links.md has more machines, and the errors."
)


def measure(row: str, quick: bool) -> dict[str, Any]:
    """quick changes nothing: the rows that it has are short."""
    del quick
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    words = row.split()
    isa = {"isa": supported()[0].name}
    if words[0] == "groups":
        return {**isa, "rows": links.groups(int(words[1]))}
    function, dtype, n = words
    return {**isa, **links.one_state(int(n), dtype, function)}


def tables(rows: Rows) -> dict[str, Table]:
    """Figures 1 to 3 of the paper, in its order."""
    return {
        "One state, us a call": one_state(rows),
        "Groups, forward dynamics, float32, us in all": groups(rows),
    }


def figures(rows: Rows) -> dict[str, Figure]:
    """One state by length; groups of states by their number."""
    found: dict[str, Figure] = {}
    for name in ("fd", "id"):
        of = {n: rows.get(f"{name} float32 {n}") for n in links.LENGTHS["float32"]}
        measured = {n: row for n, row in of.items() if row}
        ways = {"serial": "serial_us", "segments": "chunks_us"}
        lines = {way: (list(measured), [row[key] for row in measured.values()]) for way, key in ways.items()}
        found[f"{name} of a chain, one state, float32"] = Lines("links", "us", lines)
    for n in GROUP_LENGTHS:
        many = rows.get(f"groups {n}", {}).get("rows", ())
        ways = {"one by one": "serial_us", "one state in each lane": "simd_us", "segments": "chunks_us"}
        lines = {way: ([row["states"] for row in many], [row[key] for row in many]) for way, key in ways.items()}
        found[f"fd of groups of chains of {n} links, float32"] = Lines("states", "us", lines)
    return found


def one_state(rows: Rows) -> Table:
    found = [["function", "number type", "links", "serial", "segments", "ratio"]]
    for name in ONE:
        row = rows.get(name)
        numbers = ["not measured"]
        if row is not None:
            numbers = [f"{row['serial_us']:.1f} ({row['serial']})", f"{row['chunks_us']:.1f}", f"{row['ratio']:.2f}"]
        found.append([*name.split(), *numbers])
    return found


def groups(rows: Rows) -> Table:
    found = [["links", "states", "one by one", "one state in each lane", "segments"]]
    for n in GROUP_LENGTHS:
        of = rows.get(f"groups {n}")
        for row in of["rows"] if of else ():
            times = [f"{row[key]:.1f}" for key in ("serial_us", "simd_us", "chunks_us")]
            found.append([str(n), str(row["states"]), *times])
        if of is None:
            found.append([str(n), "not measured"])
    return found
