"""Target "cuda": the whole call, on a driver that computes; what is missing or wrong is said."""

from __future__ import annotations

import os
from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pytest

import condyle
from benchmarks import gpu as gpu_benchmark
from condyle.backends.cuda import kernel as kernels
from condyle.errors import CondyleError, DeviceError, DTypeError, ShapeError, UnsupportedError
from condyle.gpu import GpuDynamics
from condyle.runtime.cuda import driver as drivers
from condyle.runtime.cuda.arrays import DeviceArray
from condyle.signature import FUNCTIONS
from tests.backends.cuda.fake_driver import FakeDriver

ARGUMENTS = {"q": (7,), "v": (7,), "a": (7,), "tau": (7,), "f_ext": (7, 6), "Minv": (7, 7)}


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDriver]:
    api = FakeDriver()
    one = drivers.Driver(api)
    monkeypatch.setattr(drivers, "driver", lambda: one)
    drivers.gpu.cache_clear()
    yield api
    drivers.gpu.cache_clear()


def dynamics(dtype: str = "float64", name: str = "iiwa14") -> GpuDynamics:
    dyn = condyle.load(name).compile(target="cuda", dtype=dtype)
    assert isinstance(dyn, GpuDynamics)
    return dyn


def given(function: str, n: int, f_ext: bool = False) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.uniform(-1, 1, (n, *ARGUMENTS[port.name])) for port in FUNCTIONS[function].ports(f_ext)]


def wanted(function: str, arguments: list[np.ndarray]) -> tuple[np.ndarray, ...]:
    inputs = len(FUNCTIONS[function].inputs)
    return condyle.load("iiwa14").compile(target="numpy").call(function, arguments[:inputs], *arguments[inputs:])


def same(got: object, want: tuple[np.ndarray, ...]) -> None:
    listed = got if isinstance(got, tuple) else (got,)
    for one, other in zip(listed, want, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-8 * np.abs(other).max())


def on_gpu(api: FakeDriver, array: np.ndarray, **changes: object) -> SimpleNamespace:
    """Another library's array."""
    data = np.ascontiguousarray(array)
    address = api.memory.adopt(data.view(np.uint8).reshape(-1))
    interface = {
        "shape": data.shape,
        "typestr": data.dtype.str,
        "data": (address, False),
        "strides": None,
        "version": 2,
    }
    return SimpleNamespace(__cuda_array_interface__={**interface, **changes}, host=data)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_arrays_of_the_processor(fake: FakeDriver, function: str) -> None:
    arguments = given(function, 40)
    same(dynamics().function(function)(*arguments), wanted(function, arguments))
    assert fake.depth == 0


