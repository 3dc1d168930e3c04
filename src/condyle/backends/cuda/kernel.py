"""A function on one GPU: with arrays in host memory, copied in transfers, or with arrays in device memory."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from itertools import cycle
from pathlib import Path
from types import ModuleType
from typing import NamedTuple, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from condyle.backends.cuda.launches import Part, Parts, Text
from condyle.backends.cuda.target import TARGET, WARP, Form, Target
from condyle.errors import BuildError, DeviceError
from condyle.ir.loops import TimeLoop
from condyle.ir.program import Array
from condyle.runtime import cache
from condyle.runtime._native import launch
from condyle.runtime.cuda.driver import Function, Gpu, Pinned
from condyle.runtime.cuda.stage import HOST, Slot, free_released, scratch
from condyle.runtime.forks import Guard

# PTX -> machine code by nvJitLink, which needs neither a GPU nor a driver, and through the cache; its register usage.
#
# Of several texts of a kernel the one with the fewest spilled bytes is taken.


ARCHITECTURES = tuple(f"sm_{number}" for number in (80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121))
"""Architectures that nvJitLink 13 and our PTX support. For any other, nvJitLink ends the process."""

MISSING = (
    "target 'cuda' needs the packages cuda-bindings and nvidia-nvjitlink, and this installation lacks {what}: "
    "pip install 'condyle[cuda]'"
)


@dataclass(frozen=True, slots=True)
class Usage:
    """Of a thread of one kernel: registers of 32 bits, bytes of stack, bytes that the assembler spilled."""

    registers: int
    stack: int
    spill_stores: int
    spill_loads: int

    @property
    def moved(self) -> int:
        """A lower bound of the bytes moved to and from local memory."""
        return self.stack + self.spill_stores + self.spill_loads


def nvjitlink() -> ModuleType:
    """The bindings; BuildError with the packages to install if they are missing."""
    try:
        module = import_module("cuda.bindings.nvjitlink")
        module.version()
    except ImportError as error:
        raise BuildError(MISSING.format(what="cuda-bindings")) from error
    except Exception as error:  # the loader of the bindings has error classes of its own
        raise BuildError(MISSING.format(what="nvidia-nvjitlink")) from error
    return module


def link_version() -> tuple[int, int]:
    """The CUDA version of nvJitLink."""
    major, minor = nvjitlink().version()
    return int(major), int(minor)


def link(ptx: str, arch: str) -> tuple[bytes, Usage]:
    """Machine code for one architecture (such as "sm_90"), and the usage of its only kernel. BuildError with the
    log."""
    module = nvjitlink()
    if arch not in ARCHITECTURES:
        raise BuildError(f"nvJitLink makes no code for {arch}; it does for {', '.join(ARCHITECTURES)}")
    handle = module.create(2, [f"-arch={arch}", "-verbose"])
    try:
        try:
            data = ptx.encode("ascii")
            module.add_data(handle, module.InputType.PTX, data, len(data), "condyle.ptx")
            module.complete(handle)
        except module.nvJitLinkError as error:
            raise BuildError(f"nvJitLink makes no code for {arch}: {error}\n{_error_log(module, handle)}") from error
        cubin = bytearray(module.get_linked_cubin_size(handle))
        module.get_linked_cubin(handle, cubin)
        log = bytearray(module.get_info_log_size(handle))
        module.get_info_log(handle, log)
    finally:
        module.destroy(handle)
    return bytes(cubin), usage(log.decode(errors="replace"))


def _error_log(module: ModuleType, handle: int) -> str:
    log = bytearray(module.get_error_log_size(handle))
    if log:
        module.get_error_log(handle, log)
    return log.decode(errors="replace").rstrip("\0\n")


def usage(log: str) -> Usage:
    """The usage in the assembler's verbose log."""
    registers = re.search(r"Used (\d+) registers", log)
    memory = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", log)
    if registers is None or memory is None:
        raise BuildError(f"the assembler's log says nothing of registers: {log!r}")
    return Usage(int(registers[1]), *(int(number) for number in memory.groups()))


@dataclass(frozen=True, slots=True)
class Code:
    """Machine code of one kernel, its PTX, and its usage."""

    text: Text
    cubin: bytes
    usage: Usage


