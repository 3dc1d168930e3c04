"""Parts of robots keep what they are given as read-only numbers; bodies that are welded add up."""

from __future__ import annotations

import pickle
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.model.actuator import UNLIMITED, Actuator
from condyle.model.change import Drive
from condyle.model.contact import CONTACT_KINDS, HERE, Contact, gap_of, turned
from condyle.model.parts import Body, Snapped, combine, massless, users_level
from condyle.model.placement import IDENTITY, Placement
from condyle.model.shapes import Shape

ROBOT = condyle.Builder("r").body("b", mass=1.0, inertia=0.01 * np.eye(3)).joint(
    "j", parent="world", child="b", type="universal", axis=(0, 0, 1), second_axis=(1, 0, 0)
).build()  # fmt: skip
ARRAYS = {
    **{key: [0, 1, 0] for key in ("axis", "second_axis")},
    **{key: [1, 2] for key in ("lower", "upper", "effort", "velocity", "armature")},
    **{key: [3, 4] for key in ("damping", "friction", "stiffness", "spring_reference")},
}


def is_kept(found: np.ndarray, given: Any) -> bool:
    """As floats, in an array of its own that cannot be written."""
    return found.dtype == np.float64 and found.tolist() == np.asarray(given).tolist() and not found.flags.writeable


@pytest.mark.parametrize("name", ARRAYS)
def test_a_joint_keeps_arrays_of_its_own(name: str) -> None:
    source = np.array(ARRAYS[name])
    joint = replace(ROBOT.joints[0], **{name: source})  # type: ignore[arg-type]
    source[:] = 9
    assert is_kept(getattr(joint, name), ARRAYS[name])
    assert is_kept(getattr(pickle.loads(pickle.dumps(joint)), name), ARRAYS[name])


def test_a_pitch_and_a_mass_are_floats() -> None:
    joint, body = replace(ROBOT.joints[0], pitch=2), replace(ROBOT.bodies[0], mass=np.float32(2.0))  # type: ignore[arg-type]
    assert (type(joint.pitch), joint.pitch, type(body.mass), body.mass) == (float, 2.0, float, 2.0)
    assert str(replace(joint, pitch=-0.0).pitch) == "0.0" == str(replace(body, mass=-0.0).mass)


def test_bodies_placements_and_robots_keep_arrays_of_their_own() -> None:
    com, inertia, turn, shift = np.array([1, 2, 3]), np.diag([4, 5, 6]), np.eye(3, dtype=int), np.array([7, 8, 9])
    body, place, frames = Body("b", 1, com, inertia), Placement(turn, shift), dict(ROBOT.frames)  # type: ignore[arg-type]
    robot = replace(ROBOT, gravity=[0, 0, -3], frames=frames)  # type: ignore[arg-type]
    for array in (com, inertia, turn, shift):
        array[:] = 0
    frames.clear()
    assert is_kept(body.com, [1, 2, 3]) and is_kept(body.inertia, np.diag([4, 5, 6]))
    assert is_kept(place.rotation, np.eye(3)) and is_kept(place.translation, [7, 8, 9])
    assert is_kept(robot.gravity, [0, 0, -3]) and set(robot.frames) == set(ROBOT.frames) != set()
    assert isinstance(robot.frames, MappingProxyType) and (robot.nq, robot.nv) == (2, 2)


