"""What a call does through its native callable, the method does too: the same answer or the same complaint."""

from __future__ import annotations

import copy
import gc
import inspect
import pickle
import pydoc
import weakref
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import condyle
from condyle import Dynamics
from condyle.compile.targets import C
from condyle.runtime._native import Entry, Function

NV = 2
N = 3
METHODS = ("inverse_dynamics", "mass_matrix", "inverse_dynamics_derivatives")


class Sub(np.ndarray):
    """An array that is not exactly an array."""


@pytest.fixture(scope="module")
def dyn() -> Dynamics:
    robot = condyle.chain(NV)
    dyn = robot.compile(target="c", threads=2)
    q = np.zeros(NV)
    for f_ext in (None, np.zeros((NV, 6))):
        dyn.inverse_dynamics(q, q, q, f_ext)
        dyn.inverse_dynamics_derivatives(q, q, q, f_ext)
    dyn.mass_matrix(q)
    return dyn


def plain(shape: tuple[int, ...], seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def wider(array: np.ndarray) -> np.ndarray:
    """The same entries with gaps in the last axis."""
    return np.repeat(array, 2, axis=-1)[..., ::2]


def misaligned(array: np.ndarray) -> np.ndarray:
    buffer = np.zeros(array.nbytes + 1, "u1")
    view = buffer[1:].view(array.dtype).reshape(array.shape)
    view[...] = array
    return view


VARIANTS: dict[str, Callable[[np.ndarray], object]] = {
    "plain": lambda x: x,
    "rows apart": lambda x: np.repeat(x, 2, axis=0)[::2],
    "backwards": lambda x: x[::-1].copy()[::-1],
    "columns apart": wider,
    "fortran": np.asfortranarray,
    "float32": lambda x: x.astype("f4"),
    "integer": lambda x: x.astype(int),
    "complex": lambda x: x.astype(complex),
    "swapped": lambda x: x.astype(x.dtype.newbyteorder()),
    "with metadata": lambda x: x.astype(np.dtype("f8", metadata={"unit": "rad"})),
    "misaligned": misaligned,
    "read only": read_only,
    "subclass": lambda x: x.view(Sub),
    "masked": lambda x: np.ma.masked_array(x),
    "list": lambda x: x.tolist(),
    "nothing": lambda _: None,
    "text": lambda _: "text",
    "0-d": lambda _: np.array(1.0),
    "scalar": lambda _: 1.0,
    "too short": lambda x: x[..., :-1].copy(),
    "one more batch": lambda x: x[None].copy(),
    "two batches": lambda x: np.stack([x, x]),
    "one row": lambda x: x[:1].copy(),
    "the first one": lambda x: x[0].copy(),
    "other batch": lambda x: np.concatenate([x, x]),
    "empty": lambda x: x[:0].copy(),
    "broadcast": lambda x: np.broadcast_to(x[:1], x.shape),
    "broadcast, writeable": lambda x: np.lib.stride_tricks.as_strided(x, x.shape, (0, *x.strides[1:])),
    "with a warning": lambda x: np.broadcast_arrays(x, x)[0],
}
kinds = st.sampled_from([*VARIANTS, *["plain"] * len(VARIANTS)])
batches = st.sampled_from([(), (1,), (N,), (2, N), (1, 1, 2, 1, 1, 2)])


def vary(kind: str, array: np.ndarray) -> object:
    try:
        return VARIANTS[kind](array)
    except (ValueError, IndexError):  # one state has no rows to play with
        return array


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, Callable[[], tuple[list[object], dict[str, object]]]]:
    """A method, and what makes its arguments anew: each call gets its own."""
    method = draw(st.sampled_from(METHODS))
    batch = draw(batches)
    names = list(inspect.signature(getattr(Dynamics, method)).parameters)[1:]
    inputs = [name for name in names if name not in ("f_ext", "out")]
    shapes = dict.fromkeys(inputs, (*batch, NV))
    shapes |= {"f_ext": (*batch, NV, 6)} if "f_ext" in names and draw(st.booleans()) else {}
    chosen = {name: draw(kinds) for name in shapes}
    given_out = draw(st.sampled_from(["absent", "none", "array", "tuple", "list", "alias", "twice", "generator"]))
    out_kind = draw(kinds)
    by_position = draw(st.integers(0, len(names) + 1))
    odd = draw(st.sampled_from(["", "", "", "", "unknown", "double", "missing"]))

    def make() -> tuple[list[object], dict[str, object]]:
        values = {name: vary(chosen[name], plain(shape, k)) for k, (name, shape) in enumerate(shapes.items())}
        n_out = 2 if method == "inverse_dynamics_derivatives" else 1
        shape = (*batch, NV) if method == "inverse_dynamics" else (*batch, NV, NV)
        outs = [vary(out_kind, np.zeros(shape)) for _ in range(n_out)]
        made: dict[str, object] = {
            "none": None, "array": outs[0], "tuple": tuple(outs), "list": outs, "alias": values["q"],
            "twice": (outs[0],) * n_out, "generator": iter(outs),
        }  # fmt: skip
        if given_out != "absent":
            values["out"] = made[given_out]
        if odd == "missing":
            values.pop(inputs[-1])
        positional: list[object] = []
        for name in names[:by_position]:
            if name not in values:
                break
            positional.append(values[name] if odd == "double" else values.pop(name))
        if odd == "unknown":
            values["torque"] = 1
        return positional, values

    return method, make


