"""Contacts and closed loops of robots with joint forces and actuators, beside NumPy: M + h D in the matrix of both."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import condyle
from condyle import Contact, Dynamics, Robot
from tests.contacts.linkages import angles, four_bar
from tests.driven import driven
from tests.drives.equations import Equations, quiet, relative

Array = np.ndarray
H, W = 0.01, 0.1
"""The step [s], and the velocity of dry friction [rad/s]."""
FLAGS = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
DIFFERENCES = 1e-6
"""What central differences with steps of 1e-6 see of derivatives of size 1."""
CASES = [(actuators, implicit) for actuators in (False, True) for implicit in (True, False)]


@cache
def robot(actuators: bool) -> Robot:
    made = driven(condyle.chain(6, rng=2))
    return made if actuators else made.with_actuators(())


def contacts(one: Robot) -> tuple[Contact, ...]:
    """Points on two links that move by other joints."""
    frames = {frame.body: name for name, frame in one.frames.items()}
    return tuple(Contact(frames[body]) for body in (len(one.bodies) - 1, len(one.bodies) - 2))


def options(actuators: bool, implicit: bool = True) -> dict[str, Any]:
    laws = ("damping", "friction", "springs")
    return {"joint_forces": laws, "actuators": actuators, "implicit": implicit, "friction_velocity": W}


@cache
def compiled(target: str, actuators: bool, implicit: bool, *inputs: str) -> Dynamics:
    one = robot(actuators)
    return one.compile(target, contacts=contacts(one), inputs=inputs, **options(actuators, implicit))


def state(actuators: bool) -> tuple[Array, Array, Array]:
    one = robot(actuators)
    drawn = one.random_state(3, 2)
    n = len(one.actuators) if actuators else one.nv
    return drawn.q, 0.5 * drawn.v, np.random.default_rng(1).uniform(-1.0, 1.0, (3, n))


def matrices(actuators: bool, implicit: bool) -> list[tuple[Array, Array]]:
    """M + h D, and all forces - c, of each state."""
    equations, found = Equations(robot(actuators), W), []
    for q, v, push in zip(*state(actuators), strict=True):
        force = equations.joint_forces(q, v) + (equations.actuator_forces(q, v, push) if actuators else push)
        D = equations.damping(q, v, push if actuators else push[:0]) if implicit else 0.0
        dyn = equations.dyn
        found.append((dyn.mass_matrix(q) + H * D, force - dyn.nonlinear_effects(q, v)))
    return found


@pytest.mark.parametrize("target", ["numpy", "cpu"])
@pytest.mark.parametrize(("actuators", "implicit"), CASES)
def test_the_forces_of_contacts_are_those_of_the_damped_matrix(actuators: bool, implicit: bool, target: str) -> None:
    """v' = v + h a of a step, with [M + h D, -J^T; J, 0] [a; f] = [forces - c; -gamma] in the rows that are on."""
    dyn, (q, v, push) = compiled(target, actuators, implicit), state(actuators)
    after = dyn.step(q, v, push, H, active=FLAGS)
    a, _ = dyn.constrained_forward_dynamics(q, v, push, FLAGS)
    J = dyn.constraint_jacobian(q)
    n = robot(actuators).nv
    for k, (mass, force) in enumerate(matrices(actuators, implicit)):
        on = J[k][np.repeat(FLAGS[k], 3) > 0]
        system = np.block([[mass, -on.T], [on, np.zeros((len(on), len(on)))]])
        rows = np.concatenate([force, on @ a[k]])  # cfd holds the same rows at the same state: J a = -gamma
        assert relative(after.v[k], v[k] + H * np.linalg.solve(system, rows)[:n]) < 1e-9


@pytest.mark.parametrize("actuators", [False, True])
def test_accelerations_and_forces_are_those_of_a_robot_that_all_pushes(actuators: bool) -> None:
    dyn, (q, v, push) = compiled("numpy", actuators, True), state(actuators)
    with quiet():
        plain = robot(actuators).compile("numpy", contacts=contacts(robot(actuators)))
    tau = dyn.joint_forces(q, v) + (dyn.actuator_forces(q, v, push) if actuators else push)
    found, wanted = (f(q, v, x, FLAGS) for f, x in (
        (dyn.constrained_forward_dynamics, push), (plain.constrained_forward_dynamics, tau)))  # fmt: skip
    for answer, expected in zip(found, wanted, strict=True):
        np.testing.assert_allclose(answer, expected, 1e-10, 1e-10)
    answer, expected = (f(q, v, found.a, FLAGS) for f in (
        dyn.constrained_inverse_dynamics, plain.constrained_inverse_dynamics))  # fmt: skip
    np.testing.assert_allclose(answer.tau, expected.tau - dyn.joint_forces(q, v), 1e-10, 1e-10)


def differences(f: Callable[[Array], Array], x: Array) -> Array:
    """(..., outputs, inputs), central."""
    columns = [(f(x + dx) - f(x - dx)) / 2e-6 for dx in 1e-6 * np.eye(x.shape[-1])]
    return np.stack(columns, -1)


