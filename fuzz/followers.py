"""Trees whose joints mimic others, compared with the same trees with every joint free."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

from condyle import ModelError, ModelWarning, Robot, load
from fuzz import mimic_trees
from fuzz.mimic_trees import Array, Drawn

WHAT = (
    "trees with chains of mimic joints, as URDF and MJCF, beside the same trees with free joints; found is: other "
    "damping, friction or limits at a master, another motion, a random state beyond a limit, contradicting limits "
    "without a warning, a text or a locked robot with other numbers, an order of joints that is guessed"
)
NEAR = 1e-11
"""Of the largest term of a sum: 1e-16 of it, times products of up to seven multipliers."""


class Held(NamedTuple):
    """q = G q' + b: all joints from the masters; root: the index of the master of each."""

    G: Array
    b: Array
    root: Array


def case(rng: np.random.Generator, folder: Path) -> None:
    """One tree, read with mimic joints and with free ones."""
    mjcf = rng.random() < 0.1
    tree = mimic_trees.drawn(rng, mjcf)
    path = folder / ("tree.xml" if mjcf else "tree.urdf")
    path.write_text(mimic_trees.mjcf(tree) if mjcf else mimic_trees.urdf(tree))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        robot = load(path, snap=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        free = load(path, snap=0.0, mimic="independent")
        held = held_together(tree, free, robot)
        check_forces(robot, free, held)
        check_limits(robot, free, held, " ".join(str(one.message) for one in caught))
        check_states(rng, robot, free, held)
        check_orders(robot, free)
        check_locked(rng, robot, free, held)
        if not mjcf:
            check_text(robot, folder)


def held_together(tree: list[Drawn], free: Robot, robot: Robot) -> Held:
    masters = [joint.name for joint in robot.joints if joint.mimic is None]
    G, b, root = np.zeros((free.nv, robot.nv)), np.zeros(free.nv), np.zeros(free.nv, int)
    for row, name in enumerate(free.joint_names):
        k, multiplier, offset = int(name[1:]), 1.0, 0.0
        while (master := tree[k].master) is not None:
            multiplier, offset = multiplier * tree[k].multiplier, multiplier * tree[k].offset + offset
            k = master
        root[row] = masters.index(f"j{k}")
        G[row, root[row]], b[row] = multiplier, offset
    return Held(G, b, root)


def check_forces(robot: Robot, free: Robot, held: Held) -> None:
    """Power is the same: v'^T D' v' = v^T D v and f'^T |v'| = f^T |v|."""
    damping, friction = np.diag(held.G.T @ np.diag(free.damping) @ held.G), free.friction @ np.abs(held.G)
    for name, wanted in (("damping", damping), ("friction", friction)):
        error = np.abs(getattr(robot, name) - wanted)
        assert (error <= NEAR * (1.0 + wanted)).all(), f"{name} {getattr(robot, name)}, expected {wanted}"


def check_limits(robot: Robot, free: Robot, held: Held, said: str) -> None:
    """At a limit of the robot no joint is beyond its own, and one is at it."""
    for joint in robot.joints:
        if joint.mimic is not None:
            continue
        k = joint.v_index
        moved = np.flatnonzero(held.G[:, k])
        m, b = held.G[moved, k], held.b[moved]
        low, high = ((limit[moved] - b) / m for limit in (free.lower, free.upper))
        low, high = np.where(m > 0.0, low, high), np.where(m > 0.0, high, low)
        wanted = {
            "lower": low.max(),
            "upper": high.min(),
            "velocity": (free.velocity[moved] / np.abs(m)).min(),
            "effort": (free.effort[moved] * np.abs(m)).min(),
        }
        for name, value in wanted.items():
            found = float(getattr(robot, name)[k])
            same = found == value or abs(found - value) <= NEAR * (1.0 + abs(value))
            assert same, f"{name} of {joint.name} {found}, expected {value}"
        stopped = robot.lower[k] >= robot.upper[k] and joint.lower[0] < joint.upper[0]
        stopped |= any(getattr(robot, name)[k] == 0.0 < getattr(joint, name)[0] for name in ("velocity", "effort"))
        told = f"joint {joint.name!r}: limits of joints that mimic it" in said
        assert stopped == told, f"{joint.name}: stopped by followers: {stopped}, warned: {told}"


def check_states(rng: np.random.Generator, robot: Robot, free: Robot, held: Held) -> None:
    """Random states are within all limits, unless these contradict each other; the robot moves as the free joints do.

    G^T (torques of the free joints, with their damping) is zero at an acceleration without torques.
    """
    (G, b, _), (q, v) = held, robot.random_state(16, rng)
    q_all, v_all = q @ G.T + b, v @ G.T
    slack = NEAR * (1.0 + np.abs(q_all) + np.abs(b))
    within = ((q_all >= free.lower - slack) & (q_all <= free.upper + slack)).all(0)
    sound = (robot.lower <= robot.upper)[held.root] & G.any(1)
    assert within[sound].all(), f"beyond the limits: {np.array(free.joint_names)[sound & ~within]}"
    target = "cpu" if rng.random() < 0.1 else "numpy"
    a = robot.compile(target, inputs=("damping",)).forward_dynamics(q, v, 0.0 * v)
    dyn = free.compile("numpy")
    torques = dyn.inverse_dynamics(q_all, v_all, a @ G.T) + free.damping * v_all
    parts = np.abs(dyn.mass_matrix(q_all)) @ np.abs(a @ G.T)[..., None]
    size = (np.abs(torques) + parts[..., 0]) @ np.abs(G)
    left = np.abs(torques @ G)
    assert (left <= 1e2 * NEAR * size.max(-1, keepdims=True)).all(), f"{target}: {left.max():.1e} N m are left"


def check_orders(robot: Robot, free: Robot) -> None:
    """An order with other entries is refused, and so are names that do not say which have entries."""
    if robot.nv == free.nv:
        assert robot.permutation(free).v.tolist() == list(range(robot.nv))
        return
    for order in (free, free.joint_names):
        try:
            robot.permutation(order)
        except ModelError:
            continue
        raise AssertionError(f"an order of {free.nv} joints was taken by a robot with {robot.nv} entries")


def check_locked(rng: np.random.Generator, robot: Robot, free: Robot, held: Held) -> None:
    """A master that is fixed fixes its followers where q = G q' + b has them; the rest keeps its numbers."""
    k, x = int(rng.integers(robot.nv)), float(rng.normal())
    fixed, rest = np.flatnonzero(held.root == k), np.flatnonzero(held.root != k)
    master = next(joint.name for joint in robot.joints if joint.mimic is None and joint.v_index == k)
    less = robot.lock({master: x})
    if not less.nv:
        return
    all_less = free.lock({free.joint_names[i]: float(held.G[i, k] * x + held.b[i]) for i in fixed})
    others = np.delete(np.arange(robot.nv), k)
    for name in ("lower", "upper", "effort", "velocity", "damping", "friction"):
        assert np.array_equal(getattr(less, name), getattr(robot, name)[others]), f"{name} of the locked robot"
    G, q = held.G[np.ix_(rest, others)], less.random_state(3, rng).q
    found = less.compile("numpy").mass_matrix(q)
    wanted = G.T @ all_less.compile("numpy").mass_matrix(q @ G.T + held.b[rest]) @ G
    assert np.abs(found - wanted).max() <= 1e2 * NEAR * np.abs(wanted).max(), "M of the locked robot"


def check_text(robot: Robot, folder: Path) -> None:
    """The robot's text is the robot."""
    path = folder / "again.urdf"
    path.write_text(robot.to_urdf())
    back = load(path, snap=0.0)
    assert back.fingerprint == robot.fingerprint, "to_urdf gives another robot"
    for name in ("lower", "upper", "effort", "velocity", "damping", "friction"):
        assert np.array_equal(getattr(back, name), getattr(robot, name)), f"{name} of the robot's text"
