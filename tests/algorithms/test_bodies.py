"""Inertias and placements as joints see them, by point masses; the base that momenta are seen from; rows of joints."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.algorithms.contact_newton import JointRow, apart, shape_of
from condyle.algorithms.joint import (
    Dof,
    Inertia,
    inertia_of,
    inertia_to_parent,
    is_axial,
    placement,
    rotational,
    wrench_on,
)
from condyle.algorithms.momentum import about_base, base, centre, potential_energy
from condyle.algorithms.normal_form import movable, normal_form, reframed, regrouped
from condyle.algorithms.unrolled import Unrolled, scaled, shared
from condyle.model.joints import JOINT_TYPES
from condyle.model.tree import tree_of
from condyle.spatial.rotation import Full, Identity, Product, Transform
from condyle.spatial.vector import IDENTITY_MATRIX, ZERO, ZERO_SYMMETRIC
from condyle.specification import Bound, Drives

Array = np.ndarray
RNG = np.random.default_rng(3)
MASSES, POINTS = RNG.uniform(1.0, 2.0, 6), RNG.normal(size=(6, 3))
UPPER = np.triu_indices(3)


def turned(seed: int) -> Array:
    q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    return q * np.sign(np.linalg.det(q))


def inertia_of_points(points: Array) -> Inertia:
    second = np.einsum("k,ki,kj->ij", MASSES, points, points)
    return Inertia(MASSES.sum(), tuple(MASSES @ points), tuple(second[UPPER]))


def rotational_inertia(points: Array) -> Array:
    """About the origin."""
    squares = (points**2).sum(1)
    return np.einsum("k,k,ij->ij", MASSES, squares, np.eye(3)) - np.einsum("k,ki,kj->ij", MASSES, points, points)


def close(found: Any, wanted: Any) -> None:
    for x, y in zip(found, wanted, strict=True):
        np.testing.assert_allclose(np.array(x, float), np.array(y, float), rtol=0, atol=1e-12)


def test_an_inertia_is_that_of_its_points() -> None:
    I = rotational_inertia(POINTS)
    ordered = [I[i, j] for i, j in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))]
    close(inertia_of([MASSES.sum(), *(MASSES @ POINTS), *ordered]), inertia_of_points(POINTS))
    w = RNG.normal(size=3)
    close([rotational(inertia_of_points(POINTS).second, tuple(w))], [I @ w])


def test_an_inertia_in_the_parent_is_that_of_points_there() -> None:
    R, origin = turned(1), RNG.normal(size=3)
    placed = Transform(Full(tuple(map(tuple, R.T.tolist()))), tuple(origin.tolist()))
    close(inertia_to_parent(placed, inertia_of_points(POINTS)), inertia_of_points(POINTS @ R.T + origin))
    force, torque = RNG.normal(size=(2, 3))
    close(wrench_on(placed, [*force, *torque]), (R @ force, R @ torque + np.cross(origin, R @ force)))


WHOLE = Inertia(2.0, (3.0, 4.0, 5.0), (6.0, 7.0, 8.0, 9.0, 10.0, 11.0))
ALONG, ABOUT = (0.0, 0.0, 5.0), (0.0, 0.0, 0.0, 0.0, 0.0, 11.0)
MOVED = {
    "revolute": Inertia(2.0, ALONG, ABOUT),
    "continuous": Inertia(2.0, ALONG, ABOUT),
    "prismatic": Inertia(0.0, ZERO, WHOLE.second),
    "translation": Inertia(0.0, ZERO, WHOLE.second),
    "helical": Inertia(0.0, ZERO, ABOUT),
    "cylindrical": Inertia(0.0, ZERO, ABOUT),
    "planar": Inertia(0.0, ZERO, ABOUT),
    "spherical": Inertia(2.0, ZERO, ZERO_SYMMETRIC),
    "free": Inertia(0.0, ZERO, ZERO_SYMMETRIC),
}


def moved_by(kind: str, pitch: float) -> Inertia:
    link: Any = SimpleNamespace(kind=JOINT_TYPES[kind], numbers=SimpleNamespace(pitch=pitch))
    return movable(link, WHOLE)


@pytest.mark.parametrize("kind", MOVED)
def test_what_a_joint_does_not_move(kind: str) -> None:
    assert moved_by(kind, 0.3) == MOVED[kind]


def test_a_helical_joint_without_pitch_moves_what_a_revolute_one_does() -> None:
    assert moved_by("helical", 0.0) == MOVED["revolute"]


@pytest.mark.parametrize("kind", MOVED)
def test_motions_along_or_about_z(kind: str) -> None:
    """Or none that turns: the U of a body is that of its parent then."""
    dofs = [Dof(*column, 0.0) for column in JOINT_TYPES[kind].subspace(0.3)]
    assert is_axial(dofs) == (kind not in ("planar", "spherical", "free"))


def test_a_slide_may_have_any_axis_and_a_turn_that_of_z() -> None:
    assert is_axial([Dof((1.0, 0.0, 0.0), ZERO, 0.0)]) and not is_axial([Dof(ZERO, (0.0, 1.0, 0.0), 0.0)])
    assert not is_axial([Dof((0.0, 1.0, 0.0), (0.0, 0.0, 1.0), 0.0)])


def test_a_placement_is_two_turns_where_that_is_shorter() -> None:
    c, s = 0.8, 0.6
    x, z = np.array([[1, 0, 0], [0, c, s], [0, -s, c]]), np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]])

    def rows(E: Array) -> Any:
        return tuple(tuple(map(float, row)) for row in E)

    assert placement(IDENTITY_MATRIX) == Identity()
    half = x[[0, 2, 1]] * [[1], [1], [-1]]
    for E, kind in ((x, Product), (z @ x, Product), (x @ z, Full), (z, Full), (turned(2), Full), (half, Product)):
        placed = placement(rows(E))
        assert isinstance(placed, kind)
        np.testing.assert_allclose(np.array(placed.into((1.0, 2.0, 3.0)), float), E @ [1.0, 2.0, 3.0], atol=1e-15)


def test_only_joint_space_quantities_are_computed_on_another_tree() -> None:
    tree = tree_of(condyle.chain(4, 1))
    assert normal_form(tree, "exact") is tree
    assert normal_form(tree, "joint_space") == reframed(regrouped(tree)) != tree
    assert normal_form(tree, "joint_space", own_inertia=True) == reframed(tree)


def gantry(mass: float) -> condyle.Robot:
    """Two slides, the first one of this mass, then two hinges."""
    axes = {"a": (1, 0, 0), "b": (0, 1, 0), "c": (0, 0, 1), "d": (1, 0, 0)}
    builder, parent, heavy = condyle.Builder(), "world", {"com": (0.1, 0.2, 0.3), "inertia": np.eye(3)}
    for name, weight, kind in (
        ("a", mass, "prismatic"),
        ("b", 0.0, "prismatic"),
        ("c", 1.0, "revolute"),
        ("d", 2.0, "revolute"),
    ):
        builder = builder.body(name, mass=weight, **(heavy if weight else {}))
        builder = builder.joint(f"to {name}", parent=parent, child=name, type=kind, axis=axes[name], xyz=(1, 2, 3))
        parent = name
    return builder.build()


@pytest.mark.parametrize(("mass", "point"), [(0.0, (5.0, 9.0, 9.0)), (5.0, (3.0, 2.0, 3.0))])
def test_momenta_are_seen_from_the_first_link_with_mass(mass: float, point: tuple[float, ...]) -> None:
    """Slides without mass before it count as the world: the links are (1, 2, 3) apart, and the slides at 2 and 3."""
    robot = gantry(mass)
    tree = Unrolled(tree_of(robot), {"q": [2.0, 3.0, 0.4, 0.5]})
    assert np.array(base(tree), float).tolist() == list(point)
    wanted = robot.compile("numpy").center_of_mass(np.array([2.0, 3.0, 0.4, 0.5]))
    np.testing.assert_allclose(np.add(base(tree), np.array(centre(about_base(tree)), float)), wanted, atol=1e-12)


def test_momenta_of_several_robots_are_seen_from_where_most_stand() -> None:
    builder = condyle.Builder()
    for name, place in (("a", (1.0, 5.0, 0.0)), ("b", (1.0, 4.0, 2.0)), ("c", (3.0, 4.0, 2.0))):
        builder = builder.body(name, mass=1.0, com=(0.1, 0.2, 0.3), inertia=np.eye(3))
        builder = builder.joint(f"to {name}", parent="world", child=name, type="revolute", axis=(1, 0, 0), xyz=place)
    robot, q = builder.build(), np.array([0.3, 0.4, 0.5])
    tree = Unrolled(tree_of(robot), {"q": q.tolist()})
    assert np.array(base(tree), float).tolist() == [1.0, 4.0, 2.0]
    wanted = robot.compile("numpy").center_of_mass(q)
    np.testing.assert_allclose(np.add(base(tree), np.array(centre(about_base(tree)), float)), wanted, atol=1e-12)
    assert np.array(potential_energy(tree), float) == pytest.approx([3.0 * 9.81 * wanted[2]])


def test_coordinates_of_a_link_are_computed_where_they_are_not_those_of_the_robot() -> None:
    x = object()
    assert scaled(x, 1.0) is x and scaled(3.0, 2.0) == 6.0  # type: ignore[arg-type]
    places = [SimpleNamespace(entry=k, ratio=r, offset=o) for k, r, o in ((1, 1.0, 0.0), (0, 2.0, 0.0), (0, 1.0, 5.0))]
    assert shared(places, [3.0, 4.0]) == (4.0, 6.0, 8.0)  # type: ignore[arg-type]


INF = math.inf
ROWS = Drives(
    forces=("friction", "limits", "damping"),
    damping=(0.1, 0.1, 0.1),
    friction=(0.3, 0.0, 0.0),
    joint_rows=True,
    lower=(-1.0, -INF, -INF),
    upper=(INF, INF, 2.0),
)


def test_rows_of_joints_are_of_friction_and_of_limits() -> None:
    """h f, and the velocities that reach limits in one step."""
    robot = condyle.chain(3)
    tree = tree_of(robot, Bound(drives=ROWS))
    inputs = {"q": [0.5, 0.0, 1.0], "v": [0.0] * 3, "dt": [0.25], "damping": [1.0, 2.0, 3.0]}
    left, rows = apart(Unrolled(tree, inputs))
    assert rows == [JointRow(0, 0.075, -6.0, None), JointRow(2, None, None, 4.0)]
    assert left.tree.drives.forces == ("damping",) and left.inputs == inputs
    assert shape_of(tree, False) == ((True, True, False), (False, False, True))
    friction = {"dry_friction": [-1.0, 2.0, 0.0]}
    left, rows = apart(Unrolled(tree, {**inputs, **friction}))
    assert [row.grip for row in rows] == [0.0, 0.5, 0.0] and left.inputs == inputs
    assert shape_of(tree, True) == ((True, True, False), (True, False, False), (True, False, True))
    smooth = tree_of(robot, Bound(drives=ROWS._replace(forces=("limits",))))
    left, rows = apart(Unrolled(smooth, {**inputs, **friction}))
    assert [row.grip for row in rows] == [None, None] and left.inputs.keys() >= {"dry_friction"}
    none = tree_of(robot, Bound(drives=ROWS._replace(joint_rows=False)))
    whole = Unrolled(none, inputs)
    assert apart(whole) == (whole, []) and shape_of(none, True) == ()
