"""The parts of a call on a GPU, each for itself: names, streams, pinned memory, layouts, batches, overlaps."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.calls.gpu import _batch, _check_apart
from condyle.errors import CondyleError, DeviceError, DTypeError, ShapeError, UnsupportedError
from condyle.runtime.arrays import ArraySpec
from condyle.runtime.cuda import driver as drivers
from condyle.runtime.cuda import stage
from condyle.runtime.cuda.arrays import _dense, is_device_array, on_cuda, shape_of
from condyle.runtime.cuda.driver import Function, Gpu, Pinned, Stream, handle_of, pinned_arrays, state_of
from condyle.runtime.cuda.stage import Slot
from tests.backends.cuda.fake_driver import FakeDriver
from tests.gpu.calls import dynamics, given, on_gpu

F8 = np.dtype("f8")
SPEC = ArraySpec("q", (7,), 7)


@pytest.fixture
def gpu(fake: FakeDriver) -> Iterator[Gpu]:
    """The one that driver calls mean."""
    with drivers.gpu(0).current():
        yield drivers.gpu(0)


def test_a_driver_that_starts_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """And one whose status says that it does not is an error."""
    api = SimpleNamespace(cuInit=lambda flags: (flags,))
    monkeypatch.setattr(drivers, "import_module", lambda name: api)
    taken = drivers.driver.__wrapped__()
    assert taken.function("cuInit") is api.cuInit and taken("cuInit", 0) == ()
    api.cuInit = lambda flags: (100,)
    with pytest.raises(DeviceError, match=r"^CUDA does not start \(status 100\): no NVIDIA GPU here"):
        drivers.driver.__wrapped__()


def test_a_function_that_the_driver_lacks_is_named(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise RuntimeError("not found")

    gpu = drivers.gpu(0)
    monkeypatch.setattr(fake, "cuStreamIsCapturing", missing, raising=False)
    said = "^the driver is too old, it has no cuStreamIsCapturing: install one for CUDA 12 or later$"
    for ask in (gpu.driver.attempt, gpu.driver):
        with pytest.raises(DeviceError, match=said):
            ask("cuStreamIsCapturing", 5)


def test_an_error_that_has_no_cure_says_so() -> None:
    driver = drivers.Driver(SimpleNamespace(f=lambda: (7,), g=lambda: (SimpleNamespace(name="NO"),), h=lambda: (0, 5)))  # type: ignore
    with pytest.raises(DeviceError, match=r"^f: 7: the driver refused$"):
        driver("f")
    with pytest.raises(DeviceError, match=r"^g: NO: the driver refused$"):
        driver("g")
    assert driver("h") == (5,) and driver.number("h") == 5 and driver.attempt("f") == (7,)


@pytest.mark.parametrize(
    ("stream", "handle"),
    [
        (None, 0),
        (0, 0),
        (1, 0),
        (2, 2),
        (SimpleNamespace(ptr=7), 7),
        (SimpleNamespace(cuda_stream=1), 0),
        (SimpleNamespace(handle=6), 6),
        (SimpleNamespace(handle=SimpleNamespace(value=None)), 0),
        (SimpleNamespace(__cuda_stream__=lambda: (0, 9)), 9),
    ],
)
def test_streams_are_numbers_and_1_is_the_default_one(stream: object, handle: int) -> None:
    assert handle_of(stream) == handle


@pytest.mark.parametrize("stream", ["x", [1]])
def test_what_is_no_stream_is_refused(stream: object) -> None:
    with pytest.raises(DTypeError, match="a stream is a number"):
        handle_of(stream)


def test_states_of_streams(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = drivers.gpu(0)
    none, active = gpu.no_capture[1], object()
    implicit = gpu.driver.constant("CUresult", "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT")
    answers = {1: (0, none), 2: (0, active), 3: (implicit, none), 4: (400, none)}
    monkeypatch.setattr(fake, "cuStreamIsCapturing", lambda stream: answers[stream], raising=False)
    states = [state_of(gpu, stream) for stream in answers]
    assert states == [Stream.READY, Stream.CAPTURED, Stream.CAPTURED, Stream.GONE]


def test_launches_within_what_there_is(fake: FakeDriver) -> None:
    gpu, most = drivers.gpu(0), 2**31 - 1
    function = Function(1, "f", 256, 1000)
    gpu.check_launch(function, most, 256, 1000)
    for grid, block, shared in ((most + 1, 256, 1000), (most, 257, 1000), (most, 256, 1001)):
        asked = f"f: {grid} blocks of {block} threads and {shared} bytes of shared memory"
        with pytest.raises(DeviceError, match=f"^{asked}; sm_90 allows {most}, 256 and 1000: "):
            gpu.check_launch(function, grid, block, shared)


def test_pinned_arrays_lie_side_by_side_and_are_known(fake: FakeDriver) -> None:
    gpu = drivers.gpu(0)
    first, none, last = pinned_arrays(gpu, [(2, 3), (0, 4), (5,)], F8)
    assert (first.shape, none.shape, last.shape) == ((2, 3), (0, 4), (5,)) and not first.any() and not last.any()
    assert last.ctypes.data == first.ctypes.data + 48
    pinned = Pinned(gpu)
    assert pinned.has(first) and pinned.has(last) and pinned.has(first[1:]) and pinned.has(first)
    assert not pinned.has(none) and not pinned.has(first[:, :2]) and not pinned.has(np.zeros(5))
    assert [x.shape for x in pinned_arrays(gpu, [(0, 3)], F8)] == [(0, 3)]
    assert pinned._pinned == {(x.ctypes.data, x.nbytes) for x in (first, last, first[1:])}


def test_256_pinned_arrays_are_remembered(fake: FakeDriver) -> None:
    gpu = drivers.gpu(0)
    (rows,) = pinned_arrays(gpu, [(300,)], F8)
    pinned = Pinned(gpu)
    counts = list[int]()
    for k in range(258):
        assert pinned.has(rows[k : k + 1])
        counts.append(len(pinned._pinned))
    assert counts == [*range(1, 257), 1, 2]


@pytest.mark.parametrize(
    ("shape", "strides", "dense"),
    [
        ((4, 3), None, True),
        ((4, 3), (24, 8), True),
        ((4, 3), (32, 8), False),
        ((4, 3), (8, 32), False),
        ((4, 1), (8, 99), True),
        ((1, 3), (99, 8), True),
        ((4, 3), (8,), False),
        ((4, 0), (7, 7), True),
        ((2, 2, 2), (32, 16, 8), True),
        ((2, 2, 2), (16, 16, 8), False),
        ((), (), True),
    ],
)
def test_dense_arrays_are_in_c_order(shape: Any, strides: Any, dense: bool) -> None:
    assert _dense(shape, strides, 8) is dense


@pytest.mark.parametrize(
    ("layout", "writable", "error", "said"),
    [
        (None, False, DTypeError, "q is not on the GPU while other arguments are: pass all of them there, or none"),
        (ShapeError("odd"), False, ShapeError, "q: odd"),
        (
            TypeError("no"),
            False,
            DeviceError,
            "q does not lend its memory (no); if a gradient is recorded, pass q.detach()",
        ),
        (
            ((4, 7), None, "<f4", False),
            False,
            DTypeError,
            'q is float32, expected float64: convert it, or compile(dtype="float32")',
        ),
        (((4, 7), None, "<f2", False), False, DTypeError, "q is float16, expected float64: convert it"),
        (((4, 7), None, "odd", False), False, DTypeError, "q is odd, expected float64: convert it"),
        (((7, 4), None, "<f8", False), False, ShapeError, "q has shape (7, 4), expected (..., 7)"),
        (((), None, "<f8", False), False, ShapeError, "q has shape (), expected (..., 7)"),
        (((-1, 7), None, "<f8", False), False, ShapeError, "q has shape (-1, 7), expected (..., 7)"),
        (((4, 7), (8, 32), "<f8", False), False, ShapeError, "q is not contiguous on the GPU: pass a contiguous copy"),
        (((4, 7), None, "<f8", True), True, ShapeError, "q is read-only"),
    ],
)
def test_layouts_that_do_not_fit(layout: Any, writable: bool, error: type[CondyleError], said: str) -> None:
    with pytest.raises(error, match=rf"^{re.escape(said)}$"):
        shape_of(layout, SPEC, F8, writable)


def test_a_layout_of_doubles_does_not_fit_single_precision() -> None:
    said = 'q is float64, expected float32: convert it, or compile(dtype="float64")'
    with pytest.raises(DTypeError, match=rf"^{re.escape(said)}$"):
        shape_of(((4, 7), None, "<f8", False), SPEC, np.dtype("f4"))


def test_layouts_that_fit() -> None:
    for shape in ((7,), (4, 7), (0, 7), (2, 3, 7)):
        assert shape_of((shape, None, "<f8", True), SPEC, F8) == shape
    assert shape_of(((4, 7), (56, 8), "float64", False), SPEC, F8, True) == (4, 7)
    assert shape_of(((), None, "<f8", False), ArraySpec("dt", (), 1), F8) == ()


def test_batches_are_equal_or_one_row() -> None:
    assert _batch("f", [(4, 7), (7,), (1, 7)], [1, 1, 1]) == (4,)
    assert _batch("f", [(1, 7), (7,)], [1, 1]) == (1,) and _batch("f", [(7,)], [1]) == ()
    assert _batch("f", [(2, 3, 7), (7, 7)], [1, 2]) == (2, 3)
    assert _batch("f", [(1, 1, 7), (4, 7)], [1, 1]) == (4,) and _batch("f", [(0, 7), (1, 7)], [1, 1]) == (0,)
    for shapes, batches in (([(4, 7), (3, 7)], "(4,), (3,)"), ([(4, 7), (2, 2, 7)], "(4,), (2, 2)")):
        said = f"f: batch dimensions on the GPU must be equal, or one row: {batches}"
        with pytest.raises(ShapeError, match=f"^{re.escape(said)}$"):
            _batch("f", shapes, [1, 1])


def test_outputs_lie_apart_from_all_others() -> None:
    """Of two inputs and then two outputs: addresses and bytes. Neighbours are apart, inputs may be the same."""
    _check_apart("f", [0, 0, 8, 16], [8, 8, 8, 8], 2)
    for addresses, k in (([0, 8, 15, 100], 0), ([0, 8, 1, 100], 0), ([0, 8, 16, 23], 1), ([0, 8, 100, 7], 1)):
        with pytest.raises(ShapeError, match=rf"^f: out\[{k}\] overlaps an input or another output$"):
            _check_apart("f", addresses, [8, 8, 8, 8], 2)


def test_arrays_of_a_gpu_are_told_by_what_they_offer() -> None:
    """One that refuses to say where it lies, such as a tensor with a gradient, lies on a GPU."""
    for kind, there in ((1, False), (2, True), (3, False), (13, True)):
        array = SimpleNamespace(__dlpack_device__=lambda kind=kind: (kind, 0))
        assert is_device_array(array) is on_cuda(array) is there
    for error in (RuntimeError, BufferError, TypeError):

        def refuse(error: type[Exception] = error) -> None:
            raise error

        assert is_device_array(SimpleNamespace(__dlpack_device__=refuse))
    assert is_device_array(SimpleNamespace(__cuda_array_interface__={}))
    assert not on_cuda(3) and not is_device_array(np.zeros(3)) and not is_device_array([0.0])


def test_a_slot_grows_and_waits_before_it_gives_memory_back(gpu: Gpu) -> None:
    slot = Slot.create(gpu)
    for name in ("in", "host in"):
        slot.reserve(name, 100)
        address = slot.memory[name]
        slot.reserve(name, 100)
        slot.reserve(name, 99)
        assert slot.memory[name] == address and slot.sizes[name] == 100
        slot.busy = True
        slot.reserve(name, 101)
        assert slot.sizes[name] == 101 and not slot.busy
    assert slot.places([8, 16, 4], "in") == [slot.memory["in"] + k for k in (0, 8, 24)] and slot.places([], "out") == []
    assert stage.offsets([]) == [] and stage.offsets([3, 4]) == [0, 3]


def test_neighbours_travel_together() -> None:
    """Only where they are neighbours on both sides; those of no bytes travel not at all."""
    assert [*stage.joined([(0, 100, 8), (8, 108, 8), (24, 116, 8), (32, 124, 4)])] == [(0, 100, 16), (24, 116, 12)]
    assert [*stage.joined([(0, 100, 8), (8, 109, 8)])] == [(0, 100, 8), (8, 109, 8)]
    assert [*stage.joined([(0, 100, 0), (50, 7, 8), (58, 15, 0)])] == [(50, 7, 8)] and [*stage.joined([])] == []


def test_answers_are_as_many_as_the_function_has(fake: FakeDriver) -> None:
    dyn = dynamics()
    arguments = [on_gpu(fake, array) for array in given("dfd", 4)]
    with pytest.raises(ShapeError, match=r"^forward_dynamics_derivatives: out has 1 arrays, expected 3$"):
        dyn.forward_dynamics_derivatives(*arguments, out=on_gpu(fake, np.zeros((4, 7, 7))))  # type: ignore[arg-type]


def test_gradients_of_rollouts_are_called_in_pieces(fake: FakeDriver) -> None:
    dyn = condyle.chain(2, 0).compile(target="cuda")
    said = "its kernels are called from the processor's memory, in pieces$"
    with pytest.raises(UnsupportedError, match=said):
        dyn.memory(3, ("vjp_rollout_5_by_tau_of_step",))
    assert dyn.memory(3, ("rollout_5_by_tau_last_of_step",)) == {
        "rollout_5_by_tau_last_of_step": 3 * 8 * (4 + 10 + 1 + 4)
    }
