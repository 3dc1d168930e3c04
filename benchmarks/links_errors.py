"""What scans over links lose to rounding: chains of up to 1000 links and trees of up to 300, against long double.

    python -m benchmarks.links_errors

All numbers of a robot and of a state are exact in float32. An error is the largest of all entries by the largest entry,
of two robots the worse one. Writes results/scan-errors.json, from which docs/results/links.md has its tables.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import condyle
from benchmarks import chains, links, results
from benchmarks.parallel import evaluate, segmented
from condyle.backends.cpu.build import build_chain, lanes, supported
from condyle.functions import FUNCTIONS
from condyle.links.algorithms.arrays import GUARD
from condyle.model.tree import Tree, tree_of
from condyle.trace import reference

FILE = results.FOLDER / "scan-errors.json"
CHAINS = (8, 30, 100, 300, 1000)
TREES = (33, 100, 300)
MEASURED = (("id", "a", 1.0, "rnea", ("sums", "lie")), ("fd", "tau", 0.1, "aba", ("elements", "abia")))
"""A function, what drives it and how strongly, its serial route, its scans."""

Array = np.ndarray
Inputs = dict[str, Array]


def main() -> None:
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    found: dict[str, Any] = {**results.certificate(), "machine": results.machine(), "isa": supported()[0].name}
    found["chains"] = [worst(n, chains.chain, (3, 4), answers_of_chain) for n in CHAINS]
    found["trees"] = [worst(n, chains.random_tree, (1, 2), answers) for n in TREES]
    results.write(FILE, found)
    links.put_page(links.measured())


def worst(
    n: int, make: Callable[[int, int], condyle.Robot], seeds: Sequence[int], run: Callable[..., dict[str, Array]]
) -> dict[str, Any]:
    """The larger error of each route in each precision."""
    row: dict[str, Any] = {"links": n}
    for seed in seeds:
        robot = make(n, seed)
        tree, state = tree_of(robot), robot.random_state(1, seed)
        drive = np.random.default_rng(seed).standard_normal((1, n))
        known = {"q": chains.single(state.q), "v": chains.single(state.v)}
        for function, name, size, serial, _ in MEASURED:
            inputs = {**known, name: chains.single(size * drive)}
            (want,) = reference.evaluate(tree, FUNCTIONS[function], serial, _as(inputs, np.longdouble))
            for dtype in (np.float64, np.float32):
                for route, answer in run(tree, function, _as(inputs, dtype), dtype).items():
                    key = f"{function} {route} {dtype.__name__}"
                    error = float(np.abs(answer - want).max() / np.abs(want).max())
                    row[key] = max(row.get(key, 0.0), float(f"{error:.1e}"))
    print(row, flush=True)
    return row


def answers(tree: Tree, function: str, given: Inputs, dtype: type) -> dict[str, Array]:
    """The serial algorithm and every scan, by NumPy."""
    del dtype
    serial, scans = next((serial, scans) for name, _, _, serial, scans in MEASURED if name == function)
    found = {serial: reference.evaluate(tree, FUNCTIONS[function], serial, given)[0]}
    return found | {route: evaluate(tree, FUNCTIONS[function], route, given)[0] for route in scans}


def answers_of_chain(tree: Tree, function: str, given: Inputs, dtype: type) -> dict[str, Array]:
    """The same, and the processor's chunks."""
    got = np.empty((1, tree.nv), dtype)
    guard = GUARD * float(np.finfo(dtype).eps)
    made = segmented(tree, FUNCTIONS[function], lanes(dtype.__name__), guard)
    build_chain(made, dtype.__name__, supported()[0])(1, list(given.values()), [got], 1)
    return answers(tree, function, given, dtype) | {"chunks": got}


def _as(inputs: Inputs, dtype: type) -> Inputs:
    return {name: value.astype(dtype) for name, value in inputs.items()}


if __name__ == "__main__":
    main()
