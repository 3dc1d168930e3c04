"""Times of this process: of calls and of cold compiles."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from tools.guard.worker.states import States

N, SAMPLE_S = 256, 0.004


class Times:
    def __init__(self, robot: Any) -> None:
        self.robot = robot
        self.states: dict[int, States] = {}
        self.known: dict[tuple[str, str], tuple[Any, list[np.ndarray], object]] = {}

    def sample(self, what: str, function: str, dtype: str) -> float:
        return self._compile(function, dtype) if what == "compile" else self._call(function, dtype)

    def _compile(self, function: str, dtype: str) -> float:
        """Processor seconds until the first answer of one state."""
        dyn = self.robot.compile(dtype=dtype, threads=1)
        call, one = dyn.function(function), self._arguments(dyn, function, dtype, 1)
        begin = time.process_time()
        call(*one)
        return time.process_time() - begin

    def _call(self, function: str, dtype: str) -> float:
        """Nanoseconds a state of one sample."""
        if (function, dtype) not in self.known:
            dyn = self.robot.compile(dtype=dtype, threads=1)
            call, many = dyn.function(function), self._arguments(dyn, function, dtype, N)
            self.known[function, dtype] = call, many, call(*many)
        call, many, out = self.known[function, dtype]
        count, begin = 0, time.perf_counter()
        while time.perf_counter() - begin < SAMPLE_S:
            call(*many, out=out)
            count += 1
        return (time.perf_counter() - begin) / count / N * 1e9

    def _arguments(self, dyn: Any, function: str, dtype: str, n: int) -> list[np.ndarray]:
        if n not in self.states:
            self.states[n] = States.of(self.robot, n)
        rows = self.states[n].arguments(dyn.signature[function])
        return [np.ascontiguousarray(x, dtype=dtype) for x in rows]
