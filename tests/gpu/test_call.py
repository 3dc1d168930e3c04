"""Target "cuda": whole calls with arrays of the processor, on a driver that computes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import condyle
from condyle.backends.cuda import kernel as kernels
from condyle.errors import UnsupportedError
from condyle.functions import DEFAULT
from condyle.runtime.cuda import driver as drivers
from tests.backends.cuda.fake_driver import FakeDriver
from tests.backends.cuda.simulate import made, robot
from tests.gpu.calls import dynamics, given, on_gpu, same, wanted


@pytest.mark.parametrize("function", DEFAULT)
def test_every_function(fake: FakeDriver, function: str) -> None:
    arguments = given(function, 40)
    same(dynamics().function(function)(*arguments), wanted(function, arguments))


def test_transfers_take_turns(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    dyn = dynamics()
    for most in (7_000, 20_000):
        monkeypatch.setattr(kernels, "MOST_TRANSFER", most)
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
    monkeypatch.setattr(kernels, "MOST_TRANSFER", 60_000)
    arguments = given("dfd", 40)
    dyn = dynamics(kernels={"dfd": "thread split"})
    same(dyn.forward_dynamics_derivatives(*arguments), wanted("dfd", arguments))
    assert fake.calls.count("cuModuleLoadData") == 4
    answers = dyn.forward_dynamics_derivatives(*(on_gpu(fake, array) for array in arguments))
    same(tuple(one.numpy() for one in answers), wanted("dfd", arguments))
    assert fake.calls.count("cuMemFreeAsync") == 1
    monkeypatch.setattr(kernels, "SCRATCH_BYTES", 10_000)  # in pieces, one row of them for all
    answers = dyn.forward_dynamics_derivatives(*(on_gpu(fake, array) for array in (arguments[0][:1], *arguments[1:])))
    same(tuple(one.numpy() for one in answers), wanted("dfd", [np.repeat(arguments[0][:1], 40, 0), *arguments[1:]]))


def test_blocks_leave_no_shared_memory_idle(fake: FakeDriver) -> None:
    """Of several sizes that which lets most warps onto a multiprocessor, up to eight; on this one 99 KB are shared."""
    (part,) = made(robot("iiwa14"), "id", 32).launches
    for pool, warps in ((1_000, 4), (12_000, 4), (14_000, 1), (16_000, 2), (24_000, 4), (30_000, 1)):
        text = dataclasses.replace(part.texts[0], pool=pool)
        assert kernels.loaded(dataclasses.replace(part, texts=(text,)), drivers.gpu(0)).warps == warps


@pytest.mark.smoke
def test_named_kernels(fake: FakeDriver) -> None:
    """The same answers, to the bit where one kernel does it all; words that say nothing are refused."""
    arguments = given("dfd", 9)
    one = dynamics(kernels="thread").forward_dynamics_derivatives(*arguments)
    two = dynamics(kernels={"dfd": "group8"}).forward_dynamics_derivatives(*arguments)
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))
    for words, match in (("group3", "group2"), ("split", "does not say"), ("thread group", "can be one of")):
        with pytest.raises(UnsupportedError, match=match):
            dynamics(kernels=words)
    with pytest.raises(UnsupportedError, match="fused"):
        dynamics(kernels={"dfd": "fused split"})
    with pytest.raises(UnsupportedError, match="there are id"):
        dynamics(kernels={"fastest": "group"})
    with pytest.raises(UnsupportedError, match="leave them out"):
        condyle.load("iiwa14").compile(kernels="group")


def test_forms_are_said(fake: FakeDriver) -> None:
    said = dict(line.split(maxsplit=1) for line in dynamics("float32", {"dfd": "split"}).explain(7).splitlines()[1:])
    assert " split, estimated " in said["dfd"] and "unmeasured" in said["dfd"]
    assert ", group" in said["did"] and ", thread, " in dynamics("float32").explain(1 << 20)
