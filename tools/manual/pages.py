"""Which files are pages of the site, and the site's contents: read off docs/index.md, which is a page of GitHub too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

INCLUDED = [
    "*.md",
    "docs/**.md",
    "benchmarks/*.md",
    "examples/**.md",
    "experiments/robots/*.md",
    "src/condyle/**.md",
]
INDEX = "docs/index"


def parts(index: str) -> Iterator[tuple[str, list[str]]]:
    """The headings of docs/index.md with the pages that each links to; places are relative to docs/."""
    for part in re.split(r"^## ", index, flags=re.MULTILINE)[1:]:
        heading = part.split("\n", 1)[0]
        yield heading, re.findall(r"\]\(([^)#\s]+\.md)\)", part)


def contents(index: str) -> str:
    """The same as tables of contents, in MyST's words."""
    tables = (
        "\n".join(["```{toctree}", ":hidden:", f":caption: {heading}", "", *(page[:-3] for page in pages), "```"])
        for heading, pages in parts(index)
        if pages
    )
    return "\n\n".join(tables)


def add_contents(app: Sphinx, name: str, source: list[str]) -> None:
    """Puts the tables below the pages that have them; the files keep plain Markdown."""
    if name == INDEX:
        source[0] += "\n" + contents(source[0]) + "\n"


def setup(app: Sphinx) -> dict[str, bool]:
    """Makes it an extension of Sphinx."""
    app.connect("source-read", add_contents)
    return {"parallel_read_safe": True}
