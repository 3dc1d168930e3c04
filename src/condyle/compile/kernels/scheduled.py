"""Schedules as kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from condyle.ir.schedule import Schedule, interpret
from condyle.runtime.kernel import Kernel


class InterpretedKernel:
    def __init__(self, schedule: Schedule, kernels: Mapping[str, Kernel], dtype: Any) -> None:
        self.schedule, self.dtype, self.description = schedule, dtype, "interpreted"
        self.kernels = {name: partial(self.run, kernel) for name, kernel in kernels.items()}

    @staticmethod
    def run(kernel: Kernel, n: int, inputs: Any, outputs: Any) -> None:
        kernel(n, [np.ascontiguousarray(x) for x in inputs], outputs, 1)

    def __call__(self, n: int, inputs: Sequence[Any], outputs: Sequence[Any], threads: int) -> None:
        for k in range(n):
            given = {
                name: x[k if len(x) > 1 else 0] for name, x in zip(self.schedule.inputs, inputs, strict=True)
            }
            answers = interpret(self.schedule, self.kernels, given, self.dtype)
            for output, name in zip(outputs, self.schedule.outputs, strict=True):
                output[k] = answers[name].ravel()


def scheduled(schedule: Schedule, kernels: Mapping[str, Kernel], dtype: Any) -> Kernel:
    return InterpretedKernel(schedule, kernels, dtype)
