"""Figures 1 to 3 from rows: cycles are those of the results file, what is missing says so."""

from __future__ import annotations

import json

import pytest

from experiments import accelerator
from experiments.plancher2021 import gradient


def test_n_tasks_take_the_latency_and_an_interval_for_each_further_one() -> None:
    of = {"latency": 80, "interval": 2}
    assert accelerator.microseconds(of, 1, 1e6) == 80 and accelerator.microseconds(of, 11, 1e6) == 100
    assert accelerator.link_microseconds((192, 320), 1000) == pytest.approx(1e6 * 512e3 / accelerator.LINK_BYTES_PER_S)


def test_rows_without_a_clock_are_quick_full_and_json() -> None:
    rows = {row: gradient.measure(row, quick=True) for row in gradient.QUICK}
    assert json.loads(json.dumps(rows)).keys() == rows.keys()
    latency = rows[gradient.FPGA]["iiwa14 27x18 difd"]["simulated"]["difd"]["latency"]
    assert gradient.fpga(rows)[1][2] == str(latency)
    counted = {kernel["function"] for kernel in rows[gradient.GPU]["kernels"]}
    assert counted >= {"id", "did", "difd"} and ("did_split" in counted) != ("split_left_out" in rows[gradient.GPU])
    assert rows[gradient.PROCESSOR]["ns"]["16"]["condyle float32 all"]["links"]["median"] > 0
    assert rows["N 1"]["ns"]["condyle float32"]["median"] > 0


def test_a_ratio_needs_both_of_its_times() -> None:
    row = {"ns": {"pinocchio plain": {"median": 3000.0}, "condyle float32": {"median": 500.0}}}
    lines = {line[0]: line[1:] for line in gradient.ratios({"N 1": row})}
    assert lines["CPU over Pinocchio"] == ["1.5", "6.00"]
    assert lines["FPGA over CPU"] == ["5.6", "not measured"]
    assert lines["GPU over an older GPU code"] == ["6.4", "unmeasured"]
    assert all("not measured" in line for line in gradient.batches({})[1:])
