"""The page of GPU counts is what the results files say, and claims no time."""

from __future__ import annotations

import json

import pytest

from benchmarks import gpu_table


def test_the_page_is_up_to_date() -> None:
    assert gpu_table.PATH.read_text() == gpu_table.page()


def test_kernels_that_are_launched_together_are_added() -> None:
    rows = json.loads(gpu_table.CODE.read_text())["kernels"]
    atlas = [r for r in rows if (r["robot"], r["floating"], r["bits"], r["arch"]) == ("atlas", True, 32, "sm_90")]
    alone = {r["kernel"]: r for r in atlas if r["lanes"] == 1}
    threads = ("condyle_minv", "condyle_fd", "condyle_did")
    total = sum(alone[name]["instructions"] for name in threads)
    product, moved = alone["condyle_product"], sum(alone[name]["bytes"] for name in (*threads, "condyle_product"))
    numbers = (f"{x:,}".replace(",", " ") for x in (total, product["instructions"], moved))
    assert f"| Atlas, floating, float32 | 4 | {' | '.join(numbers)} |" in gpu_table.page()


def test_times_are_of_the_fastest_form() -> None:
    row = {
        "what": "kernel",
        "robot": "iiwa14",
        "dtype": "float32",
        "function": "id",
        "form": "thread",
        "auto": "thread",
    }
    row |= {"card": "H200", "driver": "580", "commit": "abc", "n": 256, "us": 4.0, "floor_us": 1.0, "million_s": 64.0}
    rows = [row, {**row, "form": "group8", "us": 2.0, "million_s": 128.0, "goal_million_s": 100.0}, {**row, "n": 17}]
    text = "\n".join(gpu_table.times(rows))
    assert text.startswith("On H200, driver 580, commit abc.\n")
    assert "| iiwa14 id, float32 | 256 | group8 | thread | 2 | 50% | 128 | 100 |" in text
    assert len(text.strip().splitlines()) == 5


@pytest.mark.skipif(gpu_table.CLOCKED.exists(), reason="something was timed")
def test_every_time_on_a_gpu_is_unmeasured() -> None:
    text = gpu_table.page()
    times = text[text.index("## Times") : text.index("## On a machine")]
    rows = [line for line in times.splitlines() if line.startswith("| ")][1:]
    assert len(rows) == len(gpu_table.MEASURED)
    assert all(row.endswith(f"| {gpu_table.UNMEASURED} |") for row in rows)
