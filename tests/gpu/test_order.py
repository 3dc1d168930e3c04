"""Transfers and memory: nothing is waited for or allocated that need not be."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from condyle.backends.cuda import kernel as kernels
from condyle.errors import UnsupportedError
from condyle.functions import DEFAULT
from tests.backends.cuda.fake_driver import FakeDriver
from tests.gpu.calls import dynamics, given, on_gpu, same, wanted
from tests.gpu.foreign import Foreign

WAITS = {"cuStreamSynchronize", "cuCtxSynchronize", "cuEventSynchronize", "cuMemFree", "cuMemcpyDtoH", "cuMemcpyHtoD"}

SPLIT = {"dfd": "thread split"}
"""Small functions are launched as those of large robots are: several kernels, with scratch."""


def test_calls_on_the_gpu_do_not_wait(fake: FakeDriver) -> None:
    dyn = dynamics()
    lent = [Foreign(fake, array) for array in given("id", 20)]
    dyn.inverse_dynamics(*lent)
    fake.calls.clear()
    first = dyn.inverse_dynamics(*lent)
    dyn.forward_dynamics(lent[0], lent[1], first)
    assert not WAITS & set(fake.calls)


@pytest.mark.parametrize("n", [0, 1, 500])
@pytest.mark.parametrize("function", ["id", "m", "dfd"])
def test_memory_is_known_before(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch, function: str, n: int) -> None:
    """To the byte what the driver is asked for: arrays there with scratch, and transfers of the processor's arrays."""
    monkeypatch.setattr(kernels, "LEAST_TRANSFER", 20_000)
    monkeypatch.setattr(kernels, "MOST_TRANSFER", 300_000)
    monkeypatch.setattr(kernels, "SCRATCH_BYTES", 50_000)
    arguments = given(function, n)
    dyn = dynamics(kernels=SPLIT)
    dyn.function(function)(*arguments)
    assert fake.used == dyn.stage_memory(n)[function]
    del dyn
    gc.collect()  # a compiler keeps the kernels that it made
    fake.used = most = 0
    dyn = dynamics(kernels=SPLIT)
    allocate = fake.allocated

    def watched(size: int) -> object:
        nonlocal most
        answer = allocate(size)
        most = max(most, fake.used)
        return answer

    monkeypatch.setattr(fake, "allocated", watched)
    answers = dyn.function(function)(*(Foreign(fake, array) for array in arguments))
    assert most + sum(array.nbytes for array in arguments) == dyn.memory(n)[function]
    del answers


def test_pinned_arrays(fake: FakeDriver) -> None:
    """Nothing is staged; all inputs travel in one transfer, all outputs in one."""
    dyn = dynamics()
    n = 37
    *inputs, output = dyn.pinned("id", n)
    arguments = given("id", n)
    for one, array in zip(inputs, arguments, strict=True):
        assert (one.shape, one.dtype) == (array.shape, array.dtype)
        one[:] = array
    fake.calls.clear()
    assert dyn.inverse_dynamics(*inputs, out=output) is output
    same(output, wanted("id", arguments))
    assert "cuMemHostAlloc" not in fake.calls
    assert (fake.calls.count("cuMemcpyHtoDAsync"), fake.calls.count("cuMemcpyDtoHAsync")) == (1, 1)
    assert fake.calls.count("cuStreamSynchronize") == 1
    fake.calls.clear()
    dyn.inverse_dynamics(*inputs, out=output)
    assert "cuPointerGetAttribute" not in fake.calls[fake.calls.index("cuCtxPushCurrent") :]  # they are known
    assert len(fake.host) == 1
    del inputs, output, one
    assert not fake.host
    assert [array.shape for array in dyn.pinned("dfd", 0)] == [(0, 7)] * 3 + [(0, 7, 7)] * 3


@pytest.mark.slow
def test_pinned_and_other_arrays_in_transfers(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every mixture, also rows that are not dense, in many transfers."""
    monkeypatch.setattr(kernels, "LEAST_TRANSFER", 1_000)
    monkeypatch.setattr(kernels, "MOST_TRANSFER", 2_000)
    dyn = dynamics()
    n = 77
    q, v, tau, a = dyn.pinned("fd", n)
    arguments = given("fd", n)
    q[:], v[:], tau[:] = arguments
    for mixture in ((q, v, tau), (q, arguments[1], tau), (arguments[0], v, arguments[2]), (q[:1], v, tau)):
        want = wanted("fd", [np.array(one) for one in mixture])
        a[:] = 0
        same(dyn.forward_dynamics(*mixture, out=a), want)
        same(dyn.forward_dynamics(*mixture), want)
    wide = np.zeros((n, 14))
    same(dyn.forward_dynamics(q, v, tau, out=wide[:, ::2]), wanted("fd", arguments))


def test_what_runs_is_said(fake: FakeDriver) -> None:
    dyn = dynamics("float32", SPLIT)
    assert "target cuda, float32, batch of 7, GPU 0" in dyn.explain(7)
    assert dyn.memory(10)["id"] == 10 * 4 * 28
    assert dyn.memory(10)["dfd"] == 10 * 4 * (3 * 7 + 3 * 7**2 + 7 + 2 * 7**2)  # the scratch too
    assert set(dyn.stage_memory(3)) == set(dyn.signature) >= set(DEFAULT)
    with pytest.raises(UnsupportedError, match="packed"):
        dyn.pack(np.zeros((4, 7)))


def test_two_calls_at_once_wait_for_each_other(fake: FakeDriver) -> None:
    """A stream that an array names is waited for by the one that is used."""
    dyn = dynamics().on(5)
    q, v, a = given("id", 8)
    late = on_gpu(fake, np.zeros((8, 7)), stream=7)
    fake.put(7, lambda: late.host.__setitem__(slice(None), q))
    answer = dyn.inverse_dynamics(late, on_gpu(fake, v), on_gpu(fake, a))
    same(answer.numpy(), wanted("id", [q, v, a]))
