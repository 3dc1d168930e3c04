"""One scalar for numbers, arrays and symbols."""

from __future__ import annotations

import numpy as np
import pytest

from condyle import scalar
from condyle.ir.expr import Expr, Graph
from condyle.operations import MEANING, OPERATIONS, TRACED


def test_a_plain_zero_is_zero_and_nothing_else_is() -> None:
    symbol = Graph().input(0, 0)
    assert scalar.is_zero(scalar.number(0.0)) and scalar.is_zero(scalar.number(-0.0))
    for value in (1e-300, np.zeros(1), np.zeros(()), symbol):
        assert not scalar.is_zero(scalar.number(value))  # type: ignore[arg-type]


def test_a_reciprocal_never_warns_and_keeps_the_number_type() -> None:
    inverse = scalar.reciprocal(scalar.number(4.0))
    assert type(inverse) is float and inverse == 0.25
    assert scalar.reciprocal(scalar.number(0.0)) == np.inf and scalar.reciprocal(scalar.number(-0.0)) == -np.inf
    some = np.asarray(scalar.reciprocal(scalar.number(np.array([0.0, 2.0], np.float32))))
    assert some.dtype == np.float32 and some.tolist() == [np.inf, 0.5]


def test_sums_and_products_of_matrices() -> None:
    """Without columns inside an entry is a plain zero."""
    numbers = [[scalar.number(x) for x in row] for row in ((1.0, 2.0, 3.0), (4.0, 5.0, 6.0))]
    assert scalar.total(numbers[0]) == 6.0 and scalar.total(numbers[0][:1]) == 1.0
    assert scalar.matrix_product(numbers, numbers[::-1]) == [[32.0, 14.0], [77.0, 32.0]]
    assert scalar.matrix_product([[], []], [[]]) == [[0.0], [0.0]]
    with pytest.raises(ValueError, match="zip"):
        scalar.matrix_product(numbers, [numbers[0][:2]])


@pytest.mark.parametrize("op", [op for op, row in OPERATIONS.items() if row.source == TRACED])
def test_an_operation_by_its_name_is_that_of_numbers_and_of_symbols(op: str) -> None:
    """Whichever operand is the symbol."""
    arity = OPERATIONS[op].arity
    numbers = (0.75, 0.5, -0.25)[:arity]
    assert scalar.operation(op, numbers) == float(MEANING[op](*map(np.float64, numbers)))
    for place in range(arity):
        graph = Graph()
        symbol = graph.input(0, 0)
        made = scalar.operation(op, [symbol if k == place else x for k, x in enumerate(numbers)])  # type: ignore[misc]
        if op == "select" and place == 2:
            assert made == 0.5  # chosen by a number
        else:
            assert isinstance(made, Expr) and symbol.index in walked(graph, made.index)


def walked(graph: Graph, k: int) -> set[int]:
    """A node and all that it depends on."""
    node = graph.nodes[k]
    return {k}.union(*(walked(graph, int(a)) for a in node[1:])) if node[0] not in ("const", "input") else {k}


def test_each_function_is_the_operation_of_its_name() -> None:
    named = {
        "sin": scalar.sin,
        "cos": scalar.cos,
        "sqrt": scalar.sqrt,
        "exp": scalar.exp,
        "log": scalar.log,
        "tanh": scalar.tanh,
        "abs": scalar.absolute,
        "floor": scalar.floor,
        "rint": scalar.rint,
        "atan2": scalar.atan2,
        "min": scalar.minimum,
        "max": scalar.maximum,
        "select": scalar.select,
    }
    for op, function in named.items():
        graph = Graph()
        made = function(*(graph.input(0, k) for k in range(OPERATIONS[op].arity)))  # type: ignore[operator]
        assert graph.nodes[made.index] == (op, *range(OPERATIONS[op].arity))
