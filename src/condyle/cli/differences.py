"""Derivatives held to differences of what they are derivatives of: for `condyle check --functions vjp_fd`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from condyle.cli.states import Array, States
from condyle.derivatives import vjp
from condyle.specification import Derivative, Function, Port

if TYPE_CHECKING:
    from condyle import Dynamics, Robot

STEP = 1e-6
Arrays: TypeAlias = "Sequence[Array]"


def error(robot: Robot, reference: Dynamics, function: Function, states: States) -> float:
    """The worst error of w . D e, for one random direction e of the inputs and one w of the answers a state.

    D e is by central differences of the function; w . D e of a hessian, with w = e, by those of the function's vjp.
    Relative to the sum of the sizes of all terms.
    """
    origin, rng = function.origin, np.random.default_rng(1)
    assert isinstance(origin, Derivative)
    base, values, n = origin.function, states.arguments(function), states.n
    at, more = values[: len(base.inputs)], values[len(base.inputs) :]

    def drawn(ports: Sequence[Port], like: Arrays) -> list[Array]:
        shapes = [(n, robot.nv) if port.is_configuration else x.shape for port, x in zip(ports, like, strict=True)]
        return [rng.standard_normal(shape) for shape in shapes]

    along = list(more) if origin.kind == "jvp" else drawn(base.inputs, at)
    if origin.is_partial:
        along = [e if port.name in origin.by else 0.0 * e for port, e in zip(base.inputs, along, strict=True)]

    def answers(function: Function, h: float) -> Arrays:
        """With the inputs moved by h e."""
        moved = [
            robot.integrate(x, h * e) if port.is_configuration else x + h * e
            for port, x, e in zip(base.inputs, at, along, strict=True)
        ]
        return reference.call(function, moved if function == base else [*moved, *more])

    found = reference.call(function, values)
    if origin.kind == "hessian":
        e = _rows(along)
        terms = e[:, :, None] * found[0] * e[:, None, :]
        slope = _slope(lambda h: np.sum(e * _rows(answers(vjp(base), h)), axis=-1))
    else:
        behind, ahead = answers(base, -STEP), answers(base, STEP)
        slopes = [
            (robot.difference(a, b) if port.is_configuration else b - a) / (2 * STEP)
            for port, a, b in zip(base.outputs, behind, ahead, strict=True)
        ]
        factors = list(more) if origin.kind == "vjp" else drawn(base.outputs, ahead)
        w = _rows(factors)
        terms = _terms(origin, found, along, factors)
        slope = np.sum(w * _rows(slopes), axis=-1)
    terms = np.reshape(terms, (n, terms[:1].size))
    scale = np.maximum(np.sum(np.abs(terms), axis=-1), np.finfo(np.float64).tiny)
    return float(np.max(np.abs(np.sum(terms, axis=-1) - slope) / scale, initial=0.0))


def _terms(origin: Derivative, answers: Arrays, along: Arrays, factors: Arrays) -> Array:
    """What w . D e is the sum of, by the derivative's answers; factors: w by answer of the function."""
    w = _rows(factors)
    if origin.kind == "jvp":
        return w * _rows(answers)
    if origin.kind == "vjp":
        return _rows(along) * _rows(answers)
    of = [e for port, e in zip(origin.function.inputs, along, strict=True) if port.name in origin.by]
    pairs = [(row, column) for row in factors for column in of]
    blocks = [np.reshape(x, (len(w), *map(_width, pair))) for x, pair in zip(answers, pairs, strict=True)]
    rows = [np.concatenate(blocks[k : k + len(of)], axis=-1) for k in range(0, len(blocks), len(of))]
    return w[:, :, None] * np.concatenate(rows, axis=1) * _rows(of)[:, None, :]


def _slope(f: Callable[[float], Array]) -> Array:
    return (f(STEP) - f(-STEP)) / (2 * STEP)


def _rows(arrays: Arrays) -> Array:
    """Side by side, flat."""
    return np.concatenate([np.reshape(x, (len(x), -1)) for x in arrays], axis=-1)


def _width(array: Array) -> int:
    return array.size // max(1, len(array))
