"""Robots of which nothing moves: every target answers with arrays that have no entries."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle.functions import FUNCTIONS

STILL = condyle.Builder().body("rock", mass=1.0, inertia=np.eye(3)).build()


@pytest.mark.parametrize(
    ("target", "links"), [("cpu", "serial"), ("cpu", "auto"), ("c", "serial"), ("numpy", "serial"), ("numpy", "scan")]
)
def test_every_function_has_nothing_to_say(target: str, links: str) -> None:
    dyn = STILL.compile(target, links=links)
    empty = np.zeros((3, 0))
    for function in FUNCTIONS.values():
        given = [np.zeros((3, *[0] * len(port.dims))) for port in function.inputs]
        shapes = [(3, *[0] * len(port.dims)) for port in function.outputs]
        assert [array.shape for array in dyn.call(function.name, given)] == shapes
    assert dyn.mass_matrix(dyn.pack(empty)).dense().shape == (3, 0, 0)
    assert dyn.memory(3) == dict.fromkeys(FUNCTIONS, 0)
    assert len(dyn.explain(3).splitlines()) == 1 + len(FUNCTIONS)


def test_a_gpu_would_have_a_thread_a_state() -> None:
    dyn = STILL.compile("cuda")
    assert all(", thread, " in line for line in dyn.explain(3).splitlines()[1:])
    with pytest.raises(condyle.UnsupportedError, match="'thread'"):
        STILL.compile("cuda", kernels="group32").memory(3)


def test_an_accelerator_has_nothing_to_compute(tmp_path: Path) -> None:
    with pytest.raises(condyle.UnsupportedError, match="no joint of this robot moves"):
        condyle.export(STILL, "verilog", tmp_path / "out", ("id",))
