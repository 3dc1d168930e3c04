"""DLPack: arrays of other libraries lent to us, and ours lent to them, without a copy (dmlc.github.io/dlpack).

The structures are spelled out with ctypes: a package for it would be needed for the way in only.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, cast

from condyle.errors import DTypeError

CUDA, CUDA_MANAGED = 2, 13
FLOAT = 2
NUMBER_KINDS = {0: "int", 1: "uint", FLOAT: "float", 4: "bfloat", 5: "complex", 6: "bool"}
READ_ONLY = 1
PLAIN, VERSIONED = b"dltensor", b"dltensor_versioned"


class Device(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int32), ("number", ctypes.c_int32))


class DataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class Tensor(ctypes.Structure):
    """DLTensor; strides count entries, none at all is C order."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", Device),
        ("ndim", ctypes.c_int32),
        ("dtype", DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class Managed(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = (("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


class ManagedVersioned(ctypes.Structure):
    """DLManagedTensorVersioned, from DLPack 1.0 on."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    )


class Lender(Protocol):
    """What an array of another library has."""

    def __dlpack__(self, *, stream: int, max_version: tuple[int, int] = ...) -> object: ...

    def __dlpack_device__(self) -> tuple[int, int]: ...


@dataclass(frozen=True, slots=True)
class Lent:
    """An array as its owner describes it. strides: bytes, None for C order. device: None where the owner is silent."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    dtype: str
    read_only: bool
    device: int | None = None
    stream: int | None = None


_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
_held = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)


def on_cuda(value: object) -> bool:
    """Whether the array says by DLPack that it lies on a GPU of CUDA."""
    where = getattr(value, "__dlpack_device__", None)
    return where is not None and int(cast("Callable[[], tuple[int, int]]", where)()[0]) in (CUDA, CUDA_MANAGED)


def borrow(value: Lender, stream: int) -> tuple[Lent, object]:
    """What the array is, ready in this stream (-1: as it is), and the capsule, to be kept while it is in use."""
    try:
        capsule = value.__dlpack__(stream=stream, max_version=(1, 0))
    except TypeError:  # older than DLPack 1.0
        capsule = value.__dlpack__(stream=stream)
    name = _name(capsule)
    if name not in (PLAIN, VERSIONED):
        raise DTypeError(f"a DLPack capsule named {name!r}: expected {PLAIN!r} or {VERSIONED!r}, not used before")
    address = cast(int, _pointer(capsule, name))
    versioned = name == VERSIONED
    found = ManagedVersioned.from_address(address) if versioned else Managed.from_address(address)
    return _lent(found.tensor, bool(versioned and found.flags & READ_ONLY)), capsule


def _lent(tensor: Tensor, read_only: bool) -> Lent:
    kind, bits, lanes = tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes
    dtype = f"{NUMBER_KINDS.get(kind, f'kind {kind} of ')}{bits}" + (f" x {lanes}" if lanes != 1 else "")
    shape = tuple(int(tensor.shape[k]) for k in range(tensor.ndim))
    strides = tuple(int(tensor.strides[k]) * (bits // 8) for k in range(tensor.ndim)) if tensor.strides else None
    address = int(tensor.data or 0) + int(tensor.byte_offset)
    return Lent(address, shape, strides, dtype, read_only, int(tensor.device.number))


_lent_out: dict[int, tuple[object, ...]] = {}


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _forget(address: int) -> None:
    """The deleter: the borrower is done."""
    _lent_out.pop(address, None)


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _drop(capsule: int) -> None:
    """The end of a capsule that nobody took; it is dying, so it comes as a number."""
    for name in (PLAIN, VERSIONED):
        if _valid(capsule, name):
            _lent_out.pop(cast(int, _held(capsule, name)), None)


for _callback in (_forget, _drop):  # borrowers may call them while the process is ending
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_callback))


def lend(owner: object, address: int, shape: tuple[int, ...], bits: int, device: int, versioned: bool) -> object:
    """A capsule of a dense float array of a GPU; the owner lives until its borrower is done."""
    sizes = (ctypes.c_int64 * max(1, len(shape)))(*shape)
    steps = (ctypes.c_int64 * max(1, len(shape)))()
    step = 1
    for k in reversed(range(len(shape))):
        steps[k] = step
        step *= shape[k]
    made = ManagedVersioned() if versioned else Managed()
    if isinstance(made, ManagedVersioned):
        made.major, made.minor, made.flags = 1, 0, 0
    made.tensor = Tensor(
        address,
        Device(CUDA, device),
        len(shape),
        DataType(FLOAT, bits, 1),
        ctypes.cast(sizes, ctypes.POINTER(ctypes.c_int64)),
        ctypes.cast(steps, ctypes.POINTER(ctypes.c_int64)),
        0,
    )
    made.deleter = ctypes.cast(_forget, ctypes.c_void_p).value
    place = ctypes.addressof(made)
    _lent_out[place] = (owner, made, sizes, steps)
    return _new(place, VERSIONED if versioned else PLAIN, ctypes.cast(_drop, ctypes.c_void_p))
