"""What the driver is asked, call by call: by a driver that answers numbers and keeps its arguments."""

from __future__ import annotations

from collections import deque
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from condyle.errors import DeviceError
from condyle.runtime.cuda import stage
from condyle.runtime.cuda.arrays import DeviceArray
from condyle.runtime.cuda.driver import POOL_KEEPS, Driver, Gpu, Pinned, Released, relaxed, wait
from condyle.runtime.cuda.stage import Slot, free_released, scratch

F8 = np.dtype("f8")


class Names:
    """An enumeration whose members are their own names."""

    def __getattr__(self, name: str) -> str:
        return name


class Api:
    """Answers by name; every call is kept. Enumerations are those names that are no functions."""

    def __init__(self, **answers: Any) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.answers = {
            "cuDeviceGetCount": 4, "cuDeviceGet": "device", "cuDriverGetVersion": 12040, "cuDevicePrimaryCtxRetain": 70,
            "cuMemAllocFromPoolAsync": 4096, "cuMemPoolCreate": "pool", "cuEventCreate": "event", "cuStreamCreate": 9,
            "cuThreadExchangeStreamCaptureMode": "before", "cuModuleLoadData": "module", "cuModuleGetFunction": "code",
            "cuFuncGetAttribute": 512, "cuDeviceGetName": b"A chip\0\0", "cuStreamIsCapturing": "none",
            "cuDeviceGetAttribute": 9, **answers,
        }  # fmt: skip

    def __getattr__(self, name: str) -> Any:
        if name in ("CUmemPoolProps", "cuuint64_t"):
            return lambda *given: SimpleNamespace(location=SimpleNamespace()) if not given else ("u64", *given)
        if not name.startswith("cu"):
            return Names()

        def call(*arguments: Any) -> tuple[Any, ...]:
            self.calls.append((name, *arguments))
            answer = self.answers.get(name, ())
            answer = answer(*arguments) if callable(answer) else answer
            return (0, *answer) if isinstance(answer, tuple) else (0, answer)

        return call

    def since(self) -> list[tuple[Any, ...]]:
        """The calls since it was last asked."""
        found, self.calls = [call for call in self.calls if "Ctx" not in call[0]], []
        return found


@pytest.fixture
def api() -> Api:
    return Api()


@pytest.fixture
def gpu(api: Api) -> Gpu:
    one = Gpu(Driver(api), 3)  # type: ignore[arg-type]
    one.no_capture = 0, "none"
    api.calls.clear()
    return one


def test_a_gpu_is_asked_for_what_kernels_need() -> None:
    numbers = {"COMPUTE_CAPABILITY_MAJOR": 9, "COMPUTE_CAPABILITY_MINOR": 1}
    numbers |= {"MULTIPROCESSOR_COUNT": 132, "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": 232448}
    attributes = {f"CU_DEVICE_ATTRIBUTE_{name}": number for name, number in numbers.items()}
    api = Api(cuDeviceGetAttribute=lambda key, device: attributes[key], cuDeviceGetName=b"A \xff chip\0\0rest")
    one = Gpu(Driver(api), 3)  # type: ignore[arg-type]
    assert (one.arch, one.multiprocessors, one.shared_bytes, one.toolkit) == ("sm_91", 132, 232448, 12)
    assert (one.index, one.context, one.name, one.released) == (3, 70, "A \N{REPLACEMENT CHARACTER} chip", deque())
    assert api.calls[-1] == ("cuDeviceGetName", 100, "device")
    assert ("cuDeviceGet", 3) in api.calls and ("cuDevicePrimaryCtxRetain", "device") in api.calls


