"""Robots with contacts for tests: random trees with contacts of all kinds, and states for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

import condyle
from condyle import Contact, Dynamics, Robot
from condyle.model.placement import Placement

Array = np.ndarray
JOINTS = (
    "revolute",
    "continuous",
    "prismatic",
    "helical",
    "cylindrical",
    "planar",
    "spherical",
    "universal",
    "translation",
    "free",
)
CONTACT_KINDS = ("point", "line", "plane")
"""What random trees have. Their seeds are chosen, so a type or a kind that is added does not change them."""
STEP = 1e-6


class State(NamedTuple):
    """n states: what functions of contacts take, one row each."""

    q: Array
    v: Array
    tau: Array
    active: Array
    f_ext: Array


@dataclass(frozen=True)
class Case:
    """A robot and its contacts."""

    robot: Robot
    contacts: tuple[Contact, ...]

    def compile(self, target: str = "numpy", **options: Any) -> Dynamics:
        return self.robot.compile(target=target, contacts=self.contacts, **options)

    def state(self, n: int = 4, seed: int = 0) -> State:
        """Random flags: all on in the first state, all off in the last."""
        rng = np.random.default_rng(seed)
        q, v = self.robot.random_state(n, rng)
        active = rng.integers(0, 2, (n, len(self.contacts))).astype(float)
        active[0], active[-1] = 1.0, 0.0
        return State(q, v, rng.normal(size=v.shape), active, rng.normal(size=(n, len(self.robot.bodies), 6)))

    @property
    def held(self) -> Array:
        """(C, 6): which entries of [force; torque] contacts of this kind have."""
        return np.array([[row in one.rows for row in range(6)] for one in self.contacts])

    def rows(self, force: Array) -> Array:
        """(..., C, 6) -> (..., R), the entries that are held."""
        return force[..., self.held]

    def on(self, active: Array) -> Array:
        """(..., C) -> (..., R) of truth values."""
        return np.repeat(active != 0.0, self.held.sum(axis=1), axis=-1)


def tree(seed: int, joints: int = 5, contacts: int = 2, gains: bool = True) -> Case:
    """A random tree: every second one floats, every second contact ties two bodies, kinds, places and gains random."""
    rng = np.random.default_rng(seed)
    robot = condyle.random_tree(joints, rng=seed, types=JOINTS, floating_base=seed % 2 == 1)
    frames = [name for name, frame in robot.frames.items() if frame.body >= 0]
    made: list[Contact] = []
    for k in range(contacts):
        own, other = (frames[i] for i in rng.choice(len(frames), 2, replace=False))
        pair = (
            (float(rng.uniform(10.0, 100.0)), float(rng.uniform(1.0, 20.0)))
            if gains and rng.integers(2)
            else (0.0, 0.0)
        )
        kind = CONTACT_KINDS[int(rng.integers(3))]
        made.append(Contact(own, kind, other if k % 2 else None, _placement(rng), pair, _placement(rng)))
    return Case(robot, tuple(made))


def _placement(rng: np.random.Generator) -> Placement:
    return Placement.from_rpy(rng.uniform(-0.5, 0.5, 3), rng.uniform(-1.0, 1.0, 3))


LEGS = tuple(f"{leg}_lowerleg" for leg in ("lf", "rf", "lh", "rh"))


@cache
def hyq(kind: str = "point", legs: int = 4) -> Case:
    """HyQ, floating, on its feet."""
    foot = Placement.from_rpy((0.33, 0.0, 0.0))
    return Case(
        condyle.load("hyq", floating_base=True), tuple(Contact(name, kind, placement=foot) for name in LEGS[:legs])
    )


@cache
def arm() -> Case:
    """An arm whose hand is held whole."""
    return Case(condyle.load("iiwa14"), (Contact("iiwa_link_7", "plane"),))


class Law(NamedTuple):
    """What a state of constrained motion is judged by, all of it computed by other functions."""

    a: Array
    force: Array
    free: Array
    M: Array
    J: Array
    """rows of what is off are zero"""
    gamma: Array
    """J a + gamma, rows of what is off zero"""


def law(case: Case, dyn: Dynamics, at: State, f_ext: bool = False) -> Law:
    forces = {"f_ext": at.f_ext} if f_ext else {}
    a, force = dyn.constrained_forward_dynamics(at.q, at.v, at.tau, at.active, **forces)
    on = case.on(at.active)
    J = dyn.constraint_jacobian(at.q) * on[..., None]
    _, left = dyn.call("cres", [at.q, at.v, a, force])
    free = dyn.forward_dynamics(at.q, at.v, at.tau, **forces)
    return Law(a, force, free, dyn.mass_matrix(at.q), J, left * on)


def null_space(J: Array) -> Array:
    """Columns that J takes to zero."""
    _, sizes, rows = np.linalg.svd(J)
    rank = int(np.sum(sizes > 1e-10 * max(1.0, sizes.max(initial=0.0))))
    return rows[rank:].T


def is_independent(J: Array, on: Array, M: Array) -> bool:
    """Whether the active rows are: the eigenvalues of J M^-1 Jᵀ, with units on its diagonal, from 1e-3 on."""
    rows = J[on]
    G = rows @ np.linalg.solve(M, rows.T)
    if np.any(np.diag(G) < 1e-12):
        return False
    units = 1.0 / np.sqrt(np.diag(G))
    return bool(np.linalg.eigvalsh(units[:, None] * G * units).min(initial=1.0) > 1e-3)


def settled(case: Case, dyn: Dynamics, at: State) -> State:
    """With velocities that contacts allow: the nearest ones, J v = 0."""
    J = dyn.constraint_jacobian(at.q) * case.on(at.active)[..., None]
    return at._replace(v=at.v - np.einsum("nij,njk,nk->ni", np.linalg.pinv(J), J, at.v))


def moved(robot: Robot, given: Sequence[Array], along: Sequence[Array], h: float) -> list[Array]:
    """Inputs, q first, moved by h times a tangent."""
    q, *others = given
    return [robot.integrate(q, h * along[0]), *(x + h * dx for x, dx in zip(others, along[1:], strict=True))]


def slopes(robot: Robot, f: Callable[..., Any], given: Sequence[Array], along: Sequence[Array]) -> list[Array]:
    """Of plain answers along a tangent, by central differences of fourth order."""

    def answers(h: float) -> list[Array]:
        found = f(*moved(robot, given, along, h))
        return list(found) if isinstance(found, tuple) else [found]

    h = 100 * STEP
    near, far = ([answers(k * h), answers(-k * h)] for k in (1.0, 2.0))
    parts = zip(*near, *far, strict=True)
    return [(8.0 * (a - b) - (c - d)) / (12.0 * h) for a, b, c, d in parts]


def apart(found: Any, expected: Any) -> float:
    """The largest difference, relative to the largest entry of each answer, or to one."""
    pairs = zip(parts(found), parts(expected), strict=True)
    return max(
        (float(np.max(np.abs(x - y)) / max(1.0, np.max(np.abs(y)))) for x, y in pairs if np.size(x)), default=0.0
    )


def parts(answer: Any) -> list[Array]:
    return list(answer) if isinstance(answer, list | tuple) else [answer]


def drawn(arrays: Sequence[Array], widths: int, seed: int) -> list[Array]:
    """A tangent of inputs, q first: normal numbers, (n, nv) for q."""
    rng = np.random.default_rng(seed)
    q, *others = arrays
    return [rng.normal(size=(len(q), widths)), *(rng.normal(size=x.shape) for x in others)]
