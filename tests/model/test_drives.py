"""Drives and actuators in code: numbers of joints, folding of followers by energy, changes of robots, errors."""

from __future__ import annotations

import copy
import pickle
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from condyle import Actuator, Builder, Drive, ModelError, ModelWarning, Robot, UnsupportedError
from condyle.model.actuator import in_numbers
from condyle.model.checks import refuse_impossible

INERTIA = np.diag([0.1, 0.2, 0.25])
BODY: dict[str, Any] = {"mass": 1.0, "com": (0.1, 0.0, 0.1), "inertia": INERTIA}


def builder(*followers: tuple[float, float, float, float], stiffness: float = 0.0, rest: float = 0.0) -> Builder:
    """A joint "m" and joints that follow it, f0, f1, ...: multiplier, offset, stiffness, spring_reference."""
    made = Builder("hand").body("palm", **BODY)
    made.joint("m", parent="world", child="palm", type="revolute", stiffness=stiffness, spring_reference=rest)
    for k, (multiplier, offset, k_f, rest_f) in enumerate(followers):
        made.body(f"tip{k}", **BODY)
        made.joint(
            f"f{k}",
            parent="palm",
            child=f"tip{k}",
            type="prismatic" if k % 2 else "revolute",
            axis=(0, 1, 1),
            stiffness=k_f,
            spring_reference=rest_f,
            mimic=("m", multiplier, offset),
        )
    return made


def serial() -> Robot:
    """Three joints in a row, and a ball."""
    made, above = Builder("row"), "world"
    for name, kind in (("a", "revolute"), ("b", "prismatic"), ("c", "revolute"), ("d", "spherical")):
        made.body(name, **BODY).joint(f"j{name}", parent=above, child=name, type=kind, axis=(0, 1, 0), xyz=(0.2, 0, 0))
        above = name
    return made.build()


@pytest.mark.parametrize(
    ("stiffness", "rest", "followers"),
    [
        (3.0, 0.2, [(-2.0, 0.1, 5.0, 0.4)]),
        (0.0, 0.7, [(0.5, -0.3, 4.0, 1.0), (3.0, 0.0, 0.2, -0.5)]),
        (7.0, -0.2, [(2.0, 0.0, 0.0, 9.0), (0.0, 1.0, 8.0, 2.0), (-1.0, 0.0, 1.0, 0.3)]),
    ],
)
def test_springs_of_followers_are_one_spring_at_the_master(
    stiffness: float, rest: float, followers: list[tuple[float, float, float, float]]
) -> None:
    """The energy of all springs by hand, but for a constant."""
    robot = builder(*followers, stiffness=stiffness, rest=rest).build()
    q = np.linspace(-2.0, 2.0, 9)
    energy = 0.5 * stiffness * (q - rest) ** 2
    for multiplier, offset, k, r in followers:
        energy += 0.5 * k * (multiplier * q + offset - r) ** 2
    folded = 0.5 * robot.stiffness[0] * (q - robot.spring_reference[0]) ** 2
    assert np.ptp(energy - folded) < 1e-13 * np.abs(energy).max()  # rounding of a few squares
    assert robot.stiffness.tolist() == pytest.approx([stiffness + sum(k * m * m for m, _, k, _ in followers)])
    free = builder(*followers, stiffness=stiffness, rest=rest).build(mimic="independent")
    assert free.stiffness.tolist() == [stiffness, *(k for _, _, k, _ in followers)]
    assert free.spring_reference.tolist() == [rest, *(r for _, _, _, r in followers)]


def test_a_follower_without_a_spring_leaves_the_masters_digits() -> None:
    robot = builder((0.3, 0.1, 0.0, 5.0), stiffness=0.7, rest=0.1).build()
    assert (robot.stiffness.tolist(), robot.spring_reference.tolist()) == ([0.7], [0.1])


