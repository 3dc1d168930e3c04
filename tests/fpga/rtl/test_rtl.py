"""Generated Verilog against the integer model, every bit, by iverilog."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace

import numpy as np
import pytest

import condyle
from condyle import fpga
from condyle.errors import BuildError
from condyle.fpga import simulation
from condyle.fpga.rtl.emit_verilog import bench_text, sources
from condyle.fpga.rtl.export import Facts, Tasks
from condyle.fpga.rtl.target import PARTS
from condyle.fpga.simulation import check
from tests.processor import slow
from tests.programs import needs
from tests.zoo import every_joint

from .conftest import Bench, accelerator, ball_and_plane, free_body

TASKS = fpga.functions()
STALLS = ("+stall_in=40", "+stall_out=40", "+seed=5")


WORDS = ("27x18", "27", "32", "q16.16", "q12.10")
FIXED = ("q8.8", "q12.5", "q27.5", "q8.24", "q4.28", "q32.0")
MORE_WORDS = ("8x8", "12x9", "18x18", "20x13", "24x18", "29x18", "32x17", *FIXED)


@pytest.mark.parametrize("word", ["27x18", "q12.10", *map(slow, ("27", "32", "q16.16")), *map(slow, MORE_WORDS)])
@pytest.mark.parametrize("ii", [slow(1), 3])
def test_every_word_and_sharing(bench: Bench, word: str, ii: int) -> None:
    robot = condyle.chain(2, 0)
    box = {"v": 2.0, "a": 5.0} if word == "q4.28" else {}  # it ends at 8
    assert bench(robot, accelerator(robot, word=word, ii=ii, box=box), 20, *STALLS).startswith("right: 140 tasks")


@pytest.mark.parametrize(
    "functions",
    [*((name,) for name, task in TASKS.items() if not task.base_given), ("m", "did"), ("fd", "difd"), ("id", "dfd")],
)
def test_any_choice_of_functions(bench: Bench, functions: tuple[str, ...]) -> None:
    robot = condyle.chain(2, 1)
    acc = accelerator(robot, *functions, ii=2)
    assert bench(robot, acc, 12, *STALLS).startswith(f"right: {12 * len(functions)} tasks")


@pytest.mark.parametrize("functions", [(), ("fd",), ("did", "dfd")])
def test_external_forces(bench: Bench, functions: tuple[str, ...]) -> None:
    robot = condyle.chain(2, 3)
    acc = accelerator(robot, *functions, ii=2, f_ext=30.0)
    assert bench(robot, acc, 12, *STALLS).startswith(f"right: {12 * len(acc.plan.functions)} tasks")


@pytest.mark.slow
@pytest.mark.parametrize("ii", [slow(1), slow(2), 5])
def test_latency_and_interval_are_what_the_report_says(bench: Bench, ii: int) -> None:
    robot = condyle.chain(2, 0)
    acc = accelerator(robot, ii=ii)
    for function in acc.plan.functions:
        code = TASKS[function].codes[0]
        alone = bench(robot, acc, 25, f"+only={code}", f"+sparse={acc.latency('dfd')}", "+tasks=40")
        assert f"latency {acc.latency(function)}," in alone, function
        stream = bench(robot, acc, 25, f"+only={code}")
        cycles, gaps = map(int, re.findall(r"interval (\d+)/(\d+)", stream)[0])
        if function != "dfd":  # two passes: short streams overlap them
            assert cycles == acc.interval(function) * gaps, function


@pytest.mark.slow
@pytest.mark.parametrize(
    ("word", "pipeline", "ii"),
    [
        ("27x18", 3, 3),
        *(slow("27x18", pipeline, ii) for pipeline, ii in ((1, 1), (2, 1), (2, 3))),
        *(slow(word, pipeline, ii) for word in ("27", "32", "q16.16") for pipeline, ii in ((1, 1), (2, 3), (3, 1))),
    ],
)
def test_operators_with_more_registers(bench: Bench, word: str, pipeline: int, ii: int) -> None:
    """Every word at every level; where units are shared, and where each serves one operation."""
    robot = condyle.chain(2, 0)
    acc = accelerator(robot, word=word, ii=ii, pipeline=pipeline)
    assert acc.plain.latency("difd") < acc.latency("difd") and acc.plain.pipeline == 0
    assert bench(robot, acc, 10, *STALLS).startswith("right: 70 tasks")
    code, latency = TASKS["fd"].codes[0], acc.latency("fd")
    assert f"latency {latency}," in bench(robot, acc, 10, f"+only={code}", f"+sparse={latency}", "+tasks=25")


@pytest.mark.slow
@pytest.mark.parametrize("functions", [("did", "minv"), slow(("dfd", "rk4"))])
def test_shared_branches_and_narrow_multipliers_with_more_registers(bench: Bench, functions) -> None:
    """Sums that take turns; products cut for multipliers of 18 x 18 bits."""
    robot = condyle.load("hyq")
    acc = accelerator(robot, *functions, ii=4, folding=4, pipeline=3)
    cut = replace(acc, device=PARTS["ecp5-85k"])
    assert bench(robot, cut, 6, *STALLS).startswith(f"right: {6 * len(functions)} tasks")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("functions", "ii", "f_ext"), [(("rk4",), 1, None), (("euler", "rk4"), 3, 5.0), slow(("dfd", "rk4"), 2, None)]
)
def test_steps_are_fed_back_while_other_tasks_go_on(bench: Bench, functions, ii: int, f_ext: float | None) -> None:
    robot = condyle.chain(2, 0)
    acc = accelerator(robot, *functions, ii=ii, f_ext=f_ext)
    assert bench(robot, acc, 12, *STALLS).startswith(f"right: {12 * len(functions)} tasks")
    only, latency = f"+only={TASKS['rk4'].codes[0]}", acc.latency("rk4")
    assert f"latency {latency}," in bench(robot, acc, 12, only, f"+sparse={latency // 3}")
    cycles = int(re.findall(r"interval (\d+)/11", bench(robot, acc, 12, only))[0])
    assert cycles < 12 * acc.interval("rk4")  # not one after the other: that would take their latencies


@pytest.mark.parametrize(
    ("robot", "functions", "ii", "f_ext"),
    [(ball_and_plane(), ("euler", "rk4"), 3, 5.0), (free_body(), ("rk4",), 1, None), (free_body(), ("euler",), 2, 5.0)],
)
def test_steps_along_curves(bench: Bench, robot, functions, ii: int, f_ext: float | None) -> None:
    acc = accelerator(robot, *functions, ii=ii, f_ext=f_ext)
    assert bench(robot, acc, 12, *STALLS).startswith(f"right: {12 * len(functions)} tasks")


@pytest.mark.parametrize(
    ("functions", "f_ext"), [(("fd_given",), 5.0), slow(("dfd", "minv_given", "fd_given", "dfd_given"), None)]
)
def test_a_base_whose_motion_is_given(bench: Bench, functions: tuple[str, ...], f_ext: float | None) -> None:
    robot = condyle.random_tree(1, 3, types=("revolute",), floating_base=True)
    acc = accelerator(robot, *functions, ii=8, f_ext=f_ext)
    assert bench(robot, acc, 4, *STALLS).startswith(f"right: {4 * len(functions)} tasks")
    last = functions[-1]
    only = (f"+only={TASKS[last].codes[0]}", f"+sparse={acc.latency(last)}")
    assert f"latency {acc.latency(last)}," in bench(robot, acc, 4, *only)


@pytest.mark.parametrize(
    ("floating", "functions", "ii", "folding", "word"),
    [
        (False, ("did", "minv"), 4, 4, "27x18"),
        (False, ("id",), 8, 4, "32"),
        slow(False, ("dfd",), 6, 2, "27x18"),
        slow(True, ("id", "m"), 2, 2, "27x18"),
    ],
)
def test_branches_share_arrays(bench: Bench, floating: bool, functions, ii: int, folding: int, word: str) -> None:
    robot = condyle.load("hyq", floating_base=floating)
    acc = accelerator(robot, *functions, ii=ii, folding=folding, word=word)
    assert bench(robot, acc, 12, *STALLS).startswith(f"right: {12 * len(functions)} tasks")


def test_a_wrong_bit_is_found(bench: Bench, tmp_path) -> None:
    robot = condyle.chain(2, 0)
    acc = accelerator(robot, "m", ii=1)
    assert bench(robot, acc, 4).startswith("right")
    answers = tmp_path / "generated" / "answers.hex"
    lines = answers.read_text().split()
    lines[2] = f"{int(lines[2], 16) ^ 1:x}"
    answers.write_text("\n".join(lines) + "\n")
    said = bench(robot, acc, 4)
    assert "WRONG answer, tag 2" in said
    got, want = re.findall(r"bits from 0: got (\w+), want (\w+)", said)[0]
    assert int(got, 16) ^ int(want, 16) == 1 and said.count("bits from") == 1


@pytest.mark.parametrize("functions", [("id",), slow(("id", "minv"))])
def test_mimics_and_every_joint_type(bench: Bench, functions: tuple[str, ...]) -> None:
    robot = every_joint()
    acc = accelerator(robot, *functions, ii=4)
    assert bench(robot, acc, 6, *STALLS).startswith(f"right: {6 * len(functions)} tasks")


@pytest.mark.parametrize(
    ("name", "ii", "each"),
    [
        *(slow(*many) for many in (("iiwa14", 4, 5), ("iiwa14", 2, 40), ("hyq", 3, 40))),
    ],
)
def test_robots_of_the_papers(bench: Bench, name: str, ii: int, each: int) -> None:
    robot = condyle.load(name)
    assert bench(robot, accelerator(robot, ii=ii), each, *STALLS).startswith(f"right: {7 * each} tasks")


@pytest.mark.slow
@pytest.mark.parametrize(("functions", "ii"), [(("id",), 1), (("m", "minv", "fd"), 8)])
def test_atlas(bench: Bench, functions: tuple[str, ...], ii: int) -> None:
    """A few functions at a time, which iverilog loads and runs sooner than all of them in one design; more tasks than
    are in flight at once. Its derivatives take minutes: `python -m benchmarks.fpga simulation --only atlas`."""
    robot = condyle.load("atlas")
    acc = accelerator(robot, *functions, ii=ii)
    each = 2 + acc.latency(functions[-1]) // (ii * len(functions))
    assert bench(robot, acc, each, *STALLS).startswith(f"right: {each * len(functions)} tasks")


STYLE = ("BLKSEQ", "UNUSEDSIGNAL", "DECLFILENAME")
"""A sum before its clamp is a variable of a clocked block; products lose low bits; files hold many modules."""


@needs("verilator")
@pytest.mark.parametrize(
    ("functions", "ii", "folding", "pipeline", "word"),
    [
        (("dfd", "difd", "rk4"), 2, 1, 0, "27x18"),
        (("id",), 2, 1, 0, "27"),  # products of two pieces
        slow((), 1, 1, 3, "27x18"),
        *(slow(("did", "minv"), 4, 4, pipeline, "27x18") for pipeline in (2, 3)),
    ],
)
def test_verilator_has_nothing_to_say(tmp_path, functions, ii: int, folding: int, pipeline: int, word: str) -> None:
    """Widths that do not fit are said too."""
    robot = condyle.load("hyq") if folding > 1 else condyle.chain(2, 0)
    acc = accelerator(robot, *functions, word=word, ii=ii, folding=folding, pipeline=pipeline)
    texts = sources(acc, "rig", "")
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    command = ["verilator", "--lint-only", "-Wall", *(f"-Wno-{one}" for one in STYLE), "--top-module", "rig"]
    command += ["--default-language", "1364-2005", *texts]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout + found.stderr) == (0, "")


@needs("verilator")
def test_verilator_takes_the_bench_of_answers_of_any_width(tmp_path) -> None:
    sizes = {"N": 2, "F": 3, "G": 16, "T": 64, "A": 9000, "P": 9024}
    ports = ["input clock, reset, in_valid, out_ready", "input [2:0] in_function", "input [15:0] in_tag"]
    ports += ["input [63:0] in_data", "output in_ready, out_valid, out_flag, out_error", "output [2:0] out_function"]
    text = f"module rig ({', '.join([*ports, 'output [15:0] out_tag', 'output [8999:0] out_data'])});\nendmodule\n"
    text_of_sizes = ", ".join(f"{name} = {size}" for name, size in sizes.items())
    (tmp_path / "rig.v").write_text(text + bench_text("bench.v", "rig_bench", text_of_sizes, {"TOP": "rig"}))
    command = ["verilator", "--lint-only", "-Wno-fatal", "-Wno-lint", "--timing", "--top-module", "rig_bench", "rig.v"]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr


@pytest.mark.slow
@needs("verilator")
def test_many_states_in_batches_by_verilator(tmp_path) -> None:
    robot = condyle.chain(2, 0)
    acc = accelerator(robot, "id", "m", ii=1)
    states = 40_000  # two batches: tags have 16 bits
    found = check(tmp_path, robot, acc, Facts("rig", "", "", 125.0, "27x18"), states, tool="verilator")
    assert found.right and found.tasks == 2 * states, found


def test_batches_and_a_tool_that_is_not_there(tmp_path, monkeypatch) -> None:
    robot = condyle.chain(2, 0)
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(BuildError, match="apt-get install verilator"):
        check(tmp_path, robot, accelerator(robot, "m"), Facts("rig", "", "", 125.0, ""), 2, tool="verilator")


def test_many_tasks_are_simulated_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    robot, parts = condyle.chain(1, 0), list[int]()

    def simulated(_: object, tasks: Tasks) -> list[str]:
        parts.append(len(tasks.tasks))
        return [*tasks.answers]

    monkeypatch.setattr(simulation, "MOST_TASKS", 3)
    monkeypatch.setattr(simulation.Bench, "_simulated", simulated)
    fx, x = condyle.fixed_point(robot), np.linspace(-0.5, 0.5, 7)[:, None]
    for found, right in zip(fx.simulate("id", x, x, x), fx.inverse_dynamics(x, x, x), strict=True):
        assert np.array_equal(found, right)
    assert parts == [3, 3, 1]
