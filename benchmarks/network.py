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

import condyle
from benchmarks import results
from benchmarks.bench import BATCH, pinned
from benchmarks.probes import peak
from condyle.cli.bound import Sampling, interleaved

Rows = NDArray[np.float64]
SIZES = (14, 64, 64, 1)
LAYERS = list(pairwise(SIZES))
TERMS = sum(m * n for m, n in LAYERS)
INPUTS: Mapping[str, Any] = {
    "x": SIZES[0],
    **{f"{kind}{k}": (n, m) if kind == "w" else n for k, (m, n) in enumerate(LAYERS) for kind in "wb"},
}
ACTIVATIONS: Mapping[str, Callable[[Any], Any]] = {"relu": lambda x: np.maximum(x, 0.0), "tanh": np.tanh}


def network_of(activation: str) -> Callable[..., Any]:
    """The function of x, of one state or of many, and of its weights."""
    f = ACTIVATIONS[activation]

    def network(x: Any, **weights: Any) -> Any:
        for k in range(len(LAYERS)):
            w, b = weights[f"w{k}"], weights[f"b{k}"]
            x = (w @ x if x.ndim == 1 else x @ w.T) + b
            x = f(x) if k < len(LAYERS) - 1 else x
        return x

    return network


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
    """Value, gradient by x, cotangents of all weights summed over the states: ns a state."""
    f, rng = network_of(activation), np.random.default_rng(5)
    user = condyle.function(f, inputs=INPUTS)
    made = user.compile(threads=1)
    weights = {
        name: rng.normal(size=size) / (size[-1] if isinstance(size, tuple) else size) ** 0.5
        for name, size in INPUTS.items()
        if name != "x"
    }
    x, bars = rng.normal(size=(BATCH, SIZES[0])), np.ones((BATCH, SIZES[-1]))
    given = (x, *weights.values())
    by_x, by_weights = made.jacobian(by=("x",)), made.vjp()
    answer, slopes = made(*given), by_x(*given)
    error = float(np.abs(answer - f(x, **weights)).max() / np.abs(answer).max())
    assert error < 1e-12, "nothing was timed"
    loop, most = peak("float64")
    calls = {
        "value": lambda: made(*given, out=answer),
        "by_x": lambda: by_x(*given, out=slopes),
        "by_weights": lambda: by_weights(*given, bars),
        "numpy": lambda: f(x, **weights),
        "peak": loop,
    }
    with pinned():
        found = interleaved(calls, sampling)
    ns = {name: asdict(spread.per(1 if name == "peak" else BATCH)) for name, spread in found.items()}
    gflops, highest = 2 * TERMS / ns["value"]["minimum"], most / ns["peak"]["minimum"]
    return {
        "sizes": SIZES,
        "batch": BATCH,
        "ns": ns,
        "operations": 2 * TERMS,
        "gflops": gflops,
        "peak_gflops": highest,
        "share": gflops / highest,
        "ceiling": TERMS / int(made._dynamics._compiler.counts(user.specification)["instructions"]),
        "agreement": error,
    }
