"""What is said about impossible bodies and about joints that feel no mass."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import condyle
from condyle.model.builder import Builder
from condyle.model.checks import Source, check_body, singular_joints
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
