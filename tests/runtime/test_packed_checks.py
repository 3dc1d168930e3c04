"""Packed arrays that do not fit, were changed since, or need more memory than there is: each is refused with words."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import condyle
from condyle import DTypeError, Dynamics, OutOfMemoryError, Packed, Robot, ShapeError
from condyle.runtime import machine
from condyle.runtime.machine import VAST
from condyle.runtime.packed import Layout, full, layout
from condyle.runtime.rows import MOST_DIMS


@pytest.fixture(scope="module")
def robot() -> Robot:
    return condyle.random_tree(2, 3, types=("revolute", "prismatic"), floating_base=True)


@pytest.fixture(scope="module")
def compiled(robot: Robot) -> dict[str, Dynamics]:
    return {target: robot.compile(target) for target in ("cpu", "numpy")}


@pytest.mark.parametrize("fields", [(np.zeros((2, 7, 8), int), full((7,), 8), (16,)), ([], full((7,), 8), ())])
def test_blocks_of_another_type_are_refused(fields: tuple[np.ndarray, Layout, tuple[int, ...]]) -> None:
    with pytest.raises(DTypeError, match="Packed"):
        Packed(*fields)
    with pytest.raises(DTypeError, match="layout is tuple"):
        Packed(np.zeros((2, 7, 8)), (7,), (16,))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "fields",
    [
        ((7,), (0, 7), False, 8),
        ((7,), (-1, 2), False, 8),
        ((7,), (2, 1), False, 8),
        ((7,), (1, 1), False, 8),
        ((7,), (0, 1.0), False, 8),
        ((7,), (0,), True, 8),
        ((2, 3), (0,), True, 8),
        ((7,), (0,), False, 0),
        ((1 << 40,), (0,), False, 8),
    ],
)
def test_layouts_of_no_array_are_refused(fields: tuple[tuple[int, ...], tuple[int, ...], bool, int]) -> None:
    """A pickle could bring one."""
    with pytest.raises(ShapeError, match="no way to pack"):
        layout(*fields)


@pytest.mark.parametrize("how", ["resize", "shape", "dtype"])
@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_blocks_that_are_changed_later_are_noticed(
    robot: Robot, compiled: dict[str, Dynamics], target: str, how: str
) -> None:
    dyn = compiled[target]
    q = dyn.pack(robot.random_state(16, 0).q)
    dyn.mass_matrix(q)
    tiles, columns, lanes = q.blocks.shape
    if how == "resize":
        q.blocks.resize((1, columns, lanes), refcheck=False)
    elif how == "shape":
        q.blocks.shape = (tiles, lanes, columns)
    else:
        q.blocks.dtype = np.int64
    uses: list[Callable[[], object]] = [lambda: dyn.mass_matrix(q), q.dense, lambda: q[0], lambda: np.asarray(q)]
    for use in uses:
        with pytest.raises((ShapeError, DTypeError), match=r"blocks were changed|q is packed int64"):
            use()


def test_one_wrench_serves_all_packed_states(robot: Robot, compiled: dict[str, Dynamics]) -> None:
    dyn, rng = compiled["cpu"], np.random.default_rng(0)
    q, v = robot.random_state(9, 0)
    f_ext = rng.uniform(-1, 1, (9, len(robot.bodies), 6))
    packed = dyn.pack(q), dyn.pack(v), dyn.pack(v)
    for given in (f_ext[0], f_ext, f_ext[:1], f_ext[0].tolist(), dyn.pack(f_ext, "f_ext")):
        got = dyn.inverse_dynamics(*packed, given)
        assert isinstance(got, Packed)
        dense = given.dense() if isinstance(given, Packed) else given
        np.testing.assert_array_equal(got.dense(), dyn.inverse_dynamics(q, v, v, dense))


def test_dense_forces_are_broadcast_in_every_packed_call(robot: Robot, compiled: dict[str, Dynamics]) -> None:
    """Where forces are one input among others too: with open numbers, in derivatives, in steps with E."""
    dyn, opened, rng = compiled["cpu"], robot.compile(inputs=("inertias",)), np.random.default_rng(0)
    q, v = robot.random_state(9, 0)
    state, packed, wrong = (q, v, v), tuple(dyn.pack(x) for x in (q, v, v)), np.zeros((8, len(robot.bodies), 6))
    f_ext = rng.uniform(-1, 1, (9, len(robot.bodies), 6))
    for given in (f_ext[0], f_ext[:1], f_ext):
        got = opened.inverse_dynamics(*packed, f_ext=given)
        assert isinstance(got, Packed)
        np.testing.assert_array_equal(got.dense(), opened.inverse_dynamics(*state, f_ext=given))
        pairs = [
            (dyn.step_derivatives(*packed, 0.01, f_ext=given), dyn.step_derivatives(*state, 0.01, f_ext=given)),
            (dyn.vjp("id")(*packed, packed[1], f_ext=given), dyn.vjp("id")(*state, v, f_ext=given)),
        ]
        for some, others in pairs:
            for x, y in zip(some, others, strict=True):
                np.testing.assert_allclose(np.asarray(x), y, rtol=0, atol=1e-12 * np.abs(y).max())
    tangent = dyn.jvp("id")(*packed, packed[1], packed[1], packed[1], df_ext=f_ext[:1])
    np.testing.assert_array_equal(tangent.dense(), dyn.jvp("id")(*state, v, v, v, df_ext=f_ext[:1]))
    for call in (opened.inverse_dynamics, dyn.vjp("id")):
        more = () if call is opened.inverse_dynamics else (packed[1],)
        with pytest.raises(ShapeError, match=r"f_ext has the batch \(8,\), which does not broadcast to \(9,\)"):
            call(*packed, *more, f_ext=wrong)


def test_pack_is_checked_as_calls_are(compiled: dict[str, Dynamics], robot: Robot) -> None:
    dyn, nq = compiled["cpu"], robot.nq
    wrong: list[tuple[type[Exception], str, object, str]] = [
        (ShapeError, "pack: q has shape", np.ones((4, 3)), ""),
        (ShapeError, "pack: q has shape", 1.0, ""),
        (ShapeError, "pack: array is not a regular array", [[1.0] * nq, [1.0]], ""),
        (ShapeError, "pack: Minv has shape", np.ones((4, 3)), "Minv"),
        (DTypeError, "pack: array is dict, expected an array", {"a": 1}, ""),
        (DTypeError, r"f_ext is dict, expected an array: robot\.f_ext", {"a": 1}, "f_ext"),
        (DTypeError, "pack: q is complex128", np.ones((4, nq), complex), ""),
        (DTypeError, "byte order", np.ones((4, nq), ">f8"), ""),
    ]
    for error, words, array, port in wrong:
        with pytest.raises(error, match=words):
            dyn.pack(array, port)  # type: ignore[arg-type]
    assert dyn.pack([[0] * nq]).dtype == np.float64


def test_pack_asks_for_memory_first(
    compiled: dict[str, Dynamics], robot: Robot, monkeypatch: pytest.MonkeyPatch
) -> None:
    dyn = compiled["cpu"]
    monkeypatch.setattr(machine, "available", lambda: VAST // 2)
    wide = np.broadcast_to(np.zeros(robot.nq), (1 << 30, robot.nq))
    for array in (wide, np.broadcast_to(np.zeros(robot.nq, int), wide.shape)):
        with pytest.raises(OutOfMemoryError, match=r"pack: the results of 1073741824 states take \d+\.\d GB"):
            dyn.pack(array)


def test_more_dimensions_than_a_dense_array_has(robot: Robot, compiled: dict[str, Dynamics]) -> None:
    dyn = compiled["cpu"]
    m = dyn.mass_matrix(dyn.pack(np.broadcast_to(robot.neutral(), (1,) * (MOST_DIMS - 1) + (robot.nq,))))
    with pytest.raises(ShapeError, match=f"NumPy allows {MOST_DIMS}"):
        m.dense()


@pytest.mark.parametrize("target", ["cpu", "numpy"])
@pytest.mark.parametrize("n", [1, 9, 16])
def test_blocks_that_share_padding_lanes_alone_overlap(
    robot: Robot, compiled: dict[str, Dynamics], target: str, n: int
) -> None:
    """A call writes whole tiles. Twice: the second call of a function is checked by native code."""
    dyn = compiled[target]
    q, v = (dyn.pack(x) for x in robot.random_state(n, 0))
    tau = dyn.inverse_dynamics(q, v, v)
    lanes, size = v.layout.lanes, v.blocks.size
    shared = np.zeros(2 * size)
    inside = shared[:size].reshape(v.blocks.shape)
    inside[:] = v.blocks
    for begin in range(0, size + 1, lanes):
        out = Packed(shared[begin : begin + size].reshape(v.blocks.shape), v.layout, v.batch)
        if begin < size:
            with pytest.raises(ShapeError, match="out overlaps"):
                dyn.inverse_dynamics(q, Packed(inside, v.layout, v.batch), v, out=out)
        else:
            dyn.inverse_dynamics(q, Packed(inside, v.layout, v.batch), v, out=out)
            np.testing.assert_array_equal(out.dense(), tau.dense())