@pytest.mark.parametrize(
    ("answers", "index", "said"),
    [
        ({}, 4, "device=4: this machine has 4 GPUs, numbered from 0"),
        ({}, -1, "device=-1: this machine has 4 GPUs"),
        ({"cuDeviceGetAttribute": 7}, 0, r"device=0 has compute capability 7\.7; needed is 8\.0 or later"),
        ({"cuDriverGetVersion": 11030}, 0, r"the driver is for CUDA 11\.3, which is too old"),
        ({"cuDriverGetVersion": 10120}, 0, r"the driver is for CUDA 10\.12, which is too old"),
    ],
)
def test_what_kernels_do_not_run_on(answers: dict[str, Any], index: int, said: str) -> None:
    with pytest.raises(DeviceError, match=said):
        Gpu(Driver(Api(**answers)), index)  # type: ignore[arg-type]


def test_the_oldest_that_kernels_run_on() -> None:
    api = Api(cuDriverGetVersion=11040, cuDeviceGetAttribute=lambda key, _: 8 if key.endswith("MAJOR") else 0)
    assert [Gpu(Driver(api), index).arch for index in (0, 3)] == ["sm_80"] * 2  # type: ignore[arg-type]


def test_a_kernel_is_loaded_with_all_shared_memory_where_it_has_tiles(api: Api, gpu: Gpu) -> None:
    shared = "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES"
    carve = "CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT"
    for size in (0, 100):
        made = gpu.function(b"image", "step", size)
        more = [("cuFuncSetAttribute", "code", carve, "CU_SHAREDMEM_CARVEOUT_MAX_SHARED")] if size else []
        assert api.since() == [
            ("cuModuleLoadData", b"image"),
            ("cuModuleGetFunction", "module", b"step"),
            ("cuFuncSetAttribute", "code", shared, size),
            *more,
            ("cuFuncGetAttribute", "CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK", "code"),
        ]
        assert (made.handle, made.name, made.most_threads, made.most_shared) == ("code", "step", 512, size)


def test_the_pool_is_ours_and_keeps_its_memory(api: Api, gpu: Gpu) -> None:
    assert gpu.pool == gpu.pool == "pool"
    created, kept = api.since()
    properties = created[1]
    assert created[0] == "cuMemPoolCreate" and properties.allocType == "CU_MEM_ALLOCATION_TYPE_PINNED"
    assert (properties.location.type, properties.location.id) == ("CU_MEM_LOCATION_TYPE_DEVICE", 3)
    key = "CU_MEMPOOL_ATTR_RELEASE_THRESHOLD"
    assert kept == ("cuMemPoolSetAttribute", "pool", key, ("u64", POOL_KEEPS))


def waited(stream: int, other: int) -> list[tuple[Any, ...]]:
    return [
        ("cuEventCreate", "CU_EVENT_DISABLE_TIMING"),
        ("cuEventRecord", "event", other),
        ("cuStreamWaitEvent", stream, "event", 0),
        ("cuEventDestroy", "event"),
    ]


def test_streams_wait_for_all_others_by_events(api: Api, gpu: Gpu) -> None:
    wait(gpu, 5, {5})
    assert api.since() == []
    wait(gpu, 5, {5, 6})
    assert api.since() == waited(5, 6)


def test_a_mode_of_captures_is_put_back(api: Api, gpu: Gpu) -> None:
    exchange = "cuThreadExchangeStreamCaptureMode"
    with pytest.raises(ValueError, match="x"), relaxed(gpu):
        raise ValueError("x")
    assert api.since() == [(exchange, "CU_STREAM_CAPTURE_MODE_RELAXED"), (exchange, "before")]


def test_memory_for_launches_comes_and_goes_in_their_stream(api: Api, gpu: Gpu) -> None:
    with scratch(gpu, 0, 5) as address:
        assert address == 0
    assert api.since() == []
    with pytest.raises(ValueError, match="4096"), scratch(gpu, 1, 5) as address:
        raise ValueError(address)
    assert api.since()[-2:] == [("cuMemAllocFromPoolAsync", 1, "pool", 5), ("cuMemFreeAsync", 4096, 5)]


