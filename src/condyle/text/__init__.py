"""One emitter for all generated text, one way to show text that is not ours, and the style of HTML pages."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path

_UNSEEN = frozenset(
    chr(code)
    for first, last in (
        (0x34F, 0x34F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2800, 0x2800), (0x3164, 0x3164),
        (0xFE00, 0xFE0F), (0xFFA0, 0xFFA0), (0xE0100, 0xE01EF),
    )
    for code in range(first, last + 1)
)  # fmt: skip
"""Fillers, blanks and variation selectors: Unicode calls them printable, and nobody sees them."""


def printable(text: str) -> str:
    """The text on one line, as a terminal, a log and a page may show it.

    Control characters (a newline too), what turns the direction of writing, and what cannot be seen are escaped.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if char.isprintable() and char not in _UNSEEN else _escaped(char) for char in text)


def printable_lines(text: str) -> str:
    """The same for text of several lines of our own."""
    return "\n".join(printable(line) for line in text.split("\n"))


def quoted(text: str) -> str:
    """The text in quotes, on one line."""
    return printable(repr(text))


def short_path(path: str) -> str:
    """An absolute path as a person would write it here: from the working directory, or from home with "~", where it
    lies below; any other path as it is."""
    if not Path(path).is_absolute():
        return path
    try:
        places = ((Path.cwd(), ""), (Path.home(), f"~{os.sep}"))
    except (OSError, RuntimeError):  # a working directory that was deleted, or no home
        return path
    for folder, start in places:
        inside = f"{folder}{os.sep}"
        if folder != folder.parent and path.startswith(inside):
            return start + path[len(inside) :]
    return path


def _escaped(char: str) -> str:
    shown = repr(char)[1:-1]
    return shown if shown != char else f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"


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

    def table(self, head: str, entries: Sequence[str], each: int) -> None:
        """A constant array of C, so many entries a line."""
        with self.block(f"{head}[{len(entries)}] = {{", "};"):
            self(*(", ".join(entries[k : k + each]) + "," for k in range(0, len(entries), each)))

    def text(self) -> str:
        return "\n".join(self._lines) + "\n"


def few(words: Iterable[str], most: int) -> str:
    """The first of some words, and how many more there are."""
    every = list(words)
    return ", ".join(every[:most]) + (f" and {len(every) - most} more" if len(every) > most else "")


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
