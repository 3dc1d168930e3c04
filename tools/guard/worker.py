"""The process that measures: reads one question a line, answers one number a line. It imports only `condyle`."""

from __future__ import annotations

import json
import sys
import time
import warnings

import numpy as np

import condyle

FINGERS = {"panda_finger_joint1": 0.0, "panda_finger_joint2": 0.0}
N, SAMPLE_S = 256, 0.004


class Worker:
    def __init__(self) -> None:
        self.known: dict[tuple[str, str], tuple[object, list[np.ndarray], object]] = {}

    def load(self, source: str, floating: bool, locked: bool) -> float:
        warnings.simplefilter("ignore")
        robot = condyle.load(source, floating_base=floating)
        self.robot = robot.lock(FINGERS) if locked else robot
        return 0.0

    def compile(self, function: str, dtype: str) -> float:
        """Processor seconds until the first answer of one state."""
        dyn = self.robot.compile(dtype=dtype, threads=1)
        call, one = dyn.function(function), self.arguments(dyn, function, dtype, 1)
        begin = time.process_time()
        call(*one)
        return time.process_time() - begin

    def call(self, function: str, dtype: str) -> float:
        """Nanoseconds a state of one sample."""
        if (function, dtype) not in self.known:
            dyn = self.robot.compile(dtype=dtype, threads=1)
            call, many = dyn.function(function), self.arguments(dyn, function, dtype, N)
            self.known[function, dtype] = call, many, call(*many)
        call, many, out = self.known[function, dtype]
        count, begin = 0, time.perf_counter()
        while time.perf_counter() - begin < SAMPLE_S:
            call(*many, out=out)
            count += 1
        return (time.perf_counter() - begin) / count / N * 1e9

    def arguments(self, dyn: condyle.Dynamics, function: str, dtype: str, n: int) -> list[np.ndarray]:
        q, v = self.robot.random_state(n, 0)
        names = dyn.signature[function].partition("->")[0].count("(")
        given = [q, v, np.ones_like(v), np.ones((n, v.shape[-1], v.shape[-1]))][:names]
        return [np.ascontiguousarray(x, dtype=dtype) for x in given]


def main() -> None:
    worker = Worker()
    for line in sys.stdin:
        question = json.loads(line)
        print(getattr(worker, question.pop("what"))(**question), flush=True)


if __name__ == "__main__":
    main()
