"""One emitter for all generated text: a call writes a line, a `with` block indents."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager


class Emitter:
    """Collects indented lines: `e("x = 1;")`, `with e.block("if (x) {", "}"): ...`, `e.text()`."""

    def __init__(self, indent: str = "    ") -> None:
        self._lines: list[str] = []
        self._indent = indent
        self._depth = 0

    def __call__(self, *lines: str) -> None:
        prefix = self._indent * self._depth
        self._lines.extend(prefix + line if line else "" for line in lines)

    @contextmanager
    def block(self, head: str, tail: str = "}") -> Generator[None, None, None]:
        self(head)
        self._depth += 1
        yield
        self._depth -= 1
        self(tail)

    def text(self) -> str:
        return "\n".join(self._lines) + "\n"
