"""Times callables side by side: short samples in turn, so that a slow moment of the machine hits them all alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

Call = Callable[[], object]
CLOCKS: dict[str, Callable[[], int]] = {"wall": time.perf_counter_ns, "cpu": time.process_time_ns}


@dataclass(frozen=True, slots=True)
class Sampling:
    """How to time: `wall` for what a user waits, `cpu` (of this process) for one-thread comparisons."""

    clock: str = "wall"
    samples: int = 15
    sample_s: float = 0.004


@dataclass(frozen=True, slots=True)
class Spread:
    """Nanoseconds per call over the samples."""

    median: float
    minimum: float
    low: float
    high: float

    def per(self, n: int) -> Spread:
        """The same for each of n states."""
        return Spread(self.median / n, self.minimum / n, self.low / n, self.high / n)


@dataclass(frozen=True, slots=True)
class Row:
    """One measured cell: nanoseconds per state of a function at a batch size."""

    function: str
    batch: int
    engine: str
    ns: Spread


def interleaved(calls: Mapping[str, Call], sampling: Sampling) -> dict[str, Spread]:
    """Each call's time per call; quartiles are `low` and `high`."""
    clock = CLOCKS[sampling.clock]
    repeats = {name: _repeats(call, sampling.sample_s) for name, call in calls.items()}
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(sampling.samples):
        for name, call in calls.items():
            found[name].append(_sample(call, repeats[name], clock))
    return {name: _spread(times) for name, times in found.items()}


def _repeats(call: Call, sample_s: float) -> int:
    """How many calls fill a sample; also warms up."""
    call()
    _sample(call, 3, time.perf_counter_ns)
    return max(1, round(sample_s * 1e9 / _sample(call, 3, time.perf_counter_ns)))


def _sample(call: Call, repeats: int, clock: Callable[[], int]) -> float:
    start = clock()
    for _ in range(repeats):
        call()
    return max(clock() - start, 1) / repeats


def _spread(times: list[float]) -> Spread:
    low, median, high = (float(x) for x in np.percentile(times, (25, 50, 75)))
    return Spread(median, min(times), low, high)
