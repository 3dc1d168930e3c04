"""Which word is enough: DSPs, relative errors of iiwa14, and how well a UR5e follows a motion by computed torque.

Computed torque: tau = id(q, v, a_d + KP (q_d - q) + KD (v_d - v)) by the integers, held for a period of 1 ms; the arm
moves by fd in float64. q_d is a sine of each joint.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import condyle
from benchmarks.fpga.errors import CHUNK, STATES
from benchmarks.fpga.text import Found, error
from benchmarks.sections import table
from condyle.fpga import Options, accelerator, answer_of, consistent, sampled
from condyle.fpga.rtl.accelerator import Plan
from condyle.fpga.rtl.evaluate import evaluate
from condyle.fpga.rtl.vectors import dense, task_of

EXACT, NAMES, BOX = "float64", ("id", "fd", "dfd"), {"v": 10.0, "a": 100.0}
QUANTILES = (0.5, 0.99, 1.0)
ROWS = (EXACT, "32", "27", "27x18", "25x18", "20x18", "18", "16", "12")
PERIOD, STEPS, KP, KD = 1e-3, 4000, 400.0, 40.0
RADIANS, HERTZ = 0.8, 0.5


def measure(row: str, states: int = STATES, steps: int = STEPS) -> dict[str, Any]:
    if row == EXACT:
        return {"rms": followed(row, steps)}
    robot = condyle.load("iiwa14")
    acc = accelerator(robot, Options(word=row, box=BOX))
    quantiles = {
        name: np.quantile(wrong, QUANTILES).tolist() for name, wrong in of_states(robot, acc.plan, states).items()
    }
    return {"dsp": acc.dsp, "interval": acc.ii, "states": states, "errors": quantiles, "rms": followed(row, steps)}


def of_states(robot: condyle.Robot, plan: Plan, n: int) -> dict[str, list[float]]:
    """The largest error of each state's outputs, each relative to its own largest entry in that state."""
    found: dict[str, list[float]] = {name: [] for name in NAMES}
    for chunk in range(n // CHUNK):
        given = consistent(robot, sampled(robot, CHUNK, 1 + chunk, plan.box), plan.box)
        for name, errors in found.items():
            answer, task = evaluate(plan, name, task_of(plan, name, given)), plan.tasks[name]
            worst = np.zeros(CHUNK)
            for port, exact in zip(task.function.outputs, answer_of(robot, task, given, 0.0), strict=True):
                apart = np.abs(dense(plan, name, port.name, answer, exact) - exact)
                worst = np.maximum(worst, apart.max(axis=1) / np.abs(exact).max(axis=1))
            errors += worst[~answer.over].tolist()
    return found


def followed(word: str, steps: int) -> float:
    """The root mean square of q - q_d [rad] over all joints and steps but the first tenth."""
    robot = condyle.load("ur5e")
    exact = robot.compile(threads=1, integrator="rk4")
    control = exact if word == EXACT else condyle.fixed_point(robot, word=word, box=BOX, threads=1)
    turn, phases = 2.0 * np.pi * HERTZ, np.arange(robot.nv) / robot.nv
    q, v, apart = RADIANS * np.sin(phases), RADIANS * turn * np.cos(phases), list[np.ndarray]()
    for k in range(steps):
        angle = turn * PERIOD * k + phases
        q_d, v_d = RADIANS * np.sin(angle), RADIANS * turn * np.cos(angle)
        a = -turn * turn * q_d + KP * (q_d - q) + KD * (v_d - v)
        tau = control.inverse_dynamics(q, v, a)
        q, v = exact.step(q, v, tau if word == EXACT else tau[0], np.array([PERIOD]))
        apart.append(q_d - q)
    return float(np.sqrt(np.mean(np.square(apart[steps // 10 :]))))


def words(found: Found) -> list[str]:
    """Words (`--word`) and what they cost: iiwa14, box v 10, a 100, all seven functions, the default budget of DSPs.
    Errors are those of half of 10 000 states, of 99 % of them, and the maximum. Each is relative to the largest entry
    of the same output in the same state. In other sections it is the largest of all states, and errors are smaller.

    * **Followed within**: a UR5e that follows sines of 0.8 rad and 0.5 Hz by computed torque, with id in this word and
      a period of 1 ms, simulated. It is the root mean square of the distance. The row float64 has the same controller
      without an accelerator."""
    rows: list[list[str]] = []
    for word, entry in found.get("words", {}).items():
        wrong = [" / ".join(map(error, of)) for of in entry.get("errors", {}).values()]
        cells = [str(entry["dsp"]), str(entry["interval"]), *wrong] if wrong else ["-"] * (2 + len(NAMES))
        rows.append([word, *cells, f"{1e3 * entry['rms']:.4g}"])
    heads = ["word", "DSPs", "interval", *(f"{name}: 50 % / 99 % / maximum" for name in NAMES)]
    return table([*heads, "followed within, mrad"], rows)
