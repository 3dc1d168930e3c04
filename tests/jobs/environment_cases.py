"""A small robot with one foot as an environment, and a pendulum: for tests that need little code."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import condyle
from condyle.ground import Plane

HEIGHT = 0.5


@cache
def hopper() -> condyle.Robot:
    """A body that floats, and a leg with a foot that slides along it."""
    builder = condyle.Builder("hopper").body("base", mass=2.0, inertia=0.05 * np.eye(3))
    builder.joint("free", parent="world", child="base", type="free")
    builder.body("leg", mass=0.5, com=(0.0, 0.0, -0.1), inertia=0.01 * np.eye(3))
    builder.joint("slide", parent="base", child="leg", type="prismatic", axis=(0.0, 0.0, 1.0), xyz=(0.0, 0.0, -0.2))
    builder.body("foot", mass=0.1, inertia=0.001 * np.eye(3))
    return builder.joint("end", parent="leg", child="foot", type="fixed", xyz=(0.0, 0.0, -0.3)).build()


@cache
def block() -> condyle.Robot:
    """A body that floats, 2 kg, with a foot 0.5 m below."""
    builder = condyle.Builder("block").body("base", mass=2.0, inertia=0.05 * np.eye(3))
    builder.joint("free", parent="world", child="base", type="free")
    builder.body("foot", mass=0.1, inertia=0.001 * np.eye(3))
    return builder.joint("end", parent="base", child="foot", type="fixed", xyz=(0.0, 0.0, -0.5)).build()


def control(at: Any, action: Any) -> Any:
    """A spring to the position that the action is."""
    return np.concatenate([np.zeros(6), 200.0 * (0.1 * action - at.q[7:]) - 10.0 * at.v[6:]])


def observe(at: Any, last_action: Any, noise: Any) -> Any:
    return np.concatenate([at.q, at.v, last_action, noise])


def reward(at: Any, action: Any) -> Any:
    return at.v[2] - 0.01 * (action**2).sum()


def done(at: Any) -> Any:
    return at.q[2] < 0.35


def begin(draws: Any) -> Any:
    height = np.stack([0.1 * draws[0], 0.1 * draws[1], HEIGHT + 0.1 * draws[2]])
    return {"q": np.concatenate([height, [0.0, 0.0, 0.0, 1.0, 0.0]]), "v": np.concatenate([draws[3:5], np.zeros(5)])}


@cache
def environment(**options: Any) -> condyle.Environment:
    """Falls from a random height, tilts, and ends; truncated after 30 steps where it does not."""
    values: dict[str, Any] = {
        "control": control, "actions": 1, "contacts": [condyle.Contact("foot")], "ground": Plane(), "reset": begin,
        "draws": 5, "noise": 1, "horizon": 30, "substeps": 2,
    }  # fmt: skip
    values = {"robot": hopper(), **values, **options}
    return condyle.Environment(values.pop("robot"), observe, reward, done, **values)


def actions(n: int, steps: int, dtype: str = "float32") -> Any:
    """Some actions (steps, n, 1)."""
    return np.sin(0.7 * np.arange(steps * n)).reshape(steps, n, 1).astype(dtype)


@cache
def slider() -> condyle.Robot:
    """One body that slides up and down, driven by a motor."""
    builder = condyle.Builder("slider").body("body", mass=2.0, inertia=0.01 * np.eye(3))
    numbers = {"armature": 0.3, "damping": 0.7, "friction": 0.4, "stiffness": 5.0}
    builder.joint("slide", parent="world", child="body", type="prismatic", axis=(0.0, 0.0, 1.0), **numbers)
    return builder.build().with_actuators([condyle.Actuator("motor", {"slide": 1.0}, gain=3.0)])


def count(at: Any, count: Any) -> Any:
    return {"count": count + 1.0}


@cache
def sliding(**options: Any) -> condyle.Environment:
    """Slides from a random height and ends above 0.1 m; truncated after 7 steps. It counts steps in its memory."""
    values: dict[str, Any] = {
        "reset": lambda draws: {"q": 0.1 * draws[:1], "target": draws[1]}, "draws": 2, "horizon": 7, "substeps": 2,
        "inputs": {"target": ()}, "memory": {"count": ()}, "remember": count, "noise": 1,
    }  # fmt: skip
    values |= options

    def seen(at: Any, target: Any, count: Any, noise: Any, time: Any, last_action: Any) -> Any:
        return np.concatenate([at.q, at.v, np.stack([target, count, time]), noise, last_action])

    return condyle.Environment(slider(), seen, lambda at, target: at.q[0] - target, lambda at: at.q[0] > 0.1, **values)
