"""Products of symbols: what becomes an operation of its own, and what stands between two of them."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.ir.count import count
from condyle.ir.program import Program
from condyle.ir.segments import Segmented
from condyle.scalar import sin
from tests.dense import matmul
from tests.products import chain, network, network_of_inputs, traced


def test_small_products_are_straight_code() -> None:
    shapes = {"a": (6, 6), "b": (6, 6)}
    assert isinstance(traced(matmul, shapes), Program)
    assert isinstance(traced(matmul, shapes, least=216), Segmented)
    assert isinstance(traced(matmul, shapes, least=217), Program)
    assert isinstance(traced(network, {"x": (24,)}, least=1 << 40), Program)


def test_work_is_counted_in_either_form() -> None:
    """Products are the same; additions of a bias are no longer absorbed by the last term."""
    loops, straight = (count(traced(network, {"x": (24,)}, least)) for least in (256, 1 << 40))
    assert loops.mul == straight.mul
    assert straight.add <= loops.add <= straight.add + 129


def test_weights_are_numbers_in_memory_and_no_code() -> None:
    code = traced(network, {"x": (24,)})
    assert isinstance(code, Segmented)
    assert [len(constant.values) for constant in code.constants] == [64 * 24, 64 * 64]
    assert sum(len(program) for program in code.programs) < 1200
    assert all(node[0] != "const" or abs(node[1]) < 10 for program in code.programs for node in program.nodes)


def test_arrays_that_are_there_are_not_copied() -> None:
    """Inputs, parts of them, transposes, earlier results: no Program before the products."""
    code = traced(network_of_inputs, {"x": (24,), "theta": (1120,)}, least=100)
    assert isinstance(code, Segmented)
    first, second = code.products
    assert tuple(first.left) == ("theta", 0, 1, 40)
    assert first.right.array == "x"
    assert code.held == {"theta"}
    assert tuple(second.left) == ("theta", 1000, 40, 1)
    code = traced(chain, {"a": (20, 20), "b": (20, 20), "c": (20, 20)})
    assert isinstance(code, Segmented)
    assert [type(segment) is Program for segment in code.segments] == [False, False, True]
    transposed = traced(lambda a: matmul(np.transpose(a), a), {"a": (20, 20)})
    assert isinstance(transposed, Segmented)
    assert tuple(next(transposed.products).left) == ("a", 0, 1, 20)


def test_products_that_nobody_needs_are_left_out() -> None:
    def f(a: np.ndarray) -> np.ndarray:
        matmul(a, a)
        return a[0]

    assert isinstance(traced(f, {"a": (20, 20)}), Program)


@pytest.mark.parametrize(("left", "right"), [((3, 4), (3, 4)), ((2, 2, 2), (2, 2)), ((), (3,)), ((3,), (4,))])
def test_shapes_that_do_not_fit(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="do not fit"):
        matmul(np.ones(left), np.ones(right))


def test_products_of_numbers_alone() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(30, 20)), rng.normal(size=(20, 10))
    assert np.allclose(matmul(a, b).astype(float), a @ b, atol=1e-13)
    assert float(matmul(a[0], b[:, 0])) == pytest.approx(float(a[0] @ b[:, 0]))
    assert matmul(np.ones((2, 0)), np.ones((0, 3))).tolist() == [[0.0] * 3] * 2


def test_nothing_is_computed_twice() -> None:
    """What an earlier Program computed and a later one needs is kept, once."""

    def f(a: np.ndarray) -> np.ndarray:
        sines = np.array([[sin(x) for x in row] for row in a])
        return matmul(sines, sines) + sines

    code = traced(f, {"a": (20, 20)})
    assert isinstance(code, Segmented)
    first, last = code.programs
    assert [array.name for array in first.arrays] == ["left 0", "kept 0"]
    assert sum(node[0] == "sin" for node in (*first.nodes, *last.nodes)) == 400
    assert {array.name for array in last.inputs} == {"product 0", "kept 0"}
