"""The controller's model of anymal-kinova: 24 degrees of freedom, forces of the feet as inputs, and the cost of a knot.

The input of a knot is u = (torques of the 18 joints, force of each foot on the robot, in the world's axes). Held over a
step of H seconds is the generalised force

    F(q, u) = S^T torques + sum_feet stand J_foot(q)^T force,

so that a step is that of the robot's own `step` (RK4) under F. Feet that swing have no force. The cost of a knot is a
sum of weighted squares: see `knot`. All numbers are SI; q of the floating base is (position, quaternion xyzw).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import condyle
from experiments.dadu2023.trot import LEGS, Course

Array = NDArray[np.floating]

MODEL = Path(__file__).parents[1] / "robots" / "anymal-kinova.urdf"
FEET = tuple(f"{leg}_FOOT" for leg in LEGS)
TIP = "j2s6s200_end_effector"
H, KNOTS = 0.015, 67
"""Seconds of a step, and steps of the horizon: 1.005 s."""
RADIUS = 0.02
"""Of a foot: a ball about the origin of its frame."""
ARM = np.array([3 / 2, 7 / 6, 1 / 3, 0.0, 2 / 3, 0.0]) * np.pi
LEG = np.array([[-0.1, 0.7, -1.0], [0.1, 0.7, -1.0], [-0.1, -0.7, 1.0], [0.1, -0.7, 1.0]])
"""The posture of example-robot-data's SRDF, standing with the arm up."""
NQ, NV, NJ, NU = 25, 24, 18, 30
"""Entries of q, degrees of freedom, joints, and inputs of a knot."""
W_POSTURE = np.array([400.0] * 3 + [600.0] * 3 + [2.0] * 12 + [1.0] * 6)
W_VELOCITY = np.array([20.0] * 3 + [20.0] * 3 + [0.02] * 12 + [0.05] * 6)
W_INPUT = np.array([5e-4] * 12 + [5e-3] * 6 + [2e-3, 2e-3, 2e-4] * 4)
W_SWING, W_HEIGHT, W_SLIP, W_TIP = 3000.0, 3000.0, 30.0, 600.0


@dataclass(frozen=True)
class Wanted:
    """References of knots: q (n, 25), v (n, 24), u (n, 30), stand (n, 4), feet (n, 12), tip (n, 3)."""

    q: Array
    v: Array
    u: Array
    stand: Array
    feet: Array
    tip: Array


@dataclass(frozen=True)
class Model:
    """Costs of knots to second order (Gauss-Newton), and how the generalised force depends on q and the feet's forces.

    H (n, 49, 49) is by (dq, dv, 1): its last row and column are the gradient. gu (n, 30) and the diagonal Huu (30) are
    by du. cost (n), force (n, 24), by_q (n, 24, 24), by_feet (n, 24, 12).
    """

    H: Array
    gu: Array
    Huu: Array
    cost: Array
    force: Array
    by_q: Array
    by_feet: Array


