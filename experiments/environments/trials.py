"""Policies in MuJoCo, with all collision shapes of the robots: what they follow, and whether they fall."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.environments.mujoco_world import World
from experiments.environments.tasks import PERIOD, Policy, Task, policy_file

Array = NDArray[np.floating]

TIMESTEP = 0.002
"""Of MuJoCo [s]: not that of the training."""
SECONDS, SETTLED = 10.0, 2.0
"""Of a trial; and after which velocities count."""
FRICTIONS, COMMANDS = (0.5, 0.75, 1.0), (0.25, 0.5, 0.75, 1.0)
EVERY, SPEED = 2.0, 0.5
"""Of pushes [s], [m/s]: the base's velocity changes by this, in a direction of chance."""

RUNS = {"alone": False, "pushed": True}
"""Kinds of trials of chance, and whether they have pushes."""


class Trial:
    """A policy runs the robot of a task in MuJoCo. fell: when [s], or None."""

    def __init__(self, task: Task, policy: Policy, friction: float, **inputs: Array) -> None:
        self.task, self.policy, self.inputs = task, policy, inputs
        self.world = World(task.name, friction, TIMESTEP, gains=(task.kp, task.kd))
        q = self.world.start.copy()
        q[2], q[7:] = task.height + 0.005, task.posture
        self.world.reset(q)
        self.last_action, self.time = np.zeros(task.moved), 0.0
        self.fell: float | None = None
        self.states = list[tuple[Array, Array]]()

    def step(self) -> None:
        at, observe = SimpleNamespace(q=self.world.q, v=self.world.v), self.task.observe
        action = self.policy(observe(at, last_action=self.last_action, **self.inputs))
        self.world.step(self.task.control(at, action), round(PERIOD / TIMESTEP))
        self.last_action, self.time = action, self.time + PERIOD
        self.states.append((self.world.q, self.world.v))
        if self.task.done(SimpleNamespace(q=self.world.q, v=self.world.v)):
            self.fell = self.time

    def run(self, seconds: float, pushes: np.random.Generator | None = None) -> None:
        """Until it falls or the time is over. pushes: draws their directions."""
        steps = round(seconds / PERIOD)
        for k in range(1, steps + 1):
            self.step()
            if self.fell is not None:
                return
            if pushes is not None and k % round(EVERY / PERIOD) == 0 and k < steps:
                angle = pushes.uniform(0.0, 2.0 * np.pi)
                self.world.push(SPEED * np.array([np.cos(angle), np.sin(angle), 0.0]))

    def velocity(self) -> Array:
        """The mean of the base's velocity, forward, left [m/s] and turning [rad/s], in its own axes, once settled."""
        v = np.array([v for _, v in self.states[round(SETTLED / PERIOD) :]])
        return v[:, [0, 1, 5]].mean(axis=0)


def follows(task: Task, policy: Policy, seconds: float = SECONDS) -> dict[str, Any]:
    """The mean speed over the command, less 1, straight on, by friction and command; None where it fell."""
    errors: dict[str, Any] = {}
    for friction in FRICTIONS:
        for speed in COMMANDS:
            trial = Trial(task, policy, friction, command=np.array([speed, 0.0, 0.0]))
            trial.run(seconds)
            error = None if trial.fell is not None else float(trial.velocity()[0] / speed - 1.0)
            errors.setdefault(f"{friction:g}", {})[f"{speed:g}"] = error
    return errors


def survives(task: Task, policy: Policy, count: int, seconds: float = SECONDS, pushed: bool = True) -> dict[str, Any]:
    """How many of `count` trials end without a fall: commands and frictions (0.5 to 1) of chance, pushes."""
    rng = np.random.default_rng(0)
    fell, errors = list[dict[str, float]](), list[Array]()
    for number in range(count):
        friction = rng.uniform(FRICTIONS[0], FRICTIONS[-1])
        inputs: dict[str, Array] = {}
        if "command" in task.inputs:
            inputs["command"] = np.array(
                [rng.uniform(COMMANDS[0], COMMANDS[-1]), *rng.uniform((-0.3, -0.5), (0.3, 0.5))]
            )
        trial = Trial(task, policy, friction, **inputs)
        trial.run(seconds, np.random.default_rng((1, number)) if pushed else None)
        if trial.fell is not None:
            fell.append({"trial": number, "friction": friction, "seconds": trial.fell})
        elif inputs:
            errors.append(np.abs(trial.velocity() - inputs["command"]))
    answer: dict[str, Any] = {"trials": count, "fell": fell}
    if errors:
        answer["errors"] = {"mean": np.mean(errors, axis=0).tolist(), "largest": np.max(errors, axis=0).tolist()}
    return answer


def measured(task: Task, row: str, quick: bool) -> dict[str, Any]:
    """What the policy of a row does. quick: of two runs, a second each."""
    file = policy_file(task, row)
    if not file.exists():
        return {"left_out": f"there is no {file.name}: train it first"}
    policy, seconds = Policy.read(file), 3.0 if quick else SECONDS
    answer = {"follows": follows(task, policy, seconds)} if "command" in task.inputs else {}
    count = 2 if quick else 100
    return answer | {name: survives(task, policy, count, seconds, pushed) for name, pushed in RUNS.items()}


def speeds(rows: Mapping[str, Mapping[str, Any]]) -> list[list[str]]:
    head = [f"{speed:g} m/s, friction {friction:g}" for speed in COMMANDS for friction in FRICTIONS]
    table = [["row", *head]]
    for name, row in sorted(rows.items()):
        values = [row["follows"][f"{friction:g}"][f"{speed:g}"] for speed in COMMANDS for friction in FRICTIONS]
        table.append([name, *("fell" if value is None else f"{100.0 * value:+.1f}" for value in values)])
    return table


def falls(rows: Mapping[str, Mapping[str, Any]]) -> list[list[str]]:
    table = [["row", "runs", "fell", "mean errors: forward, m/s", "to the side, m/s", "turning, rad/s", "fell, pushed"]]
    for name, row in sorted(rows.items()):
        alone, pushed = (row[kind] for kind in RUNS)
        errors = [f"{error:.3f}" for error in alone.get("errors", {}).get("mean", [])] or ["", "", ""]
        table.append([name, str(alone["trials"]), str(len(alone["fell"])), *errors, str(len(pushed["fell"]))])
    return table
