"""GPU.md from results/gpu_code.json, gpu_export.json and, once there is one, gpu_times.json, and from nothing else.

python -m benchmarks.gpu_table            rewrite
python -m benchmarks.gpu_table --check    exit status 1 if the page is out of date
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks import results
from benchmarks.sections import FUNCTIONS, table

Row = dict[str, Any]
CODE, EXPORT, CLOCKED = (results.FOLDER / f"gpu_{word}.json" for word in ("code", "export", "times"))
PATH = results.ROOT / "benchmarks" / "GPU.md"
TITLES = {"iiwa14": "iiwa14", "hyq": "HyQ", "atlas": "Atlas"}
STEPPED = ("id", "fd", "minv", "did", "dfd")
PRODUCT, PARTS = "condyle_product", ("minv", "fd", "did")
MEMORY_BYTES_S = 3.0e12
WARP_CONSTANTS = 128
"""Bytes of shared memory that a warp has beside those of its states."""
UNMEASURED = "unmeasured"
BATCHES = (256, 4096, 65_536, 1 << 20)
"""Of which the page has times."""
HEAD = """# GPU counts

What the kernels of [the GPU target](../docs/how-to/gpu.md) take, counted in their machine code. Made by
`python -m benchmarks.gpu_table` from two results files. No GPU was used, so **every time on a GPU is unmeasured**.
"""
REGISTERS = """## Registers

Registers a thread of the kernels of iiwa14 in `float`: those of the exported CUDA header, and those of the PTX that
`compile(target="cuda")` builds. A thread has at most 255.
"""
MEMORY = """## Local memory

Bytes of local memory a thread, of the kernels of iiwa14 with a fixed base that use it. `kept` is the stack frame that
nvcc reports, or what Condyle itself keeps there in PTX. `spill stores` are those that the assembler adds.
"""
BUILDS = """## Building the exported header

Seconds of one processor that nvcc takes for the kernels of a robot.
"""
STEPS = """## Instructions and steps

