"""One self-contained HTML page of a benchmark: plots as SVG inside, no scripts, nothing fetched.

Needs the extra `plots`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import cast

from condyle.cli.common import Json
from condyle.cli.plots import Times, duration, plots
from condyle.text import printable

INTRODUCTION = (
    "Time of one state: the median, a band from quartile to quartile, a dot at the minimum. Lower is better. Samples "
    "of all engines take turns. NumPy arrays in and out, outputs reused; other libraries loop over the same states in "
    "C or C++, in float64."
)
STYLE = """
body{font:15px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif;max-width:68em;margin:2.5em auto;padding:0 1.2em;
color:#23282d;background:#fff}h1{font-size:1.5em;margin:0 0 .2em}h2{font-size:1.1em;margin:2em 0 .4em}
p{margin:.3em 0;color:#4a535b}svg{width:100%;height:auto}svg text{font-family:inherit}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.93em}
td,th{padding:.22em .65em;text-align:right;border-bottom:1px solid #e6e9ec;font-weight:400}
th{color:#4a535b}td:first-child,th:first-child{text-align:left;padding-left:0}
.row{display:flex;flex-wrap:wrap;column-gap:3em}summary{cursor:pointer;color:#4a535b}
.facts td{text-align:left;max-width:24em;overflow-wrap:break-word}.facts td:first-child{color:#4a535b}
"""


def page(found: Mapping[str, Json]) -> str:
    """The page of what `condyle bench --json` prints; all text is escaped, since a robot's name is untrusted."""
    times = _times(cast("Sequence[Mapping[str, Json]]", found["rows"]))
    engines = list(dict.fromkeys(engine for of in times.values() for engine in of))
    title, others = _text(found["title"]), cast("Mapping[str, Json]", found["rivals"])
    body = [
        f"<h1>{title}</h1>",
        f"<p>{INTRODUCTION}</p>",
        plots(times, engines),
        _row([_ratios(times, engine) for engine in engines[1:]]),
        _row([_facts("Machine and versions", found["machine"]), *(_facts(*item) for item in others.items())]),
        f"<h2>Every number</h2><details><summary>show</summary>{_numbers(times)}</details>",
    ]
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\n'
        f'<meta name="viewport" content="width=device-width">\n<style>{STYLE}</style></head>\n<body>\n'
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def _times(rows: Sequence[Mapping[str, Json]]) -> dict[str, dict[str, dict[int, dict[str, float]]]]:
    found: dict[str, dict[str, dict[int, dict[str, float]]]] = {}
    for row in rows:
        engines = found.setdefault(str(row["function"]), {})
        engines.setdefault(str(row["engine"]), {})[cast("int", row["batch"])] = cast("dict[str, float]", row["ns"])
    return found


def _ratios(times: Mapping[str, Times], rival: str) -> str:
    """How many times longer the rival takes."""
    batches = sorted({n for of in times.values() for n in of.get(rival, {})})
    rows = [[name, *(_ratio(of, rival, n) for n in batches)] for name, of in times.items() if rival in of]
    heads = ["states a call", *(f"{n:,}" for n in batches)]
    return f"<h2>Times as long: {_text(rival)}</h2>{_table(heads, rows)}"


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
    return _table(heads, rows)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{_text(word)}</th>" for word in heads)
    lines = "\n".join("<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>\n{lines}</table>"


def _facts(title: str, facts: Json) -> str:
    pairs = cast("Mapping[str, Json]", facts).items()
    lines = "\n".join(f"<tr><td>{_text(key)}</td><td>{_text(value)}</td></tr>" for key, value in pairs)
    return f'<h2>{_text(title)}</h2><table class="facts">{lines}</table>'


def _row(parts: Sequence[str]) -> str:
    """Side by side where there is room."""
    return '<div class="row">' + "\n".join(f"<section>{part}</section>" for part in parts) + "</div>"


def _text(value: Json) -> str:
    return escape(printable(str(value)))
