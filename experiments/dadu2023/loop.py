"""The closed loop: a robot in a world follows plans, while controllers make the next one.

In each period the robot follows the plan that was made in the one before, by its feedback gains. The next plan is made
from the state that the model predicts for the end of the period. Several controllers may make it, one after the other,
so that their times compare; the robot follows the first one's.

A shared machine has slow phases. A fixed piece of work, the yardstick, is timed before and after each control step: the
step is quiet where both took at most QUIET times the least.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.dadu2023.sqp import PARTS, Controller
from experiments.dadu2023.trot import course
from experiments.dadu2023.walker import KNOTS, NJ, NV, H, Walker, Wanted
from experiments.dadu2023.worlds import MS, WORLDS

Array = NDArray[np.floating]

WARM = 20
"""Control steps that are not counted."""
FALLEN = 0.35
"""A base lower than this has fallen [m]; it stands at 0.5."""
MOST = 80.0
"""The most that a joint gives [N m]."""


QUIET = 1.3
YARDSTICK = np.ones((64, 64))
"""Its product with itself, so often, takes some 0.2 ms."""
PRODUCTS = 20


class Loop:
    """controllers: by name; the robot follows the first."""

    def __init__(self, controllers: Mapping[str, Controller], world: str) -> None:
        self.controllers, self.time = dict(controllers), 0.0
        self.leader = next(iter(self.controllers.values()))
        self.walker = Walker()
        still = self.walker.stance, np.zeros(NV)
        self.world = WORLDS[world](self.walker, *still)
        for controller in self.controllers.values():
            controller.begin(*still, self.wanted(controller, 0.0))
            controller(*still, self.wanted(controller, 0.0))
        self.seconds = {name: list[float]() for name in self.controllers}
        self.parts = {name: list[Array]() for name in self.controllers}
        self.beside = {name: list[float]() for name in self.controllers}
        self.lengths, self.misses = list[float](), list[Array]()

    def wanted(self, of: Controller | Loop, t: float) -> Wanted:
        """References of the knots of a plan that begins at t, in the number type of a controller."""
        walker = of.walker
        return walker.wanted(course(t + H * np.arange(KNOTS + 1), walker.stance[:3], walker.feet, walker.tip))

    def until(self, end: float) -> None:
        """FloatingPointError where a controller diverges or the robot falls."""
        while self.time < end - 1e-9:
            self.period()

    def period(self) -> None:
        plan = Held(self.leader)
        ahead = self.predicted(plan)
        for name, controller in self.controllers.items():
            wanted, before = self.wanted(controller, self.time + H), yardstick()
            start = time.perf_counter()
            controller(*ahead, wanted)
            self.seconds[name].append(time.perf_counter() - start)
            self.beside[name].append(max(before, yardstick()))
            self.parts[name].append(controller.seconds.copy())
        self.lengths.append(self.leader.length)
        for k in range(round(H / MS)):
            torques = plan.inputs(self.walker, self.world.q, self.world.v, k * MS / H)[:NJ]
            self.world.advance(np.clip(torques, -MOST, MOST))
        self.time += H
        self.look()

    def predicted(self, plan: Held) -> tuple[Array, Array]:
        """The state a period later, under the plan's torques and forces at the present state."""
        q, v = self.world.q, self.world.v
        u, now = plan.inputs(self.walker, q, v, 0.0), self.wanted(self, self.time)
        at = self.walker.knot(q, v, u, *(x[0] for x in (now.stand, now.feet, now.tip, now.q, now.v, now.u)))
        after = self.walker.dynamics.step(q, v, at.force, H)
        return after.q, after.v

    def look(self) -> None:
        """How far base and tip are from where they are to be."""
        q, wanted = self.world.q, self.wanted(self, self.time)
        if not q[2] > FALLEN:
            raise FloatingPointError("the robot fell")
        tip = self.walker.points(q)[1]
        base = np.linalg.norm(q[:3] - wanted.q[0, :3])
        self.misses.append(np.array([base, np.linalg.norm(tip - wanted.tip[0])]))

    def periods(self) -> dict[str, Any]:
        """Of each controller: its period in us on the wall, the medians of its parts, and the dynamics' share.

        Of all control steps, and of the quiet ones, where there are any.
        """
        least = min(min(beside) for beside in self.beside.values())
        found: dict[str, Any] = {}
        for name in self.controllers:
            us, parts = 1e6 * np.array(self.seconds[name][WARM:]), 1e6 * np.array(self.parts[name][WARM:])
            quiet = np.array(self.beside[name][WARM:]) <= QUIET * least
            every = {"every": _spread(us, parts)} | ({"quiet": _spread(us[quiet], parts[quiet])} if quiet.any() else {})
            found[name] = {**every, "quiet_share": float(quiet.mean()), "late": float((us > 1e6 * H).mean())}
        return found

    def tracking(self) -> dict[str, Any]:
        miss, lengths = 1e3 * np.array(self.misses), np.array(self.lengths)
        return {
            "control_steps": len(miss),
            "lengths": {str(s): float((lengths == s).mean()) for s in np.unique(lengths)},
            "base_mm": {"mean": miss[:, 0].mean(), "max": miss[:, 0].max()},
            "tip_mm": {"mean": miss[:, 1].mean(), "max": miss[:, 1].max()},
        }


def yardstick() -> float:
    """Seconds of a fixed piece of work."""
    start = time.perf_counter()
    for _ in range(PRODUCTS):
        YARDSTICK @ YARDSTICK
    return time.perf_counter() - start


def _spread(us: Array, parts: Array) -> dict[str, Any]:
    """parts (n, PARTS)."""
    return {
        "steps": len(us),
        "us": {f"p{p}": float(np.percentile(us, p)) for p in (1, 50, 90, 99)} | {"max": us.max()},
        "parts_us": dict(zip(PARTS, np.median(parts, axis=0).tolist(), strict=True)),
        "dynamics_share": float(np.median(parts[:, 1] / us)),
    }


class Held:
    """The first step of a plan, with its feedback: what the robot follows for a period."""

    def __init__(self, controller: Controller) -> None:
        self.q, self.v = (x[:2].astype(float) for x in (controller.q, controller.v))
        self.u, self.K = controller.u[0].astype(float), controller.gains[0, :, :-1].astype(float)
        self.dq = controller.walker.robot.difference(*self.q)

    def inputs(self, walker: Walker, q: Array, v: Array, part: float) -> Array:
        """u (30) at a state; part: how much of the step is over."""
        robot = walker.robot
        dq = robot.difference(robot.integrate(self.q[0], part * self.dq), q)
        dv = v - self.v[0] - part * (self.v[1] - self.v[0])
        return self.u + self.K @ np.concatenate([dq, dv])
