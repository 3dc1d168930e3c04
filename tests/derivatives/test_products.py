"""Products of matrices of symbols: which stay one operation, where their factors stand, what they are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import condyle
from condyle.derivatives import derivative
from condyle.derivatives.code import code_of
from condyle.derivatives.products import Entries, LargeProduct, ProductGraph, entries, multiplied, shaped, size_of
from condyle.derivatives.recording import Recording
from condyle.ir.expr import Expr
from condyle.ir.program import Array, Program
from condyle.ir.segments import Segmented, View
from condyle.model.tree import tree_of


def graph_of(*least: int, **shapes: tuple[int, ...]) -> tuple[ProductGraph, dict[str, Entries]]:
    graph = ProductGraph([Array(name, shape) for name, shape in shapes.items()], *least)
    return graph, dict(graph.symbols())


def nodes(array: Entries) -> list[int]:
    return [x.index for x in entries(array) if isinstance(x, Expr)]


def computed(graph: ProductGraph) -> Entries:
    """A column of symbols that are no input."""
    return shaped([x * 2.0 for x in entries(graph.symbols()["x"])], (graph.inputs[-1].size, 1))  # type: ignore[operator]


@pytest.mark.parametrize(("m", "n", "stays"), [(16, 32, True), (73, 7, False), (511, 1, False), (512, 1, False)])
def test_products_stay_where_they_are_long(m: int, n: int, stays: bool) -> None:
    """From 512 products on of a matrix that all states can share; a single column is none, and needs 1024."""
    graph, symbols = graph_of(W=(m, n), x=(n,))
    assert (graph.product(symbols["W"], computed(graph)) is not None) == stays


def test_products_of_what_differs_in_each_state_are_longer() -> None:
    for n, stays in ((1023, False), (1024, True)):
        graph, symbols = graph_of(x=(n,))
        column = shaped([x * 2.0 for x in entries(symbols["x"])], (n, 1))  # type: ignore[operator]
        assert (graph.product(np.transpose(column), column) is not None) == stays
        recording = Recording(tree_of(condyle.chain(1)), derivative)
        left, right = (shaped(recording.leaves(n // 2), (1, n // 2)) for _ in range(2))
        assert (recording.product(left, np.transpose(right)) is not None) == stays


def test_zeros_do_not_count() -> None:
    """Entries of the answer that have no terms are numbers; a matrix with zeros among its entries is no input's own."""
    graph, symbols = graph_of(W=(40, 32), x=(32,))
    for rows in (40, 39, 32, 31):
        W = symbols["W"].copy()
        W[: 40 - rows] = 0.0
        assert size_of(W, computed(graph)) == rows * 32
        kept = graph.product(W, computed(graph))
        assert (kept is None) == (rows < 32)
        if kept is not None:
            assert [isinstance(x, Expr) for x in entries(kept)] == [False] * (40 - rows) + [True] * rows


def test_what_all_states_share_stands_on_the_left() -> None:
    """Numbers before a matrix of an input, and that before others; equal products are one."""
    graph, symbols = graph_of(W=(32, 32), x=(32,))
    column, W = computed(graph), symbols["W"]
    numbers = shaped(np.arange(1.0, 1025.0).tolist(), (32, 32))
    first, row = graph.product(W, column), graph.product(np.transpose(column), np.transpose(W))
    assert first is not None and row is not None and nodes(first) == nodes(row)
    turned = graph.product(W, numbers)
    assert turned is not None
    products = [block for block in graph.blocks([*entries(first), *entries(turned)]) if isinstance(block, LargeProduct)]
    assert nodes(products[0].left) == nodes(W) and nodes(products[1].right) == nodes(np.transpose(W))
    assert entries(products[1].left) == entries(np.transpose(numbers))
    assert graph.held(products) == {"W"} and graph.held(products[1:]) == frozenset()
    assert (products[0].shape, products[0].end - products[0].first) == ((32, 1), 32)
    assert len(graph.blocks(entries(first))) == 1 and not graph.blocks(column.ravel().tolist())


