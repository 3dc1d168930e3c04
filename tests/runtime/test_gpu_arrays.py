"""Arrays on a GPU as they describe themselves, whatever they say, and the parameters of launches."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from condyle.runtime._native import borrow, describe, launch
from tests.runtime.test_leaks import SPARE, blocks_left

pytestmark = pytest.mark.usefixtures("small_heap")

ADDRESS = 1 << 40
INTERFACE = {"shape": (2, 3), "typestr": "<f8", "data": (ADDRESS, False), "strides": None, "version": 3}


class Ours:
    """As `DeviceArray` has them."""

    address, layout, device, stream = ADDRESS, ((2, 3), None, "<f4", False), 1, 5


class Raises:
    """An array that refuses to be asked."""

    def __init__(self, name: str, error: BaseException) -> None:
        self.name, self.error = name, error

    def __getattr__(self, name: str) -> Any:
        raise self.error if name == self.name else AttributeError(name)


def facts(array: object) -> tuple[Any, ...]:
    """What one array says of itself, and whether it is to be borrowed."""
    *lists, lenders = describe((array,), Ours)
    (address,), (layout,), (device,), (stream,) = lists
    return address, layout, device, stream, lenders == [0]


def by_interface(**changes: object) -> tuple[Any, ...]:
    return facts(SimpleNamespace(__cuda_array_interface__={**INTERFACE, **changes}))


def test_arrays_say_what_they_are() -> None:
    class Derived(Ours):
        pass

    lender = SimpleNamespace(__dlpack_device__=lambda: (2, 0), __cuda_array_interface__=INTERFACE)
    processor = SimpleNamespace(__dlpack_device__=lambda: (1, 0), __cuda_array_interface__=INTERFACE)
    silent = 0, None, None, None
    assert facts(Ours()) == facts(Derived()) == (ADDRESS, Ours.layout, 1, 5, False)
    assert facts(lender) == (0, ((), None, "", False), None, None, True)
    assert facts(processor) == by_interface() == (ADDRESS, ((2, 3), None, "<f8", False), None, None, False)
    for where, borrowed in ((np.int32(13), True), (True, False), (1 << 80, False)):
        assert facts(SimpleNamespace(__dlpack_device__=lambda: [where, 0]))[4] is borrowed
    for absent in (None, 3, "q", np.zeros(2), [1.0], SimpleNamespace(__cuda_array_interface__=None)):
        assert facts(absent) == (*silent, False)
    assert describe((Ours(), None, lender, lender), Ours)[4] == [2, 3]
    assert describe((), Ours) == ([], [], [], [], [])


@pytest.mark.parametrize(
    ("changes", "address", "layout", "stream"),
    [
        ({"shape": [np.int64(2), 3]}, ADDRESS, ((2, 3), None, "<f8", False), None),
        ({"strides": [np.int64(24), 8]}, ADDRESS, ((2, 3), (24, 8), "<f8", False), None),
        ({"typestr": np.str_("<f4")}, ADDRESS, ((2, 3), None, "<f4", False), None),
        ({"data": (np.uint64(ADDRESS), np.True_)}, ADDRESS, ((2, 3), None, "<f8", True), None),
        ({"data": [None, 0]}, 0, ((2, 3), None, "<f8", False), None),
        ({"data": ((1 << 64) - 1, 0)}, (1 << 64) - 1, ((2, 3), None, "<f8", False), None),
        ({"shape": (), "stream": 1}, ADDRESS, ((), None, "<f8", False), 0),
        ({"stream": np.int64(7)}, ADDRESS, ((2, 3), None, "<f8", False), 7),
        ({"stream": 2}, ADDRESS, ((2, 3), None, "<f8", False), 2),
    ],
)
def test_interfaces(changes: dict[str, object], address: int, layout: object, stream: int | None) -> None:
    """Numbers of every type become Python's; stream 1 is the default one."""
    assert by_interface(**changes) == (address, layout, None, stream, False)
    derived = type("Mapping", (dict,), {})({**INTERFACE, **changes})
    assert facts(SimpleNamespace(__cuda_array_interface__=derived)) == (address, layout, None, stream, False)


