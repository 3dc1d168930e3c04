"""Figure 2: three ways to divide the gradient of iiwa14 between processor and GPU: split, fused, completely fused.

Instructions, registers and bytes of a GPU's kernels are counted. The kernels are launched where there is a GPU. The
processor's part is timed on this machine: the motions and forces of the links, and the product with -M^-1.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any, NamedTuple

import numpy as np

import condyle
from benchmarks import gpu_code, results
from condyle import api
from condyle.backends.cuda.target import ARCHITECTURES
from condyle.cli.bound import interleaved
from condyle.errors import BuildError
from condyle.functions import FUNCTIONS, registered
from condyle.specification import Function
from experiments import gpu
from experiments.plancher2021.split import LINKS, SPLIT
from experiments.timed import FULL, OURS, QUICK, Timed, us

ROBOT, DTYPE, BITS = "iiwa14", "float32", 32
ENGINES = ("condyle float32", "condyle float32 all")
ALL = ENGINES[1]
EXACT = replace(
    FUNCTIONS["did"],
    name="did_exact",
    method="inverse_dynamics_derivatives_of_bodies",
    normal_form="exact",
)
"""The fused kernel with bodies as the model has them, as the split one must have them; counted only."""
KEYS = ("function", "arch", "lanes", "instructions", "registers", "spilled_bytes")

Rows = Mapping[str, Mapping[str, Any]]
Table = list[list[str]]


class Partitioning(NamedTuple):
    """kernel: what the GPU has. before, after: what the processor has."""

    kernel: str
    before: str
    after: str


PARTITIONINGS = {
    "split": Partitioning(SPLIT.name, "v, a, f of the links", "product with -M^-1"),
    "fused": Partitioning("did", "", "product with -M^-1"),
    "completely fused": Partitioning("difd", "", ""),
}


@contextmanager
def known() -> Iterator[None]:
    """The functions of the split partitioning are known meanwhile, as methods too."""
    with registered(LINKS), registered(SPLIT), registered(EXACT):
        yield


def counted() -> dict[str, Any]:
    """What a GPU would run, without one: recorded kernels, the split one assembled here, operations and bytes."""
    found = json.loads((results.FOLDER / "gpu_code.json").read_text())
    mine = [k for k in found["kernels"] if (k["robot"], k["floating"], k["bits"]) == (ROBOT, False, BITS)]
    kernels = [{key: k[key] for key in KEYS} for k in mine if k["function"] in ("id", "did", "difd")]
    about: dict[str, Any] = {"date_of_counts": found["date"], "commit_of_counts": found["commit"]}
    with known():
        try:
            kernels += assembled()
        except BuildError as error:
            about["split_left_out"] = str(error)
        made = api.compiler_of(condyle.load(ROBOT)).gpu_kernels
        functions = [*(FUNCTIONS[one.kernel] for one in PARTITIONINGS.values()), EXACT]
        about["operations"] = {one.name: made.size(one).operations for one in functions}
        about["bytes"] = {one.name: bytes_of(one) for one in functions}
    return {"kernels": kernels, **about}


def assembled() -> list[dict[str, Any]]:
    """The split kernel for every architecture, a thread a state and a group a state; BuildError without the tool."""
    made = api.compiler_of(condyle.load(ROBOT)).gpu_kernels
    parts = {lanes: made.part(SPLIT, DTYPE, lanes) for lanes in (1, *gpu_code.LANES)}
    rows = [
        {"function": SPLIT.name, "lanes": lanes, **gpu_code.assembled(part, arch)}
        for arch in ARCHITECTURES
        for lanes, part in parts.items()
    ]
    return [{key: row[key] for key in KEYS} for row in rows]


def bytes_of(function: Function) -> tuple[int, int]:
    """Bytes of a state to the GPU, and of its answers back."""
    robot = condyle.load(ROBOT)
    sizes = {"nq": robot.nq, "nv": robot.nv, "n_bodies": len(robot.bodies)}
    ports = function.inputs, function.outputs
    taken, given = (sum(int(np.prod(port.shape(sizes))) for port in some) for some in ports)
    return BITS // 8 * taken, BITS // 8 * given


def processor(batches: Sequence[int], quick: bool) -> dict[str, Any]:
    """ns: N to engine to part to the spread of nanoseconds a state."""
    timed = Timed(condyle.load(ROBOT), ENGINES, quick)
    found: dict[str, Any] = {}
    with known():
        for n in batches:
            links = timed.row(LINKS.name, n)["ns"]
            products = {engine: _products(timed, engine, n, quick) for engine in ENGINES}
            found[str(n)] = {engine: {"links": links[engine], "product": products[engine]} for engine in ENGINES}
    return {"ns": found}


def _products(timed: Timed, engine: str, n: int, quick: bool) -> dict[str, float]:
    """-M^-1 dtau/dq and -M^-1 dtau/dv of n states."""
    nv, (target, dtype, threads) = timed.robot.nv, OURS[engine]

    def products(minv: Any, by_q: Any, by_v: Any) -> dict[str, Any]:
        return {"da_dq": -(minv @ by_q), "da_dv": -(minv @ by_v)}

    made = condyle.function(products, inputs=dict.fromkeys(("minv", "by_q", "by_v"), (nv, nv)))
    call = made.compile(target=target, dtype=dtype, threads=threads)
    given = np.random.default_rng(0).standard_normal((3, n, nv, nv)).astype(dtype)
    out = tuple(call(*given))
    spread = interleaved({"": lambda: call(*given, out=out)}, QUICK if quick else FULL)[""]
    return asdict(spread.per(n))


def launched(batches: Sequence[int]) -> dict[str, Any]:
    """Times of the three kernels where there is a GPU."""
    with known():
        return gpu.times(ROBOT, [one.kernel for one in PARTITIONINGS.values()], batches)


def parts(row: Mapping[str, Any]) -> Table:
    """What each partitioning computes where, and what it sends."""
    found = [["partitioning", "on the processor", "kernel", "operations", "bytes to the GPU", "bytes back"]]
    for name, one in PARTITIONINGS.items() if "bytes" in row else ():
        there = " and ".join(filter(None, (one.before, one.after))) or "-"
        found.append([name, there, one.kernel, *_sizes(row, one.kernel)])
    if "bytes" in row:
        found.append(["fused, inertias not regrouped", PARTITIONINGS["fused"].after, "did", *_sizes(row, EXACT.name)])
    return found


def _sizes(row: Mapping[str, Any], name: str) -> list[str]:
    return [str(row["operations"][name]), *map(str, row["bytes"][name])]


def kernels(row: Mapping[str, Any]) -> Table:
    """Counted kernels; why the split one is not among them."""
    found = [list(KEYS), *([str(k[key]) for key in KEYS] for k in row.get("kernels", ()))]
    return [*found, [f"{SPLIT.name}: {row['split_left_out']}"]] if "split_left_out" in row else found


def on_processor(row: Mapping[str, Any]) -> Table:
    """Microseconds of N states on the processor."""
    head = [f"{part}, {engine}" for engine in ENGINES for part in ("links", "product")]
    lines = [[n, *(us({"ns": of[e]}, part, int(n)) for e in ENGINES for part in of[e])] for n, of in _ns(row).items()]
    return [["N", *head], *lines]


def end_to_end(rows: Mapping[str, Any], launched: Mapping[str, Any] | None, n: int, name: str) -> float | None:
    """Microseconds of N gradients, one part after the other, copies too; None where something is unmeasured."""
    one, there = PARTITIONINGS[name], gpu.us(launched, PARTITIONINGS[name].kernel, n, gpu.WHOLE)
    mine = _ns(rows).get(str(n), {}).get(ALL)
    if there == "unmeasured" or (mine is None and one.after):
        return None
    asked = [part for part, of in (("links", one.before), ("product", one.after)) if of]
    return float(there) + sum(n * mine[part]["median"] / 1e3 for part in asked if mine is not None)


def ratio(rows: Mapping[str, Any], launched: Mapping[str, Any] | None, n: int) -> str:
    """Split over completely fused."""
    above, below = (end_to_end(rows, launched, n, name) for name in ("split", "completely fused"))
    return "unmeasured" if above is None or below is None else f"{above / below:.2f}"


def _ns(row: Mapping[str, Any]) -> Mapping[str, Any]:
    return row.get("ns", {})
