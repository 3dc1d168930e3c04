"""What a call on arrays of the GPU asks of the processor, counted: calls of the driver, and of functions of Condyle.

What was checked once is not checked again for the same layouts; what depends on addresses and streams always is.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import condyle
from benchmarks.gpu_host import OfDlpack
from condyle.backends.cuda import kernel as kernels
from condyle.errors import DeviceError, ShapeError
from condyle.runtime.cuda import driver as drivers
from condyle.runtime.cuda.arrays import DeviceArray
from tests.backends.cuda.fake_driver import FakeDriver
from tests.gpu.calls import dynamics, given, on_gpu, same, wanted

SOURCE = str(Path(condyle.__file__).parent)
METHODS = {"id": "inverse_dynamics", "dfd": "forward_dynamics_derivatives"}
OUTPUTS = {"id": [(7,)], "dfd": [(7, 7)] * 3}
N, STREAM = 6, 5


@pytest.fixture(autouse=True)
def no_collection() -> Iterator[None]:
    """What other tests left ends at another time: it would be counted."""
    gc.disable()
    yield
    gc.enable()


def functions_called(work: Callable[[], object]) -> int:
    """How many functions of Condyle run, but for comprehensions, which are no functions since Python 3.12."""
    names: list[str] = []

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(SOURCE):
            names.append(frame.f_code.co_name)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return sum(not name.startswith("<") for name in names)


def arrays_of(fake: FakeDriver, kind: str, shapes: Sequence[tuple[int, ...]]) -> list[Any]:
    gpu = drivers.gpu(0)
    if kind == "condyle":
        with gpu.current():
            return [DeviceArray(gpu, (N, *shape), np.dtype("float64"), STREAM) for shape in shapes]
    zeros = [np.zeros((N, *shape)) for shape in shapes]
    return [on_gpu(fake, array) if kind == "interface" else OfDlpack(array) for array in zeros]


@pytest.mark.parametrize(
    ("kind", "base", "read", "written", "asks"),
    [("condyle", 20, 1, 1, False), ("interface", 21, 0, 0, True), ("dlpack", 21, 0, 0, False)],
)
@pytest.mark.parametrize("function", METHODS)
def test_a_call_does_little(
    fake: FakeDriver,
    monkeypatch: pytest.MonkeyPatch,
    function: str,
    kind: str,
    base: int,
    read: int,
    written: int,
    asks: bool,
) -> None:
    """base: functions of a call; read, written: for each array on top. asks: whether the driver is, where they lie."""
    call = getattr(dynamics().on(STREAM), METHODS[function])
    inputs = arrays_of(fake, kind, [(7,)] * 3)
    outputs = tuple(arrays_of(fake, kind, OUTPUTS[function]))
    out = outputs[0] if len(outputs) == 1 else outputs
    call(*inputs, out=out)
    ask, asked = fake.cuPointerGetAttribute, list[int]()
    monkeypatch.setattr(fake, "cuPointerGetAttribute", lambda key, x: asked.append(x) or ask(key, x), raising=False)
    fake.calls.clear()
    call(*inputs, out=out)
    where = ["cuPointerGetAttribute"] if asks else []
    assert fake.calls == ["cuCtxPushCurrent", "cuStreamIsCapturing", *where, "cuLaunchKernel", "cuCtxPopCurrent"]
    arrays = (*inputs, *outputs) if asks else ()
    assert asked == [array.__cuda_array_interface__["data"][0] for array in arrays]
    count = functions_called(lambda: call(*inputs, out=out))
    assert 10 < count <= base + read * len(inputs) + written * len(outputs)


def test_on_a_stream_does_little(fake: FakeDriver) -> None:
    """It is called for each call, as `dyn.on(torch.cuda.current_stream())`."""
    dyn = dynamics()
    fake.calls.clear()
    assert functions_called(lambda: dyn.on(STREAM)) <= 3
    assert not fake.calls


def test_addresses_are_checked_each_time(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays of the layouts of a call that was right, elsewhere."""
    dyn = dynamics().on(STREAM)
    arguments = given("id", N)
    q, v, a, out = (on_gpu(fake, array) for array in (*arguments, np.zeros((N, 7))))
    for _ in range(2):
        dyn.inverse_dynamics(q, v, a, out=out)
        with pytest.raises(ShapeError, match=r"out\[0\] overlaps"):
            dyn.inverse_dynamics(q, v, out, out=out)
        with pytest.raises(DeviceError, match="q does not point into memory of a GPU"):
            dyn.inverse_dynamics(on_gpu(fake, arguments[0], data=(64, False)), v, a, out=out)
        with monkeypatch.context() as moved:
            moved.setattr(fake, "cuPointerGetAttribute", lambda key, address: (0, 1), raising=False)
            with pytest.raises(DeviceError, match="q is on GPU 1, expected 0"):
                dyn.inverse_dynamics(q, v, a, out=out)
    fake.reach(STREAM)
    same(out.host, wanted("id", arguments))


def test_layouts_are_told_apart(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    """One row for all states, batches of other shapes and sizes, in turn; few plans are kept."""
    monkeypatch.setattr(kernels, "MOST_PLANS", 3)
    dyn = dynamics()
    for seed in range(2):
        q, v, a = given("id", 12, seed=seed)
        for cut in (slice(12), slice(0, 1), slice(5)):
            few = [array[cut] for array in (q, v, a)]
            for rows in (few, [few[0][:1], *few[1:]], [few[0], few[1][0], few[2]]):
                answer = dyn.inverse_dynamics(*(on_gpu(fake, array) for array in rows))
                (want,) = wanted("id", [np.broadcast_to(array, few[2].shape) for array in rows])
                same(answer.numpy(), (want,))
        shaped = dyn.inverse_dynamics(*(on_gpu(fake, array.reshape(3, 4, 7)) for array in (q, v, a)))
        same(shaped.numpy().reshape(12, 7), wanted("id", [q, v, a]))
    kernel: Any = dyn.kernel("id")
    assert 0 < len(kernel.plans) <= 3


def test_launches_at_once_have_parameters_of_their_own(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread may launch before the driver has read those of this one."""
    dyn = dynamics()
    first, second = given("id", N), given("id", N, seed=1)
    outs = [on_gpu(fake, np.zeros((N, 7))) for _ in range(2)]
    launch, inner = fake.cuLaunchKernel, [second]

    def interrupted(*arguments: Any) -> Any:
        if inner:
            dyn.inverse_dynamics(*(on_gpu(fake, array) for array in inner.pop()), out=outs[1])
        return launch(*arguments)

    monkeypatch.setattr(fake, "cuLaunchKernel", interrupted, raising=False)
    dyn.inverse_dynamics(*(on_gpu(fake, array) for array in first), out=outs[0])
    fake.reach(0)
    for out, arguments in zip(outs, (first, second), strict=True):
        same(out.host, wanted("id", arguments))