def answer(call: Callable[..., object], made: tuple[list[object], dict[str, object]]) -> tuple[object, ...]:
    """What a call gave, what it left in its arguments, or how it complained."""
    args, keywords = made
    try:
        result = call(*args, **keywords)
    except Exception as error:
        return type(error), str(error)
    items = result if isinstance(result, tuple) else (result,)
    out = keywords.get("out")
    outs = list(out) if isinstance(out, (tuple, list)) else [out]
    rest = [x.tobytes() for x in (*args, *keywords.values(), *outs) if isinstance(x, np.ndarray)]
    same = [[item is other for other in outs] for item in items]
    return type(result), [(type(x), x.dtype, x.shape, x.tobytes()) for x in items], same, rest


@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(call=calls())
@pytest.mark.filterwarnings("ignore")
def test_the_method_answers_the_same(dyn: Dynamics, call: tuple[str, Callable[[], tuple[list, dict]]]) -> None:
    method, make = call
    slow = getattr(Dynamics, method).__get__(dyn)
    assert answer(getattr(dyn, method), make()) == answer(slow, make())


def test_nothing_is_no_argument_where_calls_may_be_packed() -> None:
    dyn = condyle.chain(NV).compile()
    x = np.ones((N, NV))
    dyn.inverse_dynamics(x, x, x)  # from here on the native callable asks first whether q is packed
    for args in ((None, x, x), (None, None, None), (dyn.pack(x), None, None), (x, None, x)):
        with pytest.raises(condyle.CondyleError):
            dyn.inverse_dynamics(*args)


def test_plain_calls_never_reach_the_method(dyn: Dynamics, monkeypatch: pytest.MonkeyPatch) -> None:
    def reached(*_: object) -> None:
        raise AssertionError("the method was called")

    monkeypatch.setattr(dyn, "call", reached)
    f_ext = np.zeros((N, NV, 6))
    x, t, d = np.ones((N, NV)), np.empty((N, NV)), (np.empty((N, NV, NV)), np.empty((N, NV, NV)))
    assert dyn.inverse_dynamics(x, x, x, out=t) is t
    assert dyn.inverse_dynamics(x, x, x, None, [t]) is t
    assert dyn.inverse_dynamics(a=x, v=x, q=x, f_ext=f_ext).shape == (N, NV)
    assert dyn.inverse_dynamics(x[0], x[0], x[0]).shape == (NV,)
    assert dyn.inverse_dynamics(x[0], x, x[0]).shape == (N, NV)
    first = dyn.inverse_dynamics_derivatives(x, x, x, out=d)
    assert first.dtau_dq is d[0]
    assert dyn.inverse_dynamics_derivatives(x, x, x, f_ext, out=first).dtau_dv is d[1]
    big = np.ones((2, 5, NV))
    assert dyn.mass_matrix(big).shape == (2, 5, NV, NV)
    with pytest.raises(AssertionError, match="was called"):
        dyn.mass_matrix([[0.0] * NV])


