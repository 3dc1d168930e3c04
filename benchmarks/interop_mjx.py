"""fd on JAX arrays and MJX, MuJoCo in JAX, on the processor: writes results/interop_mjx.json.

    python -m benchmarks.interop_mjx [--quick]       --quick: a few rounds, nothing is written

Needs `pip install mujoco-mjx mujoco 'jax[cpu]'`. Ours: `forward_dynamics` of `condyle.interop.jax.wrap`, under `jit`,
on one thread. Theirs: qacc of `mjx.forward`, constraints, contacts and passive forces off, under `jit` and `vmap`; XLA
takes as many threads as it likes. float64; one state and 4096; calls take turns, and the least time of each counts. The
accelerations are compared before anything is timed.

All is measured twice, in processes of their own: with XLA as it is, and without its fusion emitters, since these
compute each link's parents again and again in a chain of MJX's. The ratio is to the faster of MJX's two.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module, metadata
from typing import Any

import numpy as np

import condyle
from benchmarks import results
from benchmarks.interop_torch import least
from condyle.cli.rivals.mujoco_c import frames, mjcf
from condyle.cli.rivals.numbers import numbers_of

SOURCE = results.FOLDER / "interop_mjx.json"
ROBOTS = {"iiwa14": False, "hyq": True}
SIZES = (1, 4096)
ROUNDS, SECONDS = 40, 20
"""Rounds of calls, fewer where MJX would take longer than so many seconds."""
SETTINGS = {"as it is": "", "without emitters": "--xla_cpu_use_fusion_emitters=false"}
PACKAGES = ("jax", "jaxlib", "mujoco", "mujoco-mjx")


class Mjx:
    """qacc of a robot."""

    def __init__(self, robot: condyle.Robot) -> None:
        mujoco, mjx = import_module("mujoco"), import_module("mujoco.mjx")
        self.robot = robot
        self._jax: Any = import_module("jax")
        model = mjx.put_model(mujoco.MjModel.from_xml_string(mjcf(numbers_of(robot, "MuJoCo"))))
        data = mjx.make_data(model)

        def qacc(q: Any, v: Any, tau: Any) -> Any:
            return mjx.forward(model, data.replace(qpos=q, qvel=v, qfrc_applied=tau)).qacc

        self._run = self._jax.jit(self._jax.vmap(qacc))

    def prepared(self, q: Any, v: Any, tau: Any) -> tuple[Callable[[], Any], Callable[[Any], Any]]:
        """A call at these states of ours, and its answer in our coordinates."""
        maps = frames(self.robot, q, v)
        turned = [np.einsum("nij,nj->ni", maps.T, x) for x in (v, tau)]
        given = [self._jax.numpy.asarray(x) for x in (maps.q, *turned)]

        def ours(qacc: Any) -> Any:
            return np.einsum("nji,nj->ni", maps.T, np.asarray(qacc) - maps.coriolis)

        return lambda: self._run(*given).block_until_ready(), ours


def row(name: str, robot: condyle.Robot, n: int, rounds: int) -> dict[str, Any]:
    jax = import_module("jax")
    dyn = robot.compile(threads=1)
    call = jax.jit(import_module("condyle.interop.jax").wrap(dyn).forward_dynamics)
    q, v = robot.random_state(n, 0)
    tau = 0.1 * v
    theirs, in_our_coordinates = Mjx(robot).prepared(q, v, tau)
    there = [jax.numpy.asarray(x) for x in (q, v, tau)]
    want = dyn.forward_dynamics(q, v, tau)
    differs = {}
    for who, found in (("jit", call(*there)), ("mjx", in_our_coordinates(theirs()))):
        differs[who] = float(np.max(np.abs(np.asarray(found) - want)) / np.max(np.abs(want)))
        if not differs[who] < 1e-8:
            raise SystemExit(f"{name}, {n} states: {who} differs by {differs[who]:.1e} of the largest entry")
    begin = time.perf_counter()
    theirs()
    rounds = max(1, min(rounds, int(SECONDS / 2 / (time.perf_counter() - begin))))
    us = least({"jit": lambda: call(*there).block_until_ready(), "mjx": theirs}, rounds)
    base = "floating" if robot.nq != robot.nv else "fixed"
    return {"robot": name, "base": base, "states": n, "rounds": rounds, "us": us, "differs": differs}


def measured(rounds: int) -> list[dict[str, Any]]:
    """All rows, with XLA as its flags say in this process."""
    import_module("jax").config.update("jax_enable_x64", True)
    robots = {name: condyle.load(name, floating_base=floating) for name, floating in ROBOTS.items()}
    return [row(name, robot, n, rounds) for name, robot in robots.items() for n in SIZES]


def both(quick: bool) -> list[dict[str, Any]]:
    """Rows of each setting in one, by processes of their own."""
    command = [sys.executable, "-m", "benchmarks.interop_mjx", "--child", *(["--quick"] if quick else [])]
    found: dict[str, list[dict[str, Any]]] = {}
    for setting, flags in SETTINGS.items():
        done = subprocess.run(
            command, stdout=subprocess.PIPE, text=True, check=True, env={**os.environ, "XLA_FLAGS": flags}
        )
        found[setting] = json.loads(done.stdout.splitlines()[-1])  # packages that MJX misses are said before
    rows: list[dict[str, Any]] = []
    for parts in zip(*found.values(), strict=True):
        of = dict(zip(SETTINGS, parts, strict=True))
        best = {who: min(part["us"][who]["least"] for part in parts) for who in ("jit", "mjx")}
        about = {key: parts[0][key] for key in ("robot", "base", "states", "differs")}
        us = {setting: {"rounds": part["rounds"], **part["us"]} for setting, part in of.items()}
        rows.append({**about, "us": us, "mjx_to_jit": best["mjx"] / best["jit"]})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(measured(3 if given.quick else ROUNDS)))
        return
    rows = both(given.quick)
    for one in rows:
        print(one["robot"], one["base"], one["states"], f"{one['mjx_to_jit']:.1f} times", one["differs"])
        for setting, us in one["us"].items():
            print("   ", setting, {who: round(us[who]["least"], 1) for who in ("jit", "mjx")})
    if not given.quick:
        versions = {package: metadata.version(package) for package in PACKAGES}
        found = {"rows": rows, "xla_threads": os.cpu_count(), "flags": SETTINGS, "versions": versions}
        results.merge("fd beside MJX", "iiwa14, hyq", found, SOURCE)


if __name__ == "__main__":
    main()