def hold_slopes(dyn: Dynamics, q: Array, v: Array, push: Array, flags: Array, allowed: float) -> None:
    """dcfd, and dstep with contacts, against differences."""
    slopes = dyn.constrained_forward_dynamics_derivatives(q, v, push, flags)
    for k in (0, 1):
        of: tuple[Callable[[Array], Array], ...] = (
            lambda x, k=k: dyn.constrained_forward_dynamics(x, v, push, flags)[k],
            lambda x, k=k: dyn.constrained_forward_dynamics(q, x, push, flags)[k],
            lambda x, k=k: dyn.constrained_forward_dynamics(q, v, x, flags)[k],
        )
        for found, f, x in zip(slopes[3 * k : 3 * k + 3], of, (q, v, push), strict=True):
            assert relative(found, differences(f, x)) < allowed
    A, B = dyn.step_derivatives(q, v, push, H, active=flags)
    by_q, by_v, by_push = (
        differences(lambda x: np.concatenate(dyn.step(x, v, push, H, active=flags), -1), q),
        differences(lambda x: np.concatenate(dyn.step(q, x, push, H, active=flags), -1), v),
        differences(lambda x: np.concatenate(dyn.step(q, v, x, H, active=flags), -1), push),
    )
    assert relative(A, np.concatenate([by_q, by_v], -1)) < allowed
    assert relative(B, by_push) < allowed


@pytest.mark.parametrize(("actuators", "implicit"), CASES)
def test_derivatives_with_contacts(actuators: bool, implicit: bool) -> None:
    hold_slopes(compiled("numpy", actuators, implicit), *state(actuators), FLAGS, DIFFERENCES)


@pytest.mark.parametrize("implicit", [True, False])
def test_derivatives_of_a_loop_whose_rows_depend_on_each_other(implicit: bool) -> None:
    """A linkage in a plane, closed by a point: one of its rows holds nothing."""
    one = driven(four_bar((0.0, 20.0)))
    dyn = one.compile("numpy", **options(True, implicit))
    q = np.stack([angles(x) for x in (0.7, 1.4)])
    v, u = np.array([[0.3, -0.2, 0.4], [0.1, 0.2, -0.3]]), np.array([[0.4, 0.5, -0.2], [-0.3, 0.8, 0.1]])
    hold_slopes(dyn, q, v, u, np.ones((2, 1)), 1e-4)  # the filter of dependent rows is steep
    fast = one.compile("cpu", **options(True, implicit))
    for answer, expected in zip(
        fast.step_derivatives(q, v, u, H, active=np.ones((2, 1))),
        dyn.step_derivatives(q, v, u, H, active=np.ones((2, 1))),
        strict=True,
    ):
        assert relative(answer, expected) < 1e-7


@pytest.mark.parametrize("target", ["numpy", "cpu"])
@pytest.mark.parametrize(("actuators", "implicit"), CASES)
def test_impulses_of_contacts_act_on_the_damped_matrix(actuators: bool, implicit: bool, target: str) -> None:
    """(M + h D) (v' - v) = h (forces - c) + J^T p of `contact_solve`, whatever p is."""
    dyn, (q, v, push) = compiled(target, actuators, implicit, "gaps"), state(actuators)
    solved = dyn.contact_solve(q, v, push, FLAGS, H, np.full((3, 2), 0.5), gaps=np.zeros((3, 2)))
    free = dyn.contact_solve(q, v, push, 0.0 * FLAGS, H, np.full((3, 2), 0.5), gaps=np.zeros((3, 2)))
    assert np.abs(solved.impulse).max() > 1e-3
    J = world_jacobian(actuators, q)
    for k, (mass, force) in enumerate(matrices(actuators, implicit)):
        gained = H * force + J[k].T @ solved.impulse[k].reshape(-1)
        assert relative(mass @ (solved.v[k] - v[k]), gained) < 1e-9
        assert relative(mass @ (free.v[k] - v[k]), H * force) < 1e-9


def world_jacobian(actuators: bool, q: Array) -> Array:
    """Of both contact points, in the axes of the world."""
    one = robot(actuators)
    names = tuple(contact.frame for contact in contacts(one))
    with quiet():
        J = one.compile("numpy", frames=names, reference_frame="local_world_aligned").frame_jacobians(q)
    return J[:, :, :3].reshape(len(q), -1, one.nv)


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_a_rollout_lands_with_drives(target: str) -> None:
    """Flags by time: what begins to hold is an impact of the plain matrix, then steps are those of flags that hold."""
    dyn, (q, v, u) = compiled(target, True, True), state(True)
    flags = np.stack([0.0 * FLAGS, FLAGS, FLAGS], 1)
    path = dyn.rollout(q, v, np.repeat(u[:, None], 3, 1), H, active=flags, by_time=("active",))
    q, v = dyn.step(q, v, u, H, active=0.0 * FLAGS)
    v = dyn.impulse_dynamics(q, v, FLAGS, np.zeros_like(FLAGS)).v
    for _ in range(2):
        q, v = dyn.step(q, v, u, H, active=FLAGS)
    assert relative(path.q[:, -1], q) < 1e-10 and relative(path.v[:, -1], v) < 1e-9
