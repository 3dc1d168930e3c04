"""On a real GPU (`pytest -m gpu`), and on the driver that computes, so that the tests themselves are tested."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from benchmarks.gpu import tools
from benchmarks.gpu.arrays import Reference
from condyle.backends.cuda import kernel as kernels
from condyle.calls.gpu import GpuDynamics
from condyle.cli.check import solvable
from condyle.errors import UnsupportedError
from condyle.functions import FUNCTIONS
from condyle.runtime.cuda.driver import Gpu
from tests.gpu.bench import Bench


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
    functions = solvable(robot, [FUNCTIONS[name] for name in dyn.signature])
    reference = Reference(robot, n, functions)
    for function in functions:
        reference.hold(function, dyn.call(function, reference.inputs(function, dtype, n)))


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
def test_compute_sanitizer(real_gpu: Gpu, tool: str) -> None:
    try:
        assert tools.sanitized(tool) == {"verdict": "clean"}
    except UnsupportedError as error:
        pytest.skip(str(error))
