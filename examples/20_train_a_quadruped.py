"""A quadruped learns to walk: PPO of rsl_rl on 2048 robots that step in one call. Needs `pip install rsl-rl-lib`.

    python examples/20_train_a_quadruped.py 200

trains for 200 s of processor time: it walks after about 80 s. Without a number it makes a few steps with a few robots.
"""

from __future__ import annotations

import sys
import time
from importlib.util import find_spec
from typing import Any

import numpy as np

import condyle
from condyle import Actuator, Contact
from condyle.ground import Plane

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 0.0
ROBOTS, ITERATIONS = (2048, 100_000) if SECONDS else (64, 3)
POSTURE = np.array([0.1, 0.8, -1.5, -0.1, 0.8, -1.5, 0.1, 1.0, -1.5, -0.1, 1.0, -1.5])  # hip, thigh, calf of each leg
KP = 35.0  # N m/rad of the servos; the joints have a damping of 2 N m s/rad

robot = condyle.load("go2", floating_base=True)
servos = [Actuator(name, {name: 1.0}, "position", KP, (0.0, -KP, 0.0)) for name in robot.joint_names[1:]]
robot = robot.with_actuators(servos)
feet = [Contact(f"{leg}_foot") for leg in ("FL", "FR", "RL", "RR")]


def down(q: Any) -> Any:
    """Of gravity, in the axes of the base."""
    x, y, z, w = (q[k] for k in range(3, 7))
    return -np.stack([2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)])


def control(at: Any, action: Any) -> Any:
    return POSTURE + 0.25 * action  # targets of the servos


def observe(at: Any, command: Any, last_action: Any) -> Any:
    base = [2.0 * at.v[:3], 0.25 * at.v[3:6], down(at.q)]
    return np.concatenate([*base, at.q[7:] - POSTURE, 0.05 * at.v[6:], last_action, 2.0 * command])


def reward(at: Any, command: Any, action: Any, last_action: Any, u: Any) -> Any:
    v, g = at.v, down(at.q)
    along, turn = ((command[:2] - v[:2]) ** 2).sum(), (command[2] - v[5]) ** 2
    follows = 1.5 * np.exp(-along / 0.25) + 0.5 * np.exp(-along / 0.02) + 0.5 * np.exp(-turn / 0.25)
    shakes = 2.0 * v[2] ** 2 + 0.05 * (v[3] ** 2 + v[4] ** 2) + 0.5 * (g[0] ** 2 + g[1] ** 2)
    torques = KP * (u - at.q[7:])
    return 0.02 * (follows - shakes - 1e-4 * (torques**2).sum() - 0.01 * ((action - last_action) ** 2).sum())


def done(at: Any) -> Any:
    return (down(at.q)[2] > -0.5) | (at.q[2] < 0.15)


def reset(draws: Any) -> dict[str, Any]:
    """draws: uniform numbers of this robot and episode."""
    q = np.concatenate([np.array([0.0, 0.0, 0.32, 0.0, 0.0, 0.0, 1.0]), POSTURE + 0.2 * (draws[:12] - 0.5)])
    speed = np.array([1.1, 0.3, 0.5]) * (draws[12:15] - np.array([0.0, 0.5, 0.5]))
    return {"q": q, "v": 0.4 * (draws[15:33] - 0.5), "command": speed * np.where(draws[33] < 0.1, 0.0, 1.0)}


environment = condyle.Environment(
    robot, observe, reward, done, control=control, actions=12, contacts=feet, ground=Plane(offset=0.022),
    inputs={"command": 3}, reset=reset, draws=34, horizon=500, joint_forces=("damping", "friction"), actuators=True,
    randomise={"friction": (0.4, 1.2), "inertias": 0.1, "push": (4.0, 1.0)},
)  # fmt: skip
environments = environment.compile(ROBOTS, sweeps=12, threads=1, copy=False)

if find_spec("rsl_rl") is None:
    print("rsl_rl is not installed: pip install rsl-rl-lib")
    sys.exit()

import torch  # noqa: E402
from rsl_rl.runners import OnPolicyRunner  # noqa: E402

from condyle.interop.rsl_rl import VecEnv  # noqa: E402

torch.manual_seed(0)
torch.set_num_threads(1)
network = {"class_name": "MLPModel", "hidden_dims": [128, 128], "activation": "elu"}
groups = {"actor": ["policy"], "critic": ["policy"]}
ppo = {"class_name": "PPO", "num_learning_epochs": 3, "entropy_coef": 0.005, "use_mixed_precision": True}
actor = {**network, "distribution_cfg": {"class_name": "GaussianDistribution", "init_std": 1.0}}
config = {"num_steps_per_env": 24, "save_interval": 1 << 30, "obs_groups": groups, "actor": actor, "critic": network}
vectors = VecEnv(environments, seed=0)
trainer = OnPolicyRunner(vectors, {**config, "algorithm": ppo})
trainer.logger.log = lambda **_: None
start, k = time.process_time(), 0
while k < ITERATIONS and (time.process_time() - start < SECONDS or not SECONDS):
    trainer.learn(1, init_at_random_ep_len=k == 0)
    k += 1
    if k % 10 == 0 or not SECONDS:
        state = environments.state()
        error = np.linalg.norm(state["v"][:, :2] - state["command"][:, :2], axis=1).mean()
        print(f"{time.process_time() - start:4.0f} s: velocities are off by {error:.2f} m/s")
