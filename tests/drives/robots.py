"""The public models with drives, as Condyle and as MuJoCo read them; LICENSES.md has their sources."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from condyle import Robot, load
from tests.drives.equations import Reals, quiet

mujoco: Any = pytest.importorskip("mujoco", reason="pip install 'condyle[test]'")
MODELS = Path(__file__).parent / "models"
ACROSS = ("xarm7_gripper",)
"""Its tendon runs over joints of two branches, and its actuator damps."""
NAMES = tuple(sorted(path.stem for path in MODELS.glob("*.xml")))
ALONG = tuple(name for name in NAMES if name not in ACROSS)


@cache
def robot_of(name: str) -> Robot:
    with quiet():  # MuJoCo's notes on a file's old words
        return load(file_of(name))


def file_of(name: str) -> Path:
    return MODELS / f"{name}.xml"


def mujoco_of(path: Path) -> tuple[Any, Any]:
    """MuJoCo's model and data: without contacts, stops and dry friction, which are soft constraints there."""
    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    return model, mujoco.MjData(model)


def drawn(robot: Robot, n: int, seed: int = 0) -> tuple[Reals, Reals, Reals]:
    """States (n, ...) within the limits, and controls up to 1.3 times their ranges, or 2 where there is none."""
    rng = np.random.default_rng(seed)
    q = rng.uniform(np.maximum(robot.lower, -2.0), np.minimum(robot.upper, 2.0), (n, robot.nq))
    ranges = np.array([one.control if np.isfinite(one.control).all() else (-1.5, 1.5) for one in robot.actuators])
    u = 1.3 * rng.uniform(ranges[:, 0], ranges[:, 1], (n, len(ranges)))
    return q, rng.uniform(-1.0, 1.0, (n, robot.nv)), u


def calm(robot: Robot, u: Reals) -> Reals:
    """Controls with which no arm gets so fast that rounding grows: 2 at most of a motor."""
    return np.where([one.kind == "motor" for one in robot.actuators], np.clip(u, -2.0, 2.0), u)
