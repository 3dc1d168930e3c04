"""The report of an embedded export: what it measures, what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import condyle
from condyle.backends.c.part_report import PARTS, budget_of, check_limits, stacks, table
from condyle.errors import BuildError, UnsupportedError
from tests.backends.c.bare import needs_parts

ROW = {"stack": 480, "work": 64, "instructions": [1699, 1699]}
REPORT: dict[str, Any] = {
    "part": "cortex-m7",
    "compiler": "gcc 12",
    "flash": {"fd": 5000, "id": 3000},
    "ram": 64,
    "untested": {},
    "functions": {"fd": ROW, "id": {"stack": 400, "work": 0, "instructions": None}},
}
GRAPH = """graph: { title: "a.c"
node: { title: "f" label: "f\\na.c:1:1\\n16 bytes (static)\\n0 dynamic objects" }
node: { title: "a.c:g" label: "g\\na.c:2:1\\n100 bytes (static)" }
node: { title: "a.c:h" label: "h\\na.c:3:1\\n40 bytes (KIND)" }
edge: { sourcename: "f" targetname: "a.c:g" label: "a.c:1:2" }
edge: { sourcename: "f" targetname: "a.c:h" label: "a.c:1:3" }
edge: { sourcename: "a.c:g" targetname: "a.c:h" label: "a.c:2:2" }
}
"""


@pytest.mark.slow
@needs_parts
def test_an_arm_on_every_part(tmp_path: Path) -> None:
    """It fits: 256 KB of flash and 8 KB of stack for id, fd, dfd in all; every call takes as many instructions."""
    robot = condyle.load("iiwa14")
    for part in PARTS:
        files = condyle.export(
            robot,
            "c",
            tmp_path,
            functions=("id", "fd", "dfd"),
            dtype="float32",
            embedded=True,
            part=part,
            flash=256 * 1024,
            stack=8 * 1024,
        )
        assert tmp_path / "report.json" in files
        report = json.loads((tmp_path / "report.json").read_text())
        assert report["part"] == part and report["ram"] == 0
        assert list(report["functions"]) == ["id", "fd", "dfd"] == list(report["flash"])
        for row in report["functions"].values():
            least, most = row["instructions"]
            assert 100 < least == most
        counts = [row["instructions"][0] for row in report["functions"].values()]
        assert counts == sorted(counts)
    with pytest.raises(
        UnsupportedError, match=r"flash=4096: on cortex-a53 the code and tables are \d+ bytes.* dfd \d+"
    ):
        condyle.export(robot, "c", tmp_path / "b", functions=("dfd",), embedded=True, part="cortex-a53", flash=4096)
    assert not (tmp_path / "b").exists()


def test_stack_is_that_of_the_deepest_chain() -> None:
    assert stacks([GRAPH.replace("KIND", "static")]) == {"f": 156, "a.c:g": 140, "a.c:h": 40}
    with pytest.raises(BuildError, match=r"a.c:h: its stack has no bound that the compiler knows"):
        stacks([GRAPH.replace("KIND", "dynamic")])
    with pytest.raises(BuildError, match=r"a.c:h: its stack is not known, because it calls __indirect_call"):
        stacks([GRAPH.replace("KIND", "static"), 'edge: { sourcename: "a.c:h" targetname: "__indirect_call" }'])
    again = 'edge: { sourcename: "a.c:h" targetname: "f" label: "a.c:3:3" }\n'
    with pytest.raises(BuildError, match="it calls itself"):
        stacks([GRAPH.replace("KIND", "static") + again])


def test_limits_are_refused_with_the_numbers() -> None:
    check_limits(REPORT, 8000, 480)
    check_limits(REPORT, None, None)
    with pytest.raises(
        UnsupportedError, match=r"flash=7999: on cortex-m7 .* 8000 bytes, most of them fd 5000, id 3000"
    ):
        check_limits(REPORT, 7999, None)
    with pytest.raises(UnsupportedError, match="stack=450: on cortex-m7 these need more bytes: fd 480"):
        check_limits(REPORT, None, 450)


def test_the_table_has_a_row_a_function() -> None:
    lines = table(REPORT).splitlines()
    assert [line.split() for line in lines[2:]] == [
        ["fd", "5000", "480", "64", "1699"],
        ["id", "3000", "400", "0", "-"],
        ["in", "all", "8000", "480", "64"],
    ]
    assert table({**REPORT, "untested": {"fd": "no state"}}).splitlines()[-1] == "fd has no test: no state"


def test_options_that_do_not_go_together() -> None:
    assert budget_of({}, "float32") is None
    for options, said in (
        ({"flash": 1000}, "name it, such as part='cortex-m7'"),
        ({"part": "cortex-m7", "stack": 0}, "stack=0: give a number of bytes"),
        ({"part": "cortex-m7", "libm": True}, "leave out libm=True"),
    ):
        with pytest.raises(UnsupportedError, match=said):
            budget_of(options, "float32")
