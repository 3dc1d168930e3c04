"""PPO of rsl_rl on one core, and what it takes: `pip install rsl-rl-lib`."""

from __future__ import annotations

import contextlib
import io
import time
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.environments.tasks import Policy, Task

Array = NDArray[np.floating]

ROBOTS, STEPS = 2048, 24
"""Environments, and their steps in an iteration."""
POINT = 10
"""Iterations of a point of a curve."""
NETWORK = {"class_name": "MLPModel", "hidden_dims": [128, 128], "activation": "elu"}
CONFIG: dict[str, Any] = {
    "num_steps_per_env": STEPS,
    "save_interval": 1 << 30,
    "obs_groups": {"actor": ["policy"], "critic": ["policy"]},
    "check_for_nan": False,
    "actor": {**NETWORK, "distribution_cfg": {"class_name": "GaussianDistribution", "init_std": 1.0}},
    "critic": NETWORK,
    "algorithm": {
        "class_name": "PPO",
        "num_learning_epochs": 3,
        "num_mini_batches": 4,
        "learning_rate": 1e-3,
        "entropy_coef": 0.005,
        "use_mixed_precision": True,
    },
}
"""Of rsl_rl; what is not here is its default."""


class Watch:
    """The environments of a trainer, which counts the time of their steps and sums what they answer."""

    def __init__(self, vectors: Any) -> None:
        self.vectors, self.seconds = vectors, 0.0
        self._step = vectors.step
        vectors.step = self.step
        self.begin()

    def begin(self) -> None:
        self.reward, self.falls, self.steps = 0.0, 0.0, 0
        self.residuals = list[Array]()

    def step(self, actions: Any) -> Any:
        start = time.process_time()
        answer = self._step(actions)
        self.seconds += time.process_time() - start
        _, reward, done, extras = answer
        self.reward += float(reward.mean())
        self.falls += float(done.float().mean() - extras["time_outs"].float().mean())
        self.steps += 1
        return answer


def learn(task: Task, seed: int, seconds: float, iterations: int = 1 << 30, robots: int = ROBOTS) -> tuple[Policy, dict[str, Any]]:
    """The policy after so many seconds of processor time, or iterations, and how it was learned."""
    torch, runners = import_module("torch"), import_module("rsl_rl.runners")
    from condyle.interop.rsl_rl import VecEnv

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    begun, busy = time.perf_counter(), time.process_time()
    environments = task.environment().compile(robots, threads=1, copy=False)
    watch = Watch(VecEnv(environments, seed))
    watch.vectors.episode_length_buf = torch.randint(task.horizon, (robots,))
    with contextlib.redirect_stdout(io.StringIO()):  # it prints its networks
        runner = runners.OnPolicyRunner(watch.vectors, CONFIG)
    runner.logger.log = lambda **_: None
    compiled = time.process_time() - busy
    curve, rows, done, busy = list[dict[str, float]](), 0, 0, time.process_time()
    spent = 0.0
    watch.seconds = 0.0
    while spent < seconds and done < iterations:
        runner.learn(1)
        done, spent = done + 1, time.process_time() - busy
        if done % POINT == 0 or done == iterations:
            n = watch.steps
            point = {"seconds": spent, "samples": done * robots * STEPS, "reward": watch.reward / n / task.period}
            curve.append({**point, "falls": watch.falls / n / task.period, **task.seen(environments)})
            watch.begin()
    layers = [x for x in runner.alg.get_policy().mlp if hasattr(x, "weight")]
    policy = Policy([(x.weight.detach().numpy(), x.bias.detach().numpy()) for x in layers])
    answer = {"seconds": spent, "wall": time.perf_counter() - begun, "compiled": compiled, "iterations": done}
    return policy, {**answer, "environment": watch.seconds / spent, "curve": curve, "failed": environments.failures}
