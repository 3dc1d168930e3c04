"""Contacts, loop closures and the ground: marked where the library's own functions have them, with their errors."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import condyle
from condyle import Contact
from condyle.errors import CondyleError, ShapeError, StateError, UnsupportedError
from condyle.ground import Foot, Grid, Ground, Plane
from condyle.model.placement import Placement
from condyle.view.ground import rotation_vector
from tests.view.scenes import scene

GUESS = (1.0, -0.5, 1.2)
FEET = ("lf_foot", "rf_foot", "lh_foot", "rh_foot")


def at(x: float) -> Placement:
    return Placement.from_rpy((x, 0.0, 0.0), (0.1, 0.2, 0.3))


def four_bar(kind: str = "point") -> condyle.Robot:
    build = condyle.Builder("four_bar")
    for name, length in (("crank", 0.2), ("coupler", 0.55), ("rocker", 0.4)):
        moments = np.diag((1e-4, length**3 / 6, length**3 / 6))
        build.body(name, mass=2 * length, com=(length / 2, 0, 0), inertia=moments)
    build.joint("a", parent="world", child="crank", type="revolute", axis=(0, -1, 0))
    build.joint("b", parent="crank", child="coupler", type="revolute", axis=(0, -1, 0), xyz=(0.2, 0, 0))
    build.joint("c", parent="world", child="rocker", type="revolute", axis=(0, -1, 0), xyz=(0.5, 0, 0))
    return build.contact("coupler", kind, other="rocker", placement=at(0.55), anchor=at(0.4)).build()


def items(path: Path, word: str) -> list[ElementTree.Element]:
    root = ElementTree.fromstring(path.read_text(encoding="utf-8"))
    return [item for item in root.iter() if item.get("class", "").split()[:1] == [word]]


def titles(path: Path) -> list[str]:
    return [item.text or "" for item in ElementTree.fromstring(path.read_text()).iter() if item.tag.endswith("title")]


@pytest.mark.parametrize("kind", ["point", "line", "plane"])
def test_the_opening_is_the_constraint_error(kind) -> None:
    robot = four_bar(kind)
    states = robot.random_state(4, 0).q
    made = scene(robot, states, spacing=0.7)
    errors = robot.compile("numpy").constraint_errors(states)
    (contact,) = made.contacts
    for k, error in enumerate(errors):
        expected = np.linalg.norm(error[:3]), np.linalg.norm(error[3:])
        np.testing.assert_allclose(made.opening(0, k, contact), expected, atol=1e-12)
    assert made.normal(0, 0, contact) is None


@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0), (0, 0, 1)])
def test_the_rotation_vector(axis) -> None:
    for angle in (0.0, 1e-9, 0.5, 3.0):
        turn = Placement.from_rpy(rpy=np.multiply(axis, angle)).rotation
        np.testing.assert_allclose(rotation_vector(turn), np.multiply(axis, angle), atol=1e-12)
    half = rotation_vector(2.0 * np.outer(axis, axis) - np.eye(3))
    assert np.linalg.norm(half) == pytest.approx(math.pi)
    np.testing.assert_allclose(np.abs(half), np.multiply(axis, math.pi), atol=1e-12)


def test_a_closed_loop_has_no_line_and_an_open_one_says_by_how_much(tmp_path) -> None:
    robot, path = four_bar(), tmp_path / "bar.svg"
    robot.show(GUESS, file=path)
    error = float(np.linalg.norm(robot.compile("numpy").constraint_errors(np.array(GUESS))))
    said = f"contact 'coupler' on 'rocker': open by {error:.3g} m"
    assert said in titles(path)
    assert f"{error:.3g} m" in [item.text for item in items(path, "name")]
    opened = len(items(path, "contact"))
    robot.show(robot.close(GUESS, fixed=["a"]), file=path)
    assert "contact 'coupler' on 'rocker': closed" in titles(path)
    assert len(items(path, "contact")) == opened - 1


def test_links_reach_the_closure() -> None:
    robot = four_bar()
    made = scene(robot, robot.close(GUESS, fixed=["a"]))
    ends = {link.name: made.points([link.end])[0, 0, 0] for link in made.parts.links}
    np.testing.assert_allclose(ends["coupler"], ends["rocker"], atol=1e-8)


def test_contacts_of_a_call_take_the_place_of_the_robot_s() -> None:
    robot = four_bar()
    assert scene(robot, contacts=()).contacts == ()
    held = Contact("crank", "plane", anchor=at(0.1))
    (mark,) = scene(robot, contacts=[held]).contacts
    assert (mark.name, mark.kind, mark.turns, mark.has_normal) == ("contact 'crank'", "plane", (0, 1, 2), True)
    assert mark.anchor is not None and mark.anchor.origin.body == -1
    twice = scene(robot, contacts=[held, replace(held, placement=at(0.2))]).contacts
    assert [mark.name for mark in twice] == ["contact 'crank'", "contact 'crank' (2)"]


@pytest.fixture(scope="module")
def hyq() -> condyle.Robot:
    return condyle.load("hyq", floating_base=True)


def test_forces_of_contacts_are_turned_into_world_axes(hyq) -> None:
    contacts = [Contact(foot, placement=Placement.from_rpy((0.01, 0, 0), (0.3, 0.2, 0.1))) for foot in FEET]
    q = hyq.random_state(3, 0).q
    made = scene(hyq, q, contacts=contacts, contact_forces=np.arange(72.0).reshape(3, 4, 6))
    dyn = hyq.compile("numpy", frames=FEET)
    poses = dyn.frame_placements(q)
    for k, contact in enumerate(contacts):
        turn = poses.rotation[:, k] @ contact.placed.rotation
        expected = np.einsum("nij,nj->ni", turn, np.arange(72.0).reshape(3, 4, 6)[:, k, :3])
        np.testing.assert_allclose(made.forces[f"contact '{FEET[k]}'"][0], expected, atol=1e-12)
        point = made.force_points[f"contact '{FEET[k]}'"][0] - made.origins[0, :, -1]
        moved = poses.translation[:, k] + poses.rotation[:, k] @ contact.placed.translation
        np.testing.assert_allclose(point, moved, atol=1e-12)


def test_forces_in_world_axes_and_of_a_trajectory(hyq) -> None:
    q = np.repeat(hyq.neutral()[None], 5, axis=0)
    force = np.random.default_rng(0).normal(size=(5, 4, 3))
    contacts = [Contact(foot) for foot in FEET]
    made = scene(hyq, trajectory=q, contacts=contacts, contact_forces=force)
    np.testing.assert_array_equal(made.forces["contact 'rf_foot'"][:, 0], force[:, 1])


@pytest.mark.parametrize(
    ("named", "error", "words"),
    [
        ({"contact_forces": np.zeros((4, 6))}, UnsupportedError, "there are no contacts; name them by contacts="),
        ({"contacts": ["lf_foot"]}, UnsupportedError, "give a list of condyle.Contact"),
        ({"contacts": [Contact("lf_fot")]}, UnsupportedError, "there is no frame 'lf_fot'; did you mean 'lf_foot'"),
        ({"contacts": [Contact("lf_foot")], "contact_forces": np.zeros(6)}, ShapeError, r"expected one of \(1, 6\)"),
        ({"contacts": [Contact("lf_foot")], "contact_forces": np.full((1, 3), np.nan)}, StateError, "not finite"),
        ({"ground": Plane}, UnsupportedError, r"ground=Plane: give one of this class, such as Plane\(...\)"),
        ({"ground": Plane(offset=1e300)}, UnsupportedError, "a number of it is not finite, or beyond"),
        ({"ground": 0.3}, UnsupportedError, "ground=0.3: give a Plane or a Ground of condyle.ground"),
        ({"ground": Ground(["lf_fot"])}, UnsupportedError, "foot 'lf_fot': there is no such frame; did you mean"),
        ({"ground": Plane(), "heights": np.zeros((2, 2))}, UnsupportedError, "this ground has no grid"),
        ({"heights": np.zeros((2, 2))}, UnsupportedError, "heights: give the ground too"),
        ({"ground": Ground(["lf_foot"], height=Grid((3, 3)))}, UnsupportedError, r"give an array \(3, 3\)"),
        (
            {"ground": Ground(["lf_foot"], height=Grid((3, 3))), "heights": np.zeros((2, 3))},
            ShapeError,
            r"shape \(2, 3\), expected \(3, 3\)",
        ),
        (
            {"ground": Ground(["lf_foot"], height=Grid((3, 3))), "heights": np.full((3, 3), np.inf)},
            UnsupportedError,
            "heights: a number is not finite, or beyond",
        ),
    ],
)
def test_what_cannot_be_marked(hyq, named, error, words) -> None:
    with pytest.raises(CondyleError, match=words) as caught:
        scene(hyq, **named)
    assert isinstance(caught.value, error)


def test_symbols_are_no_ground(hyq) -> None:
    def asked(at, normal):
        with pytest.raises(UnsupportedError, match="is a symbol; give a plane of numbers"):
            scene(hyq, ground=Plane(normal))
        return at.q

    hyq.function(asked, {"q": "nq", "normal": 3}).compile()


@pytest.mark.parametrize("normal", [(0, 0, 2), (0.3, -0.2, 1), (1, 0, 0), (0, -1, 0), (0, 0, -1)])
def test_a_plane_is_drawn_where_it_is(hyq, normal) -> None:
    made = scene(hyq, ground=Plane(normal, offset=-0.4), contacts=[Contact("lf_foot")])
    unit = np.array(normal) / np.linalg.norm(normal)
    np.testing.assert_allclose(made.surface.net @ unit, -0.4, atol=1e-12)
    np.testing.assert_allclose(made.normal(0, 0, made.contacts[0]), unit)
    if normal == (0, 0, 2):
        assert made.floor == pytest.approx(-0.4)


def test_heights_and_their_normals(hyq) -> None:
    ground = Ground([Foot("lf_foot", (0.0, 0.0, -0.02))], height=Grid((5, 6), spacing=0.5, origin=(-1.0, -1.0)))
    slope = np.repeat(np.linspace(-0.2, 0.2, 5)[:, None], 6, axis=1)
    q = np.repeat(hyq.neutral()[None], 2, axis=0)
    made = scene(hyq, q, ground=ground, heights=slope)
    assert [mark.name for mark in made.contacts] == ["foot 'lf_foot'"]
    np.testing.assert_allclose(
        made.normal(0, 1, made.contacts[0]), np.array((-0.2, 0, 1)) / math.hypot(0.2, 1.0), atol=1e-12
    )
    inner = made.surface.net[2:-2, 2:-2]
    np.testing.assert_allclose(inner[..., 2], 0.2 * inner[..., 0], atol=1e-12)
    assert len(made.nets()) == 2
    np.testing.assert_allclose(made.nets()[1] - made.nets()[0], np.broadcast_to(made.origins[0, 1, -1], (9, 11, 3)))


def test_the_picture_of_a_ground(hyq, tmp_path) -> None:
    contacts = [Contact(foot) for foot in FEET]
    q = hyq.neutral()
    share = np.tile(-0.25 * hyq.mass * hyq.gravity, (4, 1))
    named = {"contacts": contacts, "contact_forces": share, "ground": Plane()}
    path = tmp_path / "hyq.svg"
    hyq.show(q, file=path, **named)
    found = titles(path)
    for foot in FEET:
        weight = 0.25 * hyq.mass * 9.81
        assert f"normal at contact '{foot}'" in found and f"force on contact '{foot}': {weight:.4g} N" in found
    assert len(items(path, "ground")) == 2 * 9 + 1  # and the legend
    hyq.show(q, file=path, layers=("links",), **named)
    assert not items(path, "contact") and not items(path, "ground") and not items(path, "force")
    for text in items(path, "tick"):
        assert re.search(r"[a-z0-9]", text.text or "")


def test_png_of_marks(hyq, tmp_path) -> None:
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install 'condyle[plots]'")
    four_bar().show(GUESS, file=tmp_path / "bar.png")
    assert (tmp_path / "bar.png").stat().st_size > 1000
