"""The motion of closed loops: that of reduced coordinates, and ten seconds of it."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import condyle
from condyle import Dynamics, Robot
from tests.accuracies import FEW_ROUNDINGS
from tests.contacts.linkages import COUPLER, CRANKS, ROCKER, angles, at, four_bar, slopes
from tests.model.kinematics import frames_at


def test_a_four_bar_moves_as_in_its_one_coordinate() -> None:
    """M = g^T M g and the force g^T (tau - c - M g' w^2) with g = dq/dcrank of plane geometry."""
    robot = four_bar()
    dyn, rng = robot.compile("numpy"), np.random.default_rng(0)
    q, (g, bend) = angles(CRANKS), slopes(CRANKS)
    speed, tau = rng.uniform(-3.0, 3.0, (7, 1)), rng.uniform(-1.0, 1.0, (7, 3))
    v = g * speed
    M = dyn.mass_matrix(q)
    push = tau - dyn.nonlinear_effects(q, v) - (M @ (bend * speed**2)[..., None])[..., 0]
    crank = np.sum(g * push, axis=1) / np.einsum("ni,nij,nj->n", g, M, g)
    got = dyn.constrained_forward_dynamics(q, v, tau, [1.0]).a
    assert got == pytest.approx(g * crank[:, None] + bend * speed**2, abs=1e-6)  # of the differences


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_a_four_bar_stays_closed_for_ten_seconds(target: str) -> None:
    """1 ms steps of rk4, swinging at up to 20 rad/s: closed to 1e-6 m, and the energy is kept."""
    robot = four_bar((100.0, 20.0))
    dyn = robot.compile(target, integrator="rk4")
    q = angles(np.array(1.0))
    steps = 10_000 if target == "cpu" else 300
    path = dyn.rollout(q, np.zeros(3), np.zeros((steps, 3)), 1e-3, every=steps // 100)
    assert np.linalg.norm(dyn.constraint_errors(path.q), axis=-1).max() < 1e-8
    energy = dyn.kinetic_energy(path.q, path.v) + dyn.potential_energy(path.q)
    assert np.ptp(np.append(energy, dyn.potential_energy(q))) < 1e-6 * dyn.kinetic_energy(path.q, path.v).max()


def opened(kp: float, kd: float) -> float:
    """How far a four-bar opens in 1 s by default steps of h = 1 ms; the gains times h² and h."""
    robot, h = four_bar((kp / 1e-6, kd / 1e-3)), 1e-3
    dyn = robot.compile()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", condyle.AccuracyWarning)
        path = dyn.rollout(angles(np.array(1.0)), np.zeros(3), np.zeros((1000, 3)), h, every=10)
    return float(np.nan_to_num(np.abs(dyn.constraint_errors(path.q)), nan=np.inf).max())  # NaN where it was torn


def test_gains_for_the_default_integrator() -> None:
    """Open by (h/2) (kd/kp) |J' v|, stable where kp h² < 4 - 2 kd h, as docs/how-to/loops.md says."""
    far = opened(1.0, 1.0)
    assert opened(2.0, 0.5) == pytest.approx(far / 4, rel=0.1)
    assert opened(1.0, 0.5) == pytest.approx(far / 2, rel=0.1)
    for kd, most in ((0.5, 3.0), (1.7, 0.6)):
        assert opened(most - 0.1, kd) < 1e-3 < 0.1 < opened(most + 0.1, kd)


def test_kernels_of_steps_know_their_contacts() -> None:
    """Other gains, another kernel, in one cache."""
    robot = four_bar()
    q, v = np.array([0.3, 0.2, 0.1]), np.ones(3)
    for gains in ((0.0, 0.0), (1e4, 0.0), (0.0, 100.0)):
        contacts = [replace(robot.contacts[0], gains=gains)]
        exact, made = (robot.compile(target, contacts=contacts).step(q, v, v, 1e-2) for target in ("numpy", "cpu"))
        assert made.v == pytest.approx(exact.v, rel=1e-9)


def test_lengths_are_what_closes() -> None:
    """The example's words: coupler and rocker meet at their ends."""
    frames = frames_at(four_bar(), angles(np.array(0.7)))
    assert frames["coupler"].apply(np.array([COUPLER, 0, 0])) == pytest.approx(
        frames["rocker"].apply(np.array([ROCKER, 0, 0])), abs=FEW_ROUNDINGS
    )


# a body that floats with a leg as Cassie's: the rod to the heel turns in a ball joint, off the plane of the leg
FLOATING = """<mujoco><option gravity="0 0 0"/><worldbody>
  <body name="pelvis" pos="0 0 1"><freejoint name="root"/><geom type="box" size=".1 .1 .1"/>
    <body name="thigh" pos="0 .1 0"><joint name="hip" axis="1 0 0"/>
      <geom type="capsule" size=".03" fromto="0 0 0 .2 0 -.25"/>
      <body name="rod" pos="-.02 .04 -.02"><joint name="rod" type="ball"/>
        <geom type="capsule" size=".01" fromto="0 0 0 -.13 -.03 -.45"/></body>
      <body name="shin" pos=".2 0 -.25"><joint name="knee" axis="0 -1 0"/>
        <geom type="capsule" size=".02" fromto="0 0 0 -.28 0 -.27"/>
        <body name="tarsus" pos="-.28 0 -.27"><joint name="ankle" axis="0 -1 0"/>
          <geom type="capsule" size=".02" fromto="-.07 .01 .05 .21 0 -.33"/></body></body></body></body>
</worldbody><equality><connect body1="rod" body2="tarsus" anchor="-.13 -.03 -.45"/></equality></mujoco>"""


def test_a_floating_leg_keeps_its_loop_its_momentum_and_its_energy(tmp_path: Path) -> None:
    """Ten seconds, from random velocities that fit; forces of a loop are inner ones."""
    pytest.importorskip("mujoco")
    (tmp_path / "leg.xml").write_text(FLOATING)
    robot = condyle.load(tmp_path / "leg.xml")
    held = [replace(one, gains=(100.0, 20.0)) for one in robot.contacts]
    dyn = robot.compile(contacts=held, integrator="rk4")
    q = robot.close(robot.integrate(robot.neutral(), 0.05 * np.ones(robot.nv)))
    v = robot.close_velocity(q, np.random.default_rng(1).uniform(-0.5, 0.5, robot.nv))
    path = dyn.rollout(q, v, np.zeros((10_000, robot.nv)), 1e-3, every=100)
    assert np.ptp(path.q[:, 3:], axis=0).min() > 0.02  # all of it moves
    assert np.linalg.norm(dyn.constraint_errors(path.q), axis=-1).max() < 1e-8
    assert dyn.kinetic_energy(path.q, path.v) == pytest.approx(float(dyn.kinetic_energy(q, v)), rel=1e-7)
    momentum = dyn.centroidal_momentum(q, v)
    assert np.abs(dyn.centroidal_momentum(path.q, path.v) - momentum).max() < 1e-8 * np.abs(momentum).max()


def change_point(gains: tuple[float, float]) -> tuple[Robot, Dynamics]:
    """A four-bar whose links can all lie in one line: 0.2 + 0.55 = 0.5 + 0.25. J loses rank there."""
    builder = condyle.Builder("change_point")
    for name, length in (("crank", 0.2), ("coupler", 0.55), ("rocker", 0.25)):
        moments = np.diag((1e-4, length**3 / 6.0, length**3 / 6.0))
        builder.body(name, mass=2.0 * length, com=(0.5 * length, 0.0, 0.0), inertia=moments)
    hinges = (("a", "world", "crank", 0.0), ("b", "crank", "coupler", 0.2), ("c", "world", "rocker", 0.5))
    for name, parent, child, x in hinges:
        builder.joint(name, parent=parent, child=child, type="revolute", axis=(0, -1, 0), xyz=(x, 0.0, 0.0))
    robot = builder.contact("coupler", other="rocker", placement=at(0.55), anchor=at(0.25), gains=gains).build()
    return robot, robot.compile(integrator="rk4")


def test_a_change_point_is_passed_with_stiff_gains() -> None:
    """Ten seconds; the links lie in one line about forty times."""
    robot, dyn = change_point((1000.0, 63.0))
    q = robot.close([1.0, -0.5, 1.2], fixed=["a"])
    v = robot.close_velocity(q, [1.0, 0.0, 0.0], fixed=["a"])
    path = dyn.rollout(q, v, np.zeros((10_000, 3)), 1e-3, every=10)
    assert np.abs(dyn.constraint_errors(path.q)).max() < 1e-4
    energy = dyn.kinetic_energy(path.q, path.v) + dyn.potential_energy(path.q)
    assert energy == pytest.approx(np.full(1000, dyn.kinetic_energy(q, v) + dyn.potential_energy(q)), rel=0.02)


@pytest.mark.parametrize("option", [{}, {"every": 10}, {"last": True}])
def test_a_torn_loop_is_told(option: dict[str, Any]) -> None:
    """kd dt = 20 is beyond what RK4 follows; the loop of the other state is open."""
    robot, dyn = change_point((0.0, 1e4))
    q = robot.close([1.0, -0.5, 1.2], fixed=["a"])
    given = np.tile(q, (2, 1)), np.tile([1.0, 0.0, 0.0], (2, 1)), np.zeros((2, 500, 3)), 2e-3
    with pytest.warns(condyle.AccuracyWarning, match="states 0 pass 100 rad or m in one step; they are NaN from there"):
        path = dyn.rollout(*given, active=[[1.0], [0.0]], **option)
    fine = np.isfinite(path.v).all(axis=-1)
    assert fine[1].all() and not np.atleast_1d(fine[0])[-1]
    assert np.abs(path.v[fine]).max() * 2e-3 <= 100.0
    assert np.array_equal(np.isfinite(path.q), np.isfinite(path.v))
