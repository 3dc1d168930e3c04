"""States with the reference's answers: what exported tests hold their own to."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from condyle.backends.common.facts import Vectors
from condyle.compile.compiler import Compiler
from condyle.compile.targets import NUMPY
from condyle.functions import FUNCTIONS
from condyle.functions.open_rollouts import OpenRollout
from condyle.functions.quantities import M, Q, V
from condyle.functions.steps import DT
from condyle.model.physical import contact_numbers, varied
from condyle.model.robot import Robot
from condyle.specification import Function, Port
from condyle.specification.ports import F_EXT, NUMBERS
from condyle.trace.reference import evaluate
from condyle.trace.straight import sizes

Reals = NDArray[np.floating]


def vectors_of(
    robot: Robot, compiler: Compiler, function: Function, dtype: str, held: Collection[str] = (), n: int = 5
) -> Vectors:
    """States with the reference's answers, for the exported test. held: inputs that are one row for all of them."""
    known, condition = _drawn(robot, compiler, function, n)
    inputs = tuple(_held(known[port.name], port.name in held).astype(dtype) for port in function.inputs)
    rows = {port.name: x.astype(np.float64) for port, x in zip(function.inputs, inputs, strict=True)}
    allowed = _allowed(function, dtype, robot.nv, condition)
    found = _reference(compiler, function, rows)
    moved = _reference(compiler, function, {name: _rounded(x, dtype) for name, x in rows.items()})
    return Vectors(inputs, found, allowed, (), _coarser(function.outputs, found, moved, allowed))


TIMES = 3, 2
"""How many steps a rollout has in the exported test, and every which is kept."""


def _held(rows: Reals, single: bool) -> Reals:
    return np.broadcast_to(rows[:1], rows.shape) if single else rows


def rollout_vectors(
    robot: Robot, compiler: Compiler, rollout: OpenRollout, dtype: str, held: Collection[str] = (), n: int = 5
) -> Vectors:
    """The same of a rollout of `TIMES`, whose steps are short."""
    steps, every = TIMES
    step, repeat = rollout.repeat.function, rollout.repeat
    known, condition = _drawn(robot, compiler, step, n * steps)
    if DT in step.inputs:
        known[DT.name] = 0.01 * np.abs(known[DT.name])
    ports = step.inputs
    rows = [
        np.reshape(known[port.name], (n, -1)) if port.name in repeat.by_time else known[port.name][::steps]
        for port in ports
    ]
    inputs = tuple(_held(x, port.name in held).astype(dtype) for x, port in zip(rows, ports, strict=True))
    repeated = rollout.repeated(steps, every)
    kernel = compiler.build(repeated, NUMPY, "float64")
    shapes = (port.shape(sizes(compiler.tree)) for port in repeated.outputs)
    outputs = tuple(np.empty((n, math.prod(shape))) for shape in shapes)
    kernel(n, [x.astype(np.float64) for x in inputs], outputs, 1)
    moved = tuple(np.empty_like(output) for output in outputs)
    kernel(n, [_rounded(x.astype(np.float64), dtype) for x in inputs], moved, 1)
    allowed = steps * _allowed(step, dtype, robot.nv, condition)
    return Vectors(inputs, outputs, allowed, TIMES, _coarser(repeated.outputs, outputs, moved, allowed))


def _rounded(rows: Reals, dtype: str) -> Reals:
    """Every other entry a rounding larger."""
    return rows * (1.0 + np.finfo(dtype).eps * (np.indices(rows.shape).sum(axis=0) % 2))


def _coarser(
    ports: Sequence[Port], answers: Sequence[Reals], moved: Sequence[Reals], allowed: float
) -> tuple[tuple[int, float], ...]:
    """Tolerances of outputs that inputs which are a rounding off move by more, and of those whose rounding goes by
    another output (`Port.beside`), such as a residual.

    moved: the answers of such inputs.
    """
    found: list[tuple[int, float]] = []
    scales = {port.name: float(np.max(np.abs(x), initial=0.0)) for port, x in zip(ports, answers, strict=True)}
    for k, (port, answer, other) in enumerate(zip(ports, answers, moved, strict=True)):
        scale = scales[port.name]
        change = float(np.max(np.abs(answer - other), initial=0.0)) / scale if scale else 0.0
        beside = allowed * scales.get(port.beside, 0.0) / scale if scale else 0.0
        if max(change, beside) > allowed:
            found.append((k, max(16.0 * change, beside)))
    return tuple(found)


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
    useless = 1e-8 if dtype == "float64" else 1e-2  # above this no mistake is found either
    return min(float(np.finfo(dtype).eps) * max(sums, function.condition * condition), useless)


def _reference(compiler: Compiler, function: Function, rows: Mapping[str, Reals]) -> tuple[Reals, ...]:
    """Answers, (n, size) each."""
    given = {port.name: rows[port.name] for port in function.inputs}
    found = evaluate(compiler.tree, function, compiler.reference_route(function), given)
    return tuple(np.reshape(np.asarray(array), (len(next(iter(given.values()))), -1)) for array in found)
