"""The trotting anymal_kinova of dadu2023/end_to_end.py by OptimalControl: 24 degrees of freedom, 67 knots, 30 inputs.

Inputs are the joints' torques and the forces of the feet, as there, and so are cost, schedule, loop and world (MuJoCo).
Torque limits and friction limits of 0.6 are added. The controller of that experiment (RK4, no limits, NumPy between
compiled functions, one thread) makes each plan beside it, so that times compare. RK4 computes the dynamics and their
derivatives four times in a step and chains them by two products of 24 x 48 matrices: that is its gap.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from condyle.jobs.optimal_control import OptimalControl
from experiments.dadu2023 import sqp
from experiments.dadu2023.engines import Ours
from experiments.dadu2023.loop import MOST, WARM, Loop
from experiments.dadu2023.walker import (
    KNOTS,
    NJ,
    NU,
    STATE,
    TARGETS,
    W_INPUT,
    W_POSTURE,
    W_VELOCITY,
    WANTED,
    H,
    Walker,
    Wanted,
    tasks,
)

Array = NDArray[np.floating]

MU = 0.6
SECONDS = 6.0
THERE = "dadu2023, RK4"
ROWS = ("semi-implicit", "rk4")
INTEGRATORS = {"semi-implicit": "semi_implicit_euler", "rk4": "rk4"}
QUICK = (ROWS[0],)


def problem(walker: Walker, integrator: str) -> OptimalControl:
    weights = {"q": np.sqrt(W_POSTURE), "v": np.sqrt(W_VELOCITY), "u": np.sqrt(W_INPUT)}
    share = walker.weight / 4.0

    def state(at: Any, q_wanted: Any, v_wanted: Any) -> list[Any]:
        return [weights["q"] * at.difference(q_wanted, at.q), weights["v"] * (at.v - v_wanted)]

    def running(
        at: Any, u: Any, stand: Any, feet: Any, tip: Any, q_wanted: Any, v_wanted: Any, u_wanted: Any
    ) -> dict[str, Any]:
        task = tasks(at, u, stand, feet, tip)["task"]
        rows = list[Any]()
        for i in range(4):
            x, y, z = u[NJ + 3 * i : NJ + 3 * i + 3]
            rows += [(side - MU * z) / share - (1.0 - stand[i]) for side in (x, -x, y, -y)]
        residual = [*state(at, q_wanted, v_wanted), weights["u"] * (u - u_wanted), task]
        return {"residual": residual, "below": np.stack(rows)}

    def last(at: Any, stand: Any, feet: Any, tip: Any, q_wanted: Any, v_wanted: Any) -> dict[str, Any]:
        task = tasks(at, np.zeros(NU), stand, feet, tip)["task"]
        return {"residual": [*state(at, q_wanted, v_wanted), task]}

    def dynamics(at: Any, u: Any, stand: Any, feet: Any, tip: Any) -> dict[str, Any]:
        after = at.step(tasks(at, u, stand, feet, tip)["force"], H)
        return {"q": after.q, "v": after.v}

    sizes = {name: size for name, size in {**TARGETS, **WANTED}.items() if name not in STATE}
    most = np.concatenate([np.full(NJ, MOST), np.full(NU - NJ, np.inf)])
    return OptimalControl(
        walker.robot,
        running,
        last,
        knots=KNOTS,
        dt=H,
        inputs=sizes,
        by_knot=tuple(sizes),
        integrator=integrator,
        dynamics=dynamics,
        controls=NU,
        bounds={"u": (-most, most)},
        reference_frame="local_world_aligned",
    )


class Planner:
    """What `Loop` calls."""

    def __init__(self, integrator: str) -> None:
        self.walker = Walker("float64", 1)
        self.solver = problem(self.walker, integrator).compile(threads=1)
        self.seconds, self.length = np.zeros(len(sqp.PARTS)), 1.0
        self.violations = list[float]()

    @staticmethod
    def inputs(wanted: Wanted) -> dict[str, Any]:
        """By the names of the problem's inputs."""
        values = asdict(wanted)
        return {name if name in TARGETS else f"{name}_wanted": value for name, value in values.items()}

    def begin(self, q: Array, v: Array, wanted: Wanted) -> None:
        inputs = self.inputs(wanted)
        self.plan = self.solver.solve(q, v, **inputs)
        if not bool(self.plan.solved):
            raise FloatingPointError(f"the first plan: {self.plan}")
        self.first = int(self.plan.iterations)

    def __call__(self, q: Array, v: Array, wanted: Wanted) -> None:
        self.plan = self.solver.step(self.plan, q, v, **self.inputs(wanted))
        self.violations.append(float(self.plan.violation))

    @property
    def q(self) -> Array:
        return self.plan.q

    @property
    def v(self) -> Array:
        return self.plan.v

    @property
    def u(self) -> Array:
        return self.plan.u

    @property
    def gains(self) -> Array:
        """With a column of zeros, as the other controller's."""
        return np.concatenate([self.plan.K[:1], np.zeros((1, NU, 1))], axis=2)


def measure(row: str, quick: bool) -> dict[str, Any]:
    planner, walker = Planner(INTEGRATORS[row]), Walker("float64", 1)
    loop: Any = Loop({row: planner, THERE: sqp.Controller(walker, Ours(walker))}, "mujoco")  # pyright: ignore
    loop.until(1.5 * WARM * H if quick else SECONDS)
    violations = {"p50": float(np.median(planner.violations)), "max": max(planner.violations)}
    answer = {"first_iterations": planner.first, "violation": violations, "periods": loop.periods()}
    return {**answer, "tracking": loop.tracking()}


def tables(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, list[list[str]]]:
    head = [
        "row",
        "p50, us",
        "p99, us",
        f"{THERE}, p50",
        "times as fast",
        "base off by, mean, mm",
        "largest",
        "tip, mean",
    ]
    table = [head]
    for name in ROWS:
        row = rows.get(name)
        if row is None:
            table.append([name, "not measured"])
            continue
        ours, theirs = (row["periods"][key]["every"]["us"] for key in (name, THERE))
        track = row["tracking"]
        times = [
            f"{ours['p50']:.0f}",
            f"{ours['p99']:.0f}",
            f"{theirs['p50']:.0f}",
            f"{theirs['p50'] / ours['p50']:.1f}",
        ]
        base = track["base_mm"]
        table.append([name, *times, f"{base['mean']:.1f}", f"{base['max']:.1f}", f"{track['tip_mm']['mean']:.1f}"])
    return {"A control step, and tracking": table}
