"""A GPU that every machine has, and one that only some have."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from condyle.errors import DeviceError
from condyle.runtime.cuda import driver as drivers
from condyle.runtime.cuda.driver import Gpu
from tests.backends.cuda.fake_driver import FakeDriver
from tests.devices import without_gpu
from tests.gpu.bench import Bench


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDriver]:
    api = FakeDriver()
    one = drivers.Driver(api)
    monkeypatch.setattr(drivers, "driver", lambda: one)
    drivers.gpu.cache_clear()
    yield api
    drivers.gpu.cache_clear()
    assert api.depth == 0
    assert not api.faults


@pytest.fixture
def real_gpu(request: pytest.FixtureRequest) -> Gpu:
    """GPU 0 of this machine."""
    drivers.driver.cache_clear()
    drivers.gpu.cache_clear()
    try:
        return drivers.gpu(0)
    except DeviceError as error:
        without_gpu(request.config, str(error))


@pytest.fixture(params=[pytest.param("fake", id="fake"), pytest.param("real_gpu", id="real", marks=pytest.mark.gpu)])
def bench(request: pytest.FixtureRequest) -> Bench:
    """Both."""
    request.getfixturevalue(request.param)
    return Bench(drivers.gpu(0), real=request.param == "real_gpu")
