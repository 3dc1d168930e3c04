"""A GPU under test, the fake one or a real one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import condyle
from benchmarks.gpu.arrays import upload
from condyle.calls.gpu import GpuDynamics
from condyle.cli.states import draw
from condyle.functions import FUNCTIONS
from condyle.runtime.cuda.arrays import DeviceArray
from condyle.runtime.cuda.driver import Gpu


@dataclass
class Bench:
    """A GPU and how much it is asked to do."""

    gpu: Gpu
    real: bool

    def dynamics(
        self,
        name: str = "iiwa14",
        dtype: str = "float64",
        floating: bool = False,
    ) -> GpuDynamics:
        dyn = condyle.load(name, floating_base=floating).compile(target="cuda", dtype=dtype)
        assert isinstance(dyn, GpuDynamics)
        return dyn

    def inputs(self, function: str, n: int, dtype: str = "float64") -> list[np.ndarray]:
        return list(draw(condyle.load("iiwa14"), n, dtype, (FUNCTIONS[function],)).arguments(FUNCTIONS[function]))

    def upload(self, arrays: list[np.ndarray]) -> list[DeviceArray]:
        with self.gpu.current():
            return [upload(self.gpu, array) for array in arrays]

    def stream(self) -> int:
        flags = self.gpu.driver.constant("CUstream_flags", "CU_STREAM_NON_BLOCKING")
        with self.gpu.current():
            return self.gpu.driver.number("cuStreamCreate", flags)
