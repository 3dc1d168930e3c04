"""Each operation between lanes alone, run on the interpreter: exact values of whole numbers, of any number of lanes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from condyle.backends.cuda.launches import Parts
from condyle.backends.cuda.target import TARGET
from condyle.ir.link_parallel import (
    EXT,
    IO,
    NONE,
    ROW,
    TABLE,
    EachJoint,
    Emit,
    LinkParallel,
    MatrixPorts,
    Neighbour,
    Once,
    Op,
    Pairs,
    Scan,
    Sines,
    Splat,
    Spread,
    Start,
    TreeScanStep,
)
from condyle.ir.program import Array, Program
from condyle.links.cuda import part
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


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("from_tip", [False, True])
@pytest.mark.parametrize(("lanes", "width"), [(1, 2), (4, 2), (4, LONG), (8, BROAD), (64, 2), (96, 2), (64, BROAD)])
def test_a_scan_has_in_each_lane_the_product_up_to_it(lanes: int, width: int, from_tip: bool, bits: int) -> None:
    if (lanes > 32 or width > SHORT) and (bits == 32) == from_tip:
        return  # each way once
    x = elements(lanes, width)
    found = results(lanes_of(lanes, width, Scan(combining(width), "v", from_tip)), x, bits)
    for lane in {0, 1, lanes // 2, lanes - 2, lanes - 1} & {*range(lanes)}:
        some = range(lane, lanes) if from_tip else range(lane + 1)
        np.testing.assert_array_equal(found[:, lane], folded([x[:, k] for k in some]))


@pytest.mark.parametrize(("lanes", "from_tip"), [(64, True), (64, False)])
def test_a_long_scan_over_several_warps_is_a_loop(lanes: int, from_tip: bool) -> None:
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


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("from_tip", [False, True])
@pytest.mark.parametrize("width", [2, 4, BROAD])
@pytest.mark.parametrize("lanes", [4, 64])
def test_a_step_over_a_tree_combines_each_lane_with_its_partners(
    lanes: int, width: int, from_tip: bool, bits: int
) -> None:
    if lanes == 64 and (bits == 32) == from_tip:
        return  # each way once
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


# Several joints a lane: columns of ports, rows of constants, forces, a floating base.

LENGTH, OUTER = 3, 2
"""Joints of a lane; numbers of a force."""


def in_segments(lanes: int, joints: int) -> LinkParallel:
    """Column 0 is q, 1 a sum over the segment so far, 2 the answer; `b` are the second and third number of the base."""
    forward, backward, once = Stage("sum"), Stage("difference"), Stage("doubled")
    (q, *_), (row, other), (total, weight) = forward.read(IO, 3), forward.read(TABLE, 2), forward.read("v", 2)
    force, base = forward.read(EXT, OUTER), forward.read("b", 2)
    total = total + row * q + force[1]
    forward.write("v", (total, weight + other))
    forward.write(IO, (total,), 1)
    forward.write(ROW, (force[0], base[1] + weight))
    once.write("v", tuple(2.0 * x for x in once.read("v", 2)))
    (_, kept, _), (force0, weighted), (total, weight) = (
        backward.read(IO, 3),
        backward.read(ROW, 2),
        backward.read("v", 2),
    )
    backward.write(IO, (total - kept + weighted,), 2)
    backward.write("v", (total + force0, weight))
    ops = (
        Splat(0, "b", 1),
        Start("v", (0.0, 1.0)),
        EachJoint(forward.program(), False),
        Once(once.program()),
        EachJoint(backward.program(), True),
        Emit(0, "b", 1),
    )
    widths = {TABLE: 2, IO: 3, ROW: 2, EXT: OUTER, "v": 2, "b": 2}
    table = tuple((float(k % 5), float(k % 3)) for k in range(lanes * LENGTH))
    ports = (("q", 0), (EXT, NONE)), (("a", 2),)
    code = LinkParallel("two", joints, lanes, LENGTH, *ports, widths, {}, table, ops)
    return replace(code, base={"q": 3, "a": 4, EXT: 1})


def expected(code: LinkParallel, q: Numbers, forces: Numbers) -> Numbers:
    """By hand; a joint that is not there has zeros for its inputs."""
    answer = np.zeros((len(q), 4 + code.joints))
    answer[:, 1:3] = q[:, 1:3]
    for state, lane in np.ndindex(len(q), code.lanes):
        total, weight, kept = 0.0, 1.0, []
        for joint in range(LENGTH * lane, LENGTH * (lane + 1)):
            there = joint < code.joints
            force = forces[state, 1 + OUTER * joint : 1 + OUTER * (joint + 1)] if there else np.zeros(OUTER)
            row, other = code.table[joint]
            total += row * (q[state, 3 + joint] if there else 0.0) + force[1]
            kept.append((joint, total, force[0], q[state, 2] + weight))
            weight += other
        total *= 2.0
        for joint, sum_, force0, weighted in reversed(kept):
            if joint < code.joints:
                answer[state, 4 + joint] = total - sum_ + weighted
            total += force0
    return answer


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize(("lanes", "joints"), [(1, 3), (4, 10), (4, 12), (32, 70), (64, 190)])
def test_joints_of_a_segment_have_their_entries_of_every_port(lanes: int, joints: int, bits: int) -> None:
    code = in_segments(lanes, joints)
    rng = np.random.default_rng(joints)
    q, forces = (rng.integers(-4, 5, (STATES, n)).astype(float) for n in (3 + joints, 1 + OUTER * joints))
    ports = [Array("q", (3 + joints,)), Array(EXT, (1 + OUTER * joints,))]
    (found,) = simulate(linked(code, ports, [Array("a", (4 + joints,))], bits), [q, forces])
    want = expected(code, q, forces)
    np.testing.assert_array_equal(found[:, 1:3], want[:, 1:3])
    np.testing.assert_array_equal(found[:, 4:], want[:, 4:])


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize(("lanes", "length", "joints"), [(4, 1, 3), (2, 3, 5), (64, 2, 127)])
def test_sines_are_those_of_the_angle_of_each_joint(lanes: int, length: int, joints: int, bits: int) -> None:
    """Of small angles, and of large ones that have a way of their own."""
    stage = Stage("both")
    columns = stage.read(IO, 4)
    stage.write(IO, (4.0 * columns[1] + columns[2],), 3)
    ops = (Sines(0, 2, 1), EachJoint(stage.program(), False))
    ports, widths = ((("q", 0),), (("a", 3),)), {TABLE: 0, IO: 4}
    code = LinkParallel("sines", joints, lanes, length, *ports, widths, {}, ((),) * (lanes * length), ops)
    q = np.random.default_rng(bits).uniform(-7.0, 7.0, (STATES, joints))
    q[0, 0], q[1, 1], q[2, 2] = 0.0, 1e7, -3e5
    q = q.astype(f"f{bits // 8}").astype(float)
    shape = (joints,)
    (found,) = simulate(linked(code, [Array("q", shape)], [Array("a", shape)], bits), [q])
    np.testing.assert_allclose(found, 4.0 * np.cos(q) + np.sin(q), rtol=0, atol=2e-6 if bits == 32 else 1e-14)


@pytest.mark.parametrize("lanes", [4, 64])
def test_a_wide_variable_that_no_stage_writes_is_in_local_memory(lanes: int) -> None:
    """Two of them, whose places differ, and a port's."""
    x = elements(lanes, BROAD)
    moved = [Neighbour("v", name, 0, by) for name, by in (("w", 1), ("u", -1))]
    stage = Stage("added")
    both = zip(stage.read("w", BROAD), stage.read("u", BROAD), strict=True)
    stage.write("v", tuple(a + 2.0 * b for a, b in both))
    code = lanes_of(lanes, BROAD, *moved, EachJoint(stage.program(), False))
    code = replace(code, widths={**code.widths, "u": BROAD}, identities={"v": (3.0,) * BROAD})
    found = results(code, x, 64)
    padded = np.pad(x, ((0, 0), (1, 1), (0, 0)), constant_values=3.0)
    np.testing.assert_array_equal(found, padded[:, 2:] + 2.0 * padded[:, :-2])
    ports = [Array("x", (x[0].size,))], [Array("y", (x[0].size,))]
    assert f"spilled[{3 * BROAD * 8}]" in linked(code, *ports, 64).launches[0].texts[0].ptx


