"""Functions on JAX arrays, direct calls, a callback and a port: writes results/interop_jax.json.

    python -m benchmarks.interop_jax [--quick]       --quick: a few rounds, nothing is written

fd under `jit`, one state and 4096, on one thread, float64: the direct call with fresh answers, the call on JAX arrays,
and the same dynamics in jax.numpy. The gradient of a rollout of 50 steps of one state: by `far.rollout`, by `scan` of
`far.step`, and by `scan` around a callback whose derivatives are matrices. Calls take turns, and the least time of each
counts. Answers and gradients are compared before anything is timed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import metadata
from typing import Any

import numpy as np

import condyle
from benchmarks import results
from benchmarks.interop_torch import least
from benchmarks.jax_port import forward_dynamics
from benchmarks.robots import chosen

SOURCE = results.FOLDER / "interop_jax.json"
ROBOTS = ("iiwa14", "panda")
SIZES = (1, 4096)
STEPS, DT = 50, 0.005
ROUNDS = 100


def check(what: str, found: Any, want: Any) -> None:
    error = np.max(np.abs(np.asarray(found) - np.asarray(want))) / np.max(np.abs(np.asarray(want)))
    if not error < 1e-8:
        raise SystemExit(f"{what}: differs by {error:.1e} of the largest entry")


def calls_of_fd(
    jax: Any, far: Any, dyn: condyle.Dynamics, robot: condyle.Robot, n: int
) -> dict[str, Callable[[], Any]]:
    q, v = robot.random_state(n, 0)
    state = (q, v, 0.1 * v) if n > 1 else (q[0], v[0], 0.1 * v[0])
    there = [jax.numpy.asarray(x) for x in state]
    port = forward_dynamics(robot)
    ported = jax.jit(jax.vmap(port) if n > 1 else port)
    call = jax.jit(far.forward_dynamics)
    want = dyn.forward_dynamics(*state)
    check("fd", call(*there), want)
    check("the port", ported(*there), want)
    return {
        "direct": lambda: dyn.forward_dynamics(*state),
        "jit": lambda: call(*there).block_until_ready(),
        "port": lambda: ported(*there).block_until_ready(),
    }


def by_callback(jax: Any, dyn: condyle.Dynamics) -> Callable[..., Any]:
    """fd as a callback, with a rule that multiplies by its derivatives: what users wrote without this interface."""
    jnp = jax.numpy

    @jax.custom_jvp
    def fd(q: Any, v: Any, tau: Any) -> Any:
        shape = jax.ShapeDtypeStruct(v.shape, v.dtype)
        return jax.pure_callback(dyn.forward_dynamics, shape, q, v, tau, vmap_method="broadcast_all")

    @fd.defjvp
    def _(at: Any, along: Any) -> Any:
        v = at[1]
        square = jax.ShapeDtypeStruct((*v.shape, v.shape[-1]), v.dtype)
        d = jax.pure_callback(dyn.forward_dynamics_derivatives, (square,) * 3, *at, vmap_method="broadcast_all")
        return fd(*at), sum(jnp.einsum("...ij,...j->...i", matrix, x) for matrix, x in zip(d, along, strict=True))

    return fd


def gradients(jax: Any, far: Any, dyn: condyle.Dynamics, robot: condyle.Robot) -> dict[str, Callable[[], Any]]:
    """Of the last velocities' squares by the torques of each step."""
    jnp = jax.numpy
    q, v = (jnp.asarray(x[0]) for x in robot.random_state(1, 0))
    tau = jnp.zeros((STEPS, robot.nv))
    fd = by_callback(jax, dyn)

    def of_steps(step: Callable[..., Any]) -> Any:
        def loss(tau: Any) -> Any:
            end, _ = jax.lax.scan(lambda x, u: (step(x, u), None), (q, v), tau)
            return (end[1] ** 2).sum()

        return jax.jit(jax.grad(loss))

    def callback_step(x: Any, u: Any) -> Any:
        after = x[1] + DT * fd(*x, u)
        return x[0] + DT * after, after

    def own_step(x: Any, u: Any) -> Any:
        return tuple(far.step(*x, u, DT))

    rolled = jax.jit(jax.grad(lambda tau: (far.rollout(q, v, tau, DT, last=True).v ** 2).sum()))
    ways = {"rollout": rolled, "scan of step": of_steps(own_step), "scan of a callback": of_steps(callback_step)}
    end = dyn.rollout(q, v, tau, DT, last=True)
    want = dyn.vjp("rollout")(q, v, tau, DT, 0 * end.q, 2 * end.v, last=True).tau
    for name, way in ways.items():
        check(name, way(tau), want)
    return {name: lambda way=way: way(tau).block_until_ready() for name, way in ways.items()}


def measure(rounds: int) -> list[dict[str, Any]]:
    import jax

    from condyle.interop.jax import wrap

    jax.config.update("jax_enable_x64", True)
    rows: list[dict[str, Any]] = []
    for case in chosen(ROBOTS):
        robot = case.load()
        dyn = robot.compile(threads=1)
        far = wrap(dyn)
        for n in SIZES:
            us = least(calls_of_fd(jax, far, dyn, robot, n), rounds if n == 1 else max(3, rounds // 5))
            best = {name: times["least"] for name, times in us.items()}
            row = {"function": "fd", "robot": case.name, "states": n, "us": us}
            rows.append({**row, "to_direct": best["jit"] / best["direct"], "port_to_jit": best["port"] / best["jit"]})
        us = least(gradients(jax, far, dyn, robot), max(3, rounds // 5))
        best = {name: times["least"] for name, times in us.items()}
        row = {"function": f"gradient of {STEPS} steps", "robot": case.name, "states": 1, "us": us}
        rows.append({**row, "callback_to_rollout": best["scan of a callback"] / best["rollout"]})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    rows = measure(4 if quick else ROUNDS)
    for row in rows:
        print(*(f"{key} {value}" for key, value in row.items() if key != "us"), sep=", ")
        print("   ", {call: round(times["least"], 1) for call, times in row["us"].items()})
    if not quick:
        found = {"rows": rows, "rounds": ROUNDS, "versions": {"jax": metadata.version("jax")}}
        results.merge("functions on JAX arrays", "iiwa14, panda", found, SOURCE)


if __name__ == "__main__":
    main()
