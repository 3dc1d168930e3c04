"""Each operation between lanes alone, run on the interpreter: exact values of whole numbers, of any number of lanes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from condyle.backends.cuda.target import TARGET
from condyle.ir.link_parallel import (
    NONE,
    TABLE,
    EachJoint,
    LinkParallel,
    Neighbour,
    Op,
    Scan,
    Spread,
    Start,
    TreeScanStep,
)
from condyle.ir.program import Array, Program
from condyle.links.cuda.part import linked
from condyle.links.cuda.transport import WIDE
from condyle.links.trace.traced_segments import Stage, composed
from condyle.scalar import Scalar
from tests.backends.cuda.simulate import simulate

Numbers = NDArray[np.floating]
Rows = Sequence[Sequence[int]]

SHORT, LONG, BROAD = 2, WIDE, WIDE + 2
"""Widths: a scan that is unrolled, one that is a loop, one through memory."""
STATES = 3
EVERY_WAY = [(from_tip, bits) for from_tip in (False, True) for bits in (32, 64)]
EACH_WAY_ONCE = [(False, 32), (True, 64)]
LARGE = ((4, LONG), (8, BROAD), (64, 2), (96, 2), (64, BROAD))
"""Lanes and widths."""


def after(base: Sequence[Scalar], tip: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """Pairs (a, b) stand for a x + b; the tip's map after the base's, whose order counts."""
    pairs = zip(base[::2], base[1::2], tip[::2], tip[1::2], strict=True)
    return tuple(x for a, b, c, d in pairs for x in (c * a, c * b + d))


def identity(width: int) -> tuple[float, ...]:
    return (1.0, 0.0) * (width // 2)


def copy_of(source: str, target: str, width: int) -> EachJoint:
    stage = Stage("copy")
    stage.write(target, tuple(stage.read(source, width)))
    return EachJoint(stage.program(), False)


def combining(width: int) -> Program:
    return composed("v", identity(width), after)


def lanes_of(lanes: int, width: int, *ops: Op, partners: dict[str, Rows] | None = None) -> LinkParallel:
    """v = x, then these operations on v, then y = v."""
    widths = {"x": width, "y": width, "v": width, "w": width, TABLE: 0}
    firsts = tuple(width * lane for lane in range(lanes))
    every = (copy_of("x", "v", width), *ops, copy_of("v", "y", width))
    rows = {name: tuple(tuple(row) for row in some) for name, some in (partners or {}).items()}
    known = {"v": identity(width)}
    code = LinkParallel("one", lanes, lanes, 1, (("x", NONE),), (("y", NONE),), widths, known, ((),) * lanes, every)
    return replace(code, offsets={"x": firsts, "y": firsts}, partners=rows)


def elements(lanes: int, width: int) -> Numbers:
    """Maps with a = 1 or -1 and small whole numbers b: every result is exact."""
    rng = np.random.default_rng(lanes + width)
    made = rng.integers(-3, 4, (STATES, lanes, width)).astype(float)
    made[..., ::2] = rng.choice((-1.0, 1.0), made[..., ::2].shape)
    return made


def results(code: LinkParallel, x: Numbers, bits: int) -> Numbers:
    port = Array("x", (x[0].size,))
    (found,) = simulate(linked(code, [port], [Array("y", port.shape)], bits), [x.reshape(len(x), -1)])
    return found.reshape(x.shape)


def folded(some: Sequence[Numbers]) -> Numbers:
    """The product of elements, from the base to the tip; one row a state."""
    total = some[0]
    for one in some[1:]:
        total = np.array([after(a, b) for a, b in zip(total, one, strict=True)])
    return total


@pytest.mark.parametrize(
    ("lanes", "width", "from_tip", "bits"),
    [
        *((lanes, SHORT, *way) for lanes in (1, 4) for way in EVERY_WAY),
        *((lanes, width, *way) for lanes, width in LARGE for way in EACH_WAY_ONCE),
    ],
)
def test_a_scan_has_in_each_lane_the_product_up_to_it(lanes: int, width: int, from_tip: bool, bits: int) -> None:
    x = elements(lanes, width)
    found = results(lanes_of(lanes, width, Scan(combining(width), "v", from_tip)), x, bits)
    for lane in {0, 1, lanes // 2, lanes - 2, lanes - 1} & {*range(lanes)}:
        some = range(lane, lanes) if from_tip else range(lane + 1)
        np.testing.assert_array_equal(found[:, lane], folded([x[:, k] for k in some]))


@pytest.mark.parametrize("from_tip", [False, True])
def test_a_long_scan_over_several_warps_is_a_loop(from_tip: bool) -> None:
    lanes = 64
    x = elements(lanes, LONG)
    code = lanes_of(lanes, LONG, Scan(combining(LONG), "v", from_tip))
    found = results(code, x, 32)
    for lane in (0, 31, 32, lanes - 1):
        some = range(lane, lanes) if from_tip else range(lane + 1)
        np.testing.assert_array_equal(found[:, lane], folded([x[:, k] for k in some]))
    (text,) = linked(code, [Array("x", (1,))], [Array("y", (1,))], 32).launches[0].texts
    assert "STEP1:" in text.ptx and text.pool == (1 + 2) * lanes * 4, "two warps' totals of 60 numbers are two rows"


@pytest.mark.parametrize("lanes", [2, 8])
def test_half_a_scan_has_products_of_at_most_half_the_lanes(lanes: int) -> None:
    x = elements(lanes, BROAD)
    found = results(lanes_of(lanes, BROAD, Scan(combining(BROAD), "v", True, halves=True)), x, 64)
    for lane in range(lanes):
        np.testing.assert_array_equal(found[:, lane], folded([x[:, k] for k in range(lane, lanes)][: lanes // 2]))


# Steps over trees. A row: the partner of each lane.


PARTNERS = ([1, 2, -1, -2 - 0], [-1, 3, -2 - 0, 1], [-1, -1, 1, -1])
"""Lane 2 has two partners, which were changed before; -2 - lane is the first of a branch."""


def stepped(
    x: Numbers, source: Numbers | None, rows: Rows, from_tip: bool, handed: int, combine: Callable[..., object]
) -> Numbers:
    values = x.copy()
    for row in rows:
        before = values.copy()
        for lane, partner in enumerate(row):
            if partner == NONE:
                continue
            other = (before if source is None else source)[:, partner if partner >= 0 else -2 - partner].copy()
            if partner < NONE:
                other[:, :handed] = identity(x.shape[2])[:handed]
            pair = (before[:, lane], other) if from_tip else (other, before[:, lane])
            values[:, lane] = [combine(a, b) for a, b in zip(*pair, strict=True)]
    return values


@pytest.mark.parametrize("width", [2, 4, BROAD])
@pytest.mark.parametrize(
    ("lanes", "from_tip", "bits"), [*((4, *way) for way in EVERY_WAY), *((64, *way) for way in EACH_WAY_ONCE)]
)
def test_a_step_over_a_tree_combines_each_lane_with_its_partners(
    lanes: int, width: int, from_tip: bool, bits: int
) -> None:
    rows = [[*row, *range(4, lanes - 1), -1][:lanes] for row in PARTNERS]
    for some, handed in ((rows, 2), (rows[:1], 1), ([[max(k, -1) for k in row] for row in rows], 2)):
        x = elements(lanes, width)
        step = TreeScanStep(combining(width), "v", "v", "met", from_tip, handed)
        found = results(lanes_of(lanes, width, step, partners={"met": some}), x, bits)
        np.testing.assert_array_equal(found, stepped(x, None, some, from_tip, handed, after))


@pytest.mark.parametrize(("lanes", "bits"), [(4, 64), (4, 32), (64, 32), (64, 64)])
@pytest.mark.parametrize("from_tip", [False, True])
def test_a_step_may_read_another_variable_of_its_partners(lanes: int, bits: int, from_tip: bool) -> None:
    """w is a copy of v and stays; the stage reads only the second entry of a partner."""
    stage = Stage("added")
    mine, others = (stage.read("base" if (name == "v") == from_tip else "tip", 4) for name in ("v", "w"))
    stage.write("v", tuple(2.0 * a - others[1] for a in mine))
    step = TreeScanStep(stage.program(), "v", "w", "met", from_tip)
    rows = [[max(k, -1) for k in [*row, *[-1] * lanes][:lanes]] for row in PARTNERS]
    x = elements(lanes, 4)
    found = results(lanes_of(lanes, 4, copy_of("v", "w", 4), step, partners={"met": rows}), x, bits)

    def combine(base: Numbers, tip: Numbers) -> Numbers:
        own, other = (base, tip) if from_tip else (tip, base)
        return 2.0 * own - other[1]

    np.testing.assert_array_equal(found, stepped(x, x, rows, from_tip, 0, combine))
    none = lanes_of(lanes, 4, copy_of("v", "w", 4), step, partners={"met": ()})
    np.testing.assert_array_equal(results(none, x, bits), x)


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("lanes", [1, 4, 64])
def test_the_first_lane_spreads_its_value(lanes: int, bits: int) -> None:
    x = elements(lanes, 4)
    found = results(lanes_of(lanes, 4, Spread("v")), x, bits)
    np.testing.assert_array_equal(found, np.broadcast_to(x[:, :1], x.shape))


@pytest.mark.parametrize("by", [-2, -1, 0, 1, 3])
@pytest.mark.parametrize(("lanes", "bits"), [(4, 64), (32, 32), (64, 32), (64, 64)])
def test_a_neighbour_is_so_many_lanes_further(lanes: int, bits: int, by: int) -> None:
    """Two entries from the second on; numbers of its identity where there is none."""
    x, width = elements(lanes, 4), 4
    code = lanes_of(lanes, width, Neighbour("v", "w", 1, by), copy_of("w", "v", 2))
    code = replace(code, widths={**code.widths, "w": 2}, identities={"v": (5.0, 6.0, 7.0, 8.0)})
    found = results(code, x, bits)
    for lane in range(lanes):
        there = 0 <= lane + by < lanes
        np.testing.assert_array_equal(found[:, lane, :2], x[:, lane + by, 1:3] if there else [[6.0, 7.0]] * STATES)
    np.testing.assert_array_equal(found[:, :, 2:], x[:, :, 2:])


def test_many_numbers_of_a_neighbour_come_in_parts_that_fit() -> None:
    """Of 1024 lanes few numbers at a time fit into shared memory."""
    x = elements(1024, 20)[:1]
    code = lanes_of(1024, 20, Neighbour("v", "w", 0, 1), copy_of("w", "v", 20))
    (launch,) = linked(code, [Array("x", (x[0].size,))], [Array("y", (x[0].size,))], 64).launches
    row = 1024 * 8
    assert launch.texts[0].pool == TARGET.shared // row * row == 12 * row, "eleven numbers, and a row for angles"
    found = results(code, x, 64)
    np.testing.assert_array_equal(found[:, :-1], x[:, 1:])
    np.testing.assert_array_equal(found[0, -1], identity(20))


@pytest.mark.parametrize("lanes", [4, 64])
def test_numbers_start_equal_in_every_lane(lanes: int) -> None:
    found = results(lanes_of(lanes, 4, Start("v", (1.0, -2.0, 0.0, 0.5))), elements(lanes, 4), 32)
    np.testing.assert_array_equal(found, np.broadcast_to([1.0, -2.0, 0.0, 0.5], found.shape))


def test_a_stage_runs_in_the_lanes_of_its_kind_alone() -> None:
    stage = Stage("negated")
    stage.write("v", tuple(-x for x in stage.read("v", 2)))
    ops = [EachJoint(stage.program(), False, kind) for kind in (1, 2)]
    x = elements(4, 2)
    for some, signs in (
        (ops[:1], (1, -1, -1, 1)),
        (ops, (-1, -1, -1, 1)),
        ([EachJoint(ops[0].stage, False)], (-1,) * 4),
    ):
        code = replace(lanes_of(4, 2, *some), kinds=(2, 1, 1, NONE))
        np.testing.assert_array_equal(results(code, x, 64), x * np.array(signs)[:, None])


NARROW_SCAN, WIDE_SCAN = (Scan(combining(width), "v", True) for width in (SHORT, BROAD))
FURTHER, SPREAD = Neighbour("v", "w", 0, 1), Spread("v")
STEP = TreeScanStep(combining(SHORT), "v", "v", "met", True)
STILL_STEP = TreeScanStep(combining(SHORT), "v", "w", "met", True)
STEPS = TreeScanStep(combining(SHORT), "v", "v", "several", True)
WIDE_STEP = TreeScanStep(combining(BROAD), "v", "v", "several", True)


@pytest.mark.parametrize(
    ("width", "ops", "waits"),
    [
        (SHORT, (NARROW_SCAN,), 1),
        (SHORT, (NARROW_SCAN, NARROW_SCAN), 3),
        (SHORT, (FURTHER,), 1),
        (SHORT, (FURTHER, SPREAD), 3),
        (SHORT, (SPREAD, NARROW_SCAN, FURTHER), 5),
        (SHORT, (STEP,), 1),
        (SHORT, (STEP, STEP), 3),
        (SHORT, (STEPS,), 2),
        (SHORT, (STEPS, NARROW_SCAN), 4),
        (SHORT, (STILL_STEP, STILL_STEP), 3),
        (BROAD, (WIDE_SCAN,), 3),
        (BROAD, (WIDE_SCAN, WIDE_SCAN), 6),
        (BROAD, (WIDE_SCAN, FURTHER), 4),
        (BROAD, (SPREAD, WIDE_SCAN), 5),
        (BROAD, (WIDE_STEP, WIDE_STEP), 6),
        (BROAD, (FURTHER, WIDE_STEP, SPREAD), 6),
    ],
)
def test_a_block_waits_before_a_place_is_written_again_and_no_more(width: int, ops: tuple[Op, ...], waits: int) -> None:
    """The interpreter refuses two threads that meet without a barrier."""
    rows = {"met": [[*range(1, 64), -1]], "several": [[*range(1, 64), -1], [-1] * 64, [5] * 64]}
    code = lanes_of(64, width, copy_of("v", "w", width), *ops, partners=rows)
    x = elements(64, width)[:1]
    port = Array("x", (x[0].size,))
    made = linked(code, [port], [Array("y", port.shape)], 64)
    assert made.launches[0].texts[0].ptx.count("bar.sync 0;") == waits
    simulate(made, [x.reshape(1, -1)])
    rows_used = 1 if {*ops} == {NARROW_SCAN} else width
    assert made.launches[0].texts[0].pool == (1 + rows_used) * 64 * 8


# Where one way of an exchange ends and the next one begins.


def text_of(code: LinkParallel, bits: int) -> str:
    port = Array("x", (code.lanes * code.widths["x"],))
    return linked(code, [port], [Array("y", port.shape)], bits).launches[0].texts[0].ptx


def sums_of(var: str, width: int) -> Program:
    return composed(var, (0.0,) * width, lambda base, tip: tuple(x + y for x, y in zip(base, tip, strict=True)))


@pytest.mark.parametrize(("length", "loop"), [(64, False), (65, True)])
def test_a_scan_of_more_than_64_nodes_is_a_loop(length: int, loop: bool) -> None:
    stage = combining(2)
    padded = replace(stage, nodes=(*stage.nodes, *[("const", 1.0)] * (length - len(stage.nodes))))
    text = text_of(lanes_of(32, 2, Scan(padded, "v", True)), 32)
    assert ("STEP1:" in text) == loop and text.count("shfl.") == (2 if loop else 5 * 2)


@pytest.mark.parametrize(("width", "in_memory"), [(60, False), (61, True)])
def test_more_than_60_numbers_meet_in_memory(width: int, in_memory: bool) -> None:
    """A scan and a step over a tree through shared memory; a copy lies in local memory."""
    stage, partners = sums_of("v", width), {"met": [[1, -1, -1, -1]]}
    scan, step = Scan(stage, "v", True), TreeScanStep(stage, "v", "v", "met", True)
    for op in (scan, step):
        code = replace(lanes_of(4, width, op, partners=partners), identities={"v": (0.0,) * width})
        text = text_of(code, 32)
        assert ("st.shared." in text) == in_memory and ("shfl." in text) != in_memory
    assert ("spilled[" in text_of(lanes_of(4, width, Neighbour("v", "w", 0, 0)), 32)) == in_memory


@pytest.mark.parametrize(("width", "far"), [(11, False), (12, True)])
@pytest.mark.parametrize("tree", [False, True])
def test_what_does_not_fit_into_shared_memory_meets_in_device_memory(width: int, far: bool, tree: bool) -> None:
    """1024 lanes of float64: twelve rows, one of them for angles."""
    step = TreeScanStep(sums_of("v", width), "v", "v", "met", True)
    code = lanes_of(1024, width, step if tree else Spread("v"), partners={"met": [[NONE] * 1024]})
    port = Array("x", (1024 * width,))
    (launch,) = linked(code, [port], [Array("y", port.shape)], 64).launches
    assert launch.texts[0].pool == (1 if far else 1 + width) * 1024 * 8
    assert [array.size for array in launch.writes[1:]] == [1024 * width] * far
    assert ("ld.global.f64" in launch.texts[0].ptx) == far


@pytest.mark.parametrize("op", [Spread("w"), Scan(sums_of("w", BROAD), "w", True)], ids=lambda op: type(op).__name__)
def test_a_wide_copy_that_lanes_exchange_stays_in_registers(op: Op) -> None:
    x = elements(4, BROAD)
    code = lanes_of(4, BROAD, Neighbour("v", "w", 0, 0), op, copy_of("w", "v", BROAD))
    found = results(replace(code, identities=dict.fromkeys("vw", (0.0,) * BROAD)), x, 64)
    sums = np.cumsum(x[:, ::-1], axis=1)[:, ::-1]
    np.testing.assert_array_equal(found, sums if isinstance(op, Scan) else np.broadcast_to(x[:, :1], x.shape))
