"""States with the reference's answers: what exported tests hold their own to."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from condyle.backends.common.facts import Vectors
from condyle.compile.compiler import Compiler
from condyle.compile.targets import NUMPY
from condyle.functions import FUNCTIONS
from condyle.functions.open_rollouts import OpenRollout
from condyle.functions.quantities import M, Q, V
from condyle.functions.steps import DT
from condyle.ir.interp import run_code
from condyle.ir.loops import Code, Rolled
from condyle.model.physical import contact_numbers, varied
from condyle.model.robot import Robot
from condyle.specification import Function, Port
from condyle.specification.ports import F_EXT, NUMBERS
from condyle.trace.reference import evaluate
from condyle.trace.straight import sizes

Reals = NDArray[np.floating]
Rows: TypeAlias = "list[Reals]"
"""Of each input or output a row for each state."""
Answers: TypeAlias = "Callable[[Rows, str], Rows]"
"""Outputs of inputs, computed in a number type."""


def vectors_of(
    robot: Robot,
    compiler: Compiler,
    function: Function,
    dtype: str,
    held: Collection[str] = (),
    n: int = 5,
    code: Code | None = None,
) -> Vectors | None:
    """States with the reference's answers, for the exported test; None where rounding alone decides all answers.

    held: inputs that are one row for all of them. code: what is exported, by which states of float32 are judged;
    by default the reference.
    """

    def draw(count: int) -> tuple[Rows, float]:
        known, condition = _drawn(robot, compiler, function, count)
        rows = [_held(known[port.name], port.name in held) for port in function.inputs]
        return [x.astype(dtype).astype(np.float64) for x in rows], _allowed(function, dtype, robot.nv, condition)

    def reference(rows: Rows, number: str) -> Rows:
        inputs = {port.name: x.astype(number) for port, x in zip(function.inputs, rows, strict=True)}
        return _reference(compiler, function, inputs)

    # of float32 the reference does not say all: it solves quadratic programs in float64
    by_code = dtype == "float32" and not isinstance(code, Rolled)
    judge = partial(_interpreted, code) if by_code and code is not None else None
    return _taken(draw, reference, judge, function.outputs, dtype, n)


def well_posed(vectors: Mapping[str, Vectors | None]) -> dict[str, Vectors]:
    """Those of functions that have a test."""
    return {name: known for name, known in vectors.items() if known is not None}


TIMES = 3, 2
"""How many steps a rollout has in the exported test, and every which is kept."""


def _held(rows: Reals, single: bool) -> Reals:
    return np.broadcast_to(rows[:1], rows.shape) if single else rows


def rollout_vectors(
    robot: Robot, compiler: Compiler, rollout: OpenRollout, dtype: str, held: Collection[str] = (), n: int = 5
) -> Vectors | None:
    """The same of a rollout of `TIMES`, whose steps are short."""
    steps, every = TIMES
    step, repeat = rollout.repeat.function, rollout.repeat
    repeated = rollout.repeated(steps, every)
    kernel = compiler.build(repeated, NUMPY, "float64")
    widths = [math.prod(port.shape(sizes(compiler.tree))) for port in repeated.outputs]

    def draw(count: int) -> tuple[Rows, float]:
        known, condition = _drawn(robot, compiler, step, count * steps)
        if DT in step.inputs:
            known[DT.name] = 0.01 * np.abs(known[DT.name])
        rows = [
            np.reshape(known[port.name], (count, -1)) if port.name in repeat.by_time else known[port.name][::steps]
            for port in step.inputs
        ]
        rows = [_held(x, port.name in held) for x, port in zip(rows, step.inputs, strict=True)]
        return [x.astype(dtype).astype(np.float64) for x in rows], steps * _allowed(step, dtype, robot.nv, condition)

    def answers(rows: Rows, number: str) -> Rows:
        outputs: Rows = [np.empty((len(rows[0]), width)) for width in widths]
        kernel(len(rows[0]), [np.ascontiguousarray(x, np.float64) for x in rows], outputs, 1)
        return outputs

    return _taken(draw, answers, None, repeated.outputs, dtype, n, TIMES)


MORE, TRIED, SAFE = 8, 7, 16.0
"""So many times more states are drawn where the first are no good; so many inputs that are a rounding off are tried. A
test allows so many times the change that rounding was seen to make."""
USELESS = {"float64": 1e-8, "float32": 1e-2}
"""Relative errors above which no mistake is found either."""


def _taken(
    draw: Callable[[int], tuple[Rows, float]],
    answers: Answers,
    judge: Answers | None,
    ports: Sequence[Port],
    dtype: str,
    n: int,
    times: tuple[int, ...] = (),
) -> Vectors | None:
    """The first states whose answers rounding changes by no more than the test allows; without n of them the least
    changed of `MORE` times as many; None if there is no state whose answers are finite and mean anything.

    draw: inputs of so many states, and the error allowed. answers: what is right. judge: what tells how much rounding
    changes, if it is not the same. Both compute in a number type.
    """
    for count in (n, MORE * n):
        rows, allowed = draw(count)
        right = answers(rows, "float64")
        change = _changes(judge or answers, rows, right if judge is None else judge(rows, "float64"), dtype)
        most = max(USELESS[dtype], allowed)
        relative = _relative(ports, right, change, most)
        if (relative <= allowed).all() and all(np.any(x) or not x.size for x in right):
            break
    # an answer may be next to 0, as the impulse of a contact that opens: other states are better
    silent = np.array([np.max(np.abs(x), axis=1, initial=0.0) <= most * _usual(x) for x in right])
    order = np.lexsort((silent.sum(axis=0), np.maximum(relative, allowed)))[:n]
    order = order[SAFE * relative[order] <= most]
    if not len(order) or any(np.any(x) and zero[order].all() for x, zero in zip(right, silent, strict=True)):
        return None
    order = np.resize(order, n)  # fewer are taken again
    right, change = [x[order] for x in right], [x[order] for x in change]
    inputs = tuple(x[order].astype(dtype) for x in rows)
    return Vectors(inputs, tuple(right), allowed, times, _coarser(ports, right, change, allowed, dtype))


def _changes(judge: Answers, rows: Rows, base: Rows, dtype: str) -> Rows:
    """Of each output and state the largest change of an entry if it is computed in this type of inputs that are a
    rounding off."""
    rng, eps = np.random.default_rng(0), np.finfo(dtype).eps
    signs = [np.concatenate([np.zeros_like(x), *rng.integers(-1, 2, (TRIED, *x.shape))]) for x in rows]
    moved: Rows = [np.tile(x, (1 + TRIED, 1)) * (1.0 + eps * sign) for x, sign in zip(rows, signs, strict=True)]
    pairs = zip(judge(moved, dtype), base, strict=True)
    with np.errstate(invalid="ignore"):
        off = [np.abs(np.reshape(x, (1 + TRIED, *y.shape)) - y) for x, y in pairs]
    return [np.nan_to_num(np.max(x, axis=(0, 2), initial=0.0), nan=np.inf) for x in off]


def _relative(ports: Sequence[Port], answers: Rows, change: Rows, most: float) -> Reals:
    """Of each state the largest change of an output, relative to its usual size; infinite where an answer is.

    An output that rounding decides in all states, such as a residual, does not count; infinite if each is such.
    """
    usual = {port.name: _usual(x) for port, x in zip(ports, answers, strict=True)}
    worst, means = np.zeros(len(answers[0])), False
    for port, x, off in zip(ports, answers, change, strict=True):
        size = max(usual[port.name], usual.get(port.beside, 0.0))
        relative = off / size if size else np.where(off > 0.0, np.inf, 0.0)
        if SAFE * np.min(relative) <= most:
            worst, means = np.maximum(worst, relative), True
        worst = np.where(np.isfinite(x).all(axis=1), worst, np.inf)
    return worst if means else np.full_like(worst, np.inf)


def _usual(answer: Reals) -> float:
    """The median of the largest entries of states, those without any left out."""
    largest = np.max(np.abs(answer), axis=1, initial=0.0)
    some = largest[np.isfinite(largest) & (largest > 0.0)]
    return float(np.median(some)) if len(some) else 0.0


def _coarser(
    ports: Sequence[Port], answers: Rows, change: Rows, allowed: float, dtype: str
) -> tuple[tuple[int, float], ...]:
    """Tolerances of outputs that rounding changes by more, and of those whose rounding goes by another output
    (`Port.beside`) or is that of much larger ones, such as a residual."""
    coarser: list[tuple[int, float]] = []
    scales = {port.name: float(np.max(np.abs(x), initial=0.0)) for port, x in zip(ports, answers, strict=True)}
    least = float(np.finfo(dtype).eps) * max(scales.values(), default=0.0)
    for k, (port, off) in enumerate(zip(ports, change, strict=True)):
        scale = scales[port.name]
        error = max(least, SAFE * float(np.max(off, initial=0.0)), allowed * scales.get(port.beside, 0.0))
        if error > allowed * scale > 0.0:
            coarser.append((k, error / scale))
    return tuple(coarser)


def _drawn(robot: Robot, compiler: Compiler, function: Function, n: int) -> tuple[dict[str, Reals], float]:
    """Inputs of a function for n states, by name, and how large the condition number of M is there."""
    rng = np.random.default_rng(1)
    q, v = robot.random_state(n, rng)
    known: dict[str, Reals] = {Q.name: q, V.name: v}
    flags = contact_numbers(len(compiler.tree.contacts), n, rng)

    def fill(ports: Sequence[Port]) -> None:
        for port in ports:
            size = math.prod(port.shape(sizes(compiler.tree)))
            if port.name in known and known[port.name].shape[1] != size:  # a user's input of another size
                del known[port.name]
            if port.name not in known and port.given_by:
                giver = FUNCTIONS[port.given_by]
                giver = giver.taking(F_EXT) if F_EXT.name in known else giver
                fill(giver.inputs)
                (known[port.name],) = _reference(compiler, giver, known)
            elif port.name in flags and "n_contacts" in port.dims:
                known[port.name] = np.reshape(flags[port.name], (n, -1))
            elif NUMBERS.get(port.name) == port:
                known[port.name] = np.reshape(varied(robot, n, rng)[port.name], (n, -1))
            elif port.name not in known:
                drawn = rng.uniform(-1.0, 1.0, (n, size))
                known[port.name] = robot.random_state(n, rng).q if port.is_configuration else drawn

    nv = robot.nv
    fill((M,))
    condition = float(np.max(np.linalg.cond(np.reshape(known[M.name], (n, nv, nv))))) if nv else 1.0
    fill(function.inputs)
    return known, condition


def _allowed(function: Function, dtype: str, nv: int, condition: float) -> float:
    """The error that rounding justifies, relative to the largest entry of an answer; inputs are exact.

    Three to eight times what gcc and clang, -O0 and -O3, were seen to err by on the bundled robots and on chains.
    """
    sums = 64.0 + nv  # roundings of what is only summed and multiplied; they grow with the depth
    return min(float(np.finfo(dtype).eps) * max(sums, function.condition * condition), USELESS[dtype])


def _interpreted(code: Code, rows: Rows, number: str) -> Rows:
    """Answers of code that is computed in a number type."""
    return [np.reshape(x, (len(x), -1)) for x in run_code(code, rows, np.dtype(number).type)]


def _reference(compiler: Compiler, function: Function, rows: Mapping[str, Reals]) -> Rows:
    """Answers, (n, size) each."""
    given = {port.name: rows[port.name] for port in function.inputs}
    found = evaluate(compiler.tree, function, compiler.reference_route(function), given)
    return [np.reshape(np.asarray(array), (len(next(iter(given.values()))), -1)) for array in found]
