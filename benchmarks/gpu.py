"""Times target "cuda" on a GPU and holds the times against floors and goals.

    python -m benchmarks.gpu [ROBOT ...]

Needs a GPU; takes less than ten minutes; writes results/<date>-gpu.json. Every row has, in microseconds a batch:
"kernel": the mean of 100 calls in a graph, arrays on the GPU, after a warm-up; "floor": the most of instructions over
the peak rate, bytes over the bandwidth of a copy measured here, and code over what a multiprocessor can fetch;
"copies": one transfer each way alone; "pinned": whole calls with `dyn.pinned`; "staged": with ordinary NumPy arrays.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

import condyle
from benchmarks import gpu_beside, gpu_time, results
from benchmarks.gpu_time import Machine
from condyle.backends.cuda.kernel import CudaFunction, CudaKernel, Sizes
from condyle.calls.gpu import GpuDynamics
from condyle.cli.states import draw
from condyle.functions import FUNCTIONS
from condyle.ir.count import instructions
from condyle.runtime.cuda.arrays import DeviceArray
from condyle.runtime.cuda.driver import Gpu, gpu

CASES = {"iiwa14": ("id", "fd", "dfd"), "hyq": ("dfd",), "atlas": ("id", "dfd")}
BATCHES = (16, 64, 256, 1024, 65_536, 1 << 20)
MOST_HOST = 1 << 30
SLACK_US, OF_COPIES = 5.0, 1.3
FEW, SOME, MANY = 256, 1024, 1 << 20
WANTED = {
    ("iiwa14", "id"): (5.0, 5.0, 12_000.0),
    ("iiwa14", "fd"): (6.0, 7.0, 6_000.0),
    ("iiwa14", "dfd"): (10.0, 12.0, 1_200.0),
    ("hyq", "dfd"): (9.0, 11.0, 700.0),
    ("atlas", "id"): (9.0, 10.0, 2_500.0),
    ("atlas", "dfd"): (40.0, 50.0, 60.0),
}
"""What we want of one H200 in float32: microseconds of a batch of up to FEW states at most, of SOME states at most, and
million states a second of MANY at least."""


@dataclass(frozen=True)
class Plan:
    """How much to measure."""

    robots: Sequence[str]
    batches: Sequence[int] = BATCHES
    launches: int = 100
    repeats: int = 30
    copied: int = 1 << 30
    beside: bool = True


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__.split("\n")[0])
    parser.add_argument("robots", nargs="*", choices=[[], *CASES], metavar="ROBOT", help=", ".join(CASES))
    found = run(Plan(parser.parse_args(words).robots or tuple(CASES)))
    path = results.FOLDER / f"{found['date'][:10]}-gpu.json"
    results.write(path, found)
    print(f"wrote {path.relative_to(results.ROOT)}")


def run(plan: Plan, say: Callable[[str], None] = print) -> dict[str, Any]:
    """Everything that the results file holds."""
    device = gpu(0)
    with device.current():
        machine = Machine.of(device, plan.copied)
    found: dict[str, Any] = {**results.certificate(), "gpu": described(device), "versions": versions()}
    found["bandwidth_gb_s"] = machine.bandwidth / 1e9
    found["empty_kernel_us"] = gpu_time.empty_kernel(device, plan.launches)
    rows: list[dict[str, Any]] = []
    for dtype in ("float32", "float64"):
        for name in plan.robots:
            dyn = condyle.load(name).compile(target="cuda", dtype=dtype)
            assert isinstance(dyn, GpuDynamics)
            for function in CASES[name]:
                for n in plan.batches:
                    if fits(device, sized(dyn, function, n).sizes, n):
                        rows.append(row(dyn, device, machine, name, function, n, plan))
                        say(line(rows[-1]))
    found["rows"] = rows
    found["goals"] = goals(rows)
    if plan.beside:
        found["grid"] = gpu_beside.grid(tuple(n for n in plan.batches if n <= 1024))
        for tool in ("memcheck", "racecheck"):
            found[tool] = gpu_beside.sanitized(tool)
    for goal in found["goals"]:
        say(line({"": "met" if goal["met"] else "NOT MET", **goal}))
    return found


def line(values: dict[str, Any]) -> str:
    """For people."""
    return " ".join(f"{value:.4g}" if isinstance(value, float) else str(value) for value in values.values())


def sized(dyn: GpuDynamics, function: str, n: int) -> CudaKernel:
    """What runs n states."""
    chosen = dyn.kernel(function)
    assert isinstance(chosen, CudaFunction)
    return chosen.kernel(n)


def fits(device: Gpu, sizes: Sizes, n: int) -> bool:
    """Whether there is room on the GPU, with some to spare."""
    with device.current():
        free, _ = device.driver("cuMemGetInfo")
    return sizes.resident(n) <= 0.7 * int(free)  # type: ignore[call-overload]


def row(
    dyn: GpuDynamics, device: Gpu, machine: Machine, name: str, function: str, n: int, plan: Plan
) -> dict[str, Any]:
    called = FUNCTIONS[function]
    few = draw(condyle.load(name), min(n, 1024), str(dyn.dtype), (called,)).arguments(called)
    host = [np.resize(np.asarray(array), (n, *np.shape(array)[1:])) for array in few]
    kernel = sized(dyn, function, n)
    sizes, dtype = kernel.sizes, str(dyn.dtype)
    code = gpu_time.code_bytes(kernel)
    operations = n * instructions(dyn._compiler.code(called))
    floors = machine.floor_us(operations, n * (sizes.inputs + sizes.outputs), code, dtype)
    found: dict[str, Any] = {"robot": name, "dtype": dtype, "function": function, "n": n}
    found["kernel_us"] = on_gpu(dyn, device, function, host, plan.launches)
    found |= {"floor_us": max(floors.values()), "floor_is": max(floors, key=floors.__getitem__)}
    found |= {"code_bytes": code, "kernels": len(kernel.parts.launches)}
    if n * sizes.all <= MOST_HOST:
        repeats = plan.repeats if n <= 65_536 else min(5, plan.repeats)
        *inputs, _ = arrays = dyn.pinned(function, n)
        k = len(host)
        for one, array in zip(arrays[:k], host, strict=True):
            one[...] = array
        found["copies_us"] = gpu_time.copies_alone(device, n * sizes.inputs, n * sizes.outputs, repeats)
        out = arrays[k] if len(arrays) == k + 1 else arrays[k:]
        found["pinned_us"] = gpu_time.on_host(lambda: dyn.call(function, inputs[:k], out), repeats)
        found["staged_us"] = gpu_time.on_host(lambda: dyn.call(function, host), repeats)
    return found


def on_gpu(dyn: GpuDynamics, device: Gpu, function: str, host: Sequence[np.ndarray], launches: int) -> float:
    """Microseconds of a call with arrays that lie on the GPU, in a graph."""
    with device.current():
        inputs = [upload(device, array) for array in host]
        answers = dyn.call(function, inputs)  # type: ignore[arg-type]
    return gpu_time.in_graph(
        device,
        lambda stream: dyn.on(stream).call(function, inputs, answers),  # type: ignore[arg-type]
        launches,
    )


def upload(device: Gpu, array: np.ndarray) -> DeviceArray:
    made = DeviceArray(device, array.shape, array.dtype, 0)
    dense = np.ascontiguousarray(array)
    device.driver("cuStreamSynchronize", 0)
    device.driver("cuMemcpyHtoD", made.address, dense.ctypes.data, dense.nbytes)
    return made


def goals(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every goal that these rows decide, met or not."""
    found: list[dict[str, Any]] = []

    def hold(what: str, us: float, wanted: float) -> None:
        found.append({"what": what, "us": us, "wanted_us": wanted, "met": us <= wanted})

    for one in rows:
        name = f"{one['robot']} {one['function']} {one['dtype']} N={one['n']}"
        if one["n"] == 256 and "pinned_us" in one:
            wanted = one["copies_us"] + one["kernel_us"] + SLACK_US
            hold(f"{name}, pinned: copies + kernel + 5 us", one["pinned_us"], wanted)
        if one["n"] >= 65_536 and "pinned_us" in one:
            hold(f"{name}, pinned: 1.3 times the copies", one["pinned_us"], OF_COPIES * one["copies_us"])
        wanted = wanted_us(one["robot"], one["function"], one["n"])
        if wanted is not None and one["dtype"] == "float32":
            hold(f"{name}, kernel, on an H200", one["kernel_us"], wanted)
    return found


