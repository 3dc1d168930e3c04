"""Joints in segments, columns of matrices and matrices entry by entry, run on the interpreter: exact values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

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
    Pairs,
    Scan,
    Sines,
    Splat,
    Spread,
    Start,
)
from condyle.ir.program import Array
from condyle.links.cuda import part
from condyle.links.cuda.part import linked
from condyle.links.trace.traced_segments import Stage
from tests.backends.cuda.registers import check_registers
from tests.backends.cuda.simulate import simulate
from tests.links.test_lane_operations import (
    BROAD,
    STATES,
    STEP,
    Numbers,
    combining,
    elements,
    lanes_of,
    results,
)

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


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("lanes", [4, 64])
def test_every_register_of_a_kernel_is_declared(lanes: int, bits: int) -> None:
    """Of joints in segments with a base, and of all exchanges between lanes."""
    ops = (Scan(combining(2), "v", True), Neighbour("v", "w", 0, 1), Spread("v"), STEP, Sines(0, 1, 2))
    exchanges = lanes_of(lanes, 2, *ops, partners={"met": [[-2 - 0] * lanes]})
    codes = (in_segments(lanes, 2 * lanes), replace(exchanges, widths={**exchanges.widths, IO: 3}))
    for code, names in zip(codes, (("q", EXT, "a"), ("x", "y")), strict=True):
        *reads, write = (Array(name, (4,)) for name in names)
        text = linked(code, reads, [write], bits).launches[0].texts[0].ptx
        check_registers(text)
        assert ".extern .shared .align 16 .b8 pool[];" in text
