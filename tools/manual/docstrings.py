"""Docstrings are plain text with `code`; here they become what Sphinx reads, so that the source stays plain."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_QUANTITY = re.compile(r"^(\w+) (\(\.\.\.[^)]*\)) \[")
_CODE = re.compile(r"`[^`]*`")


def plain(text: str) -> str:
    """What Sphinx would take for markup, outside `code`, with a backslash in front."""
    ends = [match.span() for match in _CODE.finditer(text)]
    pieces, last = [], 0
    for begin, end in ends:
        pieces += [_escaped(text[last:begin]), text[begin:end]]
        last = end
    return "".join([*pieces, _escaped(text[last:])])


def _escaped(text: str) -> str:
    return re.sub(r"([*|\\]|_(?!\w))", r"\\\1", text)


def rewrite(app: Sphinx, what: str, name: str, found: object, options: object, lines: list[str]) -> None:
    """Quantities, one a line, become a list."""
    listed = False
    made: list[str] = []
    for line in lines:
        quantity = _QUANTITY.match(line)
        if bool(quantity) != listed and made and made[-1]:
            made.append("")
        listed = bool(quantity)
        made.append(f"* {plain(line)}" if quantity else plain(line))
    lines[:] = made


def setup(app: Sphinx) -> dict[str, bool]:
    """Makes it an extension of Sphinx."""
    app.connect("autodoc-process-docstring", rewrite)
    return {"parallel_read_safe": True}