def test_actuators_of_followers_drive_their_master() -> None:
    """gear' = sum of gear m, and the length keeps its offset in b0: force and power are those of all joints."""
    servo = Actuator("servo", {"f0": 3.0, "m": 1.0, "f1": -1.0}, "position", 10.0, (0.5, -10.0, -2.0))
    robot = builder((-2.0, 0.1, 0.0, 0.0), (0.5, 0.4, 0.0, 0.0)).actuator(servo).build()
    (one,) = robot.actuators
    assert dict(one.transmission) == {"m": 3.0 * -2.0 + 1.0 - 0.5}
    q, u = 0.37, 0.2
    length = 3.0 * (-2.0 * q + 0.1) + q - (0.5 * q + 0.4)
    assert one.bias is not None
    own = one.gain * u + one.bias[0] + one.bias[1] * one.transmission["m"] * q
    assert own == pytest.approx(10.0 * u + 0.5 - 10.0 * length, rel=1e-14)
    assert (one.gain, one.bias[1:], one.kind) == (10.0, (-10.0, -2.0), "position")


def test_gears_that_cancel_drive_nothing() -> None:
    made = (
        builder((2.0, 0.0, 0.0, 0.0))
        .actuator(Actuator("idle", {"m": 2.0, "f0": -1.0}))
        .actuator(Actuator("fine", {"f0": 1.0}))
    )
    with pytest.warns(ModelWarning, match="actuator 'idle': drives nothing and is left out"):
        robot = made.build()
    assert [one.name for one in robot.actuators] == ["fine"]


def test_a_follower_of_a_fixed_joint_stands_still_in_a_length() -> None:
    made = builder((2.0, 0.3, 0.0, 0.0)).body("more", **BODY)
    made.joint("x", parent="palm", child="more", type="revolute")
    made.actuator(Actuator("p", {"f0": 2.0, "x": 5.0}, "position", 4.0))
    robot = made.build().lock({"m": 0.5})
    assert [(dict(one.transmission), one.bias) for one in robot.actuators] == [
        ({"x": 5.0}, (-4.0 * 2.0 * 1.3, -4.0, 0.0))
    ]


