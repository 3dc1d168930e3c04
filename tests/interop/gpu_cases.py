"""JAX on a GPU that every machine has: XLA runs on the processor, and calls the handler of GPUs on arrays there."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from condyle.runtime._native import xla_gpu_handler
from tests.backends.cuda.fake_driver import CONTEXT, FakeDriver
from tests.gpu.conftest import fake
from tests.interop.jax_cases import jax

__all__ = ["FakeXla", "Launch", "fake", "library", "xla"]

STREAM = 0x57
TARGET = "condyle_call_of_a_fake_gpu"
LAUNCHED = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 3, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)
)
MOVED = ctypes.CFUNCTYPE(
    None, ctypes.c_int, ctypes.c_void_p, ctypes.c_int64, *[ctypes.POINTER(ctypes.c_int64)] * 2
)  # addresses as numbers
TYPES = {np.dtype("u1"): 6, np.dtype("f4"): 11, np.dtype("f8"): 12}


class Launch(NamedTuple):
    """As the driver saw it."""

    function: int
    grid: int
    block: int
    shared: int
    stream: int
    values: tuple[int, ...]


def _pointer(capsule: object) -> int:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return int(get(capsule, b"xla._CUSTOM_CALL_TARGET"))


class FakeXla:
    """launches: of the kernels, in order. status: what the driver answers to the next one."""

    def __init__(self, library: ctypes.CDLL, driver: FakeDriver, path: str) -> None:
        self.library, self.driver, self.path = library, driver, path
        self.launches: list[Launch] = []
        self.status, self.context = 0, CONTEXT
        self._held = LAUNCHED(self._launch), MOVED(self._move)
        self.set_up()

    def set_up(self) -> None:
        handler = ctypes.c_void_p(_pointer(xla_gpu_handler()))
        self.library.set_up(*self._held, handler, ctypes.c_void_p(STREAM), ctypes.c_void_p(self.context))

    def _launch(self, function: int, grid: int, block: int, shared: int, stream: int, at: Any) -> int:
        if self.status:
            return self.status
        kinds = [ctypes.c_uint32] * 2 + [ctypes.c_uint64] * (len(self.driver.kernels[function].parameters) - 2)
        values = [kind.from_address(at[k]).value for k, kind in enumerate(kinds)]
        self.launches.append(Launch(function, grid, block, shared, stream, tuple(values)))
        self.driver.depth += 1
        try:
            places = ctypes.cast(at, ctypes.c_void_p).value
            answer = self.driver.cuLaunchKernel(function, grid, 1, 1, block, 1, 1, shared, stream, places, 0)
        finally:
            self.driver.depth -= 1
        return int(answer[0])

    def _move(self, entered: int, stream: int, count: int, data: Any, sizes: Any) -> None:
        """Arrays of the processor are the GPU's memory while the handler runs."""
        blocks = self.driver.memory.blocks
        if not entered:
            self.driver.reach(stream)
        for address, size in zip(data[:count], sizes[:count], strict=True):
            if entered and size:
                blocks[address] = np.frombuffer((ctypes.c_uint8 * size).from_address(address), np.uint8)
            elif size:
                blocks.pop(address, None)

    def call(self, number: int, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> str | None:
        """The handler with a frame of ours, on arrays of the processor; the message of its error."""
        arrays = (*inputs, *outputs)
        data = (ctypes.c_int64 * len(arrays))(*(x.ctypes.data for x in arrays))
        sizes = (ctypes.c_int64 * len(arrays))(*(x.nbytes for x in arrays))
        types = (ctypes.c_int * len(arrays))(*(TYPES[x.dtype] for x in arrays))
        counts = (ctypes.c_int64 * len(arrays))(*(x.size for x in arrays))
        self._move(1, STREAM, len(arrays), data, sizes)
        self.library.call.restype = ctypes.c_char_p
        said = self.library.call(ctypes.c_int64(number), len(inputs), len(outputs), data, types, counts)
        self._move(0, STREAM, len(arrays), data, sizes)
        return None if said is None else said.decode()


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("fake_gpu") / "libfake.so"
    source = Path(__file__).with_name("fake_gpu.c")
    command = ["cc", "-std=c11", "-shared", "-fPIC", f"-I{jax.ffi.include_dir()}", "-o", str(made), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return made


@pytest.fixture
def xla(fake: FakeDriver, library: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeXla]:
    """What functions of target "cuda" are lowered to on the processor is what they are on a GPU."""
    from condyle.interop.jax import gpu as jax_gpu
    from condyle.interop.jax import processor as jax_processor
    from condyle.interop.jax import rules as jax_rules

    made = FakeXla(ctypes.CDLL(str(library)), fake, str(library))
    jax.ffi.register_ffi_target(TARGET, jax.ffi.pycapsule(made.library.through), platform="cpu")
    monkeypatch.setattr(jax_gpu, "DRIVER", str(library))
    monkeypatch.setattr(jax_gpu, "TARGET", TARGET)
    jax_rules.lowered(jax_gpu.run, "cpu")
    yield made
    jax_rules.lowered(jax_processor.run, "cpu")
    assert made.library.depth_now() == 0
