"""Simulates generated Verilog and compares every bit of every result with the integer model, in batches."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from condyle import fpga
from condyle.compile.options import check_choice
from condyle.errors import BuildError, UnsupportedError
from condyle.fpga.rtl.build import Accelerator
from condyle.fpga.rtl.datapath import Word
from condyle.fpga.rtl.emit_verilog import ANSWERS, TASKS, emit_bench
from condyle.fpga.rtl.evaluate import Answer, evaluate
from condyle.fpga.rtl.export import Facts, Sheet, Tasks, lines, write
from condyle.fpga.rtl.header import TAG_BITS
from condyle.fpga.rtl.target import Integers
from condyle.fpga.rtl.vectors import answer_lines, answer_of, task_lines
from condyle.model.robot import Robot
from condyle.text import write_whole
from condyle.version import __version__

TOOLS = {"iverilog": ("{}.vvp", "vvp -N {}.vvp"), "verilator": ("obj/V{}_bench", "obj/V{}_bench")}
"""The make target and the command of each tool. iverilog starts at once; verilator compiles long and runs fast."""

LEAST_TASKS, MOST_TASKS = 64, 1 << TAG_BITS
"""Of one run of a bench that serves many."""
MOST_STALLED = 95
"""Per cent. With 100 % a simulation would never end."""


class Verdict(NamedTuple):
    """The answer of the bench: `right: ...` or `WRONG ...`; tasks and cycles of all batches."""

    answer: str
    tasks: int
    cycles: int

    @property
    def right(self) -> bool:
        return self.answer.startswith("right")


def simulate(folder: Path, name: str, plusargs: Sequence[str] = (), tool: str = "iverilog") -> str:
    """Runs the test bench of a written project and returns its output. BuildError if a tool is missing or fails."""
    for name_of_tool in (tool, "make"):
        if shutil.which(name_of_tool) is None:
            raise BuildError(
                f"{name_of_tool} is not installed: apt-get install {tool} make (they simulate the generated Verilog)"
            )
    target, run = (text.format(name) for text in TOOLS[tool])
    made = subprocess.run(["make", "-s", target], cwd=folder, capture_output=True, text=True, check=False)
    if made.returncode:
        raise BuildError(f"{tool} failed to compile the generated Verilog:\n{made.stderr[-2000:]}")
    command, *arguments = run.split()
    command = str(folder / command) if "/" in command else command
    ran = subprocess.run([command, *arguments, *plusargs], cwd=folder, capture_output=True, text=True, check=False)
    return ran.stdout.strip()


def check(
    folder: Path, robot: Robot, acc: Accelerator, facts: Facts, states: int, stall: int = 40, tool: str = "iverilog"
) -> Verdict:
    """Simulates so many states for each function, all functions mixed. It ends at the first batch with a wrong result.

    The batches cycle through four patterns: both ends stall in `stall` % of the cycles; no end stalls; the input stalls
    most of the time; the output stalls most of the time.
    """
    if states < 1 or not 0 <= stall <= MOST_STALLED:
        raise UnsupportedError(
            f"states={states}, stall={stall}: give at least 1 state, and stalls in 0 to {MOST_STALLED} % of the cycles"
        )
    each = min(states, (1 << TAG_BITS) // len(acc.plan.functions))
    patterns = [(stall, stall), (0, 0), (90, 0), (0, 90)] if stall else [(0, 0)]
    sheet = Sheet({function: {} for function in acc.plan.functions}, 0, acc.plan.box)
    tasks = cycles = 0
    answer = ""
    for batch in range(-(-states // each)):
        found = fpga.tasks(robot, acc, min(each, states - batch * each), 2 + batch)
        if batch == 0:
            write(folder, acc, facts, sheet, found, {})
        else:
            write_whole(folder / TASKS, lines(found.tasks))
            write_whole(folder / ANSWERS, lines(found.answers))
        before, behind = patterns[batch % len(patterns)]
        stalls = (f"+stall_in={before}", f"+stall_out={behind}", f"+seed={1 + batch}", f"+tasks={len(found.tasks)}")
        answer = simulate(folder, facts.name, stalls, tool)
        right = re.search(r"^right: (\d+) tasks, cycles (\d+)", answer, re.MULTILINE)
        if right is None:
            break
        tasks, cycles = tasks + int(right[1]), cycles + int(right[2])
    if states > each and answer.startswith("right"):
        answer = f"right: {tasks} tasks, cycles {cycles}"
    return Verdict(answer, tasks, cycles)


class Bench:
    """One function of an accelerator's Verilog, to be simulated many times. It is compiled once."""

    def __init__(self, robot: Robot, options: fpga.Options, function: str, tool: str) -> None:
        check_choice("tool", tool, tuple(TOOLS))
        self.robot, self.function, self.tool = robot, function, tool
        self.options = replace(options, name="robot")
        self.folder = Path(tempfile.mkdtemp())
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    @cached_property
    def acc(self) -> Accelerator:
        return fpga.accelerator(self.robot, self.options)

    def answer(self, inputs: Mapping[Word, Integers], progress: Callable[[str], None]) -> Answer:
        """The words of the simulated results. BuildError if one differs from the integer model."""
        progress("generating ...")
        n = max(len(value) for value in inputs.values())
        expected = evaluate(self.acc.plan, self.function, inputs)
        rows = answer_lines(self.acc, self.function, expected, n)
        tasks = task_lines(self.acc, self.function, inputs, n)
        found: list[str] = []
        for first in range(0, n, MOST_TASKS):
            progress(f"simulating, {first} of {n} tasks done ...")
            part = slice(first, first + MOST_TASKS)
            found += self._simulated(Tasks(tuple(tasks[part]), tuple(rows[part])))
        progress("")
        return answer_of(self.acc, self.function, found)

    def _simulated(self, tasks: Tasks) -> list[str]:
        folder, n = self.folder, len(tasks.tasks)
        bench = folder / f"{self.options.name}_bench.v"
        room = max(LEAST_TASKS, 1 << (n - 1).bit_length())
        text = emit_bench(self.acc, self.options.name, room)
        if not bench.exists():
            facts = Facts(self.options.name, self.robot.fingerprint, __version__, self.options.clock, self.options.word)
            write(
                folder,
                self.acc,
                facts,
                Sheet({function: {} for function in self.acc.plan.functions}, 0, self.acc.plan.box),
                tasks,
                {},
            )
            write_whole(bench, text)
        elif f"N = {room}," not in bench.read_text(encoding="ascii"):
            write_whole(bench, text)
        padding = ("0",) * (room - n)
        write_whole(folder / TASKS, lines(tasks.tasks + padding))
        write_whole(folder / ANSWERS, lines(tasks.answers + padding))
        said = simulate(folder, self.options.name, ("+show", f"+tasks={n}"), self.tool)
        if re.search(r"^right:", said, re.MULTILINE) is None:
            raise BuildError(f"the Verilog differs from the integer model, please report it:\n{said[-1000:]}")
        by_tag = {int(tag): row for tag, row in re.findall(r"^answer (\d+) ([0-9a-f]+)$", said, re.MULTILINE)}
        return [by_tag[tag] for tag in range(n)]