def test_chunks_take_turns(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    dyn = dynamics()
    for stage in (7_000, 20_000):
        monkeypatch.setattr(kernels, "STAGE_BYTES", stage)
        for n in (1, 37, 65, 150):
            arguments = given("fd", n)
            same(dyn.forward_dynamics(*arguments), wanted("fd", arguments))
    one = given("id", 33)
    one[0] = one[0][:1]
    same(dyn.inverse_dynamics(one[0][0], *one[1:]), wanted("id", one))
    assert dyn.inverse_dynamics(*given("id", 0)).shape == (0, 7)
    forces = given("id", 9, f_ext=True)
    same(dyn.inverse_dynamics(*forces), wanted("id", forces))


def test_split_functions(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    import dataclasses

    from condyle.backends.cuda import parts

    monkeypatch.setattr(parts.parts, "__defaults__", (dataclasses.replace(parts.TARGET, longest=0),))
    monkeypatch.setattr(kernels, "STAGE_BYTES", 60_000)
    arguments = given("dfd", 40)
    dyn = dynamics()
    same(dyn.forward_dynamics_derivatives(*arguments), wanted("dfd", arguments))
    assert fake.calls.count("cuModuleLoadData") == 4
    answers = dyn.forward_dynamics_derivatives(*(on_gpu(fake, array) for array in arguments))
    same(tuple(one.numpy() for one in answers), wanted("dfd", arguments))
    assert fake.calls.count("cuMemFreeAsync") == 3


def test_arrays_on_the_gpu(fake: FakeDriver) -> None:
    dyn = dynamics()
    q, v, a = given("id", 24)
    shaped = [np.reshape(array, (2, 12, 7)) for array in (q, v, a)]
    answer = dyn.inverse_dynamics(*(on_gpu(fake, array) for array in shaped))
    assert isinstance(answer, DeviceArray)
    assert answer.shape == (2, 12, 7)
    (want,) = wanted("id", [q, v, a])
    np.testing.assert_allclose(answer.numpy().reshape(24, 7), want, rtol=1e-10, atol=1e-10)
    out = on_gpu(fake, np.zeros((24, 7)))
    assert dyn.on(5).inverse_dynamics(on_gpu(fake, q), on_gpu(fake, v), on_gpu(fake, a), out=out) is out
    np.testing.assert_allclose(out.host, want, rtol=1e-10, atol=1e-10)
    one = dyn.inverse_dynamics(on_gpu(fake, q[0]), on_gpu(fake, v, stream=7), on_gpu(fake, a, stream=9))
    np.testing.assert_allclose(one.numpy(), wanted("id", [q[:1], v, a])[0], rtol=1e-10, atol=1e-10)
    address = answer.address
    del answer
    assert address not in fake.memory.blocks


def test_wrong_device_arrays(fake: FakeDriver) -> None:
    dyn = dynamics()
    q, v, a = given("id", 8)
    good = [on_gpu(fake, array) for array in (q, v, a)]

    def fails(error: type[CondyleError], match: str, *args: object, **options: object) -> None:
        with pytest.raises(error, match=match):
            dyn.inverse_dynamics(*args, **options)  # type: ignore[arg-type]

    fails(DTypeError, "v is not on the GPU", good[0], v, good[2])
    fails(DTypeError, "q is float32", on_gpu(fake, q.astype(np.float32)), *good[1:])
    fails(ShapeError, "not contiguous", on_gpu(fake, q, strides=(8, 64)), *good[1:])
    fails(ShapeError, "q has shape", on_gpu(fake, q[:, :5]), *good[1:])
    fails(ShapeError, "batch dimensions", on_gpu(fake, q[:5]), *good[1:])
    fails(DeviceError, "does not point into memory of a GPU", on_gpu(fake, q, data=(64, False)), *good[1:])
    fails(ShapeError, "read-only", *good, out=on_gpu(fake, q, data=(fake.memory.allocate(448), True)))
    fails(ShapeError, "overlaps", *good, out=good[0])
    fails(ShapeError, "out\\[0\\] has shape", *good, out=on_gpu(fake, q[:4]))
    with pytest.raises(ShapeError, match="2 arguments"):
        dyn.call("id", good[:2])  # type: ignore[arg-type]


def test_out_of_memory_and_resources(fake: FakeDriver) -> None:
    dyn = dynamics()
    arguments = given("id", 64)
    fake.room = 1000
    with pytest.raises(DeviceError, match="out of memory: pass fewer"):
        dyn.inverse_dynamics(*arguments)
    fake.room = 1 << 30
    same(dyn.inverse_dynamics(*arguments), wanted("id", arguments))
    for function in fake.limits:
        fake.limits[function] = 0
    with pytest.raises(DeviceError, match="needs more than this GPU has"):
        dyn.inverse_dynamics(*arguments)
    assert fake.depth == 0


def test_no_such_gpu(fake: FakeDriver) -> None:
    with pytest.raises(DeviceError, match="device=3: this machine has 1 GPUs"):
        condyle.load("iiwa14").compile(target="cuda", device=3).mass_matrix(np.zeros(7))
    with pytest.raises(UnsupportedError, match="leave it out"):
        condyle.load("iiwa14").compile(device=0)


def test_what_runs_is_said(fake: FakeDriver) -> None:
    dyn = dynamics("float32", "hyq")
    assert "target cuda, float32, batch of 7, GPU 0" in dyn.explain(7)
    assert dyn.memory(10)["id"] == 10 * 4 * 48
    split = condyle.load("hyq", floating_base=True).compile(target="cuda", dtype="float32")
    assert split.memory(1)["dfd"] == 4 * (19 + 2 * 18 + 3 * 18**2 + 18 + 2 * 18**2)  # the scratch too
    with pytest.raises(UnsupportedError, match="packed"):
        dyn.pack(np.zeros((4, 12)))


def test_benchmark_runs(fake: FakeDriver) -> None:
    device = drivers.gpu(0)
    assert gpu_benchmark.copy_bandwidth(device, 1024) > 0
    row = gpu_benchmark.measure(dynamics(), device, "iiwa14", "m", 3, 1e9)
    assert row["floor_us"] == pytest.approx(3 * (7 + 49) * 8 / 1e3)
    assert row["kernels"] == 1


def test_forked(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    dyn = dynamics()
    dyn.mass_matrix(np.zeros(7))
    monkeypatch.setattr(os, "getpid", lambda: 1)
    with pytest.raises(DeviceError, match="spawn"):
        dyn.mass_matrix(np.zeros(7))


def test_nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without bindings, and with bindings but no driver."""

    def missing(name: str) -> object:
        raise ImportError(name)

    def driverless(name: str) -> object:
        def start(flags: int) -> tuple[int]:
            raise RuntimeError("libcuda.so.1 not found")

        return SimpleNamespace(cuInit=start)

    for load, match in ((missing, "pip install"), (driverless, "no NVIDIA driver"), (_no_gpu, "CUDA_VISIBLE_DEVICES")):
        drivers.driver.cache_clear()
        drivers.gpu.cache_clear()
        monkeypatch.setattr(drivers, "import_module", load)
        with pytest.raises(DeviceError, match=match):
            dynamics().mass_matrix(np.zeros(7))
    drivers.driver.cache_clear()


def _no_gpu(name: str) -> object:
    return SimpleNamespace(cuInit=lambda flags: (100,))


def test_bindings_have_what_is_called() -> None:
    """The real bindings know every function and constant that the fake one stands for."""
    real = pytest.importorskip("cuda.bindings.driver", reason="pip install 'condyle[cuda]'")
    for name in dir(FakeDriver):
        if name.startswith(("cu", "CU")):
            assert hasattr(real, name), name
    for kind in ("CUdevice_attribute", "CUfunction_attribute", "CUstream_flags", "CUpointer_attribute"):
        assert all(hasattr(getattr(real, kind), member.name) for member in getattr(FakeDriver, kind))


@pytest.mark.gpu
def test_on_a_real_gpu() -> None:
    try:
        drivers.driver()
    except DeviceError as error:
        pytest.skip(str(error))
    for function in FUNCTIONS:
        arguments = given(function, 1000)
        same(dynamics().function(function)(*arguments), wanted(function, arguments))
