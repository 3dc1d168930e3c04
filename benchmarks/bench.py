"""What the measurements share: a robot, its functions at some states, pinning, times of several callables in turn."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

import condyle
from benchmarks.robots import Case
from condyle.cli.bench import call
from condyle.cli.bound import Call, Sampling, interleaved
from condyle.cli.states import States, draw
from condyle.functions import DEFAULT, function_of
from condyle.specification import UNBOUND, Bound

BATCH = 256


@dataclass(frozen=True)
class Subject:
    """One robot, and what a measurement asks of it. sampling: how long each number may take."""

    case: Case
    functions: Sequence[str]
    sampling: Sampling

    @cached_property
    def robot(self) -> condyle.Robot:
        return self.case.load()

    @property
    def bound(self) -> Bound:
        """What it is compiled for."""
        return UNBOUND

    def dynamics(self, target: str = "cpu", dtype: str = "float64", threads: int = 1) -> condyle.Dynamics:
        return self.robot.compile(target=target, dtype=dtype, threads=threads)

    def states(self, n: int, dtype: str = "float64") -> States:
        return draw(self.robot, n, dtype, [*map(function_of, self.functions)])

    def times(self, calls: Mapping[str, Call], per: Mapping[str, int] | int, clock: str = "cpu") -> dict[str, Any]:
        """Nanoseconds a state of each call, in turn; `per` is how many states a call has."""
        sampling = Sampling(clock, self.sampling.samples, self.sampling.sample_s, self.sampling.longest_s)
        found = interleaved(calls, sampling)
        return {name: asdict(ns.per(per if isinstance(per, int) else per[name])) for name, ns in found.items()}


def reused(
    dynamics: condyle.Dynamics, name: str, states: States, outputs: tuple[np.ndarray, ...] | None = None
) -> Call:
    """A call with out=, the same arrays each time."""
    return call(dynamics, function_of(name), states, outputs)


def fresh(dynamics: condyle.Dynamics, name: str, states: States) -> Call:
    """A call that makes its outputs, which die at once, as a user's would in a loop."""
    function, arguments = dynamics.function(name), states.arguments(function_of(name))
    return lambda: function(*arguments)


def bytes_of(name: str, states: States) -> tuple[int, int]:
    """Bytes that a call reads and writes."""
    return (
        sum(array.nbytes for array in states.arguments(function_of(name))),
        sum(array.nbytes for array in states.outputs(function_of(name))),
    )


@contextmanager
def pinned() -> Iterator[None]:
    """On the last core, where others rarely are."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def every(functions: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in DEFAULT if not functions or name in functions)
