"""What ties inverse dynamics, forward dynamics and the mass matrix together."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from tests.accuracies import ROUNDING
from tests.laws.evaluated import reference
from tests.laws.robots import NAMES, relative, robot_named, states

CONDITION = 1e-15  # times the condition of M (and a few dozen terms): what solving with M loses
TERMS = 100


def allowed(M: np.ndarray) -> float:
    return float(TERMS * CONDITION * np.linalg.cond(M).max())


@pytest.mark.parametrize("name", NAMES)
def test_mass_matrix_is_the_derivative_of_inverse_dynamics_by_acceleration(name: str) -> None:
    robot = robot_named(name)
    q, v, a, f_ext = states(robot)
    M = reference(robot, "m", q)
    bias = reference(robot, "id", q, v, 0.0 * a, f_ext=f_ext)
    for k, unit in enumerate(np.eye(robot.nv)):
        column = reference(robot, "id", q, v, np.tile(unit, (3, 1)), f_ext=f_ext) - bias
        assert relative(column, M[:, :, k]) < ROUNDING * np.abs(bias).max() / np.abs(M[:, :, k]).max() + ROUNDING
    assert relative(reference(robot, "id", q, v, a, f_ext=f_ext), np.einsum("nij,nj->ni", M, a) + bias) < ROUNDING


@pytest.mark.parametrize("name", NAMES)
def test_mass_matrix_is_symmetric_and_positive(name: str) -> None:
    robot = robot_named(name)
    M = reference(robot, "m", states(robot).q)
    assert np.array_equal(M, np.swapaxes(M, 1, 2))
    assert np.linalg.eigvalsh(M).min() > 0.0


@pytest.mark.parametrize("name", NAMES)
def test_mass_matrix_inverse_is_its_inverse(name: str) -> None:
    robot = robot_named(name)
    q = states(robot).q
    M, Minv = reference(robot, "m", q), reference(robot, "minv", q)
    assert relative(M @ Minv, np.broadcast_to(np.eye(robot.nv), M.shape)) < allowed(M)
    assert np.array_equal(Minv, np.swapaxes(Minv, 1, 2))


@pytest.mark.parametrize("name", NAMES)
def test_forward_dynamics_undoes_inverse_dynamics(name: str) -> None:
    robot = robot_named(name)
    q, v, a, f_ext = states(robot)
    M = reference(robot, "m", q)
    for forces in (None, f_ext):
        tau = reference(robot, "id", q, v, a, f_ext=forces)
        assert relative(reference(robot, "fd", q, v, tau, f_ext=forces), a) < allowed(M)


@pytest.mark.parametrize("name", NAMES)
def test_derivatives_of_forward_dynamics_are_minus_the_inverse_times_those_of_inverse_dynamics(name: str) -> None:
    robot = robot_named(name)
    q, v, tau, f_ext = states(robot)
    M, Minv = reference(robot, "m", q), reference(robot, "minv", q)
    a = reference(robot, "fd", q, v, tau, f_ext=f_ext)
    dtau = reference(robot, "did", q, v, a, f_ext=f_ext)
    dfd = reference(robot, "dfd", q, v, tau, f_ext=f_ext)
    difd = reference(robot, "difd", q, v, a, Minv, f_ext=f_ext)
    for of_tau, of_a, given in zip(dtau, dfd, difd, strict=False):
        assert relative(of_a, -Minv @ of_tau) < allowed(M)
        assert relative(given, -Minv @ of_tau) < allowed(M)
    assert relative(dfd[2], Minv) < allowed(M)


@pytest.mark.parametrize("name", NAMES)
def test_external_forces_enter_linearly(name: str) -> None:
    robot = robot_named(name)
    q, v, a, f_ext = states(robot)
    plain = reference(robot, "id", q, v, a)
    one = reference(robot, "id", q, v, a, f_ext=f_ext) - plain
    three = reference(robot, "id", q, v, a, f_ext=3.0 * f_ext) - plain
    assert relative(three, 3.0 * one) < ROUNDING * max(1.0, np.abs(plain).max() / np.abs(one).max())
    assert np.array_equal(reference(robot, "id", q, v, a, f_ext=0.0 * f_ext), plain)


def test_armature_adds_to_the_diagonal_only() -> None:
    robot, without = robot_named("tree-1"), condyle.random_tree(6, rng=1)
    rotors = np.concatenate([joint.armature for joint in robot.joints])
    assert rotors.all()
    q = states(robot).q
    added = reference(robot, "m", q) - reference(without, "m", q)
    assert np.abs(added - np.diag(rotors)).max() < ROUNDING * np.abs(reference(robot, "m", q)).max()
