"""Quadratic programs as functions: the loop of an interior point method, and derivatives at the solution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain, islice
from typing import Any, NamedTuple

from condyle.algorithms import quadratic_program as algorithm
from condyle.algorithms.quadratic_program import Problem, Side, State
from condyle.derivatives.composed import Composed
from condyle.functions.repeat import iterate
from condyle.identity import digest
from condyle.specification import Accuracy, Function, Numerics, Port, Route, Size, Ways

Flat = Sequence[Any]
STRAIGHT = 16
"""Steps where code has no loops inside functions: 99 % of programs take 12 or fewer."""


class Shape(NamedTuple):
    """What a program is made of. rows: of A and of E, of which `equal` are of E. sides: of places, see
    `condyle.algorithms.quadratic_program`. started: whether multipliers are given to begin with. iterations: the most.
    """

    variables: int
    rows: int
    equal: int
    sides: tuple[Side, ...]
    started: bool
    iterations: int

    @property
    def multipliers(self) -> int:
        """How many: of the box if there is one, of rows, of equalities."""
        return self.rows + (self.variables if any(side.place < self.variables for side in self.sides) else 0)


@lru_cache(maxsize=256)
def quadratic_program(shape: Shape) -> Function:
    """The function of programs of this shape: (hessian, gradient, ...) -> x, multipliers, residual, status.

    hessian: the lower triangle, row by row. limits: by side. An entry that is the number 0 costs nothing.
    """
    n, started = shape.variables, shape.multipliers * shape.started
    sizes = {**_sizes(shape), "start": n, "start_multipliers": started}
    answers = {"x": n, "multipliers": shape.multipliers}
    inputs, outputs = ([_port(key, size) for key, size in ports.items() if size] for ports in (sizes, answers))
    route = Route(Composed(partial(_record, shape)), recorded=True)
    rules = {"jvp": partial(_jvp, shape), "vjp": partial(_vjp, shape)}
    ways = Ways(lambda: {"interior point": route}, lambda: rules)
    return _function(repr(shape), inputs, [*outputs, _port("residual"), _port("status")], ways)


def _sizes(shape: Shape) -> dict[str, int]:
    """Of the numbers of a problem."""
    n = shape.variables
    sizes = {"hessian": n * (n + 1) // 2, "gradient": n, "rows": shape.rows * n, "limits": len(shape.sides)}
    return {**sizes, "equal": shape.equal}


def _function(content: str, inputs: Sequence[Port], outputs: Sequence[Port], ways: Ways) -> Function:
    name = f"qp_{digest(content)[:16]}"
    numerics = Numerics(Size(0), Accuracy(1e-6, 1e-2))
    words = name, name, "a quadratic program"
    return Function(*words, tuple(inputs), tuple(outputs), ways, numerics, call="qp", content=content)


def _port(name: str, *dims: int) -> Port:
    return Port(name, tuple(map(str, dims)), "as given", "as given", "of a quadratic program")


def _problem(shape: Shape, parts: Mapping[str, Flat]) -> Problem:
    """What has these numbers; limits are signed."""
    n = shape.variables
    lower, rows = parts["hessian"], parts.get("rows", ())
    hessian = [[lower[max(i, j) * (max(i, j) + 1) // 2 + min(i, j)] for j in range(n)] for i in range(n)]
    return Problem(
        hessian,
        list(parts["gradient"]),
        [list(rows[k * n : (k + 1) * n]) for k in range(shape.rows)],
        shape.sides,
        list(parts.get("limits", ())),
        list(parts.get("equal", ())),
    )


def _of_inputs(shape: Shape, inputs: Mapping[str, Flat], prefix: str = "") -> Problem:
    """The problem of a function's inputs, or of their tangents."""
    parts = {name: inputs[prefix + name] for name, size in _sizes(shape).items() if size}
    return _problem(shape, {**parts, "limits": _signed(shape, parts.get("limits", ()))})


def _signed(shape: Shape, limits: Flat) -> Flat:
    return [x if side.sign > 0.0 else -x for x, side in zip(limits, shape.sides, strict=True)]


