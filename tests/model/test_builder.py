"""The builder: every type, every number, and every mistake in one message."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.errors import ModelError, ModelWarning
from condyle.model.builder import Builder
from condyle.model.description import MimicOf
from condyle.model.joints import JOINT_TYPES
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
        assert robot.joints[1].mimic is not None
        assert (robot.nq, robot.joints[1].mimic.joint) == (1, 0)


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
        ({"mimic": ("k", 1e200, 0.0)}, "mimic is not finite, or beyond"),
        ({"xyz": (0.0, 1e200, 0.0)}, "xyz is not finite, or beyond"),
        ({"mimic": 3}, "mimic=3: give the master's name"),
        ({"mimic": ("k", 1.0, 0.0, 0.0)}, ".*0.0\\): give the master's name, or"),
        ({"mimic": ("k", "twice", 0.0)}, "mimic: could not convert"),
        ({"placement": 3}, "placement is 3, expected a Placement"),
    ],
)
def test_numbers_that_no_dynamics_can_be_computed_with(options: dict[str, object], message: str) -> None:
    builder = Builder().body("a", mass=1.0, inertia=BOX)
    with pytest.raises(ModelError, match=f"joint 'j': {message}"):
        builder.joint("j", parent="world", child="a", type="revolute", **options).build()  # type: ignore[arg-type]


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
