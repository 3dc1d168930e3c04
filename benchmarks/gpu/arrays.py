"""Arrays in the memory of a GPU of which nothing is right by chance, and the answers that are expected in them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import condyle
from benchmarks import results
from condyle.calls.gpu import GpuDynamics
from condyle.cli.check import allowed, independent, worst_of
from condyle.cli.states import States, draw
from condyle.runtime.cuda.arrays import DeviceArray
from condyle.runtime.cuda.driver import Gpu
from condyle.specification import Function

Floats = NDArray[np.floating]
GUARD = 65
"""Numbers before and after an array. It is odd, so addresses are multiples of one number and of no more."""
PERIOD = 37
"""States that are different. It is a prime, so that each place in a warp, a block and a group has another one."""


def upload(gpu: Gpu, array: np.ndarray) -> DeviceArray:
    """The array on the GPU."""
    there = DeviceArray(gpu, array.shape, array.dtype, 0)
    dense = np.ascontiguousarray(array)
    gpu.driver("cuStreamSynchronize", 0)
    gpu.driver("cuMemcpyHtoD", there.address, dense.ctypes.data, dense.nbytes)
    return there


class Guarded:
    """An array on a GPU between guards, all bits 1 at first (NaN); other libraries' arrays are lent in the same way."""

    def __init__(self, gpu: Gpu, shape: tuple[int, ...], dtype: str) -> None:
        self.gpu, self.shape, self.dtype = gpu, shape, np.dtype(dtype)
        self.count = int(np.prod(shape)) + 2 * GUARD
        size = self.count * self.dtype.itemsize
        with gpu.current():
            self.address = gpu.driver.number("cuMemAlloc", size)
            gpu.driver("cuMemsetD8Async", self.address, 0xFF, size, 0)
            gpu.driver("cuStreamSynchronize", 0)

    @cached_property
    def whole(self) -> Floats:
        """What `fill` writes, with the guards."""
        return np.full(self.count * self.dtype.itemsize, 0xFF, np.uint8).view(self.dtype)

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        place = self.address + GUARD * self.dtype.itemsize
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (place, False), "strides": None, "version": 2}

    def fill(self, rows: np.ndarray) -> Guarded:
        self.whole[GUARD:-GUARD] = rows.reshape(-1)
        with self.gpu.current():
            self.gpu.driver("cuMemcpyHtoD", self.address, self.whole.ctypes.data, self.whole.nbytes)
        return self

    def numbers(self) -> Floats:
        """What is there; AssertionError where a number was not written, or one beside the array was."""
        answers: Floats = np.zeros(self.count, self.dtype)
        with self.gpu.current():
            self.gpu.driver("cuMemcpyDtoHAsync", answers.ctypes.data, self.address, answers.nbytes, 0)
            self.gpu.driver("cuStreamSynchronize", 0)
        untouched = answers.view(f"u{self.dtype.itemsize}") == np.iinfo(f"u{self.dtype.itemsize}").max
        beside = 2 * GUARD - int(untouched[:GUARD].sum()) - int(untouched[-GUARD:].sum())
        assert not beside, f"{beside} numbers beside the array were written"
        inside = answers[GUARD:-GUARD]
        missing = int(untouched[GUARD:-GUARD].sum())
        assert not missing, f"{missing} of {inside.size} numbers were not written"
        wrong = int(np.isnan(inside).sum())
        assert not wrong, f"{wrong} of {inside.size} numbers are NaN"
        return inside.reshape(self.shape)

    def free(self) -> None:
        with self.gpu.current():
            self.gpu.driver("cuMemFree", self.address)


def called(
    dyn: GpuDynamics,
    gpu: Gpu,
    function: str | Function,
    inputs: Sequence[np.ndarray],
    shapes: Sequence[tuple[int, ...]],
) -> list[Floats]:
    """The answers of a call with guarded arrays. shapes: of the answers."""
    dtype = str(dyn.dtype)
    arrays = [Guarded(gpu, x.shape, dtype).fill(x) for x in inputs]
    outs = [Guarded(gpu, shape, dtype) for shape in shapes]
    try:
        dyn.call(function, arrays, outs[0] if len(outs) == 1 else tuple(outs))  # type: ignore[arg-type]
        return [out.numbers() for out in outs]
    finally:
        for array in (*arrays, *outs):
            array.free()


