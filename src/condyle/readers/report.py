"""Findings while a file is read, and its numbers: what stands there, what was allowed."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from condyle.errors import Finding
from condyle.model.array import LARGEST, Array
from condyle.readers.xml import Element

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
_FINITE = float(np.finfo(np.float64).max)
_SHOWN = 60


class Report:
    """Collects what is wrong with one file."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.findings: list[Finding] = []

    def add(self, severity: str, node: Element, element: str | None, message: str, cure: str | None = None) -> None:
        """severity as in Finding; node: where it stands; element: what a person calls it."""
        self.findings.append(Finding(severity, message, self.file, node.line, element, cure))

    def error(self, node: Element, element: str | None, message: str, cure: str | None = None) -> None:
        self.add("error", node, element, message, cure)

    def note(self, node: Element, element: str | None, message: str, cure: str | None = None) -> None:
        self.add("note", node, element, message, cure)

    def number(self, node: Element, element: str, name: str, default: float | None) -> float:
        """A number; an error, and the default or 0, where it is none or too large (or missing without a default)."""
        return float(self._parsed(node, element, name, 1, default)[0])

    def limit(self, node: Element, element: str, name: str, default: float) -> float:
        """An attribute that may be infinite; what is beyond `LARGEST` counts as that."""
        text = node.get(name)
        if text is not None and _INFINITE.fullmatch(text.strip()):
            return float(text)
        value = float(self._parsed(node, element, name, 1, default, _FINITE)[0])
        return float(np.copysign(np.inf, value)) if abs(value) > LARGEST else value

    def vector(self, node: Element, element: str, name: str, default: Sequence[float]) -> Array:
        """Three numbers, (3,)."""
        if node.get(name) is None:
            return np.array(default, dtype=np.float64)
        return self._parsed(node, element, name, 3, None)

    def _parsed(
        self, node: Element, element: str, name: str, n: int, default: float | None, largest: float = LARGEST
    ) -> Array:
        text = node.get(name)
        spare = np.full(n, 0.0 if default is None else default)
        if text is None:
            if default is None:
                self.error(node, element, f"<{node.tag}> has no {name!r}", "a number is needed")
            return spare
        words = text.split()
        wanted = "a decimal number" if n == 1 else f"{n} decimal numbers with spaces between"
        if len(words) != n or not all(_NUMBER.fullmatch(word) for word in words):
            self.error(node, element, f"<{node.tag}> {name}={shown(text)}, expected {wanted}", _cure(text))
            return spare
        values = np.array([float(word) for word in words])
        if not (np.abs(values) <= largest).all():
            self.error(node, element, f"<{node.tag}> {name}={shown(text)} is beyond the largest number, {largest:.3g}")
            return spare
        return values


def shown(text: str) -> str:
    """The text as a message may show it: quoted, and not too long."""
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")


def _cure(text: str) -> str | None:
    if "," in text:
        return "write the decimal point as a point, and separate numbers by spaces"
    return "expand it with xacro first" if "$" in text else None
