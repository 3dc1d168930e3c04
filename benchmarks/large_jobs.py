"""Jobs in chunks compared with direct calls of the same chunks; two workers of Dask and two actors of Ray with one.

    python -m benchmarks.large_jobs [--states N] [--only-ray]

Writes results/large_jobs.json and LARGE_JOBS.md. With --only-ray the other measurements of the file stay. States are
made once, a chunk of them, and given again and again by an iterator; the sink drops the answers. So neither a disk nor
memory bounds the job, and what is compared is what `dyn.map` adds. Ratios are of runs one after the other.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import condyle
from benchmarks import large_jobs_ray, results

FILE, PAGE = results.FOLDER / "large_jobs.json", results.ROOT / "benchmarks" / "LARGE_JOBS.md"
CHUNK, STATE_BYTES = 1 << 16, 4 * 7 * 8
BLOCKS, BLOCK = 40, 100_000
ROUNDS = 5


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.large_jobs", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--states", type=int, default=100_000_000)
    parser.add_argument("--only-ray", action="store_true")
    given = parser.parse_args()
    if given.only_ray:
        found = json.loads(FILE.read_text(encoding="utf-8"))
    else:
        found = {**results.certificate(), "machine": results.machine(), "map": mapped(given.states), "dask": clusters()}
    found["ray"] = {**results.certificate(), **large_jobs_ray.measured()}
    results.write(FILE, found)
    PAGE.write_text(page(found), encoding="utf-8")


def mapped(states: int) -> dict[str, Any]:
    """Seconds of the bare chunks and of the job, and what the job adds to the memory."""
    robot = condyle.load("iiwa14")
    dyn = robot.compile(threads=1)
    q, v = robot.random_state(CHUNK, 0)
    source, out, count = (q, v, v.copy()), np.empty_like(q), states // CHUNK

    def bare() -> float:
        start = time.perf_counter()
        for _ in range(count):
            dyn.call("id", source, out)
        return time.perf_counter() - start

    def parts() -> Iterator[tuple[np.ndarray, ...]]:
        for _ in range(count):
            yield source

    def job() -> float:
        start = time.perf_counter()
        dyn.map("id", parts(), lambda begin, answers: None, progress=False)
        return time.perf_counter() - start

    dyn.call("id", source, out)
    before = peak_mb()
    times = [(bare(), job()) for _ in range(2)]
    least_bare, least_job = (min(column) for column in zip(*times, strict=True))
    added = peak_mb() - before
    arrays = in_memory(dyn, robot)
    return {
        "states": count * CHUNK,
        "chunk": CHUNK,
        "bare_s": least_bare,
        "job_s": least_job,
        "speed": least_bare / least_job,
        "million_a_second": count * CHUNK / least_job / 1e6,
        "added_mb": added,
        "chunk_mb": CHUNK * STATE_BYTES / 1e6,
        "arrays": arrays,
        "maps": from_maps(dyn, robot),
    }


def in_memory(dyn: condyle.Dynamics, robot: condyle.Robot) -> dict[str, float]:
    """The same from arrays to an array, 4 million states."""
    n = 64 * CHUNK
    q, v = robot.random_state(CHUNK, 0)
    source = [np.tile(x, (64, 1)) for x in (q, v, v)]
    out = np.zeros((n, 7))

    def bare() -> float:
        start = time.perf_counter()
        for begin in range(0, n, CHUNK):
            part = slice(begin, begin + CHUNK)
            dyn.call("id", [x[part] for x in source], out[part])
        return time.perf_counter() - start

    def job() -> float:
        start = time.perf_counter()
        dyn.map("id", source, out, CHUNK, progress=False)
        return time.perf_counter() - start

    times = [(bare(), job()) for _ in range(ROUNDS)]
    least_bare, least_job = (min(column) for column in zip(*times, strict=True))
    return {"states": n, "bare_s": least_bare, "job_s": least_job, "speed": least_bare / least_job}


def from_maps(dyn: condyle.Dynamics, robot: condyle.Robot) -> dict[str, float]:
    """Memory of its own that the process has more of, at each chunk's end: pages of memory maps are the system's."""
    n, samples = 64 * CHUNK, list[float]()
    with tempfile.TemporaryDirectory() as folder:
        source = [np.memmap(Path(folder, str(k)), float, "w+", shape=(n, 7)) for k in range(3)]
        for array, values in zip(source, (*robot.random_state(CHUNK, 0), np.zeros((CHUNK, 7))), strict=True):
            for begin in range(0, n, CHUNK):
                array[begin : begin + CHUNK] = values
        before = own_mb()
        dyn.map("id", source, lambda begin, answers: samples.append(own_mb()), CHUNK, progress=False)
    return {"states": n, "added_mb": max(samples) - before}


def own_mb() -> float:
    """Anonymous memory of this process."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("RssAnon"))
    return int(line.split()[1]) / 1024


