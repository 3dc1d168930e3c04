"""A GPU that every machine has."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from condyle.runtime.cuda import driver as drivers
from tests.backends.cuda.fake_driver import FakeDriver


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
