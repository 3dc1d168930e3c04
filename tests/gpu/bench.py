"""A GPU under test, the fake one or a real one, and arrays in its memory of which nothing is by chance right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import condyle
from benchmarks.gpu import upload
from condyle.calls.gpu import GpuDynamics
from condyle.cli.check import allowed, answers, relative
from condyle.cli.states import States, draw
from condyle.functions import FUNCTIONS
from condyle.runtime.cuda.arrays import DeviceArray
from condyle.runtime.cuda.driver import Gpu
from condyle.specification import Function

GUARD = 65
"""Numbers before and after an array. It is odd, so addresses are multiples of one number and of no more."""


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


class Guarded:
    """An array on a GPU between guards, all NaN at first; other libraries' arrays are lent in the same way."""

    def __init__(self, gpu: Gpu, shape: tuple[int, ...], dtype: str) -> None:
        self.gpu, self.shape, self.dtype = gpu, shape, np.dtype(dtype)
        self.whole = np.full(int(np.prod(shape)) + 2 * GUARD, np.nan, dtype)
        with gpu.current():
            self.address = gpu.driver.number("cuMemAlloc", self.whole.nbytes)
        self._upload()

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        place = self.address + GUARD * self.dtype.itemsize
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (place, False), "strides": None, "version": 2}

    def _upload(self) -> None:
        with self.gpu.current():
            self.gpu.driver("cuMemcpyHtoD", self.address, self.whole.ctypes.data, self.whole.nbytes)

    def fill(self, rows: np.ndarray) -> Guarded:
        self.whole[GUARD:-GUARD] = rows.reshape(-1)
        self._upload()
        return self

    def numbers(self) -> np.ndarray:
        """All were written, and nothing beside them."""
        found = np.zeros_like(self.whole)
        with self.gpu.current():
            self.gpu.driver("cuMemcpyDtoHAsync", found.ctypes.data, self.address, found.nbytes, 0)
            self.gpu.driver("cuStreamSynchronize", 0)
        assert np.isnan(found[:GUARD]).all()
        assert np.isnan(found[-GUARD:]).all()
        assert not np.isnan(found[GUARD:-GUARD]).any()
        return found[GUARD:-GUARD].reshape(self.shape)

    def free(self) -> None:
        with self.gpu.current():
            self.gpu.driver("cuMemFree", self.address)


def in_place(dyn: GpuDynamics, gpu: Gpu, function: Function, states: States) -> list[np.ndarray]:
    """The answers of a call with guarded arrays."""
    given = [Guarded(gpu, x.shape, states.dtype).fill(x) for x in states.arguments(function)]
    outs = [Guarded(gpu, x.shape, states.dtype) for x in states.outputs(function)]
    dyn.call(function, given, outs[0] if len(outs) == 1 else tuple(outs))
    found = [out.numbers() for out in outs]
    for array in (*given, *outs):
        array.free()
    return found


class Reference:
    """Answers of the processor in float64, and how far they may be from those in another type."""

    def __init__(self, robot: condyle.Robot, n: int, dtype: str, functions: Sequence[Function] = ()) -> None:
        self.states = draw(robot, n, dtype, functions)
        drawn = {name: array.astype(np.float64) for name, array in self.states.quantities.items()}
        self.exact = States(drawn, self.states.sizes, "float64")
        self.dyn = robot.compile(target="cpu")
        self.condition = float(np.linalg.cond(self.dyn.mass_matrix(drawn["q"])).max())

    def hold(self, function: Function, found: Sequence[np.ndarray]) -> None:
        """The first rows of the answers, as many as were computed."""
        wanted = answers(self.dyn, function, self.exact)
        worst = max(relative(a, b[: len(a)]) for a, b in zip(found, wanted, strict=True))
        assert worst <= allowed(function, self.states.dtype, self.condition), function