def test_released_memory_goes_in_a_stream_that_is_left(api: Api, gpu: Gpu) -> None:
    states = {5: "none", 6: "none", 7: "gone", 8: "captured"}

    def capturing(stream: int) -> Any:
        return states.get(stream, "none")

    class Capturing(Api):
        def __getattr__(self, name: str) -> Any:
            if name == "cuStreamIsCapturing":
                return lambda stream: (700, 0) if capturing(stream) == "gone" else (0, capturing(stream))
            return super().__getattr__(name)

    api = Capturing()
    gpu.driver = Driver(api)  # type: ignore[arg-type]

    def released(stream: int, *streams: int) -> None:
        gpu.released.append(Released(100, stream, dict.fromkeys(streams)))
        free_released(gpu)

    released(5, 5, 6)
    assert api.since() == [*waited(5, 6), ("cuMemFreeAsync", 100, 5)]
    released(7, 7, 6)
    assert api.since() == [("cuMemFreeAsync", 100, 6)]
    released(7, 7)
    assert api.since() == [("cuMemFreeAsync", 100, 0)], "the default stream where no other is left"
    released(5, 5, 8)
    assert api.since() == [] and len(gpu.released) == 1, "not while a graph is captured"
    states[8] = "none"
    free_released(gpu)
    assert api.since() == [*waited(5, 8), ("cuMemFreeAsync", 100, 5)] and not gpu.released


def test_an_array_says_where_and_how_it_lies(api: Api, gpu: Gpu) -> None:
    made = DeviceArray(gpu, (2, 3), np.dtype("f4"), 5)
    assert (made.device, made.nbytes, made.layout) == (3, 24, ((2, 3), None, "<f4", False))
    assert api.since()[-1] == ("cuMemAllocFromPoolAsync", 24, "pool", 5)
    shape = {"shape": (2, 3), "typestr": "<f4", "data": (4096, False), "strides": None, "version": 3, "stream": 5}
    assert made.is_ready_in(5) and made.__cuda_array_interface__ == shape
    assert not made.is_ready_in(5) and made._streams == {5: None, 0: None}, "a borrower may write it anew"
    assert made.__dlpack_device__() == (2, 3)
    assert DeviceArray(gpu, (2,), F8, 0).__cuda_array_interface__["stream"] == 1, "0 stands for none there"
    for options in ({"copy": True}, {"dl_device": (2, 0)}, {"dl_device": (1, 3)}):
        with pytest.raises(BufferError, match="lent as it is: no copy, no other device"):
            made.__dlpack__(**options)
    api.since()
    made.__dlpack__(stream=6, dl_device=(2, 3), copy=False)
    assert api.since() == waited(6, 5)
    made.__dlpack__(stream=-1)
    assert api.since() == []
    nothing = DeviceArray(gpu, (0, 3), np.dtype("f4"), 5)
    assert nothing.address == 0 and (nothing.numpy().shape, nothing.numpy().dtype) == ((0, 3), np.float32)
    assert api.since() == []


def test_an_array_is_used_in_streams_that_live_as_long(gpu: Gpu) -> None:
    first, second = object(), object()
    made = DeviceArray(gpu, (1,), F8, 5, first)
    assert not made.is_ready_in(6)
    made.used_in(6)
    assert made.is_ready_in(5) and made.is_ready_in(6) and made.stream == 5
    assert made._streams == {5: first, 6: None}
    made.used_in(5)
    assert made._streams == {5: first, 6: None}, "an owner that is known stays"
    made.used_in(6, second)
    made.written_in(7)
    assert made._streams == {5: first, 6: second, 7: None} and made.stream == 7
    assert [made.is_ready_in(stream) for stream in (5, 6, 7)] == [False, False, True]
    made.written_in(7, first)
    made.written_in(7)
    assert made._streams[7] is first


