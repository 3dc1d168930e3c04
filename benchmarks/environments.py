"""Environments: their rates beside MuJoCo's physics, contacts, policies, first calls; writes results/environments.json.

    python -m benchmarks.environments [--quick] [NAME...]    NAME: of a measurement; --quick: little, nothing is kept

The tasks are those of `benchmarks.environment_tasks`. A step is everything: four substeps of 5 ms, drives, contacts,
observation, reward, ends, resets and their random numbers. Actions are random, states those after 100 steps. Times are
of the processor, one thread, pinned to one core; ratios are of calls that take turns in one process. MuJoCo has the
physics and the drives alone: the same points as spheres on a plane, no other collisions, at most `ITERATIONS` of its
solver, its own threads switched off; it is timed from states in which its robots stand.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import metadata
from importlib.resources import files
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import environment_tasks as tasks
from benchmarks import results
from benchmarks.bench import pinned
from condyle.cli.bound import Sampling, interleaved
from condyle.jobs.environment import Environments

Array = NDArray[np.floating]
SOURCE = results.FOLDER / "environments.json"
N = 4096
SWEEPS = (8, 12, 25, None)
ITERATIONS = 4
"""Of MuJoCo's solver, at the most."""
POLICY = (128, 128)
"""Units of the hidden layers."""


