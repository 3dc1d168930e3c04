"""What policies learn: go2 follows a velocity, g1 stands on its feet and is pushed.

Steps are 20 ms, four substeps; an action moves the targets of position servos about a posture. The same functions of
a state serve the environment and the trials in MuJoCo.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import condyle
from condyle import Actuator, Contact, Environment
from condyle.ground import Plane
from experiments.environments import mujoco_world

Array = NDArray[np.floating]

DT, SUBSTEPS = 5e-3, 4
PERIOD = DT * SUBSTEPS
POLICIES = Path(__file__).resolve().parents[1] / "results" / "policies"
UPRIGHT = 0.5
"""A robot whose base is tilted by more than the angle of this cosine has fallen."""


def down(q: Any) -> Any:
    """The direction of gravity in the base's axes (3,)."""
    x, y, z, w = (q[k] for k in range(3, 7))
    return -np.stack([2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)])


class Task:
    """posture (nv - 6) [rad], height [m] of the base in it. An action of 1 moves a target by `scale` [rad]: those of
    the first `moved` joints; the others hold the posture.

    contacts: frames at which the robot touches the ground, `radius` [m] above it. push: (seconds, speed), as in
    `Environment`. noise: of an action as the training begins. lowest [m]: of the base.
    """

    name: str
    scale, radius, lowest = 0.25, 0.0, 0.0
    push, noise = (4.0, 1.0), 1.0
    horizon = 500
    inputs: dict[str, int] = {}  # noqa: RUF012
    moved: int
    frames: Sequence[str]
    posture: Array
    height: float

    def __init__(self) -> None:
        self.kp, self.kd = self.gains()
        robot = condyle.load(self.name, floating_base=True)
        joints = list(zip(robot.joint_names[1:], self.kp, self.kd, strict=True))
        self.robot = robot.with_actuators(
            [Actuator(joint, {joint: 1.0}, "position", kp, (0.0, -kp, -kd)) for joint, kp, kd in joints]
        )

    def gains(self) -> tuple[Array, Array]:
        """kp [N m/rad] and kd [N m s/rad] of each servo."""
        return mujoco_world.gains(self.name)

    def environment(self) -> Environment:
        return Environment(
            self.robot,
            self.observe,
            self.reward,
            self.done,
            control=self.control,
            actions=self.moved,
            contacts=[Contact(frame) for frame in self.frames],
            ground=Plane(offset=self.radius),
            dt=DT,
            substeps=SUBSTEPS,
            inputs=self.inputs,
            randomise={"friction": (0.4, 1.2), "inertias": 0.1, "push": self.push},
            reset=self.reset,
            draws=4 + 2 * self.robot.nv,
            horizon=self.horizon,
            joint_forces=("damping", "friction"),
            actuators=True,
        )

    def control(self, at: Any, action: Any) -> Any:
        """Targets of the servos [rad]."""
        return np.concatenate([self.posture[: self.moved] + self.scale * action, self.posture[self.moved :]])

    def done(self, at: Any) -> Any:
        return (down(at.q)[2] > -UPRIGHT) | (at.q[2] < self.lowest)

    def torques(self, at: Any, u: Any) -> Any:
        """What the servos push by [N m]."""
        effort = self.robot.effort[6:]
        return np.clip(self.kp * (u - at.q[7:]) - self.kd * at.v[6:], -effort, effort)

    def body(self, at: Any, last_action: Any) -> list[Any]:
        """What is observed of the robot itself."""
        joints = (at.q[7:] - self.posture)[: self.moved]
        return [2.0 * at.v[:3], 0.25 * at.v[3:6], down(at.q), joints, 0.05 * at.v[6 : 6 + self.moved], last_action]

    def state(self, draws: Any) -> dict[str, Any]:
        """A state near the posture."""
        n = len(self.posture)
        base = np.array([0.0, 0.0, self.height, 0.0, 0.0, 0.0, 1.0])
        joints = self.posture + 0.2 * (draws[:n] - 0.5)
        return {"q": np.concatenate([base, joints]), "v": 0.4 * (draws[n : 2 * n + 6] - 0.5)}

    def observe(self, at: Any) -> Any: ...

    def reward(self, at: Any) -> Any: ...

    def reset(self, draws: Any) -> dict[str, Any]: ...


