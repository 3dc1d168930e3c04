"""What `auto` goes by is derived from measurements by rule, and the page of the scans quotes the results file."""

from __future__ import annotations

import json
import re

import pytest

from benchmarks import links, results
from condyle import scanned


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
    found = json.loads((results.FOLDER / "links.json").read_text())
    table = json.loads(scanned.TABLE.read_text())
    assert table["measured"]["commit"] == found["commit"]
    for dtype, rows in found["one_state"].items():
        want = links.crossover("cpu", found["isa"], dtype, "fd", [(row["links"], row["ratio"]) for row in rows])
        got = [row for row in table["rows"] if row["isa"] == found["isa"] and row["dtype"] == dtype]
        assert got == want


def test_the_page_quotes_the_results() -> None:
    found = json.loads((results.FOLDER / "links.json").read_text())
    page = (results.ROOT / "docs" / "links.md").read_text()
    for dtype, rows in found["one_state"].items():
        for row in rows:
            text = f"| {row['links']} | {dtype} | {row['serial_us']:.1f} ({row['serial']}) | {row['chunks_us']:.1f} | "
            assert text + f"{row['ratio']:.2f} |" in page
    for figure in re.findall(r"\]\((figures/\S+)\)", page):
        assert (results.ROOT / "docs" / figure).is_file()
