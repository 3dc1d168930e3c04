"""One self-contained HTML page of a benchmark: plots as SVG inside, no scripts, nothing fetched.

Needs the extra `plots`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from condyle.cli.common import Json
from condyle.cli.plots import Times, duration, plots
from condyle.text import pages, printable

INTRODUCTION = (
    "Time per state; less is better. Shown are the median, a band or a line from quartile to quartile, and a dot "
    "at the minimum. "
    "Samples of all libraries take turns. Inputs and outputs are NumPy arrays, and outputs are reused. Other libraries "
    "loop over the same states in C or C++, in float64."
)


def page(results: Mapping[str, Json]) -> str:
    """The page of what `condyle bench --json` prints; all text is escaped, since a robot's name is untrusted."""
    times = _times(cast("Sequence[Mapping[str, Json]]", results["rows"]))
    engines = list(dict.fromkeys(engine for of in times.values() for engine in of))
    title, others = printable(str(results["title"])), cast("Mapping[str, Json]", results["rivals"])
    body = [
        f"<p>{INTRODUCTION}</p>",
        pages.scrolled(plots(times, engines)),
        _row([_medians(times, engine) for engine in engines]),
        _row([_ratios(times, engine) for engine in engines[1:]]),
        _row([_facts("Machine and versions", results["machine"]), *(_facts(*item) for item in others.items())]),
        f"<h2>Every number</h2><details><summary>show</summary>{_numbers(times)}</details>",
    ]
    return pages.whole(title, body)


def _times(rows: Sequence[Mapping[str, Json]]) -> dict[str, dict[str, dict[int, dict[str, float]]]]:
    found: dict[str, dict[str, dict[int, dict[str, float]]]] = {}
    for row in rows:
        engines = found.setdefault(str(row["function"]), {})
        engines.setdefault(str(row["engine"]), {})[cast("int", row["batch"])] = cast("dict[str, float]", row["ns"])
    return found


def _medians(times: Mapping[str, Times], engine: str) -> str:
    """The median of each function at each batch size."""
    batches = sorted({n for of in times.values() for n in of.get(engine, {})})
    rows = [
        [name, *(duration(of[engine][n]["median"]) if n in of[engine] else "-" for n in batches)]
        for name, of in times.items()
        if engine in of
    ]
    heads = ["states a call", *(f"{n:,}" for n in batches)]
    return f"<h2>Time a state, median: {pages.text(engine)}</h2>{pages.table(heads, rows)}"


def _ratios(times: Mapping[str, Times], rival: str) -> str:
    """How many times longer the rival takes."""
    batches = sorted({n for of in times.values() for n in of.get(rival, {})})
    rows = [[name, *(_ratio(of, rival, n) for n in batches)] for name, of in times.items() if rival in of]
    heads = ["states a call", *(f"{n:,}" for n in batches)]
    return f"<h2>Times as long: {pages.text(rival)}</h2>{pages.table(heads, rows)}"


def _ratio(times: Times, rival: str, n: int) -> str:
    ours = next(iter(times.values()))
    return f"{times[rival][n]['median'] / ours[n]['median']:.1f}"


def _numbers(times: Mapping[str, Times]) -> str:
    keys = ("median", "minimum", "low", "high")
    rows = [
        [name, engine, f"{n:,}", *(duration(ns[key]) for key in keys), f"{1e9 / ns['median']:,.0f}"]
        for name, of in times.items()
        for engine, batches in of.items()
        for n, ns in batches.items()
    ]
    heads = ("function", "engine", "states a call", "median", "minimum", "lower quartile", "upper quartile", "states/s")
    return pages.table(heads, rows)


def _facts(title: str, facts: Json) -> str:
    return f"<h2>{pages.text(title)}</h2>{pages.facts(cast('Mapping[str, Json]', facts).items())}"


def _row(parts: Sequence[str]) -> str:
    """Side by side where there is room."""
    return '<div class="row">' + "\n".join(f"<section>{part}</section>" for part in parts) + "</div>"
