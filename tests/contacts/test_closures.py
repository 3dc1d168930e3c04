"""Contacts that make another robot: a joint held is a joint locked, a closed four-bar has one coordinate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import condyle
from condyle import Contact, Robot
from condyle.model.placement import Placement
from tests.accuracies import SOLVED
from tests.contacts.cases import Array, Case


@pytest.mark.parametrize(("seed", "joint"), [(2, "joint2"), (3, "joint1"), (4, "joint3"), (5, "joint2"), (7, "joint4")])
def test_a_joint_that_is_held_is_a_joint_that_is_locked(seed: int, joint: str) -> None:
    """A plane between the bodies on its two sides; or to the world, where it is the world's."""
    types = ("revolute", "prismatic", "spherical", "helical", "universal", "planar")
    robot = condyle.random_tree(5, rng=seed, floating_base=seed % 2 == 1, types=types)
    held = robot.joint(joint)
    q, v = robot.random_state(3, 1)
    q[:, held.q_slice], v[:, held.v_slice] = q[0, held.q_slice], 0.0
    rest = robot.lock({joint: q[0, held.q_slice]})
    names = robot.body_names
    other = names[held.parent] if held.parent >= 0 else None
    case = Case(robot, (Contact(names[robot.joints.index(held)], "plane", other),))
    kept_q = np.delete(np.arange(robot.nq), np.arange(robot.nq)[held.q_slice])
    kept_v = np.delete(np.arange(robot.nv), np.arange(robot.nv)[held.v_slice])
    tau = np.random.default_rng(2).normal(size=v.shape)
    a, _ = case.compile().constrained_forward_dynamics(q, v, tau, np.ones((3, 1)))
    expected = rest.compile("numpy").forward_dynamics(q[:, kept_q], v[:, kept_v], tau[:, kept_v])
    scale = max(1.0, float(np.abs(expected).max()))
    np.testing.assert_allclose(a[:, kept_v], expected, rtol=0, atol=SOLVED * scale)
    np.testing.assert_allclose(a[:, held.v_slice], 0.0, rtol=0, atol=SOLVED * scale)


def test_a_base_that_is_held_is_no_base() -> None:
    floating, fixed = condyle.load("hyq", floating_base=True), condyle.load("hyq")
    case = Case(floating, (Contact(floating.body_names[0], "plane"),))
    rng = np.random.default_rng(0)
    q, v = fixed.random_state(3, rng)
    tau = rng.normal(size=v.shape)
    base = np.tile(floating.neutral()[:7], (3, 1))
    none = np.zeros((3, 6))
    a, _ = case.compile().constrained_forward_dynamics(
        np.hstack([base, q]), np.hstack([none, v]), np.hstack([none, tau]), np.ones((3, 1))
    )
    expected = fixed.compile("numpy").forward_dynamics(q, v, tau)
    np.testing.assert_allclose(a[:, 6:], expected, rtol=0, atol=SOLVED * np.abs(expected).max())