def wanted_us(robot: str, function: str, n: int) -> float | None:
    """The most microseconds that a batch may take; None where nothing is said."""
    few, some, many = WANTED.get((robot, function), (None, None, None))
    if few is None or many is None:
        return None
    return few if n <= FEW else some if n == SOME else n / many if n == MANY else None


def described(device: Gpu) -> dict[str, Any]:
    """The GPU, its driver, its clocks now and at most."""
    words = "name,driver_version,clocks.sm,clocks.max.sm,clocks.mem,power.limit,temperature.gpu"
    found: dict[str, Any] = {"name": device.name, "arch": device.arch, "multiprocessors": device.multiprocessors}
    program = shutil.which("nvidia-smi")
    if program is None:
        return {**found, "nvidia-smi": "not here: clocks unmeasured"}
    done = subprocess.run(
        [program, "-i", str(device.index), f"--query-gpu={words}", "--format=csv,noheader"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        return {**found, "nvidia-smi": f"status {done.returncode}: clocks unmeasured"}
    return found | dict(zip(words.split(","), map(str.strip, done.stdout.split(",")), strict=False))


def versions() -> dict[str, str]:
    return {name: _version(name) for name in ("condyle", "numpy", "cuda-bindings", "nvidia-nvjitlink", "grid-rbd")}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


if __name__ == "__main__":
    main()
