"""Constrained dynamics, derivatives and impacts against Pinocchio's."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import condyle
from condyle import Contact, Robot
from condyle.model.placement import Placement
from tests.contacts.cases import Array, Case, hyq
from tests.laws.robots import relative
from tests.processor import slow
from tests.twins.example_robots import loaded

pytest.importorskip("pinocchio", reason="pip install 'condyle[test]'")
from tests.twins.pinocchio_contacts import ContactTwin
from tests.twins.pinocchio_twin import Twin

MOTION, DERIVATIVES = 1e-9, 1e-7
N = 4
TYPES = ("revolute", "prismatic", "spherical", "free")
"""Joints of one piece in both."""


def feet(name: str, ending: str, kind: str = "point") -> Case:
    robot = loaded(name, True)
    return Case(robot, tuple(Contact(frame, kind) for frame in robot.frames if frame.lower().endswith(ending)))


def talos() -> Case:
    robot = loaded("talos_reduced", True)
    return Case(robot, tuple(Contact(f"{side}_sole_link", "plane") for side in ("left", "right")))


def small(seed: int) -> Robot:
    return condyle.random_tree(5, rng=seed, floating_base=True, types=TYPES)


def placed(rng: np.random.Generator) -> Placement:
    return Placement.from_rpy(rng.uniform(-0.5, 0.5, 3), rng.uniform(-1.0, 1.0, 3))


def ends(robot: Robot) -> tuple[str, str]:
    """Two bodies that no joint ties to each other: the last one, and one on another branch or far up."""
    return robot.body_names[-1], robot.body_names[1]


def loop(kind: str, seed: int, gains: tuple[float, float] = (0.0, 0.0)) -> Case:
    """A contact between two bodies."""
    robot, rng = small(seed), np.random.default_rng(seed)
    own, other = ends(robot)
    return Case(robot, (Contact(own, kind, other, placed(rng), gains, placed(rng)),))


def held(kind: str, seed: int, gains: tuple[float, float] = (0.0, 0.0)) -> Case:
    """Against the world."""
    robot, rng = small(seed), np.random.default_rng(seed)
    return Case(robot, (Contact(robot.body_names[-1], kind, None, placed(rng), gains, placed(rng)),))


CASES = {
    "hyq": lambda: hyq(),
    "point": lambda: held("point", 1),
    "plane": lambda: held("plane", 2),
    "point, gains": lambda: held("point", 1, (100.0, 20.0)),
    "plane, damped": lambda: held("plane", 2, (0.0, 20.0)),
    "loop, point": lambda: loop("point", 1),
    "loop, plane": lambda: loop("plane", 3),
    "loop, plane, damped": lambda: loop("plane", 5, (0.0, 20.0)),
    "loop, point, gains": lambda: loop("point", 3, (100.0, 20.0)),
}
EXAMPLES = {
    "hyq, feet": lambda: feet("hyq", "_foot"),
    "anymal": lambda: feet("anymal_c", "_foot"),
    "talos": talos,
}


@cache
def made(name: str) -> tuple[Case, ContactTwin]:
    case = {**CASES, **EXAMPLES}[name]()
    assert len(case.contacts) == {"hyq": 4, "hyq, feet": 4, "anymal": 4, "talos": 2}.get(name, 1)
    return case, ContactTwin(Twin(case.robot), case.contacts)


def compared(name: str) -> tuple[list[Array], list[Array]]:
    """Ours and theirs: a, forces row by row, their derivatives by q, v, tau."""
    case, twin = made(name)
    dyn, at = case.compile(), case.state(N, 1)
    at = at._replace(active=np.ones_like(at.active))
    given = at.q, at.v, at.tau
    a, force = dyn.constrained_forward_dynamics(*given, at.active)
    slopes = dyn.constrained_forward_dynamics_derivatives(*given, at.active)
    ours = [a, case.rows(force), *slopes[:3], *(x[:, case.held] for x in slopes[3:])]
    states = [(*twin.cfd(*state), *twin.dcfd(*state)) for state in zip(*given, strict=True)]
    return ours, [np.array(of) for of in zip(*states, strict=True)]


@pytest.mark.parametrize("name", [*CASES, *(pytest.param(one, marks=pytest.mark.twins_data) for one in EXAMPLES)])
def test_constrained_dynamics(name: str) -> None:
    ours, theirs = compared(name)
    for k, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        assert relative(one, other) < (MOTION if k < 2 else DERIVATIVES), k


@pytest.mark.parametrize("between", [False, True], ids=["world", "loop"])
def test_planes_are_drawn_back(between: bool) -> None:
    """Where A is turned as its anchor is: else their error is log6, ours a translation beside log3."""
    case = loop("plane", 3) if between else held("plane", 2)
    robot, (one,), at = case.robot, case.contacts, case.state(N, 3)
    frames = (one.frame, one.other or one.frame)
    turns, places = robot.compile("numpy", frames=frames).frame_placements(at.q)
    for k in range(N):
        here = turns[k, 0] @ one.placed.rotation, places[k, 0] + turns[k, 0] @ one.placed.translation
        there = (turns[k, 1], places[k, 1]) if between else (np.eye(3), np.zeros(3))
        slid = there[0].T @ (here[1] - there[1]) + (0.1, -0.2, 0.3)
        anchor = Placement(there[0].T @ here[0], slid)
        drawn = Case(robot, (replace(one, gains=(100.0, 20.0), anchor=anchor),))
        dyn, twin = drawn.compile(), ContactTwin(Twin(robot), drawn.contacts)
        assert np.linalg.norm(dyn.constraint_errors(at.q[k])) == pytest.approx(np.linalg.norm((0.1, 0.2, 0.3)))
        state = at.q[k], at.v[k], at.tau[k]
        a, force = dyn.constrained_forward_dynamics(*state, np.ones(1))
        expected = twin.cfd(*state)
        assert relative(a[None], expected[0][None]) < MOTION
        assert relative(drawn.rows(force)[None], expected[1][None]) < MOTION


@pytest.mark.parametrize("e", [0.0, 0.6])
@pytest.mark.parametrize("name", ["hyq", "plane", slow("point"), pytest.param("talos", marks=pytest.mark.twins_data)])
def test_impacts(name: str, e: float) -> None:
    """Against the world: their impulses do not know the second body of a loop."""
    case, twin = made(name)
    at = case.state(N, 2)
    on = np.ones_like(at.active)
    after, impulse = case.compile().impulse_dynamics(at.q, at.v, on, e * on)
    states = [twin.impact(q, v, e) for q, v in zip(at.q, at.v, strict=True)]
    assert relative(after, np.array([state[0] for state in states])) < MOTION
    assert relative(case.rows(impulse), np.array([state[1] for state in states])) < MOTION
