"""Scenes of robots, by the library's own NumPy functions."""

from __future__ import annotations

from typing import Any

import condyle
from condyle.view import poses_by, scene_of
from condyle.view.scene import Scene


def scene(robot: condyle.Robot, *arguments: Any, **options: Any) -> Scene:
    """As `scene_of`, with poses that NumPy computes."""
    poses = poses_by(robot, lambda one, frames: one.compile("numpy", frames=frames))
    return scene_of(robot, poses, *arguments, **options)
