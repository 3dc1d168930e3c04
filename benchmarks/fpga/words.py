"""Which word is enough: DSPs, relative errors of iiwa14, and how well a UR5e follows a motion by computed torque.

Computed torque: tau = id(q, v, a_d + KP (q_d - q) + KD (v_d - v)) by the integers, held for a period of 1 ms; the arm
moves by fd in float64. q_d is a sine of each joint.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import condyle
from benchmarks.fpga.errors import STATES
from benchmarks.fpga.text import Found, error
from benchmarks.sections import table
from condyle.backends.fpga.vectors import PARTS, worst
from condyle.hardware import Options, accelerator, errors

EXACT, NAMES, BOX = "float64", ("id", "fd", "dfd", "difd"), {"v": 10.0, "a": 100.0}
ROWS = (EXACT, "32", "27", "27x18", "25x18", "20x18", "18", "16", "12")
PERIOD, STEPS, KP, KD = 1e-3, 4000, 400.0, 40.0
RADIANS, HERTZ = 0.8, 0.5


def measure(row: str, states: int = STATES, steps: int = STEPS) -> dict[str, Any]:
    if row == EXACT:
        return {"rms": followed(row, steps)}
    robot, options = condyle.load("iiwa14"), Options(word=row, box=BOX)
    acc = accelerator(robot, options)
    wrong = {name: of for name, of in errors(robot, acc.plan, states).items() if name in NAMES}
    quantiles = {name: [worst(of, part) for part in (*(f"_{p}" for p in PARTS), "")] for name, of in wrong.items()}
    return {"dsp": acc.dsp, "interval": acc.ii, "states": states, "errors": quantiles, "rms": followed(row, steps)}


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
    Relative errors as in the section Boxes: of half of 10 000 states, of 99 % of them, the maximum.

    * **Followed within**: a UR5e that follows sines of 0.8 rad and 0.5 Hz by computed torque, with id in this word and
      a period of 1 ms, simulated. It is the root mean square of the distance. The row float64 has the same controller
      without an accelerator."""
    rows: list[list[str]] = []
    for word, entry in found.get("words", {}).items():
        wrong = [" / ".join(error(x) for x in (of[0], *of[-2:])) for of in entry.get("errors", {}).values()]
        cells = [str(entry["dsp"]), str(entry["interval"]), *wrong] if wrong else ["-"] * (2 + len(NAMES))
        rows.append([word, *cells, f"{1e3 * entry['rms']:.4g}"])
    heads = ["word", "DSPs", "interval", *(f"{name}: 50 % / 99 % / maximum" for name in NAMES)]
    return table([*heads, "followed within, mrad"], rows)
