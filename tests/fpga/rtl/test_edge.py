"""Bugs that a hardware engineer found at the edge of the accelerator: each is a test, see BUGS."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import condyle
from condyle import fpga
from condyle.fpga.rtl.build import Accelerator
from condyle.fpga.rtl.export import Facts, Sheet, write
from condyle.fpga.rtl.stream import result, width
from condyle.fpga.simulation import simulate
from tests.processor import slow
from tests.programs import needs

from .conftest import accelerator

BUGS = {
    "a code of a second pass is taken, and steals another task's inverse": "test_edge.test_codes_that_name_no_function",
    "an undefined code is swallowed": "test_edge.test_only_codes_that_name_no_function",
    "the bench sees neither": "test_edge.test_the_bench_finds_such_bugs",
    "the box is a constant": "test_box.test_joints_go_before_all_in_any_order",
    "control within the model's velocity limits is flagged": (
        "test_box.test_velocity_limits_of_the_model_are_the_default_where_they_are_of_use"
    ),
    "fd without torque is flagged though its acceleration is small": (
        "test_box.test_without_torque_a_task_is_flagged_only_where_its_acceleration_leaves_the_box"
    ),
    "a wide box might cost accuracy": "test_box.test_a_wide_box_costs_neither_accuracy_nor_units",
    "there is no box for tau": "test_box.test_torques_are_held_to_their_box",
    "a maximum of samples is said to be a bound": (
        "test_box.test_errors_are_quantiles_and_maxima_of_tasks_without_a_flag"
    ),
    "without its .hex tables every answer is wrong": "test_edge.test_tables_need_no_file",
    "in_ready is high in reset": "test_edge.test_in_ready_is_low_in_reset",
    "unknown words where nothing is valid": "test_edge.test_unknown_words_reach_no_answer",
    "the README leaves its reader to guess": "test_edge.test_the_readme_leaves_nothing_to_guess",
    "a result queue carries zeros": "test_edge.test_a_queue_is_as_wide_as_its_results",
    "one net drives all of an array": "test_count.test_yosys_finds_the_dsps_of_the_report",
    "words other than four are refused": "test_rtl.test_every_word_and_sharing",
    "the integer model is public nowhere": "test_fixed_point.test_every_function_is_the_model_on_every_bit",
    "no stream, no registers": "test_boundary.test_packets_are_answered_bit_by_bit",
    "no conversion from floats": "test_host.test_floats_packed_answered_and_unpacked_are_those_of_the_model",
    "no constraints, no scripts": "test_vivado.test_vivado_scripts_run_to_their_end",
}
"""What was found, and the test that would fail."""
REFUSED = 4
EACH = 12
needs_iverilog = needs("iverilog", "make")


def written(folder: Path, acc: Accelerator, refused: int = REFUSED) -> int:
    """The project of a chain of two joints; how many tasks its bench has."""
    found = fpga.tasks(condyle.chain(2, 0), acc, EACH, refused=refused)
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
        slow(".give(merged_pop)", ".give(1'b0)", "WRONG"),  # credits are lost: no task goes on
        slow("{merged_room & ~reset}", "{~reset}", "WRONG"),  # a result is lost in a full queue
        ("assign dtau_pop = derivatives_take", "assign dtau_pop = derivatives_take & ~is_own", "WRONG"),  # done twice
        ("is_own ? kept_q : given_q", "is_own ? given_q : kept_q", "WRONG"),
    ],
)
def test_the_bench_finds_such_bugs(correct: str, broken: str, said: str, tmp_path: Path) -> None:
    acc = accelerator(condyle.chain(2, 0), "dfd", "difd", ii=1)
    written(tmp_path / "rig", acc)
    top = tmp_path / "rig" / "rig.v"
    text = top.read_text()
    assert text.count(correct) == 1
    top.write_text(text.replace(correct, broken))
    assert said in simulate(tmp_path / "rig", "rig", ("+stall_out=60", "+seed=3"))


@needs_iverilog
def test_tables_need_no_file(tmp_path: Path) -> None:
    """The Verilog is whole wherever a tool runs."""
    written(tmp_path / "rig", accelerator(condyle.chain(2, 0), "id", ii=2))
    sources = [path for path in (tmp_path / "rig").glob("*.v") if not path.name.endswith("_bench.v")]
    assert all("$readmem" not in path.read_text() for path in sources)
    assert sorted(path.name for path in (tmp_path / "rig").glob("*.hex")) == ["answers.hex", "tasks.hex"]


@needs_iverilog
def test_in_ready_is_low_in_reset(tmp_path: Path) -> None:
    """The bench watches it; without the reset's part it fails."""
    written(tmp_path / "rig", accelerator(condyle.chain(2, 0), "id", ii=2))
    top = tmp_path / "rig" / "rig.v"
    assert simulate(tmp_path / "rig", "rig").startswith("right")
    top.write_text(top.read_text().replace("assign in_ready = entry_free & ~reset", "assign in_ready = entry_free"))
    assert "WRONG in_ready: 1 in reset" in simulate(tmp_path / "rig", "rig")


@needs_iverilog
def test_unknown_words_reach_no_answer(tmp_path: Path) -> None:
    """Four states: what is sent while nothing is valid is unknown; a queue that took it would answer with it."""
    written(tmp_path / "rig", accelerator(condyle.chain(2, 0), "id", ii=2))
    bench, top = ((tmp_path / "rig" / name).read_text() for name in ("rig_bench.v", "rig.v"))
    assert "in_valid ? tasks[next] : {(F + T){1'bx}}" in bench
    assert simulate(tmp_path / "rig", "rig", ("+stall_in=50", "+seed=4")).startswith("right")
    (tmp_path / "rig" / "rig.v").write_text(top.replace(".push(in_valid & in_ready)", ".push(in_ready)"))
    assert "WRONG" in simulate(tmp_path / "rig", "rig", ("+stall_in=50", "+seed=4"))


def test_the_readme_leaves_nothing_to_guess(tmp_path: Path) -> None:
    condyle.export(condyle.chain(2, 0), "verilog", tmp_path, ("fd", "did", "dfd", "difd"), name="arm")
    text = " ".join((tmp_path / "README.md").read_text().split())
    for said in (
        "**Matrices**: word `NAME_k` is entry k = row * nv + column",
        "Of a symmetric matrix only the upper triangle is sent. Every entry that is not listed is zero.",
        "Behind the words of difd comes the M⁻¹ of its task.",
        "**Gravity** is a constant here, that of `robot.json`. Damping and friction are left out.",
        "tau as these states need it, at most (",
        "`in_ready` is low in reset",
    ):
        assert said in text, said


def test_a_queue_is_as_wide_as_its_results(tmp_path: Path) -> None:
    acc = accelerator(condyle.chain(2, 0), ii=2)
    written(tmp_path / "rig", acc)
    text = (tmp_path / "rig" / "rig.v").read_text()
    found = {name: int(bits) for bits, name in re.findall(r"fx_queue #\((\d+), .*?\) (out_\w+) ", text)}
    ends = {leaf: width(result(acc.plan, name)) for name, task in acc.plan.tasks.items() for leaf in [task.leaf]}
    assert len(found) >= 5 and sorted(found.values()) == sorted(bits + acc.plan.id.width for bits in ends.values())


@pytest.mark.parametrize("test", BUGS.values(), ids=BUGS)
def test_each_bug_has_its_test(test: str) -> None:
    module, name = test.split(".")
    assert any(f"def {name}(" in path.read_text() for path in Path(__file__).parents[2].rglob(f"{module}.py"))
