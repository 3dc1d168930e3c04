"""What a part of the run works with: a GPU, a place for its rows, and the hashes of the kernels that it makes."""

from __future__ import annotations

import fcntl
import hashlib
import itertools
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from benchmarks import results
from benchmarks.gpu_code import text_hash
from condyle.backends.cuda import kernel
from condyle.backends.cuda.launches import Part, Text
from condyle.errors import DeviceError, UnsupportedError
from condyle.runtime.cuda import driver as drivers
from condyle.runtime.cuda.driver import Driver, Gpu
from tools.guard.worker.gpu import Driver as Recorder

Row = dict[str, Any]
QUERY = {
    "name": "card", "driver_version": "driver", "clocks.sm": "sm_clock", "clocks.max.sm": "most_sm_clock",
    "clocks.mem": "memory_clock", "power.limit": "power", "temperature.gpu": "celsius",
}  # fmt: skip


@dataclass
class Context:
    """rows: the file that rows are added to.

    for_arch: not None where there is no GPU, and the driver does nothing: kernels are written, and assembled for it.
    """

    part: str
    rows: Path
    for_arch: str | None = None

    @property
    def without_gpu(self) -> bool:
        return self.for_arch is not None

    @cached_property
    def gpu(self) -> Gpu:
        return drivers.gpu(0)

    @cached_property
    def about(self) -> Row:
        """What every row carries."""
        return {"part": self.part, **({} if self.without_gpu else card(self.gpu)), "commit": results.commit()}

    def say(self, row: Row) -> None:
        """Adds a row at once, in one piece, so that it stays whatever becomes of this process."""
        write(self.rows, {**self.about, **row})

    @contextmanager
    def alone(self) -> Generator[None, None, None]:
        """No other part that asks for the same uses the GPU meanwhile: some make their kernels while another times."""
        with self.rows.with_suffix(".lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def check(self, key: Row, work: Callable[[], Row], may_lack: bool = False) -> None:
        """One row of what is called `key`: what `work` answers, or "bad" and why, and hashes of the kernels it made.

        may_lack: UnsupportedError is no fault. An error of the driver ends the part, since CUDA is of no use then.
        """
        row, broken = dict(key), None
        with recorded(self.for_arch) as hashes:
            try:
                row |= work()
            except UnsupportedError as error:
                row["left_out" if may_lack else "bad"] = str(error)[:300]
            except Exception as error:
                row["bad"] = f"{type(error).__name__}: {error}"[:300]
                broken = error if isinstance(error, DeviceError) else None
        kernels = sorted({*hashes, *row.pop("texts", ())})
        self.say({**(key if self.without_gpu else row), "kernels": kernels})
        if broken is not None and not self.without_gpu:
            raise broken


def write(path: Path, row: Row) -> None:
    """Adds a row to a file, in one write of a whole line, whatever stands before it."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(file, f"\n{json.dumps(row, default=float)}\n".encode())
    finally:
        os.close(file)


def read(path: Path) -> list[Row]:
    """The rows of a file; lines that are not whole are left out."""
    rows: list[Row] = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        with suppress(ValueError):
            rows.append(json.loads(line))
    return rows


@contextmanager
def recorded(for_arch: str | None = None) -> Generator[list[str], None, None]:
    """Hashes of the kernels that are loaded meanwhile. for_arch: see `Context`."""
    hashes: list[str] = []
    before = kernel.image_of

    def image_of(part: Part, gpu: Gpu) -> tuple[Text, bytes]:
        hashes.append(hash_of_kernel(part))
        if for_arch:
            kernel.assemble(part, for_arch)
        return before(part, gpu) if for_arch is None else (part.texts[-1], b"")

    kernel.image_of = image_of
    try:
        yield hashes
    finally:
        kernel.image_of = before


def hash_of_kernel(part: Part) -> str:
    """Of all texts that a launch may be made from, as in results/gpu_code.json, and of its constants."""
    more = hashlib.sha256(part.constants).hexdigest()[:8] if part.constants else ""
    return f"{text_hash(part)}{more}"


def card(gpu: Gpu) -> Row:
    """The GPU, its driver, its clocks now and at most."""
    about: Row = {"card": gpu.name, "arch": gpu.arch, "multiprocessors": gpu.multiprocessors}
    program = shutil.which("nvidia-smi")
    if program is None:
        return {**about, "driver": "nvidia-smi is not on the PATH: driver and clocks unmeasured"}
    command = [program, "-i", str(gpu.index), f"--query-gpu={','.join(QUERY)}", "--format=csv,noheader"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return {**about, "driver": f"nvidia-smi: status {done.returncode}: driver and clocks unmeasured"}
    return about | dict(zip(QUERY.values(), map(str.strip, done.stdout.split(",")), strict=False))


class Nothing(Recorder):
    """A driver of a GPU of 132 multiprocessors that does nothing: kernels are made for it, and none runs.

    To read answers is an error, so that nobody goes on with them.
    """

    addresses = itertools.count(1 << 40, 1 << 36)
    """Of memory, far from each other."""

    def cuMemAlloc(self, size: int) -> tuple[int, int]:
        return 0, next(self.addresses)

    def cuMemcpyDtoHAsync(self, to: int, source: int, size: int, stream: int) -> tuple[int]:
        return (1,)

    def cuDeviceGetName(self, length: int, device: int) -> tuple[int, bytes]:
        return 0, b"no GPU"

    def cuLaunchKernel(self, *arguments: object) -> tuple[int]:
        return (0,)

    def cuPointerGetAttribute(self, name: str, address: int) -> tuple[int, int]:
        return 0, 0

    def cuStreamIsCapturing(self, stream: int) -> tuple[int, str]:
        return 0, "CU_STREAM_CAPTURE_STATUS_NONE"

    def cuuint64_t(self, value: int) -> int:
        return value

    def CUmemPoolProps(self) -> SimpleNamespace:
        return SimpleNamespace(location=SimpleNamespace())


def without_gpu() -> None:
    """From now on the driver of this process does nothing."""
    driver = Driver(Nothing())
    drivers.driver = lambda: driver  # type: ignore[assignment]
    drivers.gpu.cache_clear()