def test_defaults_of_kinds() -> None:
    gears = {"j": 2}
    assert Actuator("a", gears).bias == (0.0, 0.0, 0.0)
    assert Actuator("a", gears, "position", 5).bias == (0.0, -5.0, 0.0)
    assert Actuator("a", gears, "velocity", 5).bias == (0.0, 0.0, -5.0)
    assert Actuator("a", gears, "damper", 5, control=(0, 1)).bias == (0.0, 0.0, 0.0)
    one = Actuator("a", gears, "general", 5, (1, 2, 3), (-1, 1), (0, np.inf))
    assert one == Actuator("a", {"j": 2.0}, "general", 5.0, (1.0, 2.0, 3.0), (-1.0, 1.0), (0.0, np.inf))
    assert one == pickle.loads(pickle.dumps(one)) == copy.deepcopy(one) and hash(one) == hash(copy.deepcopy(one))
    assert one != replace(one, control=(-1, 2))
    one_way, another = Actuator("a", {"i": 1.0, "j": 2.0}), Actuator("a", {"j": 2.0, "i": 1.0})
    assert one_way == another and hash(one_way) == hash(another)
    with pytest.raises(TypeError):
        one.transmission["j"] = 1.0  # type: ignore[index]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"name": ""}, "name='': give text"),
        ({"transmission": {}}, "transmission={}: give joints and gears"),
        ({"transmission": {"j": 0.0}}, "gear of joint 'j' is 0: leave the joint out"),
        ({"transmission": {"j": np.nan}}, r"gear of joint 'j': \[nan\]: a number is NaN"),
        ({"transmission": {"j": "big"}}, r"gear of joint 'j': \('big',\), expected numbers"),
        ({"kind": "engine"}, "kind='engine': allowed is 'motor', 'position', 'velocity', 'damper', 'general'"),
        ({"gain": np.inf}, "gain: .*beyond 1e.30"),
        ({"bias": (1.0, 2.0)}, r"bias: \(1.0, 2.0\), expected numbers \(b0, b1, b2\)"),
        ({"control": (1.0, -1.0)}, "control: low 1, high -1: expected low <= high"),
        ({"force": (1.0, -1.0)}, "force: low 1, high -1: expected low <= high"),
        ({"force": (np.inf, np.inf)}, "force: low inf, high inf"),
        ({"force": (-np.inf, -np.inf)}, "force: low -inf, high -inf"),
        ({"control": (np.nan, 1.0)}, r"control: \[nan 1\]: a number is NaN"),
        ({"name": 3}, "name=3: give text"),
        ({"transmission": [("j", 1.0)]}, "transmission=.*: give joints and gears"),
        ({"kind": "damper", "control": (0.0, 1.0), "bias": (0, 0, -1)}, r"kind 'damper': expected \(0, 0, 0\)"),
        ({"control": 3.0}, r"control: 3.0, expected numbers \(low, high\)"),
        ({"bias": (1.0, 0.0, 0.0)}, r"bias \(1.0, 0.0, 0.0\) of kind 'motor': expected \(0, 0, 0\)"),
        ({"kind": "position", "gain": 2.0, "bias": (0.0, -1.0, 0.0)}, r"expected \(b0, -gain, b2\)"),
        ({"kind": "velocity", "gain": 2.0, "bias": (0.0, -1.0, -2.0)}, r"expected \(b0, 0, -gain\)"),
        ({"kind": "position", "bias": (0.0, -1.0, 0.5)}, "b2 0.5: damping is not negative"),
        ({"kind": "damper", "gain": -1.0, "control": (0.0, 1.0)}, "gain -1, control from 0: of a damper both are 0 or"),
        ({"kind": "damper"}, "control from -inf: of a damper both are 0 or more"),
    ],
)
def test_actuators_that_cannot_be(change: dict[str, Any], text: str) -> None:
    with pytest.raises(ModelError, match=text) as refused:
        Actuator(**{"name": "a", "transmission": {"j": 1.0}, **change})
    assert "actuator " in str(refused.value)


def test_everything_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(ModelError) as refused:
        Actuator("a", {"j": 0.0}, control=(2.0, 1.0), gain=np.nan)
    assert len(refused.value.findings) == 3
    with pytest.raises(ModelError) as refused:
        Drive(gear=0.0, damping=-1.0, stiffness=np.nan)
    assert [finding.message.partition("=")[0] for finding in refused.value.findings] == ["gear", "damping", "stiffness"]


@pytest.mark.parametrize(
    ("actuators", "text"),
    [
        ([("x", {"jz": 1.0})], r"actuator 'x': there is no joint 'jz'; there are 'ja', 'jb'"),
        ([("x", {"jd": 1.0})], "actuator 'x': joint 'jd' is spherical: only joints with one degree of freedom"),
        ([("x", {"ja": 1.0}), ("x", {"jb": 1.0})], "actuator 'x': 2 actuators have this name"),
    ],
)
def test_a_robot_that_cannot_have_an_actuator(actuators: list[tuple[str, dict[str, float]]], text: str) -> None:
    robot = serial()
    made = [Actuator(*one) for one in actuators]
    with pytest.raises(ModelError, match=text):
        robot.with_actuators(made)
    with pytest.raises(ModelError, match=text):
        replace(robot, actuators=tuple(made))


def test_builder_says_what_is_wrong_with_drives() -> None:
    made = builder().body("x", **BODY)
    made.joint("jx", parent="palm", child="x", type="spherical", stiffness=1.0, damping=-1.0, friction=-2.0)
    made.actuator(Actuator("n", {"nobody": 1.0})).actuator("motor")  # type: ignore[arg-type]
    with pytest.raises(ModelError) as refused:
        made.build()
    text = str(refused.value)
    for part in (
        "joint 'jx': stiffness [1] of a spherical joint",
        "joint 'jx': damping is negative",
        "joint 'jx': friction is negative",
        "'motor'): give condyle.Actuator each",
    ):
        assert part in text, part