def test_shapes_contacts_actuators_and_drives_keep_plain_numbers() -> None:
    shape = Shape("box", np.array([1, 2, 3]), "b")  # type: ignore[arg-type]
    assert shape.size == (1.0, 2.0, 3.0) and [type(x) for x in shape.size] == [float] * 3
    assert Shape("sphere", 2, "b").size == (2.0,)  # type: ignore[arg-type]
    contact = Contact("b", gains=[1, 2])  # type: ignore[arg-type]
    assert contact.gains == (1.0, 2.0) and [type(x) for x in contact.gains] == [float] * 2
    gears = {"j": 2}
    actuator = Actuator("a", gears, "position", 3, control=[-1, 1], force=(-4, np.inf))  # type: ignore[arg-type]
    gears.clear()
    assert dict(actuator.transmission) == {"j": 2.0} and isinstance(actuator.transmission, MappingProxyType)
    assert (actuator.gains, actuator.control, actuator.force) == ((3.0, 0.0, -3.0, 0.0), (-1.0, 1.0), (-4.0, np.inf))
    numbers = (*actuator.gains, *actuator.control, *actuator.force, *actuator.transmission.values())
    assert {type(x) for x in numbers} == {float}
    drive = Drive(gear=np.array(2), damping=np.array([1, 2]), friction=[3])
    assert (drive.gear, drive.damping, drive.friction) == (2.0, (1.0, 2.0), (3.0,)) and type(drive.gear) is float
    assert type(drive.damping) is tuple and hash(drive) == hash(replace(drive))
    numbers = drive.numbers(2)
    assert (numbers["damping"].tolist(), numbers["friction"].tolist()) == ([1.0, 2.0], [3.0, 3.0])


ONE = Actuator("a", {"j": 2.0, "k": 1.0}, "general", 3.0, (0.1, 0.2, 0.3), (-1.0, 1.0), (-2.0, 2.0))


@pytest.mark.parametrize(
    "other",
    [{"name": "b"}, {"transmission": {"j": 1.0}}, {"gain": 4.0}, {"bias": (0.0, 0.2, 0.3)}],
)
def test_actuators_that_differ_hash_otherwise(other: dict[str, Any]) -> None:
    again = pickle.loads(pickle.dumps(ONE))
    assert again == ONE and hash(again) == hash(ONE) != hash(replace(ONE, **other)) and replace(ONE, **other) != ONE
    motors = (Actuator("a", {"j": 1.0}, kind, 0.0, (0.0, 0.0, 0.0)) for kind in ("motor", "general"))
    assert len({hash(one) for one in motors}) == 2
    assert hash(replace(ONE, transmission={"k": 1.0, "j": 2.0})) == hash(ONE)
    for name, value in (("control", UNLIMITED), ("force", UNLIMITED)):
        assert replace(ONE, **{name: value}) != ONE


def test_a_pickled_robot_has_everything_but_what_its_file_leaves_out() -> None:
    robot = replace(
        condyle.chain(2, 0),
        snap=1e-7,
        snapped=Snapped(3, 1e-8),
        contacts=(Contact("link1", anchor=HERE),),
        actuators=(Actuator("m", {"joint1": 1.0}),),
        shapes=(Shape("sphere", (0.1,), "link1"),),
    )
    again = pickle.loads(pickle.dumps(robot))
    assert (again.identity, again.snap, again.snapped) == (robot.identity, 1e-7, Snapped(3, 1e-8))
    assert (len(again.contacts), again.actuators, len(again.shapes)) == (1, robot.actuators, 1)
    assert again.file_notes is None


def test_snapped_angles_are_counted_with_their_largest() -> None:
    assert Snapped(2, 3e-9).more([1e-9, 5e-9, 2e-9]) == Snapped(5, 5e-9)
    assert Snapped(2, 3e-9).more([1e-9]) == Snapped(3, 3e-9) and Snapped().more(()) == Snapped(0, 0.0)


