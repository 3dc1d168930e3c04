"""Shapes as data: what they may be, and the contacts that are made of them."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.model.parts import FileNotes
from condyle.model.placement import Placement

LARGER = Placement(2.0 * np.eye(3), np.zeros(3))


def robot() -> condyle.Robot:
    builder = condyle.Builder().body("base").body("arm", mass=1.0, inertia=0.01 * np.eye(3))
    return builder.joint("hinge", parent="base", child="arm", type="revolute", axis=(0.0, 0.0, 1.0)).build()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("ball", 0.1, "arm"), "kind='ball'; allowed is 'sphere', 'capsule', 'box', 'cylinder'"),
        (("sphere", -0.1, "arm"), r"size=-0.1; give the radius \[m\], above 0"),
        (("sphere", np.nan, "arm"), "size=nan; give the radius"),
        (("sphere", 0.0, "arm"), "size=0.0; give the radius"),
        (("capsule", (0.1, 0.0), "arm"), r"size=\(0.1, 0.0\); give the radius and half the length"),
        (("sphere", (0.1, 0.2), "arm"), r"size=\(0.1, 0.2\); give the radius"),
        (("sphere", "large", "arm"), "size='large'; give the radius"),
        (("box", (0.1, 0.2), "arm"), "half the lengths of its sides along x, y and z"),
        (("capsule", (0.1, np.inf), "arm"), "the radius and half the length of the cylinder between its half-balls"),
        (("cylinder", (0.1, 1e31), "arm"), "the radius and half the length"),
        (("sphere", 0.1, 3), "frame=3: give a name"),
        (("sphere", 0.1, "arm", 3), "placement=3: give a rigid"),
        (
            ("sphere", 0.1, "arm", Placement(2.0 * np.eye(3), np.zeros(3)), "big"),
            "shape 'big' of frame 'arm': placement",
        ),
    ],
)
def test_what_a_shape_cannot_be(arguments: tuple[Any, ...], said: str) -> None:
    with pytest.raises(condyle.UnsupportedError, match=said):
        condyle.Shape(*arguments)


def test_contacts_are_points_of_shapes() -> None:
    place = Placement.from_rpy((0.1, 0.0, 0.0))
    shapes = [condyle.Shape("sphere", 0.1, "arm", place), condyle.Shape("box", (0.1, 0.2, 0.3), "arm")]
    contacts = robot().shape_contacts(shapes)
    assert [(one.shape, one.point) for one in contacts] == [(shapes[0], 0), *((shapes[1], k) for k in range(4))]
    assert contacts[0].placed is place and contacts[1].placed.is_identity and contacts[0].kind == "point"
    again = pickle.loads(pickle.dumps(contacts[1]))
    assert again.shape.size == (0.1, 0.2, 0.3)
    two = robot().shape_contacts([condyle.Shape("capsule", (0.1, 0.2), "arm"), condyle.Shape("sphere", 0.3, "arm")])
    assert len(two) == 3  # at one place, and not the same


@pytest.mark.parametrize(
    ("which", "said"),
    [
        (None, "the robot has no shapes; name some"),
        ("arm", "'arm': give a list of names of shapes or frames"),
        ([3], r"\[3\]: give a list of names"),
        (
            ["arm"],
            r"there is no shape 'arm', and none of a frame 'arm'; name it: condyle.Shape\('sphere', 0.02, 'arm'\)",
        ),
        ([condyle.Shape("sphere", 0.1, "leg")], "contact 'leg': there is no frame 'leg'"),
        ([condyle.Shape("sphere", 0.1, "base")], "frame 'base' is fixed to the world"),
        (2 * [condyle.Shape("sphere", 0.1, "arm")], "is there twice"),
    ],
)
def test_what_has_no_contacts(which: Any, said: str) -> None:
    with pytest.raises(condyle.UnsupportedError, match=said):
        robot().shape_contacts(which)


def test_a_contact_of_a_shape_is_where_the_shape_is() -> None:
    shape = condyle.Shape("sphere", 0.1, "arm")
    for options in ({"shape": 3}, {"shape": shape, "point": 1}, {"shape": shape, "placement": Placement.from_rpy()}):
        with pytest.raises(condyle.UnsupportedError, match=r"take contacts of robot\.shape_contacts"):
            condyle.Contact("arm", **options)


@pytest.mark.parametrize(
    ("kind", "size", "points", "radius"),
    [
        ("sphere", (0.1,), 1, 0.1),
        ("capsule", (0.1, 0.2), 2, 0.1),
        ("box", (0.1, 0.2, 0.3), 4, 0.0),
        ("cylinder", (0.1, 1e30), 4, 0.0),
    ],
)
def test_each_kind_has_its_points_and_its_radius(
    kind: str, size: tuple[float, ...], points: int, radius: float
) -> None:
    shape = condyle.Shape(kind, size, "arm")
    assert (shape.points, shape.radius, shape.size, shape.name) == (points, radius, size, "")
    assert shape.placement.is_identity and shape.title == "shape of frame 'arm'"
    assert condyle.Shape("sphere", 3, "arm").size == (3.0,)  # type: ignore[arg-type]


def test_names_of_shapes_or_of_frames_choose_them() -> None:
    """A warning where all are taken and some were left out; those of what stands still are none of them."""
    shapes = (
        condyle.Shape("sphere", 0.1, "arm", name="tip"),
        condyle.Shape("capsule", (0.1, 0.2), "arm"),
        condyle.Shape("sphere", 0.2, "base"),
        condyle.Shape("sphere", 0.3, "gone"),
    )
    given = replace(robot(), shapes=shapes)
    assert [(one.shape, one.point) for one in given.shape_contacts()] == [
        (shapes[0], 0),
        (shapes[1], 0),
        (shapes[1], 1),
    ]
    assert [one.shape for one in given.shape_contacts(["tip"])] == [shapes[0]]
    assert len(given.shape_contacts(["arm"])) == 3
    with pytest.raises(condyle.UnsupportedError, match=r"there is no shape 'tap', and .*; did you mean 'tip'"):
        given.shape_contacts(["tap"])
    noted = replace(given, file_notes=FileNotes(shapes=tuple(f"mesh {k}" for k in range(6))))
    said = "left out of the file: mesh 0, mesh 1, mesh 2, mesh 3, mesh 4 and 1 more"
    with pytest.warns(condyle.ModelWarning, match=f"^shape_contacts of robot 'robot'; {said}$") as caught:
        noted.shape_contacts()
    assert [warning.filename for warning in caught] == [__file__]
    with pytest.raises(condyle.UnsupportedError, match=f"the robot has no shapes; {said}; name some"):
        replace(noted, shapes=()).shape_contacts()
