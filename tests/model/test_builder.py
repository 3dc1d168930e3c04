"""The builder: every type, every number, and every mistake in one message."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.errors import ModelError, ModelWarning
from condyle.model.builder import MOST, Builder, chain, random_tree
from condyle.model.description import MimicOf
from condyle.model.joints import JOINT_TYPES
from condyle.model.parts import Mimic
from condyle.model.placement import Placement

pytestmark = pytest.mark.smoke

BOX = np.diag([0.1, 0.2, 0.25])


def one(**more: object) -> Builder:
    builder = Builder().body("a", mass=1.0, inertia=BOX)
    arguments: dict[str, object] = {"parent": "world", "child": "a", "type": "revolute"} | more
    return builder.joint("j", **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", JOINT_TYPES)
def test_every_type_is_built(name: str) -> None:
    robot = one(type=name, axis=(3, 0, 4), second_axis=(0, 2, 0), pitch=0.2).build()
    joint, kind = robot.joints[0], JOINT_TYPES[name]
    assert (joint.type, joint.nq, joint.nv, joint.kind) == (name, kind.nq, kind.nv, kind)
    assert joint.axis.tolist() == pytest.approx([0.6, 0.0, 0.8] if kind.axes else [0.0, 0.0, 1.0])
    assert (joint.second_axis is not None) == (kind.axes == 2)
    assert joint.pitch == (0.2 if kind.has_pitch else 0.0)


def test_numbers_are_one_for_all_or_one_each() -> None:
    joint = one(type="free", armature=0.1, damping=(1, 2, 3, 4, 5, 6), lower=-1.0, effort=5.0).build().joints[0]
    assert joint.armature.tolist() == [0.1] * 6
    assert joint.damping.tolist() == [1, 2, 3, 4, 5, 6]
    assert joint.lower.tolist() == [-1.0] * 7
    assert joint.upper.tolist() == [np.inf] * 7
    assert joint.effort.tolist() == [5.0] * 6
    assert joint.velocity.tolist() == [np.inf] * 6
    assert joint.friction.tolist() == [0.0] * 6


def test_axes_near_a_coordinate_axis_are_exact() -> None:
    assert one(axis=(1e-14, -5.0, 0.0)).build().joints[0].axis.tolist() == [0.0, -1.0, 0.0]


def test_a_placement_is_given_as_rpy_or_whole() -> None:
    a = one(xyz=(1, 2, 3), rpy=(0, 0, np.pi / 2)).build()
    b = one(placement=Placement.from_rpy((1, 2, 3), (0, 0, np.pi / 2), 1e-9)).build()
    assert a.fingerprint == b.fingerprint


def test_mimics_by_name_by_tuple_or_as_data() -> None:
    for mimic in ("j", ("j", 1.0, 0.0), MimicOf("j")):
        builder = one().body("b", mass=1.0, inertia=BOX)
        robot = builder.joint("k", parent="a", child="b", type="revolute", mimic=mimic).build()
        assert robot.nq == 1 and robot.joints[1].mimic == Mimic(0, 1.0, 0.0)


def test_one_message_has_every_mistake() -> None:
    builder = Builder(gravity=(0.0, 0.0))
    builder.body("a", mass=-1.0, inertia=BOX).body("b", mass=np.nan).body("c", mass=1.0, inertia=[[1, 2], [3, 4]])
    builder.body("d", mass=1.0, inertia=[[1, 1, 0], [0, 1, 0], [0, 0, 1]]).body("d", mass=1.0, inertia=BOX)
    builder.joint("j", parent="world", child="a", type="revolt")
    builder.joint("k", parent="a", child="bb", type="revolute", axis=(0, 0, 0), armature=(1, 2))
    builder.joint("l", parent="a", child="c", type="universal")
    builder.joint("m", parent="a", child="b", type="universal", axis=(1, 0, 0), second_axis=(2, 0, 0))
    with pytest.raises(ModelError) as caught:
        builder.build()
    text = str(caught.value)
    for part in (
        "mass -1 kg",
        "body 'b': mass is not finite",
        "expected shape (3, 3), got (2, 2)",
        "body 'd': inertia is not symmetric",
        "link 'd' is defined twice",
        "type 'revolt' is unknown; did you mean 'revolute'",
        "child link 'bb' does not exist",
        "axis is zero",
        "armature has shape (2,)",
        "needs a second_axis",
        "are parallel",
        "gravity",
    ):
        assert part in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"armature": np.inf}, "armature is NaN, or beyond 1e\\+30"),
        ({"armature": -0.1}, "armature is negative"),
        ({"upper": np.nan}, "upper is NaN"),
        ({"effort": "much"}, "effort: could not convert"),
        ({"effort": object()}, "effort: float"),
        ({"xyz": object()}, "xyz: float"),
        ({"mimic": ("k", 1e200, 0.0)}, "mimic is not finite, or beyond"),
        ({"xyz": (0.0, 1e200, 0.0)}, "xyz is not finite, or beyond"),
        ({"mimic": 3}, "mimic=3: give the master's name"),
        ({"mimic": ("k", 1.0, 0.0, 0.0)}, ".*0.0\\): give the master's name, or"),
        ({"mimic": ("k", "twice", 0.0)}, "mimic: could not convert"),
        ({"placement": 3}, "placement is 3, expected a Placement"),
        ({"mimic": ()}, r"mimic=\(\): give the master's name, or"),
        ({"type": "fixed", "axis": (0, 0, 0)}, "axis is zero: it has no direction"),
        ({"type": "free", "armature": (1, 2, 3, 0, 0, 0)}, r"armature \[1 2 3\] along the linear axes"),
        ({"type": "spherical", "lower": (1, 2, 3)}, r"lower has shape \(3,\), expected one number or 4"),
        ({"type": "planar", "effort": (1, 2)}, r"effort has shape \(2,\), expected one number or 3"),
        ({"velocity": [[1.0]]}, r"velocity has shape \(1, 1\), expected one number or 1"),
        ({"pitch": np.nan}, "pitch is not finite, or beyond 1e\\+30"),
        ({"rpy": (0, 0)}, r"rpy: expected shape \(3,\), got \(2,\)"),
        ({"stiffness": -1.0}, r"stiffness \[-1\], expected 0 or more"),
    ],
)
def test_numbers_that_no_dynamics_can_be_computed_with(options: dict[str, object], message: str) -> None:
    builder = Builder().body("a", mass=1.0, inertia=BOX)
    with pytest.raises(ModelError, match=f"joint 'j': {message}"):
        builder.joint("j", **{"parent": "world", "child": "a", "type": "revolute", **options}).build()  # type: ignore[arg-type]


def test_names_are_text() -> None:
    """None is the world's name inside: a body of that name hung the walk over the tree."""
    with pytest.raises(ModelError, match="None is no name"):
        Builder().body(None, mass=1.0, inertia=BOX).build()  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="joint 3: 3 is no name: give text"):
        Builder().body("a", mass=1.0).joint(3, parent="world", child="a", type="revolute").build()  # type: ignore[arg-type]


