"""What `auto` goes by is derived from measurements by rule, and the page of the scans quotes the results file."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from benchmarks import links, links_errors, links_figures
from condyle.functions import FUNCTIONS
from condyle.links import compiler as scanned


@pytest.mark.parametrize(
    ("ratios", "first"),
    [
        ([(8, 0.5), (16, 0.9), (32, 1.2), (64, 2.0)], 32),
        ([(8, 1.3), (16, 1.0), (32, 1.2)], 32),  # once slower is slower up to there
        ([(8, 1.3), (16, 1.2)], 8),
        ([(8, 0.5), (16, 1.05)], None),
    ],
)
def test_a_crossover_is_where_every_longer_chain_gained(ratios: list[tuple[int, float]], first: int | None) -> None:
    rows = links.crossover("cpu", "avx512", "float32", "fd", ratios)
    assert [row["links"] for row in rows] == ([] if first is None else [first])


def test_the_table_of_auto_is_what_the_results_say() -> None:
    table = json.loads(scanned.TABLE.read_text())
    every = links.measured()
    assert {(one["cpu"], one["isa"], one["commit"]) for one in table["measured"]} == {
        (found["machine"]["cpu"], found["isa"], found["commit"]) for found in every
    }
    for found in every:
        for key, function in (("one_state", "fd"), ("one_state_id", "id")):
            for dtype, rows in found.get(key, {}).items():
                want = links.crossover("cpu", found["isa"], dtype, function, [(r["links"], r["ratio"]) for r in rows])
                about = {"cpu": found["machine"]["cpu"], "isa": found["isa"], "dtype": dtype, "function": function}
                got = [row for row in table["rows"] if row["target"] == "cpu" and about.items() <= row.items()]
                assert [row["links"] for row in got] == [row["links"] for row in want]


def test_of_several_machines_the_longest_chain_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    about = {"target": "cpu", "isa": "avx512", "dtype": "float32", "function": "fd", "states": 1}
    rows = [{"cpu": "a", "links": 48, **about}, {"cpu": "b", "links": 64, **about}, {"cpu": "c", "links": 16, **about}]
    (tmp_path / "table.json").write_text(json.dumps({"rows": rows}))
    monkeypatch.setattr(scanned, "TABLE", tmp_path / "table.json")
    assert scanned.crossovers.__wrapped__() == {("cpu", "avx512", "float32", FUNCTIONS["fd"]): scanned.Crossover(64, 1)}


def test_the_page_is_made_of_the_results() -> None:
    page, errors = links.PAGE.read_text(), json.loads(links_errors.FILE.read_text())
    assert page == links.HEADING + "\n" + links_figures.page(links.measured(), errors)
    assert [errors[kind][-1]["links"] for kind in ("chains", "trees")] == [1000, 300]
    for figure in re.findall(r"\]\((\.\./figures/\S+)\)", page):
        assert (links.PAGE.parent / figure).is_file()


def test_the_errors_are_within_their_goals() -> None:
    """id within 1e-14 and 3e-6 of a chain's largest torque, fd in float32 ten times `aba` at most, of trees 1e-13."""
    found = json.loads(links_errors.FILE.read_text())
    for row in found["chains"]:
        for route in ("sums", "lie", "chunks"):
            assert row[f"id {route} float64"] <= 1e-14
            assert row[f"id {route} float32"] <= 3e-6
        for route in ("elements", "chunks"):
            assert row[f"fd {route} float32"] <= 10 * row["fd aba float32"]
    assert max(row["fd elements float64"] for row in found["trees"]) <= 1e-13