WRONG: list[tuple[type[Exception], dict[str, object]]] = [
    (TypeError, {"shape": None}),
    (TypeError, {"shape": (2.0, 3)}),
    (TypeError, {"shape": 6}),
    (TypeError, {"strides": 8}),
    (TypeError, {"strides": (24, "8")}),
    (TypeError, {"data": None}),
    (ValueError, {"data": (ADDRESS,)}),
    (OverflowError, {"data": (1 << 64, False)}),
    (OverflowError, {"data": (-8, False)}),
    (ValueError, {"data": ("there", False)}),
    (ValueError, {"stream": "default"}),
    (OverflowError, {"stream": 1 << 64}),
]


def test_what_refuses_is_its_exception() -> None:
    """Without a traceback, which would hold all arrays."""
    seen = [(error, by_interface(**changes)) for error, changes in WRONG]
    seen += [
        (RuntimeError, facts(Raises("__dlpack_device__", RuntimeError("a gradient")))),
        (BufferError, facts(Raises("__cuda_array_interface__", BufferError("no")))),
        (KeyError, facts(SimpleNamespace(__cuda_array_interface__={}))),
        (TypeError, facts(SimpleNamespace(__cuda_array_interface__=5))),
        (IndexError, facts(SimpleNamespace(__dlpack_device__=lambda: ()))),
        (TypeError, facts(SimpleNamespace(__dlpack_device__=lambda: None))),
        (TypeError, facts(SimpleNamespace(__dlpack_device__=lambda: ("cuda", 0)))),
        (TypeError, facts(SimpleNamespace(__dlpack_device__=5))),
    ]
    for error, (address, layout, *others) in seen:
        assert isinstance(layout, error)
        assert layout.__traceback__ is None
        assert (address, others) == (0, [None, None, False])
    with pytest.raises(KeyboardInterrupt):
        facts(Raises("__dlpack_device__", KeyboardInterrupt()))


def test_parameters_of_launches() -> None:
    """Numbers, and addresses with what is added to them, each at an address of its own that lives for the call."""

    def driver(*asked: Any) -> object:
        pointers = (ctypes.c_void_p * 5).from_address(asked[10])
        return asked[:10], asked[11], [ctypes.c_uint64.from_address(pointer).value for pointer in pointers]

    values = (9, (1, 8), (0, 0), (-1, 3), (1 << 64) - 1)
    *asked, numbers = launch(driver, "f", 3, 64, 512, 5, values, [ADDRESS, 1 << 41])  # type: ignore[misc]
    assert asked == [("cuLaunchKernel", "f", 3, 1, 1, 64, 1, 1, 512, 5), 0]
    assert numbers == [9, (1 << 41) + 8, ADDRESS, 3, (1 << 64) - 1]


def test_wrong_launches() -> None:
    def driver(*asked: object) -> None:
        raise LookupError(asked[0])

    def wrong(*values: Any, addresses: Any = ()) -> None:
        launch(driver, 1, 1, 1, 0, 0, values, [*addresses])

    with pytest.raises(LookupError, match="cuLaunchKernel"):
        wrong(1)
    with pytest.raises(IndexError, match="of no array"):
        wrong((1, 0), addresses=[ADDRESS])
    for number in (-1, 1 << 64):
        with pytest.raises(OverflowError):
            wrong(number)
        with pytest.raises(OverflowError):
            wrong((0, 0), addresses=[number])
    with pytest.raises(TypeError):
        wrong("here")
    for call in (lambda: launch(1), lambda: describe([], Ours), lambda: borrow(1)):  # type: ignore[call-arg, arg-type]
        with pytest.raises(TypeError):
            call()


def test_nothing_is_left_behind() -> None:
    every = (Ours(), SimpleNamespace(__cuda_array_interface__=INTERFACE), Raises("__dlpack_device__", ValueError()))
    every += tuple(SimpleNamespace(__cuda_array_interface__={**INTERFACE, **changes}) for _, changes in WRONG)

    calls: list[Callable[[], object]] = [
        lambda: describe(every, Ours),
        lambda: launch(lambda *asked: None, 1, 1, 1, 0, 0, (1 << 40, (0, 1 << 40)), [ADDRESS]),
    ]
    assert max(blocks_left(call) for call in calls) < SPARE