def test_gravity_is_finite() -> None:
    with pytest.raises(ModelError, match="gravity is not finite"):
        Builder(gravity=(0.0, np.nan, 0.0)).body("a", mass=1.0, inertia=BOX).build()


@pytest.mark.parametrize(
    ("master", "kind", "text"),
    [
        ("k", "revolute", "mimics itself"),
        ("nobody", "revolute", "does not exist"),
        ("ball", "revolute", "only joints with one freedom"),
        ("j", "spherical", "a spherical joint cannot mimic"),
    ],
)
def test_mimics_that_cannot_be(master: str, kind: str, text: str) -> None:
    builder = one().body("b", mass=1.0, inertia=BOX).body("c", mass=1.0, inertia=BOX)
    builder.joint("ball", parent="a", child="c", type="spherical")
    with pytest.raises(ModelError, match=text):
        builder.joint("k", parent="a", child="b", type=kind, mimic=(master, 1.0, 0.0)).build()


def test_mimics_in_a_ring() -> None:
    builder = one(mimic=("k", 1.0, 0.0)).body("b", mass=1.0, inertia=BOX)
    with pytest.raises(ModelError, match="mimics itself, by way of"):
        builder.joint("k", parent="a", child="b", type="revolute", mimic=("j", 1.0, 0.0)).build()


def test_a_mimic_of_a_fixed_joint_is_frozen() -> None:
    builder = one(type="fixed").body("b", mass=1.0, inertia=BOX)
    builder.joint("k", parent="a", child="b", type="prismatic", axis=(1, 0, 0), mimic=("j", 2.0, 0.5))
    with pytest.warns(ModelWarning, match=r"frozen at 0\.5"):
        robot = builder.build()
    assert robot.nq == 0
    assert robot.frames["b"].placement.translation.tolist() == [0.5, 0.0, 0.0]


