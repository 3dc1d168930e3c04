"""Docstrings are plain text with `code`; here they become what Sphinx reads, so that the source stays plain.

Quantities that stand one a line, and parameters that a paragraph explains one after the other, become lists.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from inspect import signature
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

MADE_BY_CONDYLE = ("Dynamics", "FixedPoint", "Packed", "Robot", "UserFunction")
"""Classes that no user calls: what they are made of is not shown."""
_QUANTITY = re.compile(r"^(\w+) (\(\.\.\.[^)]*\)) \[")
_CODE = re.compile(r"`[^`]*`")
_ERROR = re.compile(r"(?<=\. )(?=\w+Error\b)")


def plain(text: str) -> str:
    """What Sphinx would take for markup, outside `code`, with a backslash in front."""
    pieces, last = [], 0
    for match in _CODE.finditer(text):
        pieces += [_escaped(text[last : match.start()]), match.group()]
        last = match.end()
    return "".join([*pieces, _escaped(text[last:])])


def _escaped(text: str) -> str:
    return re.sub(r"([*|\\]|_(?!\w))", r"\\\1", text)


def sentences(paragraph: str, names: Sequence[str]) -> list[str]:
    """A paragraph in parts: one for each parameter that it explains as `name: ...`, one for the errors."""
    if not names:
        return [paragraph]
    one = "(?:" + "|".join(sorted(map(re.escape, names), key=len, reverse=True)) + r")(?: \[[^\]]*\])?"
    begin = re.compile(rf"(?:^|(?<=[.;] ))(?={one}(?:, {one})*: )")
    parts = [part.strip() for part in begin.split(paragraph) if part.strip()]
    return [piece.strip() for part in parts for piece in _ERROR.split(part)]


def paragraphs(lines: Sequence[str]) -> Iterator[list[str]]:
    """Lines that stand together."""
    found: list[str] = []
    for line in [*lines, ""]:
        if line.strip():
            found.append(line)
        elif found:
            yield found
            found = []


def rewritten(lines: Sequence[str], names: Sequence[str]) -> list[str]:
    """A docstring for Sphinx."""
    made: list[str] = []
    for block in paragraphs(lines):
        if block[0].startswith(" "):  # a block of its own, such as an example
            made += ["::", "", *(f"    {line}" for line in block), ""]
            continue
        if any(line.startswith(" ") for line in block):  # a parameter a line, and the lines that go on are indented
            parts, is_list = re.split(r"\n(?! )", "\n".join(block)), re.compile(r"[^:]+: ").match
            parts = [" ".join(part.split()) for part in parts]
        elif any(map(_QUANTITY.match, block)):
            parts, is_list = block, _QUANTITY.match
        else:
            parts = sentences(" ".join(block), names)
            is_list = re.compile(r"(?:" + "|".join(map(re.escape, names)) + r")\b[^.:]*: ").match if names else None
        for part in parts:
            listed = bool(is_list and is_list(part))
            made += [f"* {plain(part)}" if listed else plain(part), ""]
    return made


def names_of(found: object) -> list[str]:
    """The parameters of something that is called."""
    try:
        return [name for name in signature(found).parameters if name != "self"]  # pyright: ignore
    except (TypeError, ValueError):
        return []


def rewrite(app: Sphinx, what: str, name: str, found: object, options: object, lines: list[str]) -> None:
    """The lines of one docstring, in place."""
    lines[:] = rewritten(lines, names_of(found) if callable(found) else [])


def shorten(
    app: Sphinx, what: str, name: str, found: object, options: object, taken: str | None, answer: str | None
) -> tuple[str | None, str | None]:
    """Signatures without what a user has no use for."""
    if what == "class" and name.rsplit(".", 1)[-1] in MADE_BY_CONDYLE:
        return "", None
    return readable(taken), None if answer in ("Any", "typing.Any") else readable(answer)


def readable(types: str | None) -> str | None:
    """Types by the names that sources write; arrays of NumPy in one word."""
    if types is None:
        return None
    types = re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", types)
    return re.sub(r"ndarray\[tuple\[Any, \.\.\.\], dtype\[\w+\]\]", "ndarray", types)


def setup(app: Sphinx) -> dict[str, bool]:
    """Makes it an extension of Sphinx."""
    app.connect("autodoc-process-docstring", rewrite)
    app.connect("autodoc-process-signature", shorten)
    return {"parallel_read_safe": True}
