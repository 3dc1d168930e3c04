"""The figures of docs/links.md, from benchmarks/results/links.json."""

from __future__ import annotations

from pathlib import Path
from typing import Any

STYLE = {"serial_us": ("serial", "o-"), "simd_us": ("a state a lane", "s-"), "chunks_us": ("chunks, one a lane", "^-")}


def draw(found: dict[str, Any], folder: Path) -> None:
    """Three SVG files; without Matplotlib none."""
    try:
        import matplotlib as mpl
    except ImportError:
        print("no figures: pip install matplotlib")
        return
    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "condyle", "font.size": 9, "svg.fonttype": "none"})
    folder.mkdir(exist_ok=True)
    for dtype, rows in found["one_state"].items():
        _figure(
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
        _figure(folder / f"links-groups-{n}.svg", f"{n} links, float32", "states", series, "us a state")


def _figure(path: Path, title: str, across: str, series: list[Any], up: str) -> None:
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(4.6, 3.1), layout="constrained")
    for (label, style), points in series:
        axes.loglog([x for x, _ in points], [y for _, y in points], style, label=label, markersize=4)
    axes.set(title=title, xlabel=across, ylabel=up)
    axes.grid(visible=True, which="both", alpha=0.25)
    axes.legend()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def page(found: dict[str, Any]) -> str:
    """The measured part of docs/links.md."""
    about = (
        f"Measured {found['date']} on one thread of a shared {found['machine']['cpu']}, {found['isa']}, commit "
        f"{found['commit'][:10]}: the smallest of many times, both in turn in one process (`python -m benchmarks.links "
        "--errors`, `benchmarks/results/links.json`). Microseconds for one state, call included. Serial is the fastest "
        "that was built: straight machine code up to 256 links, rolled loops above."
    )
    lines = [
        about,
        "",
        "| links | | serial | chunks | ratio |",
        "|---|---|---|---|---|",
    ]
    for dtype, rows in found["one_state"].items():
        lines += [
            f"| {row['links']} | {dtype} | {row['serial_us']:.1f} ({row['serial']}) | {row['chunks_us']:.1f} | "
            f"{row['ratio']:.2f} |"
            for row in rows
        ]
    lines += ["", *(f"![one state, {dtype}](figures/links-one-state-{dtype}.svg)" for dtype in found["one_state"]), ""]
    lines += ["Many states, microseconds in all, float32: a state in each lane wins from a handful of states on.", ""]
    lines += ["| links | states | one by one | a state a lane | chunks |", "|---|---|---|---|---|"]
    lines += [
        f"| {row['links']} | {row['states']} | {row['serial_us']:.1f} | {row['simd_us']:.1f} | {row['chunks_us']:.1f} |"
        for row in found["groups"]
    ]
    lengths = sorted({row["links"] for row in found["groups"]})
    lines += ["", *(f"![{n} links](figures/links-groups-{n}.svg)" for n in lengths), ""]
    return "\n".join([*lines, *_errors(found["errors"])])


def _errors(rows: list[dict[str, Any]]) -> list[str]:
    """Errors against long double."""
    if not rows:
        return []
    keys = [key for key in rows[0] if key != "links"]
    lines = [
        "Errors, of the largest entry, against long double, the worse of two chains (numbers exact in float32):",
        "",
    ]
    lines += [f"| links | {' | '.join(str(row['links']) for row in rows)} |", "|---" * (len(rows) + 1) + "|"]
    return [*lines, *(f"| {key} | {' | '.join(format(row[key], '.0e') for row in rows)} |" for key in keys), ""]
