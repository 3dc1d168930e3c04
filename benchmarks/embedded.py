"""What robots need of microcontrollers: flash, stack, and instructions of a call that an emulator counts.

    python -m benchmarks.embedded [iiwa14 | ur5e | ... | jobs]

Writes results/embedded.json: id, fd and dfd in float32, of iiwa14 on every part and of the others on a Cortex-M7. Needs
the cross compilers and qemu that `.ci/run` installs. "operations" is what `condyle info --counts` prints, "ratio"
instructions over operations. "control": computed torque of iiwa14 with friction in its joints, and the share that it
takes of a processor of 400 MHz at 1 kHz, at two cycles an instruction. "step": predictive control of an arm of two
joints, 25 knots of 20 ms with limits of torques and velocities. "work": bytes that the caller lends. Counts are exact:
they change with the text and with the compiler, not with the machine that counts.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import condyle
from benchmarks import results
from condyle.backends.c.parts import PARTS

PATH = results.FOLDER / "embedded.json"
FUNCTIONS = ("id", "fd", "dfd")
MAIN = "cortex-m7"
JOBS = "jobs"
ROBOTS = {
    "iiwa14": tuple(PARTS),
    **dict.fromkeys(
        ("ur5e", "panda", "hyq-floating", "go2-floating", "g1-floating", "atlas", "atlas-floating"), (MAIN,)
    ),
}
RATE, CLOCK, CYCLES = 1e3, 400e6, 2.0
"""Hz, Hz, and cycles an instruction, which is assumed."""

Row = dict[str, Any]


def main() -> None:
    for name in sys.argv[1:] or (*ROBOTS, JOBS):
        record(name)


def record(name: str, path: Path = PATH) -> None:
    """Puts the rows of a robot into the file, or with "jobs" those of computed torque and predictive control."""
    known: Row = json.loads(path.read_text()) if path.exists() else {"robots": {}}
    about = results.certificate()
    about.pop("load")  # counts do not depend on the machine
    if name == JOBS:
        more = {"control": {part: control(part) for part in PARTS}, "step": {part: step(part) for part in PARTS}}
    else:
        robots = known["robots"] | {name: {part: measure(name, part) for part in ROBOTS[name]}}
        more = {"robots": {robot: robots[robot] for robot in ROBOTS if robot in robots}}
    results.write(path, {**known, **about, **more})


def measure(name: str, part: str, functions: tuple[str, ...] = FUNCTIONS) -> Row:
    """The report of an export on a part, with operations and ratios."""
    robot = condyle.load(name.removesuffix("-floating"), floating_base=name.endswith("-floating"))
    report = reported(
        lambda out: condyle.export(
            robot, "c", out, functions=functions, name="robot", dtype="float32", embedded=True, part=part
        )
    )
    counts = {row["function"]: row["instructions"] for row in condyle.operation_counts(robot)}
    for function, row in report["functions"].items():
        row |= {"operations": counts[function], "ratio": round(row["instructions"][1] / counts[function], 3)}
    print(name, part, report["flash"], report["functions"], flush=True)
    return report


def control(part: str) -> Row:
    """Computed torque with feedback, and friction of the joints that is compensated: of iiwa14 with gears."""
    robot = condyle.load("iiwa14")
    gears = condyle.Drive(damping=0.5, friction=2.0)
    robot = robot.with_drives(dict.fromkeys(robot.joint_names, gears))

    def computed_torque(at: Any, q_goal: Any, v_goal: Any, a_goal: Any) -> Any:
        return at.inverse_dynamics(a_goal + 100.0 * (q_goal - at.q) + 20.0 * (v_goal - at.v))

    inputs = {"q": "nq", "v": "nv", "q_goal": robot.nq, "v_goal": "nv", "a_goal": "nv"}
    function = robot.function(computed_torque, inputs, joint_forces=("damping", "friction"), friction_velocity=0.05)
    report = reported(lambda out: function.export("c", out, dtype="float32", embedded=True, part=part))
    most = report["functions"]["computed_torque"]["instructions"][1]
    print("computed torque", part, report["functions"], flush=True)
    return {**report, "share": RATE * CYCLES * most / CLOCK}


def step(part: str) -> Row:
    """Predictive control of an arm of two joints, half a second ahead: a step, and the first plan."""
    mass = {"mass": 2.0, "com": (0.0, 0.0, 0.15), "inertia": 0.016 * np.eye(3)}
    hinge: Any = {"type": "revolute", "axis": (0.0, 1.0, 0.0)}
    arm = condyle.Builder().body("upper", **mass).body("fore", **mass)
    arm = arm.joint("shoulder", parent="world", child="upper", **hinge)
    arm = arm.joint("elbow", parent="upper", child="fore", xyz=(0.0, 0.0, 0.3), **hinge)

    def cost(at: Any, u: Any, goal: Any) -> Any:
        return {"residual": [10.0 * (at.q - goal), 0.1 * at.v, 0.01 * u]}

    bounds = {"u": (-40.0, 40.0), "v": (-8.0, 8.0)}
    plans = condyle.OptimalControl(arm.build(), cost, knots=25, dt=0.02, inputs={"goal": 2}, bounds=bounds)
    report = reported(lambda out: plans.export("c", out, name="arm", dtype="float32", embedded=True, part=part))
    print("predictive control", part, report["flash"], report["functions"], flush=True)
    return report


def reported(export: Callable[[str], object]) -> Row:
    """The report of what is exported."""
    with tempfile.TemporaryDirectory() as folder:
        export(folder)
        return json.loads(Path(folder, "report.json").read_text())


if __name__ == "__main__":
    main()
