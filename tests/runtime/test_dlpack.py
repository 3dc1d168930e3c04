"""Arrays of other libraries that DLPack lends, whatever their tensors say."""

from __future__ import annotations

import ctypes
import re
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from condyle.errors import DTypeError
from condyle.runtime._native import borrow, lend
from tests.gpu.foreign import FLOAT, VERSIONED, ManagedVersioned, managed
from tests.runtime.test_gpu_arrays import ADDRESS, Raises
from tests.runtime.test_leaks import SPARE, blocks_left

pytestmark = pytest.mark.usefixtures("small_heap")


OWNER = object()


def lent(versioned: bool = True, **changes: object) -> SimpleNamespace:
    """A lender of two rows of three numbers, whose tensor says something else."""

    def liar(**options: object) -> object:
        capsule = lend(OWNER, ADDRESS, (2, 3), 64, 1, versioned)
        tensor = managed(capsule, versioned)
        for name, value in changes.items():
            parts: list[Any] = [tensor, tensor.tensor, tensor.tensor.dtype]
            setattr(next(part for part in parts if hasattr(part, name)), name, value)
        return capsule

    return SimpleNamespace(__dlpack__=liar)


def refused(error: type[Exception], lender: object) -> str:
    """What an array says that does not lend itself."""
    address, layout, device, holder = borrow(lender, 7)
    assert type(layout) is error
    assert layout.__traceback__ is None
    assert (address, device, holder) == (0, None, None)
    return str(layout)


NOWHERE = ctypes.POINTER(ctypes.c_int64)()


@pytest.mark.parametrize("versioned", [False, True])
def test_borrowed(versioned: bool) -> None:
    before = sys.getrefcount(OWNER)
    steps = (ctypes.c_int64 * 2)(1 << 62, -1)
    strides = ctypes.cast(steps, ctypes.POINTER(ctypes.c_int64))
    dense = (2, 3), (24, 8), "<f8", False
    for changes, address, layout, device in (
        ({}, ADDRESS, dense, 1),
        ({"byte_offset": 64}, ADDRESS + 64, dense, 1),
        ({"data": None}, 0, dense, None),  # the driver is asked
        ({"data": None, "byte_offset": 64}, 64, dense, None),
        ({"byte_offset": (1 << 64) - 8}, ADDRESS - 8, dense, 1),
        ({"strides": NOWHERE}, ADDRESS, ((2, 3), None, "<f8", False), 1),
        ({"strides": strides}, ADDRESS, ((2, 3), ((1 << 63) - 1, -8), "<f8", False), 1),
        ({"ndim": 0, "shape": NOWHERE}, ADDRESS, ((), (), "<f8", False), 1),
        ({"bits": 32}, ADDRESS, ((2, 3), (12, 4), "<f4", False), 1),
        ({"bits": 16}, ADDRESS, ((2, 3), (6, 2), "<f2", False), 1),
        ({"code": 4}, ADDRESS, ((2, 3), (24, 8), "bfloat64", False), 1),
        ({"code": 0, "lanes": 4}, ADDRESS, ((2, 3), (24, 8), "int64 x 4", False), 1),
        ({"lanes": 2}, ADDRESS, ((2, 3), (24, 8), "float64 x 2", False), 1),
        ({"code": 3}, ADDRESS, ((2, 3), (24, 8), "kind 3 of 64", False), 1),
        ({"code": 255}, ADDRESS, ((2, 3), (24, 8), "kind 255 of 64", False), 1),
    ):
        assert borrow(lent(versioned, **changes), 1)[:3] == (address, layout, device)  # type: ignore[arg-type]
    assert sys.getrefcount(OWNER) == before


@pytest.mark.parametrize("versioned", [False, True])
def test_tensors_that_cannot_be_read(versioned: bool) -> None:
    before = sys.getrefcount(OWNER)
    for changes in ({"ndim": -1}, {"ndim": 65}, {"ndim": (1 << 31) - 1}, {"shape": NOWHERE}):
        said = refused(BufferError, lent(versioned, **changes))  # type: ignore[arg-type]
        assert re.fullmatch(r"its DLPack tensor has ndim -?\d+, expected 0 to 64, and a shape", said)
    if versioned:
        assert borrow(lent(minor=9, flags=5), 1)[1][3] is True
        assert refused(BufferError, lent(major=2)) == "it speaks version 2 of DLPack, expected 1"
    assert sys.getrefcount(OWNER) == before


