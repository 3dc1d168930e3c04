"""The moving picture of docs/index.md is one loop: standing feet go with the ground, one moment is seen at a time."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

import condyle
from benchmarks import moving_figure
from benchmarks.moving_figure import MOMENTS, PATH, PERIOD, STRIDE
from benchmarks.robot_figures import LEGS

SVG = "{http://www.w3.org/2000/svg}"


def test_feet_that_bear_weight_stand_on_the_ground_and_go_with_it() -> None:
    q, forces = moving_figure.trot()
    robot = condyle.load("hyq", floating_base=True)
    at = robot.compile("numpy", frames=[f"{leg}_foot" for leg in LEGS]).frame_placements(q).translation
    stands = forces[..., 2] > 0.0
    assert (stands.sum(axis=1) == 2).all()  # a diagonal pair
    assert at[stands][:, 2] == pytest.approx(0.0, abs=1e-5)  # inverse kinematics ends at about 1e-6 m
    assert (at[~stands][:, 2] > -1e-5).all() and at[..., 2].max() > 0.09
    both = stands & np.roll(stands, -1, axis=0)
    steps = (np.roll(at, -1, axis=0) - at)[both]
    assert steps[:, 0] == pytest.approx(-STRIDE / MOMENTS, abs=1e-5) and np.abs(steps[:, 1:]).max() < 1e-5
    assert np.abs(np.roll(at, -1, axis=0) - at).max() < 0.05  # the last moment goes on to the first


def test_the_committed_file_shows_one_moment_at_a_time_and_stands_still_if_asked() -> None:
    text = PATH.read_text()
    root = ElementTree.fromstring(text)
    moments = [group for group in root.iter(f"{SVG}g") if group.get("class") == "moment"]
    starts = [float(group.attrib["style"].removeprefix("animation-delay:").removesuffix("s")) for group in moments]
    assert starts == pytest.approx([PERIOD * (k / MOMENTS - 1.0) for k in range(MOMENTS)], abs=1e-3)
    assert "prefers-reduced-motion:reduce" in text and root.get("aria-label") == moving_figure.TITLE
    assert not re.search(r"<(script|image|a)\b|href|url\((?!#patch\))", text)
    assert 10_000 < PATH.stat().st_size < 400_000
    assert "](figures/moving.svg)" in (PATH.parents[1] / "index.md").read_text().split("## Start", 1)[0]


def test_the_command_draws_what_is_committed() -> None:
    """Numbers may differ by rounding on another processor, 0.1 pixel."""
    drawn, kept = moving_figure.drawn(moving_figure.scene(*moving_figure.trot())), PATH.read_text()
    number = re.compile(r"-?\d+\.?\d*")
    assert number.sub("", drawn) == number.sub("", kept)
    assert np.allclose([float(x) for x in number.findall(drawn)], [float(x) for x in number.findall(kept)], atol=0.21)
