"""On a real GPU (`pytest -m gpu`), and on the driver that computes, so that the tests themselves are tested."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import condyle
from benchmarks import gpu_beside
from benchmarks.gpu import upload
from condyle.backends.cuda import kernel as kernels
from condyle.cli.check import allowed, answers, relative, solvable
from condyle.cli.states import States, draw
from condyle.errors import DeviceError
from condyle.functions import FUNCTIONS
from condyle.gpu import GpuDynamics
from condyle.runtime.cuda import driver as drivers
from condyle.runtime.cuda.answers import DeviceArray
from condyle.runtime.cuda.driver import Gpu

BOTH = [pytest.param(False, id="fake"), pytest.param(True, id="real", marks=pytest.mark.gpu)]


def real_gpu() -> Gpu:
    """GPU 0; a skip that says why there is none."""
    drivers.driver.cache_clear()
    drivers.gpu.cache_clear()
    try:
        return drivers.gpu(0)
    except DeviceError as error:
        pytest.skip(str(error))


@dataclass
class Bench:
    """A GPU and how much it is asked to do."""

    gpu: Gpu
    real: bool

    def dynamics(self, name: str = "iiwa14", dtype: str = "float64", floating: bool = False) -> GpuDynamics:
        dyn = condyle.load(name, floating_base=floating).compile(target="cuda", dtype=dtype)
        assert isinstance(dyn, GpuDynamics)
        return dyn

    def inputs(self, function: str, n: int, dtype: str = "float64") -> list[np.ndarray]:
        return list(draw(condyle.load("iiwa14"), n, dtype, (function,)).arguments(function))

    def upload(self, arrays: list[np.ndarray]) -> list[DeviceArray]:
        with self.gpu.current():
            return [upload(self.gpu, array) for array in arrays]

    def stream(self) -> int:
        flags = self.gpu.driver.constant("CUstream_flags", "CU_STREAM_NON_BLOCKING")
        with self.gpu.current():
            return self.gpu.driver.number("cuStreamCreate", flags)


@pytest.fixture(params=BOTH)
def bench(request: pytest.FixtureRequest) -> Bench:
    if request.param:
        return Bench(real_gpu(), real=True)
    request.getfixturevalue("fake")
    return Bench(drivers.gpu(0), real=False)


@pytest.mark.slow
def test_reference(bench: Bench) -> None:
    """Every function, robot, base and dtype; on the fake GPU one robot: `test_kernels` has the rest."""
    names = ("iiwa14", "hyq", "atlas") if bench.real else ("iiwa14",)
    for name in names:
        for floating in (False, True) if bench.real else (False,):
            for dtype in ("float32", "float64"):
                robot = condyle.load(name, floating_base=floating)
                agree(robot, bench.dynamics(name, dtype, floating), dtype, 5000 if bench.real else 40)


def agree(robot: condyle.Robot, dyn: GpuDynamics, dtype: str, n: int) -> None:
    states = draw(robot, n, dtype)
    exact = States(
        {name: array.astype(np.float64) for name, array in states.quantities.items()}, states.sizes, "float64"
    )
    reference = robot.compile(target="cpu")
    condition = float(np.linalg.cond(reference.mass_matrix(exact.quantities["q"])).max())
    for function in solvable(robot, list(dyn.signature)):
        found, wanted = answers(dyn, function, states), answers(reference, function, exact)
        worst = max(relative(a, b) for a, b in zip(found, wanted, strict=True))
        assert worst <= allowed(FUNCTIONS[function], dtype, condition), (robot.name, function, dtype)


def test_pinned_and_chunks(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bits, whatever way arrays travel."""
    n = 200_000 if bench.real else 90
    if not bench.real:
        monkeypatch.setattr(kernels, "MOST_TRANSFER", 4_000)
    dyn = bench.dynamics(dtype="float32")
    q, v, a, tau = dyn.pinned("id", n)
    q[:], v[:], a[:] = (np.resize(array, (n, 7)) for array in bench.inputs("id", 64, "float32"))
    staged = dyn.inverse_dynamics(q.copy(), v.copy(), a.copy())
    np.testing.assert_array_equal(dyn.inverse_dynamics(q, v, a, out=tau), staged)
    there = dyn.inverse_dynamics(*bench.upload([q, v, a]))
    np.testing.assert_array_equal(there.numpy(), staged)
    few = dyn.inverse_dynamics(q[7:20], v[7:20], a[7:20])
    np.testing.assert_array_equal(few, staged[7:20])


def test_streams(bench: Bench) -> None:
    """A chain over two streams, begun again and again; answers are waited for where they are used."""
    dyn = bench.dynamics()
    one, two = bench.stream(), bench.stream()
    n = 20_000 if bench.real else 33
    q, v, a = bench.inputs("id", n)
    there = bench.upload([q, v, a])
    for _ in range(20 if bench.real else 2):
        tau = dyn.on(one).inverse_dynamics(*there)
        back = dyn.on(two).forward_dynamics(there[0], there[1], tau)
        del tau
        np.testing.assert_allclose(back.numpy(), a, rtol=1e-6, atol=1e-6)


def test_graph(bench: Bench) -> None:
    """Captured, launched twice, the inputs changed between."""
    driver, n = bench.gpu.driver, 300 if bench.real else 20
    dyn, stream = bench.dynamics(), bench.stream()
    first, second = (bench.inputs("dfd", n), [array[::-1].copy() for array in bench.inputs("dfd", n)])
    there = bench.upload(first)
    outs = dyn.on(stream).forward_dynamics_derivatives(*there)
    mode = driver.constant("CUstreamCaptureMode", "CU_STREAM_CAPTURE_MODE_GLOBAL")
    with bench.gpu.current():
        driver("cuStreamSynchronize", stream)
        driver("cuStreamBeginCapture", stream, mode)
        dyn.on(stream).forward_dynamics_derivatives(*there, out=outs)
        (graph,) = driver("cuStreamEndCapture", stream)
        (ready,) = driver("cuGraphInstantiate", graph, 0)
        for arrays in (first, second):
            for to, array in zip(there, arrays, strict=True):
                driver("cuMemcpyHtoD", to.address, array.ctypes.data, array.nbytes)
            driver("cuGraphLaunch", ready, stream)
            driver("cuStreamSynchronize", stream)
            for out, want in zip(outs, dyn.forward_dynamics_derivatives(*arrays), strict=True):
                np.testing.assert_array_equal(out.numpy(), want)


def test_determinism(bench: Bench) -> None:
    """The same bits from run to run and at any place of the batch."""
    n = 10_000 if bench.real else 70
    dyn = bench.dynamics(dtype="float32")
    inputs = bench.inputs("dfd", n, "float32")
    first = dyn.forward_dynamics_derivatives(*inputs)
    again = dyn.forward_dynamics_derivatives(*inputs)
    shifted = dyn.forward_dynamics_derivatives(*(np.roll(array, 11, axis=0) for array in inputs))
    for one, other, moved in zip(first, again, shifted, strict=True):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(np.roll(one, 11, axis=0), moved)


@pytest.mark.gpu
@pytest.mark.parametrize("tool", ["memcheck", "racecheck"])
def test_compute_sanitizer(tool: str) -> None:
    real_gpu()
    found = gpu_beside.sanitized(tool)
    if "unmeasured" in found:
        pytest.skip(found["unmeasured"])
    assert found["verdict"] == "clean", found["log"]
