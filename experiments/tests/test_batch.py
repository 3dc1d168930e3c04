"""A batch of arms follows its curve, with limits and without; the printed times stand beside ours."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.beyond import batch


def test_a_batchs_table_has_the_printed_times_beside_it():
    row = {"solve_ms": {"p50": 100.0}, "problems_per_s": 10240.0, "tracking_error_m": {"mean": 0.02}}
    row["processor_us_a_problem"] = 150.0
    table = batch.tables({"1024 float32": row})["Problems a second"]
    assert ["1024 float32", "100.00", "10240", "20.0", "150"] in table
    assert table[-1] == ["GATO, 512, a GPU, printed", "7.76", "65979 (derived)", "-", "-"]


@pytest.mark.parametrize("limited", [False, True])
def test_a_batch_follows_its_curve(limited):
    fleet = batch.Fleet(8, "float32", 1, limited)
    fleet.settle(20)
    far = fleet.advance()
    for _ in range(60):
        fleet.solve()
        near = fleet.advance()
    assert far.mean() > 0.3 > 0.15 > near.mean()
    assert np.allclose(batch.figure_eight(np.array(0.0)), [-0.5 / np.sqrt(2), 0.5 / np.sqrt(2), 0.8])
