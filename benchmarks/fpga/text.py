"""How numbers of the FPGA results are written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from inspect import cleandoc
from typing import Any

Found = dict[str, Any]


def error(x: float) -> str:
    """1.9e-3."""
    digits, _, power = f"{x:.1e}".partition("e")
    return f"{digits}e{int(power)}" if x else "0"


def per_cent(x: float) -> str:
    return f"{100 * x:.2g} %"


def dash(x: Any) -> str:
    """A whole number where it is one; a dash for none."""
    return "-" if x is None else f"{x:g}"


def goal(most: Any, unit: str = "") -> str:
    """A goal in brackets behind what was found; nothing for none."""
    return "" if most is None else f" ({most:g}{unit})"


def prose(text: str) -> list[str]:
    """A docstring as lines of Markdown: a line for each paragraph and each item of a list."""
    lines: list[str] = []
    for line in cleandoc(text).splitlines():
        if line and lines and lines[-1] and not line.startswith("* "):
            lines[-1] += f" {line.strip()}"
        else:
            lines.append(line)
    return lines


def listed(names: Iterable[str]) -> list[str]:
    """Each once, in the order met."""
    return list(dict.fromkeys(names))


def entries_of(found: Found, section: str, title: str) -> list[Found]:
    """The entries behind a table: all of a section; of `variants` the rows whose first word begins the title."""
    return [entry for row, entry in found.get(section, {}).items() if section != "variants" or _of(row, title)]


def _of(row: str, title: str) -> bool:
    return title.lower().startswith(row.partition(" ")[0])


def certificate(entries: Sequence[Found]) -> str:
    """When, from which commits, by which tools; on which processor, if it is not the file's."""
    dates, commits, *others = (
        ", ".join(sorted({short(entry[key]) for entry in entries if key in entry}))
        for key, short in (("date", _day), ("commit", _commit), ("tool", str), ("cpu", str))
    )
    return f"*{'; '.join([f'{dates}, commit {commits}', *filter(None, others)])}.*"


def _day(date: str) -> str:
    return date[:10]


def _commit(commit: str) -> str:
    return commit[:9] + ("+changes" if commit.endswith("+changes") else "")
