"""Jobs as freestanding C: plans, inverse kinematics, a quadratic program, a whole body; no library is needed."""

from __future__ import annotations

import ctypes
import json
import re
import subprocess
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import condyle
from condyle import UnsupportedError
from condyle.backends.c.part_report import PARTS
from condyle.jobs.controllers import AXES, WHOLE_BODY, whole_body
from tests.backends.c.bare import PRINT, answers, needs_parts
from tests.backends.c.test_export import STRICT
from tests.jobs.test_optimal_control import GOAL, problem
from tests.processor import slow
from tests.programs import call, needs

LIMITS = {"u": (-20.0, 20.0), "v": (-2.0, 2.0)}
BARE = ["gcc", *STRICT, "-O1", "-ffreestanding", "-fno-stack-protector", "-nostdlib", "-fPIC", "-shared"]
pytestmark = needs("gcc", "nm")


def library(folder: Path) -> ctypes.CDLL:
    """The functions of a folder, which ask for nothing and write no variable."""
    sources = [path.name for path in folder.glob("*.c") if path.name not in ("test.c", "bare.c")]
    call([*BARE, *sources, "-o", "job.so"], folder)
    for source in sources:
        call(["gcc", *STRICT, "-ffreestanding", "-fno-stack-protector", "-O1", "-c", source, "-o", "job.o"], folder)
        kinds = {line.split()[-2] for line in call(["nm", "job.o"], folder).splitlines()}
        assert kinds <= {"T", "t", "r", "R"}, kinds
    return ctypes.CDLL(str(folder / "job.so"))


def run(function: Any, inputs: Sequence[Any], outputs: Iterable[int], dtype: str, work: int = 0) -> list[Any]:
    """The answers of a call; outputs: their sizes."""
    rows = [np.ascontiguousarray(x, dtype) for x in inputs]
    answers = [np.full(size, -1.0, dtype) for size in outputs]
    room = [np.empty(work, np.uint8)] if work else []
    function(*(ctypes.c_void_p(array.ctypes.data) for array in (*rows, *answers, *room)))
    return answers


def sizes(entry: str, header: str, way: str) -> dict[str, int]:
    """How many numbers each argument has, by the comment above the function."""
    lines = header.split(f"/* {entry}:")[1].split("*/")[0].splitlines()
    words = [line.split()[2] for line in lines if line.startswith(f" * {way} ")]
    return {word.split("[")[0]: int(np.prod([int(n[:-1]) for n in word.split("[")[1:]])) for word in words}


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", slow("float64")])
def test_predictive_control(tmp_path: Path, dtype: str) -> None:
    """The exported test holds a plan and a step to the library's. Then the C alone brings the arm to its goal, and the
    status says of a state that it is no number."""
    job = problem(bounds=LIMITS)
    job.export("c", tmp_path, name="arm", dtype=dtype, embedded=True)
    call(["gcc", *STRICT, "arm.c", "test.c", "-o", "check"], tmp_path)
    assert call(["./check"], tmp_path).split() == ["solve", "right", "step", "right"]
    functions, header = library(tmp_path), (tmp_path / "arm.h").read_text()
    gives, takes = sizes("solve", header, "out"), sizes("step", header, "in ")
    plan = run(functions.arm_solve, [[0, 0], [0, 0], [1e-5, 50, 0], GOAL], gives.values(), dtype, 1 << 16)
    known = dict(zip(gives, plan, strict=True))
    assert known["plan_state"][4] == 1.0

    def step(q: Any, v: Any) -> dict[str, Any]:
        first = {"q": q, "v": v, "asked": [1e-6, 1, 1e-4], "goal": GOAL}
        row = [first[name] if name in first else known[name.replace("before", "plan")] for name in takes]
        return dict(zip(gives, run(functions.arm_step, row, gives.values(), dtype, 1 << 16), strict=True))

    arm, q, v = job.robot.compile(), np.zeros(2), np.zeros(2)  # pyright: ignore[reportAttributeAccessIssue]
    for _ in range(60):
        known = step(q, v)
        q, v = arm.step(q, v, np.float64(known["plan_torque"][:2]), 0.05)
    assert np.abs(q - GOAL).max() < 0.02 and np.abs(v).max() < 0.02
    bad = step([np.nan, 0.0], v)
    assert bad["plan_state"][4] < 0.0 and np.isnan(bad["plan_q"][0])