def test_welded_bodies_add_up_about_their_common_centre() -> None:
    """Two balls on a rod of 3 m, the second turned by a quarter turn; what has no mass adds its inertia alone."""
    quarter = Placement(np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]), np.array([3.0, 0.0, 0.0]))
    first = Body("a", 2.0, np.zeros(3), np.diag([1.0, 2.0, 3.0]))
    second = Body("b", 1.0, np.zeros(3), np.diag([4.0, 5.0, 6.0]))
    found = combine("both", [(IDENTITY, first), (quarter, second), (quarter, massless("none"))])
    assert (found.name, found.mass, found.com.tolist()) == ("both", 3.0, [1.0, 0.0, 0.0])
    np.testing.assert_allclose(found.inertia, np.diag([6.0, 6.0 + 6.0, 9.0 + 6.0]), atol=1e-14)
    wheel = Body("w", 0.0, np.ones(3), np.diag([1.0, 1.0, 1.0]))
    spun = combine("spun", [(IDENTITY, wheel), (quarter, wheel)])
    assert (spun.mass, spun.com.tolist(), spun.inertia.tolist()) == (0.0, [0.0] * 3, np.diag([2.0] * 3).tolist())
    alone = combine("alone", [(IDENTITY, massless("x")), (IDENTITY, first)])
    assert (alone.mass, alone.com.tolist()) == (2.0, [0.0, 0.0, 0.0])
    assert combine("turned", [(quarter, first)]).com.tolist() == [3.0, 0.0, 0.0]
    empty = combine("empty", [])
    assert (empty.name, empty.mass, empty.com.any(), empty.inertia.any()) == ("empty", 0.0, False, False)


def test_the_line_of_the_user_is_the_first_outside() -> None:
    assert users_level() == 1

    def outside() -> int:
        return users_level()

    scope: dict[str, Any] = {"__name__": "condyle.inside", "outside": outside, "users_level": users_level}
    exec("def inner():\n    return users_level()\ndef outer():\n    return inner()", scope)
    assert (outside(), scope["inner"](), scope["outer"]()) == (1, 2, 3)


def turn(axis: int, angle: float) -> Placement:
    return Placement.from_rpy((0.0, 0.0, 0.0), np.eye(3)[axis] * angle)


@pytest.mark.parametrize(
    ("kind", "rows", "axis", "angle"),
    [
        ("point", (0, 1, 2), 0, 0.0),
        ("point", (0, 1, 2), 2, 0.0),
        ("line", (0, 1, 2, 4, 5), 0, 0.0),
        ("line", (0, 1, 2, 4, 5), 1, 0.7),
        ("line", (0, 1, 2, 4, 5), 2, 0.7),
        ("plane", (0, 1, 2, 3, 4, 5), 0, 0.7),
        ("plane", (0, 1, 2, 3, 4, 5), 1, 0.7),
        ("plane", (0, 1, 2, 3, 4, 5), 2, 0.7),
    ],
)
def test_a_gap_is_how_far_what_is_held_is_open(kind: str, rows: tuple[int, ...], axis: int, angle: float) -> None:
    """In the contact's axes; also where both are turned and moved together, and for large turns."""
    assert CONTACT_KINDS[kind] == rows
    contact = Contact("a", kind, "b")
    away = Placement(turn(axis, 0.7).rotation, np.array([3.0, 0.0, 4.0]))
    common = Placement.from_rpy((1.0, 2.0, 3.0), (0.3, -0.2, 0.9))
    for here, there in ((away, IDENTITY), (common.compose(away), common)):
        found = gap_of(contact, here, there)
        assert found.distance == pytest.approx(5.0, rel=1e-14) and found.angle == pytest.approx(angle, abs=1e-14)
    half = gap_of(contact, turn(axis, 3.0), IDENTITY)
    assert half.angle == pytest.approx(3.0 if angle else 0.0, abs=1e-14) and half.distance == 0.0
    assert half.is_open == bool(angle)


def test_a_contact_from_its_other_side_has_the_same_gap() -> None:
    own, anchor = Placement.from_rpy((0.1, 0.2, 0.3), (0.1, 0, 0)), Placement.from_rpy((0.5, 0, 0), (0, 0.2, 0))
    world = Placement.from_rpy((1.0, 2.0, 3.0), (0.3, 0.0, 0.5))
    contact = Contact("a", "plane", "b", own, (1, 2), anchor)
    other = turned(contact, world)
    assert (other.frame, other.kind, other.other, other.gains) == ("b", "plane", None, (1.0, 2.0))
    there = Placement.from_rpy((1.1, 2.0, 3.0), (0.3, 0.1, 0.5))
    first, second = gap_of(contact, world, there), gap_of(other, there, IDENTITY)
    assert first == pytest.approx(second, rel=1e-12) and first.is_open
