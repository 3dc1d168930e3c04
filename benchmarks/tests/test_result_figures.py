"""The page of figures holds the numbers of the committed results files, and each figure names its machine."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from benchmarks import result_figures
from benchmarks.result_figures import BAR, CHARTS, FIGURES, PAGE, WIDTH, Chart
from benchmarks.sections import number

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def charts() -> list[Chart]:
    return [make() for make in CHARTS]


def test_the_committed_page_and_figures_are_what_the_command_writes(charts: list[Chart]) -> None:
    assert PAGE.read_text() == result_figures.page(charts)
    kept = {path.name: path.read_text() for path in FIGURES.glob("results-*.svg")}
    assert kept == {f"results-{chart.name}.svg": result_figures.svg(chart) for chart in charts}


def test_times_are_those_of_the_files(charts: list[Chart]) -> None:
    """Read anew here, by their own keys."""
    by_name = {chart.name: chart.groups for chart in charts}
    steps: dict[str, Any] = json.loads((result_figures.FOLDER / "steps.json").read_text())
    ns = steps["measurements"]["rollout"]["hyq-floating"]["ns"]
    assert by_name["steps"]["hyq-floating"] == {
        "Condyle": ns["rollout"]["minimum"],
        "float32": ns["float32"]["minimum"],
        "Pinocchio": min(of["minimum"] for name, of in ns.items() if name.startswith("pinocchio")),
        "MuJoCo": min(of["minimum"] for name, of in ns.items() if name.startswith("mujoco")),
    }
    arms: dict[str, Any] = json.loads((result_figures.FOLDER / "inverse_kinematics.json").read_text())
    assert by_name["inverse-kinematics"]["panda"]["Condyle"] == arms["robots"]["panda"]["float64"]["target_us"]


def test_every_figure_has_its_machine_and_day_and_every_number(charts: list[Chart]) -> None:
    for chart in charts:
        text = (FIGURES / f"results-{chart.name}.svg").read_text()
        words = [node.text or "" for node in ElementTree.fromstring(text).iter(f"{SVG}text")]
        assert words[-1] == chart.machine and re.search(r"\d{4}-\d\d-\d\d$", chart.machine)
        assert "EPYC" in chart.machine or "Xeon" in chart.machine or "Cortex" in chart.machine
        values = [value for of in chart.groups.values() for value in of.values()]
        assert len(values) >= 4 and all(any(word.split(" ")[0] == number(value) for word in words) for value in values)


def test_bars_are_in_proportion_and_inside_the_picture(charts: list[Chart]) -> None:
    for chart in charts:
        bars = [
            float(bar.attrib["width"])
            for bar in ElementTree.fromstring(result_figures.svg(chart)).iter(f"{SVG}rect")
            if bar.get("class") != "paper"
        ]
        values = [value for of in chart.groups.values() for value in of.values()]
        assert bars == pytest.approx([max(1.5, BAR * value / max(values)) for value in values], abs=0.06)
        assert result_figures.LEFT + max(bars) + 7.5 * len("123456 (12.3 times)") < WIDTH


def test_a_figure_that_is_out_of_date_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "figures.md"
    assert result_figures.main(page, tmp_path) == 0
    monkeypatch.setattr("sys.argv", ["result_figures", "--check"])
    assert result_figures.main(page, tmp_path) == 0
    kept = tmp_path / "results-steps.svg"
    kept.write_text(kept.read_text().replace("float32", "float16"))
    assert result_figures.main(page, tmp_path) == 1


def test_figures_of_times_on_other_pages_name_their_machine() -> None:
    for path in (*FIGURES.glob("links-*.svg"), FIGURES / "first.svg", FIGURES / "speed.svg"):
        assert re.search(r">[^<]*(EPYC|Xeon)[^<]*<", path.read_text()), path
