"""What a robot is exported as: a file of this folder is a target, and its name is the word that people type.

Each has OPTIONS, those arguments of `condyle.export` that it takes and not every target does, and `write`, which writes
the files of a `exports.projects.Job` and returns their paths. One that has not every function has `planned`, those that
it has. Only the file of the target that was named is imported.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from condyle.errors import UnsupportedError

if TYPE_CHECKING:
    from condyle.exports.projects import Job
    from condyle.specification import Function

EXPORTS = tuple(found.name for found in iter_modules(__path__))


def options_of(target: str) -> tuple[str, ...]:
    """The options that this target takes and others do not."""
    return import_module(f"{__name__}.{target}").OPTIONS


def planned(target: str) -> Mapping[str, Function]:
    """The functions that this target has plans for, by name; of a target for all functions none."""
    return getattr(import_module(f"{__name__}.{target}"), "planned", dict[str, "Function"])()


def write(target: str, job: Job) -> list[Path]:
    """Writes the project of this target; the files."""
    return import_module(f"{__name__}.{target}").write(job)


def check_taken(target: str, options: Collection[str]) -> None:
    """UnsupportedError for options that this export does nothing with."""
    own = options_of(target)
    wrong = [option for option in options if option not in own]
    if wrong:
        owners = [f"{option} (of target {_owners(option)})" for option in wrong]
        raise UnsupportedError(
            f"target {target!r} does not take these options: {', '.join(owners)}; leave them out. "
            f"Options of {target!r}: {', '.join(own) or 'none of its own'}"
        )


def _owners(option: str) -> str:
    """The targets that take it."""
    *others, last = (repr(target) for target in EXPORTS if option in options_of(target))
    return f"{', '.join(others)} and {last}" if others else last
