"""Computed torque of an arm at 1 kHz and predictive control of another at 100 Hz, as C for a microcontroller.

With a cross compiler and qemu both are tried on an emulated Cortex-M7, and their instructions are counted; without them
on this machine.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import condyle

CLOCK, CYCLES = 400e6, 2.0  # [Hz]; cycles an instruction, a guess that is on the safe side for a Cortex-M7
emulated = bool(shutil.which("arm-none-eabi-gcc") and shutil.which("qemu-system-arm"))
processor: dict[str, Any] = {"part": "cortex-m7", "flash": 131072, "stack": 8192} if emulated else {}


def load_of(export: Any, folder: Path, name: str, function: str, rate: float) -> None:
    """Exports to a folder and prints what a function needs when it is called at a rate [Hz]."""
    export("c", folder, name=name, dtype="float32", embedded=True, **processor)
    if not emulated:
        subprocess.run("cc -O2 *.c -o check && ./check", shell=True, cwd=folder, check=True)
        return
    report = json.loads((folder / "report.json").read_text())
    needs, flash = report["functions"][function], sum(report["flash"].values())
    part = needs["instructions"][1] * CYCLES * rate / CLOCK
    print(f"{name}_{function}: {needs['instructions'][1]} instructions, {100 * part:.1f} % at {rate:g} Hz;", end=" ")
    print(f"{flash / 1024:.1f} KB of flash in all, {needs['stack']} bytes of stack")
    assert part < 0.1


# Computed torque: the torques of a motion, with what the friction of the joints takes.

drives = {
    f"iiwa_joint_{k}": condyle.Drive(gear=100.0, rotor_inertia=3e-5, damping=5.0, friction=2.0) for k in range(1, 8)
}
iiwa = condyle.load("iiwa14").with_drives(drives)
FRICTION: dict[str, Any] = {"joint_forces": ("damping", "friction"), "friction_velocity": 0.05}


def track(at: Any, goal_q: Any, goal_v: Any, goal_a: Any) -> dict[str, Any]:
    """M a + c + friction, with a that brings an arm back to its motion."""
    return {"tau": at.inverse_dynamics(goal_a + 400.0 * (goal_q - at.q) + 40.0 * (goal_v - at.v))}


sizes = {"q": "nq", "v": "nv", "goal_q": 7, "goal_v": 7, "goal_a": 7}
control, arm = iiwa.function(track, sizes, **FRICTION), iiwa.compile(**FRICTION)
law, q, v, most = control.compile(), 0.1 * np.ones(7), np.zeros(7), 0.0
for t in np.arange(0.0, 1.0, 1e-3):
    goal = 0.3 * np.sin(3.0 * t), 0.9 * np.cos(3.0 * t), -2.7 * np.sin(3.0 * t)
    q, v = arm.step(q, v, law(q, v, *(x * np.ones(7) for x in goal)), 1e-3)
    most = max(most, float(np.abs(q - goal[0]).max())) if t > 0.5 else 0.0
print(f"after 0.5 s the arm is within {1e3 * most:.2f} mrad of its motion")
assert most < 2e-3

# Predictive control: half a second ahead, torques and speeds within their limits.

two = (
    condyle.Builder()
    .body("upper", mass=2.0, com=(0.0, 0.0, 0.15), inertia=0.016 * np.eye(3))
    .body("fore", mass=1.2, com=(0.0, 0.0, 0.12), inertia=0.006 * np.eye(3))
    .joint("shoulder", parent="world", child="upper", type="revolute", axis=(0.0, 1.0, 0.0))
    .joint("elbow", parent="upper", child="fore", type="revolute", axis=(0.0, 1.0, 0.0), xyz=(0.0, 0.0, 0.3))
    .build()
)


def along(at: Any, u: Any, goal: Any) -> dict[str, Any]:
    return {"residual": [at.q - goal, 0.1 * at.v, 0.01 * u]}


def at_end(at: Any, goal: Any) -> dict[str, Any]:
    return {"residual": [10.0 * (at.q - goal), at.v]}


limits = {"u": ([-40.0, -20.0], [40.0, 20.0]), "v": ([-8.0, -8.0], [8.0, 8.0])}
plans = condyle.OptimalControl(two, along, at_end, knots=25, dt=0.02, inputs={"goal": 2}, bounds=limits)

with tempfile.TemporaryDirectory() as place:
    load_of(control.export, Path(place) / "iiwa", "iiwa", "track", 1000.0)
    load_of(plans.export, Path(place) / "two", "two", "step", 100.0)
