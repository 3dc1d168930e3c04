"""Times of ours and of others in one row, and tables that say what is missing."""

from __future__ import annotations

import pytest

import condyle
from condyle.errors import UnsupportedError
from experiments import timed
from experiments.grid2022 import latency


def missing(robot: condyle.Robot) -> timed.Rival:
    raise UnsupportedError("Pinocchio's headers are not installed: pip install 'condyle[bench]'")


def test_a_missing_library_is_left_out_and_says_the_pip_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(timed.RIVALS, "pinocchio", missing)
    one = timed.Timed(condyle.load("iiwa14"), ("condyle", "pinocchio", "pinocchio all"), quick=True)
    row = one.row("id", 16)
    assert set(row["ns"]) == {"condyle"} and row["ns"]["condyle"]["median"] > 0
    assert "pip install" in row["absent"]["pinocchio"] and "pip install" in row["absent"]["pinocchio all"]


def test_a_cell_that_was_not_measured_says_so() -> None:
    row = {"ns": {"condyle": {"median": 1500.0}}}
    assert timed.us(row, "condyle", 2) == "3"
    assert timed.us(row, "pinocchio") == "not measured" == timed.us({}, "condyle")


def test_table_i_has_a_line_for_every_function_and_the_papers_numbers() -> None:
    rows = {"iiwa14 dfd": {"batches": {"1": {"ns": {"condyle": {"median": 700.0}}}}}}
    table = latency.one(rows)
    assert len(table) == 1 + len(latency.CELLS)
    line = next(line for line in table if line[:2] == ["iiwa14", "dfd"])
    assert line[2] == "0.7" and line[3] == "not measured" and line[-2:] == ["2.9", "12.9"]
    assert latency.scaling(rows)[-1][2:] == ["4.3", "not measured", "not measured", "7.2", "3.3"]


def test_a_quick_row_has_the_shape_of_a_full_one() -> None:
    found = latency.measure("iiwa14 id", quick=True)
    assert set(found["batches"]) == {"1", "16"}
    assert all(set(row["ns"]) == set(latency.QUICK_ENGINES) for row in found["batches"].values())
