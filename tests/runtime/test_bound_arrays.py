"""What a call says of arrays that do not fit, by whole messages, and the ranges of numbers by their ends."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from condyle.errors import CondyleError, DTypeError, ShapeError, StateError
from condyle.functions import FUNCTIONS
from condyle.runtime import machine
from condyle.runtime.arrays import ArraySpec, Binder, as_array, check_ranges
from condyle.specification import Function, Port

SIZES = {"nq": 7, "nv": 6, "n_bodies": 5}
F8 = np.dtype("f8")
ID, M = (Binder(FUNCTIONS[name], SIZES, F8) for name in ("id", "m"))
Q, V = np.zeros((3, 7)), np.zeros((3, 6))


@pytest.mark.parametrize(
    ("arguments", "out", "error", "said"),
    [
        ((Q, V), None, ShapeError, "(q, v, a): 2 arguments given, expected 3"),
        ((Q.astype("f4"), V, V), None, DTypeError, (': q is float32, expected float64: pass q.astype("float64"), or '
         'compile(dtype="float32")')),
        ((Q.astype("f2"), V, V), None, DTypeError, ': q is float16, expected float64: pass q.astype("float64")'),
        ((Q.astype(complex), V, V), None, DTypeError, ": q is complex128, expected float64: pass real numbers"),
        ((Q.astype(bool), V, V), None, DTypeError, ": q is bool, expected float64: pass real numbers"),
        ((Q.astype(">f8"), V, V), None, DTypeError, (": q is >f8, expected float64 in this machine's byte order: pass "
         "q.astype(q.dtype.newbyteorder('='))")),
        ((Q.T, V, V), None, ShapeError, ": q has shape (7, 3), expected (..., 7); it looks transposed: pass q.T"),
        ((Q[:, :5], V, V), None, ShapeError, ": q has shape (3, 5), expected (..., 7)"),
        ((0.0, V, V), None, ShapeError, ": q has shape (), expected (..., 7)"),
        ((Q[:2], V, V), None, ShapeError, ": batch dimensions do not broadcast: q (2, 7), v (3, 6), a (3, 6)"),
        ((Q, V, V), (V, V), ShapeError, ": out has 2 arrays, expected 1: tau"),
        ((Q, V, V), Q, ShapeError, ": out has shape (3, 7), expected (3, 6)"),
        ((Q, V, V), V.astype("f4"), DTypeError, ": out is float32, expected float64"),
        ((Q, V, V), ([0.0] * 6,), DTypeError, ": out is no NumPy array: list"),
        ((Q, V, V), "text", DTypeError, ": out is no NumPy array: str"),
        ((Q, V, V), V, ShapeError, ": out overlaps an input or another output; pass a fresh array"),
        ((Q, V, V), np.broadcast_to(np.zeros(6), (3, 6)), ShapeError, ": out is read-only"),
    ],
)  # fmt: skip
def test_what_does_not_fit(arguments: Any, out: Any, error: type[CondyleError], said: str) -> None:
    with pytest.raises(error, match=rf"^inverse_dynamics{re.escape(said)}$"):
        ID.bind(arguments, out)


def test_other_number_types_are_compiled_where_that_can_be() -> None:
    fixed = Binder(FUNCTIONS["m"], SIZES, F8, recompiles=False)
    with pytest.raises(DTypeError, match=r'^mass_matrix: q is float32, expected float64: pass q\.astype\("float64"\)$'):
        fixed.bind((Q.astype("f4"),))


def test_a_matrix_with_its_batch_behind_is_told() -> None:
    binder = Binder(FUNCTIONS["difd"], SIZES, F8)
    shapes = r"Minv has shape \(6, 6, 3\), expected \(\.\.\., 6, 6\)"
    said = rf"^dynamics_derivatives: {shapes}; the batch comes first: pass numpy\.moveaxis\(Minv, -1, 0\)$"
    with pytest.raises(ShapeError, match=said):
        binder.bind((Q, V, V, np.zeros((6, 6, 3))))


def test_what_is_no_array_is_named() -> None:
    for name, cure in (("q", "q"), ("v", "v"), ("tau", "v"), ("x", "")):
        by_joint = f"; the entries of joint j are {name}[..., j.{cure}_slice], j of robot.joints" if cure else ""
        with pytest.raises(DTypeError, match=rf"^f: {name} is dict, expected an array{re.escape(by_joint)}$"):
            as_array("f", name, {"a": 1})  # type: ignore[arg-type]
    with pytest.raises(DTypeError, match=r"^f: q is NoneType, expected an array$"):
        as_array("f", "q", None)  # type: ignore[arg-type]
    lazy = SimpleNamespace(__dask_graph__=None)
    said = r"^f: q is a lazy array of Dask: condyle\.interop\.dask\.wrap\(dyn\)\.f takes it by blocks; q\.compute\(\)"
    with pytest.raises(DTypeError, match=said):
        as_array("f", "q", lazy)  # type: ignore[arg-type]

    class Huge:
        def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
            raise MemoryError

    with pytest.raises(MemoryError):
        as_array("f", "q", Huge())


def ranged(value: float, name: str = "x", **kind: bool) -> None:
    rows = np.ones((3, 2))
    rows[1, 1] = value
    check_ranges("f", [ArraySpec(name, (2,), 2, **kind)], [rows])


@pytest.mark.parametrize("value", [0.0, 1.0, 0.5, np.nan])
def test_fractions_are_from_0_to_1(value: float) -> None:
    ranged(value, is_fraction=True)


@pytest.mark.parametrize(("value", "shown"), [(-1e-9, "-1e-09"), (1.0 + 1e-9, "1"), (np.inf, "inf")])
def test_what_is_no_fraction_is_told_with_its_state(value: float, shown: str) -> None:
    said = rf"^f: x is {shown} in state 1, expected numbers from 0 to 1: pass x\.clip\(0, 1\)$"
    with pytest.raises(StateError, match=said) as info:
        ranged(value, is_fraction=True)
    assert info.value.rows == (1,)


def test_flags_may_be_beyond_by_a_ten_thousandth() -> None:
    for value in (-0.99e-4, 1.0 + 0.99e-4):
        ranged(value, "active", is_fraction=True)
    for value in (-1.01e-4, 1.0 + 1.01e-4):
        with pytest.raises(StateError, match=r"^f: active is"):
            ranged(value, "active", is_fraction=True)


def test_lengths_of_time_are_above_0() -> None:
    for value in (1e-300, 5.0, np.nan, np.inf):
        ranged(value, is_positive=True)
    for value in (0.0, -1.0):
        with pytest.raises(
            StateError, match=rf"^f: x is {value:g} in state 1, expected numbers above 0, such as 1e-3$"
        ):
            ranged(value, is_positive=True)


def turned(length: float, state: int = 1, copies: int = 1, dtype: str = "f8") -> None:
    q = np.zeros((3, copies, 6), dtype)
    q[:, :, 5] = 1.0
    q[state, -1, 2:] = 0.5 * length
    spec = ArraySpec("q", (copies, 6) if copies > 1 else (6,), 6 * copies, quaternions=((2, "ball"),))
    check_ranges("f", [spec], [q if copies > 1 else q[:, 0]])


@pytest.mark.parametrize("length", [1.0, 1.0 + 0.99e-3, 1.0 - 0.99e-3, np.nan, np.inf])
def test_quaternions_are_of_length_1_within_a_thousandth(length: float) -> None:
    turned(length)
    turned(length, copies=2)


@pytest.mark.parametrize("length", [1.0 + 1.01e-3, 1.0 - 1.01e-3, 0.0, 2.0])
def test_other_quaternions_are_told_with_joint_and_state(length: float) -> None:
    for copies in (1, 2):
        said = f"f: in q the quaternion of joint 'ball' has length {length:.4g} in state 2, expected 1 within 0.001: "
        with pytest.raises(StateError, match=rf"^{re.escape(said)}robot\.normalize\(q\) makes it so") as info:
            turned(length, 2, copies)
        assert info.value.rows == (2,)


def test_quaternions_of_single_precision_are_checked_too() -> None:
    turned(1.0, dtype="f4")
    with pytest.raises(StateError, match=r"^f: in q the quaternion of joint 'ball' has length 2 in state 1, "):
        turned(2.0, dtype="f4")


def test_ranges_are_checked_where_they_are_asked_for_and_there_are_states() -> None:
    port = Port("x", ("n",), "1", "none", "", is_fraction=True)
    binder = Binder(Function("f", "f", "", (port,), (port,)), {"n": 2}, F8)
    with pytest.raises(StateError, match=r"^f: x is 7 in state 0, expected numbers from 0 to 1"):
        binder.bind((np.full((3, 2), 7.0),))
    assert binder.bind((np.full((3, 2), 7.0),), None, False).n == 3
    assert binder.bind((np.full((0, 2), 7.0),)).n == 0


def test_memory_for_results_and_copies_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Results are new ones, or there already; copies are made of what converts, and of what is no plain row."""
    asked: list[tuple[Any, ...]] = []
    monkeypatch.setattr(machine, "check", lambda *given: asked.append(given))
    ID.bind((Q, V, V))
    assert asked == [("inverse_dynamics", 3, 3 * 6 * 8)]
    asked.clear()
    ID.bind((Q.astype(int), V, np.zeros((3, 12))[:, ::2]))
    assert asked[0] == ("inverse_dynamics", 3, 3 * 6 * 8, (3 * 7 + 3 * 6) * 8)
    asked.clear()
    ID.bind((Q.astype(int), V, V), np.zeros((3, 6)))
    assert asked == [("inverse_dynamics", 3, 0, 3 * 7 * 8)]
