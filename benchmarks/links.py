"""Parallel in the links: the experiments of Yang, Wu, Pan 2017 with our methods, errors, figures, the table of `auto`.

    python -m benchmarks.links [--pinocchio] [--isa avx2] [--quick]

Random chains of revolute joints, one thread, interleaved in one process: our serial code (straight machine code, or
rolled loops where there is no other), one state in each lane (SIMD), and the chain in segments, one in each lane.
Times are the smallest of many, because the machine is shared. --pinocchio: also 1000 states of 200 links beside
Pinocchio's C++. Writes results/links-<machine>-<isa>.json; benchmarks.links_errors measures errors of rounding.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import time
import timeit
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

import condyle
from benchmarks import chains, results
from benchmarks.bench import Subject, reused
from benchmarks.links_figures import draw, page
from benchmarks.parallel import evaluate, segmented
from benchmarks.robots import Case
from condyle.api import compiler_of
from condyle.backends.cpu.build import lanes, supported
from condyle.backends.cpu.chain import assemble_chain
from condyle.cli.bound import Sampling
from condyle.cli.rivals.numbers import agreement
from condyle.cli.rivals.pinocchio_cpp import PinocchioCpp
from condyle.functions import FUNCTIONS, function_of
from condyle.ir.program import Program
from condyle.links import compiler as scanned
from condyle.links.trace import has_branches
from condyle.model.tree import tree_of
from condyle.runtime import machine
from condyle.trace import reference

LENGTHS = {"float32": (8, 16, 32, 48, 64, 128, 256, 512, 1024), "float64": (8, 16, 32, 48, 64, 128, 256)}
SERIAL = {"fd": "aba", "id": "rnea"}
BESIDE = 200, 1000
"""Links, and states, beside Pinocchio."""
GROUPS = (1, 10, 100, 1000)
STRAIGHT = 256
"""Links up to which serial code is straight: the build of longer ones takes minutes."""

PAGE = results.ROOT / "docs" / "results" / "links.md"
HEADING = "# Parallel in the links, measured\n\nThe numbers behind [parallel in the links](../explanation/links.md).\n"

Array = np.ndarray


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pinocchio", action="store_true")
    parser.add_argument("--isa", choices=machine.instruction_sets(), default=machine.instruction_sets()[0])
    parser.add_argument("--quick", action="store_true", help="few lengths, nothing is written")
    options = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    machine.instruction_sets = cache(lambda: (options.isa,))
    found: dict[str, Any] = {**results.certificate(), "machine": results.machine(), "isa": options.isa}
    for key, function in (("one_state", "fd"), ("one_state_id", "id")):
        found[key] = {
            dtype: [one_state(n, dtype, function) for n in (lengths[:2] if options.quick else lengths)]
            for dtype, lengths in LENGTHS.items()
        }
    found["limbs"] = {dtype: of_branches(dtype) for dtype in LENGTHS if not options.quick}
    found["groups"] = [row for n in ((10,) if options.quick else (10, 100, 200)) for row in groups(n)]
    found["numpy"] = [
        numpy_row(n, dtype) for dtype in ("float32", "float64") for n in (8, 16, 32, 64) if not options.quick or n < 16
    ]
    found["pinocchio"] = beside_pinocchio() if options.pinocchio else {}
    if not options.quick:
        finish(found)


def finish(found: dict[str, Any]) -> None:
    """The results file, and everything that is made of it."""
    words = re.findall(r"[a-z0-9]+", found["machine"]["cpu"].lower())
    path = results.FOLDER / f"links-{'-'.join([*words, found['isa']])}.json"
    results.write(path, found)
    written = json.loads(path.read_text())
    table(written)
    every = measured()
    if every[0] == written:
        draw(written, results.ROOT / "docs" / "figures")
    put_page(every)


def measured() -> list[dict[str, Any]]:
    """What was found on every machine; the newest of AVX-512 first: the figures are of it."""
    found = [json.loads(path.read_text()) for path in results.FOLDER.glob("links-*.json")]
    return sorted(found, key=lambda one: (one["isa"], one["date"]), reverse=True)


def passive(robot: condyle.Robot, n: int, dtype: str) -> list[Array]:
    rng = np.random.default_rng(0)
    state = robot.random_state(n, rng)
    return [x.astype(dtype) for x in (state.q, state.v, 0.1 * rng.standard_normal((n, robot.nv)))]


def microseconds(calls: list[Callable[[], object]], rounds: int = 20, number: int = 5) -> list[float]:
    """The smallest time of each call, taken in turn."""
    best = [np.inf] * len(calls)
    for _ in range(rounds):
        for k, call in enumerate(calls):
            best[k] = min(best[k], *(t / number for t in timeit.repeat(call, number=number, repeat=3)))
    return [round(1e6 * t, 3) for t in best]


def trunk(links: int, branches: int, length: int) -> list[int]:
    """Parents of a trunk of so many links with branches at its end; without a trunk they start at the world."""
    parents = list(range(-1, links - 1))
    for _ in range(branches):
        first = len(parents)
        parents += [links - 1, *range(first, first + length - 1)]
    return parents


TREES = {
    "trunk of 16, 3 branches of 16": trunk(16, 3, 16),
    "4 branches of 75": trunk(0, 4, 75),
    "trunk of 60, 4 branches of 60": trunk(60, 4, 60),
    "trunk of 100, 2 branches of 100": trunk(100, 2, 100),
}


def of_branches(dtype: str) -> list[dict[str, Any]]:
    """One state of trees with no more branches than lanes: a row a tree and function."""
    robots = {name: chains.tree(parents, 1) for name, parents in TREES.items()}
    robots = {name: robot for name, robot in robots.items() if has_branches(tree_of(robot), lanes("float64"))}
    return [
        {"tree": name, "function": function, **one_state(robot.nv, dtype, function, robot)}
        for name, robot in robots.items()
        for function in ("fd", "id")
    ]


def one_state(n: int, dtype: str, function: str, robot: condyle.Robot | None = None) -> dict[str, Any]:
    """One state of a robot of n links, by default a chain: serial against chunks."""
    robot = robot or condyle.chain(n, rng=3)
    start = time.perf_counter()
    routes = {function: SERIAL[function]} if n <= STRAIGHT else None
    serial = robot.compile(dtype=dtype, threads=1, routes=routes).function(function)
    scan = robot.compile(dtype=dtype, threads=1, links="scan").function(function)
    state = [x[0] for x in passive(robot, 1, dtype)]
    out = np.empty(n, dtype)
    want = serial(*state)
    built = time.perf_counter() - start
    start = time.perf_counter()
    difference = float(np.abs(scan(*state) - want).max() / np.abs(want).max())
    ours = time.perf_counter() - start
    a, b = microseconds([lambda: serial(*state, out=out), lambda: scan(*state, out=out)])
    row = {"links": n, "serial_us": a, "chunks_us": b, "ratio": round(a / b, 2)}
    named = None if routes is None else {FUNCTIONS[name]: route for name, route in routes.items()}
    code = compiler_of(robot, named).code(FUNCTIONS[function])
    row["serial"] = "straight" if isinstance(code, Program) else "rolled"
    row["difference"] = difference
    row |= {
        "serial_build_s": round(built, 2),
        "chunks_build_s": round(ours, 2),
        "work_kib": _work(robot, function, dtype),
    }
    print(function, dtype, row, flush=True)
    return row


def beside_pinocchio() -> dict[str, Any]:
    """Many states of a long chain, float64: every function's nanoseconds a state, ours and Pinocchio's C++."""
    links, states = BESIDE
    case = Case(f"chain-{links}", "")
    subject = Subject(case, ("id", "fd"), Sampling())
    subject.__dict__["robot"] = robot = condyle.chain(links, rng=3)
    rival, drawn = PinocchioCpp(robot), subject.states(states)
    found: dict[str, Any] = {"links": links, "states": states, "rival": dict(rival.about), "ns": {}}
    for name in subject.functions:
        dynamics = subject.dynamics()
        apart = agreement(robot, dynamics, rival, function_of(name))
        calls = {
            "condyle": reused(dynamics, name, drawn),
            "pinocchio": rival.call(name, drawn.arguments(function_of(name))),
        }
        found["ns"][name] = {**subject.times(calls, states), "agreement": apart}
        print(name, found["ns"][name], flush=True)
    return found


def _work(robot: condyle.Robot, function: str, dtype: str) -> int:
    """Memory of the chunks: workspace and table."""
    isa, bits = supported()[0], 32 if dtype == "float32" else 64
    made = assemble_chain(segmented(tree_of(robot), FUNCTIONS[function], lanes(dtype), 1e-6), isa, bits)
    return (made.work * isa.vector_bytes + len(made.table)) // 1024


def groups(n: int) -> list[dict[str, Any]]:
    """N states of one chain: one after the other, a state a lane, and chunks one state after the other."""
    robot = condyle.chain(n, rng=3)
    simd = robot.compile(dtype="float32", threads=1)
    scan = robot.compile(dtype="float32", threads=1, links="scan")
    rows: list[dict[str, Any]] = []
    for states in GROUPS:
        q, v, tau = passive(robot, states, "float32")
        out = np.empty((states, n), np.float32)

        def serially(q: Array = q, v: Array = v, tau: Array = tau, out: Array = out) -> None:
            for k in range(len(q)):
                simd.forward_dynamics(q[k], v[k], tau[k], out=out[k])

        calls = [
            serially,
            lambda: simd.forward_dynamics(q, v, tau, out=out),  # noqa: B023
            lambda: scan.forward_dynamics(q, v, tau, out=out),  # noqa: B023
        ]
        times = microseconds(calls, 3 if states > 10 else 20, 1 if states > 10 else 5)
        rows.append(
            {"links": n, "states": states, **dict(zip(("serial_us", "simd_us", "chunks_us"), times, strict=True))}
        )
        print(rows[-1], flush=True)
    return rows


def numpy_row(n: int, dtype: str) -> dict[str, Any]:
    """NumPy's reference, joint by joint, against NumPy's scans: one state."""
    robot = condyle.chain(n, rng=3)
    tree = tree_of(robot)
    row: dict[str, Any] = {"links": n, "dtype": dtype}
    q, v, tau = passive(robot, 1, dtype)
    for function, route, scan, inputs in (
        ("fd", "aba", "elements", {"q": q, "v": v, "tau": tau}),
        ("id", "rnea", "sums", {"q": q, "v": v, "a": tau}),
    ):
        serial, parallel = microseconds(
            [
                lambda: reference.evaluate(tree, FUNCTIONS[function], route, inputs),  # noqa: B023
                lambda: evaluate(tree, FUNCTIONS[function], scan, inputs),  # noqa: B023
            ],
            3,
            1,
        )
        row[function] = {"serial_us": serial, "scan_us": parallel}
    print(row, flush=True)
    return row


def table(found: dict[str, Any]) -> None:
    """What `auto` reads: the shortest chain from which on every longer one was at least a tenth faster by scans."""
    cpu = found["machine"]["cpu"]
    rows: list[dict[str, Any]] = []
    for dtype, by_links in found["one_state"].items():
        rows += crossover("cpu", found["isa"], dtype, "fd", [(r["links"], r["ratio"]) for r in by_links])
        by_links = found.get("one_state_id", {}).get(dtype, [])
        rows += crossover("cpu", found["isa"], dtype, "id", [(r["links"], r["ratio"]) for r in by_links])
        mine = [row for row in found["numpy"] if row["dtype"] == dtype]
        for function in ("fd", "id"):
            ratios = [(row["links"], row[function]["serial_us"] / row[function]["scan_us"]) for row in mine]
            rows += crossover("numpy", "", dtype, function, ratios)
    before = json.loads(scanned.TABLE.read_text())
    about = {"cpu": cpu, "isa": found["isa"], "date": found["date"], "commit": found["commit"]}
    key = (cpu, found["isa"])
    machines = [one for one in before["measured"] if (one["cpu"], one["isa"]) != key] + [about]
    others = [row for row in before["rows"] if (row["cpu"], row["measured_by"]) != key]
    mine = [{"cpu": cpu, "measured_by": found["isa"], **row} for row in rows]
    scanned.TABLE.write_text(json.dumps({"measured": machines, "rows": others + mine}, indent=1) + "\n")


def put_page(found: list[dict[str, Any]]) -> None:
    """The page of results."""
    errors = json.loads((results.FOLDER / "scan-errors.json").read_text())
    PAGE.write_text(HEADING + "\n" + page(found, errors))


def crossover(
    target: str, isa: str, dtype: str, function: str, ratios: list[tuple[int, float]]
) -> list[dict[str, Any]]:
    slow = [links for links, ratio in ratios if ratio < 1.1]
    faster = [links for links, _ in ratios if links > max(slow, default=0)]
    if not faster:
        return []
    about = {"target": target, "isa": isa, "dtype": dtype, "function": function}
    return [{**about, "links": faster[0], "states": 1}]


if __name__ == "__main__":
    main()
