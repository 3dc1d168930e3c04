"""One base error and one class a mistake; a `Finding` is one thing wrong with a model file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from condyle.text import printable, printable_lines, short_path

SEVERITIES = ("error", "physics", "note")
"""Of findings, the worst first."""


class CondyleError(Exception):
    """Base of every error that Condyle raises on purpose. Text of a model is shown escaped in its message."""

    def __str__(self) -> str:
        return printable_lines(super().__str__())


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing wrong or odd in a model: where it is, what was found, what was allowed, what to do.

    severity: "error" (the model cannot be used), "physics" (a warning, an error when strict) or "note" (a warning).
    """

    severity: str
    message: str
    file: str | None = None
    line: int | None = None
    element: str | None = None
    cure: str | None = None

    def __str__(self) -> str:
        """One line, without the severity, its path short; text of the file is escaped where it could pass for more."""
        line = "" if self.line is None else f":{self.line}"
        place = "" if self.file is None else f"{short_path(self.file)}{line}: "
        element = "" if self.element is None else f"{self.element}: "
        cure = "" if self.cure is None else f" ({self.cure})"
        return printable(f"{place}{element}{self.message}{cure}")


_NUMBER = re.compile(r"(?<![\w'])[-+]?[0-9]+\.?[0-9]*(e[-+]?[0-9]+)?")
_MOST_NAMES = 3
_MOST_LINES = 30


def listed(findings: Iterable[Finding]) -> str:
    """Findings as lines, each with its severity in front, errors first; those that say the same are one line.

    Errors say the same where their messages are equal; others may differ in numbers, and the first one's are shown.
    """
    lines: list[str] = []
    groups: dict[str, dict[tuple[object, ...], list[Finding]]] = {severity: {} for severity in SEVERITIES}
    for finding in findings:
        message = finding.message if finding.severity == "error" else _NUMBER.sub("#", finding.message)
        key = (finding.file, _kind(finding) or finding.element, message, finding.cure)
        groups.setdefault(finding.severity, {}).setdefault(key, []).append(finding)
    for severity, found in groups.items():
        each = list(found.values())
        lines += [f"{severity}: {_line(group)}" for group in each[:_MOST_LINES]]
        if len(each) > _MOST_LINES:
            rest = sum(len(group) for group in each[_MOST_LINES:])
            lines.append(f"{severity}: and {rest} more of other kinds")
    return "\n".join(lines)


def _kind(finding: Finding) -> str:
    """What a finding is about: link, joint, ... where it says which one."""
    word, _, name = (finding.element or "").partition(" ")
    return word if name else ""


def _line(group: Sequence[Finding]) -> str:
    """One line for findings that say the same: how many, what, the first few by name and line."""
    first = group[0]
    if len(group) == 1:
        return str(first)
    file = "" if first.file is None else f"{short_path(first.file)}: "
    names = list(dict.fromkeys(_name(finding) for finding in group))
    what = f"{_kind(first)}s" if len(names) == len(group) and _kind(first) else "times"
    alike = all(finding.message == first.message for finding in group)
    cure = "" if first.cure is None else f" ({first.cure})"
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    some = ", ".join(name for name in names[:_MOST_NAMES] if name)
    head = f"{len(group)} {what}{'' if alike else ', numbers of the first'}"
    if first.element and not _kind(first):
        head += f": {first.element}"
    return printable(f"{file}{head}: {first.message}{cure}{': ' if some else ''}{some}{more if some else ''}")


def _name(finding: Finding) -> str:
    """The element's own name and its line, as far as they are known."""
    name = (finding.element or "").partition(" ")[2]
    line = "" if finding.line is None else f"line {finding.line}"
    return f"{name} ({line})" if name and line else name or line


class ModelError(CondyleError):
    """A model that cannot be used; one message holds all findings, the worst first, `findings` has each as data."""

    def __init__(self, findings: Sequence[Finding] | str) -> None:
        plain = isinstance(findings, str)
        self.findings: tuple[Finding, ...] = (Finding("error", findings),) if plain else tuple(findings)
        super().__init__(findings if plain else listed(self.findings))

    def __reduce__(self) -> tuple[type[ModelError], tuple[str | tuple[Finding, ...]]]:
        lone = self.findings[0] if len(self.findings) == 1 else None
        return type(self), (lone.message if lone is not None and self.args[0] == lone.message else self.findings,)


class ShapeError(CondyleError, ValueError):
    """An array of the wrong shape, or an output that overlaps an input or cannot be written."""


class StateError(CondyleError, ValueError):
    """States that are no states: quaternions that are not unit, entries that are not finite; `rows` says which.

    rows: the batch indices of the bad states, (n,), counted in the flattened batch.
    """

    def __init__(self, message: str, rows: tuple[int, ...]) -> None:
        super().__init__(message)
        self.rows = rows

    def __reduce__(self) -> tuple[type[StateError], tuple[str, tuple[int, ...]]]:
        return type(self), (str(self), self.rows)


class DTypeError(CondyleError, TypeError):
    """An array of the wrong number type."""


class UnsupportedError(CondyleError):
    """Something legal that Condyle does not do (here, or yet); says what to do instead."""


class OutOfMemoryError(CondyleError, MemoryError):
    """Results that do not fit into memory, or onto the disk; nothing was computed."""


class SingularError(CondyleError):
    """A mass matrix that is singular for every configuration (a massless moving subtree)."""


class BuildError(CondyleError):
    """A target that could not be built: no compiler, a failed or a cancelled compile."""


class DeviceError(CondyleError):
    """A GPU that is not there, cannot be used, is out of memory, or failed."""


class ModelWarning(UserWarning):
    """What is odd but legal in a model, a line a kind; `findings` has each as data."""

    def __init__(self, message: str, findings: Sequence[Finding] = ()) -> None:
        super().__init__(message)
        self.findings = tuple(findings)


class ShapeWarning(UserWarning):
    """An array whose shape has two meanings; says which one was taken, and how to say which one is meant."""


class AccuracyWarning(UserWarning):
    """Answers that err by more than they should: fixed point, where it says which functions and which words would do,
    and rollouts with contacts, where it says which states."""
