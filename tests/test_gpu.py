"""What can be said of a GPU that is not there."""

from __future__ import annotations

import pytest

import condyle
from condyle.calls import gpu
from condyle.errors import DeviceError


def test_explain_says_that_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: int) -> None:
        raise DeviceError("no driver")

    monkeypatch.setattr(gpu, "gpu", missing)
    head, *lines = condyle.load("iiwa14").compile("cuda").explain(256).splitlines()
    assert head.endswith("there is no GPU here: estimates are for a card with 132 multiprocessors")
    assert all("estimated" in line for line in lines)
