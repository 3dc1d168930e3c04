"""Small robots, compiled once a process, and states for them; together they have every joint type."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

import condyle
from condyle import Contact, Dynamics, Robot
from condyle.functions import FUNCTIONS
from condyle.specification import Function, Port
from condyle.specification.ports import F_EXT

TARGETS = ("cpu", "cpu", "cpu", "cpu", "cpu", "numpy", "numpy")
C_FUNCTIONS = ("id", "m")
"""The functions tried on target c, whose compiler takes seconds."""
N_FRAMES = 2
"""Frames that functions of frames answer for."""
DRIVEN = 3
"""The number of the robot with damping, friction, springs and stops at its joints."""
N_CONTACTS, N_ROWS = 2, 6
"""Points of robots whose base is free: with few joints rows would be dependent, and their answers without digits."""


@cache
def robots() -> tuple[Robot, ...]:
    """Robots with a fixed and with a floating base, of two or three joints."""
    kinds = (
        ("revolute", "prismatic"),
        ("spherical", "planar"),
        ("universal", "helical"),
        ("cylindrical", "translation"),
    )
    made = [condyle.random_tree(2, k, types=types, floating_base=k % 2 == 1) for k, types in enumerate(kinds)]
    drive = condyle.Drive(damping=0.5, friction=0.3)
    made[DRIVEN] = made[DRIVEN].with_drives(dict.fromkeys(made[DRIVEN].joint_names, drive))
    return (*made, condyle.random_tree(3, 5, types=("free", "continuous", "revolute")))


@cache
def compiled(robot: int, target: str, dtype: str) -> Dynamics:
    chosen = robots()[robot]
    frames = tuple(chosen.frames)[-N_FRAMES:]
    held = [Contact(frame) for frame in frames] if chosen.nv > N_ROWS else []
    forces = ("all",) if robot == DRIVEN else ()
    return chosen.compile(target, dtype=dtype, threads=2, frames=frames, contacts=held, joint_forces=forces)


def chosen(rng: np.random.Generator) -> tuple[Robot, Dynamics, str]:
    """A robot, its functions on some target, and the name of one of them."""
    number, dtype = int(rng.integers(len(robots()))), "float64" if rng.random() < 0.6 else "float32"
    if rng.random() < 0.03:
        return robots()[0], compiled(0, "c", "float64"), str(rng.choice(C_FUNCTIONS))
    held, drives = robots()[number].nv > N_ROWS, ("", "forces") if number == DRIVEN else ("",)
    known = [name for name, one in FUNCTIONS.items() if held or "contacts" not in one.options]
    name = str(rng.choice([name for name in known if FUNCTIONS[name].needs.drives in drives]))
    return robots()[number], compiled(number, str(rng.choice(TARGETS)), dtype), name


def ports(rng: np.random.Generator, name: str) -> tuple[Port, ...]:
    """The input ports of a call of this function, sometimes with external forces."""
    function = FUNCTIONS[name]
    return (function.taking(F_EXT) if function.takes_f_ext and bool(rng.random() < 0.4) else function).inputs


def called(name: str, ports: Sequence[Port]) -> Function:
    """The function that a call with these input ports computes: it takes external forces or not."""
    return FUNCTIONS[name].taking(F_EXT) if F_EXT in ports else FUNCTIONS[name]


def dims(robot: Robot, port: Port) -> tuple[int, ...]:
    sizes = {"nq": robot.nq, "nv": robot.nv, "n_bodies": len(robot.bodies), "n_frames": N_FRAMES}
    return port.shape({**sizes, "n_contacts": N_CONTACTS, "n_rows": N_ROWS, "n_regressor": 0})


def values(rng: np.random.Generator, robot: Robot, port: Port, batch: tuple[int, ...]) -> np.ndarray:
    """Numbers for this port, float64: a state, whole numbers, or what is hardly a number."""
    shape = (*batch, *dims(robot, port))
    if port.is_configuration:
        count = int(np.prod(batch, dtype=np.int64))
        return np.reshape(robot.random_state(count, rng).q, shape)
    if port.name == "active":
        return rng.integers(0, 2, shape).astype(float)
    low, high, hardly = -1.0, 1.0, [np.nan, np.inf, -np.inf, 1e300, 5e-324, -0.0]
    if port.is_fraction:
        low, hardly = 0.0, [np.nan, 5e-324, -0.0]
    elif port.is_positive:  # also where it becomes a whole number
        low, high, hardly = 0.6, 1.4, [np.nan, np.inf, 1e300]
    array = rng.uniform(low, high, shape)
    if rng.random() < 0.05 and array.size:
        array.flat[int(rng.integers(array.size))] = rng.choice(hardly)
    return array


def quaternions(robot: Robot, port: Port) -> list[int]:
    """The first entry of each quaternion of a port: those of configurations."""
    own = [joint for joint in robot.joints if joint.mimic is None and joint.kind.has_quaternion]
    return [joint.q_slice.stop - 4 for joint in own] if port.is_configuration else []


def are_unit(robot: Robot, port: Port, q: np.ndarray) -> bool:
    """Whether a call takes these numbers: all quaternions have unit length, or are no numbers."""
    at = [q[..., k : k + 4].astype(float) for k in quaternions(robot, port)]
    with np.errstate(over="ignore", invalid="ignore"):
        off = [np.isfinite(x).all(-1) & (np.abs(np.sqrt((x * x).sum(-1)) - 1.0) > 1e-3) for x in at]
    return not any(x.any() for x in off)


def short_batch(rng: np.random.Generator) -> tuple[int, ...]:
    """Mostly a few states, rarely some thousand."""
    if rng.random() < 0.05:
        return (int(rng.integers(1, 3000)),)
    return tuple(int(length) for length in rng.choice([0, 1, 1, 2, 3, 5, 8, 9, 17], int(rng.integers(0, 4))))
