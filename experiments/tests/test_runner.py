"""Rows are kept one by one, pages hold what files hold."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from experiments import page, runner
from experiments.figure import Bars, Lines, svg
from experiments.papers import PAPERS, part, rows

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Results in a folder of their own; no row is measured, its name is noted."""
    asked: list[str] = []

    def apart(paper: str, name: str, row: str, quick: bool) -> dict[str, object] | None:
        asked.append(row)
        if row == "tip q16.16":
            return {"left_out": "solver is not installed: pip install solver"}
        return None if row == "N 1" else {"seconds": 1.0}

    monkeypatch.setattr(runner, "apart", apart)
    monkeypatch.setattr(runner, "QUICK", tmp_path / "quick")
    monkeypatch.setattr(runner, "FOLDER", tmp_path / "full")
    return asked


def test_a_run_goes_on_where_it_was(counted: list[str], tmp_path: Path) -> None:
    failed, said = runner.run("plancher2021", quick=False)
    assert counted == [row for _, row in rows("plancher2021", quick=False)]
    assert failed == 1
    assert any("tip q16.16: left out, solver is not installed: pip install solver" in line for line in said)
    kept = json.loads((tmp_path / "full" / "plancher2021.json").read_text())
    assert kept["left_out"]["sweep"] == {"tip q16.16": "solver is not installed: pip install solver"}
    counted.clear()
    runner.run("plancher2021", quick=False)
    assert counted == ["N 1", "tip q16.16"]  # what failed and what was left out
    counted.clear()
    runner.run("plancher2021", quick=False, again=True, only="tip 27x18 difd")
    assert counted == ["tip 27x18 difd"]
    assert not (tmp_path / "quick").exists()


def test_quick_measures_anew(counted: list[str], tmp_path: Path) -> None:
    for _ in range(2):
        runner.run("beyond", quick=True)
    assert counted == 2 * [row for _, row in rows("beyond", quick=True)]
    assert not (tmp_path / "full").exists()


def test_a_missing_module_says_how_it_is_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def measure(row: str, quick: bool) -> None:
        import_module("no_such_solver")

    monkeypatch.setattr(part("beyond", "batch"), "measure", measure)
    runner.here("beyond", "batch/1 float32", quick=True, answer=tmp_path / "answer.json")
    said = json.loads((tmp_path / "answer.json").read_text())["left_out"]
    assert "no_such_solver" in said and "pip install 'condyle[experiments]'" in said


def test_a_module_of_our_own_that_is_missing_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def measure(row: str, quick: bool) -> None:
        import_module("experiments.no_such_file")

    monkeypatch.setattr(part("beyond", "batch"), "measure", measure)
    with pytest.raises(ModuleNotFoundError):
        runner.here("beyond", "batch/1 float32", quick=True, answer=tmp_path / "answer.json")


def test_only_that_names_no_row_says_what_there_is(counted: list[str]) -> None:
    _, (said,) = runner.run("beyond", quick=False, only="2048")
    assert "'2048'" in said and "1024 float32" in said and not counted


def test_what_was_left_out_stands_on_the_page_until_it_is_measured(counted: list[str], tmp_path: Path) -> None:
    file = tmp_path / "full" / "beyond.json"
    runner.leave_out(file, "reach", "reach by condyle", "no <solver>: pip install it")
    assert "Left out: reach by condyle: no &lt;solver&gt;: pip install it" in page.write("beyond", file).read_text()
    runner.run("beyond", quick=False, only="reach by condyle")
    assert json.loads(file.read_text())["left_out"]["reach"] == {}


@pytest.mark.parametrize("paper", PAPERS)
def test_a_page_without_rows_says_so_and_needs_nothing(paper: str) -> None:
    text = page.page(paper, {"machine": {"cpu": "<script>x</script>", "versions": {"numpy": "2"}}})
    assert "Nothing of this part is measured" in text
    assert "<script" not in text and "&lt;script&gt;" in text
    assert "http" not in text.replace("http://www.w3.org", "")


def test_figures_take_the_colours_of_the_page_and_have_names_of_their_own() -> None:
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install 'condyle[experiments]'")
    held = json.loads((ROOT / "experiments" / "results" / "yang2017.json").read_text(encoding="utf-8"))
    text = page.page("yang2017", held)
    names = re.findall(r'\bid="([^"]+)"', text)
    assert text.count("<svg") == 5 and len(names) == len(set(names))
    assert set(re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', text)) and "currentColor" in text
    assert all(a in names or b in names for a, b in re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', text))
    assert "#000000" not in text and "#ffffff" not in text


@pytest.mark.parametrize("paper", PAPERS)
def test_quick_rows_are_among_the_rows(paper: str) -> None:
    for name, tells in PAPERS[paper].parts.items():
        assert part(paper, name).QUICK and set(part(paper, name).QUICK) <= set(part(paper, name).ROWS)
        assert part(paper, tells).tables({})


def test_unknown_names_are_refused_with_what_there_is() -> None:
    done = subprocess.run([sys.executable, "-m", "experiments", "mpc"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    assert all(paper in done.stderr for paper in PAPERS)


def test_figures_are_drawn_the_same_each_time() -> None:
    lines = Lines("N", "us", {"a": ([1, 16, 256], [1.0, 2.0, 30.0])}, points={"paper": ([256], [50.0])})
    bars = Bars("ms", ("one", "two"), {"a": (1.0, 2.0), "b": (3.0, 0.5)})
    for figure in (lines, bars):
        drawn = svg("title", figure)
        assert drawn.startswith(b"<?xml") and drawn == svg("title", figure)
    assert svg("title", Lines("N", "us", {"a": ([], [])})) == b"" == svg("title", Bars("ms", ("one",), {}))


@pytest.mark.parametrize("paper", PAPERS)
def test_rows_of_the_results_become_tables_and_figures(paper: str) -> None:
    """Of the files of the repository."""
    found = json.loads(runner.path(paper, quick=False).read_text())["measurements"]
    for name, tells in PAPERS[paper].parts.items():
        module = part(paper, tells)
        head, *lines = next(iter(module.tables(found.get(name, {})).values()))
        assert lines and all(len(line) in (2, len(head)) for line in lines)
        for figure in getattr(module, "figures", lambda _: {})(found.get(name, {})).values():
            assert not figure.empty()
