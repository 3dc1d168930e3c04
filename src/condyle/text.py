"""One emitter for all generated text: a call writes a line, a `with` block indents."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


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


def wrapped(separator: str, parts: list[str], each: int = 8) -> str:
    """Joined, so many on a line: some compilers refuse very long lines."""
    return f"{separator.rstrip()}\n    ".join(separator.join(parts[k : k + each]) for k in range(0, len(parts), each))


def write_whole(path: Path, text: str) -> Path:
    """The file with all of this text; what stood there stays until then, also when the process is killed."""
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path
