"""What the parts of benchmarks.steps share: a robot and its states, calls that may be missing, times in turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

import condyle
from benchmarks.bench import BATCH, pinned
from benchmarks.robots import Case
from condyle.cli.bound import Call, Sampling, interleaved
from condyle.cli.rivals.numbers import held
from condyle.cli.rivals.rival import Rival
from condyle.functions import FUNCTIONS
from condyle.functions.repeat import repeat

Array = NDArray[np.floating]
Maker = Callable[[], Call]
FULL, QUICK = Sampling(samples=25, sample_s=0.004, longest_s=8.0), Sampling(samples=5, sample_s=0.001, longest_s=0.5)
MISSING = (condyle.UnsupportedError,)
COMPARED = 16
DT = 1e-3


@dataclass(frozen=True)
class Plan:
    """One robot. quick: small batches. horizon: steps of a rollout."""

    case: Case
    sampling: Sampling
    quick: bool = False
    horizon: int = 50

    @cached_property
    def robot(self) -> condyle.Robot:
        return self.case.load()

    @property
    def rollouts(self) -> int:
        return 64 if self.quick else 1000

    @property
    def steps(self) -> int:
        return min(5, self.horizon) if self.quick else self.horizon

    def dynamics(self, dtype: str = "float64", threads: int = 1, **options: Any) -> condyle.Dynamics:
        return self.robot.compile(dtype=dtype, threads=threads, **options)

    def rollout(self, dynamics: condyle.Dynamics, last: bool = True) -> Callable[..., Any]:
        """Of the torques that `rolled` gives."""
        return dynamics.function(repeat(FUNCTIONS["step"], self.steps, ("tau",), last=last))

    def states(self, n: int = BATCH) -> tuple[Array, Array, Array]:
        """q, v, tau at random."""
        rng = np.random.default_rng(2)
        q, v = self.robot.random_state(n, rng)
        return q, v, rng.uniform(-1.0, 1.0, v.shape)

    def rolled(self, n: int | None = None) -> tuple[Array, Array, Array]:
        """The same with torques for each step (n, T, nv); nobody holds a base."""
        rng, n = np.random.default_rng(3), n or self.rollouts
        q, v, _ = self.states(n)
        tau = rng.uniform(-1.0, 1.0, (n, self.steps, self.robot.nv))
        for joint in self.robot.joints:
            if joint.type == "free":
                tau[..., joint.v_index : joint.v_index + 6] = 0.0
        return q, v, tau


@dataclass(frozen=True)
class Timed:
    """Calls by name, how many states or steps each has, and why some are missing."""

    calls: dict[str, Call]
    per: dict[str, int]
    absent: dict[str, str]

    @staticmethod
    def of(makers: Mapping[str, tuple[Maker, int]]) -> Timed:
        """Those that can be made, each called once."""
        timed = Timed({}, {}, {})
        for name, (maker, per) in makers.items():
            try:
                call = maker()
                call()
            except MISSING as error:
                timed.absent[name] = str(error).split("\n")[0]
                continue
            timed.calls[name], timed.per[name] = call, per
        return timed

    def measured(self, plan: Plan, clock: str = "cpu") -> dict[str, Any]:
        """Nanoseconds a state or a step; on one core for the clock of one thread."""
        if not self.calls:
            return {"absent": self.absent}
        sampling = Sampling(clock, plan.sampling.samples, plan.sampling.sample_s, plan.sampling.longest_s)
        with pinned() if clock == "cpu" else nullcontext():
            found = interleaved(self.calls, sampling)
        return {"ns": {name: asdict(ns.per(self.per[name])) for name, ns in found.items()}, "absent": self.absent}


def reusing(function: Callable[..., Any], *arguments: Any, **options: Any) -> Call:
    """A call with out=, the same arrays each time."""
    answer = function(*arguments, **options)
    out = tuple(answer) if isinstance(answer, tuple) else answer
    return lambda: function(*arguments, out=out, **options)


def beside(plan: Plan, rival: Rival, word: str, arrays: Sequence[Array], ours: Callable[..., Sequence[Array]]) -> Call:
    """A rival's call on these arrays; some of its answers are compared with ours first."""
    some = [np.ascontiguousarray(array[:COMPARED]) for array in arrays]
    held(plan.robot, rival, word, some, ours(*some), FUNCTIONS["step" if word == "rollout" else word].outputs)
    return rival.call(word, arrays)