def hold_rows(answers: Floats) -> None:
    """Rows of the same state have the same bits; AssertionError with the first that has not."""
    rows = answers.reshape(len(answers), -1).view(f"u{answers.itemsize}")
    first, count = rows[:PERIOD], len(rows) // PERIOD
    if count == 0:
        return
    whole = (rows[: count * PERIOD].reshape(count, *first.shape) == first).all(axis=-1).reshape(-1)
    same = [*whole, *(rows[count * PERIOD :] == first[: len(rows) % PERIOD]).all(axis=-1)]
    place = same.index(False) if not all(same) else -1
    assert place < 0, f"row {place} has other bits than row {place % PERIOD}, which is of the same state"


class Reference:
    """States of a robot, and answers of target "cpu" in float64 at these, which serve both number types.

    The inputs have the digits of float32. frames, contacts: what the functions are compiled for.
    """

    def __init__(
        self,
        robot: condyle.Robot,
        n: int = PERIOD,
        functions: Sequence[Function] = (),
        frames: Sequence[str] = (),
        contacts: Sequence[condyle.Contact] = (),
    ) -> None:
        drawn = draw(robot, n, "float32", functions, frames=len(frames), contacts=contacts)
        exact = {name: array.astype(np.float64) for name, array in drawn.quantities.items()}
        self.exact = independent(robot, contacts, States(exact, drawn.sizes, "float64"))
        self._robot, self._bound = robot, {"frames": tuple(frames), "contacts": tuple(contacts)}
        self._answers: dict[str, tuple[Floats, ...]] = {}

    def inputs(self, function: Function, dtype: str, n: int) -> list[Floats]:
        """Of n states: the same ones again and again."""
        return [np.resize(x.astype(dtype), (n, *x.shape[1:])) for x in self.exact.arguments(function)]

    def shapes(self, function: Function, n: int) -> list[tuple[int, ...]]:
        """Of the answers for n states."""
        return [(n, *port.shape(self.exact.sizes)) for port in function.outputs]

    def in_place(self, dyn: GpuDynamics, gpu: Gpu, function: Function, n: int) -> list[Floats]:
        """The answers of a call for n states, with guarded arrays."""
        return called(dyn, gpu, function, self.inputs(function, str(dyn.dtype), n), self.shapes(function, n))

    def answers(self, function: Function) -> tuple[Floats, ...]:
        if function.name not in self._answers:
            self._answers[function.name] = self._dynamics.call(function, self.exact.arguments(function))
        return self._answers[function.name]

    @cached_property
    def _dynamics(self) -> condyle.Dynamics:
        return self._robot.compile(target="cpu", threads=1, **self._bound)  # type: ignore[arg-type]

    @cached_property
    def condition(self) -> float:
        """The largest condition number of M."""
        return float(np.linalg.cond(self._dynamics.mass_matrix(self.exact.quantities["q"])).max())

    def limits(self, function: Function, answers: Sequence[Floats]) -> tuple[float, float]:
        """The error of the first rows of the answers, as many as were computed, and what is allowed."""
        n = len(answers[0])
        error = float(np.max(worst_of(function, answers, [x[:n] for x in self.answers(function)])))  # type: ignore[arg-type]
        return error, allowed(function, str(answers[0].dtype), self.condition)

    def hold(self, function: Function, answers: Sequence[Floats]) -> None:
        """AssertionError where the answers are not accurate."""
        error, limit = self.limits(function, answers)
        assert error <= limit, f"{function}: error {error:.1e}, allowed {limit:.1e}"

    def save(self, path: Path, functions: Sequence[Function]) -> None:
        """The answers and the condition number of M."""
        rows = {f"{function.name} {k}": x for function in functions for k, x in enumerate(self.answers(function))}
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path, condition=self.condition, by=self._origin(), **rows)  # type: ignore[arg-type]

    def load(self, path: Path) -> None:
        """What was saved, if it is of the same inputs and by the same code."""
        if not path.exists():
            return
        with np.load(path) as kept:
            if str(kept["by"]) != self._origin():
                return
            self._answers.clear()
            self.condition = float(kept["condition"])
            for name in sorted(kept.files):
                function, _, number = name.rpartition(" ")
                if number.isdigit():
                    self._answers[function] = (*self._answers.get(function, ()), kept[name])

    def _origin(self) -> str:
        return f"{self.hash_of_inputs()} {results.code_hash()}"

    def hash_of_inputs(self) -> str:
        """sha256 of all inputs, 16 digits."""
        whole = hashlib.sha256()
        for name, array in sorted(self.exact.quantities.items()):
            whole.update(name.encode() + np.ascontiguousarray(array).tobytes())
        return whole.hexdigest()[:16]


def hash_of(arrays: Sequence[Floats]) -> str:
    """sha256 of the bits of arrays, one after the other, 16 digits."""
    return hashlib.sha256(b"".join(np.ascontiguousarray(x).tobytes() for x in arrays)).hexdigest()[:16]
