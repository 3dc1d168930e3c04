"""Damping, friction and armature of an arm from noisy torques: columns beside the inertias', by least squares."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import condyle
from condyle import Drive, Robot
from tests.drives.equations import Reals, quiet

W = 1e-2  # [rad/s], friction_velocity
COLUMNS = ("damping", "friction", "armature", "stiffness")
TRUTH = {
    "damping": np.array([2.0, 2.0, 1.0, 1.0, 0.5, 0.3, 0.2]),
    "friction": np.array([1.5, 1.5, 1.0, 1.0, 0.5, 0.3, 0.2]),
    "armature": np.array([0.5, 0.5, 0.3, 0.3, 0.1, 0.05, 0.03]),
    "stiffness": np.array([9.0, 7.0, 5.0, 4.0, 3.0, 2.0, 1.0]),
}
REFERENCE = np.linspace(-0.3, 0.3, 7)


class Motion(NamedTuple):
    q: Reals
    v: Reals
    a: Reals


def arm(*names: str) -> Robot:
    """iiwa14 with the drives of TRUTH that are named, and springs' references."""
    bare = condyle.load("iiwa14")
    numbers = {"rotor_inertia" if name == "armature" else name: TRUTH[name] for name in names}
    drives = {
        joint: Drive(spring_reference=REFERENCE[i], **{name: x[i] for name, x in numbers.items()})
        for i, joint in enumerate(bare.joint_names)
    }
    return bare.with_drives(drives)


def motion(seconds: float = 30.0, rate: float = 200.0) -> Motion:
    """Sums of sines of 0.1 to 1.1 Hz, other ones for each joint: q within 1.5 rad, v up to 4 rad/s."""
    t = np.arange(0.0, seconds, 1.0 / rate)[:, None]
    rng = np.random.default_rng(4)
    q, v, a = (np.zeros((len(t), 7)) for _ in range(3))
    for k in range(1, 12, 2):
        w, amplitude, phase = 0.2 * np.pi * k, rng.uniform(0.05, 0.25, 7), rng.uniform(0.0, 2.0 * np.pi, 7)
        q += amplitude * np.sin(w * t + phase)
        v += amplitude * w * np.cos(w * t + phase)
        a -= amplitude * w * w * np.sin(w * t + phase)
    return Motion(q, v, a)


def columns(names: tuple[str, ...], q: Reals, v: Reals, a: Reals) -> Reals:
    """(n, nv, names nv); names in the order of COLUMNS."""
    entries = {"damping": v, "friction": v / np.sqrt(v * v + W * W), "armature": a, "stiffness": q - REFERENCE}
    return np.concatenate([entries[name][:, :, None] * np.eye(q.shape[1]) for name in names], axis=2)


def by_hand(robot: Robot, names: tuple[str, ...]) -> Any:
    with quiet():
        plain = robot.compile(target="cpu")
    inertias = plain.inverse_dynamics_regressor
    return lambda q, v, a: np.concatenate([inertias(q, v, a), columns(names, q, v, a)], axis=2)


def compiled(robot: Robot, names: tuple[str, ...]) -> Any:
    return robot.compile(target="cpu", regressor=names).inverse_dynamics_regressor


WAYS = {"by hand": by_hand, "cpu": compiled}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("names", [COLUMNS, ("damping", "stiffness"), ("friction",)], ids="-".join)
def test_columns_times_parameters_are_the_torques(names: tuple[str, ...], way: str) -> None:
    robot, (q, v, a) = arm(*names), motion(1.0)
    Y = WAYS[way](robot, names)(q, v, a)
    np.testing.assert_allclose(Y[:, :, 70:], columns(names, q, v, a), rtol=0, atol=1e-14)
    with quiet():
        known = condyle.load("iiwa14").compile(target="cpu").inverse_dynamics(q, v, a)
    tau = known + sum(columns((name,), q, v, a) @ TRUTH[name] for name in names)
    pi = np.concatenate([robot.inertias.reshape(-1), *(TRUTH[name] for name in names)])
    np.testing.assert_allclose(Y @ pi, tau, rtol=0, atol=1e-12 * np.abs(tau).max())


def test_the_compiled_torques_are_those_of_the_columns() -> None:
    robot, (q, v, a) = arm(*COLUMNS), motion(1.0)
    forces = ("damping", "friction", "springs")
    tau = robot.compile(target="cpu", joint_forces=forces).inverse_dynamics(q, v, a)
    Y = by_hand(robot, COLUMNS)(q, v, a)
    pi = np.concatenate([robot.inertias.reshape(-1), *(TRUTH[name] for name in COLUMNS)])
    np.testing.assert_allclose(tau, Y @ pi, rtol=0, atol=1e-12 * np.abs(tau).max())


class Measured(NamedTuple):
    """Rows of the joints, one state after another, and their torques, each divided by the deviation of its noise."""

    inertias: Reals
    drives: Reals
    torques: Reals


def measured(robot: Robot, Y: Reals, seed: int) -> Measured:
    """With normal noise of 1 % of each torque's rms."""
    tau = Y @ np.concatenate([robot.inertias.reshape(-1), *(TRUTH[name] for name in COLUMNS[:3])])
    sigma = 0.01 * np.sqrt((tau**2).mean(axis=0))
    tau = tau + sigma * np.random.default_rng(seed).normal(size=tau.shape)
    rows = (Y / sigma[:, None]).reshape(-1, Y.shape[2])
    return Measured(rows[:, :70], rows[:, 70:], (tau / sigma).reshape(-1))


WANTED = np.concatenate([TRUTH[name] for name in COLUMNS[:3]])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(3))
def test_drives_are_found_where_inertias_are_known(seed: int, way: str) -> None:
    """Within 3 %, which is more than four standard deviations of each."""
    robot, names = arm(*COLUMNS[:3]), COLUMNS[:3]
    rows = measured(robot, WAYS[way](robot, names)(*motion()), seed)
    rest = rows.torques - rows.inertias @ robot.inertias.reshape(-1)
    estimate, _, rank, _ = np.linalg.lstsq(rows.drives, rest, rcond=None)
    deviation = np.sqrt(np.diag(np.linalg.inv(rows.drives.T @ rows.drives)))
    assert rank == 21 and (4.0 * deviation < 0.03 * WANTED).all()
    np.testing.assert_allclose(estimate, WANTED, rtol=0.03)


@pytest.mark.parametrize("way", WAYS)
def test_drives_are_found_with_unknown_inertias(way: str) -> None:
    """All but the first two joints' armatures, whose columns are in the span of the inertias'."""
    robot, names = arm(*COLUMNS[:3]), COLUMNS[:3]
    rows = measured(robot, WAYS[way](robot, names)(*motion()), 0)
    span, s, _ = np.linalg.svd(rows.inertias, full_matrices=False)
    span = span[:, s > 1e-9 * s[0]]
    left = rows.drives - span @ (span.T @ rows.drives)
    adds = np.linalg.norm(left, axis=0) > 1e-9 * np.linalg.norm(rows.drives, axis=0)
    assert np.flatnonzero(~adds).tolist() == [14, 15]
    estimate = np.linalg.lstsq(left[:, adds], rows.torques - span @ (span.T @ rows.torques), rcond=None)[0]
    np.testing.assert_allclose(estimate, WANTED[adds], rtol=0.03)
