"""What this tree writes, against what was kept in the repository: operation counts and hashes of texts.

They depend on no machine, so files of known answers are left out. A robot is kept under its name, and each target's
texts under one hash; `compare` says which file of them it is.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from benchmarks.robots import Case
from tools.guard.cases import Plan
from tools.guard.compare import STATES, Difference
from tools.guard.process import Process

PATH = Path(__file__).with_name("kept.json")
Kept: TypeAlias = dict[str, str]
"""By "counts FUNCTION" and the names of texts."""


VECTORS = ("test.c", "known.h", "tasks.hex", "answers.hex", "report.json")
"""Files of known answers: the bits of this machine's NumPy."""
SHOWN = 16
"""Characters of a hash."""
FUNCTIONS = "functions"
"""The key of their names: texts of functions that come later are not compared."""


def kept(case: Case, functions: Sequence[str] = (), say: Callable[[str], None] = lambda _: None) -> Kept:
    """What this tree makes of these functions of one robot, by default of all."""
    with tempfile.TemporaryDirectory(prefix="condyle-guard-") as folder, Process(None) as process:
        given = {"source": case.path, "floating": case.floating, "locked": case.locked}
        about = process.ask("load", states=str(Path(folder) / "states.npz"), n=STATES, **given)
        names = [name for name in about["functions"] if not functions or name in functions]
        say("counts")
        found = {"fingerprint": process.ask("model")["fingerprint"][:SHOWN], FUNCTIONS: " ".join(names)}
        found |= {f"counts {name}": row for name, row in process.ask("counts").items() if name in names}
        for name, question in Plan(case, about["nv"], names).texts():
            say(name)
            found[name] = one(process.ask(**question))
        return found


def one(hashes: dict[str, str]) -> str:
    """The hash of all texts that depend on no machine."""
    left = {name: text for name, text in hashes.items() if name not in VECTORS}
    return hashlib.sha256(json.dumps(left, sort_keys=True).encode()).hexdigest()[:SHOWN]


def differences(case: Case, say: Callable[[str], None] = lambda _: None) -> list[Difference]:
    """What is not as it was kept: robot, what, before, now."""
    before = read().get(case.name)
    if before is None:
        return [Difference(case.name, "robot", "", "absent", "there")]
    now = kept(case, before[FUNCTIONS].split(), say)
    said = [
        Difference(case.name, key, "", before.get(key, "absent"), now.get(key, "absent")) for key in {**before, **now}
    ]
    return [one for one in said if one.before != one.now]


def read() -> dict[str, Kept]:
    return json.loads(PATH.read_text()) if PATH.exists() else {}


def write(found: dict[str, Kept], names: Sequence[str]) -> None:
    """Keeps these; what was kept of other robots stays, in the order of `names`."""
    every = read() | found
    ordered = {name: every[name] for name in names if name in every}
    PATH.write_text(json.dumps(ordered, indent=1) + "\n")
