"""One function at N states, by ours and by other libraries: nanoseconds a state, on the wall.

Ours takes and returns NumPy arrays and reuses `out=`; the call is included. Other libraries run in a loop in C or C++
over at least 256 states, and their answers are not copied. "pinocchio all" has one model for each core. Each core
computes its share of the states, several batches in one call. The start and the join of threads are not counted, in
Pinocchio's favour. A library that is missing, or lacks the function, is left out, and the row says why.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

import condyle
from condyle.cli import rivals
from condyle.cli.bench import RIVAL_FEWEST, call
from condyle.cli.bound import Call, Sampling, interleaved
from condyle.cli.rivals.numbers import agreement
from condyle.cli.rivals.pinocchio_cpp import FLAGS, PinocchioCpp
from condyle.cli.rivals.rival import Rival
from condyle.cli.states import States, draw
from condyle.errors import CondyleError
from condyle.functions import function_of
from experiments.numbers import digits

FULL, QUICK = Sampling("wall", 25, 0.004, 4.0), Sampling("wall", 5, 0.0005, 0.2)
PLAIN = tuple(flag for flag in FLAGS if flag != "-march=native")
"""Flags of Pinocchio that know no vectors wider than those of every x86-64 processor."""
SHARE = 4096
"""States that a thread of a rival has in one call, where a batch is smaller."""
OURS = {
    "condyle": ("cpu", "float64", 1),
    "condyle float32": ("cpu", "float32", 1),
    "condyle all": ("cpu", "float64", None),
    "condyle float32 all": ("cpu", "float32", None),
    "condyle C": ("c", "float64", 1),
    "condyle C float32": ("c", "float32", 1),
}
"""Engine to target, number type and threads; None is every core."""


def _opened(flags: tuple[str, ...]) -> Callable[[condyle.Robot], Rival]:
    return lambda robot: PinocchioCpp(robot, flags=flags)


RIVALS: dict[str, Callable[[condyle.Robot], Rival]] = {
    "pinocchio": _opened(FLAGS),
    "pinocchio plain": _opened(PLAIN),
    "casadi": lambda robot: rivals.opened("casadi", robot),
}
THREADED = "pinocchio all"


def cores() -> int:
    return len(os.sched_getaffinity(0))


@dataclass
class Timed:
    """A robot, and the engines that are asked for; each is built once."""

    robot: condyle.Robot
    engines: Sequence[str]
    quick: bool = False
    absent: dict[str, str] = field(default_factory=dict[str, str])
    agreed: dict[str, float] = field(default_factory=dict[str, float])

    def row(self, function: str, n: int) -> dict[str, Any]:
        """ns: engine to the spread of nanoseconds a state; absent: engine to why it has none."""
        calls: dict[str, Call] = {}
        per: dict[str, int] = {}
        for engine, (_, dtype, _) in OURS.items():
            if engine in self.engines:
                dynamics = self.ours[engine]
                calls[engine], per[engine] = call(dynamics, function_of(function), self._states(function, n, dtype)), n
        many = max(n, RIVAL_FEWEST)
        states = self._states(function, many, "float64")
        for name, rival in self.others.items():
            if self._agrees(name, rival, function):
                calls[name], per[name] = rival.call(function, states.arguments(function_of(function))), many
        found = interleaved(calls, QUICK if self.quick else FULL)
        ns = {name: asdict(spread.per(per[name])) for name, spread in found.items()}
        ns |= self._threaded(function, n)
        return {"n": n, "ns": ns, "absent": dict(self.absent), "agreement": dict(self.agreed), "cores": cores()}

    def about(self) -> dict[str, Mapping[str, str]]:
        """Versions, compilers and flags of the others."""
        return {name: rival.about for name, rival in self.others.items()}

    @cached_property
    def ours(self) -> dict[str, condyle.Dynamics]:
        made: dict[str, condyle.Dynamics] = {}
        for engine, (target, dtype, threads) in OURS.items():
            if engine in self.engines:
                made[engine] = self.robot.compile(target=target, dtype=dtype, threads=threads)
        return made

    @cached_property
    def exact(self) -> condyle.Dynamics:
        return self.robot.compile(threads=1)

    @cached_property
    def others(self) -> dict[str, Rival]:
        found: dict[str, Rival] = {}
        for name in [name for name in RIVALS if name in self.engines]:
            try:
                found[name] = RIVALS[name](self.robot)
            except CondyleError as error:  # noqa: PERF203
                self.absent[name] = str(error)
        return found

    @cached_property
    def several(self) -> list[Rival]:
        """Pinocchio, a model for each core; none where it is not asked for or not there."""
        if THREADED not in self.engines:
            return []
        try:
            return [RIVALS["pinocchio"](self.robot) for _ in range(cores())]
        except CondyleError as error:
            self.absent[THREADED] = str(error)
            return []

    def _states(self, function: str, n: int, dtype: str) -> States:
        return draw(self.robot, n, dtype, (function_of(function),))

    def _agrees(self, name: str, rival: Rival, function: str) -> bool:
        """Its answers are compared with ours before anything is timed."""
        if function not in rival.algorithms:
            self.absent[f"{name} {function}"] = f"{name} has no {function}"
            return False
        try:
            self.agreed[f"{name} {function}"] = agreement(self.robot, self.exact, rival, function_of(function))
        except CondyleError as error:
            self.absent[f"{name} {function}"] = str(error)
            return False
        return True

    def _threaded(self, function: str, n: int) -> dict[str, Any]:
        """Pinocchio on every core: a share of the batch in each, the batch so often that a call is long."""
        if n < cores() or not self.several:
            return {}
        states, share = self._states(function, n, "float64"), -(-n // cores())
        repeats = max(1, SHARE // share)
        calls: list[Call] = []
        for k, rival in enumerate(self.several):
            mine = [array[k * share : (k + 1) * share] for array in states.arguments(function_of(function))]
            if len(mine[0]):
                calls.append(rival.call(function, [np.concatenate([array] * repeats) for array in mine]))
        with ThreadPoolExecutor(cores()) as pool:
            found = interleaved({THREADED: lambda: list(pool.map(_run, calls))}, QUICK if self.quick else FULL)
        return {THREADED: asdict(found[THREADED].per(n * repeats))}


def _run(call: Call) -> None:
    call()


def us(row: Mapping[str, Any], engine: str, states: int = 1) -> str:
    """Median microseconds of so many states; what was not measured says so."""
    found = row["ns"].get(engine) if row else None
    return "not measured" if found is None else digits(states * found["median"] / 1e3)