def assemble(part: Part, arch: str) -> Code:
    """The first text for which the assembler spills nothing, else the one that moves the fewest bytes."""
    made: list[Code] = []
    for text in part.texts:
        code = _fetched(text, arch)
        if code.usage.spill_stores == 0:
            return code
        made.append(code)
    return min(made, key=lambda code: code.usage.moved)


def _fetched(text: Text, arch: str) -> Code:
    """Machine code of a text, from the cache if it is there."""
    parts: Sequence[str] = ["cuda", arch, str(link_version()), text.ptx]

    def make(path: Path) -> None:
        cubin, usage = link(text.ptx, arch)
        path.write_bytes(json.dumps(asdict(usage)).encode("ascii") + b"\n" + cubin)

    head, _, cubin = cache.fetch(parts, f"{text.name} {arch}", make).partition(b"\n")
    return Code(text, cubin, Usage(**json.loads(head)))


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
            self.launches = tuple(loaded(part, gpu, target) for part in parts.launches)
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
        free_released(self.gpu)
        launches = self.launches_of(n, [len(array) == 1 for array in inputs])
        launches.put([*given, *taken], slot.memory.get("scratch", 0), slot.stream)
        slot.receive([output[rows] for output in outputs], pinned[k:])

    def launches_of(self, n: int, shared: Sequence[bool]) -> Launches:
        """The launches for n states. shared: whether an input is one row for all states."""
        strides = [0 if one else self._bytes(array) for one, array in zip(shared, self.parts.inputs, strict=True)]
        return Launches(self, n, strides)

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


