"""The one style of the HTML pages that commands write: light and dark, phones, print; no scripts, nothing fetched."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from condyle.text import printable

STYLE = """
:root{color-scheme:light dark;--ink:#23282d;--faint:#4a535b;--line:#d9dde1;--ground:#fff;--box:#f1f6f4;--mark:#1f6f8b}
@media screen and (prefers-color-scheme:dark){:root{--ink:#e6e9ec;--faint:#aeb6bd;--line:#444c54;--ground:#16191c;
--box:#20282a;--mark:#6fc0dc}}
body{font:15px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif;max-width:68em;margin:2.5em auto;padding:0 1.2em;
color:var(--ink);background:var(--ground)}
h1{font-size:1.5em;margin:0 0 .2em;overflow-wrap:anywhere}
h2{font-size:1.15em;margin:2em 0 .4em}h3{font-size:1em;margin:1.5em 0 .3em}
p{margin:.3em 0;color:var(--faint)}
svg{width:100%;height:auto;color:var(--ink)}svg text{font-family:inherit}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.93em}
td,th{padding:.22em .65em;text-align:right;border-bottom:1px solid var(--line);font-weight:400;vertical-align:top}
th{color:var(--faint)}td{white-space:nowrap}td:first-child,th:first-child{text-align:left;padding-left:0}
.wide{overflow-x:auto}.wide svg{min-width:46em}
.row{display:flex;flex-wrap:wrap;column-gap:3em}summary{cursor:pointer;color:var(--faint)}
.facts td{text-align:left;max-width:24em;white-space:normal;overflow-wrap:break-word}
.facts td:first-child{color:var(--faint)}
@media (max-width:40em){body{margin:1em auto;padding:0 .8em}}
@media print{body{margin:0;max-width:none;font-size:11px}.wide{overflow:visible}.wide svg{min-width:0}
h2,h3,svg{break-after:avoid;break-inside:avoid}tr{break-inside:avoid}}
"""
"""Drawings take its colours: currentColor, var(--faint), var(--line), var(--box), var(--mark)."""


def whole(title: str, parts: Sequence[str], more: str = "") -> str:
    """A page. title: text, escaped here. parts: HTML. more: rules of this page alone, behind the style."""
    head = f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>\n'
    view = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    start = f"{head}{view}\n<style>{STYLE}{more}</style></head>\n<body>\n<h1>{escape(title)}</h1>\n"
    return start + "\n".join(parts) + "\n</body></html>\n"


def scrolled(part: str) -> str:
    """What is wider than a phone moves by itself, the page does not."""
    return f'<div class="wide">{part}</div>'


def text(value: object) -> str:
    """What a cell or a paragraph says, as HTML; a name of a robot is untrusted."""
    return escape(printable(str(value)))


def table(heads: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    """A table of text, which scrolls by itself; without heads where there are none."""
    head = "".join(f"<th>{text(word)}</th>" for word in heads)
    lines = "\n".join("<tr>" + "".join(f"<td>{text(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return scrolled(f"<table>{f'<tr>{head}</tr>' if head else ''}\n{lines}</table>")


def facts(pairs: Iterable[tuple[object, object]]) -> str:
    """Names and what is said of them."""
    lines = "\n".join(f"<tr><td>{text(name)}</td><td>{text(what)}</td></tr>" for name, what in pairs)
    return f'<table class="facts">{lines}</table>'
