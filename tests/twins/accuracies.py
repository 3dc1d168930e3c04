"""The accuracies that are promised, relative to the largest entry of an answer, at random states of real robots."""

from __future__ import annotations

import numpy as np

FLOAT64 = {"id": 1e-12, "m": 1e-12, "did": 1e-11, "fd": 1e-9, "minv": 1e-9, "dfd": 1e-8, "difd": 1e-8}
FLOAT32 = {"id": 2e-5, "m": 2e-5, "did": 5e-5}
SINGLE = float(np.finfo(np.float32).eps)
SOLVED = 10.0  # times eps times the condition of M: what float32 may lose in fd, minv and their derivatives


def allowed(function: str, dtype: str, condition: float) -> float:
    """The largest error that is no failure."""
    if dtype == "float64":
        return FLOAT64[function]
    return FLOAT32.get(function) or SOLVED * SINGLE * condition