float32 on sm_90, fixed base, in the machine code of nvJitLink. [Inside the GPU
target](../docs/explanation/gpu-internals.md#from-a-function-to-a-kernel) explains both forms. `thread` is one thread a
state; `group32` is 32 lanes a state. Shared bytes are those of a state: `shared_bytes` of the file without the 128
bytes of a warp.
"""
LONG = """## Derivatives of long robots

dfd on sm_90, a thread a state: one kernel, or minv, fd, did and a product, in which a warp computes one state and goes
through a loop for rows of the answer. `bytes` are those of the arrays that the kernels of one state read and write;
`at most` are million states a second if nothing else limits a memory of 3.0 TB/s. `spilled` are bytes of local memory
of a thread.
"""
TIMES = """## Times

`python -m benchmarks.gpu` measures them on a machine with a GPU.
"""
MEASURED = (
    "kernels in a CUDA graph, beside the lower bounds of their times",
    "copies alone",
    "calls with pinned arrays, and with ordinary ones",
    "the goals",
)
FOOT = """## On a machine with a GPU

```sh
python -m benchmarks.gpu prepare   # without a GPU: what the runs take along, in .gpu; it takes hours
python -m benchmarks.gpu run 1     # correctness, then times: at most five minutes
python -m benchmarks.gpu run 2     # other libraries, CUDA's tools, GRiD, MJX: at most five minutes
python -m benchmarks.gpu keep      # the receipt and the times, in benchmarks/results
python -m benchmarks.gpu check     # without a GPU: whether the pages say what the receipt says of this tree
```

The first run compares every function, robot, base, number type and form with the processor. Arrays are unaligned and
between guards, and answers are NaN before the call. Each part is a process with a limit, whose rows are written as they
come. A tool or a package that is not there is left out, and the rows say so.

A *receipt* has the hashes of the kernels that ran, of their inputs and of their answers. A kernel of this tree that it
does not have is listed in [On a GPU](../docs/how-to/gpu.md) as not run.

`pytest -m gpu` runs the tests that need a GPU, and fails where there is none. `condyle check ROBOT --target cuda`
compares one robot with the reference.
"""


def page() -> str:
    code, export = json.loads(CODE.read_text()), json.loads(EXPORT.read_text())
    text = [
        *[HEAD, *_sources(code, export)],
        *[REGISTERS, *_registers(code["kernels"], export["kernels"])],
        *[MEMORY, *_memory(code["kernels"], export["kernels"])],
        *[BUILDS, *_builds(export["builds"])],
        *[STEPS, *_steps(code["kernels"])],
        *[LONG, *_long(code["kernels"])],
        *[TIMES, *times(json.loads(CLOCKED.read_text())["rows"] if CLOCKED.exists() else [])],
        FOOT,
    ]
    return "\n".join(text).rstrip() + "\n"


def times(rows: Sequence[Row]) -> list[str]:
    """Of each function and batch the fastest form. rows: of results/gpu_times.json, none where nothing was timed."""
    timed = [row for row in rows if row.get("what") == "kernel" and "us" in row and row["n"] in BATCHES]
    if not timed:
        return table(["what", "time"], [[what, UNMEASURED] for what in MEASURED])
    best: dict[tuple[Any, ...], Row] = {}
    for row in timed:
        key = row["robot"], row["dtype"], row["function"], row["n"]
        best[key] = min(row, best.get(key, row), key=lambda timed_row: timed_row["us"])
    cells = [
        [
            f"{TITLES.get(row['robot'], row['robot'])} {row['function']}, {row['dtype']}",
            *(_many(row["n"]), row["form"], row["auto"], f"{row['us']:.3g}", f"{row['floor_us'] / row['us']:.0%}"),
            *(f"{row['million_s']:.4g}", f"{row['goal_million_s']:.4g}" if "goal_million_s" in row else ""),
        ]
        for row in best.values()
    ]
    cards = sorted({f"{row['card']}, driver {row['driver']}, commit {row['commit']}" for row in timed})
    heads = ["robot, function, type", "states", "fastest form", "`auto`", "µs", "lower bound over it"]
    return [f"On {'; '.join(cards)}.", "", *table([*heads, "million states a second", "goal"], cells)]


def _sources(code: Row, export: Row) -> list[str]:
    linkers = ", ".join(sorted({row["nvjitlink"] for row in code["kernels"]}))
    rows = [
        _source("gpu_code", code, f"nvJitLink {linkers}"),
        _source("gpu_export", export, f"nvcc {export['nvcc']}"),
    ]
    return table(["file", "made by", "commit", "date", "assembler"], rows)


def _source(name: str, found: Row, by: str) -> list[str]:
    link = f"[{name}.json](results/{name}.json)"
    return [link, f"`python -m benchmarks.{name}`", found["commit"][:10], found["date"][:10], by]


def _of(rows: Iterable[Row], **wanted: object) -> list[Row]:
    """The rows with these values; a row of an export has a fixed base and a thread a state."""
    same = {"floating": False, "lanes": 1}
    return [row for row in rows if all(row.get(key, same.get(key)) == value for key, value in wanted.items())]


def _arm(rows: Sequence[Row], bits: int) -> list[Row]:
    return _of(rows, robot="iiwa14", floating=False, bits=bits, lanes=1)


def _registers(code: Sequence[Row], export: Sequence[Row]) -> list[str]:
    rows = [
        [f"{title}, {arch}", *(_largest(_of(kernels, arch=arch, function=name), "registers") for name in FUNCTIONS)]
        for title, kernels in (("exported", _arm(export, 32)), ("PTX", _arm(code, 32)))
        for arch in dict.fromkeys(row["arch"] for row in kernels)
    ]
    return table(["", *FUNCTIONS], rows)


def _largest(rows: Sequence[Row], key: str) -> str:
    return str(max(row[key] for row in rows)) if rows else "-"


def _memory(code: Sequence[Row], export: Sequence[Row]) -> list[str]:
    rows = [
        [f"{title} {row['function']}", f"float{bits}", row["arch"], *map(str, (row["registers"], stack, spilled))]
        for title, kernels in (("exported", export), ("PTX", code))
        for bits in (32, 64)
        for row in _arm(kernels, bits)
        for stack, spilled in [(row.get("stack_bytes", row.get("spilled_bytes")), row["spill_store_bytes"])]
        if stack or spilled
    ]
    return table(["kernel", "type", "architecture", "registers", "kept, bytes", "spill stores, bytes"], rows)


def _builds(builds: Sequence[Row]) -> list[str]:
    rows = [[TITLES[b["robot"]], f"float{b['bits']}", b["arch"], f"{b['processor_s']:.1f}"] for b in builds]
    return table(["robot", "type", "architecture", "seconds"], rows)


def _steps(code: Sequence[Row]) -> list[str]:
    fixed = _of(code, floating=False, bits=32, arch="sm_90")
    rows = [_step(_of(fixed, robot=robot), robot, name) for robot in TITLES for name in STEPPED]
    heads = ["robot, function", "thread: instructions", "group32: instructions", "steps", "registers"]
    return table([*heads, "shared bytes a state"], rows)


def _step(robots: Sequence[Row], robot: str, name: str) -> list[str]:
    (group,) = _of(robots, lanes=32, function=name)
    counts = [_many(group["instructions"]), str(group["steps"]), str(group["registers"])]
    shared = _many(group["shared_bytes"] - WARP_CONSTANTS)
    (thread,) = _of(robots, lanes=1, function=name)
    return [f"{TITLES[robot]} {name}", _many(thread["instructions"]), *counts, shared]


def _long(code: Sequence[Row]) -> list[str]:
    cells: list[list[str]] = []
    for robot, floating in (("hyq", True), ("atlas", False), ("atlas", True)):
        for bits in (32, 64):
            rows = _of(code, robot=robot, floating=floating, bits=bits, arch="sm_90", lanes=1)
            (own,) = _of(rows, floating=floating, function="dfd")
            parts = [row for part in PARTS for row in _of(rows, floating=floating, function=part)]
            split = own["kernel"] == PRODUCT
            kernels = [*parts, own] if split else [own]
            threads, moved = parts if split else [own], sum(row["bytes"] for row in kernels)
            cells.append(
                [
                    f"{TITLES[robot]}{', floating' * floating}, float{bits}",
                    *(str(len(kernels)), _many(sum(row["instructions"] for row in threads))),
                    _many(own["instructions"]) if split else "-",
                    *(_many(moved), f"{MEMORY_BYTES_S / moved / 1e6:.0f}"),
                    _many(max(row["spilled_bytes"] + row["spill_store_bytes"] for row in kernels)),
                ]
            )
    heads = ["robot, type", "kernels", "instructions", "those of the product", "bytes", "at most", "spilled"]
    return table(heads, cells)


def _many(count: int) -> str:
    return f"{count:,}".replace(",", " ")


def main() -> int:
    if "--check" in sys.argv[1:]:
        return int(not PATH.exists() or PATH.read_text() != page())
    PATH.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
