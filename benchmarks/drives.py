"""What joint forces cost: steps and their derivatives with damping, friction and limits, over those without.

    python -m benchmarks.drives

Writes results/drives.json. N = 256, one thread, one core, interleaved, dense NumPy arrays with out=. Ratios of the
least times, and what a state takes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import condyle
from benchmarks import results
from benchmarks.bench import BATCH, pinned
from benchmarks.run import FULL
from condyle.cli.bound import Call, Sampling, interleaved

DT = 1e-3
FORCES: dict[str, tuple[str, ...]] = {
    "none": (),
    "damping": ("damping",),
    "damping, friction": ("damping", "friction"),
    "damping, friction, limits": ("damping", "friction", "limits"),
}
ROBOTS = {"panda": False, "hyq-floating": True}


def robot_of(name: str, floating: bool) -> condyle.Robot:
    """With damping and friction in every joint of one degree of freedom."""
    robot = condyle.load(name.removesuffix("-floating"), floating_base=floating)
    joints = [joint.name for joint in robot.joints if joint.nv == 1 and joint.mimic is None]
    return robot.with_drives({name: condyle.Drive(damping=0.5, friction=0.3) for name in joints})


def calls(robot: condyle.Robot, dtype: str, method: str) -> dict[str, Call]:
    state = robot.random_state(BATCH, 1)
    arguments = [np.asarray(x, dtype) for x in (state.q, state.v, np.zeros_like(state.v), DT)]

    def call_of(forces: tuple[str, ...]) -> Callable[[], Any]:
        f = getattr(robot.compile(dtype=dtype, threads=1, joint_forces=forces), method)
        out = tuple(f(*arguments))
        return lambda: f(*arguments, out=out)

    return {name: call_of(forces) for name, forces in FORCES.items()}


def measured(robot: condyle.Robot) -> dict[str, Any]:
    found: dict[str, Any] = {}
    sampling = Sampling("cpu", 3 * FULL.samples, FULL.sample_s, FULL.longest_s)
    for dtype in ("float64", "float32"):
        for method in ("step", "step_derivatives"):
            ns = interleaved(calls(robot, dtype, method), sampling)
            bare = ns["none"].minimum
            ratios = {
                name: {"least": one.minimum / bare, "median": one.median / ns["none"].median}
                for name, one in ns.items()
            }
            found[f"{method} {dtype}"] = {"ns": bare / BATCH, "ratios": ratios}
    return found


def main() -> None:
    with pinned():
        robots = {name: measured(robot_of(name, floating)) for name, floating in ROBOTS.items()}
    whole = {**results.certificate(), "machine": results.machine(), "states": BATCH, "robots": robots}
    results.write(results.FOLDER / "drives.json", whole)
    for name, rows in robots.items():
        for row, found in rows.items():
            said = ", ".join(
                f"{forces} {ratio['least']:.3f}" for forces, ratio in found["ratios"].items() if forces != "none"
            )
            print(f"{name} {row}: {found['ns']:.1f} ns; {said}")


if __name__ == "__main__":
    main()
