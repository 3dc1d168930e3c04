"""Rows that contradict each other: a box on four corners that turns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import condyle
from condyle import Contact, Robot
from condyle.algorithms.contact_forces import MU, SHARE
from condyle.algorithms.contacts import scales
from condyle.compile.options import bound_of
from condyle.model.placement import Placement
from condyle.model.tree import tree_of
from tests.contacts.cases import apart


def box() -> tuple[Robot, list[Contact]]:
    builder = condyle.Builder("box")
    builder.body("box", mass=10.0, com=(0.0, 0.0, 0.05), inertia=0.1 * np.eye(3))
    corners = [Contact("box", placement=Placement.from_rpy((x, y, 0.0))) for x in (-0.2, 0.2) for y in (-0.3, 0.3)]
    return builder.build(floating_base=True), corners


@pytest.mark.parametrize("route", ["ltl", "aba"])
@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_corners_of_a_box_that_turns_carry_its_weight(target: str, route: str) -> None:
    """The corners want accelerations to the middle, which contradict each other: no force comes of that."""
    robot, corners = box()
    dyn = robot.compile(target, contacts=corners, routes={"cfd": route})
    v = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.1])
    a, force = dyn.constrained_forward_dynamics(robot.neutral(), v, np.zeros(6), np.ones(4))
    weight = [0.0, 0.0, 10.0 * 9.81 / 4.0, 0.0, 0.0, 0.0]
    assert np.abs(force - weight).max() < 1e-9
    assert np.abs(a).max() < 1e-9


def test_corners_of_a_box_in_single_precision() -> None:
    """What contradicts each other, 6e-3 m/s², times 10 kg / mu, less by the third power of 6e-8 / mu: 0.7 to 1.3 N."""
    robot, corners = box()
    dyn = robot.compile("cpu", contacts=corners, dtype="float32")
    v = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.1])
    given = (robot.neutral(), v, np.zeros(6), np.ones(4))
    _, force = dyn.constrained_forward_dynamics(*(x.astype(np.float32) for x in given))
    assert np.abs(force - [0.0, 0.0, 10.0 * 9.81 / 4.0, 0.0, 0.0, 0.0]).max() < 4.0


def test_the_filter_is_what_its_page_says() -> None:
    """Forces of dependent, of contradicting and of weak rows, by eigenvectors."""
    robot, corners = box()
    placed = replace(corners[3], placement=Placement.from_rpy((0.2, 0.3, 1e-7)))
    contacts = (*corners[:3], placed)
    dyn = robot.compile("numpy", contacts=contacts)
    q, v = robot.random_state(1, 0)
    tau, on = np.random.default_rng(1).normal(size=v.shape), np.ones((1, 4))
    G, J = dyn.delassus_matrix(q, on)[0], dyn.constraint_jacobian(q)[0]
    _, gamma = dyn.call("cres", [q, v, 0.0 * v, np.zeros((1, 4, 6))])
    b = -gamma[0] - J @ dyn.forward_dynamics(q, v, tau)[0]
    R = MU * (np.diag(G) + SHARE * np.array(scales(tree_of(robot, bound_of(robot, contacts=contacts)))))
    sizes, axes = np.linalg.eigh(G / np.sqrt(np.outer(R, R)))
    x = 1.0 / (1.0 + sizes)
    series = (1.0 - x) ** 3 * (1.0 + 4.0 * x + 10.0 * x**2 + 20.0 * x**3)
    force = axes @ (series / (1.0 + sizes) * (axes.T @ (b / np.sqrt(R)))) / np.sqrt(R)
    found = dyn.constrained_forward_dynamics(q, v, tau, on).force[0, :, :3].ravel()
    assert apart(found, force) < 1e-6  # rounding of G over mu
    pushed = [J.T @ one for one in (found, force)]
    assert apart(*pushed) < 1e-8