def test_a_drive_is_on_the_side_of_its_joint() -> None:
    robot = serial()
    drive = Drive(gear=-100.0, rotor_inertia=1e-5, damping=0.2, friction=0.5, stiffness=3.0, effort=87.0, velocity=2.0)
    driven = robot.with_drives({"jb": drive, "jd": Drive(damping=(1.0, 2.0, 3.0), gear=(1, 2, 3), rotor_inertia=0.1)})
    joint = driven.joint("jb")
    numbers = ("armature", "damping", "friction", "stiffness", "spring_reference", "effort", "velocity")
    assert [float(getattr(joint, name)[0]) for name in numbers] == pytest.approx([0.1, 0.2, 0.5, 3.0, 0.0, 87.0, 2.0])
    assert driven.damping.tolist() == [0.0, 0.2, 0.0, 1.0, 2.0, 3.0]
    assert driven.armature.tolist() == pytest.approx([0.0, 0.1, 0.0, 0.1, 0.4, 0.9])
    plain = driven.with_drives({"jb": Drive(), "jd": Drive()})
    assert (plain.identity, plain.fingerprint) == (robot.identity, robot.fingerprint)
    assert repr(drive).startswith("Drive(gear=-100.0, rotor_inertia=1e-05, damping=0.2")
    M = driven.compile("numpy").mass_matrix(driven.neutral()) - robot.compile("numpy").mass_matrix(robot.neutral())
    np.testing.assert_allclose(M, np.diag(driven.armature), atol=1e-14)


@pytest.mark.parametrize(
    ("drives", "text"),
    [
        ({"jz": Drive()}, "there is no joint 'jz'; there are 'ja'"),
        ({"ja": Drive(damping=(1.0, 2.0))}, "joint 'ja': damping: 2 numbers, expected 1 or 1"),
        ({"jd": Drive(stiffness=2.0)}, r"joint 'jd': stiffness \[2 2 2\] of a spherical joint: springs are on joints"),
        (
            {"ja": Drive(gear=1e20, rotor_inertia=1.0)},
            r"joint 'ja': armature \[1e\+40\], expected no number beyond 1e\+30",
        ),
        ({"ja": 3.0}, "expected joints and drives such as"),
        ([Drive()], "expected joints and drives such as"),
    ],
)
def test_drives_that_no_joint_can_have(drives: Any, text: str) -> None:
    with pytest.raises(ModelError, match=text):
        serial().with_drives(drives)


@pytest.mark.parametrize("number", [-1.0, np.nan, "soft", [[1.0]], np.inf])
def test_numbers_that_no_drive_has(number: Any) -> None:
    with pytest.raises(ModelError, match=r"Drive: friction=.*, expected 0 or more, and none beyond 1e\+30"):
        Drive(friction=number)


def test_a_negative_stiffness_is_refused_where_it_is_compiled() -> None:
    robot = serial()
    bad = replace(robot, joints=(replace(robot.joints[0], stiffness=[-1.0]), *robot.joints[1:]))
    with pytest.raises(ModelError, match=r"joint 'ja': stiffness \[-1\], expected 0 or more"):
        refuse_impossible(bad)
    assert [finding.element for finding in bad.check()] == ["joint 'ja'"]


DRIVEN = (
    Actuator("motor", {"ja": 50.0}, control=(-1.0, 1.0)),
    Actuator("tendon", {"jc": -1.0, "jb": 2.0}, "position", 8.0, force=(-3.0, 3.0)),
)


def driven() -> Robot:
    robot = serial().with_drives({name: Drive(stiffness=2.0, spring_reference=0.3) for name in ("ja", "jb", "jc")})
    return robot.with_actuators(DRIVEN)