class Walker:
    """The robot, its posture, and its functions, compiled at their first use."""

    def __init__(self, dtype: str = "float64", threads: int | None = 1) -> None:
        self.robot = condyle.load(MODEL, floating_base=True)
        self.dtype, self.threads = np.dtype(dtype), threads
        self.stance = self.robot.neutral()
        self.stance[7:] = np.concatenate([LEG.ravel(), ARM])
        self.stance[2] += RADIUS - self.points(self.stance)[0][:, 2].mean()
        self.feet, self.tip = self.points(self.stance)
        self.w_state = np.concatenate([W_POSTURE, W_VELOCITY]).astype(self.dtype)
        self.w_input = W_INPUT.astype(self.dtype)
        self.weight = self.robot.mass * float(np.linalg.norm(self.robot.gravity))

    def points(self, q: Array) -> tuple[Array, Array]:
        """Feet (4, 3) and tip (3)."""
        found = self.exact.frame_placements(q).translation
        return found[:4], found[4]

    @cached_property
    def exact(self) -> condyle.Dynamics:
        return self.robot.compile(threads=1, frames=(*FEET, TIP))

    @cached_property
    def dynamics(self) -> condyle.Dynamics:
        return self.robot.compile(dtype=self.dtype.name, threads=self.threads, integrator="rk4")

    @cached_property
    def knot(self) -> Any:
        """The function `knot` below."""
        return self._compiled(knot, STATE | TARGETS | WANTED)

    @cached_property
    def slopes(self) -> Any:
        """Of the function `tasks` below, by q, v and u."""
        return self._compiled(tasks, STATE | TARGETS).jacobian(by=("q", "v", "u"))

    def _compiled(self, f: Any, inputs: Any) -> Any:
        made = self.robot.function(f, inputs, reference_frame="local_world_aligned")
        return made.compile(dtype=self.dtype.name, threads=self.threads)

    def wanted(self, course: Course) -> Wanted:
        """References from a course: the weight is shared by the feet that stand, torques carry it at the stance."""
        n = len(course.base)
        q, v, u = np.tile(self.stance, (n, 1)), np.zeros((n, NV)), np.zeros((n, NU))
        q[:, :3] = course.base
        v[:, :3] = course.velocity
        share = course.stand / np.maximum(course.stand.sum(axis=1, keepdims=True), 1.0)
        u[:, NJ + 2 :: 3] = self.weight * share
        jacobians = self.standing_jacobians
        u[:, :NJ] = self.gravity[6:] - np.einsum("fcj,nfc->nj", jacobians, u[:, NJ:].reshape(n, 4, 3))[:, 6:]
        every = q, v, u, course.stand, course.feet.reshape(n, 12), course.tip
        return Wanted(*(np.ascontiguousarray(x, self.dtype) for x in every))

    @cached_property
    def standing_jacobians(self) -> Array:
        world = self.robot.compile(threads=1, frames=FEET, reference_frame="local_world_aligned")
        return world.frame_jacobians(self.stance)[:, :3]

    @cached_property
    def gravity(self) -> Array:
        return self.exact.generalized_gravity(self.stance)

    def model(self, q: Array, v: Array, u: Array, wanted: Wanted) -> Model:
        """The cost of each knot to second order, and F."""
        targets = q, v, u, wanted.stand, wanted.feet, wanted.tip
        at, by = self.knot(*targets, wanted.q, wanted.v, wanted.u), self.slopes(*targets)
        rows = np.concatenate([by.dtask_dq, by.dtask_dv, at.task[..., None]], axis=2)
        H = rows.swapaxes(1, 2) @ rows
        gradient = self.w_state * np.concatenate([at.bend, v - wanted.v], axis=1)
        np.einsum("nii->ni", H)[:, :-1] += self.w_state
        H[:, -1, :-1] += gradient
        H[:, :-1, -1] += gradient
        gu = self.w_input * (u - wanted.u)
        return Model(H, gu, self.w_input, at.cost, at.force, by.dforce_dq, by.dforce_du[:, :, NJ:])

    def costs(self, q: Array, v: Array, u: Array, wanted: Wanted) -> tuple[Array, Array]:
        """F (..., 24) and the cost (...) of each knot."""
        at = self.knot(q, v, u, wanted.stand, wanted.feet, wanted.tip, wanted.q, wanted.v, wanted.u)
        return at.force, at.cost


STATE = {"q": "nq", "v": "nv", "u": NU}
TARGETS = {"stand": 4, "feet": 12, "tip": 3}
WANTED = {"q_wanted": "nq", "v_wanted": "nv", "u_wanted": NU}


def tasks(at: Any, u: Any, stand: Any, feet: Any, tip: Any) -> dict[str, Any]:
    """force: F; task: velocity and height of a foot that stands, position of one that swings, and the tip's.

    Each entry of task is a miss times the root of its weight.
    """
    force: Any = np.concatenate([np.zeros(NV - NJ), u[:NJ]])
    found: list[Any] = []
    for i, name in enumerate(FEET):
        foot = at.frame(name)
        J, c = foot.jacobian[:3], stand[i]
        force = force + c * (J * u[NJ + 3 * i : NJ + 3 * i + 3, None]).sum(axis=0)
        miss = foot.translation - feet[3 * i : 3 * i + 3]
        found += [np.sqrt(W_SWING) * (1.0 - c) * miss[:2], np.sqrt(W_HEIGHT) * miss[2:]]
        found += [np.sqrt(W_SLIP) * c * (J * at.v[None, :]).sum(axis=1)]
    found += [np.sqrt(W_TIP) * (at.frame(TIP).translation - tip)]
    return {"force": force, "task": np.concatenate(found)}


def knot(
    at: Any, u: Any, stand: Any, feet: Any, tip: Any, q_wanted: Any, v_wanted: Any, u_wanted: Any
) -> dict[str, Any]:
    """`tasks`; bend: q less q_wanted in the tangent space; and the cost, half the sum of all weighted squares."""
    found = tasks(at, u, stand, feet, tip)
    bend = at.difference(q_wanted, at.q)
    cost = (found["task"] ** 2).sum() + (W_POSTURE * bend**2).sum()
    cost = cost + (W_VELOCITY * (at.v - v_wanted) ** 2).sum() + (W_INPUT * (u - u_wanted) ** 2).sum()
    return found | {"bend": bend, "cost": 0.5 * cost}
