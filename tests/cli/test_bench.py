from __future__ import annotations

import re
import sys

import pytest


def test_a_table_of_functions_and_batches(run, pendulum) -> None:
    ran = run("bench", pendulum(), "--target", "numpy", "--functions", "id,m", "--batch", "2,8")
    assert ran.status == 0
    lines = [line for line in ran.out.splitlines() if re.match(r"(id|m) ", line)]
    assert len(lines) == 4
    assert "states/s" in ran.out
    assert "cores" in ran.out


def test_json_has_machine_and_spread(run, pendulum) -> None:
    ran = run("bench", pendulum(), "--target", "numpy", "--functions", "id", "--batch", "4", "--json")
    found = ran.json
    assert found["machine"]["numpy"]
    (row,) = found["rows"]
    assert row["function"] == "id"
    assert 0 < row["ns"]["minimum"] <= row["ns"]["low"] <= row["ns"]["median"] <= row["ns"]["high"]


def test_the_c_target_runs(run, pendulum) -> None:
    ran = run("bench", pendulum(), "--target", "c", "--functions", "id", "--batch", "16", "--dtype", "float32")
    assert ran.status == 0
    assert "float32" in ran.out


def test_html_is_one_page_that_fetches_nothing(run, pendulum, tmp_path) -> None:
    page = tmp_path / "report.html"
    name = "a&lt;script&gt;b"
    words = ("--target", "numpy", "--functions", "id,m", "--batch", "2", "--html", str(page))
    assert run("bench", pendulum(name=name), *words).status == 0
    text = page.read_text(encoding="utf-8")
    assert text.count("<svg") == 2
    assert "<script" not in text
    assert not re.search(r"(src|href)\s*=", text)


def test_a_missing_rival_is_named_with_its_cure(run, pendulum, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if "site-packages" not in entry])
    ran = run("bench", pendulum(), "--target", "numpy", "--against", "pinocchio")
    assert ran.status == 2
    assert "pip install 'condyle[bench]'" in ran.err
