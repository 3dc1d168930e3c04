"""Kernels are launched where there is a GPU; elsewhere a row says what is missing."""

from __future__ import annotations

import pytest

from condyle.errors import DeviceError
from experiments import gpu
from experiments.grid2022 import latency
from experiments.plancher2021 import gradient

FOUND = {"times": {"dfd": {"16": {"kernel_us": 4.0, "pinned_us": 20.0}}, "difd": {"16": {"kernel_us": 3.0}}}}


def test_without_a_gpu_a_row_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(index: int) -> None:
        raise DeviceError("no NVIDIA driver is installed here")

    monkeypatch.setattr(gpu, "gpu", none)
    for found in (latency.measure("iiwa14 GPU", quick=False), gradient.measure("GPU", quick=False)):
        assert "no NVIDIA driver" in found["left_out"]
    assert gpu.us(None, "dfd", 16) == "unmeasured"


def test_tables_have_its_times() -> None:
    line = latency.many({"iiwa14 GPU": FOUND})[1]
    assert line[:2] == ["iiwa14", "16"] and line[-2:] == ["4", "20"]
    line = next(line for line in gradient.batches({"GPU": FOUND}) if line[0] == "16")
    assert line[-2:] == ["3", "unmeasured"]
