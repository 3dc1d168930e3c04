"""The normal form that algorithms sweep: its numbers and what it says of itself, by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from condyle import Builder, Contact, Robot
from condyle.model.parts import Body
from condyle.model.placement import Placement
from condyle.model.tree import Coordinate, Tree, carried, matrix, reach, symmetric, tree_of, vector
from condyle.specification import Bound

INERTIA = np.diag([0.1, 0.2, 0.3])


def robot(*joints: tuple[str, str, str, dict[str, Any]], mass: float = 2.0) -> Robot:
    """Joints (name, parent, type, more) whose bodies have their names."""
    builder = Builder("r", gravity=(1, 2, 3))
    for name, parent, kind, more in joints:
        builder.body(name, mass=mass, com=(0.0, 0.5, 0.0), inertia=INERTIA)
        builder.joint(name, parent=parent, child=name, type=kind, second_axis=(0, 1, 0), **more)
    return builder.build()


MIXED = robot(
    ("slide", "world", "prismatic", {}),
    ("turn", "slide", "revolute", {"xyz": (1, 0, 0), "rpy": (0, 0, np.pi / 2), "axis": (1, 0, 0), "armature": 0.25}),
    ("end", "turn", "universal", {"axis": (1, 0, 0), "armature": (0.5, 0.75)}),
    ("follower", "slide", "helical", {"pitch": 0.125, "mimic": ("turn", -2.0, 0.5)}),
)


def test_links_in_order_with_where_they_turn() -> None:
    """A universal joint is two links, the first without a body."""
    tree = tree_of(MIXED)
    assert (tree.nq, tree.nv, tree.n_bodies, tree.gravity) == (4, 4, 4, (1.0, 2.0, 3.0))
    assert tree.parents == [-1, 0, 1, 2, 0] and [link.body for link in tree.links] == [0, 1, -1, 2, 3]
    assert tree.levers == [False, False, True, True, False]
    assert [link.numbers.mass for link in tree.links] == [2.0, 2.0, 0.0, 2.0, 2.0] and tree.mass == 8.0
    assert [link.numbers.armature for link in tree.links] == [(0.0,), (0.25,), (0.5,), (0.75,), (0.0,)]
    assert [link.numbers.pitch for link in tree.links] == [0.0, 0.0, 0.0, 0.0, 0.125]


def test_coordinates_and_whose_they_are() -> None:
    tree = tree_of(MIXED)
    assert [link.q for link in tree.links] == [
        (Coordinate(0, 1.0, 0.0),),
        (Coordinate(1, 1.0, 0.0),),
        (Coordinate(2, 1.0, 0.0),),
        (Coordinate(3, 1.0, 0.0),),
        (Coordinate(1, -2.0, 0.5, False),),
    ]
    assert tree.links[-1].v == (Coordinate(1, -2.0, 0.0, False),)
    assert all(c.is_independent for link in tree.links[:-1] for c in (*link.q, *link.v))
    assert tree.has_shared_coordinates and not tree_of(robot(("a", "world", "revolute", {}))).has_shared_coordinates
    assert [(kind.name, q, v) for kind, q, v in tree.configurations] == [
        ("prismatic", [0], [0]),
        *(("revolute", [k], [k]) for k in (1, 2, 3)),
    ]


def test_a_follower_that_only_has_an_offset_has_no_configuration_of_its_own() -> None:
    pair = robot(("a", "world", "revolute", {}), ("b", "a", "revolute", {"mimic": ("a", 1.0, 0.5)}))
    assert [(q, v) for _, q, v in tree_of(pair).configurations] == [([0], [0])]
    assert tree_of(pair).has_shared_coordinates


@pytest.mark.parametrize(
    ("armature", "rotors"), [(0.0, False), ((0, 0, 0, 1, 0, 0), False), ((1, 1, 1, 0, 0, 0), True)]
)
def test_rotors_of_a_free_joint_are_those_of_its_linear_axes(armature: Any, rotors: bool) -> None:
    tree = tree_of(robot(("base", "world", "free", {"armature": armature}), ("a", "base", "revolute", {})))
    assert (tree.has_free_rotors, tree.has_free_joints) == (rotors, True)
    assert tree.positions == (-1,) * 6 + (7,)
    assert not tree_of(robot(("a", "world", "revolute", {"armature": 1.0}))).has_free_rotors
    assert not tree_of(MIXED).has_free_joints


def test_the_numbers_of_a_link_are_about_its_joint() -> None:
    """z along the axis x of the file, so that x, y, z become z, x, y."""
    link = tree_of(MIXED).links[1]
    assert np.array(link.numbers.rotation).tolist() == [[-1, 0, 0], [0, 0, 1], [0, 1, 0]]
    assert link.numbers.origin == (1.0, 0.0, 0.0)
    assert link.numbers.first == (1.0, 0.0, 0.0)
    # half of the trace, 0.3, less each moment, and the mass at its centre along the first axis
    np.testing.assert_allclose(link.numbers.second, [0.1 + 0.5, 0.0, 0.0, 0.0, 0.0, 0.2], atol=1e-16)
    assert np.array(link.body_frame.rotation.axes).tolist() == [[0, 1, 0], [0, 0, 1], [1, 0, 0]]  # type: ignore[attr-defined]


def test_frames_and_contacts_are_seen_from_links() -> None:
    place = Placement.from_rpy((0.0, 0.5, 0.5))
    contacts = (Contact("turn", "line", anchor=place), Contact("end", other="slide", placement=place, gains=(4.0, 2.0)))
    tree = tree_of(MIXED, Bound(frames=("turn", "world"), contacts=contacts, regressor=("friction", "armature")))
    turn, world = tree.frames
    assert (turn.link, world.link, world.origin) == (1, -1, (0.0, 0.0, 0.0))
    first, second = tree.contacts
    assert (first.frame.link, first.other.link, second.frame.link, second.other.link) == (1, -1, 3, 0)
    assert first.anchor == (0.0, 0.5, 0.5, 1, 0, 0, 0, 1, 0, 0, 0, 1) and second.anchor[:3] == (0.0, 0.0, 0.0)
    assert (first.gains, second.gains, tree.n_rows) == ((0.0, 0.0), (4.0, 2.0), 8)
    assert (first.classical, second.classical) == (False, True)
    # sqrt(trace / (2 m) + distance^2): 0.15 of both bodies, 0.5 m of each from its centre
    assert (first.reach, second.reach) == pytest.approx((math.sqrt(0.15 + 0.25),) * 2)
    assert tree.regressor[0].constants == (1e-2,) and tree.regressor[1].constants == ()
    assert not tree.has_world_forces
    assert tree_of(MIXED, Bound(force_frame="local_world_aligned")).has_world_forces


def test_how_far_a_mass_is_from_a_point() -> None:
    body = Body("a", 2.0, np.array([0.0, 0.0, 1.0]), np.diag([1.0, 2.0, 3.0]))
    assert reach(body, np.array([3.0, 0.0, 5.0])) == math.sqrt(6.0 / 4.0 + 25.0)
    assert reach(Body("a", 0.0, np.zeros(3), np.eye(3)), np.ones(3)) == math.inf
    assert reach(Body("a", 1.0, np.zeros(3), -np.eye(3)), np.zeros(3)) == 0.0


def test_dust_of_exact_turns_is_zero() -> None:
    """Below 1e-14 of the largest entry; of a rotation beside one too."""
    kept, dust = 1.1e-14, 0.9e-14
    assert vector(np.array([4.0, 4 * dust, -4 * kept])) == (4.0, 0.0, -4 * kept)
    assert vector(np.array([1e-20, 0.0, 0.0])) == (1e-20, 0.0, 0.0) and vector(np.zeros(3)) == (0.0, 0.0, 0.0)
    rows = np.array([[4.0, 4 * dust, 4 * kept], [4 * dust, -1.0, 0.0], [4 * kept, 0.0, 2.0]])
    assert symmetric(rows) == (4.0, 0.0, 4 * kept, -1.0, 0.0, 2.0) and symmetric(np.zeros((3, 3))) == (0.0,) * 6
    assert symmetric(1e-20 * np.eye(3)) == (1e-20, 0.0, 0.0, 1e-20, 0.0, 1e-20)
    turn = matrix(np.array([[1.0 - dust, dust, -kept], [-1.0 + dust, 0.5, 0.0], [1.0 - 2 * kept, 0.0, -0.25]]))
    assert turn == ((1.0, 0.0, -kept), (-1.0, 0.5, 0.0), (1.0 - 2 * kept, 0.0, -0.25))


def test_sums_over_what_each_link_carries() -> None:
    assert carried([-1, 0, 0, 2, -1], [1, 2, 4, 8, 16]) == [15, 2, 12, 8, 16]


def test_a_tree_alone_has_nothing_but_its_links() -> None:
    tree = Tree(0, 0, 0, (0.0, 0.0, 0.0), ())
    assert (tree.frames, tree.contacts, tree.sweeps, tree.mass, tree.n_rows) == ((), (), None, 0, 0)
    assert (tree.reference_frame, tree.force_frame, tree.integrator) == ("local", "local", "semi_implicit_euler")
