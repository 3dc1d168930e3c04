"""A function on one GPU: with arrays in host memory, copied in transfers, or with arrays in device memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from condyle.backends.cuda.link import ARCHITECTURES, assemble, link_version
from condyle.backends.cuda.parts import Part, Parts, Text
from condyle.backends.cuda.target import TARGET, WARP, Target
from condyle.errors import BuildError, DeviceError
from condyle.ir.program import Array
from condyle.runtime.cuda.driver import Function, Gpu
from condyle.runtime.cuda.pinned import Pinned
from condyle.runtime.cuda.pool import free_released, scratch
from condyle.runtime.cuda.stage import HOST, Slot
from condyle.runtime.forks import Guard

Rows = NDArray[np.floating]
Place = TypeVar("Place")
"""An address of an array, or a placeholder for one that is not known yet."""
LEAST_TRANSFER, MOST_TRANSFER = 2 << 20, 32 << 20
"""Bytes of one transfer of rows: large enough to hide the time of its start; two of them are on the GPU at a time."""
TRANSFERS = 4
SCRATCH_BYTES = 256 << 20
"""Most scratch at a time: enough states to fill the largest GPU."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """One launch: the kernel on the GPU, its text, the most warps of a block, its part, the address of constants."""

    function: Function
    text: Text
    warps: int
    part: Part
    constants: tuple[int, ...]

    def shape(self, n: int, multiprocessors: int) -> tuple[int, int]:
        """Numbers of blocks and of threads of a block for n states; blocks are small for few states, to use all
        multiprocessors."""
        if self.text.block:
            return self.text.blocks(n, self.text.block), self.text.block
        warps = self.warps
        while warps > 1 and n < multiprocessors * warps * self.text.states:
            warps //= 2
        return self.text.blocks(n, warps * WARP), warps * WARP

    def values(self, n: int, places: Mapping[str, Place], strides: Mapping[str, int]) -> list[Place | int]:
        """Its parameters for n states. places: addresses of arrays. strides: bytes between states of inputs."""
        values: list[Place | int] = [n, 0]
        for array in self.part.reads:
            values += [places[array.name], strides[array.name]]
        values += [places[array.name] for array in self.part.writes]
        return [*values, *self.constants, *self.part.numbers]


@dataclass(frozen=True, slots=True)
class Sizes:
    """Bytes of one state. most: states of one launch."""

    inputs: int
    outputs: int
    scratch: int
    most: int

    @staticmethod
    def from_parts(parts: Parts) -> Sizes:
        arrays = parts.inputs, parts.outputs, parts.scratch
        inputs, outputs, scratch = (sum(array.size for array in one) * parts.bits // 8 for one in arrays)
        return Sizes(inputs, outputs, scratch, parts.most)

    @property
    def all(self) -> int:
        return self.inputs + self.outputs + self.scratch

    def transfer(self, n: int) -> int:
        """States of one transfer of n: TRANSFERS transfers, within the bounds of their size."""
        least, most = (max(1, size // self.all) for size in (LEAST_TRANSFER, MOST_TRANSFER))
        return max(1, min(n, most, self.most, max(-(-n // TRANSFERS), least)))

    def staged(self, n: int) -> int:
        """Bytes on the GPU for a call with n states in host memory."""
        transfer = self.transfer(n) if n else 0
        return self.all * (transfer if transfer == n else 2 * transfer)

    def resident(self, n: int) -> int:
        """Bytes on the GPU for n states in device memory."""
        return n * (self.inputs + self.outputs) + (self.piece(n) * self.scratch if n else 0)

    def piece(self, n: int) -> int:
        """States of n that are launched together with arrays in device memory: as many as one launch and the scratch
        allow."""
        return max(1, min(n, self.most, SCRATCH_BYTES // self.scratch if self.scratch else n))


class CudaKernel:
    """Calls a function on one GPU; may be called from several threads, and runs one call at a time."""

    def __init__(self, parts: Parts, gpu: Gpu, dtype: np.dtype[np.floating], target: Target = TARGET) -> None:
        self.parts, self.gpu, self.dtype, self.sizes = parts, gpu, dtype, Sizes.from_parts(parts)
        with gpu.current():
            self.launches = tuple(_loaded(part, gpu, target) for part in parts.launches)
        self._slots: list[Slot] = []
        self._pinned = Pinned(gpu)
        self._guard = Guard()
        kernels = "one kernel" if len(self.launches) == 1 else f"{len(self.launches)} kernels"
        self.description = f"CUDA, {gpu.arch}, {kernels}"

    def __call__(self, n: int, inputs: Sequence[Rows], outputs: Sequence[Rows], threads: int) -> None:
        """A call with rows in host memory, in transfers: one is copied while another computes."""
        transfer = self.sizes.transfer(n)
        with self._guard.lock, self.gpu.current():
            pinned = [self._pinned.has(array) for array in (*inputs, *outputs)]
            try:
                for number, start in enumerate(range(0, n, transfer)):
                    slot = self._slot(number % 2, transfer, pinned)
                    self._run_transfer(slot, slice(start, min(n, start + transfer)), inputs, outputs, pinned)
                for number in range(max(0, -(-n // transfer) - 2), -(-n // transfer)):
                    self._slots[number % 2].finish()
            finally:
                for slot in self._slots:
                    slot.give_up()

    def _run_transfer(
        self, slot: Slot, rows: slice, inputs: Sequence[Rows], outputs: Sequence[Rows], pinned: Sequence[bool]
    ) -> None:
        n, k = rows.stop - rows.start, len(inputs)
        given = slot.send([array if len(array) == 1 else array[rows] for array in inputs], pinned[:k])
        taken = slot.places([n * self._bytes(array) for array in self.parts.outputs], "out")
        scratch = slot.places([n * self._bytes(array) for array in self.parts.scratch], "scratch")
        self._enqueue(n, [*given, *taken, *scratch], [len(array) == 1 for array in inputs], slot.stream)
        slot.receive([output[rows] for output in outputs], pinned[k:])

    def on_device(
        self, n: int, inputs: Sequence[int], shared: Sequence[bool], outputs: Sequence[int], stream: int
    ) -> None:
        """Puts the launches in a stream, given addresses of dense arrays. shared: whether an input is one row for all
        states."""
        piece = self.sizes.piece(n)
        with scratch(self.gpu, piece * self.sizes.scratch, stream) as address:
            addresses: list[int] = []
            for array in self.parts.scratch:
                addresses.append(address)
                address += piece * self._bytes(array)
            moving = [0 if one else self._bytes(array) for one, array in zip(shared, self.parts.inputs, strict=True)]
            moving += map(self._bytes, self.parts.outputs)
            for start in range(0, n, piece):
                at = [base + start * size for base, size in zip((*inputs, *outputs), moving, strict=True)]
                self._enqueue(min(piece, n - start), [*at, *addresses], shared, stream)

    def _enqueue(self, n: int, addresses: Sequence[int], shared: Sequence[bool], stream: int) -> None:
        """Launches all kernels. addresses: those of inputs, outputs and scratch."""
        free_released(self.gpu)
        arrays = (*self.parts.inputs, *self.parts.outputs, *self.parts.scratch)
        known = dict(zip((array.name for array in arrays), addresses, strict=True))
        strides = {array.name: self._bytes(array) for array in arrays}
        strides |= {array.name: 0 for array, one in zip(self.parts.inputs, shared, strict=True) if one}
        for one in self.launches:
            grid, block = one.shape(n, self.gpu.multiprocessors)
            values = one.values(n, known, strides)
            self.gpu.launch(one.function, grid, block, one.text.shared_bytes(block), stream, values)

    def _bytes(self, array: Array) -> int:
        return array.size * self.dtype.itemsize

    def _slot(self, number: int, transfer: int, pinned: Sequence[bool]) -> Slot:
        """The slot, with memory for a transfer; its pinned memory is not in use."""
        if number == len(self._slots):
            self._slots.append(Slot.create(self.gpu))
        slot = self._slots[number]
        k = len(self.parts.inputs)
        for name, size, direct in (
            ("in", self.sizes.inputs, all(pinned[:k])),
            ("out", self.sizes.outputs, all(pinned[k:])),
        ):
            slot.reserve(name, transfer * size)
            if not direct:
                slot.reserve(HOST + name, transfer * size)
        slot.reserve("scratch", transfer * self.sizes.scratch)
        if not all(pinned):
            slot.finish()
        return slot


def _loaded(part: Part, gpu: Gpu, target: Target) -> Loaded:
    text, image = image_of(part, gpu)
    room = gpu.shared_bytes // max(1, text.pool)
    if room < 1:
        raise DeviceError(f"{text.name} needs {text.pool} bytes of shared memory, {gpu.arch} has {gpu.shared_bytes}")
    warps = target.most_threads // WARP
    while warps > room:
        warps //= 2
    most = text.block or warps * WARP
    function = gpu.function(image, text.name, text.shared_bytes(most))
    while warps * WARP > function.most_threads:
        warps //= 2
    if warps < 1 or text.block > function.most_threads:
        least = f"a block of {text.block} threads" if text.block else "one warp"
        raise DeviceError(f"{text.name} does not fit on this GPU ({gpu.arch}), not even {least}: please report it")
    return Loaded(function, text, warps, part, _stored(part, gpu))


def _stored(part: Part, gpu: Gpu) -> tuple[int, ...]:
    """The address of the part's constants on the GPU; like its code they stay until the process ends."""
    if not part.constants:
        return ()
    address = gpu.driver.number("cuMemAlloc", len(part.constants))
    gpu.driver("cuMemcpyHtoD", address, np.frombuffer(part.constants, np.uint8).ctypes.data, len(part.constants))
    return (address,)


def image_of(part: Part, gpu: Gpu) -> tuple[Text, bytes]:
    """Machine code by nvJitLink and the cache; the PTX itself where only the driver can assemble for this GPU."""
    try:
        served = gpu.arch in ARCHITECTURES and link_version()[0] <= gpu.toolkit
    except BuildError:
        served = False
    if served:
        code = assemble(part, gpu.arch)
        return code.text, code.cubin
    return part.texts[-1], part.texts[-1].ptx.encode("ascii") + b"\0"