def test_a_wrong_size_is_no_program(tmp_path: Path) -> None:
    problem(knots=4).export("c", tmp_path, name="arm", dtype="float32", embedded=True)
    header = (tmp_path / "arm.h").read_text()
    gives = {**sizes("solve", header, "in "), **sizes("solve", header, "out")}

    def compiles(**wrong: int) -> bool:
        arrays = "".join(f"static float {name}[{size}];\n" for name, size in (gives | wrong).items() if name != "work")
        work = wrong.get("work", 1 << 16)
        text = f'#include "arm.h"\n{arrays}static char work[{work}];\n'
        text += f"void f(void) {{ ARM_SOLVE({', '.join(gives)}, work); }}\n"
        (tmp_path / "f.c").write_text(text)
        done = subprocess.run(["gcc", *STRICT, "-c", "f.c"], cwd=tmp_path, capture_output=True, check=False)
        return done.returncode == 0

    assert compiles() and not compiles(plan_q=9) and not compiles(plan_q=11) and not compiles(work=64)


@pytest.mark.slow  # 4 s: the compiler
def test_inverse_kinematics(tmp_path: Path) -> None:
    """Iterations end by themselves, where the library's do."""
    robot, frames = condyle.load("iiwa14"), ("iiwa_link_7",)
    goal = robot.compile(frames=frames).frame_placements(robot.random_state(1, 3).q)
    ik, q = robot.inverse_kinematics(frames), 0.1 * np.ones(7)
    iterate = {"until": "done", "most": 300}
    ik.iteration(True).export("c", tmp_path, name="arm", iterate=iterate, embedded=True)
    inputs = [q, np.zeros(7), [0.0], [0.0], goal.translation, goal.rotation]
    function = library(tmp_path).arm_iterate_inverse_kinematics
    found, _, _, done, error, iterations = run(function, inputs, (7, 7, 1, 1, 6, 1), "float64")
    answer = ik.compile()(goal.rotation, goal.translation, q[None])
    assert done == 1.0 and np.abs(error).max() < 1e-5 and iterations == answer.iterations[0]
    np.testing.assert_allclose(found, answer.q[0], atol=1e-7)  # rounding of about ten iterations


@pytest.mark.slow
def test_a_quadratic_program(tmp_path: Path) -> None:
    robot = condyle.load("iiwa14")

    def follow(at: Any, velocity: Any) -> Any:
        J = at.frame("iiwa_link_7").jacobian[:3]
        found = condyle.qp(J.T @ J + 1e-3 * np.eye(7), -J.T @ velocity, box=(-robot.velocity, robot.velocity))
        return {"rates": found.x, "status": found.status}

    f, inputs = robot.function(follow, {"q": "nq", "velocity": 3}), (robot.random_state(1, 0).q[0], [2.0, 0.0, 0.0])
    wanted = f.compile()(*inputs)
    for dtype, within in (("float64", 1e-6), ("float32", 1e-4)):  # docs/how-to/solvers.md
        f.export("c", tmp_path / dtype, name="arm", dtype=dtype, embedded=True)
        rates, status = run(library(tmp_path / dtype).arm_follow, inputs, (7, 1), dtype)
        assert status == 1.0 and np.abs(rates - wanted.rates).max() < within * np.abs(wanted.rates).max()