def _flat(problem: Problem) -> list[Any]:
    """The numbers in the order of `_sizes`."""
    lower = [row[: k + 1] for k, row in enumerate(problem.hessian)]
    return [*chain(*lower), *problem.gradient, *chain(*problem.rows), *problem.limits, *problem.equal]


def _cut(values: Flat, sizes: Sequence[int]) -> list[list[Any]]:
    """Parts of these sizes, one after the other."""
    rest = iter(values)
    return [list(islice(rest, size)) for size in sizes]


def _record(shape: Shape, recording: Any, inputs: Mapping[str, Flat]) -> list[Flat]:
    """The answers: what is done once, the loop, and what is done once behind it."""
    problem = _of_inputs(shape, inputs)
    small, state, units = algorithm.scaled(problem, list(inputs["start"]), list(inputs.get("start_multipliers", ())))
    done = 1.0
    if shape.sides:
        loop = iterate(_step(shape._replace(started=False, iterations=0)), shape.iterations, straight=STRAIGHT)
        carried = [*state.x, *state.w, *state.z, state.theta, state.left, state.steps, *state.y]
        after, (done,), _ = recording.call(loop, _flat(algorithm.stiffened(small, state)), carried)
        state = _state(shape, after)
    else:
        state = algorithm.balanced(small, state)
    x, multipliers, residual, status = algorithm.answers(problem, small, state, units, done)
    return [x, *([multipliers] if multipliers else []), [residual], [status]]


@lru_cache(maxsize=256)
def _step(shape: Shape) -> Function:
    """One step. data: the scaled problem, the same in all; state: what changes."""
    sizes = _sizes(shape)
    data = _port("data", sum(sizes.values()))
    state = _port("state", shape.variables + shape.rows + len(shape.sides) + 3 + shape.equal)

    def run(sweeps: Any) -> tuple[Flat, ...]:
        parts = dict(zip(sizes, _cut(sweeps.inputs["data"], [*sizes.values()]), strict=True))
        after, done = algorithm.step(_problem(shape, parts), _state(shape, sweeps.inputs["state"]))
        return [*after.x, *after.w, *after.z, after.theta, after.left, after.steps, *after.y], [done]

    return _function(f"step {shape!r}", [data, state], [state, _port("done")], Ways(lambda: {"step": Route(run)}))


def _state(shape: Shape, flat: Flat) -> State:
    sizes = shape.variables, shape.rows, len(shape.sides), 1, 1, 1, shape.equal
    x, w, z, (theta,), (left,), (steps,), y = _cut(flat, sizes)
    return State(x, w, z, theta, left, steps, y)


# Derivatives at the solution


def _held(shape: Shape, calls: Any, inputs: Mapping[str, Flat]) -> tuple[Problem, algorithm.Held]:
    function = quadratic_program(shape)
    x, multipliers, *_ = calls.call(function, *(inputs[port.name] for port in function.inputs))
    problem = _of_inputs(shape, inputs)
    return problem, algorithm.held(problem, list(x), list(multipliers) if shape.multipliers else [])


def _jvp(shape: Shape, calls: Any, inputs: Mapping[str, Flat]) -> dict[str, Flat]:
    problem, solution = _held(shape, calls, inputs)
    dx, dy = algorithm.tangent(problem, solution, _of_inputs(shape, inputs, "d"))
    more = {"dmultipliers": dy} if dy else {}
    return {"dx": dx, **more, "dresidual": [0.0], "dstatus": [0.0]}


def _vjp(shape: Shape, calls: Any, inputs: Mapping[str, Flat]) -> dict[str, Flat]:
    problem, solution = _held(shape, calls, inputs)
    bars = algorithm.cotangent(problem, solution, list(inputs["x_bar"]), list(inputs.get("multipliers_bar", ())))
    sizes = _sizes(shape)
    parts = dict(zip(sizes, _cut(_flat(bars), [*sizes.values()]), strict=True))
    parts |= {"limits": _signed(shape, bars.limits), "start": [0.0] * shape.variables}
    parts |= {"start_multipliers": [0.0] * shape.multipliers}
    return {f"{port.name}_bar": parts[port.name] for port in quadratic_program(shape).inputs}
