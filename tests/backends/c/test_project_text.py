"""Whole projects of tiny functions, file after file, as texts for people; `--update-golden` rewrites them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from condyle.backends.c.embedded import export_embedded
from condyle.backends.c.export import export_c
from condyle.backends.c.schedule import Entry, Example, Meaning
from condyle.backends.c.schedule_export import export_schedules_c
from condyle.backends.common.exported_files import Coordinates
from condyle.backends.common.facts import Facts, Vectors
from condyle.ir.loops import Give, Repeated, Take, TimeLoop, verify_repeated
from condyle.ir.program import Array, Output, Program
from condyle.ir.schedule import Call, Move, Operand, Schedule, Slab, Sweep, Until, verify_schedule
from tests.backends.texts import Golden, project_text

FACTS = Facts(2, 1, "print", "golden", "arm")
JOINTS = [
    Coordinates("hinge", "revolute", range(1), range(1)),
    Coordinates("no word", "free", range(1, 8), range(1, 7)),
    Coordinates("copy", "revolute", range(0), range(0), "hinge"),
]
VECTORS = Vectors((np.array([[1.0, 2.0], [3.0, 4.0]]), np.zeros((2, 0))),
                  (np.array([[0.5, -2.0], [1.5, -4.0]]), np.zeros((2, 0))), 1e-9, coarser=((1, 0.5),))  # fmt: skip


def halves(name: str = "half") -> Program:
    """y = (x0 / 2, -x1), of two numbers and of an array without any, which an answer has too."""
    nodes = (("input", 0, 0), ("input", 0, 1), ("const", 0.5), ("mul", 0, 2), ("neg", 1))
    inputs, arrays = ((Array(word, (2,)), Array(f"no_{word}", (0,))) for word in "xy")
    return Program(name, inputs, arrays, nodes, (Output(0, 0, 3), Output(0, 1, 4)))


def test_c(tmp_path: Path, golden: Golden) -> None:
    body = halves("roll")
    loop = TimeLoop(5, (Take(0), Take(every=1)), (Give(0, 2), Give(1, 0, True)))
    inputs = body.inputs[0], Array("no_x", (5, 0))
    roll = verify_repeated(Repeated("roll", body, loop, inputs, (Array("y", (3, 2)), Array("no_y", (0,)))))
    told = Vectors((np.ones((2, 2)), np.zeros((2, 0))), (np.ones((2, 6)), np.zeros((2, 0))), 1e-3, (5, 2))
    vectors = {"half": VECTORS, "roll": told}
    files = export_c(
        [halves(), roll, halves("other")], FACTS, tmp_path, vectors, {"joints": ["hinge"]}, JOINTS, bodies=3
    )
    assert [path.name for path in files] == [
        "arm.h", "arm_facts.c", "arm_half.c", "arm_roll.c", "arm_other.c", "test.c", "CMakeLists.txt", "README.md",
        "robot.json", "condyle-export.json",
    ]  # fmt: skip
    golden("project_c.txt", project_text(sorted(path for path in files if path.name != "arm_other.c")))


@pytest.mark.parametrize(("dtype", "libm"), [("float64", False), ("float32", True)])
def test_embedded(tmp_path: Path, golden: Golden, dtype: str, libm: bool) -> None:
    vectors = {"half": VECTORS}
    options = {"dtype": dtype, "bodies": 3, "libm": libm}
    files = export_embedded([halves(), halves("other")], FACTS, tmp_path, vectors, {}, JOINTS, **options)  # type: ignore[arg-type]
    golden(f"project_embedded_{dtype}.txt", project_text(sorted(path for path in files if path.name != "arm_other.c")))


NEAR = Program(
    "near", (Array("x", (2,)), Array("y", (2,))), (Array("z", (2,)),),
    (("input", 0, 0), ("input", 1, 1), ("add", 0, 1)), (Output(0, 0, 2), Output(0, 1, 0)),
)  # fmt: skip


def entry() -> Entry:
    """Rows and panels, a sweep backwards, a loop with a flag, a move, and numbers in the code."""
    slabs = (
        *(Slab(word, 3, 2) for word in ("a", "b", "fixed")), Slab("c", 3, 2, is_zero=True), Slab("p", 1, 16),
        Slab("flag", 1, 1, is_zero=True), Slab("r", 1, 16, is_zero=True),
    )  # fmt: skip
    body = (
        Call("near", 3, (Operand("a"), Operand("fixed", 1, 0)), (Operand("c"),)),
        Call("near", 1, (Operand("a", 2), Operand("c")), (Operand("b", 1),)),
        Call("near", 8, (Operand("p"), Operand("a", 1, 0)), (Operand("r"),), True),
        Sweep(2, (Call("near", 1, (Operand("c", 0, 1, 1), Operand("c", 2, 1, -1)), (Operand("c", 1, 1, 1),)),), True),
        Until("flag", 4, (Move(Operand("a"), Operand("b"), 2), Move(Operand("c", 2, 0), Operand("b", 1), 2))),
    )
    schedule = Schedule("solve", slabs, ("a", "fixed", "p"), ("b", "r"), body, 8)
    meanings = {
        word: Meaning((3, 2), "m | rad", f"array {word}", "goal" if word == "a" else "") for word in ("a", "b", "fixed")
    }
    meanings |= {word: Meaning((1, 2, 8), "-", f"panel {word}") for word in "pr"}
    example = Example(
        {"a": np.ones((3, 2)), "p": np.ones((1, 16))}, {"b": np.ones((3, 2)), "r": np.ones((1, 16))}, 1e-6
    )
    return Entry(
        verify_schedule(schedule), "what it computes", meanings, example, {"fixed": np.arange(6.0).reshape(3, 2)}
    )


@pytest.mark.parametrize("embedded", [False, True], ids=["c", "embedded"])
def test_schedules(tmp_path: Path, golden: Golden, embedded: bool) -> None:
    dtype = "float32" if embedded else "float64"
    files = export_schedules_c([entry()], {"near": NEAR}, FACTS, tmp_path, {}, JOINTS, dtype, embedded)
    golden(f"project_schedule_{'embedded' if embedded else 'c'}.txt", project_text(sorted(files)))