def test_changed_robots_keep_their_drives() -> None:
    robot = driven()
    turned, heavy = robot.reroot("b"), robot.attach("c", mass=2.0)
    back = pickle.loads(pickle.dumps(robot))
    for changed in (turned, heavy, back, copy.deepcopy(robot), robot.with_inertias(1.1 * robot.inertias)):
        assert changed.actuators == robot.actuators
        for name in ("ja", "jb", "jc"):
            assert (changed.joint(name).stiffness[0], changed.joint(name).spring_reference[0]) == (2.0, 0.3)
    assert back.identity == robot.identity


def test_a_locked_joint_leaves_what_it_adds_to_a_length() -> None:
    """The position actuator sees gear q of the locked joint as before; who drives nothing else is left out."""
    robot = driven()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        held = robot.lock({"jb": 0.25})
    assert [one.name for one in held.actuators] == ["motor", "tendon"]
    assert dict(held.actuators[1].transmission) == {"jc": -1.0}
    assert held.actuators[1].bias == (-8.0 * 2.0 * 0.25, -8.0, 0.0)
    with pytest.warns(ModelWarning, match="note: actuator 'motor': drives nothing and is left out"):
        still = robot.lock({"ja": 0.1})
    assert still.actuators == (robot.actuators[1],)


def test_identity_has_drives_and_the_fingerprint_has_not() -> None:
    robot = serial()
    other = robot.with_actuators(DRIVEN)
    sprung = robot.with_drives({"ja": Drive(stiffness=1.0)})
    assert len({robot.identity, other.identity, sprung.identity}) == 3
    assert robot.fingerprint == other.fingerprint == sprung.fingerprint
    swapped = robot.with_actuators(DRIVEN[::-1])
    assert swapped.identity != other.identity, "their order is that of u"
    assert other.with_actuators(()).identity == robot.identity


def test_urdf_has_no_springs() -> None:
    with pytest.raises(UnsupportedError, match="joint 'ja': stiffness"):
        serial().lock({"jd": (0, 0, 0, 1)}).with_drives({"ja": Drive(stiffness=1.0)}).to_urdf()


def test_a_series_elastic_joint_is_spongs_model() -> None:
    """B motor'' + k (motor - q) = tau, M(q) q'' + c + k (q - motor) = 0 for the links; q = motor + deflection."""
    made = Builder("arm").body("a", **BODY).body("b", **BODY)
    made.joint("ja", parent="world", child="a", type="revolute", axis=(0, 1, 0), armature=0.2)
    made.joint(
        "jb", parent="a", child="b", type="helical", axis=(1, 2, 0), pitch=0.1, armature=0.3, xyz=(0.1, 0.2, 0.3)
    )
    robot = made.actuator(Actuator("motor", {"jb": 5.0})).build()
    robot = robot.reroot("world").attach("b", mass=0.5, com=(0.1, 0.0, 0.0), inertia=0.01 * np.eye(3))
    elastic = robot.with_elastic({"jb": Drive(stiffness=30.0, damping=2.0)})
    assert elastic.joint_names == ("ja", "jb", "jb_spring") and elastic.body_names == ("a", "jb_motor", "b")
    assert (elastic.stiffness.tolist(), elastic.damping.tolist()) == ([0.0, 0.0, 30.0], [0.0, 0.0, 2.0])
    assert elastic.armature.tolist() == [0.2, 0.3, 0.0] and elastic.actuators == robot.actuators
    rigid, soft = robot.compile("numpy", frames=("b",)), elastic.compile("numpy", frames=("b",))
    q, v = elastic.random_state(5, 0)
    G = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]])
    for one, other in zip(rigid.frame_placements(q @ G.T), soft.frame_placements(q), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-14)
    links = rigid.mass_matrix(q @ G.T) - np.diag(robot.armature)
    np.testing.assert_allclose(soft.mass_matrix(q), G.T @ links @ G + np.diag(elastic.armature), atol=1e-13)
    np.testing.assert_allclose(soft.nonlinear_effects(q, v), rigid.nonlinear_effects(q @ G.T, v @ G.T) @ G, atol=1e-12)


