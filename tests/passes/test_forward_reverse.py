"""Forward and reverse differentiation of Programs, against differences in long double numbers and each other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from condyle.ir.expr import Expr, Graph, Value
from condyle.ir.interp import run
from condyle.ir.program import Array
from condyle.operations import DRAWN, OPERATIONS, TRACED
from condyle.passes.dce import dce
from condyle.passes.forward_reverse import forward, reverse
from condyle.passes.partials import PARTIALS, rules

pytestmark = pytest.mark.smoke

L = np.longdouble
OPS = [row.name for row in OPERATIONS.values() if row.source == TRACED]
N = 4
CLEAR = 0.05
"""The distance of arguments from kinks and poles."""


def values_of(graph: Graph, wanted: list[Value], point: np.ndarray) -> np.ndarray:
    """Symbols at points (n, inputs), (n, wanted)."""
    outputs = [(0, k, value) for k, value in enumerate(wanted)]
    inputs, arrays = (Array("x", (point.shape[1],)),), (Array("y", (len(wanted),)),)
    return run(dce(graph.program("p", inputs, arrays, outputs)), [point], point.dtype.type)[0]


def tangents(graph: Graph, y: Value, direction: np.ndarray) -> Value:
    assert isinstance(y, Expr)
    seeds = {graph.input(0, k).index: {0: float(x)} for k, x in enumerate(direction)}
    return forward(graph, range(y.index + 1), seeds).get(y.index, {}).get(0, 0.0)


def gradient(graph: Graph, y: Value, n: int = N) -> list[Value]:
    assert isinstance(y, Expr)
    leaves = [graph.input(0, k).index for k in range(n)]
    order = range(y.index + 1)
    found = reverse(graph, order, dict.fromkeys(order), [(y.index, 1.0)])
    return [found.get(leaf) for leaf in leaves]


def is_clear(op: str, given: list[float]) -> bool:
    """Whether the operation is smooth in the neighbourhood."""
    x = given[0]
    if op in ("rcp", "abs", "select"):
        return abs(x) > CLEAR
    if op in ("sqrt", "log"):
        return x > CLEAR
    if op in ("floor", "rint"):
        step = x + 0.5 * (op == "rint")
        return abs(step - round(step)) > CLEAR
    if op == "atan2":
        return np.hypot(x, given[1]) > 0.3 and (abs(x) > CLEAR or given[1] > CLEAR)
    return op not in ("min", "max") or abs(x - given[1]) > CLEAR


def random_program(rng: np.random.Generator, point: np.ndarray) -> tuple[Graph, list[Value]]:
    """Some dozen operations, all of them among many Programs; turned vectors too."""
    graph = Graph()
    known: list[Value] = [graph.input(0, k) for k in range(N)]
    worth = [float(x) for x in point]
    while len(known) < 40:
        op = [*OPS, "turn", "constant"][rng.integers(len(OPS) + 2)]
        at = rng.integers(len(known), size=3)
        given, numbers = [known[k] for k in at], [worth[k] for k in at]
        made: list[Value]
        if op == "constant":
            made = [float(rng.choice([0.5, 1.0, 2.0, -1.5]))]
        elif not isinstance(given[0], Expr):
            continue
        elif op == "turn":
            c, s = given[0].function("cos", (given[0],)), given[0].function("sin", (given[0],))
            made = [c * given[1] + s * given[2], c * given[2] - s * given[1], s * given[2] - c * given[1]]
        elif op in ("neg", "add", "sub", "mul", "rcp"):
            if not is_clear(op, numbers):
                continue
            x, y = given[0], given[1]
            made = [{"neg": -x, "add": x + y, "sub": x - y, "mul": x * y, "rcp": 1.0 / x}[op]]
        elif is_clear(op, numbers):
            made = [given[0].function(op, given[: OPERATIONS[op].arity])]
        else:
            continue
        for one in made:
            value = float(values_of(graph, [one], point[None])[0, 0])
            if abs(value) < 4.0:
                known.append(one)
                worth.append(value)
    return graph, known


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_against_differences(seed: int) -> None:
    rng = np.random.default_rng(seed)
    point, direction = rng.uniform(-2.0, 2.0, N), rng.uniform(-1.0, 1.0, N)
    graph, known = random_program(rng, point)
    result: Value = 0.0
    for one in known[N:]:
        result = result + float(rng.uniform(-1.0, 1.0)) * one
    along, bars = tangents(graph, result, direction), gradient(graph, result)
    h = L(1e-4)
    steps = np.array([-2, -1, 1, 2], L)[:, None]
    low2, low, high, high2 = values_of(graph, [result], point.astype(L) + h * steps * direction)[:, 0]
    expected = float((8 * (high - low) - (high2 - low2)) / (12 * h))
    found = values_of(graph, [along, *bars], point[None])[0]
    scale = max(1.0, float(np.max(np.abs(found))))
    assert abs(found[0] - expected) < 1e-7 * scale
    assert abs(found[0] - found[1:] @ direction) < 1e-11 * scale


def test_every_operation_of_symbols_has_derivatives() -> None:
    """One for each operand; an operation without them is an error, not a zero."""
    made = {name: row.arity for name, row in OPERATIONS.items() if row.source in (TRACED, DRAWN)}
    assert {name: len(of) for name, of in PARTIALS.items()} == made
    with pytest.raises(NotImplementedError, match="has no derivative: give it a row of PARTIALS"):
        rules(("fma", 0, 1, 2))


def test_all_operations_are_among_them() -> None:
    seen: set[str] = set()
    for seed in range(40):
        rng = np.random.default_rng(seed)
        point, _ = rng.uniform(-2.0, 2.0, N), rng.uniform(-1.0, 1.0, N)
        seen |= {node[0] for node in random_program(rng, point)[0].nodes}
    assert seen >= set(OPS)


KINKS: dict[str, tuple[Callable[[Graph, Expr, Expr], Value], tuple[float, float]]] = {
    "abs": (lambda g, x, y: g.function("abs", (x,)), (1.0, 0.0)),
    "max with a number": (lambda g, x, y: g.function("max", (x, 0.0)), (1.0, 0.0)),
    "max, the number first": (lambda g, x, y: g.function("max", (0.0, x)), (1.0, 0.0)),
    "min with a number": (lambda g, x, y: g.function("min", (x, 0.0)), (0.0, 0.0)),
    "max of two symbols": (lambda g, x, y: g.function("max", (x, y)), (1.0, 0.0)),
    "min of two symbols": (lambda g, x, y: g.function("min", (x, y)), (1.0, 0.0)),
    "select": (lambda g, x, y: g.function("select", (x, 3.0 * x, y)), (3.0, 0.0)),
}


@pytest.mark.parametrize("name", KINKS)
def test_kinks_have_the_value_that_is_documented(name: str) -> None:
    graph = Graph()
    made, expected = KINKS[name]
    result = made(graph, graph.input(0, 0), graph.input(0, 1))
    point = np.zeros((1, 2))
    assert tuple(values_of(graph, gradient(graph, result, 2), point)[0]) == expected
    for k, unit in enumerate(np.eye(2)):
        assert values_of(graph, [tangents(graph, result, unit)], point)[0, 0] == expected[k]


@pytest.mark.parametrize(("op", "slopes"), [("max", [0.0, 1.0, 1.0]), ("min", [1.0, 0.0, 0.0])])
def test_a_kink_does_not_depend_on_which_operand_came_first(op: str, slopes: list[float]) -> None:
    """A constant that the graph had before the symbol is the first operand."""
    graph = Graph()
    constant = graph.constant(0.5)
    x = graph.input(0, 0)
    result = graph.function(op, (x, constant))
    assert isinstance(result, Expr) and graph.nodes[result.index] == (op, constant.index, x.index)
    points = np.array([[0.25], [0.5], [1.0]])
    for found in (gradient_by(graph, result, x), tangent_by(graph, result, x)):
        assert values_of(graph, [found], points)[:, 0].tolist() == slopes


def gradient_by(graph: Graph, y: Expr, x: Expr) -> Value:
    order = range(y.index + 1)
    return reverse(graph, order, dict.fromkeys(order), [(y.index, 1.0)]).get(x.index)


def tangent_by(graph: Graph, y: Expr, x: Expr) -> Value:
    return forward(graph, range(y.index + 1), {x.index: {0: 1.0}})[y.index][0]


def test_tangents_that_are_zero_are_not_there() -> None:
    """Nor is anything else that no direction moves."""
    graph = Graph()
    x, y = graph.input(0, 0), graph.input(0, 1)
    steps = graph.function("floor", (x,))
    total = x * y + steps
    assert isinstance(steps, Expr) and isinstance(total, Expr)
    found = forward(graph, range(total.index + 1), {x.index: {3: 1.0}, y.index: {5: 2.0}})
    assert steps.index not in found and found[total.index].keys() == {3, 5}
    point = np.array([[0.5, 7.0]])
    assert values_of(graph, [found[total.index][3], found[total.index][5]], point)[0].tolist() == [7.0, 1.0]


def test_what_is_not_active_receives_nothing() -> None:
    graph = Graph()
    x, y = graph.input(0, 0), graph.input(0, 1)
    square = x * x
    total = square + y * y
    assert isinstance(square, Expr) and isinstance(total, Expr)
    order = range(total.index + 1)
    active = dict.fromkeys((x.index, square.index, total.index))
    seen: list[tuple[int, bool]] = []
    bars = reverse(
        graph, order, active, [(total.index, 1.0), (y.index, 9.0)], lambda k, c: seen.append((k, bool(c.get(k))))
    )
    assert values_of(graph, [bars.get(x.index)], np.array([[3.0, 5.0]]))[0, 0] == 6.0
    assert bars.get(y.index) == 0.0
    assert seen == [(y.index, False), (x.index, True)]


BRANCHES: dict[str, Callable[[Graph, Expr], Value]] = {
    "sqrt": lambda g, x: g.function("select", (x, g.function("sqrt", (x,)), 0.0)),
    "log": lambda g, x: g.function("select", (x, g.function("log", (x,)), 0.0)),
    "rcp": lambda g, x: g.function("select", (x, 1.0 / (x + 1.0), 0.0)),
    "rcp of a product": lambda g, x: g.function("select", (x, -(2.0 / (x * x + x)), 0.0)),
    "the other branch": lambda g, x: g.function("select", (-x - 0.5, 0.0, g.function("sqrt", (x,)) * x)),
    "a branch in a branch": lambda g, x: g.function(
        "select", (x, g.function("select", (x - 9.0, x, g.function("sqrt", (x,)) * g.function("log", (x,)))), 0.0)
    ),
    "used twice": lambda g, x: g.function(
        "select", (x, g.function("sqrt", (x,)) * (1.0 + g.function("sqrt", (x,))), x)
    ),
}


@pytest.mark.parametrize("name", BRANCHES)
def test_a_branch_that_is_not_taken_spoils_nothing(name: str) -> None:
    """Its slopes are infinite or no numbers there."""
    graph = Graph()
    result = BRANCHES[name](graph, graph.input(0, 0))
    point = np.array([[-1.0], [2.0]])
    taken = values_of(graph, gradient(graph, result, 1), point)[:, 0]
    along = values_of(graph, [tangents(graph, result, np.ones(1))], point)[:, 0]
    assert taken[0] == along[0] == (1.0 if name == "used twice" else 0.0)
    h = L(1e-5)
    high, low = values_of(graph, [result], np.array([[2.0 + h], [2.0 - h]], L))[:, 0]
    np.testing.assert_allclose([taken[1], along[1]], float((high - low) / (2 * h)), rtol=1e-8)


@pytest.mark.parametrize("signs", [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)])
def test_a_rotated_vector_is_differentiated_by_its_sibling(signs: tuple[float, float]) -> None:
    """The derivative by the angle is the other component or its negative, which adds at most one node."""
    graph = Graph()
    angle, x, y = (graph.input(0, k) for k in range(3))
    c, s = graph.function("cos", (angle,)), graph.function("sin", (angle,))
    one = signs[0] * (c * x) + signs[1] * (s * y)
    other = signs[0] * (s * x) - signs[1] * (c * y)
    before = len(graph.nodes)
    assert isinstance(one, Expr)
    inner = [int(k) for k in graph.nodes[one.index][1:] if graph.nodes[one.index][0] == "neg"]
    by_angle = forward(graph, [angle.index, *inner, one.index], {angle.index: {0: 1.0}})[one.index][0]
    assert len(graph.nodes) <= before + 1  # a sign
    point = np.array([[0.3, 0.5, -0.7]])
    found, expected = values_of(graph, [by_angle, other], point)[0]
    slope = signs[1] * np.cos(0.3) * -0.7 - signs[0] * np.sin(0.3) * 0.5
    np.testing.assert_allclose([found, abs(expected)], [slope, abs(slope)], rtol=1e-14)
