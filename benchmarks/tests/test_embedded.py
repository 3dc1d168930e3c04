"""Instructions of embedded exports do not rise, and what was asked of them is kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from benchmarks import embedded
from condyle.backends.c.part_report import PARTS
from tests.backends.c.bare import needs_parts

KEPT = json.loads(embedded.PATH.read_text())
RISE = 1.01  # another order of operations may cost a few instructions


def test_what_was_asked() -> None:
    """iiwa14 in float32: 256 KB of flash for id, fd and dfd, 8 KB of stack; computed torque takes at most 2 %."""
    assert tuple(KEPT["robots"]["iiwa14"]) == tuple(PARTS)
    for part, report in KEPT["robots"]["iiwa14"].items():
        assert sum(report["flash"].values()) <= 256 * 1024, part
        assert max(row["stack"] for row in report["functions"].values()) <= 8 * 1024, part
        assert KEPT["jobs"]["track"][part]["share"] <= 0.02, part


def test_the_page_has_these_counts() -> None:
    page = (embedded.results.ROOT / "docs" / "how-to" / "embedded.md").read_text()
    rows = [*KEPT["robots"]["iiwa14"][embedded.MAIN]["functions"].values()]
    for name in embedded.JOBS:
        functions = KEPT["jobs"][name][embedded.MAIN]["functions"]
        rows.append(functions.get(name, next(iter(functions.values()))))
    for row in rows:
        most = row["instructions"][1]
        assert (f"{most:,}".replace(",", " ") if most > 9999 else str(most)) in page, row


CASES: dict[str, tuple[Callable[[], Any], Any]] = {
    **{part: (partial(embedded.measure, "iiwa14", part), KEPT["robots"]["iiwa14"][part]) for part in PARTS},
    **{name: (partial(embedded.job, name, embedded.MAIN), KEPT["jobs"][name][embedded.MAIN]) for name in embedded.JOBS},
}


@pytest.mark.slow
@needs_parts
@pytest.mark.parametrize("case", CASES)
def test_counts_do_not_rise(case: str) -> None:
    measure, kept = CASES[case]
    report = measure()
    if report["compiler"] != kept["compiler"]:
        pytest.skip(f"counts are of {kept['compiler']}; {report['compiler']} here: python -m benchmarks.embedded")
    assert sum(report["flash"].values()) <= RISE * sum(kept["flash"].values())
    for function, row in kept["functions"].items():
        now = report["functions"][function]
        assert now["instructions"][1] <= RISE * row["instructions"][1], (function, now, row)
        assert now["stack"] <= RISE * row["stack"] + 16, (function, now, row)