def test_strict_makes_doubtful_physics_an_error() -> None:
    flat = Builder().body("a", mass=1.0, inertia=np.diag([0.1, 0.1, 0.3]))
    flat.joint("j", parent="world", child="a", type="revolute")
    with pytest.warns(ModelWarning, match="triangle"):
        flat.build()
    with pytest.raises(ModelError, match="triangle"):
        flat.build(strict=True)


def test_without_any_body_there_is_no_robot() -> None:
    with pytest.raises(ModelError, match="no link"):
        Builder().build()


def test_a_welded_body_that_cannot_be_is_an_error() -> None:
    odd = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])  # possible about an origin 1 m off its com
    builder = Builder().body("a").body("b", mass=9.0, com=(0, 0, 1), inertia=odd)
    builder.joint("j", parent="world", child="a", type="revolute")
    builder.joint("w", parent="a", child="b", type="fixed", xyz=(0, 0, -1))
    with pytest.raises(ModelError, match="link 'a': inertia not positive definite"):
        builder.build()


def test_a_contact_is_named_once_in_its_message() -> None:
    builder = (
        Builder("rod").body("rod", mass=1.0, inertia=np.eye(3)).joint("j", parent="world", child="rod", type="revolute")
    )
    with pytest.raises(ModelError, match=r"contact 'rod': kind='ball'; allowed is 'point', 'line', 'plane'") as found:
        builder.contact("rod", "ball").build()
    assert str(found.value).count("contact 'rod'") == 1


def test_an_axis_that_a_type_has_not_is_not_looked_at() -> None:
    joint = one(type="free", axis=(0, 0, 0)).build().joints[0]
    assert joint.axis.tolist() == [0.0, 0.0, 1.0] and one(type="helical").build().joints[0].pitch == 0.0
    follower = one().body("b", mass=1.0, inertia=BOX)
    follower.joint("k", parent="a", child="b", type="revolute", mimic=("j", 2.0))  # type: ignore[arg-type]
    assert follower.build().joints[1].mimic == Mimic(0, 2.0, 0.0)


@pytest.mark.parametrize(("tilt", "fine"), [(1.5e-9, True), (0.9e-9, False)])
def test_axes_of_a_universal_joint_are_parallel_to_a_billionth(tilt: float, fine: bool) -> None:
    builder = one(type="universal", axis=(0, 0, 1), second_axis=(tilt, 0, -1))
    if fine:
        assert builder.build().nv == 2
    else:
        with pytest.raises(ModelError, match="axis and second_axis are parallel"):
            builder.build()


@pytest.mark.parametrize(("off", "fine"), [(0.9e-9, True), (1.5e-9, False)])
def test_an_inertia_is_symmetric_to_a_billionth_of_its_largest_entry(off: float, fine: bool) -> None:
    inertia = np.diag([1e3, 2e3, 2e3])
    inertia[0, 1] = 2e3 * off
    builder = Builder().body("a", mass=1e5, inertia=inertia).joint("j", parent="world", child="a", type="revolute")
    if fine:
        assert builder.build().nv == 1
    else:
        with pytest.raises(ModelError, match="body 'a': inertia is not symmetric"):
            builder.build()


def test_defaults_of_a_builder() -> None:
    robot = one().build()
    assert (robot.name, robot.snap, robot.gravity.tolist()) == ("robot", 1e-9, [0.0, 0.0, -9.81])
    tied = one().contact("a", anchor=Placement.from_rpy((1, 0, 0))).build().contacts
    assert [(held.kind, held.gains, held.other) for held in tied] == [("point", (0.0, 0.0), None)]
    body = Builder().body("a").joint("j", parent="world", child="a", type="fixed").build().base
    assert body is not None and (body.mass, body.com.any(), body.inertia.any()) == (0.0, False, False)


@pytest.mark.parametrize(
    ("contact", "said"),
    [
        ((3,), "contact: 3 is no name: give text"),
        (("a", "point", 3), "contact: 3 is no name: give text"),
        (("a", "point", None, 3), "contact 'a': placement and anchor are .*, expected a Placement each"),
        (("a", "point", None, None, (0.0, 0.0), 3), "contact 'a': placement and anchor are .*, expected a Placement"),
        (("a", "point", None, None, (-1.0, 0.0)), "contact 'a': gains=.*two finite numbers from 0 on"),
    ],
)
def test_contacts_that_cannot_be_are_named(contact: tuple[object, ...], said: str) -> None:
    with pytest.raises(ModelError, match=said):
        one().contact(*contact).build()  # type: ignore[arg-type]


