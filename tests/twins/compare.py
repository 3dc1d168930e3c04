"""A function of ours against the same of another engine, from the same numbers."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from condyle import Dynamics
from condyle.functions import FUNCTIONS
from tests.laws.robots import States, relative

Array = np.ndarray


class Other(Protocol):
    """Another engine's view of a robot: methods named as our functions, one state a call, in our coordinates."""

    def m(self, q: Array) -> Array: ...


def arguments(dyn: Dynamics, function: str, given: States) -> list[Array]:
    """What the function takes; tau is a; Minv, where it is an input, is ours."""
    known = {"q": given.q, "v": given.v, "a": given.a, "tau": given.a}
    if function == "difd":
        known["Minv"] = dyn.mass_matrix_inverse(given.q.astype(dyn.dtype)).astype(float)
    return [known[port.name] for port in FUNCTIONS[function].inputs]


def error(dyn: Dynamics, other: Other, function: str, given: States, forces: bool, least: float = 0.0) -> float:
    """Our answer from numbers that the dtype holds, theirs from the same numbers in float64; see `worst`."""
    inputs = [x.astype(dyn.dtype) for x in arguments(dyn, function, given)]
    f_ext = given.f_ext.astype(dyn.dtype) if forces else None
    answers = dyn.function(function)(*inputs) if f_ext is None else dyn.function(function)(*inputs, f_ext)
    rows = [x.astype(float) for x in (inputs if f_ext is None else [*inputs, f_ext])]
    expected = [getattr(other, function)(*row) for row in zip(*rows, strict=True)]
    return worst(answers, expected, least)


def worst(answers: object, expected: list[object], least: float = 0.0) -> float:
    """The largest relative error of a function's outputs over all states.

    least: a smaller output is judged as if its largest entry were this. Their zero may be rounding.
    """
    got = answers if isinstance(answers, tuple) else (answers,)
    want = [state if isinstance(state, tuple) else (state,) for state in expected]
    errors = [relative(one, np.array([state[k] for state in want]), least) for k, one in enumerate(got)]
    return float(np.max(errors))  # unlike max, keeps NaN
