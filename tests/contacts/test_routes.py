"""Two routes to motion with contacts: by the factors of M, and by eliminating joints."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from condyle import Contact, Robot
from condyle.functions import FUNCTIONS
from condyle.model.placement import Placement

ROUTES = dict.fromkeys(("cfd", "impact", "delassus", "step"), "aba")
FLAGS = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
ROBOTS = {
    "arm": condyle.chain(7, 0),
    "tree": condyle.random_tree(6, 3, floating_base=True),
    "hyq": condyle.load("hyq", floating_base=True),
}


def contacts_of(robot: Robot) -> tuple[Contact, ...]:
    """A plane at a tip; a damped point between, which the tip is tied to where `loop` says so."""
    placed = Placement.from_rpy((0.1, 0.2, 0.3), (0.1, 0.2, 0.3))
    names = robot.body_names
    return Contact(names[-1], "plane", placement=placed), Contact(names[len(names) // 2], gains=(0.0, 1.0))


def error(found: tuple[np.ndarray, ...], want: tuple[np.ndarray, ...]) -> float:
    return max(float(np.max(np.abs(x - y)) / np.max(np.abs(y))) for x, y in zip(found, want, strict=True))


@pytest.mark.parametrize("name", ROBOTS)
def test_both_routes_agree(name: str) -> None:
    robot = ROBOTS[name]
    contacts, rng = contacts_of(robot), np.random.default_rng(1)
    one = robot.compile("numpy", contacts=contacts)
    other = robot.compile("numpy", contacts=contacts, routes=ROUTES)
    q, v = robot.random_state(4, 0)
    tau, f_ext = rng.standard_normal((4, robot.nv)), rng.standard_normal((4, len(robot.bodies), 6))
    forced = [dyn.constrained_forward_dynamics(q, v, tau, FLAGS, f_ext=f_ext) for dyn in (other, one)]
    contradicts = len(contacts[0].rows) + len(contacts[1].rows) > robot.nv  # rounding of G over mu, twice
    assert error(*forced) < (1e-6 if contradicts else 1e-8)
    restitution = np.full((4, 2), 0.3)
    assert error(*(dyn.impulse_dynamics(q, v, FLAGS, restitution) for dyn in (other, one))) < 1e-8
    assert error(*((dyn.delassus_matrix(q, FLAGS),) for dyn in (other, one))) < 1e-10
    assert error(*(dyn.step(q, v, tau, 1e-3, active=FLAGS) for dyn in (other, one))) < 1e-8


def test_damping_acts_by_both_routes() -> None:
    """As torques - damping v: what it changes is not small."""
    robot = ROBOTS["tree"]
    q, v = robot.random_state(4, 0)
    damping = np.linspace(1.0, 3.0, robot.nv)
    for routes in ({"cfd": "ltl"}, ROUTES):
        dyn = robot.compile("numpy", contacts=contacts_of(robot), inputs=("damping",), routes=routes)
        found = dyn.constrained_forward_dynamics(q, v, np.ones_like(v), FLAGS, damping=damping)
        want = dyn.constrained_forward_dynamics(q, v, 1.0 - damping * v, FLAGS, damping=np.zeros(robot.nv))
        without = dyn.constrained_forward_dynamics(q, v, np.ones_like(v), FLAGS, damping=np.zeros(robot.nv))
        assert error(found, want) < 1e-9
        assert error(found, without) > 1e-2


def test_two_bodies_are_tied_by_both() -> None:
    robot = ROBOTS["hyq"]
    tied = (Contact("lf_lowerleg", "point", other="rf_lowerleg"),)
    q, v = robot.random_state(3, 0)
    ways = [robot.compile("numpy", contacts=tied, routes=routes) for routes in ({"cfd": "aba"}, {"cfd": "ltl"})]
    found = [dyn.constrained_forward_dynamics(q, v, np.ones_like(v), np.ones((3, 1))) for dyn in ways]
    assert error(*found) < 1e-9


@pytest.mark.parametrize(("links", "route"), [(7, "ltl"), (30, "aba")])
def test_the_one_with_fewer_operations_is_taken(links: int, route: str) -> None:
    robot = condyle.chain(links, 0)
    dyn = robot.compile(contacts=(Contact(robot.body_names[-1], "plane"),))
    assert dyn._compiler.counts(FUNCTIONS["cfd"])["route"] == route


def test_shared_coordinates_have_the_factors_alone() -> None:
    """A mimic joint moves with another one: joints are not eliminated one by one."""
    builder, inertia = condyle.Builder().body("base", mass=1.0, com=np.zeros(3), inertia=np.eye(3)), 0.01 * np.eye(3)
    for name in ("one", "two"):
        builder = builder.body(name, mass=1.0, com=(0.1, 0.0, 0.0), inertia=inertia)
    hinge = {"type": "revolute", "axis": (0, 0, 1)}
    builder = builder.joint("a", parent="base", child="one", **hinge)
    builder = builder.joint("b", parent="one", child="two", mimic=("a", 2.0, 0.0), **hinge)
    robot = builder.build()
    dyn = robot.compile("numpy", contacts=(Contact("two"),))
    with pytest.raises(condyle.UnsupportedError, match="no route 'aba'"):
        robot.compile("numpy", contacts=(Contact("two"),), routes={"cfd": "aba"})
    a, _ = dyn.constrained_forward_dynamics(np.zeros(1), np.zeros(1), np.ones(1), np.ones(1))
    assert np.isfinite(a).all()
