"""A whole CUDA project of tiny functions, file after file, as a text for people; `--update-golden` rewrites it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from condyle.backends.common.exported_files import Coordinates
from condyle.backends.common.facts import Facts, Vectors
from condyle.backends.cuda.cpp.project import export_cuda
from condyle.backends.cuda.launches import Composed
from condyle.ir.program import Array, Output, Program
from condyle.specification import Call, Function, Repeat
from condyle.specification.ports import Port
from tests.backends.texts import Golden, project_text

FACTS = Facts(2, 2, "print", "golden", "arm")
JOINTS = [
    Coordinates("hinge", "revolute", range(1), range(1)),
    Coordinates("slide", "prismatic", range(1, 2), range(1, 2)),
]


def ports(*names: str) -> tuple[Port, ...]:
    return tuple(Port(name, ("nv",), "m", "world", f"what {name} is") for name in names)


BACK = Function("back", "back_again", "w = q + b", ports("q", "v", "b"), ports("w"))
FORTH = Function("forth", "go_forth", "b = w - q", ports("q", "v", "w"), ports("b"), inverse=BACK)
STEP = Function("step", "take_step", "q_next = q u", ports("q", "u"), ports("q", "m", "flag", "zeros"))
FORTH_F = Program(
    "forth", tuple(Array(name, (2,)) for name in "qvw"), (Array("b", (2,)),),
    (*(("input", 0, k) for k in range(2)), *(("input", 2, k) for k in range(2)), ("sub", 2, 0), ("sub", 3, 1)),
    (Output(0, 0, 4), Output(0, 1, 5)),
)  # fmt: skip
BACK_F = replace(
    FORTH_F, name="back", inputs=(*FORTH_F.inputs[:2], Array("b", (2,))), arrays=(Array("w", (2,)),),
    nodes=(*FORTH_F.nodes[:4], ("add", 2, 0), ("add", 3, 1)),
)  # fmt: skip
STEP_F = Program(
    "step", (Array("q", (2,)), Array("u", ())),
    (Array("q_next", (2,)), Array("m", (2, 2)), Array("flag", ()), Array("zeros", (5,))),
    (
        *(("input", 0, 0), ("input", 0, 1), ("input", 1, 0), ("const", 0.5), ("mul", 0, 2), ("rcp", 1)),
        *(("sin", 0), ("cos", 0), ("sin", 2), ("max", 8, 3)),
    ),
    (Output(0, 0, 4), Output(0, 1, 5), Output(1, 0, 6), Output(1, 3, 7), Output(1, 2, 3), Output(2, 0, 9)),
)  # fmt: skip


def alone(function: Function, program: Program) -> Composed:
    call = Call(function, tuple(array.name for array in program.arrays))
    return Composed(function, program.inputs, program.arrays, (call,))


def test_a_project(tmp_path: Path, golden: Golden) -> None:
    """A function and its inverse, one without known numbers, and rollouts with and without."""
    programs = {FORTH: FORTH_F, BACK: BACK_F, STEP: STEP_F}
    two = np.arange(4.0).reshape(2, 2)
    vectors = {
        "forth": Vectors((two, two, two), (0 * two,), 1e-9, coarser=((0, 0.25),)),
        "back": Vectors((two, two, two), (2 * two,), 1e-9),
        "roll": Vectors(
            (two, np.ones((2, 5))),
            (np.ones((2, 6)), np.ones((2, 12)), np.ones((2, 1)), np.zeros((2, 15))),
            1e-3,
            (5, 2),
        ),
    }
    repeat = Repeat(STEP, 5, ("q",), ("u",), 2, ("flag",))
    rollouts = [("roll", "step", repeat, "q ⊕ u"), ("other", "step", repeat, "of others")]
    made = [alone(function, program) for function, program in programs.items()]
    files = export_cuda(
        made, programs, FACTS, {"q": (0, 1)}, tmp_path, vectors, {"joints": ["hinge"]}, JOINTS, 2, rollouts
    )
    golden("project_cuda.txt", project_text(files))