# Matrices, some columns a task.


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize(("lanes", "size", "count"), [(8, 6, 4), (4, 5, 2), (64, 65, 48)])
def test_tasks_have_some_columns_each(lanes: int, size: int, count: int, symmetric: bool) -> None:
    """A lane has its rows of the matrix: the first one two of them. The lower triangle is written to both sides."""
    rows = [2, *[1] * (size - 2), *[0] * (lanes - size + 1)]
    firsts = [0, *range(2, size), *[NONE] * (lanes - size + 1)]
    width = 2 * count
    stage = Stage("product")
    (factor, *_), matrix = stage.read("scale", 1), stage.read("unit" if symmetric else "x", width)
    stage.write("y", tuple(factor * x for x in matrix), 0)
    inputs = ("scale",) if symmetric else ("scale", "x")
    places = {"scale": tuple(firsts), "y": tuple(size * k if k >= 0 else NONE for k in firsts)}
    places |= {"unit": tuple(firsts)} if symmetric else {"x": places["y"]}
    widths = {TABLE: 0, "scale": 1, "y": width, "unit" if symmetric else "x": width}
    kinds = tuple(0 if n == 2 else 1 if n else NONE for n in rows)
    short = Stage("product")
    (factor, *_), matrix = short.read("scale", 1), short.read("unit" if symmetric else "x", count)
    short.write("y", tuple(factor * x for x in matrix))
    ops = (EachJoint(stage.program(), False, 0), EachJoint(short.program(), False, 1))
    ports = tuple((name, NONE) for name in inputs), (("y", NONE),)
    code = LinkParallel("matrix", len(rows), lanes, 1, *ports, widths, {}, ((),) * lanes, ops, places, kinds)
    code = replace(code, columns=MatrixPorts(count, size, symmetric))
    rng = np.random.default_rng(size)
    scale, x = (rng.integers(-4, 5, (STATES, *shape)).astype(float) for shape in ((size,), (size, size)))
    arrays = [Array("scale", (size,)), Array("x", (size, size))][: len(inputs)]
    made = linked(code, arrays, [Array("y", (size, size))], 64)
    assert made.launches[0].texts[0].tasks == -(-size // count)
    (found,) = simulate(made, [scale, x.reshape(STATES, -1)][: len(inputs)])
    factors = np.repeat(scale[:, firsts[: size - 1]], rows[: size - 1], axis=1)
    want = factors[:, :, None] * (np.eye(size) if symmetric else x)
    np.testing.assert_array_equal(found.reshape(STATES, size, size), want)


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


# Square matrices with a thread for each entry.


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("size", [3, 32, 34])
def test_matrices_are_multiplied_in_blocks_of_a_part_of_a_row(
    monkeypatch: pytest.MonkeyPatch, size: int, bits: int
) -> None:
    """Minus the first matrix times each of the others; 34 columns are two blocks of 32 threads."""
    monkeypatch.setattr(part, "TARGET", replace(TARGET, most_threads=32))
    arrays = [Array(name, (size, size)) for name in ("Minv", "a", "b", "x", "y")]
    launch = part.multiplied(arrays[0], arrays[1:3], arrays[3:], bits)
    (text,) = launch.texts
    assert (text.block, text.tasks, text.states) == (32, size * -(-size // 32), 1)
    assert (text.pool, text.order, launch.constants) == (0, "entries", b"")
    rng = np.random.default_rng(size)
    inverse, *others = (rng.integers(-3, 4, (STATES, size, size)).astype(float) for _ in range(3))
    made = Parts("product", bits, tuple(arrays[:3]), tuple(arrays[3:]), (launch,))
    found = simulate(made, [x.reshape(STATES, -1) for x in (inverse, *others)])
    for one, other in zip(found, others, strict=True):
        np.testing.assert_array_equal(one.reshape(other.shape), -inverse @ other)


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("size", [5, 34])
def test_entries_of_matrices_are_of_pairs_on_one_way_to_the_root(
    monkeypatch: pytest.MonkeyPatch, size: int, symmetric: bool
) -> None:
    """Numbers 0 and 1 are of one joint, which carries all; 2 carries 3 and 4; the others stand beside."""
    monkeypatch.setattr(part, "TARGET", replace(TARGET, most_threads=32))
    spans = ((0, size - 1), (0, size - 1), (2, 4), (3, 3), (4, 4), *((k, k) for k in range(5, size)))
    lower, upper = Stage("lower"), Stage("upper")
    for stage, sign in ((lower, 1.0), (upper, 1.0 if symmetric else -1.0)):
        near, far = ("column", "row") if stage is lower else ("row", "column")
        ancestor, record = stage.read(near, 2), stage.read(far, 2)
        for k in range(1 if symmetric else 2):
            stage.write(str(k), (sign * ancestor[0] * record[1] + 8.0 * k,))
    matrices = 1 if symmetric else 2
    pairs = Pairs("some", lower.program(), upper.program(), 3, matrices, spans, 2 if symmetric else NONE)
    outputs = [Array(f"out {k}", (size, size)) for k in range(matrices)]
    records = Array("records", (size, 3))
    launch = part.paired(pairs, records, outputs, 64)
    x = np.random.default_rng(size).integers(-4, 5, (STATES, size, 3)).astype(float)
    made = Parts("pairs", 64, (records,), tuple(outputs), (launch,))
    found = simulate(made, [x.reshape(STATES, -1)])
    for k, one in enumerate(found):
        want = np.zeros((STATES, size, size))
        for row, column in np.ndindex(size, size):
            same = spans[row] == spans[column]
            if spans[column][0] <= spans[row][0] <= spans[column][1] and not (symmetric and same and row < column):
                want[:, row, column] = x[:, column, 0] * x[:, row, 1] + 8.0 * k
            elif spans[row][0] <= spans[column][0] <= spans[row][1]:
                sign = 1.0 if symmetric else -1.0
                want[:, row, column] = sign * x[:, row, 0] * x[:, column, 1] + 8.0 * k
        if symmetric:
            want += np.eye(size) * x[:, :, 2][:, :, None]
            np.testing.assert_array_equal(one.reshape(want.shape), one.reshape(want.shape).transpose(0, 2, 1))
        np.testing.assert_array_equal(one.reshape(want.shape), want)


SPECIAL = {"tid", "ctaid", "ntid"}


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("lanes", [4, 64])
def test_every_register_of_a_kernel_is_declared(lanes: int, bits: int) -> None:
    """Of joints in segments with a base, and of all exchanges between lanes."""
    ops = (Scan(combining(2), "v", True), Neighbour("v", "w", 0, 1), Spread("v"), STEP, Sines(0, 1, 2))
    one = lanes_of(lanes, 2, *ops, partners={"met": [[-2 - 0] * lanes]})
    codes = (in_segments(lanes, 2 * lanes), replace(one, widths={**one.widths, IO: 3}))
    for code, names in zip(codes, (("q", EXT, "a"), ("x", "y")), strict=True):
        *reads, write = (Array(name, (4,)) for name in names)
        text = linked(code, reads, [write], bits).launches[0].texts[0].ptx
        declared = set(re.findall(r"%(\w+)", " ".join(re.findall(r"\.reg \.\w+ ([^;]*);", text))))
        used = {re.sub(r"^([vx])\d+$", r"\1", name) for name in re.findall(r"%([A-Za-z]\w*)", text)} - SPECIAL
        arrays = {f"{stem}_" for stem in code.widths}
        used = {next((stem for stem in arrays if re.fullmatch(rf"{stem}\d+", name)), name) for name in used}
        assert {re.sub(r"^([a-z])\d+$", r"\1", name) for name in used - declared} <= declared
        assert ".extern .shared .align 16 .b8 pool[];" in text
