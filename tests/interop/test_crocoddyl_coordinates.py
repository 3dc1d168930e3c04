"""Pinocchio's q and ours where joints mimic others; the rest needs crocoddyl, see test_crocoddyl."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle import UnsupportedError
from tests.interop.cases import pinocchio as pin

from condyle.interop.crocoddyl.coordinates import Coordinates  # isort: skip  # behind what skips this file


def test_mimic_joints_have_entries_in_both_or_in_neither(tmp_path: Path) -> None:
    exact, path = condyle.load("panda"), str(tmp_path / "panda.urdf")
    Path(path).write_text(exact.to_urdf())
    free = condyle.load(path, mimic="independent")
    default, follows = pin.buildModelFromUrdf(path), pin.buildModelFromUrdf(path, mimic=True)
    for model, robot in ((default, free), (follows, exact)):
        at = Coordinates(model, robot)
        x = np.concatenate([pin.randomConfiguration(model), np.ones(model.nv)])
        q, v = at.ours(x)
        assert (q.shape, v.shape) == ((robot.nq,), (robot.nv,))
        np.testing.assert_array_equal(at.theirs(q, v), x)
    with pytest.raises(UnsupportedError, match=r"'panda_finger_joint2': load the robot with mimic='independent'"):
        Coordinates(default, exact)
    with pytest.raises(UnsupportedError, match="the state has 8 joints and the robot 9"):
        Coordinates(follows, free)
