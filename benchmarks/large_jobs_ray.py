"""Ray: blocks of fd on one actor and on two, by actors of `condyle.interop.ray` and by Ray Data.

States are the same chunk again and again for the actors, and are made from their number by Ray Data's workers.
"""

from __future__ import annotations

import time
from importlib import import_module
from typing import Any

import numpy as np

import condyle

BLOCKS, BLOCK, ROUNDS = 20, 20_000, 3
TOTAL = BLOCKS * BLOCK


def measured() -> dict[str, Any]:
    """Seconds on one actor and on two, in turns."""
    ray: Any = import_module("ray")
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False)
    try:
        found = {name: seconds(run) for name, run in (("actors", on_actors), ("data", on_data))}
    finally:
        ray.shutdown()
    return {"states": TOTAL, "block": BLOCK, **found}


def seconds(run: Any) -> dict[str, Any]:
    taken: dict[str, list[float]] = {"1": [], "2": []}
    for _ in range(ROUNDS):
        for actors, times in taken.items():
            times.append(run(int(actors)))
    return {"seconds": taken, "speed_up": [one / two for one, two in zip(*taken.values(), strict=True)]}


def on_actors(actors: int) -> float:
    """The second of two runs: with the first one, the actors start and compile."""
    from condyle.interop import ray as interop

    robot = condyle.load("atlas")
    far = interop.wrap(robot.compile(threads=1), actors=actors)
    chunk = tuple(np.random.default_rng(k).random((BLOCK, robot.nv)) for k in range(3))
    taken = 0.0
    for _ in range(2):
        start = time.perf_counter()
        for _ in far.map("fd", (chunk for _ in range(BLOCKS))):
            pass
        taken = time.perf_counter() - start
    return taken


def drawn(batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """States of a block."""
    nv, rng = condyle.load("atlas").nv, np.random.default_rng(int(batch["id"][0]))
    return {name: rng.random((len(batch["id"]), nv)) for name in ("q", "v", "tau")}


def on_data(actors: int) -> float:
    """From the start of the job to its end; actors start and take the kernel from the cache."""
    from condyle.interop.ray import Map

    data: Any = import_module("ray.data")
    dyn = condyle.load("atlas").compile(threads=1)
    states = data.range(TOTAL, override_num_blocks=BLOCKS).map_batches(drawn, batch_size=BLOCK).materialize()
    start = time.perf_counter()
    answers = states.map_batches(
        Map, fn_constructor_args=(dyn, "fd"), batch_format="numpy", batch_size=BLOCK, concurrency=actors
    )
    answers.materialize()
    return time.perf_counter() - start


def page(found: dict[str, Any]) -> list[str]:
    """Its table."""
    head = "| Ray, fd of Atlas | states | one actor, least s | two actors, least s "
    head += f"| times faster, median of {ROUNDS} |"
    names = {
        "actors": "`far.map`, the second of two runs",
        "data": "`map_batches` of Ray Data, with the start of the actors",
    }
    rows = [_row(text, found["states"], found[name]) for name, text in names.items()]
    when = f"Ray: {found['date']}, load {found['load']:.2f}; blocks of {found['block']}."
    return [head, "|---|---:|---:|---:|---:|", *rows, "", when, ""]


def _row(text: str, states: int, of: dict[str, Any]) -> str:
    one, two, ratio = (sorted(values) for values in (*of["seconds"].values(), of["speed_up"]))
    spread = f"{ratio[len(ratio) // 2]:.2f} ({ratio[0]:.2f} to {ratio[-1]:.2f})"
    return f"| {text} | {states} | {one[0]:.2f} | {two[0]:.2f} | {spread} |"
