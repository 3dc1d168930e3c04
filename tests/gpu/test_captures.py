"""Graphs: what a captured call does, what it owns, and that nothing that ends meanwhile breaks a capture."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from condyle.backends.cuda import kernel as kernels
from condyle.errors import DeviceError, UnsupportedError
from condyle.runtime.cuda import driver as drivers
from condyle.runtime.cuda.arrays import DeviceArray
from condyle.runtime.cuda.stage import Slot
from tests.backends.cuda.fake_driver import FakeDriver
from tests.backends.cuda.fake_streams import OK
from tests.gpu.calls import dynamics, given, on_gpu, same, wanted
from tests.gpu.foreign import Foreign
from tests.gpu.test_order import SPLIT, WAITS

pytestmark = pytest.mark.usefixtures("small_heap")

ALLOCATES = {"cuMemAlloc", "cuMemAllocAsync", "cuMemAllocFromPoolAsync", "cuMemFreeAsync", "cuMemHostAlloc"}
BLOCKING = 6
"""A stream of a user that waits for stream 0; all others do not."""


def test_a_graph_is_captured_and_launched_again(fake: FakeDriver) -> None:
    dyn = dynamics().on(5)
    arguments = given("did", 20)
    lent = [Foreign(fake, array) for array in arguments]
    outs = tuple(Foreign(fake, np.zeros((20, 7, 7))) for _ in range(2))
    dyn.inverse_dynamics_derivatives(*lent, out=outs)
    fake.cuStreamBeginCapture(5, 0)
    fake.calls.clear()
    dyn.inverse_dynamics_derivatives(*lent, out=outs)
    dyn.inverse_dynamics_derivatives(*lent, out=outs)
    assert not (WAITS | ALLOCATES | {"cuEventRecord", "cuStreamWaitEvent"}) & set(fake.calls)
    assert lent[0].streams == [5, -1, -1]  # nobody waits for anybody
    with pytest.raises(UnsupportedError, match="pass out="):
        dyn.inverse_dynamics_derivatives(*lent)
    status, graph = fake.cuStreamEndCapture(5)
    assert status == OK
    assert len(fake.graphs[graph].work) == 2
    for seed in (1, 2):
        changed = given("did", 20, seed=seed)
        for one, array in zip(lent, changed, strict=True):
            one.host[:] = array
        fake.cuGraphLaunch(graph, 5)
        fake.reach(5)
        same(tuple(out.host for out in outs), wanted("did", changed))


@pytest.mark.slow
def test_scratch_goes_with_its_graph(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many graphs are captured, only those that are there hold memory."""
    monkeypatch.setattr(kernels, "SCRATCH_BYTES", 10_000)  # a piece of 11 states
    dyn = dynamics(kernels=SPLIT).on(5)
    arguments = given("dfd", 20)
    lent = [Foreign(fake, array) for array in arguments]
    outs = tuple(Foreign(fake, np.zeros((20, 7, 7))) for _ in range(3))
    dyn.forward_dynamics_derivatives(*lent, out=outs)
    fake.reach(5)
    same(tuple(out.host for out in outs), wanted("dfd", arguments))
    used = fake.used
    for _ in range(3):
        fake.cuStreamBeginCapture(5, 0)
        fake.calls.clear()
        for _ in range(2):
            dyn.forward_dynamics_derivatives(*lent, out=outs)
        assert not WAITS & set(fake.calls)
        status, graph = fake.cuStreamEndCapture(5)
        assert status == OK
        _, ready = fake.cuGraphInstantiate(graph, 0)
        fake.cuGraphDestroy(graph)
        for _ in range(2):
            for out in outs:
                out.host[:] = 0
            fake.cuGraphLaunch(ready, 5)
            fake.reach(5)
            same(tuple(out.host for out in outs), wanted("dfd", arguments))
        assert fake.used == used + 2 * 11 * 8 * (7 + 2 * 49)
        fake.cuGraphExecDestroy(ready)
        assert fake.used == used


class Ends:
    """Arrays that a user gives up while a graph is captured."""

    def __init__(self, fake: FakeDriver) -> None:
        self.fake, self.dyn = fake, dynamics()
        self.lent = [on_gpu(fake, array) for array in given("id", 4)]

    def answer(self, stream: int, reader: int | None = None) -> DeviceArray:
        """In one stream, lent to another."""
        array = self.dyn.on(stream).inverse_dynamics(*self.lent)
        assert isinstance(array, DeviceArray)
        if reader is not None:
            array.__dlpack__(stream=reader or 1)
        return array


