"""The picture of docs/how-to/loops.md is drawn from a leg that really swings and stays closed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import linkage_figure


@pytest.fixture(scope="module", autouse=True)
def _packages() -> None:
    pytest.importorskip("mujoco")


def test_the_leg_swings_and_its_rods_end_where_they_are_drawn() -> None:
    robot, start = linkage_figure.leg()
    path, opened = linkage_figure.swung(robot, start, "RK4, 100 and 20")
    assert path.shape == (1000, 7) and opened.max() < 1e-8
    assert np.ptp(path[:, 0]) > 1.0
    for q in path[::100]:
        drawn = linkage_figure.lines(robot, q)
        assert drawn["achilles"][1] == pytest.approx(drawn["tarsus"][0], abs=1e-8)  # the heel
        assert drawn["plantar"][1] == pytest.approx(drawn["foot"][0], abs=1e-8)
        assert drawn["shin"][0] == pytest.approx(drawn["thigh"][1], abs=1e-12)


def test_it_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install 'condyle[plots]'")
    linkage_figure.draw(tmp_path / "linkage.svg")
    text = (tmp_path / "linkage.svg").read_text()
    assert all(way in text for way in linkage_figure.WAYS)


def test_the_picture_of_the_page_is_small() -> None:
    assert 10_000 < linkage_figure.PATH.stat().st_size < 200_000
