"""What is missing or wrong is said, with what to do; never a silent zero."""

from __future__ import annotations

import os
from enum import IntEnum
from types import SimpleNamespace

import numpy as np
import pytest

import condyle
from condyle.errors import DeviceError, UnsupportedError
from condyle.runtime.cuda import driver as drivers
from tests.backends.cuda.fake_driver import FakeDriver
from tests.backends.cuda.fake_streams import CUresult
from tests.gpu.calls import dynamics, given, on_gpu, same, wanted


def test_out_of_memory(fake: FakeDriver) -> None:
    dyn = dynamics()
    arguments = given("id", 64)
    fake.room = 1000
    with pytest.raises(DeviceError, match="out of memory: pass fewer"):
        dyn.inverse_dynamics(*arguments)
    with pytest.raises(DeviceError, match="out of memory: pass fewer"):
        dyn.inverse_dynamics(*(on_gpu(fake, array) for array in arguments))
    fake.room = 1 << 30
    same(dyn.inverse_dynamics(*arguments), wanted("id", arguments))


def test_a_launch_that_asks_for_too_much(fake: FakeDriver) -> None:
    """Blocks become smaller where registers are scarce; what the driver refuses is said, and nothing comes back."""
    dyn = dynamics()
    arguments = given("id", 2000)
    fake.most_threads = 64
    same(dyn.inverse_dynamics(*arguments), wanted("id", arguments))
    for function in fake.limits:
        fake.limits[function] = 0
    with pytest.raises(DeviceError, match="needs more than this GPU has"):
        dyn.inverse_dynamics(*arguments)
    fake.most_threads = 16
    with pytest.raises(DeviceError, match="not even one warp"):
        dyn.mass_matrix(arguments[0])
    gpu = drivers.gpu(0)
    little = drivers.Function(1, "kernel", 64, 1000)
    fake.calls.clear()
    for asked in ((1, 128, 0), (1, 64, 2000), (1 << 31, 64, 0)):
        with pytest.raises(DeviceError, match=r"kernel: .* allows 2147483647, 64 and 1000"):
            gpu.launch(little, *asked, 0, (1, 0))
    assert not fake.calls  # it was not even tried


def test_shared_memory_of_a_small_gpu(fake: FakeDriver) -> None:
    fake.attributes[fake.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN] = 1024
    with pytest.raises(DeviceError, match="bytes of shared memory, sm_90 has 1024"):
        dynamics().mass_matrix(np.zeros(7))


def test_a_kernel_that_fails(fake: FakeDriver) -> None:
    """It is noticed when it is waited for."""
    dyn = dynamics()
    arguments = given("id", 8)
    dyn.inverse_dynamics(*arguments)
    fake.broken = CUresult.CUDA_ERROR_ILLEGAL_ADDRESS
    with pytest.raises(DeviceError, match=r"ILLEGAL_ADDRESS.*restart"):
        dyn.inverse_dynamics(*arguments)
    with pytest.raises(DeviceError, match=r"ILLEGAL_ADDRESS.*restart"):
        dyn.inverse_dynamics(*(on_gpu(fake, array) for array in arguments)).numpy()


def test_old_drivers(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.version = 11_020
    with pytest.raises(DeviceError, match=r"driver is for CUDA 11.2, which is too old: install"):
        dynamics().mass_matrix(np.zeros(7))
    fake.version = 12_080
    fake.image_error = CUresult.CUDA_ERROR_UNSUPPORTED_PTX_VERSION
    with pytest.raises(DeviceError, match="driver is too old: install"):
        dynamics().mass_matrix(np.zeros(7))
    fake.image_error = CUresult.CUDA_SUCCESS

    def missing(*arguments: object) -> object:
        raise RuntimeError('Function "cuStreamCreate" not found')

    monkeypatch.setattr(fake, "cuStreamCreate", missing, raising=False)
    with pytest.raises(DeviceError, match="too old, it has no cuStreamCreate"):
        dynamics().mass_matrix(np.zeros(7))


def test_old_gpus(fake: FakeDriver) -> None:
    fake.attributes[fake.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] = 7
    with pytest.raises(DeviceError, match=r"compute capability 7.0; needed is 8.0"):
        dynamics().mass_matrix(np.zeros(7))
    fake.attributes[fake.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] = 8
    assert dynamics().mass_matrix(np.zeros(7)).shape == (7, 7)


def test_no_such_gpu(fake: FakeDriver) -> None:
    with pytest.raises(DeviceError, match="device=3: this machine has 1 GPUs"):
        condyle.load("iiwa14").compile(target="cuda", device=3).mass_matrix(np.zeros(7))
    with pytest.raises(UnsupportedError, match="leave them out"):
        condyle.load("iiwa14").compile(device=0)


def test_one_of_two_gpus(fake: FakeDriver) -> None:
    fake.gpus = 2
    dyn = condyle.load("iiwa14").compile(target="cuda", device=1)
    same(dyn.inverse_dynamics(*given("id", 4)), wanted("id", given("id", 4)))
    assert "GPU 1" in dyn.explain(4)
    with pytest.raises(DeviceError, match=r"q is on GPU 0, expected 1: move it, or compile\(device=0\)"):
        dyn.mass_matrix(on_gpu(fake, np.zeros((3, 7))))


def test_forked(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    dyn = dynamics()
    dyn.mass_matrix(np.zeros(7))
    with monkeypatch.context() as forked:
        forked.setattr(os, "getpid", lambda: 1)
        with pytest.raises(DeviceError, match="spawn"):
            dyn.mass_matrix(np.zeros(7))
        with pytest.raises(DeviceError, match="spawn"):
            dyn.pinned("m", 2)


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
        if name.startswith("CU") and issubclass(getattr(FakeDriver, name), IntEnum):
            assert all(hasattr(getattr(real, name), member.name) for member in getattr(FakeDriver, name))
    assert real.CUmemPoolProps().location.id == FakeDriver.CUmemPoolProps().location.id
    assert int(real.cuuint64_t(drivers.POOL_KEEPS)) == drivers.POOL_KEEPS
    assert all(hasattr(real.CUresult, name) for name in drivers.CURES)
