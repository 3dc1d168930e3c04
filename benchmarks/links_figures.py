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
    about = (
        "Microseconds for one state on one thread, the call included. Each number is the smallest of many times; both "
        "take turns in one process (`python -m benchmarks.links`). *Serial* is the fastest serial code that was built: "
        "straight machine code up to 256 links, rolled loops above. *Segments* is one segment in each lane."
    )
    lines = [
        about,
        "",
        *(line for one in every for line in _one_state(one)),
    ]
    lines += _trees(found.get("limbs", {}), found["machine"]["cpu"])
    lines += [*(f"![one state, {dtype}](../figures/links-one-state-{dtype}.svg)" for dtype in found["one_state"]), ""]
    lines += [f"The rest of this page was measured on the first machine, {found['machine']['cpu']}.", ""]
    lines += ["Many states in float32, microseconds in all: from 10 states on, one state in each lane is fastest.", ""]
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
    machine = f"{found['machine']['cpu']}, {found['isa']}, {found['date']}, commit {found['commit'][:10]}"
    lines = [
        f"**{machine}:**",
        "",
        "| links | | fd serial | segments | ratio | id serial | segments | ratio |",
        "|---" * 8 + "|",
    ]
    for dtype, rows in found["one_state"].items():
        by_links = {row["links"]: row for row in found.get("one_state_id", {}).get(dtype, [])}
        lines += [
            f"| {row['links']} | {dtype} | {_cells(row)} | {_cells(by_links.get(row['links']))} |" for row in rows
        ]
    return [*lines, ""]


def _trees(found: dict[str, Any], cpu: str) -> list[str]:
    """Trees on one machine: a line a tree."""
    if not found:
        return []
    heads = "| tree | | fd serial | segments | ratio | id serial | segments | ratio |"
    lines = [f"Trees, on the first of these machines, {cpu}:", "", heads, "|---" * 8 + "|"]
    for dtype, rows in found.items():
        of = {(row["tree"], row["function"]): row for row in rows}
        for tree in dict.fromkeys(row["tree"] for row in rows):
            name = tree.replace("limbs", "branches")  # the word of kept results
            lines.append(f"| {name} | {dtype} | {_cells(of[tree, 'fd'])} | {_cells(of[tree, 'id'])} |")
    return [*lines, ""]


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
        f"{found['commit'][:10]}). `tests/algorithms/parallel/test_functions.py` holds id of chains to 1e-14 and 3e-6, "
        "fd of chains in float32 to ten times the error of `aba`, and fd of trees in float64 to 1e-13."
    )
    return [
        about,
        "",
        *_error_rows("links of a chain", found["chains"]),
        *_error_rows("links of a tree", found["trees"]),
    ]


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
