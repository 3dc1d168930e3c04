"""How far a job is, in a file: a job whose process was killed goes on where it was."""

from __future__ import annotations

import json
import operator
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from condyle.errors import UnsupportedError
from condyle.mapping.job import Job


@dataclass(frozen=True)
class Done:
    """What a journal says."""

    identity: str
    states: int
    done: int


def placed(job: Job, journal: str | os.PathLike[str]) -> Path:
    """The path; UnsupportedError where no journal can be, said before anything is computed."""
    if not isinstance(journal, (str, os.PathLike)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UnsupportedError(f"{job.method}: journal={journal!r}; name a file in a folder that exists")
    path = Path(journal)
    if path.is_dir() or not path.parent.is_dir():
        what = "is a folder" if path.is_dir() else f"cannot be written, there is no folder {path.parent}"
        raise UnsupportedError(f"{job.method}: journal={str(path)!r} {what}; name a file in a folder that exists")
    return path


def begun(path: Path, job: Job, states: int) -> int:
    """States that an earlier run has done; UnsupportedError for the journal of another job."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return 0
    try:
        found = Done(**json.loads(text))
        fine = 0 <= operator.index(found.done) <= states
    except (ValueError, TypeError) as error:
        raise UnsupportedError(f"{job.method}: {path} is no journal of a job ({error}); name another file") from error
    if not fine or (found.identity, found.states) != (job.identity, states):
        raise UnsupportedError(
            f"{job.method}: {path} is the journal of another job ({found.identity}, {found.states} states), this is "
            f"{job.identity}, {states} states: delete the file, or name another"
        )
    return found.done


def keep(path: Path, done: Done) -> None:
    """Written beside and renamed: a killed process leaves the old journal or the new one."""
    beside = path.with_name(path.name + ".new")
    beside.write_text(json.dumps(asdict(done)), encoding="utf-8")
    beside.replace(path)
