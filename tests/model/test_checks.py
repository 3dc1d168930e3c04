"""What is said about impossible bodies and about joints that feel no mass."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

import condyle
from condyle.errors import ModelError
from condyle.model.builder import Builder
from condyle.model.checks import Source, check_body, check_drives, is_sound, singular_joints
from condyle.model.parts import Body
from condyle.model.robot import Robot

BOX = np.diag([0.1, 0.2, 0.25])
SADDLE = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
"""-1 about (1, -1, 0)."""


def body(mass: float, inertia: np.ndarray, com: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> Body:
    return Body("a", mass, np.array(com), inertia)


@pytest.mark.parametrize(
    ("thing", "severity", "text"),
    [
        (body(-1.0, BOX), "error", "mass -1 kg"),
        (body(0.0, BOX), "physics", "an inertia but no mass"),
        (body(0.0, -BOX), "error", "positive definite"),
        (body(1.0, -BOX), "error", "positive definite"),
        (body(1.0, np.diag([0.1, -0.1, 0.1]), (5.0, 5.0, 5.0)), "error", "positive definite"),
        (body(1.0, SADDLE), "error", "positive definite"),
        (body(9.0, SADDLE, (0.0, 0.0, 1.0)), "physics", "indefinite about the com"),
        (body(9.0, SADDLE, (1.0, 1.0, 0.0)), "physics", "indefinite about the com"),
        (body(9.0, SADDLE, (1.0, -1.0, 0.0)), "error", "positive definite"),  # its own axis passes the origin
        (body(1.0, np.diag([0.1, 0.1, 0.3])), "physics", "triangle"),
        (body(1.0, np.diag([0.1, 0.5, 0.9])), "physics", "triangle"),
        (body(1.0, np.zeros((3, 3))), "physics", "point mass"),
        (body(1.0, np.diag([-5e-20, 0.0, 0.0])), "physics", "point mass"),
        (body(1e6, 0.9e-9 * np.eye(3)), "physics", "point mass"),  # to 1e-15 m² of its mass
        (body(1e-6, np.diag([1.1e-21, 1.1e-21, 9e-21])), "physics", "triangle"),
    ],
)
def test_impossible_bodies(thing: Body, severity: str, text: str) -> None:
    (finding,) = check_body(thing)
    assert finding.severity == severity
    assert text in finding.message
    assert finding.element == "link 'a'"


def test_possible_bodies() -> None:
    for thing in (body(1.0, BOX), body(0.0, np.zeros((3, 3))), body(1.0, np.diag([0.0, 0.2, 0.2]))):
        assert check_body(thing) == []
    assert check_body(body(1.0, 1e-15 * np.diag([1.5, 1.5, -0.5]))) == []  # beside that of a millimetre, rounding


def arm(kind: str, armature: float = 0.0, **last: object) -> Robot:
    builder = Builder().body("a", mass=1.0, inertia=BOX).body("b", **last)  # type: ignore[arg-type]
    builder.joint("j", parent="world", child="a", type="revolute")
    builder.joint("k", parent="a", child="b", type=kind, armature=armature, second_axis=(1, 0, 0), pitch=0.1)
    return builder.build()


def test_joints_that_feel_mass() -> None:
    assert singular_joints(arm("revolute", mass=1.0, inertia=BOX)) == ()
    assert singular_joints(arm("revolute", armature=0.1)) == ()


@pytest.mark.filterwarnings("ignore::condyle.errors.ModelWarning")
@pytest.mark.parametrize(
    ("kind", "felt"),
    [("revolute", True), ("helical", True), ("universal", True), ("prismatic", False), ("free", False)],
)
@pytest.mark.parametrize("beyond", [False, True])
def test_an_inertia_without_mass_is_felt_by_what_turns_it(kind: str, felt: bool, beyond: bool) -> None:
    builder = Builder().body("a", mass=1.0, inertia=BOX).body("b", inertia=np.zeros((3, 3)) if beyond else BOX)
    builder.joint("j", parent="world", child="a", type="revolute")
    builder.joint("k", parent="a", child="b", type=kind, axis=(0, 0, 1), second_axis=(1, 0, 0), pitch=0.1)
    if beyond:
        builder.body("c", inertia=BOX).joint("l", parent="b", child="c", type="revolute", axis=(0, 1, 0))
    robot = builder.build()
    assert list(singular_joints(robot)) == ([] if felt else [1])
    rank = np.linalg.matrix_rank(robot_mass_matrix(robot), tol=1e-9)
    assert (rank == robot.nv) == felt


def robot_mass_matrix(robot: Robot) -> np.ndarray:
    dyn = condyle.Robot.from_data(robot).compile("numpy")
    return dyn.mass_matrix(robot.random_state(1, 0).q[0])


@pytest.mark.filterwarnings("ignore::condyle.errors.ModelWarning")
@pytest.mark.parametrize("kind", ["revolute", "prismatic", "free", "universal"])
def test_a_massless_end_is_felt_by_no_joint(kind: str) -> None:
    assert singular_joints(arm(kind)) == (1,)


@pytest.mark.filterwarnings("ignore::condyle.errors.ModelWarning")
@pytest.mark.parametrize(
    ("kind", "com", "singular"),
    [
        ("revolute", (0.0, 0.0, 1.0), True),
        ("revolute", (0.1, 0.0, 1.0), False),
        ("prismatic", (0.0, 0.0, 1.0), False),
        ("helical", (0.0, 0.0, 1.0), False),
        ("spherical", (0.1, 0.2, 0.3), True),
        ("free", (0.1, 0.2, 0.3), True),
        ("translation", (0.1, 0.2, 0.3), False),
        ("cylindrical", (0.0, 0.0, 0.3), True),
    ],
)
def test_point_masses(kind: str, com: tuple[float, float, float], singular: bool) -> None:
    assert bool(singular_joints(arm(kind, mass=1.0, com=com))) is singular


@pytest.mark.filterwarnings("ignore::condyle.errors.ModelWarning")
def test_only_the_first_of_a_massless_branch_is_named() -> None:
    builder = Builder().body("a").body("b").body("c", mass=1.0, inertia=BOX).body("d")
    builder.joint("ja", parent="world", child="a", type="revolute").joint("jb", parent="a", child="b", type="revolute")
    builder.joint("jc", parent="world", child="c", type="revolute").joint("jd", parent="c", child="d", type="prismatic")
    assert list(singular_joints(builder.build())) == [0, 3]


def test_massless_bodies_between_are_fine() -> None:
    builder = Builder().body("a").body("b", mass=1.0, inertia=BOX)
    builder.joint("ja", parent="world", child="a", type="revolute").joint("jb", parent="a", child="b", type="prismatic")
    assert builder.build().check() == ()


def test_units_that_cannot_be() -> None:
    builder = Builder().body("a", mass=1.0, inertia=1e4 * np.eye(3))
    with pytest.warns(match="radius of gyration 100 m"):
        builder.joint("j", parent="world", child="a", type="revolute").build()


def test_limits_the_wrong_way_round() -> None:
    builder = Builder().body("a", mass=1.0, inertia=BOX)
    with pytest.warns(match="lower limit above"):
        robot = builder.joint("j", parent="world", child="a", type="revolute", lower=1.0, upper=-1.0).build()
    assert abs(robot.random_state(10, 0).q).max() <= np.pi


@pytest.mark.parametrize("by", ["com", "placement", "child", "frame"])
def test_a_radius_of_gyration_is_held_against_all_that_says_how_long_a_link_is(by: str) -> None:
    """More than 5 times as large is noted."""
    length = 0.5
    at = (length, 0.0, 0.0)
    for ratio in (4.9, 5.1):
        com = at if by == "com" else (0.0, 0.0, 0.0)
        builder = Builder().body("a", mass=2.0, com=com, inertia=2.0 * (ratio * length) ** 2 * np.eye(3))
        builder.joint("j", parent="world", child="a", type="revolute", xyz=at if by == "placement" else (0, 0, 0))
        if by == "child":
            builder.body("b", mass=1.0, inertia=BOX).joint("k", parent="a", child="b", type="revolute", xyz=at)
        elif by == "frame":
            builder.body("tip").joint("k", parent="a", child="tip", type="fixed", xyz=at)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            builder.build()
        assert [f"radius of gyration {ratio * length:.3g} m" in str(one.message) for one in caught] == [True] * (
            ratio > 5
        )


def test_a_finding_has_the_line_of_its_link() -> None:
    source = Source("r.urdf", {"a": 7})
    (finding,) = check_body(body(-1.0, BOX), source)
    assert (finding.file, finding.line) == ("r.urdf", 7)


@pytest.mark.parametrize(("ratio", "noted"), [(4.9, False), (5.1, True)])
def test_a_link_without_any_length_measures_a_tenth_of_a_metre(ratio: float, noted: bool) -> None:
    builder = Builder().body("a", mass=2.0, inertia=2.0 * (0.1 * ratio) ** 2 * np.eye(3))
    builder.joint("j", parent="world", child="a", type="revolute")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        builder.build()
    said = (
        f"note: link 'a': radius of gyration {0.1 * ratio:.3g} m, while the link measures about 0.1 m (check the units"
    )
    assert [str(one.message).startswith(said) for one in caught] == [True] * noted


def changed_joint(**numbers: object) -> Robot:
    """The second of two joints has these."""
    robot = arm("revolute", mass=1.0, inertia=BOX)
    return replace(robot, joints=(robot.joints[0], replace(robot.joints[1], **numbers)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("numbers", "severity", "said"),
    [
        (
            {"armature": [-1.0]},
            "error",
            "joint 'k': armature [-1], expected 0 or more of each degree of freedom, and finite",
        ),
        ({"armature": [np.nan]}, "error", "joint 'k': armature [nan], expected 0 or more of each"),
        ({"armature": [1e31]}, "error", "joint 'k': armature [1e+31], expected 0 or more of each"),
        ({"stiffness": [-1.0]}, "error", "joint 'k': stiffness [-1], expected 0 or more"),
        ({"lower": [1.0], "upper": [0.5]}, "note", "joint 'k': lower limit above the upper one"),
    ],
)
def test_numbers_of_joints_that_are_wrong_or_odd(numbers: dict[str, object], severity: str, said: str) -> None:
    findings = [finding for finding in changed_joint(**numbers).check() if "moves no mass" not in finding.message]
    assert [(finding.severity, str(finding)[: len(said)]) for finding in findings] == [(severity, said)]


def test_numbers_of_joints_that_are_right() -> None:
    fine = changed_joint(armature=[1e30], stiffness=[0.0], lower=[0.5], upper=[0.5])
    assert fine.check() == ()
    check_drives(fine, ("damping", "friction", "springs", "limits"))


@pytest.mark.parametrize(
    ("law", "numbers", "said"),
    [
        ("damping", {"damping": [-1.0]}, "joint 'k': damping [-1]: expected 0 or more"),
        ("friction", {"friction": [-2.0]}, "joint 'k': friction [-2]: expected 0 or more"),
        ("springs", {"stiffness": [-3.0]}, "joint 'k': stiffness [-3]: expected 0 or more"),
        ("springs", {"stiffness": [np.nan]}, "joint 'k': stiffness [nan]: expected 0 or more"),
        (
            "limits",
            {"lower": [1.0], "upper": [0.5]},
            "joint 'k': limits: lower [1], upper [0.5]: expected lower <= upper",
        ),
        ("limits", {"lower": [np.nan]}, "joint 'k': limits: lower [nan], upper [inf]: expected lower <= upper"),
    ],
)
def test_forces_that_numbers_of_joints_forbid(law: str, numbers: dict[str, object], said: str) -> None:
    """Only where that force is asked for."""
    robot = changed_joint(**numbers)
    with pytest.raises(ModelError) as refused:
        check_drives(robot, (law,))
    assert [str(finding) for finding in refused.value.findings] == [said]
    check_drives(robot, [other for other in ("damping", "friction", "springs", "limits") if other != law])


def test_limits_that_followers_turn_round_are_refused_at_their_master() -> None:
    builder = Builder().body("a", mass=1.0, inertia=BOX).body("b", mass=1.0, inertia=BOX)
    builder.joint("m", parent="world", child="a", type="revolute", lower=-1, upper=1)
    builder.joint("f", parent="a", child="b", type="revolute", lower=2, upper=3, mimic="m")
    with pytest.warns(match="limits of joints that mimic it leave it no motion"):
        robot = builder.build()
    with pytest.raises(ModelError, match=r"joint 'm': limits: lower \[2\], upper \[1\]: expected lower <= upper"):
        check_drives(robot, ("limits",))


def test_a_thin_body_is_solid_to_a_trillionth() -> None:
    for least, solid in ((1.1e-12, True), (0.9e-12, False), (0.0, False)):
        robot = arm("revolute", mass=1.0, inertia=BOX)
        thin = replace(robot.bodies[1], inertia=np.diag([least, 1.0, 1.0]))
        assert is_sound(replace(robot, bodies=(robot.bodies[0], thin))) == solid
    for mass, armature, solid in ((0.0, 0.0, False), (0.0, 0.1, True)):
        robot = changed_joint(armature=[armature])
        assert is_sound(replace(robot, bodies=(robot.bodies[0], replace(robot.bodies[1], mass=mass)))) == solid