class Running:
    """Environments with random actions, after 100 steps."""

    def __init__(self, walk: tasks.Walk, count: int, dtype: str, steps: int = 100, **options: Any) -> None:
        environment = walk.environment(tasks.ground(walk))
        self.envs: Environments = environment.compile(count, dtype, **{"threads": 1, "copy": False, **options})
        self.envs.reset(seed=0)
        rng = np.random.default_rng(0)
        self.actions = rng.normal(0.0, 0.5, (16, count, environment.actions)).astype(dtype)
        self.residuals, self.k = list[Array](), 0
        for _ in range(steps):
            self.step()
            self.residuals.append(self.info["residual"].copy())

    def step(self) -> None:
        self.k += 1
        *_, self.info = self.envs.step(self.actions[self.k % 16])

    def residual(self) -> dict[str, float]:
        """[m/s]"""
        every = np.array(self.residuals[len(self.residuals) // 2 :])
        return {f"p{p}": float(np.percentile(every, p)) for p in (50, 99, 100)}


def sampling(quick: bool, clock: str = "cpu") -> Sampling:
    return Sampling(clock, 3 if quick else 15, 0.02)


def rates(quick: bool) -> dict[str, Any]:
    """Steps a second of go2 and g1, by number type and sweeps, beside MuJoCo's physics in the same run."""
    count = 256 if quick else N
    answer: dict[str, Any] = {}
    for name, walk in (("go2", tasks.go2()), ("g1", tasks.g1())):
        running, calls = dict[str, Running](), dict[str, Callable[[], Any]]()
        for dtype in ("float32", "float64"):
            for sweeps in SWEEPS[:1] if quick else SWEEPS:
                case = running[f"{dtype}, {sweeps or 'until solved'}"] = Running(walk, count, dtype, sweeps=sweeps)
                calls[f"{dtype}, {sweeps or 'until solved'}"] = case.step
        physics = Physics(walk, 16 if quick else 64)
        with pinned():
            times = interleaved({**calls, "mujoco": physics.run}, sampling(quick))
        theirs = times.pop("mujoco").per(len(physics.states) * physics.steps)
        rows = answer[name] = {"mujoco_ns": theirs.minimum, "mujoco_median_ns": theirs.median}
        for key, spread in times.items():
            ns = spread.per(count)
            rows[key] = {
                "ns": ns.minimum, "median_ns": ns.median, "million_a_second": 1e3 / ns.minimum,
                "times_mujoco": theirs.minimum / ns.minimum, "residual": running[key].residual(),
            }  # fmt: skip
    return answer


class Physics:
    """MuJoCo's rollouts of the same robot: 40 steps of four substeps, drives at random targets."""

    def __init__(self, walk: tasks.Walk, count: int, steps: int = 10) -> None:
        import mujoco
        from mujoco import rollout

        self.steps, self.model = steps, model_of(walk)
        self.data, self.rollout = mujoco.MjData(self.model), rollout
        size = mujoco.mj_stateSize(self.model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        states = np.zeros((count, size))
        states[:, 1:8] = [0.0, 0.0, walk.height, 1.0, 0.0, 0.0, 0.0]
        states[:, 8 : 8 + len(walk.posture)] = walk.posture
        rng = np.random.default_rng(0)
        targets = walk.posture + tasks.ACTION * rng.normal(0.0, 0.5, (count, 1, len(walk.posture)))
        self.controls = np.repeat(targets, 4 * steps, axis=1)
        settled, _ = rollout.rollout(self.model, self.data, states, self.controls)
        self.states = np.ascontiguousarray(settled[:, -1])

    def run(self) -> Any:
        return self.rollout.rollout(self.model, self.data, self.states, self.controls)


def model_of(walk: tasks.Walk) -> Any:
    """The robot in MuJoCo, whose contacts alone touch a plane."""
    import mujoco

    spec = mujoco.MjSpec.from_file(str(files("condyle.robots") / f"{walk.robot.name}.urdf"))
    for geom in spec.geoms:
        geom.contype, geom.conaffinity = 0, 0
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], contype=1, conaffinity=1)
    radius = tasks.RADIUS if walk.robot.name == "go2" else 0.002
    for contact in walk.contacts:
        body, placement = walk.robot.frames[contact.frame]
        turn, origin = np.asarray(placement.rotation), np.asarray(placement.translation)
        point = turn.T @ np.asarray(contact.placed.translation) + origin
        spec.body(walk.robot.bodies[body].name).add_geom(
            type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[radius, 0, 0], pos=point, contype=1, conaffinity=1, mass=0.0
        )
    root = spec.body(walk.robot.bodies[0].name)
    if not root.joints:
        root.add_freejoint()
    for servo, armature in zip(walk.servos, walk.robot.armature[6:], strict=True):
        joint = spec.joint(servo.name)
        joint.armature, joint.damping, joint.frictionloss = armature, np.zeros(3), 0.0
        actuator = spec.add_actuator(name=servo.name, trntype=mujoco.mjtTrn.mjTRN_JOINT, target=servo.name)
        actuator.gainprm[0] = servo.gain
        actuator.biastype = mujoco.mjtBias.mjBIAS_AFFINE
        actuator.biasprm[:3] = servo.bias
        actuator.forcelimited, actuator.forcerange = True, servo.force
    spec.option.timestep, spec.option.iterations = 5e-3, ITERATIONS
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    return spec.compile()


def threads(quick: bool) -> dict[str, Any]:
    """go2 with one thread and with all cores, on the wall."""
    cores, count = os.cpu_count() or 1, 256 if quick else N
    cases = {k: Running(tasks.go2(), count, "float32", sweeps=12, threads=k) for k in (1, cores)}
    times = interleaved({str(k): case.step for k, case in cases.items()}, sampling(quick, "wall"))
    ns = {k: spread.per(count).minimum for k, spread in times.items()}
    return {"wall_ns": ns, "times_as_fast": ns["1"] / ns[str(cores)], "threads": cores}


def contacts(quick: bool) -> dict[str, Any]:
    """go2 with 4 to 24 contact points, float32, 12 sweeps."""
    count = 256 if quick else 1024
    cases = {k: Running(tasks.go2(k), count, "float32", sweeps=12) for k in ((4, 12) if quick else (4, 8, 12, 24))}
    with pinned():
        times = interleaved({str(k): case.step for k, case in cases.items()}, sampling(quick))
    ns = {k: spread.per(count).minimum for k, spread in times.items()}
    return {"ns": ns, "times_4": {k: x / ns["4"] for k, x in ns.items()}}


def one(quick: bool) -> dict[str, Any]:
    """One go2 alone, and the time of a call from N = 1 to 4096, float32."""
    cases = {
        k: Running(tasks.go2(), k, "float32", sweeps=12) for k in ((1, 16) if quick else (1, 2, 4, 8, 16, 64, 256))
    }
    solved = Running(tasks.go2(), 1, "float32")
    calls = {str(k): case.step for k, case in cases.items()} | {"1, until solved": solved.step}
    with pinned():
        times = interleaved(calls, sampling(quick))
    return {"us_a_call": {k: spread.minimum / 1e3 for k, spread in times.items()}}


def elu(x: Any) -> Any:
    return np.where(x > 0.0, x, np.exp(np.minimum(x, 0.0)) - 1.0)


def network(observation: Any, noise: Any, W1: Any, b1: Any, W2: Any, b2: Any, W3: Any, b3: Any) -> Any:
    hidden = elu(W2 @ elu(W1 @ observation + b1) + b2)
    return W3 @ hidden + b3 + 0.3 * noise


def policy(quick: bool) -> dict[str, Any]:
    """go2 with a policy of two layers and its noise inside the call, 24 steps, float32, 12 sweeps."""
    count, steps = 256 if quick else 2048, 24
    case = Running(tasks.go2(), count, "float32", sweeps=12)
    sizes, rng = (case.envs.observation_size, *POLICY, case.envs.action_size), np.random.default_rng(0)
    weights: dict[str, Array] = {}
    for k, (into, out) in enumerate(pairwise(sizes), 1):
        weights[f"W{k}"] = rng.normal(0.0, 0.3 / np.sqrt(into), (out, into))
        weights[f"b{k}"] = np.zeros(out)
    noise = case.envs.action_size

    def run() -> None:
        case.envs.rollout(network, weights, steps, noise=noise)

    with pinned():
        times = interleaved({"rollout": run, "steps": case.step}, sampling(quick))
    ns = times["rollout"].per(count * steps).minimum
    return {"ns": ns, "million_a_second": 1e3 / ns, "without_policy_ns": times["steps"].per(count).minimum}


def numbers(quick: bool) -> dict[str, Any]:
    """12 normal and 12 uniform numbers a state, float32."""
    import condyle

    count = 256 if quick else N
    inputs = dict.fromkeys(("a", "b", "c", "d"), ())
    draws = {
        "normal": lambda a, b, c, d: condyle.random.normal([a, b, c, d], [1.0], 12),
        "uniform": lambda a, b, c, d: condyle.random.uniform([a, b, c, d], [1.0], 12),
    }
    keys = [np.arange(count, dtype="float32")] * 4
    calls: dict[str, Callable[[], Any]] = {}
    for name, draw in draws.items():
        f = condyle.function(draw, inputs).compile(dtype="float32", threads=1)
        out = f(*keys)
        calls[name] = lambda f=f, out=out: f(*keys, out=out)
    with pinned():
        times = interleaved(calls, sampling(quick))
    return {"ns_of_12": {name: spread.per(count).minimum for name, spread in times.items()}}


FIRST = """
import time; start = time.perf_counter()
from benchmarks import environment_tasks as tasks
walk = tasks.{name}()
begin = time.perf_counter()
envs = walk.environment(tasks.ground(walk)).compile(64, sweeps=12, threads=1)
envs.reset(seed=0); envs.step(envs.state()["last_action"])
print(begin - start, time.perf_counter() - begin)
"""


def first_calls(quick: bool) -> dict[str, Any]:
    """Seconds to the end of the first step in a fresh process, without what is kept on disk and with it."""
    answer: dict[str, Any] = {}
    for name in ("go2",) if quick else ("go2", "g1"):
        with tempfile.TemporaryDirectory() as folder:
            env = {**os.environ, "CONDYLE_CACHE_DIR": folder}
            rows = list[list[float]]()
            for _ in range(2 if quick else 4):
                run = [sys.executable, "-c", FIRST.format(name=name)]
                done = subprocess.run(run, env=env, capture_output=True, text=True, check=True, cwd=results.ROOT)
                rows.append([float(x) for x in done.stdout.split()])
        warm = min(row[1] for row in rows[1:])
        answer[name] = {"import_and_load_s": min(row[0] for row in rows), "cold_s": rows[0][1], "warm_s": warm}
    return answer


MEASUREMENTS: dict[str, Callable[[bool], dict[str, Any]]] = {
    "rates": rates,
    "threads": threads,
    "contacts": contacts,
    "one": one,
    "policy": policy,
    "numbers": numbers,
    "first_calls": first_calls,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*MEASUREMENTS, []], metavar="NAME")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    for name in options.names or MEASUREMENTS:
        begin = time.perf_counter()
        rows = MEASUREMENTS[name](options.quick)
        print(f"{name}, {time.perf_counter() - begin:.0f} s", *rows.items(), sep="\n  ")
        if not options.quick:
            versions = {"numpy": np.__version__, "mujoco": metadata.version("mujoco")}
            results.merge(name, "environments", {**rows, "versions": versions}, SOURCE)


if __name__ == "__main__":
    main()
