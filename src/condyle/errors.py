"""One base error and one class a mistake; a `Finding` is one thing wrong with a model file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class CondyleError(Exception):
    """Base of every error that Condyle raises on purpose."""


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
        place = "" if self.file is None else self.file + (f":{self.line}" if self.line is not None else "") + ": "
        element = "" if self.element is None else f"{self.element}: "
        cure = "" if self.cure is None else f" ({self.cure})"
        return f"{place}{element}{self.message}{cure}"


class ModelError(CondyleError):
    """A model that cannot be used; one message holds every finding, `findings` holds them as data."""

    def __init__(self, findings: Sequence[Finding] | str) -> None:
        self.findings: tuple[Finding, ...] = (
            (Finding("error", findings),) if isinstance(findings, str) else tuple(findings)
        )
        super().__init__("\n".join(str(finding) for finding in self.findings))

    def __reduce__(self) -> tuple[type[ModelError], tuple[tuple[Finding, ...]]]:
        return type(self), (self.findings,)


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
    """Results that do not fit into memory; nothing was computed."""


class SingularError(CondyleError):
    """A mass matrix that is singular for every configuration (a massless moving subtree)."""


class BuildError(CondyleError):
    """A target that could not be built: no compiler, a failed or a cancelled compile."""


class DeviceError(CondyleError):
    """A GPU that is not there, cannot be used, is out of memory, or failed."""


class ModelWarning(UserWarning):
    """Something odd but legal in a model."""


class AccuracyWarning(UserWarning):
    """Fixed point that errs by more than it should; says which functions and which words would do."""