def test_a_builder_and_its_numbers_are_named_too() -> None:
    with pytest.raises(ModelError, match="robot: 3 is no name: give text"):
        Builder(3).body("a").build()  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="robot: snap is not finite"):
        Builder(snap=np.nan).body("a").build()


@pytest.mark.parametrize(
    ("n", "said"), [(-1, "0 or more"), (1.0, "whole number"), (MOST + 1, "n=65537 joints: give at most")]
)
def test_numbers_of_joints_are_checked(n: int, said: str) -> None:
    for make in (chain, random_tree):
        with pytest.raises(ModelError, match=said):
            make(n)
    assert (chain(0).nq, random_tree(0).nv, random_tree(0, floating_base=True).nv) == (0, 0, 6)


@pytest.mark.parametrize("types", [(), "revolute", 3, ("wheel",)])
def test_types_of_a_random_tree_are_checked(types: object) -> None:
    with pytest.raises(ModelError, match=r"types=.*: allowed is 'revolute'"):
        random_tree(2, types=types)  # type: ignore[arg-type]


def test_random_robots_fill_the_ranges_that_they_are_said_to_have() -> None:
    """Masses, sides of boxes, places of centres and of joints, pitches, and parents at most four before."""
    robot = random_tree(1500, 0, types=("helical",))
    mass = np.array([body.mass for body in robot.bodies])
    moments = np.linalg.eigvalsh(np.array([body.inertia for body in robot.bodies]))
    squares = 6.0 / mass * moments.sum(axis=1) - 12.0 / mass * moments.T  # of the sides
    places = np.array([joint.placement.translation for joint in robot.joints[1:]])
    com = np.ravel([body.com for body in robot.bodies])
    ranges = [(mass, 0.5, 3.0), (np.sqrt(squares), 0.1, 0.4), (com, -0.1, 0.1)]
    ranges += [(np.linalg.norm(places, axis=1), 0.1, 0.3), (np.array([j.pitch for j in robot.joints]), 0.05, 0.2)]
    for values, low, high in ranges:
        slack = 0.01 * (high - low)
        assert low - 1e-12 <= values.min() < low + slack and high - slack < values.max() <= high + 1e-12
    angles = np.array([joint.placement.rpy or (0, 0, 0) for joint in robot.joints[1:]])
    assert angles.min() == pytest.approx(-np.pi, rel=0.01) and angles.max() == pytest.approx(np.pi, rel=0.01)
    held = [(joint.name, robot.bodies[joint.parent].name) for joint in robot.joints if joint.parent >= 0]
    before = {int(joint.removeprefix("joint")) - int(parent.removeprefix("link")) for joint, parent in held}
    assert before == {1, 2, 3, 4} and robot.joints[0].placement.is_identity
    assert robot.gravity.tolist() == [0.0, 0.0, -9.81] and robot.base is not None and robot.base.mass == 0.0


def test_the_base_of_a_random_robot_has_mass_where_it_floats() -> None:
    floating, fixed = random_tree(1, 0, floating_base=True), random_tree(1, 0)
    assert (floating.body_names, fixed.body_names) == (("base", "link0"), ("link0",))
    assert floating.bodies[0].mass >= 0.5


def test_a_chain_turns_about_z() -> None:
    assert {joint.axis.tolist()[2] for joint in chain(3).joints} == {1.0} and chain(3).parents == (-1, 0, 1)


def test_numbers_of_a_mimic_that_is_data_are_finite() -> None:
    for wrong in (MimicOf("j", np.inf), MimicOf("j", 1.0, np.nan)):
        builder = one().body("b", mass=1.0, inertia=BOX)
        with pytest.raises(ModelError, match=r"joint 'k': mimic is not finite, or beyond 1e\+30"):
            builder.joint("k", parent="a", child="b", type="revolute", mimic=wrong).build()


def test_robots_that_are_drawn_without_a_seed_are_those_of_seed_0() -> None:
    assert chain(3).fingerprint == chain(3, 0).fingerprint != chain(3, 1).fingerprint
    tree = random_tree(12)
    assert tree.fingerprint == random_tree(12, 0, types=tuple(JOINT_TYPES), floating_base=False).fingerprint
    assert random_tree(12, 1).fingerprint != tree.fingerprint and tree.joint_names[0] == "joint0"
