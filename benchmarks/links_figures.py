"""docs/results/links.md and its figures, from benchmarks/results/links-*.json and scan-errors.json."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.figures import pyplot, save

STYLE = {"serial_us": ("serial", "o-"), "simd_us": ("one state in each lane", "s-"), "chunks_us": ("segments", "^-")}

SHOWN = (16, 32, 48, 64, 256, 1024)
"""Lengths of the page."""


def draw(found: dict[str, Any], folder: Path) -> None:
    """Three SVG files; without Matplotlib none."""
    plots = pyplot()
    if plots is None:
        return
    folder.mkdir(exist_ok=True)
    machine = f"{found['machine']['cpu']}, {found['isa'].upper()}, {found['date'][:10]}"
    for dtype, rows in found["one_state"].items():
        _figure(
            plots,
            folder / f"links-one-state-{dtype}.svg",
            (f"Forward dynamics of one state, {dtype}", machine),
            "links",
            [(STYLE[key], [(row["links"], row[key]) for row in rows]) for key in ("serial_us", "chunks_us")],
            "us",
        )
    lengths = sorted({row["links"] for row in found["groups"]})
    for n in lengths:
        rows = [row for row in found["groups"] if row["links"] == n]
        series = [(STYLE[key], [(row["states"], row[key] / row["states"]) for row in rows]) for key in STYLE]
        titles = f"{n} links, float32", machine
        _figure(plots, folder / f"links-groups-{n}.svg", titles, "states", series, "us a state")


def _figure(plots: Any, path: Path, titles: tuple[str, str], across: str, series: list[Any], up: str) -> None:
    figure, axes = plots.subplots(figsize=(4.6, 3.3), layout="constrained")
    for (label, style), points in series:
        axes.loglog([x for x, _ in points], [y for _, y in points], style, label=label, markersize=4)
    figure.suptitle(titles[0], fontsize=10)
    axes.set_title(titles[1], fontsize=7)
    axes.set(xlabel=across, ylabel=up)
    axes.grid(visible=True, which="both", alpha=0.25)
    figure.legend(loc="outside lower center", ncols=len(series), frameon=False, fontsize=9)
    save(plots, figure, path)


def page(every: Sequence[dict[str, Any]], errors: dict[str, Any]) -> str:
    """docs/results/links.md: one state on each machine, all the rest on the first."""
    found = every[0]
    lengths = sorted({row["links"] for row in found["groups"]})
    about = (
        "One state on one thread, the call included. A ratio is the time of the fastest serial code (straight machine "
        "code up to 256 links, rolled loops above) by that of *segments*, one in each lane: least of many times, by "
        "turns (`python -m benchmarks.links`). Times, and more lengths: `benchmarks/results/links-*.json`."
    )
    lines = [
        about,
        "",
        *_one_state(every),
        *(f"![one state, {dtype}](../figures/links-one-state-{dtype}.svg)" for dtype in found["one_state"]),
        "",
        *_trees(found.get("limbs", {})),
        "Many states in float32, on machine 1: from 10 states on, one state in each lane is fastest.",
        "",
        *(f"![{n} links](../figures/links-groups-{n}.svg)" for n in lengths),
        "",
    ]
    return "\n".join([*lines, *_beside(found.get("pinocchio", {})), *_errors(errors)])


def ratios(every: Sequence[dict[str, Any]]) -> dict[str, dict[int, float]]:
    """Of each machine, function and number type: the ratio by length."""
    names = {"fd": "one_state", "id": "one_state_id"}
    return {
        f"{k}: {function} {dtype}": {row["links"]: row["ratio"] for row in rows}
        for k, found in enumerate(every, 1)
        for function, key in names.items()
        for dtype, rows in found.get(key, {}).items()
    }


def _one_state(every: Sequence[dict[str, Any]]) -> list[str]:
    """The machines by number, and a row for every function and number type of each, a column for every length."""
    rows = ratios(every)
    lengths = [links for links in SHOWN if any(links in row for row in rows.values())]
    lines = [
        f"{k}. {found['machine']['cpu']}, {found['isa']}, {found['date'][:10]}, commit {found['commit'][:10]}"
        for k, found in enumerate(every, 1)
    ]
    lines += ["", f"| machine, links | {' | '.join(map(str, lengths))} |", "|---" * (len(lengths) + 1) + "|"]
    cells = {name: [f"{row[n]:.2f}" if n in row else "-" for n in lengths] for name, row in rows.items()}
    return [*lines, *(f"| {name} | {' | '.join(row)} |" for name, row in cells.items()), ""]


def _trees(found: dict[str, Any]) -> list[str]:
    """Ratios of trees on the first machine: a line a tree."""
    if not found:
        return []
    columns = [(function, dtype) for function in ("fd", "id") for dtype in found]
    lines = ["Ratios of trees, on machine 1:", "", f"| tree | {' | '.join(f'{f} {d}' for f, d in columns)} |"]
    lines += ["|---" * (len(columns) + 1) + "|"]
    ratio = {(row["tree"], row["function"], dtype): row["ratio"] for dtype, rows in found.items() for row in rows}
    for tree in dict.fromkeys(tree for tree, _, _ in ratio):
        cells = (f"{ratio[tree, function, dtype]:.2f}" for function, dtype in columns)
        lines.append(f"| {tree.replace('limbs', 'branches')} | {' | '.join(cells)} |")  # the word of kept results
    return [*lines, ""]


def _beside(found: dict[str, Any]) -> list[str]:
    """Many states, compared with Pinocchio."""
    if not found:
        return []
    ns = {name: (of["condyle"]["median"], of["pinocchio"]["median"]) for name, of in found["ns"].items()}
    words = [f"{name} {ours:.0f} and {theirs:.0f} ({theirs / ours:.1f} times)" for name, (ours, theirs) in ns.items()]
    about = (
        f"{found['states']} states of a chain of {found['links']} links in float64 on one thread, ns a state of ours "
        f"and of Pinocchio's C++ ({found['rival']['compiler']}, `{found['rival']['flags']}`): {', '.join(words)}."
    )
    return [about, ""]


def _errors(found: dict[str, Any]) -> list[str]:
    """Errors against long double, of the longest robots."""
    about = (
        "Errors of the largest entry against long double, the worse of two robots whose numbers float32 holds exactly "
        f"(`python -m benchmarks.links_errors`, {found['isa']}, {found['date'][:10]}, commit {found['commit'][:10]})."
    )
    kinds = {kind: found[kind][-1] for kind in ("chains", "trees")}
    columns = [(kind, dtype) for kind in kinds for dtype in ("float64", "float32")]
    heads = (f"{kind[:-1]} of {kinds[kind]['links']}, {dtype}" for kind, dtype in columns)
    lines = [about, "", f"| | {' | '.join(heads)} |", "|---" * (len(columns) + 1) + "|"]
    for name in dict.fromkeys(key.rpartition(" ")[0] for key in kinds["chains"] if key != "links"):
        cells = (kinds[kind].get(f"{name} {dtype}") for kind, dtype in columns)
        shown = " | ".join("-" if cell is None else format(cell, ".0e") for cell in cells)
        lines.append(f"| {name.replace('chunks', 'segments')} | {shown} |")
    return [*lines, ""]
