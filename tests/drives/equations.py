"""What joint forces and actuators do, with matrices and the functions of a robot without them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from condyle import Robot
from condyle.errors import ModelWarning
from condyle.model.parts import RobotData
from tests.readers.drive_forces import actuator_forces, arms, spring_forces

Reals = NDArray[np.float64]
Stops = tuple[float, float, float]
STEP = 1e-5  # of differences


@contextmanager
def quiet() -> Iterator[None]:
    """Without warnings of models: plain functions apply no drives, the equations here do."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        yield


class Equations:
    """Methods of `Dynamics` with joint forces and actuators, for one state; q is a plain vector.

    An actuator's damping is 0 where its force is clipped, and that of a joint's actuators where effort clips them.
    """

    def __init__(self, robot: Robot, friction_velocity: float = 0.0, stops: Stops | None = None) -> None:
        """Damping and springs; friction where it has a velocity, and limits with stops."""
        self.robot, self.friction_velocity, self.stops = robot, friction_velocity, stops
        with quiet():
            self.dyn = robot.compile(target="cpu")

    def joint_forces(self, q: Reals, v: Reals) -> Reals:
        bare = spring_forces(self.robot, q) - self.robot.damping * v
        return bare - self.secant(v) * v - self.stop(q, v)[0]

    def secant(self, v: Reals) -> Reals:
        """f / sqrt(v^2 + w^2): dry friction over -v."""
        w = self.friction_velocity
        return self.robot.friction / np.sqrt(v * v + w * w) if w else np.zeros_like(v)

    def stop(self, q: Reals, v: Reals) -> tuple[Reals, Reals]:
        """The force s_k ramp(e) against what is beyond a limit in s_t seconds, and its derivative by v."""
        if self.stops is None:
            return np.zeros_like(v), np.zeros_like(v)
        stiffness, ahead, blend = self.stops
        then = q + ahead * v
        e = then - np.clip(then, self.robot.lower, self.robot.upper)
        is_near = np.abs(e) < 2.0 * blend
        ramp = np.where(is_near, e * np.abs(e) / (4.0 * blend), e - blend * np.sign(e))
        slope = np.where(is_near, np.abs(e) / (2.0 * blend), 1.0)
        return stiffness * ramp, stiffness * ahead * slope

    def actuator_forces(self, q: Reals, v: Reals, u: Reals) -> Reals:
        return np.clip(actuator_forces(self.robot, q, v, u), -self.robot.effort, self.robot.effort)

    def damping(self, q: Reals, v: Reals, u: Reals) -> Reals:
        """D (nv, nv) = - d (joint and actuator forces) / d v, but the secant of dry friction."""
        D = actuator_damping(self.robot, q, v, u)
        free = np.abs(actuator_forces(self.robot, q, v, u)) < self.robot.effort
        return np.diag(self.robot.damping + self.secant(v) + self.stop(q, v)[1]) + np.where(
            np.outer(free, free), D, 0.0
        )

    def forward_dynamics(self, q: Reals, v: Reals, u: Reals) -> Reals:
        return self.dyn.forward_dynamics(q, v, self.actuator_forces(q, v, u) + self.joint_forces(q, v))

    def inverse_dynamics(self, q: Reals, v: Reals, a: Reals) -> Reals:
        return self.dyn.inverse_dynamics(q, v, a) - self.joint_forces(q, v)

    def step(self, q: Reals, v: Reals, u: Reals, h: float, D: Reals | None = None) -> tuple[Reals, Reals]:
        """(q', v'): (M + h D) a = forces - c at (q, v), v' = v + h a, q' = q + h v'. D: zeros for the explicit step."""
        D = self.damping(q, v, u) if D is None else D
        M = self.dyn.mass_matrix(q)
        v = v + h * np.linalg.solve(M + h * D, M @ self.forward_dynamics(q, v, u))
        return q + h * v, v


def actuator_damping(robot: RobotData, q: Reals, v: Reals, u: Reals) -> Reals:
    """(nv, nv): of the actuators whose force is not clipped."""
    D = np.zeros((robot.nv, robot.nv))
    for row, actuator, control in zip(arms(robot), robot.actuators, u, strict=True):
        held = actuator.gain * np.clip(control, *actuator.control)
        b0, b1, slope = actuator.bias or (0.0, 0.0, 0.0)
        if actuator.kind == "damper":
            held, slope = 0.0, -held
        low, high = actuator.force
        if low < held + b0 + b1 * (row @ q) + slope * (row @ v) < high:
            D -= slope * np.outer(row, row)
    return D


def relative(answer: Any, wanted: Any) -> float:
    return float(np.abs(np.asarray(answer) - wanted).max() / max(np.abs(wanted).max(), 1e-300))


def differences(f: Callable[[Reals], Reals], x: Reals) -> Reals:
    """(outputs, inputs), of fourth order."""
    steps = STEP * np.eye(len(x))
    near, far = (np.array([f(x + k * dx) - f(x - k * dx) for dx in steps]).T for k in (1.0, 2.0))
    return (8.0 * near - far) / (12.0 * STEP)