def test_borrowed_of_numpy() -> None:
    """A lender that is not ours, of both versions. The array lives until the capsule goes."""
    array = np.arange(24.0).reshape(4, 6)[:, ::2]
    before = sys.getrefcount(array)
    for lending in (
        lambda stream: array.__dlpack__(),  # older than DLPack 1.0
        lambda stream, max_version: array.__dlpack__(max_version=max_version),
    ):
        address, layout, device, holder = borrow(SimpleNamespace(__dlpack__=lending), 7)
        assert (address, layout, device) == (array.ctypes.data, (array.shape, array.strides, "<f8", False), 0)
        assert sys.getrefcount(array) == before + 1
        del holder
        assert sys.getrefcount(array) == before
    asked: list[dict[str, object]] = []
    refused(ValueError, SimpleNamespace(__dlpack__=lambda **options: asked.append(options)))
    assert asked == [{"stream": 7, "max_version": (1, 0)}]


@pytest.mark.parametrize("versioned", [False, True])
def test_lent(versioned: bool) -> None:
    """The owner lives until the capsule goes, or until the deleter is called, by a thread without the GIL."""
    before = sys.getrefcount(OWNER)
    for shape, strides in ((), ()), ((0, 3), (3, 1)), ((2, 3, 4), (12, 4, 1)), ((2,) * 64, None):
        capsule = lend(OWNER, ADDRESS, shape, 32, 1, versioned)
        assert sys.getrefcount(OWNER) == before + 1
        tensor = managed(capsule, versioned).tensor
        assert tuple(tensor.shape[: len(shape)]) == shape
        assert strides in (None, tuple(tensor.strides[: len(shape)]))
        assert (tensor.data, tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes) == (ADDRESS, FLOAT, 32, 1)
        assert (tensor.device.type, tensor.device.number, tensor.byte_offset) == (2, 1, 0)
        del capsule
        assert sys.getrefcount(OWNER) == before
    capsule = lend(OWNER, ADDRESS, (2,), 32, 1, versioned)
    taken = managed(capsule, versioned)
    renamed = b"used_dltensor"
    assert not ctypes.pythonapi.PyCapsule_SetName(ctypes.py_object(capsule), ctypes.c_char_p(renamed))
    del capsule
    assert sys.getrefcount(OWNER) == before + 1
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(taken.deleter)(ctypes.addressof(taken))  # which lets go of the GIL
    assert sys.getrefcount(OWNER) == before
    for shape, error in (((1,) * 65, BufferError), ((1 << 63,), OverflowError), (("2",), TypeError)):
        with pytest.raises(error):
            lend(OWNER, ADDRESS, shape, 32, 1, versioned)  # type: ignore[arg-type]
    assert sys.getrefcount(OWNER) == before


def test_capsules_that_are_none() -> None:
    array = np.zeros(3)

    def used(**options: object) -> object:
        capsule = array.__dlpack__()
        np.from_dlpack(SimpleNamespace(__dlpack__=lambda **_: capsule, __dlpack_device__=array.__dlpack_device__))
        return capsule

    def refuses(**options: object) -> object:
        raise BufferError("a gradient")

    said = refused(DTypeError, SimpleNamespace(__dlpack__=used))
    assert said.endswith(": expected b'dltensor' or b'dltensor_versioned', not used before")
    assert said.startswith("a DLPack capsule named b'used_dltensor")
    assert refused(BufferError, SimpleNamespace(__dlpack__=refuses)) == "a gradient"
    refused(AttributeError, None)
    refused(TypeError, SimpleNamespace(__dlpack__=lambda: None))
    with pytest.raises(KeyboardInterrupt):
        borrow(Raises("__dlpack__", KeyboardInterrupt()), 7)


def test_capsules_that_end_in_python() -> None:
    """While an array is refused."""
    ended: list[int] = []
    end = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(ended.append)
    kind = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    new, memory = kind(("PyCapsule_New", ctypes.pythonapi)), ManagedVersioned(major=2)
    lender = SimpleNamespace(
        __dlpack__=lambda **options: new(ctypes.addressof(memory), VERSIONED, ctypes.cast(end, ctypes.c_void_p))
    )
    refused(BufferError, lender)
    assert len(ended) == 1


def test_nothing_is_left_behind() -> None:
    array = np.zeros((3, 2))
    lender = SimpleNamespace(__dlpack__=lambda **options: array.__dlpack__(max_version=(1, 0)))
    assert blocks_left(lambda: borrow(lender, 1)) < SPARE
    assert blocks_left(lambda: borrow(lent(), 1)) < SPARE
    assert blocks_left(lambda: borrow(SimpleNamespace(__dlpack__=lambda **options: None), 1)) < SPARE
