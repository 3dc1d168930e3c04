"""This tree against an earlier one: what differs in bits, counts and texts."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.robots import Case
from tools.guard.cases import Plan, Question
from tools.guard.process import Both, Process
from tools.guard.tree import Before

STATES = 37
DIGEST = 24
"""Characters of a hash; what is shorter is the name of an error."""
Say = Callable[[str], None]


class Difference(NamedTuple):
    """One thing that is not as before. error: the largest difference of bits, relative to the largest number."""

    robot: str
    what: str
    key: str
    before: str
    now: str
    error: str = ""


class Found(NamedTuple):
    """Of one case. compared: how many things were."""

    compared: int
    differences: Sequence[Difference]


def compare(
    before: Before, case: Case, functions: Sequence[str], what: Sequence[str], say: Say = lambda _: None
) -> Found:
    with (
        tempfile.TemporaryDirectory(prefix="condyle-guard-") as folder,
        Process(before.site) as old,
        Process(None) as new,
    ):
        made = _Comparison(case, Both(before, old, new), Path(folder), say)
        plan = made.loaded(functions)
        if "bits" in what:
            made.bits(plan)
        if "counts" in what:
            made.same("counts", {"ask": "counts"}, plan.functions)
        if "texts" in what:
            for name, question in plan.texts():
                made.same(name, question)
        return Found(made.compared, made.differences)


class _Comparison:
    def __init__(self, case: Case, both: Both, folder: Path, say: Say) -> None:
        self.case, self.both, self.folder, self.say = case, both, folder, say
        self.differences: list[Difference] = []
        self.compared = 0

    def loaded(self, functions: Sequence[str]) -> Plan:
        """Both have the robot and the same states; functions that both have."""
        case, states = self.case, self.folder / "states.npz"
        given: Question = {"source": case.path, "floating": case.floating, "locked": case.locked}
        old, new = self.both.load(states, n=STATES, **given)
        wanted = [name for name in new["functions"] if not functions or name in functions]
        shared = [name for name in wanted if name in old["functions"]]
        self._note("functions", dict.fromkeys(old["functions"], "there"), dict.fromkeys(new["functions"], "there"))
        return Plan(case, new["nv"], shared, new["isas"])

    def bits(self, plan: Plan) -> None:
        self.same("model", {"ask": "model"})
        for name, question in plan.bits():
            self.same(name, question | {"cache": ""})

    def same(self, name: str, question: Question, keys: Sequence[str] = ()) -> None:
        self.say(name)
        old, new = self.both.ask(question)
        for answers in (old, new) if keys else ():
            for key in set(answers) - set(keys):
                del answers[key]
        self._note(name, old, new, question["ask"] == "bits")

    def _note(self, name: str, old: dict[str, str], new: dict[str, str], is_bits: bool = False) -> None:
        for key in {**old, **new}:
            before, now = old.get(key, "absent"), new.get(key, "absent")
            self.compared += 1
            if before == now or (name == "functions" and before == "absent"):
                continue
            error = self._error(key) if is_bits and len(before) == len(now) == DIGEST else ""
            self.differences.append(Difference(self.case.name, name, key, before, now, error))

    def _error(self, key: str) -> str:
        """The largest difference, over the largest number of its array."""
        paths = self.folder / "old.npz", self.folder / "new.npz"
        self.both.save(key, paths)
        with np.load(paths[0]) as old, np.load(paths[1]) as new:
            if [old[name].shape for name in old] != [new[name].shape for name in new]:
                return "shapes"
            return f"{max((_distance(old[name], new[name]) for name in old), default=0.0):.1e}"


def _distance(old: np.ndarray, new: np.ndarray) -> float:
    if old.size == 0:
        return 0.0
    largest = float(np.max(np.abs(old))) or 1.0
    return float(np.max(np.abs(old.astype(np.float64) - new))) / largest
