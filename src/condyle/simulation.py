"""Generated Verilog simulated: every bit of every answer against the integer model, in batches."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from condyle import hardware
from condyle.backends.fpga.build import Accelerator
from condyle.backends.fpga.emit_array import TAG_BITS
from condyle.backends.fpga.emit_project import ANSWERS, TASKS
from condyle.backends.fpga.export import Facts, Sheet, lines, write
from condyle.errors import BuildError, UnsupportedError
from condyle.model.robot import Robot
from condyle.text import write_whole

TOOLS = {"iverilog": ("{}.vvp", "vvp -N {}.vvp"), "verilator": ("obj/V{}_bench", "obj/V{}_bench")}
"""What is made of the bench, and how it is run. iverilog is there at once; verilator compiles long and runs fast."""

MOST_STALLED = 95
"""Per cent: an end that stalls in every cycle ends no simulation."""


class Verdict(NamedTuple):
    """What the bench said: `right: ...`, or WRONG and what; tasks answered and cycles taken by all batches."""

    answer: str
    tasks: int
    cycles: int

    @property
    def right(self) -> bool:
        return self.answer.startswith("right")


def simulate(folder: Path, name: str, plusargs: Sequence[str] = (), tool: str = "iverilog") -> str:
    """The test bench of a written project run: its output. BuildError if the tool is not there or refuses the code."""
    if shutil.which(tool) is None:
        raise BuildError(f"{tool} is not installed: apt-get install {tool} (it simulates what was generated)")
    target, run = (text.format(name) for text in TOOLS[tool])
    made = subprocess.run(["make", "-s", target], cwd=folder, capture_output=True, text=True, check=False)
    if made.returncode:
        raise BuildError(f"{tool} refused the generated code:\n{made.stderr[-2000:]}")
    command, *arguments = run.split()
    command = str(folder / command) if "/" in command else command
    ran = subprocess.run([command, *arguments, *plusargs], cwd=folder, capture_output=True, text=True, check=False)
    return ran.stdout.strip()


def check(
    folder: Path, robot: Robot, acc: Accelerator, facts: Facts, states: int, stall: int = 40, tool: str = "iverilog"
) -> Verdict:
    """So many states a function, all functions mixed; ends at the first batch with a wrong answer.

    Batches take turns: both ends stall `stall` % of the cycles, none does (tasks back to back), the input alone does
    most of the time (tasks sparse), the output alone does.
    """
    if states < 1 or not 0 <= stall <= MOST_STALLED:
        raise UnsupportedError(
            f"states={states}, stall={stall}: give at least one state, and stall 0 to {MOST_STALLED} % of the cycles"
        )
    each = min(states, (1 << TAG_BITS) // len(acc.plan.functions))
    patterns = [(stall, stall), (0, 0), (90, 0), (0, 90)] if stall else [(0, 0)]
    sheet = Sheet({function: {} for function in acc.plan.functions}, 0, acc.plan.box)
    tasks = cycles = 0
    answer = ""
    for batch in range(-(-states // each)):
        found = hardware.tasks(robot, acc, min(each, states - batch * each), 2 + batch)
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
