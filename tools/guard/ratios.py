"""Times of this tree and of an earlier one, taken in turns; the best of each counts."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.robots import Case
from tools.guard.process import Process
from tools.guard.tree import Before

COLD_ROUNDS = 3
DTYPES = ("float64", "float32")


class Ratio(NamedTuple):
    """One number before and now: nanoseconds a state, or processor seconds of a cold compile or of the import."""

    robot: str
    function: str
    what: str
    before: float
    now: float

    @property
    def ratio(self) -> float:
        return self.before / self.now

    def row(self) -> tuple[str, ...]:
        return (self.robot, self.function, self.what, f"{self.before:.4g}", f"{self.now:.4g}", f"{self.ratio:.3f}")


def times(
    before: Before, case: Case, functions: Sequence[str], rounds: int, say: Callable[[str], None] = lambda _: None
) -> list[Ratio]:
    """Call times (ns a state, one thread, `out=`) and cold compile times (s of the processor)."""
    found: list[Ratio] = []
    with (
        tempfile.TemporaryDirectory(prefix="condyle-guard-") as folder,
        Process(before.site) as old,
        Process(None) as new,
    ):
        given = {"source": case.path, "floating": case.floating, "locked": case.locked}
        there = [
            one.ask("load", states=str(Path(folder) / "states.npz"), n=1, **given)["functions"] for one in (new, old)
        ]
        for dtype in DTYPES:
            for function in [name for name in there[0] if name in there[1] and (not functions or name in functions)]:
                for what in ("compile", "call"):
                    say(f"{case.name}, {what} {function} {dtype}")
                    question = {"what": what, "function": function, "dtype": dtype}
                    best = _best(old, new, question, rounds if what == "call" else COLD_ROUNDS)
                    found.append(Ratio(case.name, function, f"{what} {dtype}", *best))
    return found


def _best(old: Process, new: Process, question: dict[str, str], rounds: int) -> tuple[float, float]:
    seen: dict[Process, list[float]] = {old: [], new: []}
    for k in range(rounds):
        for one in (old, new) if k % 2 else (new, old):
            seen[one].append(one.ask("time", **question))
    return min(seen[old]), min(seen[new])


def import_times(before: Before, rounds: int) -> Ratio:
    """Processor seconds of `import condyle`, in fresh processes."""
    seen: dict[Path | None, list[float]] = {before.site: [], None: []}
    for k in range(rounds):
        for site in (before.site, None) if k % 2 else (None, before.site):
            with Process(site) as process:
                seen[site].append(process.ask("imported"))
    return Ratio("", "", "import condyle", min(seen[before.site]), min(seen[None]))
