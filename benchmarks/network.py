"""A network of two hidden layers of 64, its weights inputs that all states share, beside the multiply-add peak.

A state's operations are two for each product of a weight and a number; what stands between products does not count.
`ceiling` is the share if every arithmetic instruction took the time of a multiply-add, a tanh as many as it is made of.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import results
from benchmarks.bench import BATCH, pinned
from benchmarks.probes import peak
from condyle.backends.cpu.build import build
from condyle.cli.timing import Sampling, interleaved
from condyle.derivatives.lowering import code_of
from condyle.derivatives.products import Entries, ProductGraph, multiplied
from condyle.derivatives.segmented import vjp
from condyle.derivatives.summed import summed, vjp_summed
from condyle.ir.count import instructions
from condyle.ir.interp_segments import run_segments
from condyle.ir.program import Array
from condyle.ir.segments import Segmented
from condyle.passes import pipeline

Rows = NDArray[np.float64]
SIZES = (14, 64, 64, 1)
LAYERS = list(pairwise(SIZES))
TERMS = sum(m * n for m, n in LAYERS)
ACTIVATIONS: Mapping[str, tuple[tuple[str, tuple[float, ...]], Callable[[Rows], Rows]]] = {
    "relu": (("max", (0.0,)), lambda x: np.maximum(x, 0.0)),
    "tanh": (("tanh", ()), np.tanh),
}


def traced(activation: str) -> Segmented:
    """The network as code; inputs x, then weights and offsets of each layer."""
    layers = [(Array(f"w{k}", (n, m)), Array(f"b{k}", (n,))) for k, (m, n) in enumerate(LAYERS)]
    graph = ProductGraph([Array("x", SIZES[:1]), *(array for pair in layers for array in pair)])
    symbols, (op, more) = graph.symbols(), ACTIVATIONS[activation][0]
    y = symbols["x"]
    for k, (weights, offsets) in enumerate(layers):
        y = multiplied(graph, symbols[weights.name], y[:, None])[:, 0] + symbols[offsets.name]
        y = _each(y, op, more) if k < len(LAYERS) - 1 else y
    code = code_of(graph, activation, [Array("y", SIZES[-1:])], [y])
    assert isinstance(code, Segmented)
    return code


def _each(y: Entries, op: str, more: tuple[float, ...]) -> Entries:
    found = np.empty_like(y)
    found[:] = [entry.function(op, [entry, *more]) for entry in y]
    return found


def compiled(code: Segmented, given: Mapping[str, Rows]) -> tuple[Callable[[], object], dict[str, Rows]]:
    """A call of the native code on these arrays, and its answers, which it fills."""
    code = code.rewritten(lambda program: pipeline.apply(program, pipeline.CODE))
    kernel = build(code)
    inputs = [given[array.name] for array in code.inputs]
    out = {array.name: np.empty((BATCH, array.size)) for array in code.arrays}
    answers = list(out.values())
    return lambda: kernel(BATCH, inputs, answers, 1), out


def network(activation: str, sampling: Sampling) -> dict[str, Any]:
    """`measured` in a process of its own, in which NumPy's products take one thread."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    code = "import json, sys; from benchmarks.network import *; "
    code += f"print(json.dumps(measured({activation!r}, Sampling(**json.loads(sys.argv[1])))))"
    command = [sys.executable, "-c", code, json.dumps(asdict(replace(sampling, clock="cpu")))]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment, cwd=results.ROOT)
    found = json.loads(done.stdout)
    shown = {name: round(spread["minimum"], 1) for name, spread in found["ns"].items()}
    print(f"network {activation} {shown} share {found['share']:.3f} ceiling {found['ceiling']:.3f}", flush=True)
    return found


def measured(activation: str, sampling: Sampling) -> dict[str, Any]:
    """Value, gradient by x of every state, gradient by all weights summed over the states: ns a state."""
    code, rng = traced(activation), np.random.default_rng(5)
    scale = {array.name: array.shape[-1] ** -0.5 for array in code.inputs}
    given = {a.name: rng.normal(size=(BATCH if a.name == "x" else 1, a.size)) * scale[a.name] for a in code.inputs}
    given["y_bar"] = np.ones((BATCH, 1))
    weights = [array.name for array in code.inputs[1:]]
    value, answer = compiled(code, given)
    by_x, slopes = compiled(_segments(vjp(code, ["x"], ["y_bar"], "by_x")), given)
    made, factors = vjp_summed(code, weights, weights, ["y_bar"], "by_weights")
    by_state, parts = compiled(_segments(made), given)
    shaped = {a.name: np.reshape(parts[a.name], (BATCH, *a.shape)) for a in made.arrays}
    sizes = {array.name: array.size for array in code.inputs}

    def by_weights() -> object:
        by_state()
        return [summed(name, sizes[name], factors, shaped) for name in weights]

    plain = in_numpy(activation, given)
    value(), by_x()
    error = float(np.abs(answer["y"] - plain()).max() / np.abs(answer["y"]).max())
    exact = run_segments(_segments(vjp(code, ["x"], ["y_bar"], "by_x")), [given[n] for n in (*sizes, "y_bar")])[0]
    assert error < 1e-12 and np.allclose(slopes["x_bar"], exact, rtol=1e-9, atol=1e-12), "nothing was timed"
    loop, most = peak("float64")
    calls = {"value": value, "by_x": by_x, "by_weights": by_weights, "numpy": plain, "peak": loop}
    with pinned():
        found = interleaved(calls, sampling)
    ns = {name: asdict(spread.per(1 if name == "peak" else BATCH)) for name, spread in found.items()}
    contracted = code.rewritten(lambda program: pipeline.apply(program, pipeline.CODE))
    gflops, highest = 2 * TERMS / ns["value"]["minimum"], most / ns["peak"]["minimum"]
    return {
        "sizes": SIZES,
        "batch": BATCH,
        "ns": ns,
        "operations": 2 * TERMS,
        "gflops": gflops,
        "peak_gflops": highest,
        "share": gflops / highest,
        "ceiling": TERMS / instructions(contracted),
        "agreement": error,
    }


def in_numpy(activation: str, given: Mapping[str, Rows]) -> Callable[[], Rows]:
    """The same in NumPy, all states at once."""
    f = ACTIVATIONS[activation][1]
    layers = [(given[f"w{k}"].reshape(n, m).T, given[f"b{k}"]) for k, (m, n) in enumerate(LAYERS)]

    def plain() -> Rows:
        y = given["x"]
        for k, (weights, offsets) in enumerate(layers):
            y = y @ weights + offsets
            y = f(y) if k < len(LAYERS) - 1 else y
        return y

    return plain


def _segments(code: object) -> Segmented:
    assert isinstance(code, Segmented)
    return code
