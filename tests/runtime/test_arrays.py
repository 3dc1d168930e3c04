"""What users pass in, and what kernels get to see."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from condyle.errors import DTypeError, ShapeError
from condyle.functions import FUNCTIONS
from condyle.runtime.arrays import Binder, Call
from condyle.runtime.rows import MOST_DIMS
from condyle.specification.ports import F_EXT

pytestmark = pytest.mark.smoke

SIZES = {"nq": 7, "nv": 6, "n_bodies": 5}
F64 = np.dtype("float64")
ID, M, DFD, DIFD = (FUNCTIONS[name] for name in ("id", "m", "dfd", "difd"))


def bind(function, dtype, args, f_ext=None, out=None) -> Call:
    called, given = (function, args) if f_ext is None else (function.taking(F_EXT), (*args, f_ext))
    return Binder(called, SIZES, np.dtype(dtype)).bind(given, out)


def act(call: Call) -> tuple[np.ndarray, ...]:
    """A kernel whose every output entry k of a state is k plus the sum of its inputs."""
    n = call.n
    total = sum(np.broadcast_to(x, (n, x.shape[1])).sum(axis=1) for x in call.inputs)
    for x in call.inputs:
        assert x.ndim == 2
        assert x.shape[0] in (1, n)
        assert x.size == 0 or ((x.shape[1] <= 1 or x.strides[1] == x.itemsize) and x.strides[0] % x.itemsize == 0)
        assert x.flags.aligned
    for y in call.outputs:
        assert y.shape[0] == n
        assert y.size == 0 or y.shape[1] <= 1 or y.strides[1] == y.itemsize
        y[...] = np.arange(y.shape[1]) + np.reshape(total, (n, 1))
    return call.finish()


def state(*batch: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(*batch, 7)), rng.normal(size=(*batch, 6)), rng.normal(size=(*batch, 6))


def wanted(q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    return np.arange(6) + (q.sum(-1) + v.sum(-1) + a.sum(-1))[..., None]


@pytest.mark.parametrize("batch", [(), (1,), (5,), (0,), (2, 3), (2, 0, 3), (2, 1, 3)])
def test_any_batch(batch: tuple[int, ...]) -> None:
    (tau,) = act(bind(ID, F64, state(*batch)))
    assert tau.shape == (*batch, 6)
    np.testing.assert_allclose(tau, wanted(*state(*batch)))


shapes = st.lists(st.integers(0, 3), max_size=3).map(tuple)


def layout(data: st.DataObject, array: np.ndarray) -> np.ndarray:
    """The same numbers, laid out differently."""
    how = data.draw(st.sampled_from(["plain", "fortran", "gap", "reversed", "field", "unaligned", "readonly"]))
    if how == "fortran":
        return np.asfortranarray(array)
    if how == "gap":
        wide = np.full(tuple(2 * s for s in array.shape), np.nan)
        view = wide[tuple(slice(0, 2 * s, 2) for s in array.shape)]
    elif how == "reversed":
        return array[..., ::-1].copy()[..., ::-1]
    elif how == "field":
        view = np.zeros(array.shape, np.dtype([("flag", "i1"), ("x", "f8")]))["x"]
    elif how == "unaligned":
        view = np.zeros(array.nbytes + 1, "u1")[1:].view("f8").reshape(array.shape)
    else:
        view = array.copy()
    view[...] = array
    view.flags.writeable = how != "readonly"
    return view


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_broadcasts_and_strides(data: st.DataObject) -> None:
    batch = data.draw(shapes)
    args = []
    for x in state(*batch):
        keep = data.draw(st.integers(0, len(batch)))
        ones = [data.draw(st.booleans()) for _ in batch[len(batch) - keep :]]
        index = (0,) * (len(batch) - keep) if 0 not in batch[: len(batch) - keep] else None
        if index is None:
            args.append(layout(data, x))
            continue
        part = x[index]
        part = part[tuple(slice(0, 1) if one else slice(None) for one in ones)]
        args.append(layout(data, part))
    full = np.broadcast_shapes(*(arg.shape[:-1] for arg in args))
    out = layout(data, np.zeros((*full, 6))) if data.draw(st.booleans()) else None
    if out is not None and not out.flags.writeable:
        with pytest.raises(ShapeError, match="read-only"):
            bind(ID, F64, args, out=out)
        return
    before = [arg.copy() for arg in args]
    (tau,) = act(bind(ID, F64, args, out=out))
    assert out is None or tau is out
    np.testing.assert_allclose(tau, wanted(*args))
    for arg, old in zip(args, before, strict=True):
        np.testing.assert_array_equal(arg, old)


def test_common_case_copies_nothing() -> None:
    q, v, a = state(9)
    out = np.zeros((9, 6))
    call = bind(ID, F64, (q, v, a), out=out)
    assert all(np.shares_memory(x, y) for x, y in zip((*call.inputs, *call.outputs), (q, v, a, out), strict=True))
    assert call.late == ()
    one = bind(ID, F64, (q, v[0], a))
    assert one.inputs[1].shape == (1, 6)
    rows = np.zeros((9, 40))[:, 3:10]
    assert np.shares_memory(bind(ID, F64, (rows, v, a)).inputs[0], rows)


def test_lists_and_integers_convert() -> None:
    (tau,) = act(bind(ID, "float32", ([0] * 7, [0.5] * 6, np.ones(6, int))))
    assert tau.dtype == np.float32
    np.testing.assert_allclose(tau, np.arange(6) + 9.0)


class Unwilling:
    """An array that does not lend itself, such as a tensor with a gradient."""

    def __array__(self, dtype: object = None, copy: bool | None = None) -> np.ndarray:
        raise RuntimeError("detach it")


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (np.zeros((3, 7), np.longdouble), ["expected float64"]),
        (np.full((3, 7), None), ["object"]),
        (None, ["q is NoneType"]),
        ({"lf_foot": 1}, ["q is dict, expected an array; the entries of joint j are q[..., j.q_slice]"]),
        (Unwilling(), ["q (Unwilling)", "detach it"]),
        ("text", ["real numbers"]),
        ([1j] * 7, ["complex"]),
    ],
)
def test_other_dtypes_name_the_cure(bad: object, words: list[str]) -> None:
    _, v, a = state(3)
    with pytest.raises(DTypeError) as info:
        bind(ID, F64, (bad, v, a))  # pyright: ignore
    assert all(word in str(info.value) for word in ["inverse_dynamics", *words])


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (np.zeros((3, 8)), ["(3, 8)", "(..., 7)"]),
        (np.zeros(()), ["()"]),
        (np.zeros((3, 6)), ["(..., 7)"]),
        ([[0.0] * 7, [0.0] * 6], ["q", "regular"]),
    ],
)
def test_other_shapes_name_the_argument(bad: object, words: list[str]) -> None:
    _, v, a = state(3)
    with pytest.raises(ShapeError) as info:
        bind(ID, F64, (bad, v, a))  # pyright: ignore
    assert all(word in str(info.value) for word in words)


def test_matrices_have_their_shapes() -> None:
    q, v, a = state(3)
    (m,) = act(bind(M, F64, (q,)))
    assert m.shape == (3, 6, 6)
    results = act(bind(DFD, F64, (q, v, a)))
    assert [x.shape for x in results] == [(3, 6, 6)] * 3
    minv = np.zeros((3, 6, 6))
    call = bind(DIFD, F64, (q, v, a, minv.transpose(0, 2, 1)))
    assert call.inputs[3].shape == (3, 36)


def test_external_forces() -> None:
    q, v, a = state(3)
    call = bind(ID, F64, (q, v, a), f_ext=np.zeros((5, 6)))
    assert [x.shape for x in call.inputs] == [(3, 7), (3, 6), (3, 6), (1, 30)]
    assert bind(ID, F64, (q[0], v[0], a[0]), f_ext=np.zeros((4, 5, 6))).n == 4
    with pytest.raises(ShapeError, match=r"f_ext has shape \(3, 30\), expected \(\.\.\., 5, 6\)"):
        bind(ID, F64, (q, v, a), f_ext=np.zeros((3, 30)))
    with pytest.raises(DTypeError, match=r"f_ext is dict, expected an array: robot\.f_ext"):
        bind(ID, F64, (q, v, a), f_ext={"lf_foot": 1})  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match=r"mass_matrix\(q\): 2 arguments given, expected 1"):
        bind(M, F64, (q,), f_ext=np.zeros((5, 6)))


def test_out_is_checked() -> None:
    args = state(3)
    q = args[0]
    block = np.zeros((3, 12))
    shared = np.zeros(100)
    cases = [
        (np.zeros((3, 6), ">f8"), DTypeError, "float64"),
        (np.lib.stride_tricks.as_strided(shared, (3, 6), (0, 8)), ShapeError, "overlaps itself"),
        (np.lib.stride_tricks.as_strided(shared, (3, 6), (16, 8)), ShapeError, "overlaps itself"),
        (3, DTypeError, "int"),
    ]
    for out, error, word in cases:
        with pytest.raises(error, match=word):
            bind(ID, F64, args, out=out)  # pyright: ignore
    with pytest.raises(ShapeError, match="overlaps"):
        bind(DFD, F64, args, out=_same())
    interleaved = bind(ID, F64, (q, block[:, :6], args[2]), out=block[:, 6:])
    assert interleaved.n == 3


def _same() -> list[np.ndarray]:
    one = np.zeros((3, 6, 6))
    return [one, np.zeros((3, 6, 6)), one]


def test_a_tensor_is_no_out() -> None:
    class Tensor:
        __dlpack__ = numpy = None

        def __iter__(self):
            return iter(())

    with pytest.raises(DTypeError, match=r"out is no NumPy array: Tensor: give out=tensor\.numpy\(\)"):
        bind(ID, F64, state(3), out=Tensor())


def test_awkward_out_is_filled_late() -> None:
    args = state(4)
    out = np.zeros((6, 4)).T
    (tau,) = act(bind(ID, F64, args, out=out))
    assert tau is out
    np.testing.assert_allclose(out, wanted(*args))


def test_subclasses_are_plain_arrays() -> None:
    q, v, a = state(1)
    masked = np.ma.masked_array(v, mask=np.zeros_like(v))
    (tau,) = act(bind(ID, F64, (q, masked, a)))
    assert type(tau) is np.ndarray
    np.testing.assert_allclose(tau, wanted(q, v, a))


@pytest.mark.parametrize("dims", [6, 32, 33, 50, 62])
def test_many_dimensions(dims: int) -> None:
    """Up to what NumPy has room for, broadcast or not."""
    q, v, a = state(1)
    many, plain = (1,) * (dims - 2) + (2,), (1,) * (dims - 1)
    (tau,) = act(bind(ID, F64, (np.broadcast_to(q, (*many, 7)), np.reshape(v, (*plain, 6)), a)))
    assert tau.shape == (*many, 6)
    np.testing.assert_allclose(tau, np.broadcast_to(wanted(q, v, a), (*many, 6)))


def test_more_dimensions_than_numpy_has() -> None:
    q = np.zeros((1,) * (MOST_DIMS - 1) + (7,))
    with pytest.raises(ShapeError, match=f"{MOST_DIMS - 1} batch dimensions, expected at most {MOST_DIMS - 2}"):
        bind(M, F64, (q,))
    assert bind(M, F64, (q[0],)).results[0].ndim == MOST_DIMS
    v = np.zeros((1,) * (MOST_DIMS - 1) + (6,))
    with pytest.raises(ShapeError, match=f"expected at most {MOST_DIMS - 2}"):
        bind(ID, F64, (q, v, v), f_ext=np.zeros((2, 5, 6)))


def test_no_entries_but_too_many_dimensions() -> None:
    with pytest.raises(ShapeError, match="too large for an array, though it has no entries"):
        bind(M, F64, (np.zeros((0, 1 << 55, 7)),))


def test_wrong_number_of_arguments() -> None:
    with pytest.raises(ShapeError, match=r"inverse_dynamics\(q, v, a\): 2 arguments"):
        Binder(ID, SIZES, F64).bind(state(1)[:2])