@pytest.mark.parametrize(("stream", "reader"), [(5, None), (7, 5), (5, 7), (0, None), (7, 0), (7, None), (0, 5)])
@pytest.mark.parametrize("captured", [5, BLOCKING])
def test_answers_that_end_during_a_capture(fake: FakeDriver, stream: int, reader: int | None, captured: int) -> None:
    """The capture stays valid and has only its own work; the memory is freed at once, or by the next call after it."""
    fake.blocking.add(BLOCKING)
    ends = Ends(fake)
    base = fake.used
    array = ends.answer(stream, reader)
    fake.cuStreamBeginCapture(captured, 0)
    del array
    gc.collect()
    concerned = captured in (stream, reader) or (captured == BLOCKING and 0 in (stream, reader))
    assert len(drivers.gpu(0).released) == concerned
    status, graph = fake.cuStreamEndCapture(captured)
    assert status == OK
    assert not fake.graphs[graph].work
    ends.answer(7)
    gc.collect()
    fake.reach_all()
    assert fake.used == base


def test_kernels_and_pinned_arrays_that_end_during_a_capture(fake: FakeDriver) -> None:
    """They wait for work of their own and free memory, which the driver calls unsafe: allowed for the time of it."""
    dyn = dynamics()
    dyn.inverse_dynamics(*given("id", 4))
    pinned = dyn.pinned("id", 3)
    slot = Slot.create(drivers.gpu(0))
    slot.busy = True
    assert fake.used
    assert fake.host
    fake.cuStreamBeginCapture(5, 0)
    del dyn, pinned, slot
    gc.collect()
    assert not fake.used
    assert not fake.host
    assert fake.cuStreamEndCapture(5)[0] == OK
    assert len(fake.gone) == 2  # that of the one transfer, and of the slot


class OwnedStream:
    """A stream that ends with its object, as those of CuPy do."""

    def __init__(self, fake: FakeDriver) -> None:
        self.fake = fake
        _, self.ptr = fake.cuStreamCreate(0)

    def __del__(self) -> None:
        self.fake.cuStreamDestroy(self.ptr)


def test_streams_live_as_long_as_answers(fake: FakeDriver) -> None:
    """An answer that was computed in one stream and used in another, when nobody else holds them."""
    dyn = dynamics()
    lent = [on_gpu(fake, array) for array in given("id", 4)]
    array = dyn.on(OwnedStream(fake)).inverse_dynamics(*lent)
    dyn.on(OwnedStream(fake)).inverse_dynamics(lent[0], lent[1], array)
    gc.collect()
    base = fake.used
    del array
    gc.collect()
    fake.reach_all()
    assert fake.used < base
    assert len(fake.gone) == 2
    assert not fake.faults


def test_a_stream_that_is_gone_is_left_out(fake: FakeDriver) -> None:
    """It was named by a number; the driver notices that there is none of that number."""
    dyn = dynamics()
    _, stream = fake.cuStreamCreate(0)
    array = dyn.on(stream).inverse_dynamics(*(on_gpu(fake, array) for array in given("id", 4)))
    base = fake.used
    fake.cuStreamDestroy(stream)
    del array
    fake.reach_all()
    assert fake.used < base


def test_a_call_in_a_stream_that_is_gone(fake: FakeDriver) -> None:
    dyn = dynamics()
    _, stream = fake.cuStreamCreate(0)
    fake.cuStreamDestroy(stream)
    with pytest.raises(DeviceError, match="the stream was destroyed"):
        dyn.on(stream).inverse_dynamics(*(on_gpu(fake, array) for array in given("id", 4)))
    fake.faults.clear()  # that of the user


def test_the_fake_driver_breaks_captures(fake: FakeDriver) -> None:
    """By what the documentation forbids: unsafe calls, work in stream 0, streams that do not come back."""
    gpu = drivers.gpu(0)
    fake.blocking.add(BLOCKING)
    with gpu.current():
        address = fake.cuMemAlloc(8)[1]
        for what in (
            lambda: fake.cuMemFree(address),
            lambda: fake.cuMemAlloc(8),
            lambda: fake.cuEventRecord(event, 0),
            lambda: (fake.cuEventRecord(event, BLOCKING), fake.cuStreamWaitEvent(7, event, 0)),
            lambda: fake.cuMemFreeAsync(address, BLOCKING),
            lambda: fake.cuStreamSynchronize(7),
        ):
            _, event = fake.cuEventCreate(0)
            fake.cuStreamBeginCapture(BLOCKING, 0)
            what()
            assert fake.cuStreamEndCapture(BLOCKING)[0] != OK
        fake.cuMemFree(address)
