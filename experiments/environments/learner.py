"""PPO of rsl_rl on one core, and what it takes: `pip install rsl-rl-lib`."""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module, metadata
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.environments.tasks import PERIOD, Policy, Task, policy_file
from experiments.figure import Figure, Lines

Array = NDArray[np.floating]

ROBOTS, STEPS = 2048, 24
"""Environments, and their steps in an iteration."""
SWEEPS = 12
"""Of the solver of contacts."""
POINT = 10
"""Iterations of a point of a curve."""
NETWORK = {"class_name": "MLPModel", "hidden_dims": [128, 128], "activation": "elu"}
CONFIG: dict[str, Any] = {
    "num_steps_per_env": STEPS,
    "save_interval": 1 << 30,
    "obs_groups": {"actor": ["policy"], "critic": ["policy"]},
    "check_for_nan": False,
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
        self.steps += 1
        self.reward += float(reward.mean())
        self.falls += float(done.float().mean() - extras["time_outs"].float().mean())
        if self.steps % STEPS == 0:
            self.residuals.append(extras["residual"].numpy().copy())
        return answer

    def point(self) -> dict[str, float]:
        """Means since `begin`: the reward in a second, falls in a second; the error of velocities [m/s] now."""
        state, residuals = self.vectors.environments.state(), np.concatenate(self.residuals)
        miss = state["v"][:, :2] - state["command"][:, :2] if "command" in state else state["v"][:, :2]
        answer = {"reward": self.reward / self.steps / PERIOD, "falls": self.falls / self.steps / PERIOD}
        answer["error"] = float(np.hypot(*miss.T).mean())
        median, most = np.quantile(residuals, (0.5, 0.99))
        self.begin()
        return {**answer, "residual": float(median), "residual_p99": float(most)}


def learn(
    task: Task, seed: int, seconds: float, iterations: int = 1 << 30, robots: int = ROBOTS
) -> tuple[Policy, dict[str, Any]]:
    """The policy after so many seconds of processor time, or iterations, and how it was learned."""
    torch, runners = import_module("torch"), import_module("rsl_rl.runners")
    from condyle.interop.rsl_rl import VecEnv

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    begun, busy = time.perf_counter(), time.process_time()
    environments = task.environment().compile(robots, threads=1, sweeps=SWEEPS, copy=False)
    watch = Watch(VecEnv(environments, seed))
    watch.vectors.episode_length_buf = torch.randint(task.horizon, (robots,))
    noise = {"class_name": "GaussianDistribution", "init_std": task.noise}
    with contextlib.redirect_stdout(io.StringIO()):  # it prints its networks
        runner = runners.OnPolicyRunner(watch.vectors, {**CONFIG, "actor": {**NETWORK, "distribution_cfg": noise}})
    runner.logger.log = lambda **_: None
    compiled = time.process_time() - busy
    curve, done, spent = list[dict[str, float]](), 0, 0.0
    watch.seconds, busy = 0.0, time.process_time()
    while spent < seconds and done < iterations:
        runner.learn(1)
        done, spent = done + 1, time.process_time() - busy
        if done % POINT == 0 or done == iterations or spent >= seconds:
            curve.append({"seconds": spent, "samples": done * robots * STEPS, **watch.point()})
    layers = [x for x in runner.alg.get_policy().mlp if hasattr(x, "weight")]
    policy = Policy([(x.weight.detach().numpy(), x.bias.detach().numpy()) for x in layers])
    answer = {"seconds": spent, "wall": time.perf_counter() - begun, "compiled": compiled, "iterations": done}
    return policy, {**answer, "environment": watch.seconds / spent, "curve": curve, "failed": environments.failures}


def measured(task: Task, row: str, seconds: float, quick: bool) -> dict[str, Any]:
    """The training of a row, "go2 seed 3"; its policy is kept. quick: a few iterations with a few robots."""
    if find_spec("rsl_rl") is None:
        return {"left_out": "rsl_rl is not installed: pip install rsl-rl-lib"}
    seed = int(row.rpartition(" ")[2])
    most, robots = (2, 64) if quick else (1 << 30, ROBOTS)
    policy, answer = learn(task, seed, seconds, most, robots)
    if not quick:
        policy.save(policy_file(task, row))
    versions = {name: metadata.version(name) for name in ("rsl-rl-lib", "torch")}
    return {**answer, "robots": robots, "versions": versions}


def tables(
    rows: Mapping[str, Mapping[str, Any]],
    names: Sequence[str],
    after: str,
    knows: Callable[[Mapping[str, float]], bool],
) -> dict[str, list[list[str]]]:
    """knows: whether a point of a curve is one of robots that can do it; after: the column of when."""
    head = ["row", after, "at the end: error, m/s", "falls a second", "processor time, s", "on the wall, s"]
    table = [[*head, "steps, millions", "environment's share, %", "residual p50, m/s", "p99"]]
    for name in names:
        row = rows.get(name)
        if row is None:
            table.append([name, "not measured"])
            continue
        curve, share = row["curve"], 100.0 * row["environment"]
        first = next((f"{point['seconds']:.0f}" for point in curve if knows(point)), "-")
        end = curve[-1]
        cells = [first, f"{end['error']:.3f}", f"{end['falls']:.4f}", f"{row['seconds']:.0f}", f"{row['wall']:.0f}"]
        residuals = [f"{max(point[key] for point in curve):.0e}" for key in ("residual", "residual_p99")]
        table.append([name, *cells, f"{1e-6 * end['samples']:.1f}", f"{share:.1f}", *residuals])
    return {"Training": table}


def figures(rows: Mapping[str, Mapping[str, Any]], names: Sequence[str], label: str, key: str) -> dict[str, Figure]:
    """The learning curves of one number, and of the reward."""
    curves = {name: rows[name]["curve"] for name in names if name in rows}
    times = {name: [point["seconds"] for point in curve] for name, curve in curves.items()}
    drawn: dict[str, Figure] = {}
    for title, heading, part in (("Learning curves", label, key), ("Rewards", "reward in a second", "reward")):
        lines = {name: (times[name], [point[part] for point in curve]) for name, curve in curves.items()}
        drawn[title] = Lines("processor time, s", heading, lines, log="")
    return drawn