def function_of(graph: ProductGraph, **answers: Entries) -> Program | Segmented:
    arrays = [Array(name, answer.shape) for name, answer in answers.items()]
    return code_of(graph, "f", arrays, list(answers.values()))


def test_operands_are_read_where_they_are() -> None:
    """Parts of inputs at equal distances; others are computed before, and numbers are constants."""
    graph, symbols = graph_of(512, W=(40, 40), x=(40,))
    W, x = symbols["W"], shaped(entries(symbols["x"]), (40, 1))
    numbers = shaped(np.arange(1.0, 1601.0).tolist(), (40, 40))
    places: list[tuple[Any, View]] = [
        (W, View("W", 0, 40, 1)),
        (np.transpose(W), View("W", 0, 1, 40)),
        (W[3:35, 2:37], View("W", 122, 40, 1)),
        (W[1::2, ::2], View("W", 40, 80, 2)),
    ]
    for left, view in places:
        code = function_of(graph, y=multiplied(graph, left, x[: left.shape[1]]))
        assert isinstance(code, Segmented)
        (product,) = code.products
        assert product.left == view and product.right == View("x", 0, 1, 0) and not code.constants
    for left in (W[::-1], shaped(entries(W)[1:] + entries(W)[:1], (40, 40))):
        code = function_of(graph, y=multiplied(graph, left, x))
        assert isinstance(code, Segmented) and next(iter(code.products)).left.array.startswith("left")
    code = function_of(graph, y=multiplied(graph, numbers, x), z=multiplied(graph, numbers, computed(graph)))
    assert isinstance(code, Segmented) and len(code.constants) == 1
    assert code.constants[0].name == "constant 0" and code.constants[0].values == tuple(np.arange(1.0, 1601.0))
    assert [product.left.array for product in code.products] == ["constant 0"] * 2
    assert [product.right.array[:5] for product in code.products] == ["x", "right"]


def test_a_function_without_large_products_is_a_program() -> None:
    graph, symbols = graph_of(W=(4, 4), x=(4,))
    code = function_of(graph, y=multiplied(graph, symbols["W"], computed(graph)))
    assert isinstance(code, Program) and [array.name for array in code.inputs] == ["W", "x"]


def test_derivatives_of_a_product_are_products() -> None:
    """Of y = W x^2 and s = x x: along tangents, of cotangents, and all blocks."""
    n, rng = 23, np.random.default_rng(0)
    f = condyle.function(lambda W, x: {"y": W @ (x * x), "s": x @ x}, inputs={"W": (n, n), "x": n}).compile("numpy")
    (W, dW), (x, dx, bar) = rng.normal(size=(2, n, n)), rng.normal(size=(3, n))
    along = f.jvp()(W, x, dW, dx)
    np.testing.assert_allclose(along.dy, dW @ (x * x) + W @ (2.0 * x * dx), rtol=1e-11)
    np.testing.assert_allclose(along.ds, 2.0 * x @ dx, rtol=1e-11)
    W_bar, x_bar = f.vjp()(W, x, bar, 0.3)
    np.testing.assert_allclose(W_bar, np.outer(bar, x * x), rtol=1e-11)
    np.testing.assert_allclose(x_bar, 2.0 * x * (W.T @ bar) + 0.6 * x, rtol=1e-11)
    blocks = f.jacobian()(W, x)
    np.testing.assert_allclose(blocks.dy_dW, np.einsum("ij,k->ijk", np.eye(n), x * x), rtol=0, atol=1e-12)
    np.testing.assert_allclose(blocks.dy_dx, W * (2.0 * x), rtol=1e-12)
    np.testing.assert_allclose(blocks.ds_dx, 2.0 * x, rtol=1e-12)
    assert not blocks.ds_dW.any()


def test_a_product_of_numbers_is_kept_too() -> None:
    """The right one is computed: only what stands on the left may be a constant."""
    graph, _ = graph_of(x=(40,))
    numbers = shaped(np.arange(1.0, 1601.0).tolist(), (40, 40))
    code = function_of(graph, y=multiplied(graph, numbers, np.transpose(numbers)))
    assert isinstance(code, Segmented)
    (product,) = code.products
    assert product.left.array == "constant 0" and product.right.array.startswith("right")
