"""Bugs that a hardware engineer found at the edge of the accelerator: each is a test."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import condyle
from condyle import hardware
from condyle.backends.fpga.build import Accelerator
from condyle.backends.fpga.export import Facts, Sheet, write
from condyle.simulation import simulate
from tests.processor import slow

from .conftest import accelerator

REFUSED = 4
EACH = 12
needs_iverilog = pytest.mark.skipif(
    shutil.which("iverilog") is None or shutil.which("make") is None,
    reason="iverilog and make are needed to simulate generated Verilog (apt-get install iverilog make)",
)


def written(folder: Path, acc: Accelerator, refused: int = REFUSED) -> int:
    """The project of a chain of two joints; how many tasks its bench has."""
    found = hardware.tasks(condyle.chain(2, 0), acc, EACH, refused=refused)
    sheet = Sheet({function: {} for function in acc.plan.functions}, 0, acc.plan.box)
    write(folder, acc, Facts("rig", "", "", 125.0, "27x18"), sheet, found, {})
    return len(found.tasks)


def unknown(acc: Accelerator) -> list[int]:
    """Codes that name no function: undefined ones, and those of second passes."""
    named = {task.codes[0] for task in acc.plan.tasks.values()}
    return [code for code in range(1 << acc.plan.id.code_bits) if code not in named]


@needs_iverilog
@pytest.mark.parametrize("stalls", [(), ("+stall_in=30", "+stall_out=60", "+seed=3")])
@pytest.mark.parametrize("functions", [("dfd", "difd"), ("id",), slow(("dfd", "rk4")), slow(())])
def test_codes_that_name_no_function(functions: tuple[str, ...], stalls: tuple[str, ...], tmp_path: Path) -> None:
    """Each is answered once, with the error, and every other task is answered as without them, in its order."""
    acc = accelerator(condyle.chain(2, 0), *functions, ii=2)
    inner = [code for task in acc.plan.tasks.values() for code in task.codes[1:]]
    assert set(inner) <= set(unknown(acc)) and (inner or functions == ("id",))
    n = written(tmp_path / "rig", acc)
    assert n == EACH * len(acc.plan.functions) + REFUSED * len(unknown(acc))
    assert simulate(tmp_path / "rig", "rig", stalls).startswith(f"right: {n} tasks")


@needs_iverilog
def test_only_codes_that_name_no_function(tmp_path: Path) -> None:
    acc = accelerator(condyle.chain(2, 0), "id", ii=2)
    written(tmp_path / "rig", acc)
    assert simulate(tmp_path / "rig", "rig", [f"+only={unknown(acc)[0]}"]).startswith(f"right: {REFUSED} tasks")


@needs_iverilog
@pytest.mark.parametrize(
    ("correct", "broken", "said"),
    [
        ("assign in_ready = entry_free & ~reset", "assign in_ready = 1", "WRONG in_ready: "),
        ("wire is_known = ", "wire is_known = 1 | ", "WRONG"),
        ("refused_all = {2'b11", "refused_all = {2'b01", "WRONG answer"),
    ],
)
def test_the_bench_finds_such_bugs(correct: str, broken: str, said: str, tmp_path: Path) -> None:
    acc = accelerator(condyle.chain(2, 0), "dfd", "difd", ii=1)
    written(tmp_path / "rig", acc)
    top = tmp_path / "rig" / "rig.v"
    text = top.read_text()
    assert text.count(correct) == 1
    top.write_text(text.replace(correct, broken))
    assert said in simulate(tmp_path / "rig", "rig")


@needs_iverilog
def test_tables_need_no_file(tmp_path: Path) -> None:
    """The Verilog is whole wherever a tool runs."""
    written(tmp_path / "rig", accelerator(condyle.chain(2, 0), "id", ii=2))
    sources = [path for path in (tmp_path / "rig").glob("*.v") if not path.name.endswith("_bench.v")]
    assert all("$readmem" not in path.read_text() for path in sources)
    assert sorted(path.name for path in (tmp_path / "rig").glob("*.hex")) == ["answers.hex", "tasks.hex"]
