"""Closed loops whose digits are cut off: nothing locks, and forces do not grow beyond what the mechanism needs.

A mechanism has hinges with parallel axes, sliders across them, and one closure, and stands anywhere in space. How many
directions its closure holds is known from its J. Then every placement is turned a little, at most 1e-4 rad together.
The right answer for this one is that of its J with as many singular values as before.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

import condyle
from condyle import Dynamics, Robot
from condyle.algorithms.contacts import scales
from condyle.compile.options import bound_of
from condyle.model.placement import Placement, about
from condyle.model.tree import tree_of

WHAT = "loops with cut digits move as they should, by every route and function, and are not taken for locked"
SMALLEST_TILT, LARGEST_TILT = 1e-13, 1e-4
CLEAR = 0.03
"""Of the largest singular value: nearer to a dead point the next digit decides how a mechanism goes on."""
RIGHT, TIMES_FORCE = 1e-2, 50.0
DERIVATIVES, SLOPES = 0.2, 1e-5
"""How often the matrices of derivatives are compared with a jvp, which is computed in another way, and how near."""
CONTACT_KINDS = ("point", "line", "plane")
Z = np.array([0.0, 0.0, 1.0])
ALONG_X = about(np.array([0.0, 1.0, 0.0]), -0.5 * np.pi)
"""A contact's x axis along the hinges: a line then closes a loop as a hinge does."""
Array = np.ndarray


class Whitened(NamedTuple):
    """M = L Lᵀ and U S V = units J L^-T at one q: what a closure holds, in the norm of the kinetic energy."""

    L: Array
    units: Array
    U: Array
    S: Array
    V: Array


class Sketch:
    """Draws a linkage; tilt: what all of its placements are turned by, together. Equal but for that for equal rng."""

    def __init__(self, rng: np.random.Generator, tilt: float) -> None:
        self.rng, self.tilts = rng, np.random.default_rng(int(rng.integers(2**31)))
        self.tilt = tilt / 3.0
        self.length, self.mass = 10.0 ** rng.uniform(-2.5, 1.0), 10.0 ** rng.uniform(-3.0, 3.0)
        gravity = rng.normal(size=3) * 9.8
        self.builder = condyle.Builder("linkage", gravity=tuple(gravity), snap=0.0)

    def placement(self, rotation: Array, origin: Array) -> Placement:
        axis = self.tilts.normal(size=3)
        return Placement(about(axis / np.linalg.norm(axis), self.tilt * self.tilts.uniform()) @ rotation, origin)

    def spot(self) -> Array:
        return self.length * self.rng.uniform(-1.0, 1.0, 3)

    def body(self, name: str) -> str:
        mass, gyration = self.mass * 10.0 ** self.rng.uniform(-1.0, 1.0), self.length * self.rng.uniform(0.1, 0.5)
        moments = mass * gyration**2 * self.rng.uniform(0.5, 1.0, 3)
        self.builder.body(name, mass=mass, com=0.5 * self.spot(), inertia=np.diag(moments))
        return name

    def chain(self, name: str, joints: int) -> str:
        """Bodies one after the other on the base; the last one's name."""
        parent = "base"
        for k in range(joints):
            child, slides, angle = self.body(f"{name}{k}"), self.rng.random() < 0.2, self.rng.uniform(-3.0, 3.0)
            axis = (np.cos(angle), np.sin(angle), 0.0) if slides else Z
            place = self.placement(about(Z, self.rng.uniform(-3.0, 3.0)), self.spot())
            kind = "prismatic" if slides else "revolute"
            self.builder.joint(f"to_{child}", parent=parent, child=child, type=kind, axis=axis, placement=place)
            parent = child
        return parent

    def robot(self) -> Robot:
        """Two chains that hold each other, one that holds the base, or a door with a second hinge."""
        turn, shape = np.linalg.qr(self.rng.normal(size=(3, 3)))[0], int(self.rng.integers(5))
        turn *= np.linalg.det(turn)
        base = self.body("base")
        self.builder.joint(
            "root", parent="world", child=base, type=("fixed", "free")[int(self.rng.integers(2))],
            placement=self.placement(turn, np.zeros(3)),
        )  # fmt: skip
        kind, here, there = str(self.rng.choice(CONTACT_KINDS)), self.spot(), self.spot()
        if shape == 0:
            door = self.body("door")
            self.builder.joint(
                "hinge", parent=base, child=door, type="revolute", placement=self.placement(np.eye(3), there)
            )
            kind, here = str(self.rng.choice(CONTACT_KINDS[:2])), self.rng.uniform(0.2, 1.0) * self.length * Z
            here = here + 0.1 * self.tilt * self.length * self.tilts.normal(size=3)
            last, other, there = door, base, there + self.rng.uniform() * self.length * Z
        elif shape == 1:
            last, other = self.chain("a", int(self.rng.integers(2, 5))), base
        else:
            last, other = self.chain("a", int(self.rng.integers(1, 4))), self.chain("b", int(self.rng.integers(1, 4)))
        ends = [self.placement(ALONG_X, place) for place in (here, there)]
        self.builder.contact(last, kind, other, placement=ends[0], anchor=ends[1])
        return self.builder.build()

    def state(self, robot: Robot) -> Array:
        """Angles of any size, slides of the size of the linkage."""
        q = robot.random_state(1, self.rng)[0][0]
        for joint in robot.joints:
            if joint.kind.name == "prismatic":
                q[joint.q_slice] *= self.length
        return q