@pytest.mark.parametrize(
    ("springs", "text"),
    [
        ({"jz": Drive()}, "there is no joint 'jz'; there are 'ja'"),
        ({"ja": Drive(stiffness=1.0)}, "joint 'ja': has no armature, the inertia on the motor's side: give it by"),
        ({"jd": Drive()}, "joint 'jd': is spherical: only joints with one degree of freedom can be elastic"),
        ({"jb": Drive()}, "joint 'jb': the drive has no stiffness"),
        ({"jb": 3.0}, "with_elastic: {'jb': 3.0}, expected joints and drives such as"),
    ],
)
def test_joints_that_cannot_be_elastic(springs: Any, text: str) -> None:
    with pytest.raises(ModelError, match=text):
        serial().with_drives({"jb": Drive(rotor_inertia=1.0)}).with_elastic(springs)


def test_joints_that_mimic_are_not_elastic() -> None:
    robot = builder((2.0, 0.0, 0.0, 0.0)).build().with_drives({"m": Drive(rotor_inertia=1.0)})
    with pytest.raises(ModelError, match="joint 'm': mimics another joint, or is mimicked"):
        robot.with_elastic({"m": Drive(stiffness=1.0)})


def test_gears_that_cancel_are_an_error_in_code() -> None:
    robot = builder((2.0, 0.0, 0.0, 0.0)).build()
    with pytest.raises(ModelError, match="error: actuator 'idle': drives nothing"):
        robot.with_actuators([Actuator("idle", {"m": 2.0, "f0": -1.0})])


def test_numbers_that_an_actuator_may_have() -> None:
    """A range of one number, a damper that does nothing, a general one that pushes."""
    held = Actuator("a", {"j": -1e30}, control=(1.0, 1.0), force=(-np.inf, 0.0))
    assert (held.control, held.force, held.gains) == ((1.0, 1.0), (-np.inf, 0.0), (1.0, 0.0, 0.0, 0.0))
    assert Actuator("a", {"j": 1.0}, "damper", 0.0, control=(0.0, 1.0)).gain == 0.0
    assert Actuator("a", {"j": 1.0}, "general", 2.0, (1.0, 3.0, 4.0)).gains == (2.0, 1.0, 3.0, 4.0)
    assert Actuator("a", {"j": 1.0}, "position", 2.0, (1.0, -2.0, 0.0)).gains == (2.0, 1.0, -2.0, 0.0)


def test_each_gear_that_is_wrong_is_an_error_of_its_own() -> None:
    with pytest.raises(ModelError) as refused:
        Actuator("a", {"j": "big", "k": 0.0})  # type: ignore[dict-item]
    assert [str(finding) for finding in refused.value.findings] == [
        "actuator 'a': gear of joint 'j': ('big',), expected numbers (gear)",
        "actuator 'a': gear of joint 'k' is 0: leave the joint out",
    ]


def test_actuators_in_numbers_are_those_of_the_equation_of_motion() -> None:
    places = {"ja": (3, 4), "jb": (5, 7)}
    servo = Actuator("s", {"jb": 2.0, "ja": -1.0}, "position", 8.0, (0.5, -8.0, -1.0), (-1.0, 1.0), (-3.0, 3.0))
    damper = Actuator("d", {"ja": 4.0}, "damper", 2.0, control=(0.0, 1.0))
    first, second = in_numbers([servo, damper], places)
    assert tuple(first) == (False, ((5, 7, 2.0), (3, 4, -1.0)), (8.0, 0.5, -8.0, -1.0), (-1.0, 1.0), (-3.0, 3.0))
    assert tuple(second) == (True, ((3, 4, 4.0),), (2.0, 0.0, 0.0, 0.0), (0.0, 1.0), (-np.inf, np.inf))


def test_a_follower_has_no_actuator_of_its_own() -> None:
    robot = builder((2.0, 0.0, 0.0, 0.0)).build()
    with pytest.raises(ModelError, match="actuator 'x': there is no joint 'f0'; there are 'm'"):
        replace(robot, actuators=(Actuator("x", {"f0": 1.0}),))
