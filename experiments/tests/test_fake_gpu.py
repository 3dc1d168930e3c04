"""Times of the experiments on a driver that computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from benchmarks import gpu as benchmark
from benchmarks import gpu_time
from experiments import gpu
from tests.backends.cuda.fake_driver import FakeDriver
from tests.gpu.conftest import fake

__all__ = ["fake"]


def test_rows_are_those_of_the_benchmark(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = gpu_time.Machine(1e12, {"float32": 1e13}, 1e9)
    monkeypatch.setattr(gpu_time.Machine, "of", lambda device, size: machine)
    monkeypatch.setattr(benchmark.Plan, "__init__", few(benchmark.Plan.__init__))
    found = gpu.times("iiwa14", ("id",), (3,))
    assert found["gpu"]["name"] == "Fake GPU"
    assert float(gpu.us(found, "id", 3)) > 0 and float(gpu.us(found, "id", 3, gpu.WHOLE)) > 0


def few(made: Callable[..., None]) -> Callable[..., None]:
    """A plan of a few launches."""

    def short(self: Any, robots: Any, batches: Any) -> None:
        made(self, robots, batches, launches=2, repeats=1, copied=1024)

    return short