@dataclass(frozen=True)
class FourBar:
    """A crank, a coupler and a rocker in the x-z plane, which turn about -y; the rocker stands `base` beside the crank.

    Angles of the bars from the x axis; a bar's centre of mass is at its middle.
    """

    lengths: tuple[float, float, float] = (0.3, 0.8, 0.6)
    masses: tuple[float, float, float] = (1.0, 2.0, 1.5)
    inertias: tuple[float, float, float] = (0.02, 0.1, 0.05)
    base: float = 0.7
    gravity: float = 9.81

    def robot(self) -> Robot:
        """Crank and coupler in a chain, the rocker beside them."""
        builder = condyle.Builder("four_bar", gravity=(0.0, 0.0, -self.gravity))
        bars = (("crank", "world", 0.0), ("coupler", "crank", self.lengths[0]), ("rocker", "world", self.base))
        for (name, parent, at), length, mass, inertia in zip(
            bars, self.lengths, self.masses, self.inertias, strict=True
        ):
            builder.body(name, mass=mass, com=(0.5 * length, 0.0, 0.0), inertia=np.diag([1e-3, inertia, inertia]))
            builder.joint(name, parent=parent, child=name, type="revolute", axis=(0.0, -1.0, 0.0), xyz=(at, 0.0, 0.0))
        return builder.build()

    def case(self, gains: tuple[float, float] = (0.0, 0.0)) -> Case:
        """The end of the coupler at that of the rocker. Two of the three rows are in the plane; the third is zero."""
        ends = [Placement.from_rpy((length, 0.0, 0.0)) for length in self.lengths]
        contact = Contact("coupler", "point", "rocker", placement=ends[1], gains=gains, anchor=ends[2])
        return Case(self.robot(), (contact,))

    def angles(self, crank: complex, near: tuple[float, float] = (0.6, 1.5)) -> Array:
        """Of the three bars where it is closed, by Newton's method; complex crank angles serve for differences."""
        a, b, c = self.lengths
        found = np.array([crank, *near], complex)
        for _ in range(30):
            _, two, three = found
            x = a * np.cos(crank) + b * np.cos(two) - self.base - c * np.cos(three)
            z = a * np.sin(crank) + b * np.sin(two) - c * np.sin(three)
            slope = np.array([[-b * np.sin(two), c * np.sin(three)], [b * np.cos(two), -c * np.cos(three)]])
            found[1:] -= np.linalg.solve(slope, np.array([x, z]))
        return found

    def rates(self, angles: Array) -> Array:
        """Of the angles by that of the crank."""
        a, b, c = self.lengths
        one, two, three = angles
        slope = np.array([[-b * np.sin(two), c * np.sin(three)], [b * np.cos(two), -c * np.cos(three)]])
        return np.concatenate([[1.0], np.linalg.solve(slope, np.array([a * np.sin(one), -a * np.cos(one)]))])

    def energies(self, crank: complex) -> tuple[complex, complex]:
        """(m, V): the kinetic energy is m / 2 times the square of the crank's rate, V the potential one."""
        a, b, c = self.lengths
        angles = self.angles(crank)
        one, two, three = angles
        rates = self.rates(angles)
        arms = ((0.5 * a, 0.0, 0.0), (a, 0.5 * b, 0.0), (0.0, 0.0, 0.5 * c))
        mass, height = 0.0, 0.0
        for of, inertia, rate, arm in zip(self.masses, self.inertias, rates, arms, strict=True):
            dx = -sum(r * np.sin(angle) * w for r, angle, w in zip(arm, angles, rates, strict=True))
            dz = sum(r * np.cos(angle) * w for r, angle, w in zip(arm, angles, rates, strict=True))
            z = arm[0] * np.sin(one) + arm[1] * np.sin(two) + arm[2] * np.sin(three)
            mass, height = mass + of * (dx * dx + dz * dz) + inertia * rate * rate, height + of * z
        return mass, self.gravity * height

    def acceleration(self, crank: float, rate: float, tau: float) -> float:
        """Of the crank: m a + m' rate² / 2 + V' = tau."""
        step = 1e-20
        m, _ = self.energies(crank)
        dm, dV = (np.imag(x) / step for x in self.energies(crank + 1j * step))
        return float((tau - 0.5 * dm * rate * rate - dV) / np.real(m))

    def state(self, crank: float, rate: float) -> tuple[Array, Array]:
        """(q, v): the coupler's angle is seen from the crank."""
        angles = np.real(self.angles(crank))
        rates = rate * np.real(self.rates(self.angles(crank)))
        return tuple(np.array([x[0], x[1] - x[0], x[2]]) for x in (angles, rates))


@pytest.mark.parametrize("crank", [0.3, 1.1, 2.5, 4.0, 5.7])
def test_a_four_bar_moves_as_its_one_coordinate_says(crank: float) -> None:
    """Its third row is zero in every state: the loop is planar, and nothing of it is to be left out by hand."""
    bar = FourBar()
    q, v = bar.state(crank, 1.7)
    dyn = bar.case().compile()
    assert np.abs(dyn.constraint_errors(q)).max() < 1e-12
    a, _ = dyn.constrained_forward_dynamics(q, v, np.array([0.4, 0.0, 0.0]), np.ones(1))
    assert a[0] == pytest.approx(bar.acceleration(crank, 1.7, 0.4), rel=1e-9, abs=1e-9)


@pytest.mark.slow
def test_a_four_bar_stays_closed_in_a_long_rollout() -> None:
    """10 s at 1 ms, RK4, drawn back by gains; without gains it opens."""
    bar = FourBar()
    q, v = bar.state(0.3, 2.0)
    worst: list[float] = []
    for gains in ((2500.0, 100.0), (0.0, 0.0)):
        dyn = bar.case(gains).compile("cpu", integrator="rk4")
        end = dyn.rollout(q, v, np.zeros((10_000, 3)), 1e-3)
        worst.append(float(np.abs(dyn.constraint_errors(end.q)).max()))
    assert worst[0] < 1e-6 and worst[0] < worst[1]
