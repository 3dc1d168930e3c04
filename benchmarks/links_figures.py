"""docs/results/links.md and its figures, from benchmarks/results/links-*.json and scan-errors.json."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.figures import pyplot, save

STYLE = {"serial_us": ("serial", "o-"), "simd_us": ("one state in each lane", "s-"), "chunks_us": ("segments", "^-")}


def draw(found: dict[str, Any], folder: Path) -> None:
    """Three SVG files; without Matplotlib none."""
    plots = pyplot()
    if plots is None:
        return
    folder.mkdir(exist_ok=True)
    for dtype, rows in found["one_state"].items():
        _figure(
            plots,
            folder / f"links-one-state-{dtype}.svg",
            f"Forward dynamics of one state, {dtype}",
            "links",
            [(STYLE[key], [(row["links"], row[key]) for row in rows]) for key in ("serial_us", "chunks_us")],
            "us",
        )
    lengths = sorted({row["links"] for row in found["groups"]})
    for n in lengths:
        rows = [row for row in found["groups"] if row["links"] == n]
        series = [(STYLE[key], [(row["states"], row[key] / row["states"]) for row in rows]) for key in STYLE]
        _figure(plots, folder / f"links-groups-{n}.svg", f"{n} links, float32", "states", series, "us a state")


def _figure(plots: Any, path: Path, title: str, across: str, series: list[Any], up: str) -> None:
    figure, axes = plots.subplots(figsize=(4.6, 3.3), layout="constrained")
    for (label, style), points in series:
        axes.loglog([x for x, _ in points], [y for _, y in points], style, label=label, markersize=4)
    axes.set(title=title, xlabel=across, ylabel=up)
    axes.grid(visible=True, which="both", alpha=0.25)
    figure.legend(loc="outside lower center", ncols=len(series), frameon=False, fontsize=9)
    save(plots, figure, path)


def page(every: Sequence[dict[str, Any]], errors: dict[str, Any]) -> str:
    """docs/results/links.md: float32 on the first machine; the rest is in the results files."""
    found = every[0]
    about = (
        "Microseconds for one state on one thread, float32, the call included. Each number is the smallest of many "
        "times; both take turns in one process (`python -m benchmarks.links`). *Serial* is the fastest serial code "
        "that was built: straight machine code up to 256 links, rolled loops above. *Segments* is one segment in each "
        f"lane. {found['machine']['cpu']}, {found['isa']}, {found['date'][:10]}, commit {found['commit'][:10]}; other "
        "machines and float64: [results files](../../benchmarks/README.md)."
    )
    lines = [about, "", *_one_state(found), *_trees(found.get("limbs", {}))]
    lines += [*(f"![one state, {dtype}](../figures/links-one-state-{dtype}.svg)" for dtype in found["one_state"]), ""]
    lines += ["Many states, microseconds in all: from 10 states on, one state in each lane is fastest.", ""]
    lines += ["| links | states | one by one | one state in each lane | segments |", "|---|---|---|---|---|"]
    lines += [
        f"| {row['links']} | {row['states']} | {row['serial_us']:.1f} | {row['simd_us']:.1f} | {row['chunks_us']:.1f} |"
        for row in found["groups"]
    ]
    lengths = sorted({row["links"] for row in found["groups"]})
    lines += ["", *(f"![{n} links](../figures/links-groups-{n}.svg)" for n in lengths), ""]
    return "\n".join([*lines, *_beside(found.get("pinocchio", {})), *_errors(errors)])


def _one_state(found: dict[str, Any]) -> list[str]:
    """A line for every length: forward dynamics, and inverse dynamics where it was measured."""
    inverse = {row["links"]: row for row in found.get("one_state_id", {}).get("float32", [])}
    rows = found["one_state"]["float32"]
    return _table("links", [f"{row['links']} | {_cells(row)} | {_cells(inverse.get(row['links']))}" for row in rows])


def _trees(found: dict[str, Any]) -> list[str]:
    """A line a tree."""
    cells = {(row["tree"], row["function"]): _cells(row) for row in found.get("float32", [])}
    names = {tree: tree.replace("limbs", "branches") for tree, _ in cells}  # the word of kept results
    return _table("tree", [f"{name} | {cells[tree, 'fd']} | {cells[tree, 'id']}" for tree, name in names.items()])


def _table(first: str, rows: list[str]) -> list[str]:
    heads = [f"| {first} | fd serial | segments | ratio | id serial | segments | ratio |", "|---" * 7 + "|"]
    return [*heads, *(f"| {row} |" for row in rows), ""] if rows else []


def _cells(row: dict[str, Any] | None) -> str:
    if row is None:
        return "- | - | -"
    return f"{row['serial_us']:.1f} ({row['serial']}) | {row['chunks_us']:.1f} | {row['ratio']:.2f}"


def _beside(found: dict[str, Any]) -> list[str]:
    """Many states, compared with Pinocchio."""
    if not found:
        return []
    ns = {name: (of["condyle"]["median"], of["pinocchio"]["median"]) for name, of in found["ns"].items()}
    words = [f"{name} {ours:.0f} and {theirs:.0f} ({theirs / ours:.1f} times)" for name, (ours, theirs) in ns.items()]
    about = (
        f"{found['states']} states of a chain of {found['links']} links in float64 on one thread, in ns a state: first "
        f"ours, then Pinocchio's C++ ({found['rival']['compiler']}, `{found['rival']['flags']}`): {', '.join(words)}."
    )
    return [about, ""]


def _errors(found: dict[str, Any]) -> list[str]:
    """Errors against long double."""
    about = (
        "Errors of the largest entry against long double. Each is the worse of two robots whose numbers float32 holds "
        f"exactly (`python -m benchmarks.links_errors`, {found['isa']}, {found['date']}, commit "
        f"{found['commit'][:10]})."
    )
    return [about, "", *_error_rows("links of a chain", found["chains"])]


def _error_rows(title: str, rows: list[dict[str, Any]]) -> list[str]:
    keys = [key for key in rows[0] if key != "links"]
    lines = [f"| {title} | {' | '.join(str(row['links']) for row in rows)} |", "|---" * (len(rows) + 1) + "|"]
    return [
        *lines,
        *(
            f"| {key.replace('chunks', 'segments')} | {' | '.join(format(row[key], '.0e') for row in rows)} |"
            for key in keys
        ),
        "",
    ]
