"""Robots whose equations fit on a line."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from tests.laws.evaluated import reference

pytestmark = pytest.mark.smoke

ROUNDING = 1e-13  # a handful of operations
G = 9.81


def test_pendulum() -> None:
    """tau = (I + m l²) a + m g l sin q, about y, hanging."""
    m, l, I = 2.0, 0.7, 0.03
    builder = condyle.Builder("pendulum")
    builder.body("world_end").body("bob", mass=m, com=(0, 0, -l), inertia=np.diag((0.02, I, 0.02)))
    builder.joint("pivot", parent="world_end", child="bob", type="continuous", axis=(0, 1, 0), armature=0.5)
    robot = builder.build()
    q, v, a = np.random.default_rng(0).uniform(-3, 3, (3, 5, 1))
    total = I + m * l * l + 0.5
    np.testing.assert_allclose(reference(robot, "id", q, v, a), total * a + m * G * l * np.sin(q), rtol=ROUNDING)
    np.testing.assert_allclose(reference(robot, "fd", q, v, a), (a - m * G * l * np.sin(q)) / total, rtol=ROUNDING)
    by_q, by_v = reference(robot, "did", q, v, a)
    np.testing.assert_allclose(by_q[:, :, 0], m * G * l * np.cos(q), rtol=ROUNDING)
    assert not by_v.any()


def test_two_links_in_a_plane() -> None:
    """The textbook double pendulum, point masses at the ends, relative angles, gravity along -y."""
    m1, m2, l1, l2 = 1.5, 0.8, 0.6, 0.4
    builder = condyle.Builder("two", gravity=(0, -G, 0))
    builder.body("base").body("one", mass=m1, com=(l1, 0, 0), inertia=1e-3 * np.eye(3))
    builder.body("two", mass=m2, com=(l2, 0, 0), inertia=1e-3 * np.eye(3))
    builder.joint("j1", parent="base", child="one", type="revolute", axis=(0, 0, 1), lower=-9, upper=9)
    builder.joint("j2", parent="one", child="two", type="revolute", axis=(0, 0, 1), xyz=(l1, 0, 0), lower=-9, upper=9)
    q, v, a = np.random.default_rng(1).uniform(-3, 3, (3, 6, 2))
    s2, c2 = np.sin(q[:, 1]), np.cos(q[:, 1])
    c1, c12 = np.cos(q[:, 0]), np.cos(q.sum(axis=1))
    own = 1e-3
    m22 = m2 * l2**2 + own
    m12 = m22 + m2 * l1 * l2 * c2
    m11 = m1 * l1**2 + own + m22 + m2 * (l1**2 + 2 * l1 * l2 * c2)
    h = m2 * l1 * l2 * s2
    tau2 = m12 * a[:, 0] + m22 * a[:, 1] + h * v[:, 0] ** 2 + m2 * G * l2 * c12
    tau1 = m11 * a[:, 0] + m12 * a[:, 1] - h * (2 * v[:, 0] * v[:, 1] + v[:, 1] ** 2)
    tau1 = tau1 + (m1 + m2) * G * l1 * c1 + m2 * G * l2 * c12
    answer = reference(builder.build(), "id", q, v, a)
    np.testing.assert_allclose(answer, np.stack((tau1, tau2), axis=1), rtol=0, atol=100 * ROUNDING)


def test_free_body_obeys_newton_and_euler() -> None:
    """force = m (a + w x v) less weight, torque = I dw + w x I w, about the centre of mass, in body axes."""
    I = np.diag((0.1, 0.2, 0.25))
    builder = condyle.Builder("brick", gravity=(0, 0, 0))
    builder.body("brick", mass=3.0, inertia=I)
    robot = builder_floating(builder)
    q, v = robot.random_state(4, 0)
    a = np.random.default_rng(2).uniform(-1, 1, (4, 6))
    force = 3.0 * (a[:, :3] + np.cross(v[:, 3:], v[:, :3]))
    torque = a[:, 3:] @ I + np.cross(v[:, 3:], v[:, 3:] @ I)
    answer = reference(robot, "id", q, v, a)
    np.testing.assert_allclose(answer, np.concatenate((force, torque), axis=1), rtol=0, atol=100 * ROUNDING)


def builder_floating(builder: condyle.Builder) -> condyle.Robot:
    builder.joint("root", parent="world", child="brick", type="free")
    return builder.build()


@pytest.mark.parametrize("pitch", [0.1, -0.3])
def test_a_nut_on_a_screw_falls_slowly(pitch: float) -> None:
    """(I + m p²) a = tau - m g p."""
    m, I = 0.5, 0.002
    builder = condyle.Builder("screw")
    builder.body("bolt").body("nut", mass=m, inertia=np.diag((0.002, 0.002, I)))
    builder.joint("thread", parent="bolt", child="nut", type="helical", axis=(0, 0, 1), pitch=pitch)
    q, v, tau = np.random.default_rng(3).uniform(-3, 3, (3, 4, 1))
    expected = (tau - m * G * pitch) / (I + m * pitch**2)
    np.testing.assert_allclose(reference(builder.build(), "fd", q, v, tau), expected, rtol=ROUNDING)
