"""Jobs of a robot's functions as C projects, held to the same schedules with compiled kernels."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.backends.c.schedule import Entry, Example, Meaning
from condyle.compile.targets import NUMPY
from condyle.errors import UnsupportedError
from condyle.exports.exporting import compiler_of, export_schedules
from condyle.functions import riccati
from condyle.ir.schedule import Call, Move, Operand, Schedule, Slab, interpret, verify_schedule
from condyle.specification import Function
from tests.backends.c.test_export import COMPILERS, STRICT
from tests.programs import call

N, NX, NU, LANES = 5, 14, 7, 8


def panels(rng: np.random.Generator, knots: int, rows: int, columns: int) -> Any:
    """Random matrices as panels."""
    groups = -(-columns // LANES)
    wide = np.zeros((knots, rows, groups * LANES))
    wide[..., :columns] = rng.uniform(-0.5, 0.5, (knots, rows, columns))
    return wide.reshape(knots, rows, groups, LANES).swapaxes(1, 2).reshape(knots, -1)


def recursion() -> Schedule:
    """V, K of all knots backwards, then dx and du forwards."""
    slabs = (*riccati.slabs(N, NX, NU, LANES), Slab("V_last", 1, 2 * (NX + 1) * LANES), Slab("dx_first", 1, NX))
    begin = Move(Operand("V_last"), Operand("V", N), 1), Move(Operand("dx_first"), Operand("dx"), 1)
    body = (*begin, riccati.backward(N, NX, NU, LANES), riccati.forward(N, NX, NU, LANES))
    inputs = ("Fx", "Fu", "Hx", "Hu", "reg", "V_last", "dx_first")
    return verify_schedule(Schedule("recursion", slabs, inputs, ("K", "dx", "du"), body, LANES))


def example(schedule: Schedule, kernels: dict[str, Function], inputs: dict[str, Any], tolerance: float) -> Example:
    """With answers by kernels in NumPy."""
    compiler = compiler_of(condyle.load("iiwa14"))

    def run(function: Function, n: int, rows: Any, answers: Any) -> None:
        compiler.build(function, NUMPY, "float64")(n, [np.ascontiguousarray(x) for x in rows], answers, 1)

    runs = {name: partial(run, function) for name, function in kernels.items()}
    return Example(inputs, interpret(schedule, runs, inputs), tolerance)


def described(schedule: Schedule, answers: Example) -> Entry:
    names = (*schedule.inputs, *schedule.outputs)
    shapes = {name: (schedule.slab(name).rows, schedule.slab(name).size) for name in names}
    meanings = {name: Meaning(shape, "mixed", f"rows of {name}") for name, shape in shapes.items()}
    return Entry(schedule, "of a test", meanings, answers)


def test_a_riccati_recursion(tmp_path: Path) -> None:
    """Columns of 14 states and 7 controls. Rounding is 1e-15; 1e-11 leaves room for the condition of Quu."""
    rng, schedule = np.random.default_rng(0), recursion()
    kernels = {function.name: function for function in riccati.riccati(NX, NU, LANES)}
    sizes = {"Fx": (NX + 1, NX + 1), "Fu": (NX, NU), "Hx": (NX + 1 + NU, NX + 1), "Hu": (NU, NU)}
    inputs = {name: panels(rng, N, rows, columns) for name, (rows, columns) in sizes.items()}
    inputs["Fx"] *= 0.4  # so that nothing grows
    inputs |= {
        "reg": np.full((1, 1), 20.0),
        "V_last": panels(rng, 1, NX + 1, NX + 1),
        "dx_first": rng.normal(size=(1, NX)),
    }
    whole = example(schedule, kernels, inputs, 1e-11)
    assert all(float(np.abs(array).max()) < 1e3 for array in whole.outputs.values())
    out = export_schedules(condyle.load("iiwa14"), "c", tmp_path, [described(schedule, whole)], kernels, name="arm")
    assert {path.name for path in out} >= {"arm.h", "arm.c", "test.c", "README.md", "robot.json", "CMakeLists.txt"}
    call([COMPILERS[0], *STRICT, "-march=native", "arm.c", "test.c", "-o", "check", "-lm"], tmp_path)
    assert call(["./check"], tmp_path).count("right") == 3


def test_functions_of_users_and_what_all_knots_share(tmp_path: Path) -> None:
    """A function of a robot at some knots and at one, in float32; a kernel that no schedule calls is left out."""
    robot = condyle.load("ur5e")

    def tip(at: Any, goal: Any) -> Any:
        return {"error": at.frame("tool0").translation - goal, "power": np.sum(at.v * at.inverse_dynamics(0.0 * at.v))}

    function = robot.function(tip, inputs={"q": "nq", "v": "nv", "goal": 3})
    slabs = Slab("q", 4, 6), Slab("v", 4, 6), Slab("goal", 1, 3), Slab("error", 5, 3), Slab("power", 5, 1)
    outputs = Operand("error"), Operand("power")
    knots = Call("tip", 4, (Operand("q"), Operand("v"), Operand("goal", step=0)), outputs)
    last = Call(
        "tip", 1, (Operand("q", 3), Operand("v", 3), Operand("goal")), tuple(x._replace(row=4) for x in outputs)
    )
    schedule = verify_schedule(Schedule("tips", slabs, ("q", "v", "goal"), ("error", "power"), (knots, last)))
    q, v = robot.random_state(4, 0)
    goal = np.array([[0.3, -0.2, 0.4]])
    reference = function.reference(q, v, goal)
    rows = [np.reshape(np.concatenate([x, x[3:]]), (5, -1)) for x in (reference.error, reference.power)]
    answers = Example({"q": q, "v": v, "goal": goal}, {"error": rows[0], "power": rows[1]}, 1e-5)
    kernels = {"tip": function.specification, "none": function.specification}
    bound = condyle.compile.options.bound_of(robot, function.specification_frames)
    entry = described(schedule, answers)
    export_schedules(robot, "c", tmp_path, [entry], kernels, dtype="float32", bound=bound)
    call([COMPILERS[0], *STRICT, "ur5e.c", "test.c", "-o", "check", "-lm"], tmp_path)
    assert call(["./check"], tmp_path).count("right") == 2
    assert (
        "const float *goal" in (tmp_path / "ur5e.h").read_text() and "kernel_1" not in (tmp_path / "ur5e.c").read_text()
    )


@pytest.mark.smoke
def test_errors(tmp_path: Path) -> None:
    robot, entry = condyle.load("iiwa14"), described(recursion(), Example({}, {}))
    with pytest.raises(UnsupportedError, match="target='fortran'"):
        export_schedules(robot, "fortran", tmp_path, [entry], {})
    with pytest.raises(UnsupportedError, match=r"compile\('cuda'\)\.solve"):
        export_schedules(robot, "cuda", tmp_path, [entry], {})
    (tmp_path / "README.md").write_text("mine")
    with pytest.raises(UnsupportedError, match=r"README\.md"):
        export_schedules(robot, "c", tmp_path, [entry], {})
