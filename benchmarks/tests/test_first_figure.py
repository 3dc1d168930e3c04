"""The first figure of README holds the numbers of the committed results files, and nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from benchmarks import first_figure
from benchmarks.sections import number

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def panels() -> list[first_figure.Panel]:
    return [first_figure.rollouts(), first_figure.derivatives()]


def test_the_committed_picture_and_caption_are_what_the_script_writes(panels: list[first_figure.Panel]) -> None:
    assert first_figure.FIGURE.read_text() == first_figure.svg(panels)
    text = first_figure.README.read_text()
    assert first_figure.updated(text, panels) == text and first_figure.caption(panels) in text


def test_times_are_those_of_the_file(panels: list[first_figure.Panel]) -> None:
    """Read anew here: every rollout of the file, by its own keys."""
    found: dict[str, Any] = json.loads(first_figure.STEPS.read_text())["measurements"]["rollout"]["iiwa14"]["ns"]
    ours, theirs = found["rollout"]["minimum"], min(found[way]["minimum"] for way in ("mujoco", "mujoco-batch"))
    assert panels[0].ns["iiwa14"]["Condyle"] == ours and panels[0].ns["iiwa14"]["MuJoCo"] == theirs
    assert f">{number(theirs)} ns ({number(theirs / ours)} times)<" in first_figure.FIGURE.read_text()


def test_the_caption_says_machine_and_date(panels: list[first_figure.Panel]) -> None:
    said = first_figure.caption(panels)
    machine: dict[str, str] = json.loads(first_figure.STEPS.read_text())["machine"]
    assert machine["cpu"] in said and len(re.findall(r"\d{4}-\d\d-\d\d", said)) >= 2


def test_bars_are_in_proportion_and_inside_the_picture(panels: list[first_figure.Panel]) -> None:
    root = ElementTree.fromstring(first_figure.svg(panels))
    bars = [bar for bar in root.iter(f"{SVG}rect") if bar.get("class") != "paper"]
    times = [of[name] for panel in panels for of in panel.ns.values() for name in first_figure.LIBRARIES if name in of]
    assert len(bars) == len(times)
    assert all(float(bar.attrib["x"]) + float(bar.attrib["width"]) < first_figure.WIDTH for bar in bars)
    halves = len([name for of in panels[0].ns.values() for name in of])
    for some, ns in ((bars[:halves], times[:halves]), (bars[halves:], times[halves:])):
        for bar, time in zip(some, ns, strict=True):
            wanted = max(1.5, first_figure.BAR * time / max(ns))
            assert float(bar.attrib["width"]) == pytest.approx(wanted, abs=0.06)


def test_a_library_that_was_not_timed_is_said_so() -> None:
    assert first_figure.least({"condyle": {"median": 2.0}, "casadi": {"median": 1.0}}, "median") == {"Condyle": 2.0}
    drawn = first_figure.row({"Condyle": 2.0}, "MuJoCo", 0.0, 0.0, 2.0)
    assert len(drawn) == 2 and "not timed" in drawn[1]


def test_other_results_give_another_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found: dict[str, Any] = json.loads(first_figure.STEPS.read_text())
    found["measurements"]["rollout"]["iiwa14"]["ns"]["rollout"]["minimum"] = 777.0
    found["measurements"]["rollout"]["iiwa14"]["cpu"] = "another processor"
    monkeypatch.setattr(first_figure, "STEPS", tmp_path / "steps.json")
    first_figure.STEPS.write_text(json.dumps(found))
    panels = [first_figure.rollouts(), first_figure.derivatives()]
    assert ">777 ns<" in first_figure.svg(panels) and "another processor" in first_figure.caption(panels)
