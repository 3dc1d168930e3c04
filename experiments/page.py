"""One self-contained page a paper: its tables and figures from a results file. No script, nothing fetched.

Matplotlib draws the figures (the extra `condyle[experiments]`); without it a page has tables only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from condyle.text import pages
from experiments.figure import Figure, svg
from experiments.papers import PAPERS, part

STYLE = "figure{margin:1em 0;max-width:40em}figure .wide svg{min-width:26em}figure svg text{fill:currentColor}"
COLOURS = {"#000000": "currentColor", "#ffffff": "var(--ground)", "#cccccc": "var(--line)", "#b0b0b0": "var(--line)"}
"""Matplotlib's colours of text, ground, frame and grid, and what the page has for them in light and dark."""
Rows = Mapping[str, Mapping[str, Any]]


def page(paper: str, found: Mapping[str, Any]) -> str:
    """The page of a results file; found: what the file holds."""
    about, parts = PAPERS[paper], found.get("measurements", {})
    body = [f"<p>{escape(about.source)}</p>"]
    for name, tells in about.parts.items():
        body += _part(part(paper, tells), name, parts.get(name, {}), found.get("left_out", {}).get(name, {}))
    body += ["<h2>Machine and versions</h2>", pages.table((), _flat(found["machine"]))]
    return pages.whole(about.title, body, STYLE)


def write(paper: str, file: Path) -> Path:
    """The page beside a results file."""
    where = file.with_suffix(".html")
    where.write_text(page(paper, json.loads(file.read_text(encoding="utf-8"))), encoding="utf-8")
    return where


def _part(module: Any, name: str, rows: Rows, left_out: Mapping[str, str]) -> list[str]:
    body = [f"<h2>{escape(name.replace('_', ' ').capitalize())}</h2>"]
    said = re.split(r"\n\s*\n", getattr(module, "TEXT", module.__doc__).strip())
    body += [f"<p>{escape(' '.join(text.split()))}</p>" for text in said]
    body.append(f"<p>{escape(_when(rows))}</p>")
    body += [f"<p>Left out: {escape(row)}: {escape(why)}</p>" for row, why in left_out.items()]
    for heading, lines in module.tables(rows).items():
        body += [f"<h3>{escape(heading)}</h3>", pages.table(lines[0], lines[1:])]
    for heading, figure in getattr(module, "figures", lambda _: {})(rows).items():
        body += _figure(f"{name}-{heading}", heading, figure)
    return body


def _when(rows: Rows) -> str:
    """When, from which commits and at which load a part was measured."""
    if not rows:
        return "Nothing of this part is measured in this file."
    dates, loads = sorted(row["date"] for row in rows.values()), [row["load"] for row in rows.values()]
    commits = ", ".join(sorted({row["commit"][:10] for row in rows.values()}))
    busy = f"the load of the machine before a row was {min(loads):.1f} to {max(loads):.1f}"
    elsewhere = "".join(f" Measured on {row['cpu']}: {name}." for name, row in rows.items() if "cpu" in row)
    return f"{len(rows)} rows, {dates[0]} to {dates[-1]}, commit {commits}; {busy}.{elsewhere}"


def _figure(place: str, heading: str, figure: Figure) -> list[str]:
    """The figure inside the page, so that its colours follow the page; place: what its names begin with."""
    data = svg(heading, figure).decode("utf-8")
    if not data:
        return []
    before = re.sub(r"[^a-z0-9]+", "-", place.lower())  # the next figure has the same names
    data = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{before}-", data[data.index("<svg") :])
    for theirs, ours in COLOURS.items():
        data = data.replace(theirs, ours)
    label = f'<svg role="img" aria-label="{escape(heading)}"'
    return [f"<figure>{pages.scrolled(data.replace('<svg', label, 1))}</figure>"]


def _flat(about: Mapping[str, Any], before: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key, value in about.items():
        found += _flat(value, f"{before}{key} ") if isinstance(value, dict) else [(before + key, value)]
    return found