class Walk(Task):
    """go2 follows a velocity of its base: forward, left [m/s], turning [rad/s]."""

    name, moved = "go2", 12
    frames = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")
    posture = np.array([0.1, 0.8, -1.5, -0.1, 0.8, -1.5, 0.1, 1.0, -1.5, -0.1, 1.0, -1.5])
    height, radius, lowest = 0.32, 0.022, 0.15
    inputs = {"command": 3}  # noqa: RUF012
    least, most = np.array([0.0, -0.3, -0.5]), np.array([1.1, 0.3, 0.5])

    def gains(self) -> tuple[Array, Array]:
        return np.full(12, 35.0), np.zeros(12)  # the joints of the file have damping

    def observe(self, at: Any, command: Any, last_action: Any) -> Any:
        return np.concatenate([*self.body(at, last_action), command * np.array([2.0, 2.0, 0.25])])

    def reward(self, at: Any, command: Any, action: Any, last_action: Any, u: Any) -> Any:
        v, g = at.v, down(at.q)
        along, turn = ((command[:2] - v[:2]) ** 2).sum(), (command[2] - v[5]) ** 2
        follows = 1.5 * np.exp(-along / 0.25) + 0.5 * np.exp(-along / 0.02) + 0.5 * np.exp(-turn / 0.25)
        shakes = 2.0 * v[2] ** 2 + 0.05 * (v[3] ** 2 + v[4] ** 2) + 0.5 * (g[0] ** 2 + g[1] ** 2)
        works = 1e-4 * (self.torques(at, u) ** 2).sum() + 0.01 * ((action - last_action) ** 2).sum()
        return PERIOD * (follows - shakes - works)

    def reset(self, draws: Any) -> dict[str, Any]:
        some, state = draws[-4:], self.state(draws)
        turns = np.where(some[3] < 0.4, 0.0, 1.0)  # some go straight on, some stand
        moves = np.where(some[3] < 0.1, 0.0, 1.0)
        command = self.least + (self.most - self.least) * some[:3]
        return {**state, "command": command * np.stack([moves, turns, turns])}


GAINS = {
    "ankle": (100.0, 4.0),
    "hip": (150.0, 5.0),
    "knee": (150.0, 5.0),
    "waist": (150.0, 5.0),
    "wrist": (20.0, 1.0),
}
"""kp [N m/rad] and kd [N m s/rad] of g1's joints by a part of their names; shoulders and elbows have 50 and 2."""


class Stand(Task):
    """g1 stands, and does not fall when it is pushed. It moves its legs and its waist."""

    name, moved = "g1", 15
    frames = tuple(f"{side}_foot_{corner}" for side in ("left", "right") for corner in ("fl", "fr", "rl", "rr"))
    posture = np.array(mujoco_world.POSTURES["g1"])
    height, lowest = mujoco_world.HEIGHTS["g1"], 0.5
    push, noise = (2.0, 1.0), 0.8

    def gains(self) -> tuple[Array, Array]:
        joints = condyle.load(self.name).joint_names
        parts = [next((part for part in GAINS if part in joint), "") for joint in joints]
        kp, kd = np.array([GAINS.get(part, (50.0, 2.0)) for part in parts]).T  # of shoulders and elbows
        return kp, kd

    def observe(self, at: Any, last_action: Any) -> Any:
        return np.concatenate(self.body(at, last_action))

    def reward(self, at: Any, action: Any, last_action: Any, u: Any) -> Any:
        v, g = at.v, down(at.q)
        stands = np.exp(-(v[:2] ** 2).sum() / 0.25) + 0.5 * np.exp(-(v[5] ** 2) / 0.25) + 0.5
        shakes = 1.0 * v[2] ** 2 + 0.05 * (v[3] ** 2 + v[4] ** 2) + 1.0 * (g[0] ** 2 + g[1] ** 2)
        shape = 0.1 * ((at.q[7:] - self.posture) ** 2).sum()
        works = 1e-5 * (self.torques(at, u) ** 2).sum() + 0.01 * ((action - last_action) ** 2).sum()
        return PERIOD * (stands - shakes - shape - works)

    def reset(self, draws: Any) -> dict[str, Any]:
        return self.state(draws)


class Policy:
    """A network of layers (W, b), with elu between them: of a file that `save` wrote."""

    def __init__(self, layers: Sequence[tuple[Array, Array]]) -> None:
        self.layers = layers

    def __call__(self, observation: Array) -> Array:
        x = observation
        for k, (W, b) in enumerate(self.layers):
            x = W @ (np.where(x > 0.0, x, np.expm1(np.minimum(x, 0.0))) if k else x) + b
        return x

    def save(self, file: Path) -> None:
        """As float32."""
        file.parent.mkdir(parents=True, exist_ok=True)
        arrays = {f"{name}{k}": x for k, pair in enumerate(self.layers) for name, x in zip("Wb", pair, strict=True)}
        np.savez_compressed(file, **{name: np.asarray(x, np.float32) for name, x in arrays.items()})

    @classmethod
    def read(cls, file: Path) -> Policy:
        with np.load(file) as arrays:
            return cls([(arrays[f"W{k}"], arrays[f"b{k}"]) for k in range(len(arrays.files) // 2)])


def policy_file(task: Task, row: str, folder: Path = POLICIES) -> Path:
    """Where the policy of a row is kept: that of "go2 seed 3" is go2_3.npz."""
    return folder / f"{task.name}_{row.rpartition(' ')[2]}.npz"
