"""How far two computations of one number may lie apart, relative to the largest entry of the answer, and why.

First what is promised of each function at random states of real robots; then what tests of many files share. A number
that has a reason of its own stands in its test.
"""

from __future__ import annotations

import numpy as np

from condyle.functions import FUNCTIONS

FLOAT64 = {name: function.accuracy.float64 for name, function in FUNCTIONS.items()}
FLOAT32 = {name: function.accuracy.float32 for name, function in FUNCTIONS.items() if not function.solves}
OF_SOLVING = 10.0  # times eps times the condition of M: what float32 may lose in fd, minv and their derivatives

FEW_ROUNDINGS = 1e-14  # a dozen operations on numbers of size one
ROUNDING = 1e-12  # sums over two dozen bodies of terms that are exact to 1e-16, in any order
SOLVED = 1e-9  # as above, times the condition of M, up to 1e4 for the robots of the laws
DIFFERENCES = 1e-7  # central differences with steps of 1e-5 or 1e-6: the step's square, and rounding over the step
PROGRAMS = {"float64": 2e-13, "float32": 1e-4}  # random programs of some hundred operations, against their meaning


def allowed(function: str, dtype: str, condition: float) -> float:
    """The largest error that is no failure."""
    if dtype == "float64":
        return FLOAT64[function]
    return FLOAT32.get(function) or OF_SOLVING * float(np.finfo(np.float32).eps) * condition
