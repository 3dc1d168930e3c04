"""Arrays on the GPU: DLPack and `__cuda_array_interface__`, in and out, without a copy."""

from __future__ import annotations

import gc
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from condyle.calls.gpu import gpu
from condyle.errors import CondyleError, DeviceError, DTypeError, ShapeError
from condyle.runtime._native import borrow, lend
from condyle.runtime.cuda.arrays import DeviceArray
from tests.backends.cuda.fake_driver import FakeDriver
from tests.gpu.calls import dynamics, given, on_gpu, wanted
from tests.gpu.foreign import Foreign, managed

pytestmark = pytest.mark.usefixtures("small_heap")


def test_interface(fake: FakeDriver) -> None:
    dyn = dynamics()
    q, v, a = given("id", 24)
    shaped = [np.reshape(array, (2, 12, 7)) for array in (q, v, a)]
    answer = dyn.inverse_dynamics(*(on_gpu(fake, array) for array in shaped))
    assert isinstance(answer, DeviceArray)
    assert answer.shape == (2, 12, 7)
    (want,) = wanted("id", [q, v, a])
    np.testing.assert_allclose(answer.numpy().reshape(24, 7), want, rtol=1e-10, atol=1e-10)
    out = on_gpu(fake, np.zeros((24, 7)))
    assert dyn.on(5).inverse_dynamics(on_gpu(fake, q), on_gpu(fake, v), on_gpu(fake, a), out=out) is out
    assert not out.host.any()  # nobody has waited
    fake.reach(5)
    np.testing.assert_allclose(out.host, want, rtol=1e-10, atol=1e-10)
    one = dyn.inverse_dynamics(on_gpu(fake, q[0]), on_gpu(fake, v, stream=7), on_gpu(fake, a, stream=9))
    assert one.stream == 9
    np.testing.assert_allclose(one.numpy(), wanted("id", [q[:1], v, a])[0], rtol=1e-10, atol=1e-10)
    address = answer.address
    del answer
    fake.reach_all()
    assert address not in fake.memory.blocks


@pytest.mark.parametrize("old", [False, True])
def test_dlpack_in(fake: FakeDriver, old: bool) -> None:
    dyn = dynamics()
    arguments = given("dfd", 9)
    lent = [Foreign(fake, array, old=old) for array in arguments]
    lent[0] = Foreign(fake, arguments[0], old=old, strides=(7, 1))
    lent[1] = Foreign(fake, arguments[1], old=old, offset=64)
    outs = [Foreign(fake, np.zeros((9, 7, 7)), old=old) for _ in range(3)]
    dyn.on(5).forward_dynamics_derivatives(*lent, out=tuple(outs))
    fake.reach(5)
    for out, want in zip(outs, wanted("dfd", arguments), strict=True):
        np.testing.assert_allclose(out.host, want, rtol=1e-8, atol=1e-8)
    assert [one.streams for one in (*lent, *outs)] == [[5]] * 6
    dyn.mass_matrix(lent[0])
    assert lent[0].streams == [5, 1]  # the default stream, as DLPack numbers it
    del lent, outs, out
    gc.collect()
    assert not Foreign.alive  # every capsule was given back


@pytest.mark.parametrize("versioned", [False, True])
def test_lent_to_numpy(versioned: bool) -> None:
    """A borrower that is not ours, which believes that the memory is the processor's."""
    memory = np.arange(12.0)
    before = sys.getrefcount(memory)

    def lent(**given: object) -> object:
        capsule = lend(memory, memory.ctypes.data, (3, 4), 64, 0, versioned)
        managed(capsule, versioned).tensor.device.type = 1
        return capsule

    taken = np.from_dlpack(SimpleNamespace(__dlpack__=lent, __dlpack_device__=lambda: (1, 0)))
    np.testing.assert_array_equal(taken, memory.reshape(3, 4))
    assert sys.getrefcount(memory) == before + 1
    del taken
    assert sys.getrefcount(memory) == before


def test_dlpack_out(fake: FakeDriver) -> None:
    """An answer is lent ready in the borrower's stream, and its memory outlives it."""
    dyn = dynamics()
    q, v, a = given("id", 8)
    answer = dyn.on(5).inverse_dynamics(*(Foreign(fake, array) for array in (q, v, a)))
    assert answer.__dlpack_device__() == (2, 0)
    address, layout, device, capsule = borrow(answer, 9)
    assert (layout, device) == (((8, 7), (56, 8), "<f8", False), 0)
    fake.reach(9)  # waits for the kernel in stream 5
    got = fake.memory.bytes_at(address, answer.nbytes).view(np.float64).reshape(8, 7)
    np.testing.assert_allclose(got, wanted("id", [q, v, a])[0], rtol=1e-10, atol=1e-10)
    del answer
    fake.reach_all()
    assert address in fake.memory.blocks
    del capsule, got
    gc.collect()
    fake.reach_all()
    assert address not in fake.memory.blocks
    answer = dyn.inverse_dynamics(*(Foreign(fake, array) for array in (q, v, a)))
    for wrong in ({"copy": True}, {"dl_device": (1, 0)}):
        with pytest.raises(BufferError, match="as it is"):
            answer.__dlpack__(**wrong)