def case(rng: np.random.Generator, folder: Path) -> None:
    seed, tilt = int(rng.integers(2**31)), 10.0 ** rng.uniform(np.log10(SMALLEST_TILT), np.log10(LARGEST_TILT))
    sketches = [Sketch(np.random.default_rng(seed), x) for x in (0.0, tilt)]
    exact, robot = (sketch.robot() for sketch in sketches)
    q = sketches[0].state(exact)
    sizes = whitened(exact, exact.compile("numpy"), q).S
    held = int((sizes > 1e-7).sum())
    if held and sizes[held - 1] < CLEAR * max(1.0, sizes[0]):
        return
    target, route = str(rng.choice(["numpy", "numpy", "numpy", "cpu"])), str(rng.choice(["ltl", "aba"]))
    dyn = robot.compile(target, routes={"cfd": route, "impact": route})
    check(robot, dyn, q, held, rng)


def whitened(robot: Robot, dyn: Dynamics, q: Array) -> Whitened:
    units = 1.0 / np.sqrt(scales(tree_of(robot, bound_of(robot, contacts=robot.contacts))))
    L = np.linalg.cholesky(dyn.mass_matrix(q))
    return Whitened(L, units, *np.linalg.svd(units[:, None] * np.linalg.solve(L, dyn.constraint_jacobian(q).T).T))


def check(robot: Robot, dyn: Dynamics, q: Array, held: int, rng: np.random.Generator) -> None:
    """Motion, forces, impacts, matrices and velocities beside those of the first `held` singular values."""
    way, rows = whitened(robot, dyn, q), list(robot.contacts[0].rows)
    into, out, S = way.U[:, :held], way.V[:held].T, way.S[:held]

    def size(x: Array) -> float:
        """In the norm of the kinetic energy."""
        return float(np.linalg.norm(way.L.T @ x))

    def solved(free: Array, b: Array) -> tuple[Array, Array]:
        """(free + M^-1 Jᵀ f, f in its units) with J M^-1 Jᵀ f = b."""
        z = into.T @ (way.units * b) / S
        return free + np.linalg.solve(way.L.T, out @ z), into @ (z / S)

    def compare(what: str, found: Array, force: Array, want: Array, exact: Array, scale: float) -> None:
        assert size(found - want) <= RIGHT * (size(want) + scale), f"{what}: {found}, not {want}"
        most = TIMES_FORCE * (float(np.linalg.norm(exact)) + scale)
        assert float(np.linalg.norm(force[rows] / way.units)) <= most, f"{what}: force {force}"

    v = rng.normal(size=robot.nv)
    J = dyn.constraint_jacobian(q)
    fits = solved(v, -J @ v)[0]
    tau = rng.normal(size=robot.nv) * (1e-9 + np.abs(dyn.generalized_gravity(q)).max())
    free = dyn.forward_dynamics(q, fits, tau)
    _, gamma = dyn.call("cres", [q, fits, np.zeros(robot.nv), np.zeros((1, 6))])
    want, exact = solved(free, -gamma - J @ free)
    a, force = dyn.constrained_forward_dynamics(q, fits, tau, [1.0])
    compare("cfd", a, force[0], want, exact, size(free))
    if rng.random() < DERIVATIVES:
        along = [rng.normal(size=robot.nv) for _ in range(3)]
        ahead = dyn.jvp("cfd")(q, fits, tau, [1.0], *along, [0.0])
        parts = dyn.constrained_forward_dynamics_derivatives(q, fits, tau, [1.0])
        turned = [sum(part @ dx for part, dx in zip(parts[k : k + 3], along, strict=True)) for k in (0, 3)]
        assert size(turned[0] - ahead[0]) <= SLOPES * (size(ahead[0]) + size(free)), (
            f"dcfd: {turned[0]}, not {ahead[0]}"
        )
        forces = [float(np.linalg.norm(x[0][rows] / way.units)) for x in (turned[1] - ahead[1], ahead[1])]
        assert forces[0] <= SLOPES * (forces[1] + size(free)), f"dcfd: force {turned[1]}, not {ahead[1]}"
    both = dyn.constraint_matrix_inverse(q, [1.0]) @ np.concatenate([dyn.mass_matrix(q) @ free, -gamma])
    assert size(both[: robot.nv] - want) <= RIGHT * (size(want) + size(free)), "kkt"
    after, impulse = dyn.impulse_dynamics(q, v, [1.0], [0.0])
    compare("impact", after, impulse[0], *solved(v, -J @ v), size(v))
    kept = robot.close_velocity(q, fits)
    assert size(kept - fits) <= RIGHT * size(v), f"close_velocity: {kept}, not {fits}"
