"""The table of docs/results/conserved.md holds what the steps of today keep."""

from __future__ import annotations

import re

import pytest

from benchmarks.conserved import table
from benchmarks.results import ROOT

NUMBER = re.compile(r"(?<=[ ,])[0-9.]+(?:e-?[0-9]+)?(?=[ ,])")


def test_the_table_of_the_page_is_what_is_measured() -> None:
    """Two digits are written; rounding of other machines, which 100 s of a double pendulum enlarge, may change one."""
    page = (ROOT / "docs" / "results" / "conserved.md").read_text(encoding="utf-8")
    begin = page.index("| off by |")
    written = page[begin : page.index("\n\n", begin)].split("\n")
    for have, want in zip(written, table(), strict=True):
        numbers = [[float(x) for x in NUMBER.findall(line)] for line in (have, want)]
        assert re.sub(r"[0-9.e-]+", "", have) == re.sub(r"[0-9.e-]+", "", want)
        assert numbers[0] == pytest.approx(numbers[1], rel=0.15, abs=1e-10)
