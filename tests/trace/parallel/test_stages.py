"""Stages under construction, and values of lanes: what is read, written, kept and used up."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from condyle.algorithms.joint import Joint
from condyle.ir.interp import run
from condyle.ir.program import Array
from condyle.links.algorithms.articulated import Segments
from condyle.links.algorithms.links import Inward, Sums
from condyle.links.algorithms.phases import Together
from condyle.links.trace import floats, has_branches, is_chain
from condyle.links.trace.functions import LaneLinks
from condyle.links.trace.traced_segments import Entry, Here, Stage, TracedSegments, handed, seen
from condyle.model.tree import Tree, tree_of
from condyle.spatial import six
from condyle.spatial import vector as vec
from tests.laws.robots import robot_named
from tests.links.test_small_robots import robot_of
from tests.trace.parallel.test_segments import floating


def test_a_stage_reads_and_writes_entries_of_variables() -> None:
    """A variable is as long as what is read of it; zeros are written too."""
    stage = Stage("sum")
    (a,), (_, b), (c, d) = stage.read("x", 1), stage.read("y", 2), stage.value("x", (0.0, 0.0), 1)
    stage.read("x", 2)
    stage.write("z", (a + b, 0.0, c * d), 2)
    stage.write("w", (c,))
    made = stage.program()
    assert made.name == "sum" and made.inputs == (Array("x", (3,)), Array("y", (2,)))
    assert made.arrays == (Array("z", (5,)), Array("w", (1,)))
    assert {(output.array, output.index) for output in made.outputs} == {(0, 2), (0, 3), (0, 4), (1, 0)}
    z, w = run(made, [np.array([[2.0, 3.0, 5.0]]), np.array([[7.0, 11.0]])])
    assert z.tolist() == [[0.0, 0.0, 13.0, 0.0, 15.0]] and w.tolist() == [[3.0]]


def test_entries_are_seen_as_symbols_and_numbers_stay() -> None:
    stage = Stage("seen")
    first, number = seen(Here(stage), (Entry("x", 3), 0.5))  # type: ignore[misc]
    assert number == 0.5 and stage.inputs == [Array("x", (4,))]
    stage.write("y", (first,))
    (y,) = run(stage.program(), [np.array([[1.0, 2.0, 3.0, 4.0]])])
    assert y.item() == 4.0
    with pytest.raises(AssertionError):
        _ = Here(stage).nv


def test_what_branches_pass_on_is_the_end_of_an_element() -> None:
    """Of sums all of it, of maps the vectors, of articulated elements the load."""
    assert handed(Sums(vec.ZERO)) == 0 and handed(Inward()) == 36
    assert handed(Together(Inward(), 4)) == 36 and handed(Segments(0.0)) == 63


def lever(joint: Joint) -> vec.Vector:
    return joint.origin


def same(value: object) -> object:
    return value


def test_a_value_that_was_scanned_in_place_is_used_up() -> None:
    links = LaneLinks(tree_of(robot_of("chain")), 4)
    value = links.each(lever)
    links.all(same, value)
    total = links.outward(Sums(vec.ZERO), value)
    links.all(same, total)
    again = links.inward(Sums(vec.ZERO), total)
    links.all(same, again)
    for gone in (value, total):
        with pytest.raises(AssertionError, match="used up"):
            links.all(same, gone)


def free_only() -> condyle.Robot:
    builder = condyle.Builder().body("b", mass=1.0, inertia=0.001 * np.eye(3))
    return builder.joint("j", parent="world", child="b", type="free").build()


CHAINS = {
    "chain": (lambda: condyle.chain(3, rng=1), True, 1),
    "free and more": (lambda: floating(1), True, 0),
    "free only": (free_only, False, 0),
    "limbs": (lambda: robot_of("limbs"), False, 3),
    "universal": (lambda: robot_of("fork"), False, 0),
    "mimic": (lambda: robot_named("zoo"), False, 0),
}
"""Robots, whether each is a chain, and its least number of lanes; 0 where lanes cannot be its branches."""


@pytest.mark.parametrize("name", CHAINS)
def test_lanes_are_segments_of_chains_and_of_branches_of_simple_joints(name: str) -> None:
    build, chain, least = CHAINS[name]
    tree = tree_of(build())
    assert is_chain(tree) == chain and floats(tree) == name.startswith("free")
    assert [has_branches(tree, lanes) for lanes in (least - 1, least, 99)] == [False, least > 0, least > 0]


def test_nothing_is_no_chain_and_floats_not() -> None:
    tree: Tree = tree_of(condyle.Builder().body("base", mass=1.0).build())
    assert not floats(tree) and not is_chain(tree) and not has_branches(tree, 4)


def rows_of(segments: TracedSegments) -> np.ndarray:
    """All columns of the table, those that are in the code too."""
    table = segments.table
    free = [k for k, x in enumerate(table.fixed) if x is None]
    rows = np.array([[np.nan if x is None else x for x in table.fixed]] * len(table.rows))
    rows[:, free] = table.rows
    return rows


@pytest.mark.parametrize("name", ["chain", "limbs"])
def test_joints_that_fill_a_segment_have_no_mass(name: str) -> None:
    """Beyond a chain's tip an armature of 1 keeps D from zero; between branches a huge one holds the joint."""
    lanes = 2 if name == "chain" else 4
    segments = TracedSegments(tree_of(robot_of(name)), False, lanes, 0.0)
    rows = rows_of(segments)
    padding = rows[3:]
    assert len(padding) == 1 and (rows[:3, 12] > 0.0).all() and (rows[:, 23] == 1.0).all()
    np.testing.assert_array_equal(padding[0, 12:22], np.zeros(10))
    assert padding[0, 22] == (1.0 if name == "chain" else 1e30)
    if name == "chain":
        np.testing.assert_array_equal(padding[0, :12], rows[0, :12])
    else:
        np.testing.assert_array_equal(padding[0, :12], [1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0])
    assert segments.spans == (((0, 2), (2, 1)) if name == "chain" else ((0, 1), (1, 1), (2, 1), (0, 0)))


def test_more_lanes_than_joints_have_none() -> None:
    segments = TracedSegments(tree_of(robot_of("chain")), False, 4, 0.25)
    assert (segments.length, segments.joints, segments.guard) == (1, 3, 0.25)
    assert segments.spans == ((0, 1), (1, 1), (2, 1), (3, 0))
    assert segments.external == () and segments.base_answer == ()
    free = TracedSegments(tree_of(floating(3)), True, 2, 0.0)
    assert (free.length, free.joints, len(free.external)) == (2, 3, 1) and len(six.ZERO) == len(free.base_answer)