def test_rows_travel_through_pinned_memory_unless_they_lie_there(api: Api, gpu: Gpu) -> None:
    host, back = (np.zeros(8) for _ in range(2))
    memory = {"cuMemHostAlloc": iter((host.ctypes.data, back.ctypes.data)), "cuMemAlloc": iter((1000, 2000))}
    api.answers |= {name: lambda *_, rest=rest: next(rest) for name, rest in memory.items()}
    slot = Slot.create(gpu)
    assert api.since() == [("cuStreamCreate", "CU_STREAM_NON_BLOCKING")] and (slot.stream, slot.busy) == (9, False)
    for name in ("host in", "host out", "in", "out"):
        slot.reserve(name, 64)
        slot.reserve(name, 64)
        slot.reserve(name, 8)
    asked = [("cuMemHostAlloc", 64, 0)] * 2 + [("cuMemAlloc", 64)] * 2
    assert api.since() == asked
    first, second, third = np.arange(2.0), np.arange(2.0, 5.0), np.arange(3.0)
    assert slot.send([first, second, third], [False, False, True]) == [1000, 1016, 1040]
    assert host.tolist() == [0, 1, 2, 3, 4, 0, 0, 0] and slot.busy
    copies = [
        ("cuMemcpyHtoDAsync", 1000, host.ctypes.data, 40, 9),
        ("cuMemcpyHtoDAsync", 1040, third.ctypes.data, 24, 9),
    ]
    assert api.since() == copies, "neighbours as one"
    assert slot.places([16, 24], "out") == [2000, 2016] and slot.places([], "none") == []
    outputs = [np.zeros(2), np.zeros(3)]
    slot.receive(outputs, [False, True])
    back[:2] = 7.0, 8.0
    assert api.since() == [
        ("cuMemcpyDtoHAsync", back.ctypes.data, 2000, 16, 9),
        ("cuMemcpyDtoHAsync", outputs[1].ctypes.data, 2016, 24, 9),
    ]
    assert outputs[0].tolist() == [0.0, 0.0]
    slot.finish()
    assert outputs[0].tolist() == [7.0, 8.0] and not slot.busy and slot.late == []
    slot.finish()
    slot.give_up()
    assert api.since() == [("cuStreamSynchronize", 9)]
    slot.busy, slot.late = True, [(outputs[0], 1)]
    slot.give_up()
    assert api.since() == [("cuStreamSynchronize", 9)] and (slot.busy, slot.late) == (False, [])
    del slot
    freed = [("cuMemFreeHost", host.ctypes.data), ("cuMemFreeHost", back.ctypes.data)]
    mode = "cuThreadExchangeStreamCaptureMode"
    assert api.since() == [
        (mode, "CU_STREAM_CAPTURE_MODE_RELAXED"), *freed, ("cuMemFree", 1000), ("cuMemFree", 2000),
        ("cuStreamDestroy", 9), (mode, "before"),
    ]  # fmt: skip


def test_pinned_rows_are_so_from_their_first_byte_to_their_last(api: Api, gpu: Gpu) -> None:
    rows = np.zeros(3)
    address, asked = rows.ctypes.data, list[int]()
    for first, last, pinned in ((True, True, True), (True, False, False), (False, True, False)):
        host = {address: first, address + 23: last}
        kind = {True: "CU_MEMORYTYPE_HOST", False: "CU_MEMORYTYPE_DEVICE"}
        api.answers["cuPointerGetAttribute"] = lambda key, at, host=host, kind=kind: asked.append(at) or kind[host[at]]
        known = Pinned(gpu)
        assert known.has(rows) is pinned
        assert known.has(rows) is pinned
    assert asked == [address, address + 23] + [address, address + 23] * 2 + [address] * 2, "only a yes is remembered"


def test_rows_at_an_address_are_that_memory() -> None:
    numbers = np.arange(6.0)
    rows = stage._rows(numbers.ctypes.data, (2, 3), F8)
    rows[1, 2] = 9.0
    assert numbers[5] == 9.0 and rows.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 9.0]]
    assert stage._rows(0, (0, 3), F8).shape == (0, 3)
