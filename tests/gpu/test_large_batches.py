"""More states than fit into 32 bits: addresses of the first and last rows, and calls that are split before numbers of
states or threads overflow."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import pytest

import condyle
from benchmarks.parallel import parts as by_links
from condyle.backends.cuda import time_loop
from condyle.backends.cuda.kernel import CudaKernel, planned, scratch_bytes
from condyle.backends.cuda.launches import Parts
from condyle.backends.cuda.target import Form
from condyle.functions import FUNCTIONS
from condyle.ir.loops import Give, Take, TimeLoop
from condyle.model.tree import tree_of
from condyle.runtime.cuda import driver as drivers
from tests.backends.cuda.fake_driver import FakeDriver
from tests.backends.cuda.simulate import code, on_gpu, robot, simulate

ROWS, BLOCK = 32, 32
"""States that are computed: whole warps in every form."""


def formed(function: str, lanes: int, partition: str = "completely-fused") -> Parts:
    return on_gpu(robot("iiwa14"), function, 32).launches(Form(lanes, partition))


def rolled() -> Parts:
    body = code(robot("iiwa14"), "id", False)
    loop = TimeLoop(2, (Take(0), Take(every=1), Take()), (Give(0, 1),))
    return time_loop.parts("rollout", body, loop, 32, time_loop.texts(body, time_loop.Kind.from_loop(loop), 32))


FORMS: dict[str, Callable[[], Parts]] = {
    "thread": lambda: formed("id", 1),
    "group2": lambda: formed("id", 2),
    "group32": lambda: formed("id", 32),
    "split": lambda: formed("difd", 1, "split"),
    "rollout": rolled,
    "links of a warp": lambda: by_links(tree_of(condyle.chain(3, rng=1)), FUNCTIONS["dfd"], "float32"),
    "links of a block": lambda: by_links(tree_of(condyle.chain(34, rng=1)), FUNCTIONS["id"], "float32"),
}


def given(parts: Parts) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.uniform(-1, 1, (ROWS, array.size)).astype(np.float32) for array in parts.inputs]


@pytest.mark.parametrize("form", FORMS)
def test_the_first_and_the_last_rows_of_the_largest_launch(form: str) -> None:
    """They are those of a small batch, to the bit."""
    parts = FORMS[form]()
    inputs = given(parts)
    wanted = simulate(parts, inputs, BLOCK)
    beyond = parts.most - ROWS
    for before in (0, beyond // ROWS * ROWS):
        got = simulate(parts, inputs, BLOCK, before=before, after=beyond - before)
        for array, want in zip(got, wanted, strict=True):
            np.testing.assert_array_equal(array, want)


@pytest.mark.parametrize("n", [1, (1 << 31) - 1, 1 << 31, 5 << 30])
@pytest.mark.parametrize("form", FORMS)
def test_every_row_is_in_one_launch_of_allowed_size(
    fake: FakeDriver, monkeypatch: pytest.MonkeyPatch, form: str, n: int
) -> None:
    parts = FORMS[form]()
    kernel = CudaKernel(parts, drivers.gpu(0), np.dtype("float32"))
    launched: dict[int, list[tuple[int, ...]]] = {}

    def launch(function: int, grid: int, gy: int, gz: int, block: int, *others: int) -> tuple[int]:
        assert block * grid < 1 << 32
        assert grid <= drivers.MOST_BLOCKS
        pointers = (ctypes.c_void_p * 3).from_address(others[4])
        states, _, address = (ctypes.c_uint64.from_address(pointer).value for pointer in pointers)
        launched.setdefault(function, []).append((states, address))
        return (0,)

    monkeypatch.setattr(fake, "cuLaunchKernel", launch, raising=False)
    monkeypatch.setattr("condyle.backends.cuda.kernel.SCRATCH_BYTES", 1 << 60)
    monkeypatch.setattr(fake, "cuMemAllocFromPoolAsync", lambda size, pool, stream: (0, 1 << 50), raising=False)
    monkeypatch.setattr(fake, "cuMemFreeAsync", lambda address, stream: (0,), raising=False)
    shared = [False] * len(parts.inputs)
    kernel.launches_of(n, shared)([0] * len((*parts.inputs, *parts.outputs)), 0)
    first = parts.launches[0]
    stride = first.reads[0].size * 4
    pieces = launched[int(kernel.launches[0].function.handle)]  # type: ignore[call-overload]
    assert sum(states for states, _ in pieces) == n
    ends = [address // stride + states for states, address in pieces]
    assert [address // stride for _, address in pieces] == [0, *ends[:-1]]
    assert max(states for states, _ in pieces) <= parts.most
    strides = [array.size * 4 for array in parts.inputs]
    assert scratch_bytes(kernel, n) == min(n, parts.most) * kernel.sizes.scratch
    assert len(planned(kernel, n, strides)) == len(pieces) * len(kernel.launches)


def test_no_states_are_no_launch(fake: FakeDriver) -> None:
    kernel = CudaKernel(formed("difd", 1, "split"), drivers.gpu(0), np.dtype("float32"))
    none = [0] * len(kernel.parts.inputs)
    with kernel.gpu.current():
        kernel.launches_of(0, [False] * len(none))([*none, *[0] * len(kernel.parts.outputs)], 0)
    kernel(0, [np.zeros((0, 7), np.float32)] * len(none), [np.zeros((0, 7), np.float32)] * 2, 1)
    assert planned(kernel, 0, none) == []
    assert "cuLaunchKernel" not in fake.calls
