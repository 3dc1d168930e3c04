"""Quadratic programs as functions: the loop of an interior point method, and derivatives at the solution."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain, islice
from typing import Any, NamedTuple

from condyle.algorithms import quadratic_program as algorithm
from condyle.algorithms.quadratic_program import Problem, Side, State
from condyle.derivatives.recording import Composed
from condyle.functions.repeat import iterate
from condyle.specification import Accuracy, Function, Numerics, Port, Route, Size, Ways

Flat = Sequence[Any]


class Shape(NamedTuple):
    """What a program is made of. sides: of entries of x, then of rows. started: whether multipliers are given to begin
    with. iterations: the most."""

    variables: int
    rows: int
    equal: int
    sides: tuple[Side, ...]
    started: bool
    iterations: int

    @property
    def multipliers(self) -> int:
        """How many: of rows, of the box if there is one, of equalities."""
        box = self.variables if any(side.place < self.variables for side in self.sides) else 0
        return self.rows + box + self.equal


@lru_cache(maxsize=256)
def quadratic_program(shape: Shape) -> Function:
    """The function of programs of this shape: (hessian, gradient, ...) -> x, multipliers, residual, status.

    hessian: the lower triangle, row by row. limits: by side. An entry that is the number 0 costs nothing.
    """
    n = shape.variables
    sizes = {
        "hessian": n * (n + 1) // 2,
        "gradient": n,
        "rows": shape.rows * n,
        "equal": shape.equal * n,
        "target": shape.equal,
        "limits": len(shape.sides),
        "start": n,
        "start_multipliers": shape.multipliers if shape.started else 0,
    }
    answers = {"x": n, "multipliers": shape.multipliers}
    inputs, outputs = ([_port(key, size) for key, size in of.items() if size] for of in (sizes, answers))
    outputs += [_port("residual"), _port("status")]
    route = Route(Composed(partial(_record, shape)), recorded=True)
    rules = {"jvp": partial(_jvp, shape), "vjp": partial(_vjp, shape)}
    return _function(repr(shape), tuple(inputs), tuple(outputs), Ways(lambda: {"interior point": route}, lambda: rules))


def _function(content: str, inputs: tuple[Port, ...], outputs: tuple[Port, ...], ways: Ways) -> Function:
    from condyle.identity import digest

    name = f"qp_{digest(content)[:16]}"
    numerics = Numerics(Size(0), Accuracy(1e-6, 1e-2))
    return Function(name, name, "a quadratic program", inputs, outputs, ways, numerics, call="qp", content=content)


def _port(name: str, *dims: int) -> Port:
    return Port(name, tuple(map(str, dims)), "as given", "as given", "of a quadratic program")


def _problem(shape: Shape, given: Mapping[str, Flat], prefix: str = "", suffix: str = "") -> Problem:
    n = shape.variables

    def part(name: str, size: int) -> list[Any]:
        return list(given[f"{prefix}{name}{suffix}"]) if size else []

    lower = _triangle(part("hessian", n), n)
    hessian = [[lower[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]
    rows, equal = (_matrix(part(name, size), size) for name, size in (("rows", shape.rows), ("equal", shape.equal)))
    limits = part("limits", len(shape.sides))
    signed = [x if side.sign > 0.0 else -x for x, side in zip(limits, shape.sides, strict=True)]
    return Problem(hessian, part("gradient", n), rows, equal, part("target", shape.equal), shape.sides, signed)


def _matrix(values: list[Any], rows: int) -> list[list[Any]]:
    n = len(values) // rows if rows else 0
    return [values[k * n : (k + 1) * n] for k in range(rows)]


def _triangle(values: list[Any], n: int) -> list[list[Any]]:
    return [values[i * (i + 1) // 2 : (i + 1) * (i + 2) // 2] for i in range(n)]


def _record(shape: Shape, recording: Any, inputs: Mapping[str, Flat]) -> list[Flat]:
    """The answers: what is done once, the loop, and what is done once behind it."""
    problem = _problem(shape, inputs)
    multipliers = list(inputs["start_multipliers"]) if shape.started else []
    small, state, units = algorithm.scaled(problem, list(inputs["start"]), multipliers)
    if not shape.sides:
        state, done = algorithm.balanced(small, state), 1.0
    else:
        loop = iterate(_step(shape._replace(started=False, iterations=0)), shape.iterations)
        after, (done,), *_ = recording.call(loop, _flat(algorithm.stiffened(small, state)), _flat_state(state))
        state = _state(shape, after)
    x, multipliers, residual, status = algorithm.answers(small, problem.limits, state, units, done)
    return [x, *([multipliers] if multipliers else []), [residual], [status]]


@lru_cache(maxsize=256)
def _step(shape: Shape) -> Function:
    """One step. data: the scaled problem that is the same in all, state: what changes."""
    n, m, p, k = shape.variables, shape.rows, shape.equal, len(shape.sides)
    data, state = _port("data", n * (n + 1) // 2 + (m + p + 1) * n + k), _port("state", n + m + k + 2 + 2 * p)

    def run(sweeps: Any) -> tuple[Flat, ...]:
        inputs = sweeps.inputs
        after, done = algorithm.step(_of_flat(shape, inputs["data"]), _state(shape, inputs["state"]))
        return _flat_state(after), [done]

    ways = Ways(lambda: {"step": Route(run)})
    return _function(f"step {shape!r}", (data, state), (state, _port("done")), ways)


def _flat(problem: Problem) -> list[Any]:
    lower = [row[: k + 1] for k, row in enumerate(problem.hessian)]
    return [*chain(*lower, problem.gradient, *problem.rows, *problem.equal), *problem.limits]


def _of_flat(shape: Shape, data: Flat) -> Problem:
    n, values = shape.variables, iter(data)
    lower = _triangle(_next(values, n * (n + 1) // 2), n)
    hessian = [[lower[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]
    gradient = _next(values, n)
    rows, equal = (_matrix(_next(values, size * n), size) for size in (shape.rows, shape.equal))
    return Problem(hessian, gradient, rows, equal, [], shape.sides, list(values))


def _next(values: Iterator[Any], size: int) -> list[Any]:
    return list(islice(values, size))


def _flat_state(state: State) -> list[Any]:
    return [*state.x, *state.w, *state.z, state.theta, state.left, *state.y, *state.gap]


def _state(shape: Shape, flat: Flat) -> State:
    values = iter(flat)
    sizes = shape.variables, shape.rows, len(shape.sides), 1, 1, shape.equal, shape.equal
    x, w, z, theta, left, y, gap = (_next(values, size) for size in sizes)
    return State(x, w, z, theta[0], left[0], y, gap)


# Derivatives at the solution


def _held(shape: Shape, calls: Any, inputs: Mapping[str, Flat]) -> tuple[Problem, algorithm.Held]:
    function = quadratic_program(shape)
    x, *more = calls.call(function, *(inputs[port.name] for port in function.inputs))
    problem = _problem(shape, inputs)
    return problem, algorithm.held(problem, list(x), list(more[0]) if shape.multipliers else [])


def _jvp(shape: Shape, calls: Any, inputs: Mapping[str, Flat]) -> dict[str, Flat]:
    problem, solution = _held(shape, calls, inputs)
    dx, dy = algorithm.tangent(problem, solution, _problem(shape, inputs, prefix="d"))
    parts = {"dx": dx, "dmultipliers": dy, "dresidual": [0.0], "dstatus": [0.0]}
    return {f"d{port.name}": parts[f"d{port.name}"] for port in quadratic_program(shape).outputs}


def _vjp(shape: Shape, calls: Any, inputs: Mapping[str, Flat]) -> dict[str, Flat]:
    problem, solution = _held(shape, calls, inputs)
    multipliers = list(inputs["multipliers_bar"]) if shape.multipliers else []
    bars = algorithm.cotangent(problem, solution, list(inputs["x_bar"]), multipliers)
    zeros = {name: [0.0] * size for name, size in (("start", shape.variables), ("start_multipliers", shape.multipliers))}
    limits = [x if side.sign > 0.0 else -x for x, side in zip(bars.limits, shape.sides, strict=True)]
    parts = {
        "hessian": [*chain(*bars.hessian)],
        "gradient": bars.gradient,
        "rows": [*chain(*bars.rows)],
        "equal": [*chain(*bars.equal)],
        "target": bars.target,
        "limits": limits,
        **zeros,
    }
    return {f"{port.name}_bar": parts[port.name] for port in quadratic_program(shape).inputs}
