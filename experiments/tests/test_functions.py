"""Tables of Dadu-RBD and of Yang 2017 from rows alone."""

from __future__ import annotations

import json

from experiments.dadu2023 import functions
from experiments.yang2017 import links


def spread(ns: float) -> dict[str, float]:
    return {"median": ns}


def test_latency_and_throughput_of_the_accelerator_are_its_cycles() -> None:
    design = {"functions": {"id": {"latency": 50, "interval": 1}}, "simulated": {}, "dsp": 3420}
    design["functions"] |= {name: {"latency": 50, "interval": 1} for name in functions.FUNCTIONS}
    rows = {
        functions.FPGA: {"iiwa14": {"cycles": design, "counted": {}}},
        "iiwa14 id": {
            "latency": {"ns": {"condyle": spread(300.0), "pinocchio": spread(800.0)}},
            "throughput": {"ns": {"condyle float32 all": spread(20.0)}},
        },
    }
    assert functions.latency(rows)[1] == ["iiwa14", "id", "0.4", "0.3", "0.8", "0.50"]
    rate = 256 / ((50 + 255) / 125)
    assert functions.throughput(rows)[1][2:] == [
        f"{rate:.3g}",
        "not measured",
        "50",
        "not measured",
        f"{0.02 * rate:.2f}",
    ]
    assert functions.resources(rows)[1] == ["DSP", "62%", "50%", "whole design not counted", "whole design not counted"]


def test_a_quick_row_and_the_accelerators_are_json() -> None:
    rows = {row: functions.measure(row, quick=True) for row in functions.QUICK}
    assert json.loads(json.dumps(rows)).keys() == rows.keys()
    table = functions.latency(rows)
    assert table[1][2] != "not measured" and table[2][3] == "not measured"


def test_a_length_that_was_not_measured_says_so() -> None:
    row = {"links": 8, "serial_us": 0.7, "chunks_us": 3.5, "ratio": 0.2, "serial": "straight"}
    table = links.one_state({"fd float32 8": row})
    assert table[1] == ["fd", "float32", "8", "0.7 (straight)", "3.5", "0.20"]
    assert table[2][-1] == "not measured" and len(table) == 1 + len(links.ONE)
    assert links.groups({})[1] == ["10", "not measured"]