def test_it_looks_like_the_method(dyn: Dynamics) -> None:
    assert isinstance(dyn.inverse_dynamics, Function)
    assert dyn.inverse_dynamics.__doc__ == Dynamics.inverse_dynamics.__doc__
    assert dyn.inverse_dynamics.__name__ == "inverse_dynamics"
    assert list(inspect.signature(dyn.inverse_dynamics).parameters) == ["q", "v", "a", "f_ext", "out"]
    assert "Dynamics.inverse_dynamics" in repr(dyn.inverse_dynamics)
    assert "Return tau: generalised force." in pydoc.render_doc(dyn.inverse_dynamics)
    assert not hasattr(dyn.inverse_dynamics, "nonsense")


def test_it_pickles_and_copies_as_the_method(dyn: Dynamics) -> None:
    x = np.ones(NV)
    for other in (pickle.loads(pickle.dumps(dyn.inverse_dynamics)), copy.copy(dyn).inverse_dynamics):
        assert np.array_equal(other(x, x, x), dyn.inverse_dynamics(x, x, x))


def test_the_method_taken_early_is_fast_later() -> None:
    fresh = condyle.chain(NV).compile(target="c")
    early, x = fresh.inverse_dynamics, np.ones(NV)
    early(x, x, x)
    assert early is fresh.inverse_dynamics


def test_a_subclass_keeps_its_own_method(dyn: Dynamics) -> None:
    class Other(Dynamics):
        def mass_matrix(self, q: object, out: object = None) -> str:  # pyright: ignore
            return "mine"

    _, arguments = dyn.__reduce__()
    other = Other(dyn._compiler, C, "float64", 1, (condyle.Robot.compile, arguments))
    assert other.mass_matrix(np.zeros(NV)) == "mine"


def test_an_unused_dynamics_is_freed() -> None:
    fresh = condyle.chain(NV).compile(target="c")
    fresh.mass_matrix(np.zeros(NV))
    gone = weakref.ref(fresh)
    del fresh
    gc.collect()
    assert gone() is None


def test_a_robot_without_joints_has_methods_only() -> None:
    still = condyle.Builder().body("base").build().compile(target="c")
    assert still.inverse_dynamics(np.zeros((3, 0)), np.zeros((3, 0)), np.zeros((3, 0))).shape == (3, 0)


def test_references_come_and_go_in_pairs(dyn: Dynamics) -> None:
    import sys

    x, t = np.ones((N, NV)), np.empty((N, NV))
    before = sys.getrefcount(x), sys.getrefcount(t), sys.getrefcount(None)
    for _ in range(1000):
        dyn.inverse_dynamics(x, x, x, out=t)
        dyn.inverse_dynamics(x, x, x)
        dyn.inverse_dynamics_derivatives(x, x, x)
        with pytest.raises(condyle.ShapeError):
            dyn.inverse_dynamics(x, x, x, out=x)
    after = sys.getrefcount(x), sys.getrefcount(t), sys.getrefcount(None)
    assert abs(after[2] - before[2]) < 500
    assert after[:2] == before[:2]


GOOD = (print, ("q", "out"), False, ((2,),), ((2,),), np.dtype("f8"), None, 1)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (1, ("q",)), (1, ["q", "out"]), (2, True), (3, ()), (3, ((0,),)), (3, ((2**40,),)), (3, ((1,) * 9,)),
        (3, (2,)), (3, (("2",),)), (3, ((1,),) * 65), (4, ()), (5, "f8"), (6, tuple), (6, int), (7, "1"),
    ],
)  # fmt: skip
def test_a_nonsense_function_is_refused(place: int, value: object) -> None:
    arguments = [*GOOD[:place], value, *GOOD[place + 1 :]]
    if (place, value) == (6, tuple):
        Function(*arguments)  # pyright: ignore
        return
    with pytest.raises((TypeError, ValueError)):
        Function(*arguments)  # pyright: ignore


def test_an_entry_of_another_function_is_refused() -> None:
    function = Function(*GOOD)  # pyright: ignore
    for sizes, letter in ((((3,), (2,)), "d"), (((2,), (2, 2)), "d"), (((2,), (2,)), "f")):
        with pytest.raises(ValueError, match="another function"):
            function.set_entry(False, Entry(1, 64, 1, letter, *sizes, 1))
    with pytest.raises(ValueError, match="another function"):
        function.set_entry(True, Entry(1, 64, 1, "d", (2,), (2,), 1))