def clusters() -> dict[str, Any]:
    """Seconds of blocks of fd on one worker process and on two, in turns: the least acceleration, states made there."""
    seconds: dict[str, list[float]] = {"1": [], "2": []}
    for _ in range(ROUNDS):
        for workers, taken in seconds.items():
            taken.append(cluster_seconds(int(workers)))
    speed_up = [one / two for one, two in zip(*seconds.values(), strict=True)]
    return {"states": BLOCKS * BLOCK, "block": BLOCK, "seconds": seconds, "speed_up": speed_up}


def cluster_seconds(workers: int) -> float:
    """The second of two runs: with the first one, workers come with the kernel, or take it from the cache."""
    import dask.array as da
    from dask.distributed import Client, LocalCluster

    from condyle.interop import dask as lazy

    robot = condyle.load("atlas")
    far = lazy.wrap(robot.compile(threads=1))
    index = da.arange(BLOCKS * BLOCK, chunks=BLOCK)
    shape = {"new_axis": 1, "chunks": (index.chunks[0], (robot.nv,))}
    states = [index.map_blocks(drawn, k, robot.nv, dtype=float, meta=np.empty((0, 0)), **shape) for k in range(3)]
    local = LocalCluster(n_workers=workers, processes=True, threads_per_worker=1, dashboard_address=None)
    with local as cluster, Client(cluster):
        least = far.forward_dynamics(*states).min()
        least.compute()
        start = time.perf_counter()
        least.compute()
        return time.perf_counter() - start


def drawn(index: np.ndarray, seed: int, nv: int) -> np.ndarray:
    """States of a block."""
    return np.random.default_rng([seed, int(index[0])]).random((len(index), nv))


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def page(found: dict[str, Any]) -> str:
    job, dask, machine = found["map"], found["dask"], found["machine"]
    made = "Made by `python -m benchmarks.large_jobs` from [large_jobs.json](results/large_jobs.json)."
    where = f"{found['date']}, commit {found['commit'][:10]}, load {found['load']:.2f}; {machine['cpu']}, "
    where += f"{machine['cores']} cores. The function is id of iiwa14 in float64 on one thread, in chunks of "
    where += f"{job['chunk']} states. Bare chunks are direct calls of the function. Times are the least of all runs."
    added = job["maps"]["added_mb"]
    speed = f"The first row computes {job['million_a_second']:.1f} million states a second and adds "
    speed += f"{job['added_mb']:.1f} MB to the process's memory; a chunk of inputs and answers is "
    speed += f"{job['chunk_mb']:.1f} MB. With memory maps it adds {added:.1f} MB, which is "
    speed += f"{added / job['chunk_mb']:.2f} chunks, because maps are read in place. The goal was at most 1.5 chunks "
    speed += "for each thread."
    one, two, ratio = (sorted(values) for values in (*dask["seconds"].values(), dask["speed_up"]))
    middle = ratio[len(ratio) // 2]
    spread = f"{middle:.2f} ({ratio[0]:.2f} to {ratio[-1]:.2f}) | 1.6 | {'yes' if middle >= 1.6 else 'no'}"
    what = f"fd of Atlas, blocks of {dask['block']}, states made by the workers"
    rows = [_row("from an iterator to a function", job), _row("from arrays to an array", job["arrays"])]
    pair = f"| {what} | {dask['states']} | {one[0]:.2f} | {two[0]:.2f} | {spread} |"
    return "\n".join(
        [
            "# Large jobs",
            "",
            made,
            where,
            "",
            HEAD,
            RULE,
            *rows,
            "",
            speed,
            "",
            DASK,
            RULE,
            pair,
            "",
            *large_jobs_ray.page(found["ray"]),
        ]
    )


HEAD = "| | states | bare chunks, s | `dyn.map`, s | speed relative to bare chunks | goal | met |"
DASK = "| Dask, a LocalCluster | states | one worker, least s | two workers, least s "
DASK += f"| times faster, median of {ROUNDS} | goal | met |"
RULE = "|---|---:|---:|---:|---:|---:|---:|"


def _row(name: str, of: dict[str, Any]) -> str:
    met = "yes" if of["speed"] >= 0.9 else "no"
    return f"| {name} | {of['states']} | {of['bare_s']:.2f} | {of['job_s']:.2f} | {of['speed']:.3f} | 0.9 | {met} |"


if __name__ == "__main__":
    main()
