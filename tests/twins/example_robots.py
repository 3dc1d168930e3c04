"""The robots of the `example-robot-data` wheel: real URDF files as their makers publish them."""

from __future__ import annotations

import warnings
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Literal

import pytest

import condyle
from condyle import ModelWarning, Robot
from condyle.model.parts import without_notes

PATHS = {
    "a1": "a1_description/urdf/a1.urdf",
    "allegro_hand": "allegro_hand_description/urdf/allegro_right_hand.urdf",
    "anymal_c": "anymal_c_simple_description/urdf/anymal.urdf",
    "anymal_kinova": "anymal_b_simple_description/robots/anymal-kinova.urdf",
    "baxter": "baxter_description/urdf/baxter.urdf",
    "b1_z1": "b1_description/urdf/b1-z1.urdf",
    "centauro": "centauro_description/urdf/centauro.urdf",
    "double_pendulum_continuous": "double_pendulum_description/urdf/double_pendulum_continuous.urdf",
    "g1_with_hands": "g1_description/urdf/g1_29dof_with_hand_rev_1_0.urdf",
    "human": "human_description/robots/human.urdf",
    "hyq": "hyq_description/robots/hyq_no_sensors.urdf",
    "kinova": "kinova_description/robots/kinova.urdf",
    "laikago": "laikago_description/urdf/laikago.urdf",
    "panda": "panda_description/urdf/panda.urdf",
    "pr2": "pr2_description/urdf/pr2.urdf",
    "romeo": "romeo_description/urdf/romeo.urdf",
    "simple_humanoid": "simple_humanoid_description/urdf/simple_humanoid.urdf",
    "so101": "so_arm_description/urdf/so101.urdf",
    "solo12": "solo_description/robots/solo12.urdf",
    "talos_full": "talos_data/robots/talos_full_v2.urdf",
    "talos_reduced": "talos_data/robots/talos_reduced.urdf",
    "tiago_pro": "tiago_pro_description/robots/tiago_pro.urdf",
    "ur5": "ur_description/urdf/ur5_robot.urdf",
    "xarm7": "xarm_description/urdf/xarm7.urdf",
}

Mimics = Literal["exact", "independent"]
SINGULAR = ("romeo",)  # its fingers have no mass


def path_of(name: str) -> Path:
    """The file of one of `PATHS`; skips the test where the wheel is not installed."""
    try:
        wheel = metadata.distribution("example-robot-data")
    except metadata.PackageNotFoundError:
        pytest.skip("example-robot-data is not installed: pip install 'condyle[twins-data]' (420 MB)")
    return Path(str(wheel.locate_file(f"cmeel.prefix/share/example-robot-data/robots/{PATHS[name]}")))


@cache
def loaded(name: str, floating_base: bool = False, snap: float = 0.0, mimic: Mimics = "independent") -> Robot:
    """The robot, every joint free and its file's digits as they stand unless `mimic` and `snap` say otherwise."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # published files are often doubtful; the readers' tests look
        robot = condyle.load(path_of(name), snap=snap, mimic=mimic, floating_base=floating_base)
    return without_notes(robot)  # nor is their damping of interest here
