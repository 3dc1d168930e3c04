"""Times of the experiments on a driver that computes."""

from __future__ import annotations

from benchmarks.gpu.times import Plan
from experiments import gpu
from tests.backends.cuda.fake_driver import FakeDriver
from tests.gpu.conftest import fake

__all__ = ["fake"]


def test_rows_are_those_of_the_benchmark(fake: FakeDriver) -> None:
    found = gpu.times("iiwa14", ("id",), (3,), Plan(launches=2, repeats=1))
    assert found["gpu"]["card"] == "Fake GPU"
    assert float(gpu.us(found, "id", 3)) > 0 and float(gpu.us(found, "id", 3, gpu.WHOLE)) > 0
