"""The picture of docs/how-to/ground.md is drawn from robots that really fall, land and stand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import condyle
from benchmarks import ground_figure


def test_they_fall_land_and_stand_and_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install 'condyle[plots]'")
    robot = condyle.load("hyq", floating_base=True)
    q = ground_figure.fallen(robot, 8)
    assert q.shape == (8, 201, robot.nq) and (q[:, 0, 2] > 0.6).all()
    assert (q[:, -1, 2] > ground_figure.UPRIGHT).all() and np.abs(q[:, -1, 3:5]).max() < 0.05
    lowest = min(line[:, 2].min() for line in ground_figure.lines(robot, q[0, -1]))
    assert -0.02 < lowest < 0.0  # a foot is a little in the ground
    ground_figure.draw(robot, q, tmp_path / "ground.svg")
    assert "8 HyQ fall, land and stand: after 2 s 100.0 % stand" in (tmp_path / "ground.svg").read_text()


def test_the_picture_of_the_page_is_small() -> None:
    assert 10_000 < ground_figure.PATH.stat().st_size < 200_000
