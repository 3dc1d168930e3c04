"""Parallel in the links: the experiments of Yang, Wu, Pan 2017 with our methods, errors, figures, the table of `auto`.

    python -m benchmarks.links [--errors] [--quick] [--functions]

Random chains of revolute joints, one thread, interleaved in one process: our serial code (straight machine code, or
rolled loops where there is no other), a state in each lane (SIMD), and the chain in chunks, one a lane. Times are the
smallest of many, because the machine is shared. --errors: also what float32 and float64 lose up to 1000 links.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import timeit
from collections.abc import Callable
from typing import Any

import numpy as np

import condyle
from benchmarks import chains, results
from benchmarks.links_figures import draw, page
from condyle import scanned
from condyle.algorithms import reference
from condyle.algorithms.scans.routes import evaluate
from condyle.backends.cpu.build import build_chain, lanes, supported
from condyle.backends.cpu.chain import assemble_chain
from condyle.model.tree import tree_of
from condyle.trace.chunks import chunked

LENGTHS = {"float32": (8, 16, 32, 48, 64, 128, 256, 512, 1024), "float64": (8, 16, 32, 48, 64, 128, 256)}
FUNCTIONS_LENGTHS = (16, 32, 64, 128, 256, 512, 1024)
GROUPS = (1, 10, 100, 1000)
STRAIGHT = 256
"""Links up to which serial code is straight: the build of longer ones takes minutes."""

HEADING = "## Measured\n"

Array = np.ndarray


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--errors", action="store_true")
    parser.add_argument("--quick", action="store_true", help="few lengths, nothing is written")
    parser.add_argument("--functions", metavar="FILE", help="fd and id of one state in float32, to results/FILE only")
    options = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    if options.functions:
        rows = [functions(n) for n in FUNCTIONS_LENGTHS]
        about = {**results.certificate(), "machine": results.machine(), "isa": supported()[0].name}
        results.write(results.FOLDER / options.functions, {**about, "functions": rows})
        return
    found: dict[str, Any] = {**results.certificate(), "machine": results.machine(), "isa": supported()[0].name}
    found["one_state"] = {
        dtype: [one_state(n, dtype) for n in (lengths[:2] if options.quick else lengths)]
        for dtype, lengths in LENGTHS.items()
    }
    found["groups"] = [row for n in ((10,) if options.quick else (10, 100, 200)) for row in groups(n)]
    found["numpy"] = [
        numpy_row(n, dtype) for dtype in ("float32", "float64") for n in (8, 16, 32, 64) if not options.quick or n < 16
    ]
    found["errors"] = [errors(n) for n in (8, 30, 100, 300, 1000)] if options.errors else []
    if not options.quick:
        finish(found)


def finish(found: dict[str, Any]) -> None:
    """The results file, and everything that is made of it."""
    path = results.FOLDER / "links.json"
    results.write(path, found)
    written = json.loads(path.read_text())
    table(written)
    draw(written, results.ROOT / "docs" / "figures")
    put_page(written)


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


def one_state(n: int, dtype: str) -> dict[str, Any]:
    """Forward dynamics of one state: serial against chunks."""
    robot = condyle.chain(n, rng=3)
    start = time.perf_counter()
    routes = {"fd": "aba"} if n <= STRAIGHT and dtype == "float32" else None
    serial = robot.compile(dtype=dtype, threads=1, routes=routes)
    scan = robot.compile(dtype=dtype, threads=1, links="scan")
    state = [x[0] for x in passive(robot, 1, dtype)]
    out = np.empty(n, dtype)
    want = serial.forward_dynamics(*state)
    built = time.perf_counter() - start
    start = time.perf_counter()
    difference = float(np.abs(scan.forward_dynamics(*state) - want).max() / np.abs(want).max())
    ours = time.perf_counter() - start
    calls = [lambda: serial.forward_dynamics(*state, out=out), lambda: scan.forward_dynamics(*state, out=out)]
    a, b = microseconds(calls)
    form = "straight" if routes or n < STRAIGHT else "rolled"
    row = {"links": n, "serial_us": a, "chunks_us": b, "ratio": round(a / b, 2), "serial": form}
    row |= {"difference": difference, "serial_build_s": round(built, 2), "chunks_build_s": round(ours, 2)}
    row["work_kib"] = _work(robot, dtype)
    print(dtype, row, flush=True)
    return row


def functions(n: int) -> dict[str, Any]:
    """Both functions that are chunked, as they are compiled by default: one state, float32."""
    robot = condyle.chain(n, rng=3)
    serial, scan = (robot.compile(dtype="float32", threads=1, links=links) for links in ("serial", "scan"))
    state = [x[0] for x in passive(robot, 1, "float32")]
    out = np.empty(n, np.float32)
    row: dict[str, Any] = {"links": n}
    for name in ("fd", "id"):
        one, two = serial.function(name), scan.function(name)
        calls = [lambda: one(*state, out=out), lambda: two(*state, out=out)]  # noqa: B023  # pyright: ignore
        a, b = microseconds(calls, 20, 5)
        row[name] = {"serial_us": a, "chunks_us": b, "ratio": round(a / b, 2)}
    print(row, flush=True)
    return row


def _work(robot: condyle.Robot, dtype: str) -> int:
    """Memory of the chunks: workspace and table."""
    isa, bits = supported()[0], 32 if dtype == "float32" else 64
    made = assemble_chain(chunked(tree_of(robot), "fd", False, lanes(dtype), 1e-6), isa, bits)
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
                lambda: reference.evaluate(tree, function, route, inputs),  # noqa: B023
                lambda: evaluate(tree, function, scan, inputs),  # noqa: B023
            ],
            3,
            1,
        )
        row[function] = {"serial_us": serial, "scan_us": parallel}
    print(row, flush=True)
    return row


def errors(n: int) -> dict[str, Any]:
    """The largest error by the largest entry, against long double; numbers exact in float32; the worse of two seeds."""
    row: dict[str, Any] = {"links": n}
    for rng in (3, 4):
        robot = chains.chain(n, rng)
        tree, state = tree_of(robot), robot.random_state(1, rng)
        drive = np.random.default_rng(rng).standard_normal((1, n))
        q, v = chains.single(state.q), chains.single(state.v)
        for function, name, size, serial, routes in (
            ("id", "a", 1.0, "rnea", ("sums", "lie")),
            ("fd", "tau", 0.1, "aba", ("elements", "abia")),
        ):
            inputs = {"q": q, "v": v, name: chains.single(size * drive)}
            (want,) = reference.evaluate(tree, function, serial, _as(inputs, np.longdouble))
            for dtype in (np.float64, np.float32):
                given = _as(inputs, dtype)
                answers = {serial: reference.evaluate(tree, function, serial, given)[0]}
                answers |= {route: evaluate(tree, function, route, given)[0] for route in routes}
                if function == "fd":
                    answers["chunks"] = np.empty((1, n), dtype)
                    guard = scanned.GUARD * float(np.finfo(dtype).eps)
                    made = chunked(tree, "fd", False, lanes(dtype.__name__), guard)
                    kernel = build_chain(made, dtype.__name__, supported()[0])
                    kernel(1, list(given.values()), [answers["chunks"]], 1)
                for route, answer in answers.items():
                    key = f"{function} {route} {dtype.__name__}"
                    error = float(np.abs(answer - want).max() / np.abs(want).max())
                    row[key] = max(row.get(key, 0.0), float(f"{error:.1e}"))
    print(row, flush=True)
    return row


def _as(inputs: dict[str, Array], dtype: type) -> dict[str, Array]:
    return {name: value.astype(dtype) for name, value in inputs.items()}


def table(found: dict[str, Any]) -> None:
    """What `auto` reads: the shortest chain from which on every longer one was at least a tenth faster by scans."""
    rows: list[dict[str, Any]] = []
    for dtype, measured in found["one_state"].items():
        rows += crossover("cpu", found["isa"], dtype, "fd", [(r["links"], r["ratio"]) for r in measured])
        mine = [row for row in found["numpy"] if row["dtype"] == dtype]
        for function in ("fd", "id"):
            ratios = [(row["links"], row[function]["serial_us"] / row[function]["scan_us"]) for row in mine]
            rows += crossover("numpy", "", dtype, function, ratios)
    about = {"date": found["date"], "commit": found["commit"], "cpu": found["machine"]["cpu"]}
    others = [row for row in json.loads(scanned.TABLE.read_text())["rows"] if row["isa"] not in ("", found["isa"])]
    scanned.TABLE.write_text(json.dumps({"measured": about, "rows": rows + others}, indent=1) + "\n")


def put_page(found: dict[str, Any]) -> None:
    """The measured part of the page, behind its heading."""
    path = results.ROOT / "docs" / "links.md"
    before = path.read_text().split(HEADING)[0]
    path.write_text(before + HEADING + "\n" + page(found))


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
