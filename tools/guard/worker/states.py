"""States that both commits are given: the first to ask makes them, the other reads them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.floating]
STEP = 0.01
"""Seconds, of functions that take a length of time."""


@dataclass(frozen=True)
class States:
    """q, v, of any other vector or matrix `given`, and external forces; one row a state."""

    q: Reals
    v: Reals
    vector: Reals
    matrix: Reals
    f_ext: Reals

    @staticmethod
    def of(robot: Any, n: int) -> States:
        """Random ones, of a fixed seed."""
        q, v = robot.random_state(n, 0)
        rng, nv = np.random.default_rng(0), robot.nv
        vector = rng.uniform(-1.0, 1.0, (n, nv))
        square = rng.uniform(-1.0, 1.0, (n, nv, nv))
        f_ext = rng.uniform(-5.0, 5.0, (n, len(robot.bodies), 6))
        return States(q, v, vector, square + np.swapaxes(square, 1, 2), f_ext)

    @staticmethod
    def kept(robot: Any, path: Path, n: int) -> States:
        """Those of the file; the file is written if there is none."""
        if not path.exists():
            np.savez(path, **vars(States.of(robot, n)))
        with np.load(path) as file:
            return States(**file)

    def arguments(self, signature: str) -> list[Reals]:
        """The arguments of a function by its gufunc signature: q, v, then what has the right dimensions."""
        inputs = re.findall(r"\(([^)]*)\)", signature.partition("->")[0])
        known = {"nq": self.q, "nv": self.vector, "nv,nv": self.matrix, "": np.full(len(self.q), STEP)}
        return [self.v if k == 1 and dims == "nv" else known[dims] for k, dims in enumerate(inputs)]
