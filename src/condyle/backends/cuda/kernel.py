"""A function on one GPU: from the processor's memory and back in chunks, or where its arrays lie."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from condyle.backends.cuda.assemble import assemble
from condyle.backends.cuda.link import KNOWN, link_version
from condyle.backends.cuda.parts import Part, Parts, Text
from condyle.backends.cuda.target import TARGET, WARP, Target
from condyle.errors import BuildError, DeviceError, UnsupportedError
from condyle.ir.program import Array
from condyle.runtime.cuda.driver import Gpu
from condyle.runtime.cuda.stage import Slot, staged_bytes

Rows = NDArray[np.floating]
STAGE_BYTES = 32 << 20
MOST = 1 << 31


@dataclass(frozen=True, slots=True)
class Loaded:
    """One launch: the kernel on the GPU, the text it was made from, warps of a block at most."""

    function: object
    text: Text
    warps: int
    part: Part

    def shape(self, n: int, multiprocessors: int) -> tuple[int, int]:
        """Blocks and threads of a block for n states: small blocks for few states, so that all of the GPU works."""
        warps = self.warps
        while warps > 1 and n < multiprocessors * warps * self.text.states:
            warps //= 2
        return -(-n // (warps * self.text.states)), warps * WARP


class CudaKernel:
    """Calls a function on one GPU; safe from many threads, which take turns."""

    def __init__(self, parts: Parts, gpu: Gpu, dtype: np.dtype[np.floating], target: Target = TARGET) -> None:
        self.parts, self.gpu, self.dtype = parts, gpu, dtype
        with gpu.current():
            self._launches = tuple(_loaded(part, gpu, target) for part in parts.launches)
        self._slots: list[Slot] = []
        self._lock = threading.Lock()
        kernels = "one kernel" if len(self._launches) == 1 else f"{len(self._launches)} kernels"
        self.description = f"CUDA, {gpu.arch}, {kernels}"

    def __call__(self, n: int, inputs: Sequence[Rows], outputs: Sequence[Rows], threads: int) -> None:
        """Rows in the processor's memory, staged through pinned memory: one chunk is copied while another computes."""
        chunk = self._chunk(n)
        with self._lock, self.gpu.current():
            try:
                for number, start in enumerate(range(0, n, chunk)):
                    slot = self._slot(number % 2, chunk)
                    slot.finish()
                    rows = slice(start, min(n, start + chunk))
                    self._run_chunk(slot, rows, inputs, outputs)
                for slot in reversed(self._slots) if -(-n // chunk) % 2 == 0 else self._slots:
                    slot.finish()
            finally:
                for slot in self._slots:
                    slot.give_up()

    def _run_chunk(self, slot: Slot, rows: slice, inputs: Sequence[Rows], outputs: Sequence[Rows]) -> None:
        n = rows.stop - rows.start
        given = slot.send([array if len(array) == 1 else array[rows] for array in inputs])
        taken = slot.places([output[rows].nbytes for output in outputs], "out")
        scratch = slot.places([n * self._bytes(array) for array in self.parts.scratch], "scratch")
        addresses, strides = self._named(given, [len(array) == 1 for array in inputs], taken, scratch)
        self._enqueue(n, addresses, strides, slot.stream)
        slot.receive(rows, outputs)

    def on_device(
        self, n: int, inputs: Sequence[int], shared: Sequence[bool], outputs: Sequence[int], stream: int
    ) -> None:
        """Puts the launches in a stream; addresses of dense arrays there. shared: one row serves every state."""
        if n > MOST:
            raise UnsupportedError(f"{n} states at once: pass at most {MOST}")
        driver = self.gpu.driver
        scratch = [driver.number("cuMemAllocAsync", n * self._bytes(array), stream) for array in self.parts.scratch]
        try:
            self._enqueue(n, *self._named(inputs, shared, outputs, scratch), stream)
        finally:
            for address in scratch:
                driver("cuMemFreeAsync", address, stream)

    def _named(
        self, inputs: Sequence[int], shared: Sequence[bool], outputs: Sequence[int], scratch: Sequence[int]
    ) -> tuple[dict[str, int], dict[str, int]]:
        """Addresses and row strides in bytes by the names of arrays."""
        arrays = (*self.parts.inputs, *self.parts.outputs, *self.parts.scratch)
        addresses = dict(zip((array.name for array in arrays), (*inputs, *outputs, *scratch), strict=True))
        strides = {array.name: self._bytes(array) for array in arrays}
        for array, one in zip(self.parts.inputs, shared, strict=True):
            if one:
                strides[array.name] = 0
        return addresses, strides

    def _enqueue(self, n: int, addresses: Mapping[str, int], strides: Mapping[str, int], stream: int) -> None:
        for one in self._launches:
            values = [n, 0]
            for array in one.part.reads:
                values += [addresses[array.name], strides[array.name]]
            values += [addresses[array.name] for array in one.part.writes]
            grid, block = one.shape(n, self.gpu.multiprocessors)
            self.gpu.launch(one.function, grid, block, one.text.pool * block // WARP, stream, values)

    def _bytes(self, array: Array) -> int:
        return array.size * self.dtype.itemsize

    def _chunk(self, n: int) -> int:
        arrays = (*self.parts.inputs, *self.parts.outputs, *self.parts.scratch)
        return max(1, min(n, STAGE_BYTES // max(1, sum(map(self._bytes, arrays)))))

    def _slot(self, number: int, chunk: int) -> Slot:
        if number == len(self._slots):
            self._slots.append(Slot.of(self.gpu))
        slot = self._slots[number]
        if slot.pending is None:
            sizes = [
                staged_bytes([chunk * self._bytes(array) for array in arrays])
                for arrays in (self.parts.inputs, self.parts.outputs, self.parts.scratch)
            ]
            slot.reserve(*sizes)
        return slot


def _loaded(part: Part, gpu: Gpu, target: Target) -> Loaded:
    text, image = image_of(part, gpu)
    room = gpu.shared_bytes // max(1, text.pool)
    if room < 1:
        raise DeviceError(f"{text.name} needs {text.pool} bytes of shared memory, {gpu.arch} has {gpu.shared_bytes}")
    warps = target.most_threads // WARP
    while warps > room:
        warps //= 2
    return Loaded(gpu.function(image, text.name, warps * text.pool), text, warps, part)


def image_of(part: Part, gpu: Gpu) -> tuple[Text, bytes]:
    """Machine code by nvJitLink and our cache; the text itself where only the driver can serve this GPU."""
    try:
        served = gpu.arch in KNOWN and link_version()[0] <= gpu.toolkit
    except BuildError:
        served = False
    if served:
        code = assemble(part, gpu.arch)
        return code.text, code.cubin
    return part.texts[-1], part.texts[-1].ptx.encode("ascii") + b"\0"
