"""The page of one function: what runs, the routes that were compared, the steps of the algorithm, the program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from condyle.explained.facts import Explained, RouteFacts, StepFacts
from condyle.ir.count import Counts
from condyle.specification import Port
from condyle.text import printable
from condyle.text.pages import facts, scrolled, text, whole

STYLE = """
.bar{display:inline-block;height:.75em;min-width:1px;vertical-align:baseline;print-color-adjust:exact;
-webkit-print-color-adjust:exact}
.mul{background:var(--mark)}.add{background:#e0a458}.key{width:.75em}
.graph{width:14em;white-space:nowrap}.says{white-space:normal;text-align:left;min-width:14em;color:var(--faint)}
pre{font-size:.82em;line-height:1.35;overflow-x:auto}pre i{color:var(--faint)}
"""
MOST = 5000
"""Lines of the program that the page shows."""
KEY = (
    '<p><span class="bar mul key"></span> products &nbsp; <span class="bar add key"></span> sums and differences, '
    "of one state, before multiply-adds are contracted.</p>"
)


def page(explained: Explained, robot: str, sizes: Mapping[str, int]) -> str:
    """The page. robot: its name, which is untrusted and escaped. sizes: of the names of dimensions."""
    of = explained.function
    parts = [
        f"<p>{text(of.equation)}</p>",
        f"<p>Source: {text(of.source)}.</p>" if of.source else "",
        f"<h2>What runs</h2><p>{text(explained.line)}</p>",
        _summary(explained),
        "<h2>Arguments and answers</h2>" + scrolled(_ports(of.inputs, of.outputs, sizes)),
        "<h2>Routes</h2>" + KEY + scrolled(_routes(explained.routes)) if explained.routes else "",
        "<h2>Steps of the algorithm</h2>"
        + (scrolled(_steps(explained.steps)) if explained.steps else _said(explained.missing)),
        "<h2>Machine code</h2>" + facts(explained.code.items()) if explained.code else "",
        "<h2>The program</h2>" + _listing(explained.listing) if explained.listing else "",
    ]
    return whole(f"{printable(robot)}: {of.name}, {of.method}", [part for part in parts if part], STYLE)


def _summary(explained: Explained) -> str:
    c = explained.counts
    if c is None:
        return ""
    return _said(
        f"One state takes {c.mul:,} products, {c.add:,} sums, {c.div:,} reciprocals or roots, and the sine and cosine "
        f"of {c.sincos:,} angles, as {explained.form}; {explained.instructions:,} floating-point instructions are left "
        "when products and sums are contracted to multiply-adds."
    )


def _ports(inputs: Sequence[Port], outputs: Sequence[Port], sizes: Mapping[str, int]) -> str:
    rows = [
        [way, port.name, str(port.shape(sizes)).replace(",)", ")"), port.unit, port.doc]
        for way, ports in (("takes", inputs), ("answers", outputs))
        for port in ports
    ]
    cells = [[*map(text, row)] for row in rows]
    return _table(["", "name", "shape", "unit", "what"], cells, said=4)


def _routes(routes: Sequence[RouteFacts]) -> str:
    most = max((one.counts.arithmetic for one in routes if one.counts), default=1)
    rows = [[text(one.name), *_numbers(one.counts), _bar(one.counts, most), text(one.note)] for one in routes]
    return _table(["route", *Counts._fields, "", "why"], rows, said=6)


def _steps(steps: Sequence[StepFacts]) -> str:
    most = max((one.counts.arithmetic for one in steps), default=1)
    rows = [
        [text(one.step.name or "the route itself"), *_numbers(one.counts), _bar(one.counts, most), _where(one)]
        for one in steps
    ]
    return _table(["step", *Counts._fields, "", "what it computes, and its file"], rows, said=6)


def _where(counted: StepFacts) -> str:
    step = counted.step
    return (f"{text(step.says)} " if step.says else "") + (f"<code>{text(step.file)}</code>" if step.name else "")


def _numbers(counts: Counts | None) -> list[str]:
    return ["-"] * len(Counts._fields) if counts is None else [f"{n:,}" for n in counts]


def _bar(counts: Counts | None, most: int) -> str:
    if counts is None or not counts.arithmetic:
        return ""
    parts = (("mul", counts.mul), ("add", counts.add))
    return "".join(f'<span class="bar {kind}" style="width:{13 * n / most:.2f}em"></span>' for kind, n in parts)


def _listing(lines: Sequence[tuple[str, str]]) -> str:
    """A line an operation; where another step begins, its name."""
    shown, last = list[str](), ""
    for line, step in lines[:MOST]:
        if step and step != last:
            shown.append(f"<i># {text(step)}</i>")
            last = step
        shown.append(text(line))
    rest = len(lines) - MOST
    more = _said(f"{rest:,} further lines are left out.") if rest > 0 else ""
    return f"<details><summary>{len(lines):,} lines</summary><pre>{chr(10).join(shown)}</pre>{more}</details>"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], said: int) -> str:
    """Cells are HTML. said: the column of sentences; the one before it has drawings, if it has no head."""
    styles = ["" if k != said else ' class="says"' for k in range(len(heads))]
    if said and not heads[said - 1]:
        styles[said - 1] = ' class="graph" style="text-align:left"'
    head = "".join(f"<th{style}>{escape(name)}</th>" for name, style in zip(heads, styles, strict=True))
    lines = [
        "<tr>" + "".join(f"<td{style}>{cell}</td>" for cell, style in zip(row, styles, strict=True)) + "</tr>"
        for row in rows
    ]
    return f"<table><tr>{head}</tr>{''.join(lines)}</table>"


def _said(said: str) -> str:
    return f"<p>{text(said)}</p>"
