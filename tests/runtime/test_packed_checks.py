"""Packed arrays that do not fit, were changed since, or need more memory than there is: each is refused with words."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

import condyle
from condyle import DTypeError, Dynamics, OutOfMemoryError, Packed, Robot, ShapeError, UnsupportedError
from condyle.runtime import machine
from condyle.runtime.machine import VAST
from condyle.runtime.packed import Layout, full, layout, packed_bytes, sparse, tiles
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


ARMS = condyle.chain(3, rng=0)
CPU = ARMS.compile("numpy")
ROWS = tuple(CPU.pack(x) for x in (*ARMS.random_state(9, 0), np.zeros((9, 3))))


def packs(shape: tuple[int, ...], lanes: int, dtype: str = "f8", entries: tuple[int, ...] = ()) -> Packed:
    """A packed array of zeros, of nine states."""
    of = layout(shape, entries or tuple(range(int(np.prod(shape)))), False, lanes)
    return Packed(np.zeros((-(-9 // lanes), of.columns, lanes), dtype), of, (9,))


@pytest.mark.parametrize(
    ("arguments", "out", "error", "said"),
    [
        (ROWS[:2], None, ShapeError, "inverse_dynamics: 2 arguments given, expected q, v, a"),
        (
            (ROWS[0], ROWS[1], [0.0] * 3),
            None,
            UnsupportedError,
            (
                "inverse_dynamics: q is packed and a not: pack every argument with pack(), or none; what all states "
                "share may be an array without batch dimensions"
            ),
        ),
        (
            (ROWS[0], packs((3,), 8, "f4"), ROWS[2]),
            None,
            DTypeError,
            'inverse_dynamics: v is packed float32, expected float64: pack(v.dense().astype("float64")) makes it so',
        ),
        (
            (ROWS[0], packs((2, 3), 8), ROWS[2]),
            None,
            ShapeError,
            "inverse_dynamics: v is packed from an array of shape (9, 2, 3), expected (..., 3)",
        ),
        (
            (ROWS[0], packs((3,), 4), ROWS[2]),
            None,
            UnsupportedError,
            "inverse_dynamics: v is packed 4 states a tile, this target takes 8: pack(v.dense()) makes it so",
        ),
        (
            (ROWS[0], packs((3,), 8, entries=(0, 2)), ROWS[2]),
            None,
            ShapeError,
            (
                "inverse_dynamics: v is packed with 2 entries kept, this takes 3: it is another quantity or from "
                "a robot of another structure; pack(v.dense(), port) packs it anew"
            ),
        ),
        (
            (ROWS[0], ROWS[1], CPU.pack(np.zeros((8, 3)))),
            None,
            ShapeError,
            "inverse_dynamics: packed arrays are not broadcast, their batches must agree: q (9, 3), v (9, 3), a (8, 3)",
        ),
        (ROWS, (CPU.pack(np.zeros((9, 3))),) * 2, ShapeError, "inverse_dynamics: out has 2 arrays, expected 1"),
        (
            ROWS,
            CPU.pack(np.zeros((8, 3))),
            ShapeError,
            "inverse_dynamics: out has the batch (8,), expected (9,)",
        ),
        (
            ROWS,
            np.zeros((9, 3)),
            UnsupportedError,
            "inverse_dynamics: out is not packed as the arguments are; use dense(out=)",
        ),
        (ROWS, ROWS[1], ShapeError, "inverse_dynamics: out overlaps an input or another output; pass a fresh array"),
    ],
)
def test_what_a_packed_call_refuses(arguments: object, out: object, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=rf"^{re.escape(said)}$"):
        CPU.call("id", arguments, out)  # type: ignore[arg-type]


def test_outputs_are_named_by_their_number_where_there_are_several() -> None:
    own = CPU.inverse_dynamics_derivatives(*ROWS)
    fewer = CPU.inverse_dynamics_derivatives(*(CPU.pack(x.dense()[:8]) for x in ROWS))
    said = r"^inverse_dynamics_derivatives: out\[1\] has the batch \(8,\), expected \(9,\)$"
    with pytest.raises(ShapeError, match=said):
        CPU.inverse_dynamics_derivatives(*ROWS, out=(own[0], fewer[1]))  # type: ignore[arg-type]


def test_a_packed_array_becomes_a_dense_one_by_copying_only() -> None:
    q = ROWS[0]
    with pytest.raises(ValueError, match="by copying only"):
        q.__array__(copy=False)
    assert q.__array__("f4").dtype == np.float32 and q.__array__().dtype == np.float64
    assert repr(q) == "Packed(shape=(9, 3), dtype=float64, blocks=(2, 3, 8))" and q.nbytes == 2 * 3 * 8 * 8
    assert (q.ndim, len(q), q.shape) == (2, 9, (9, 3))


def test_offsets_of_entries_that_are_zero_or_mirrored() -> None:
    """The column of each entry; the number of columns stands for zero."""
    assert layout((4,), (1, 3), False, 8).offsets == (2, 0, 2, 1)
    kept = np.array([[True, True, False], [True, True, True], [False, True, True]])
    upper = sparse(kept, True, 4)
    assert upper.entries == (0, 1, 4, 5, 8) and upper.offsets == (0, 1, 5, 1, 2, 3, 5, 3, 4)
    assert sparse(kept, False, 4).entries == (0, 1, 3, 4, 5, 7, 8) and not sparse(kept, False, 4).symmetric
    assert full((2, 2), 4).offsets == (0, 1, 2, 3) and full([2, 3], 4).dims == (2, 3)
    assert (upper.columns, upper.size) == (5, 9)


@pytest.mark.parametrize(("n", "count"), [(0, 0), (1, 1), (8, 1), (9, 2), (16, 2), (17, 3)])
def test_states_fill_whole_tiles(n: int, count: int) -> None:
    of = layout((4,), (1, 3), False, 8)
    assert tiles(n, of) == count and packed_bytes(n, of, np.dtype("f4")) == count * 2 * 8 * 4


def test_the_most_of_a_layout_is_2_to_24() -> None:
    most = 1 << 24
    assert layout((most,), (0, most - 1), False, most).size == most
    for fields in (((most + 1,), (0,), False, 1), ((7,), (0,), False, most + 1), ((7,), (0,), False, 0)):
        with pytest.raises(ShapeError, match=r"^Layout: no way to pack .*; pack\(\) makes layouts$"):
            layout(*fields)
    assert layout((7,), (), False, 1).columns == 0


def test_ports_are_named_by_text() -> None:
    with pytest.raises(UnsupportedError, match=r"^pack: of is int, expected a name such as 'f_ext'$"):
        CPU.pack(np.zeros((4, 3)), "q", 3)  # type: ignore[arg-type]
    with pytest.raises(UnsupportedError, match=r"^pack: there is no port 'x'; there are q, v, a, f_ext, tau$"):
        CPU.pack(np.zeros((4, 3)), "x", "id")
