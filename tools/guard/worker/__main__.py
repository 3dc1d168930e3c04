"""The loop over questions; each is a method of `Worker`."""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

BEGIN = time.process_time()
import condyle  # noqa: E402

IMPORT_S = time.process_time() - BEGIN

from tools.guard.worker import bits, gpu, robots, texts, times  # noqa: E402
from tools.guard.worker.states import States  # noqa: E402


class Worker:
    def __init__(self) -> None:
        self.answers: dict[str, bits.Arrays] = {}

    def load(self, source: str, floating: bool, locked: bool, states: str, n: int) -> dict[str, Any]:
        """Takes the robot and its states, which it writes first if there are none; what it is."""
        warnings.simplefilter("ignore")
        self.robot = robots.robot(source, floating, locked)
        self.states = States.kept(self.robot, Path(states), n)
        self.times = times.Times(self.robot)
        names = list(self.robot.compile("numpy").signature)
        return {"functions": names, "nv": self.robot.nv, "isas": self.instruction_sets()}

    def model(self) -> dict[str, str]:
        """What both must agree on before anything else is worth a comparison."""
        return {"fingerprint": self.robot.fingerprint, "random_state": bits.digest(self.robot.random_state(9, 1))}

    def bits(self, cache: str, isa: str, **variant: Any) -> dict[str, str]:
        _use_cache(cache)
        _force(isa)
        self.answers, hashes = bits.answers(self.robot, self.states, **variant)
        return hashes

    def save(self, key: str, path: str) -> None:
        """Writes the arrays of one answer of the last `bits`."""
        bits.save(self.answers.get(key, ()), Path(path))

    def counts(self) -> dict[str, str]:
        try:
            rows = condyle.operation_counts(self.robot)
        except Exception as error:
            return {"counts": type(error).__name__}
        return {str(row["function"]): " ".join(map(str, row.values())) for row in rows}

    def texts(self, **what: Any) -> dict[str, str]:
        return texts.hashes(self.robot, **what)

    def gpu(self, functions: list[str], **what: Any) -> dict[str, str]:
        _use_cache("")
        return gpu.hashes(self.robot, self.states, functions, **what)

    def time(self, what: str, function: str, dtype: str) -> float:
        _use_cache("")
        return self.times.sample(what, function, dtype)

    def imported(self) -> float:
        return IMPORT_S

    def instruction_sets(self) -> list[str]:
        from condyle.runtime import machine

        return list(machine.instruction_sets())


def _use_cache(folder: str) -> None:
    """Where built objects are kept; "": nowhere."""
    os.environ.pop("CONDYLE_CACHE_DIR", None)
    os.environ["CONDYLE_NO_CACHE"] = "" if folder else "1"
    if folder:
        Path(folder).mkdir(mode=0o700, parents=True, exist_ok=True)
        os.environ.update(CONDYLE_CACHE_DIR=folder, CONDYLE_CACHE_MAX_MB="8192")


def _force(isa: str) -> None:
    """Machine code for this instruction set alone; there is no public way."""
    if isa:
        from condyle.runtime import machine

        machine.instruction_sets = lambda: (isa,)


def main() -> None:
    worker = Worker()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what anything else prints is no answer
    for line in sys.stdin:
        question = json.loads(line)
        print(json.dumps(getattr(worker, question.pop("ask"))(**question)), file=answers, flush=True)


if __name__ == "__main__":
    main()
