"""Packed arrays hold the same numbers as dense ones, on every target, and complain clearly."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import numpy as np
import pytest

import condyle
from condyle import DTypeError, Dynamics, Packed, Robot, ShapeError, UnsupportedError
from condyle.functions import DEFAULT, FUNCTIONS, quantities
from condyle.runtime import packed as module
from condyle.runtime._native import PackedBase
from condyle.runtime.packed import Layout, full, layout, pack_rows, sparse
from tests.forces import function_with

TOLERANCE = {"float64": 1e-12, "float32": 1e-4}
Dyn = Callable[..., Dynamics]


@pytest.fixture(scope="module")
def robot() -> Robot:
    """Two legs on a floating base: unlike nq and nv, zeros in every matrix that can have some."""
    return condyle.random_tree(5, 3, types=("revolute", "prismatic"), floating_base=True)


@pytest.fixture(scope="module")
def compiled(robot: Robot) -> Dyn:
    known: dict[tuple[object, ...], Dynamics] = {}

    def dyn(target: str = "cpu", dtype: str = "float64", threads: int = 1) -> Dynamics:
        key = (target, dtype, threads)
        if key not in known:
            known[key] = robot.compile(target, dtype, threads)
        return known[key]

    return dyn


def arguments(robot: Robot, name: str, n: int, dtype: str, f_ext: bool = False) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(n)
    q, v = robot.random_state(n, rng)
    known = {"q": q, "v": v}
    for port in function_with(name, f_ext).inputs:
        shape = port.shape({"nq": robot.nq, "nv": robot.nv, "n_bodies": len(robot.bodies)})
        if port.name == "Minv":
            known["Minv"] = robot.compile("numpy").mass_matrix_inverse(q)
        elif port.name not in known:
            known[port.name] = rng.uniform(-1.0, 1.0, (n, *shape))
    return {port.name: known[port.name].astype(dtype) for port in function_with(name, f_ext).inputs}


def listed(results: object) -> tuple[object, ...]:
    return results if isinstance(results, tuple) else (results,)


def same(dyn: Dynamics, name: str, given: dict[str, np.ndarray]) -> None:
    """Packed calls, fresh and with out=, against a dense one."""
    method = dyn.function(name)
    packed = {port: dyn.pack(array, port) for port, array in given.items()}
    want = listed(method(**given))
    first, again = listed(method(**packed)), listed(method(**packed))
    out = tuple(dyn.pack(np.zeros_like(x), port.name) for x, port in zip(want, FUNCTIONS[name].outputs, strict=True))
    filled = listed(method(**packed, out=out if len(out) > 1 else out[0]))
    for results in (first, again, filled):
        for got, right in zip(results, want, strict=True):
            assert isinstance(got, Packed)
            assert isinstance(right, np.ndarray)
            assert got.shape == right.shape and got.dtype == right.dtype
            np.testing.assert_allclose(
                got.dense(), right, rtol=0, atol=TOLERANCE[str(dyn.dtype)] * np.abs(right).max(initial=1.0)
            )
    assert all(a is b for a, b in zip(filled, out, strict=True))


@pytest.mark.parametrize("f_ext", [False, True])
@pytest.mark.parametrize("dtype", list(TOLERANCE))
@pytest.mark.parametrize("name", DEFAULT)
def test_packed_calls_answer_as_dense_ones(robot: Robot, compiled: Dyn, name: str, dtype: str, f_ext: bool) -> None:
    if f_ext and not FUNCTIONS[name].takes_f_ext:
        pytest.skip("it takes no external forces")
    same(compiled("cpu", dtype), name, arguments(robot, name, 37, dtype, f_ext))


@pytest.mark.parametrize("target", ["c", "numpy"])
@pytest.mark.parametrize("name", ["m", "difd"])
def test_other_targets_take_them_too(robot: Robot, compiled: Dyn, target: str, name: str) -> None:
    same(compiled(target), name, arguments(robot, name, 11, "float64"))


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 16, 17, 1000])
def test_any_number_of_states_on_any_number_of_threads(robot: Robot, compiled: Dyn, n: int) -> None:
    given = arguments(robot, "did", n, "float64")
    same(compiled(threads=2), "did", given)
    one, two = (
        dyn.inverse_dynamics_derivatives(*(dyn.pack(x) for x in given.values()))
        for dyn in (compiled(), compiled(threads=2))
    )
    assert all((a.dense() == b.dense()).all() for a, b in zip(one, two, strict=True))


@pytest.mark.parametrize("target", ["cpu", "c", "numpy"])
def test_what_all_states_share_may_be_plain(robot: Robot, compiled: Dyn, target: str) -> None:
    """An array without batch dimensions beside packed ones: the first call, the next one, and into out=."""
    dyn = compiled(target)
    q, v = robot.random_state(9, 0)
    want = dyn.inverse_dynamics(q, np.broadcast_to(v[3], v.shape), v)
    out = dyn.pack(np.zeros_like(v))
    for _ in range(2):
        found = dyn.inverse_dynamics(dyn.pack(q), v[3], dyn.pack(v))
        np.testing.assert_allclose(found.dense(), want, rtol=0, atol=1e-12 * np.abs(want).max())
        assert dyn.inverse_dynamics(dyn.pack(q), v[3], dyn.pack(v), out=out) is out
        np.testing.assert_array_equal(out.dense(), found.dense())
        np.testing.assert_array_equal(
            dyn.inverse_dynamics(dyn.pack(q), v[3][::-1][::-1], dyn.pack(v)).dense(), found.dense()
        )
    with pytest.raises(UnsupportedError, match="q is packed and v not"):
        dyn.inverse_dynamics(dyn.pack(q), v[:1], dyn.pack(v))


def test_batches_of_any_dimensions(robot: Robot, compiled: Dyn) -> None:
    q = robot.random_state(6, 0).q
    dyn = compiled()
    for batch in ((), (6,), (2, 3), (1, 6, 1)):
        chosen = q[: int(np.prod(batch))].reshape(*batch, robot.nq)
        packed = dyn.mass_matrix(dyn.pack(chosen))
        assert packed.shape == (*batch, robot.nv, robot.nv)
        np.testing.assert_array_equal(np.asarray(packed), dyn.mass_matrix(chosen), strict=True)


def test_results_are_arguments(robot: Robot, compiled: Dyn) -> None:
    """A chain of calls stays packed: a of fd, then id of it, gives tau back; da_dtau is the Minv that difd takes."""
    dyn = compiled()
    given = arguments(robot, "dfd", 20, "float64")
    q, v, tau = (dyn.pack(x) for x in given.values())
    a = dyn.forward_dynamics(q, v, tau)
    np.testing.assert_allclose(dyn.inverse_dynamics(q, v, a).dense(), given["tau"], atol=1e-9)
    da = dyn.forward_dynamics_derivatives(q, v, tau)
    again = dyn.dynamics_derivatives(q, v, a, da.da_dtau)
    for x, y in zip(again, da[:2], strict=True):
        np.testing.assert_allclose(x.dense(), y.dense(), rtol=0, atol=1e-9 * np.abs(y.dense()).max())


LAYOUTS = {
    "vector": full((7,), 8),
    "wide": full((40,), 8),
    "table": full((3, 6), 8),
    "narrow": full((17,), 4),
    "single": full((9,), 16),
    "sparse": sparse(np.arange(25).reshape(5, 5) % 3 != 1, False, 8),
    "symmetric": sparse(np.add.outer(np.arange(20), np.arange(20)) % 4 != 1, True, 8),
    "odd": full((5,), 3),
}


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("name", list(LAYOUTS))
def test_there_and_back(name: str, native: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the plan that moves tiles, and with NumPy alone."""
    if not native:
        monkeypatch.setattr(module, "_movers", lambda *_: None)
    lay = LAYOUTS[name]
    for dtype in (np.float64, np.float32):
        for n in (0, 1, 5, 24, 33):
            rows = np.random.default_rng(n).uniform(size=(n, lay.size)).astype(dtype)
            rows[:, [place == lay.columns for place in lay.offsets]] = 0
            if lay.symmetric:
                square = rows.reshape(n, *lay.dims)
                rows = np.reshape(square + square.swapaxes(1, 2), (n, lay.size))
            packed = pack_rows(rows, lay, (n,))
            assert packed.blocks.shape == (-(-n // lay.lanes), lay.columns, lay.lanes)
            dense = rows.reshape(n, *lay.dims)
            np.testing.assert_array_equal(packed.dense(), dense, strict=True)
            wide = np.full((n, *lay.dims[:-1], lay.dims[-1] + 2), 3.0, dtype)
            assert packed.dense(out=wide[..., 1:-1]) is not None
            np.testing.assert_array_equal(wide[..., 1:-1], dense, strict=True)
            assert (wide[..., [0, -1]] == 3.0).all()
            for index in (slice(None), slice(1, 4), np.arange(n)[::-2], np.arange(n) % 3 == 0, ...):
                np.testing.assert_array_equal(packed[index], dense[index], strict=True)
            if n:
                np.testing.assert_array_equal(packed[n - 1], dense[-1], strict=True)
                with pytest.raises(IndexError):
                    packed[n]


def test_it_is_an_array_to_look_at(robot: Robot, compiled: Dyn) -> None:
    dyn = compiled()
    q = robot.random_state(10, 0).q
    m = dyn.mass_matrix(dyn.pack(q))
    assert repr(m) == f"Packed(shape=(10, {robot.nv}, {robot.nv}), dtype=float64, blocks={m.blocks.shape})"
    assert (len(m), m.ndim, m.nbytes) == (10, 3, m.blocks.nbytes)
    assert m.layout.columns <= robot.nv * (robot.nv + 1) // 2
    other = pickle.loads(pickle.dumps(m))
    assert other.layout is m.layout and (other.dense() == m.dense()).all()
    assert np.asarray(m, dtype=np.float32).dtype == np.float32
    with pytest.raises(AttributeError):
        m.blocks = other.blocks
    with pytest.raises(AttributeError):
        m.colour = 1
    with pytest.raises(TypeError, match="no length"):
        len(Packed(np.zeros((1, 1, 8)), full((), 8), ()))
    with pytest.raises(ShapeError, match="expected float64"):
        m.dense(out=np.empty((10, robot.nv, robot.nv), np.float32))
    with pytest.raises(ShapeError, match="read-only"):
        m.dense(out=np.broadcast_to(np.zeros(1), m.shape))
    with pytest.raises(DTypeError, match="list"):
        m.dense(out=[1.0])  # type: ignore[arg-type]
    own = dyn.pack(np.zeros((8, robot.nq)))
    if own.blocks.size == 8 * robot.nq:  # eight lanes, or four
        with pytest.raises(ShapeError, match="memory of this array"):
            own.dense(out=own.blocks.reshape(8, robot.nq))


def test_padding_lanes_may_hold_anything(robot: Robot, compiled: Dyn) -> None:
    dyn = compiled()
    q = dyn.pack(robot.random_state(3, 0).q)
    want = dyn.mass_matrix(q).dense()
    q.blocks[..., 3:] = np.nan
    np.testing.assert_array_equal(dyn.mass_matrix(q).dense(), want)


def test_complaints(robot: Robot, compiled: Dyn) -> None:
    """Each says what is wrong; before and after the function is compiled for packed arrays."""
    dyn, single = compiled(), compiled(dtype="float32")
    q, v = (dyn.pack(x) for x in robot.random_state(9, 0))
    other = pack_rows(np.ones((9, robot.nv)), full((robot.nv,), 2), (9,))
    slope = dyn.inverse_dynamics_derivatives(q, v, v).dtau_dq
    read_only = dyn.inverse_dynamics(q, v, v)
    read_only.blocks.flags.writeable = False
    result = dyn.inverse_dynamics(q, v, v)
    wrong: list[tuple[type[Exception], str, Callable[[], object]]] = [
        (UnsupportedError, "q is packed and v, a not", lambda: dyn.inverse_dynamics(q, v.dense(), v.dense())),
        (ShapeError, "f_ext has the batch", lambda: dyn.inverse_dynamics(q, v, v, np.zeros((8, len(robot.bodies), 6)))),
        (ShapeError, "f_ext has shape", lambda: dyn.inverse_dynamics(q, v, v, np.zeros((9, 6)))),
        (DTypeError, "q is packed float64, expected float32", lambda: single.mass_matrix(q)),
        (ShapeError, "q is packed from an array of shape", lambda: dyn.mass_matrix(v)),
        (UnsupportedError, "a is packed 2 states a tile", lambda: dyn.inverse_dynamics(q, v, other)),
        (ShapeError, "structure", lambda: dyn.dynamics_derivatives(q, v, v, slope)),
        (ShapeError, "batches must agree", lambda: dyn.inverse_dynamics(q, v, dyn.pack(v.dense()[:8]))),
        (ShapeError, "out is read-only", lambda: dyn.inverse_dynamics(q, v, v, out=read_only)),
        (ShapeError, "out overlaps", lambda: dyn.inverse_dynamics(q, v, v, out=v)),
        (UnsupportedError, "out is not packed", lambda: dyn.inverse_dynamics(q, v, v, out=v.dense())),
        (UnsupportedError, "out is packed and q not", lambda: dyn.mass_matrix(q.dense(), out=dyn.mass_matrix(q))),
        (ShapeError, "out has 2 arrays", lambda: dyn.inverse_dynamics(q, v, v, out=(result, result))),
        (ShapeError, "overlaps", lambda: dyn.inverse_dynamics_derivatives(q, v, v, out=(slope, slope))),
        (UnsupportedError, "no port 'x'", lambda: dyn.pack(v.dense(), "x")),
        (ShapeError, "pack: q has shape", lambda: dyn.pack(np.ones((4, 3)))),
        (DTypeError, "pack: v is float32", lambda: dyn.pack(np.ones((4, robot.nv), np.float32))),
    ]
    for error, text, attempt in wrong:
        with pytest.raises(error, match=text):
            attempt()


@pytest.mark.parametrize(
    ("blocks", "lay", "batch"),
    [
        (np.zeros((2, 7, 8)), full((7,), 8), (17,)),
        (np.zeros((2, 6, 8)), full((7,), 8), (16,)),
        (np.zeros((2, 7, 4)), full((7,), 8), (16,)),
        (np.zeros((2, 7, 16))[..., ::2], full((7,), 8), (16,)),
        (np.zeros((2, 56)), full((7,), 8), (16,)),
        (np.zeros((2, 7, 8)), full((7,), 8), (-16,)),
        (np.zeros((2, 7, 8)), full((7,), 8), (1 << 40, 1 << 40)),
    ],
)
def test_blocks_that_do_not_fit_are_refused(blocks: np.ndarray, lay: Layout, batch: tuple[int, ...]) -> None:
    with pytest.raises(ShapeError, match=r"pack\(\) makes packed arrays"):
        Packed(blocks, lay, batch)


def test_equal_layouts_are_one() -> None:
    assert layout((3,), (0, 1, 2), False, 8) is full((3,), 8)
    assert issubclass(Packed, PackedBase)
    assert set(quantities()) >= {"q", "v", "a", "tau", "f_ext", "M", "Minv"}
