"""Functions of arrays with large products, traced to code, and what NumPy answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from condyle.derivatives.code import code_of
from condyle.derivatives.products import ProductGraph
from condyle.ir.program import Array, Program
from condyle.ir.segments import Segmented
from condyle.passes import pipeline
from condyle.scalar import sin
from tests.dense import matmul

STATES = 11


@dataclass(frozen=True)
class Case:
    """Code, inputs of some states, and what NumPy answers."""

    code: Segmented
    inputs: list[np.ndarray]
    expected: list[np.ndarray]


def traced(
    f: Callable[..., object], inputs: dict[str, tuple[int, ...]], least: int = 256, name: str = "f"
) -> Program | Segmented:
    """A function of arrays as code; its answers are y0, y1 ..."""
    code = recorded(f, inputs, least, name)
    if isinstance(code, Segmented):
        return code.rewritten(lambda program: pipeline.apply(program, pipeline.CODE))
    return pipeline.apply(code, pipeline.CODE)


def recorded(
    f: Callable[..., object], inputs: dict[str, tuple[int, ...]], least: int = 256, name: str = "f"
) -> Program | Segmented:
    """The same, not contracted."""
    graph = ProductGraph([Array(key, shape) for key, shape in inputs.items()], least)
    answers = f(*graph.symbols().values())
    values = [np.asarray(y, dtype=object) for y in (answers if isinstance(answers, tuple) else (answers,))]
    return code_of(graph, name, [Array(f"y{k}", y.shape) for k, y in enumerate(values)], values)


def case_of(f: Callable[..., object], inputs: dict[str, tuple[int, ...]], least: int = 256) -> Case:
    code = traced(f, inputs, least)
    assert isinstance(code, Segmented)
    rng = np.random.default_rng(3)
    given = [rng.normal(size=(STATES, *shape)) / shape[-1] ** 0.5 for shape in inputs.values()]
    rows = [f(*(x[k] for x in given)) for k in range(STATES)]
    answers = [row if isinstance(row, tuple) else (row,) for row in rows]
    expected = [np.stack([np.asarray(row[k], np.float64) for row in answers]) for k in range(len(answers[0]))]
    return Case(code, [x.reshape(STATES, -1) for x in given], expected)


def soft(x: np.ndarray) -> np.ndarray:
    """An activation of operations that symbols have."""
    return x / (1.0 + x * x)


def network(x: np.ndarray) -> np.ndarray:
    """24-64-64-1, its weights constant."""
    rng = np.random.default_rng(1)
    for m, k in ((64, 24), (64, 64), (1, 64)):
        x = matmul(rng.normal(size=(m, k)) / k**0.5, x) + rng.normal(size=m)
        x = soft(x) if m > 1 else x
    return x


def network_of_inputs(x: np.ndarray, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """24-40-3 with weights in one long vector, as a row times a matrix; the hidden layer is answered too."""
    w, b, u = theta[:960].reshape(24, 40), theta[960:1000], theta[1000:1120].reshape(3, 40)
    hidden = soft(matmul(x, w) + b)
    return matmul(u, hidden), hidden


def chain(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    return matmul(matmul(a, b), c)


def riccati(a: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A' P A with sums between, each used later: transposes, what is kept, a product with itself."""
    sum_of = p + np.transpose(p)
    left = matmul(np.transpose(a), sum_of)
    return matmul(left, a) + sum_of, matmul(left, left) * 2.0


def with_zeros(a: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sparse numbers on both sides, and sines of what a product answers and of an input that others read."""
    numbers = np.random.default_rng(5).normal(size=(24, 24)) / 5.0
    product = matmul(matmul(a, np.triu(numbers)), np.triu(numbers, 3))
    turned = np.array([[sine(product[i, i]) + sine(q[i])] for i in range(24)])
    return product, matmul(product, turned), q * 2.0


def numbers_behind(a: np.ndarray, q: np.ndarray) -> np.ndarray:
    """A Program of many slots before products, and numbers among the answers of the last one."""
    parts = [a / (1.0 + k + a * a) for k in range(6)]  # all are needed until their sum is known
    total = sum(part.sum() for part in parts)
    turned = matmul(sum(part * (total + k) for k, part in enumerate(parts)), np.transpose(a)) * q
    found = np.array(turned, object)
    found[0, 0], found[3, 5] = 1.0, -2.5
    return found


def sine(x: object) -> object:
    return sin(x)  # type: ignore[arg-type]


CASES: dict[str, tuple[Callable[..., object], dict[str, tuple[int, ...]]]] = {
    "network": (network, {"x": (24,)}),
    "network of inputs": (network_of_inputs, {"x": (24,), "theta": (1120,)}),
    "chain of 60 x 60": (chain, {"a": (60, 60), "b": (60, 60), "c": (60, 60)}),
    "thin and wide": (chain, {"a": (7, 60), "b": (60, 41), "c": (41, 2)}),
    "riccati": (riccati, {"a": (17, 17), "p": (17, 17)}),
    "numbers among answers": (numbers_behind, {"a": (12, 12), "q": (12,)}),
    "zeros": (with_zeros, {"a": (24, 24), "q": (24,)}),
}
