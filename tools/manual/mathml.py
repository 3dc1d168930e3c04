"""Equations as MathML, made while the site is built: browsers typeset it themselves, without a script or a network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from latex2mathml.converter import convert

if TYPE_CHECKING:
    from docutils.nodes import math, math_block
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator


def inline(page: HTML5Translator, node: math) -> None:
    """An equation within a sentence."""
    page.body.append(convert(node.astext()))


def display(page: HTML5Translator, node: math_block) -> None:
    """An equation of its own; a blank line parts two of them, as in Sphinx's own renderers."""
    for equation in filter(str.strip, node.astext().split("\n\n")):
        page.body.append(f'<div class="equation">{convert(equation, display="block")}</div>')


def setup(app: Sphinx) -> dict[str, bool]:
    """Makes it an extension of Sphinx."""
    from docutils.nodes import SkipNode

    def visit_inline(page: HTML5Translator, node: math) -> None:
        inline(page, node)
        raise SkipNode

    def visit_display(page: HTML5Translator, node: math_block) -> None:
        display(page, node)
        raise SkipNode

    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