def loaded(part: Part, gpu: Gpu, target: Target = TARGET) -> Loaded:
    """A launch on this GPU, whose context is current."""
    text, image = image_of(part, gpu)
    room = gpu.shared_bytes // max(1, text.pool)
    if room < 1:
        raise DeviceError(f"{text.name} needs {text.pool} bytes of shared memory, {gpu.arch} has {gpu.shared_bytes}")
    most_warps = target.most_threads // WARP
    sizes = (most_warps >> k for k in range(most_warps.bit_length()))
    warps = max(sizes, key=lambda size: min(room // size * size, 2 * most_warps))  # more do not have 255 registers each
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


# The launches of a call whose addresses are known later; XLA puts them in without Python.


class At(NamedTuple):
    """A parameter: the address of buffer `port` plus `value` bytes; port -1: the number `value`."""

    port: int
    value: int


class Planned(NamedTuple):
    """One launch. Buffers are numbered: inputs, outputs, then one for all scratch."""

    function: int
    grid: int
    block: int
    shared_bytes: int
    values: tuple[At, ...]


def scratch_bytes(kernel: CudaKernel, n: int) -> int:
    """Bytes of scratch of a call with n states."""
    return kernel.sizes.piece(n) * kernel.sizes.scratch if n else 0


def planned(kernel: CudaKernel, n: int, strides: Sequence[int]) -> list[Planned]:
    """The launches of a call with n states, in order.

    strides: bytes between the rows of each input; 0: one row for all states.
    """
    parts, item = kernel.parts, kernel.dtype.itemsize
    piece, outputs = kernel.sizes.piece(n), len(parts.inputs)
    moving = [*strides, *(array.size * item for array in parts.outputs)]
    pitch = {array.name: array.size * item for array in (*parts.outputs, *parts.scratch)}
    pitch |= {array.name: stride for array, stride in zip(parts.inputs, strides, strict=True)}
    kept, offset = dict[str, At](), 0
    for array in parts.scratch:
        kept[array.name] = At(outputs + len(parts.outputs), offset)
        offset += piece * array.size * item
    made: list[Planned] = []
    for start in range(0, n, piece):
        some = min(piece, n - start)
        arrays = (*parts.inputs, *parts.outputs)
        places = kept | {array.name: At(k, start * moving[k]) for k, array in enumerate(arrays)}
        made += (_planned_launch(kernel, number, some, places, pitch) for number in range(len(kernel.launches)))
    return made


def _planned_launch(kernel: CudaKernel, number: int, n: int, places: dict[str, At], pitch: dict[str, int]) -> Planned:
    launch = kernel.launches[number]
    grid, block = launch.shape(n, kernel.gpu.multiprocessors)
    values = launch.values(n, places, pitch)
    shared = launch.text.shared_bytes(block)
    numbers = tuple(value if isinstance(value, At) else At(-1, value) for value in values)
    return Planned(int(cast(int, launch.function.handle)), grid, block, shared, numbers)


class Launches:
    """The launches for n states, in order, that lack nothing but addresses. strides: see `planned`."""

    def __init__(self, kernel: CudaKernel, n: int, strides: Sequence[int]) -> None:
        self._gpu, self._scratch = kernel.gpu, scratch_bytes(kernel, n)
        self._planned = planned(kernel, n, strides)
        functions = [part.function for part in kernel.launches]
        for (_, *asked, _), function in zip(self._planned, cycle(functions)):
            kernel.gpu.check_launch(function, *asked)

    def __call__(self, addresses: Sequence[int], stream: int) -> None:
        """Puts them in a stream, with scratch of its own. addresses: of inputs and outputs, dense arrays."""
        if self._gpu.released:
            free_released(self._gpu)
        if not self._scratch:
            self.put(addresses, 0, stream)
            return
        with scratch(self._gpu, self._scratch, stream) as address:
            self.put(addresses, address, stream)

    def put(self, addresses: Sequence[int], scratch: int, stream: int) -> None:
        """The same with scratch that lies at an address."""
        buffers, driver = [*addresses, scratch], self._gpu.driver
        for function, grid, block, shared_bytes, values in self._planned:
            launch(driver, function, grid, block, shared_bytes, stream, values, buffers)


MOST_PLANS = 256


@dataclass(slots=True)
class Plan:
    """What calls with arrays of the same layouts share. shapes: of outputs. launches: None where nothing is computed.

    names, sizes: of the arrays that are given, inputs then outputs; sizes in bytes. apart: addresses of these arrays
    where outputs were seen not to overlap.
    """

    shapes: Sequence[tuple[int, ...]]
    names: Sequence[str]
    sizes: Sequence[int]
    launches: Launches | None
    apart: Sequence[int] = ()


# A function on one GPU, in the form that is chosen for each batch size.


class Source(Protocol):
    """The forms of one function on one GPU: the form for a batch of n states, and the launches of a form."""

    def form(self, n: int) -> Form: ...

    def launches(self, form: Form) -> Parts: ...

    def over_rows(self) -> Part: ...

    def repeated(self, loop: TimeLoop) -> Source | None: ...


class CudaFunction:
    """A Kernel that calls the kernel of the form chosen for each batch; each is made at its first use."""

    def __init__(self, source: Source, gpu: Gpu, dtype: np.dtype[np.floating]) -> None:
        self.gpu, self.dtype = gpu, dtype
        self._source = source
        self._forms: dict[int, Form] = {}
        self._kernels: dict[Form, CudaKernel] = {}
        self._rows: Loaded | None = None
        self.plans: dict[object, Plan] = {}
        self._guard = Guard()
        self.description = f"CUDA, {gpu.arch}"

    def keep(self, key: object, plan: Plan) -> Plan:
        """Keeps a plan in `plans` for the next call with arrays of these layouts."""
        if len(self.plans) >= MOST_PLANS:
            self.plans.clear()
        self.plans[key] = plan
        return plan

    def kernel(self, n: int) -> CudaKernel:
        """The kernel for n states, in the form that was chosen for the first batch with the same next power of two."""
        size = (n - 1).bit_length()
        with self._guard.lock:
            if size not in self._forms:
                self._forms[size] = self._source.form(n)
            form = self._forms[size]
            if form not in self._kernels:
                self._kernels[form] = CudaKernel(self._source.launches(form), self.gpu, self.dtype)
            return self._kernels[form]

    def over_rows(self) -> Loaded:
        """The kernel for rows of many problems; UnsupportedError where there is none."""
        with self._guard.lock, self.gpu.current():
            if self._rows is None:
                self._rows = loaded(self._source.over_rows(), self.gpu)
            return self._rows

    def repeated(self, loop: TimeLoop) -> CudaFunction | None:
        """A loop around it in one kernel; None if there is no such form."""
        source = self._source.repeated(loop)
        return None if source is None else CudaFunction(source, self.gpu, self.dtype)

    def __call__(self, n: int, inputs: Sequence[Rows], outputs: Sequence[Rows], threads: int) -> None:
        self.kernel(n)(n, inputs, outputs, threads)
