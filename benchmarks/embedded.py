"""What robots need of microcontrollers: flash, stack, and instructions of a call that an emulator counts.

    python -m benchmarks.embedded [iiwa14 | ur5e | ... | track | step | ...]

Writes results/embedded.json: id, fd and dfd in float32, of iiwa14 on every part and of the others on a Cortex-M7. Needs
the cross compilers and qemu that `.ci/run` installs. "operations" is what `condyle info --counts` prints, "ratio"
instructions over operations. Jobs: "track", computed torque with friction in the joints, and the share that it takes of
a processor of 400 MHz at 1 kHz, at two cycles an instruction; "step" of predictive control; "iteration" of inverse
kinematics; "follow", a quadratic program. "work": bytes that the caller lends. Counts are exact:
they change with the text and with the compiler, not with the machine that counts.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import condyle
from benchmarks import results
from condyle.backends.c.part_report import PARTS

PATH = results.FOLDER / "embedded.json"
FUNCTIONS = ("id", "fd", "dfd")
MAIN = "cortex-m7"
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
    for name in sys.argv[1:] or (*ROBOTS, *JOBS):
        record(name)


def record(name: str, path: Path = PATH) -> None:
    """Puts the rows of a robot or of a job into the file."""
    kept: Row = json.loads(path.read_text()) if path.exists() else {"robots": {}}
    about = results.certificate()
    about.pop("load")  # counts do not depend on the machine
    if name in JOBS:
        _, parts = JOBS[name]
        more = {"jobs": kept.get("jobs", {}) | {name: {part: job(name, part) for part in parts}}}
    else:
        robots = kept["robots"] | {name: {part: measure(name, part) for part in ROBOTS[name]}}
        more = {"robots": {robot: robots[robot] for robot in ROBOTS if robot in robots}}
    results.write(path, {**kept, **about, **more})


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


# Jobs: each exports to a folder, with options of its own.


def track(folder: str, **options: Any) -> None:
    """Computed torque of iiwa14 with feedback, and with what the friction of its joints takes."""
    gears = condyle.Drive(gear=100.0, rotor_inertia=3e-5, damping=5.0, friction=2.0)
    robot = condyle.load("iiwa14")
    robot = robot.with_drives(dict.fromkeys(robot.joint_names, gears))

    def track(at: Any, goal_q: Any, goal_v: Any, goal_a: Any) -> Any:
        return {"tau": at.inverse_dynamics(goal_a + 400.0 * (goal_q - at.q) + 40.0 * (goal_v - at.v))}

    inputs = {"q": "nq", "v": "nv", "goal_q": 7, "goal_v": 7, "goal_a": 7}
    law = robot.function(track, inputs, joint_forces=("damping", "friction"), friction_velocity=0.05)
    law.export("c", folder, name="job", **options)


def step(folder: str, **options: Any) -> None:
    """Predictive control of an arm of two joints: 25 intervals of 20 ms, limits of torques and velocities."""
    hinge: Any = {"type": "revolute", "axis": (0.0, 1.0, 0.0)}
    arm = condyle.Builder().body("upper", mass=2.0, com=(0.0, 0.0, 0.15), inertia=0.016 * np.eye(3))
    arm = arm.body("fore", mass=1.2, com=(0.0, 0.0, 0.12), inertia=0.006 * np.eye(3))
    arm = arm.joint("shoulder", parent="world", child="upper", **hinge)
    arm = arm.joint("elbow", parent="upper", child="fore", xyz=(0.0, 0.0, 0.3), **hinge)

    def along(at: Any, u: Any, goal: Any) -> Any:
        return {"residual": [at.q - goal, 0.1 * at.v, 0.01 * u]}

    def at_end(at: Any, goal: Any) -> Any:
        return {"residual": [10.0 * (at.q - goal), at.v]}

    bounds = {"u": ([-40.0, -20.0], [40.0, 20.0]), "v": (-8.0, 8.0)}
    plans = condyle.OptimalControl(arm.build(), along, at_end, knots=25, dt=0.02, inputs={"goal": 2}, bounds=bounds)
    plans.export("c", folder, name="job", **options)


def iteration(folder: str, **options: Any) -> None:
    """An iteration of inverse kinematics of iiwa14."""
    condyle.load("iiwa14").inverse_kinematics(("iiwa_link_7",)).iteration(True).export(
        "c", folder, name="job", **options
    )


def follow(folder: str, **options: Any) -> None:
    """A quadratic program with a box: rates of iiwa14's joints within their limits."""
    robot = condyle.load("iiwa14")

    def follow(at: Any, velocity: Any) -> Any:
        J = at.frame("iiwa_link_7").jacobian[:3]
        plan = condyle.qp(J.T @ J + 1e-3 * np.eye(7), -J.T @ velocity, box=(-robot.velocity, robot.velocity))
        return {"rates": plan.x, "status": plan.status}

    robot.function(follow, {"q": "nq", "velocity": 3}).export("c", folder, name="job", **options)


JOBS: dict[str, tuple[Callable[..., None], tuple[str, ...]]] = {
    "track": (track, tuple(PARTS)),
    "step": (step, tuple(PARTS)),
    "iteration": (iteration, (MAIN,)),
    "follow": (follow, (MAIN,)),
}


def job(name: str, part: str) -> Row:
    """The report of a job on a part, with the share of a processor where it runs at RATE."""
    export, _ = JOBS[name]
    report = reported(partial(export, dtype="float32", embedded=True, part=part))
    if name == "track":
        report["share"] = RATE * CYCLES * report["functions"]["track"]["instructions"][1] / CLOCK
    print(name, part, report["flash"], report["functions"], flush=True)
    return report


def reported(export: Callable[[str], object]) -> Row:
    """The report of what is exported."""
    with tempfile.TemporaryDirectory() as folder:
        export(folder)
        return json.loads(Path(folder, "report.json").read_text())


if __name__ == "__main__":
    main()
