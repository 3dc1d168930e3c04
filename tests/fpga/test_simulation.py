"""Batches of a simulation, and what is written for it: with a bench that says what it is told."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle import fpga
from condyle.errors import BuildError, UnsupportedError
from condyle.fpga import Options, simulation
from condyle.fpga.rtl.evaluate import evaluate
from condyle.fpga.rtl.export import Facts
from condyle.fpga.rtl.vectors import task_of
from condyle.fpga.simulation import Bench, Verdict, check, simulate
from tests.programs import needs

ROBOT = condyle.chain(1, 0)
FACTS = Facts("rig", "", "", 125.0, "27x18")
Said = list[tuple[str, ...]]


def acted(patch: pytest.MonkeyPatch, answers: Iterable[Callable[[Path], str]]) -> Said:
    """Puts answers in place of simulations; the arguments of each."""
    said: Said = []
    every = iter(answers)

    def bench(folder: Path, name: str, plusargs: Iterable[str] = (), tool: str = "iverilog") -> str:
        said.append((name, tool, *plusargs))
        return next(every)(folder)

    patch.setattr(simulation, "simulate", bench)
    return said


def right(folder: Path) -> str:
    """As the bench says it: all tasks in the file, ten cycles each."""
    count = len((folder / "tasks.hex").read_text().splitlines())
    assert count == len((folder / "answers.hex").read_text().splitlines())
    return f"right: {count} tasks, cycles {10 * count}, latency 7"


def test_batches_have_the_tags_that_there_are_and_other_states_and_stalls(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Eight tags and two functions: four states a batch."""
    files: list[str] = []

    def kept(folder: Path) -> str:
        files.append((folder / "tasks.hex").read_text())
        return right(folder)

    monkeypatch.setattr(simulation, "TAG_BITS", 3)
    acc = fpga.accelerator(ROBOT, Options(("id", "m")))
    said = acted(monkeypatch, [kept] * 5)
    assert check(tmp_path, ROBOT, acc, FACTS, 18) == Verdict("right: 36 tasks, cycles 360", 36, 360)
    stalls = ((40, 40), (0, 0), (90, 0), (0, 90), (40, 40))
    assert said == [
        ("rig", "iverilog", f"+stall_in={before}", f"+stall_out={behind}", f"+seed={k}", f"+tasks={count}")
        for k, ((before, behind), count) in enumerate(zip(stalls, (8, 8, 8, 8, 4), strict=True), 1)
    ]
    assert len(set(files)) == 5
    assert files[0].splitlines() == list(fpga.tasks(ROBOT, acc, 4, 2).tasks)
    assert files[4].splitlines() == list(fpga.tasks(ROBOT, acc, 2, 6).tasks)


def test_one_batch_says_what_the_bench_says_and_no_stall_is_no_pattern(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    acc = fpga.accelerator(ROBOT, Options(("id",)))
    said = acted(monkeypatch, [right])
    assert check(tmp_path, ROBOT, acc, FACTS, 3, stall=95, tool="verilator") == (
        "right: 3 tasks, cycles 30, latency 7",
        3,
        30,
    )
    assert said == [("rig", "verilator", "+stall_in=95", "+stall_out=95", "+seed=1", "+tasks=3")]
    monkeypatch.setattr(simulation, "TAG_BITS", 1)
    said = acted(monkeypatch, [right] * 2)
    assert check(tmp_path, ROBOT, acc, FACTS, 4, stall=0).right
    assert [one[2:4] for one in said] == [("+stall_in=0", "+stall_out=0")] * 2


def test_the_first_wrong_batch_is_the_last(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(simulation, "TAG_BITS", 1)
    acc = fpga.accelerator(ROBOT, Options(("id",)))
    said = acted(monkeypatch, [right, lambda _: "WRONG answer, tag 1", right])
    found = check(tmp_path, ROBOT, acc, FACTS, 6)
    assert found == ("WRONG answer, tag 1", 2, 20) and not found.right and len(said) == 2


@pytest.mark.parametrize(("states", "stall"), [(0, 40), (-1, 40), (1, -1), (1, 96)])
def test_states_and_stalls_that_there_are_not(tmp_path: Path, states: int, stall: int) -> None:
    acc = fpga.accelerator(ROBOT, Options(("id",)))
    with pytest.raises(UnsupportedError, match=f"states={states}, stall={stall}: give at least 1 state.* 0 to 95 %"):
        check(tmp_path, ROBOT, acc, FACTS, states, stall)


def answering(folder: Path) -> str:
    """The expected answers, the last tag first."""
    rows = list(enumerate((folder / "answers.hex").read_text().split()))
    return "\n".join(f"answer {tag} {row}" for tag, row in reversed(rows)) + "\nright: all of them"


def test_a_bench_has_room_for_more_tasks_than_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """64 tasks at least, then a power of two; what is not used is padded."""
    said = acted(monkeypatch, [answering] * 4)
    bench = Bench(ROBOT, Options(("id",), name="other"), "id", "iverilog")
    rooms: list[int] = []
    for count in (3, 65, 64, 128):
        states = fpga.consistent(ROBOT, fpga.sampled(ROBOT, count, 5))
        inputs = task_of(bench.acc.plan, "id", states)
        found, want = bench.answer(inputs, lambda _: None), evaluate(bench.acc.plan, "id", inputs)
        assert all(np.array_equal(found.words[word], want.words[word]) for word in want.words)
        assert np.array_equal(found.over, want.over)
        rooms += map(int, re.findall(r"N = (\d+),", (bench.folder / "robot_bench.v").read_text()))
        for file in ("tasks.hex", "answers.hex"):
            rows = (bench.folder / file).read_text().splitlines()
            assert len(rows) == rooms[-1] and set(rows[count:]) <= {"0"} and rows[count - 1] != "0"
    assert rooms == [64, 128, 64, 128]
    assert said == [("robot", "iverilog", "+show", f"+tasks={count}") for count in (3, 65, 64, 128)]


def test_an_answer_that_is_not_the_models_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    acted(monkeypatch, [lambda _: "answer 0 1\nWRONG answer, tag 0"])
    bench = Bench(ROBOT, Options(("id",)), "id", "iverilog")
    inputs = task_of(bench.acc.plan, "id", fpga.consistent(ROBOT, fpga.sampled(ROBOT, 1, 5)))
    with pytest.raises(
        BuildError, match=r"differs from the integer model, please report it:\n(.|\n)*WRONG answer, tag 0"
    ):
        bench.answer(inputs, lambda _: None)


@needs("make")
def test_a_tool_is_made_then_run_and_says_why_it_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("shutil.which", lambda name: name)
    (tmp_path / "Makefile").write_text("obj/Vrig_bench:\n\t@echo no such module >&2; exit 3\n")
    with pytest.raises(BuildError, match=r"^verilator failed to compile the generated Verilog:\nno such module"):
        simulate(tmp_path, "rig", ("+tasks=1",), "verilator")
    program = tmp_path / "obj" / "Vrig_bench"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "right: $*"\n')
    program.chmod(0o755)
    assert simulate(tmp_path, "rig", ("+tasks=1", "+seed=2"), "verilator") == "right: +tasks=1 +seed=2"
    monkeypatch.setattr("shutil.which", lambda name: None if name == "make" else name)
    with pytest.raises(BuildError, match=r"^make is not installed: apt-get install iverilog make"):
        simulate(tmp_path, "rig")