def test_chains_of_calls(fake: FakeDriver) -> None:
    """Answers are arguments; a call waits for the streams of what it is given."""
    dyn = dynamics()
    q, v, a = (Foreign(fake, array) for array in given("id", 8))
    tau = dyn.on(5).inverse_dynamics(q, v, a)
    back = dyn.on(6).forward_dynamics(q, v, tau)
    del tau  # while it is still read
    np.testing.assert_allclose(back.numpy(), a.host, rtol=1e-9, atol=1e-9)
    assert dyn.forward_dynamics(q, v, back).stream == 6


def test_wrong_arrays(fake: FakeDriver) -> None:
    dyn = dynamics()
    q, v, a = given("id", 8)
    good = [on_gpu(fake, array) for array in (q, v, a)]

    def fails(error: type[CondyleError], match: str, *args: object, **options: object) -> None:
        with pytest.raises(error, match=match):
            dyn.inverse_dynamics(*args, **options)  # type: ignore[arg-type]

    fails(DTypeError, "v is not on the GPU", good[0], v, good[2])
    fails(DTypeError, 'q is float32.*compile\\(dtype="float32"', on_gpu(fake, q.astype(np.float32)), *good[1:])
    fails(DTypeError, "q is >f8, expected float64: convert it$", on_gpu(fake, q, typestr=">f8"), *good[1:])
    fails(ShapeError, "not contiguous", on_gpu(fake, q, strides=(8, 64)), *good[1:])
    fails(DTypeError, r"q is \(8, 7\), expected float64: convert it$", on_gpu(fake, q, typestr="(8, 7)"), *good[1:])
    fails(ShapeError, "not contiguous", on_gpu(fake, q, strides=(8,)), *good[1:])
    fails(ShapeError, "q has shape", on_gpu(fake, q[:, :5]), *good[1:])
    fails(ShapeError, r"q has shape \(-8, 7\)", on_gpu(fake, q, shape=(-8, 7)), *good[1:])
    fails(DeviceError, "q does not lend its memory", on_gpu(fake, q, data=5), *good[1:])
    fails(ShapeError, "batch dimensions", on_gpu(fake, q[:5]), *good[1:])
    fails(DeviceError, "does not point into memory of a GPU", on_gpu(fake, q, data=(64, False)), *good[1:])
    fails(ShapeError, "read-only", *good, out=on_gpu(fake, q, data=(fake.memory.allocate(448), True)))
    fails(ShapeError, "overlaps", *good, out=good[0])
    fails(ShapeError, "out\\[0\\] has shape", *good, out=on_gpu(fake, q[:4]))
    fails(DTypeError, "tau is not on the GPU", *good, out=q)
    with pytest.raises(ShapeError, match="2 arguments"):
        dyn.call("id", good[:2])  # type: ignore[arg-type]


def test_wrong_lenders(fake: FakeDriver) -> None:
    dyn = dynamics()
    q, v, a = given("id", 8)
    good = [Foreign(fake, array) for array in (q, v, a)]

    def fails(error: type[CondyleError], match: str, *args: object, **options: object) -> None:
        with pytest.raises(error, match=match):
            dyn.inverse_dynamics(*args, **options)  # type: ignore[arg-type]

    fails(DTypeError, "q is float32", Foreign(fake, q.astype(np.float32)), *good[1:])
    fails(DTypeError, "q is bfloat64, expected float64: convert it$", Foreign(fake, q, kind=4), *good[1:])
    fails(DTypeError, "q is complex64", Foreign(fake, q, kind=5), *good[1:])
    for strides in ((1, 8), (-7, 1), (0, 1), (7, -1)):
        fails(ShapeError, "q is not contiguous", Foreign(fake, q, strides=strides), *good[1:])
        fails(ShapeError, "tau is not contiguous", *good, out=Foreign(fake, q, strides=strides))
    fails(DeviceError, "q is on GPU 1, expected 0", Foreign(fake, q, device=1), *good[1:])
    nowhere = Foreign(fake, q)
    nowhere.address = 0
    fails(DeviceError, "q does not point into memory of a GPU", nowhere, *good[1:])
    del nowhere
    fails(ShapeError, "tau is read-only", *good, out=Foreign(fake, q, read_only=True))
    refused = SimpleNamespace(__dlpack_device__=lambda: (2, 0), __dlpack__=_gradient)
    fails(DeviceError, "q does not lend its memory.*q.detach", refused, *good[1:])
    gc.collect()
    assert set(Foreign.alive) == set(good)
    with pytest.raises(DTypeError, match="a stream is a number"):
        dyn.on("five")


def _gradient(**given: object) -> object:
    raise BufferError("Can't export tensors that require gradient")


@pytest.mark.parametrize(
    "stream",
    [
        5,
        SimpleNamespace(cuda_stream=5),
        SimpleNamespace(ptr=5),
        SimpleNamespace(handle=SimpleNamespace(value=5)),
        SimpleNamespace(__cuda_stream__=lambda: (0, 5)),
    ],
)
def test_streams_of_other_libraries(fake: FakeDriver, stream: object) -> None:
    assert dynamics().on(stream).mass_matrix(Foreign(fake, np.zeros((2, 7)))).stream == 5
    assert gpu(0).index == 0
