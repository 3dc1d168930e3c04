"""One self-contained page a paper: its tables and figures from a results file. No script, nothing fetched.

Matplotlib draws the figures (the extra `condyle[experiments]`); without it a page has tables only.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from experiments.figure import Figure, svg
from experiments.papers import PAPERS, part

STYLE = """
:root{color-scheme:light dark;--ink:#23282d;--soft:#4a535b;--line:#d9dee2;--paper:#fff}
@media (prefers-color-scheme:dark){:root{--ink:#e4e7ea;--soft:#aab2ba;--line:#3a424a;--paper:#14181c}}
body{font:15px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif;max-width:68em;margin:2em auto;padding:0 1em;
color:var(--ink);background:var(--paper)}h1{font-size:1.5em}h2{font-size:1.2em;margin-top:2em}h3{font-size:1em}
p{color:var(--soft)}img{display:block;width:100%;max-width:36em;background:#fff}
.wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.93em}
td,th{padding:.2em .6em;text-align:right;border-bottom:1px solid var(--line);font-weight:400}
th{color:var(--soft)}td:first-child,th:first-child{text-align:left;padding-left:0}
"""
Rows = Mapping[str, Mapping[str, Any]]


def page(paper: str, found: Mapping[str, Any]) -> str:
    """The page of a results file; found: what the file holds."""
    about, parts = PAPERS[paper], found.get("measurements", {})
    body = [f"<h1>{escape(about.title)}</h1>", f"<p>{escape(about.source)}</p>"]
    for name, tells in about.parts.items():
        body += _part(part(paper, tells), name, parts.get(name, {}), found.get("left_out", {}).get(name, {}))
    body += ["<h2>Machine and versions</h2>", _table([[key, str(value)] for key, value in _flat(found["machine"])])]
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(about.title)}</title>\n'
        f'<meta name="viewport" content="width=device-width">\n<style>{STYLE}</style></head>\n<body>\n'
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def write(paper: str, file: Path) -> Path:
    """The page beside a results file."""
    where = file.with_suffix(".html")
    where.write_text(page(paper, json.loads(file.read_text(encoding="utf-8"))), encoding="utf-8")
    return where


def _part(module: Any, name: str, rows: Rows, left_out: Mapping[str, str]) -> list[str]:
    body = [f"<h2>{escape(name.replace('_', ' ').capitalize())}</h2>"]
    body += [f"<p>{escape(text)}</p>" for text in getattr(module, "TEXT", module.__doc__).split("\n") if text.strip()]
    body.append(f"<p>{escape(_when(rows))}</p>")
    body += [f"<p>Left out: {escape(row)}: {escape(why)}</p>" for row, why in left_out.items()]
    for heading, lines in module.tables(rows).items():
        body += [f"<h3>{escape(heading)}</h3>", _table(lines[1:], lines[0])]
    for heading, figure in getattr(module, "figures", lambda _: {})(rows).items():
        body += _figure(heading, figure)
    return body


def _when(rows: Rows) -> str:
    """When, from which commits and beside how much other work a part was measured."""
    if not rows:
        return "Nothing of this part is measured in this file."
    dates, loads = sorted(row["date"] for row in rows.values()), [row["load"] for row in rows.values()]
    commits = ", ".join(sorted({row["commit"][:10] for row in rows.values()}))
    busy = f"load of the machine before a row {min(loads):.1f} to {max(loads):.1f}"
    elsewhere = "".join(f" Measured on {row['cpu']}: {name}." for name, row in rows.items() if "cpu" in row)
    return f"{len(rows)} rows, {dates[0]} to {dates[-1]}, commit {commits}; {busy}.{elsewhere}"


def _table(lines: Sequence[Sequence[str]], head: Sequence[str] = ()) -> str:
    heads = f"<tr>{''.join(f'<th>{escape(cell)}</th>' for cell in head)}</tr>" if head else ""
    rows = "\n".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in line)}</tr>" for line in lines)
    return f'<div class="wide"><table>{heads}{rows}</table></div>'


def _figure(heading: str, figure: Figure) -> list[str]:
    """An image of its own, as names inside an SVG would meet those of the next one."""
    data = base64.b64encode(svg(heading, figure)).decode("ascii")
    return [f'<img alt="{escape(heading)}" src="data:image/svg+xml;base64,{data}">'] if data else []


def _flat(about: Mapping[str, Any], before: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key, value in about.items():
        found += _flat(value, f"{before}{key} ") if isinstance(value, dict) else [(before + key, value)]
    return found