@pytest.mark.slow  # 6 s: the compiler
def test_a_whole_body(tmp_path: Path) -> None:
    """A quadruped stands. The cost says little of how feet share its weight, so torques differ by more than 1e-6."""
    dog = condyle.load("hyq", floating_base=True)
    feet = ("lf_foot", "rf_foot", "lh_foot", "rh_foot")
    body = partial(whole_body, frames=feet, effort=dog.effort, friction=0.6)
    f = dog.function(body, WHOLE_BODY, sizes={"n_feet": 4}, **AXES)
    q = dog.neutral()
    q[7:] = [-0.2, 0.75, -1.5, -0.2, -0.75, 1.5, -0.2, 0.75, -1.5, -0.2, -0.75, 1.5]
    inputs = q, np.zeros(18), np.zeros(6), np.zeros((4, 3)), np.ones(4)
    f.export("c", tmp_path, name="dog", embedded=True)
    tau, force, _, _, status = run(library(tmp_path).dog_function, inputs, (18, 12, 18, 1, 1), "float64")
    wanted = f.compile()(*inputs)
    assert status == 1.0 and abs(force[2::3].sum() / (9.81 * dog.mass) - 1.0) < 1e-3
    assert np.abs(tau[-12:] - np.ravel(wanted.tau)[-12:]).max() < 1e-4 * np.abs(wanted.tau).max()


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="part='cortex-m7': target 'c' takes it with embedded=True only"):
        problem(knots=4).export("c", tmp_path, part="cortex-m7")
    with pytest.raises(UnsupportedError, match="flash and stack are limits on a processor"):
        problem(knots=4).export("c", tmp_path, embedded=True, stack=100)
    with pytest.raises(UnsupportedError, match=r"target 'cuda' writes no schedules.*export 'c'"):
        problem(knots=4).export("cuda", tmp_path)


@pytest.mark.slow
@needs_parts
def test_a_step_on_every_processor(tmp_path: Path) -> None:
    """Half a second ahead at 50 Hz: at most 200 000 instructions, 40 KB of flash, 2 KB of stack, 20 KB of workspace.
    What the README says of the test is so."""
    arms = problem(knots=25, dt=0.02, bounds=LIMITS)
    for part in PARTS:
        folder, most = tmp_path / part, {"flash": 40 << 10, "stack": 2048}
        arms.export("c", folder, name="arm", dtype="float32", embedded=True, part=part, **most)
        report = json.loads((folder / "report.json").read_text())
        (least, counted) = report["functions"]["step"]["instructions"]
        assert least == counted < 200_000, part
        commands = (folder / "README.md").read_text().rsplit("```sh\n", 1)[1].split("```")[0]
        call(["bash", "-e", "-c", commands], folder)
    work = (tmp_path / part / "arm.h").read_text().split("arm_step_work_bytes = ")[1].split()[0]
    assert report["functions"]["step"]["work"] == int(work) < 20 << 10 and report["ram"] >= int(work)


@pytest.mark.slow
@needs_parts
def test_plans_have_equal_bits_everywhere(tmp_path: Path) -> None:
    """A plan and a step, on every part and here, if no operation is fused."""
    problem(bounds=LIMITS).export("c", tmp_path / "arm", name="arm", dtype="float32", embedded=True)
    test = (tmp_path / "arm" / "test.c").read_text().split("\n#ifndef CONDYLE_BARE\nint main")[0]
    size = sizes("step", (tmp_path / "arm" / "arm.h").read_text(), "out")["plan_torque"]
    name = re.findall(rf"static float (step_got_\d+)\[{size}\]", test)[-1]
    show = f"int show(void) {{ int k; arm_check(); for (k = 0; k < {size}; k++) {{ put({name}[k]); }} return 0; }}\n"
    program = test + PRINT.replace("REAL", "float").replace("BITS", "32") + show
    flags = ["-ffp-contract=off"]
    wanted = answers(None, tmp_path / "arm", program, tmp_path / "here", "float32", flags)
    assert len(wanted) == size and np.isfinite(wanted).all()
    for part in PARTS.values():
        bits = answers(part, tmp_path / "arm", program, tmp_path / part.name, "float32", flags)
        np.testing.assert_array_equal(bits.view(np.uint32), wanted.view(np.uint32), part.name)
