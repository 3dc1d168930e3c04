"""Users' functions with large products: values and derivatives by the code that keeps products, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.derivatives import jacobian, jvp
from condyle.ir.segments import Segmented

N = 5
SIZES = (14, 40, 40, 1)


def network(x: Any, w0: Any, b0: Any, w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
    """Two hidden layers."""
    for w, b in ((w0, b0), (w1, b1)):
        x = np.tanh(w @ x + b)
    return (w2 @ x + b2)[0]


def riccati(a: Any, p: Any) -> Any:
    """A' P A with sums between, each used later: transposes, and a product with itself."""
    total = p + p.T
    left = a.T @ total
    return {"next": left @ a + total, "square": 2.0 * (left @ left)}


def thin(a: Any, b: Any, c: Any) -> Any:
    return (a @ b) @ c


def signed(a: Any, b: Any) -> Any:
    """A triangle, numbers on both sides, minus, a part of a result, and a product that is used twice."""
    numbers = np.random.default_rng(5).normal(size=(14, 14)) / 4.0
    first = np.triu(np.ones((14, 14))) * a @ numbers
    second = first[:13] @ np.sin(b)
    return second.T @ second - (first @ first.T)[:9, :9]


LAYERS = {f"{kind}{k}": (n, m) if kind == "w" else n for k, (m, n) in enumerate(pairwise(SIZES)) for kind in "wb"}
CASES: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "network": (network, {"x": SIZES[0], **LAYERS}),
    "riccati": (riccati, {"a": (13, 13), "p": (13, 13)}),
    "thin": (thin, {"a": (3, 40), "b": (40, 13), "c": (13, 2)}),
    "signed": (signed, {"a": (14, 14), "b": (14, 9)}),
}


@pytest.fixture(scope="module", params=CASES)
def case(request: pytest.FixtureRequest) -> tuple[Any, list[np.ndarray]]:
    f, inputs = CASES[request.param]
    return condyle.function(f, inputs=inputs), drawn(inputs, 0)


def drawn(inputs: dict[str, Any], seed: int, n: int = N) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    shapes = [size if isinstance(size, tuple) else (size,) for size in inputs.values()]
    return [rng.normal(size=(n, *shape)) / shape[-1] ** 0.5 for shape in shapes]


def parts(answer: Any) -> list[np.ndarray]:
    return list(answer) if isinstance(answer, tuple) else [answer]


def agree(found: Any, expected: Any, tolerance: float) -> None:
    for x, y in zip(parts(found), parts(expected), strict=True):
        assert np.abs(x - y).max() <= tolerance * max(np.abs(y).max(), 1.0)


def inner(xs: list[np.ndarray], ys: list[np.ndarray]) -> np.ndarray:
    return np.sum([(x * y).reshape(N, -1).sum(1) for x, y in zip(xs, ys, strict=True)], axis=0)


@pytest.mark.parametrize("target", ["cpu", pytest.param("c", marks=pytest.mark.slow)])
def test_values_are_those_of_numpy(case: tuple[Any, list[np.ndarray]], target: str) -> None:
    f, given = case
    made = f.compile(target=target)
    assert "products rolled" in made.explain(N)
    agree(made(*given), f.reference(*given), 1e-12)


def test_tangents_are_differences(case: tuple[Any, list[np.ndarray]]) -> None:
    f, given = case
    along, h = [np.random.default_rng(7).normal(size=x.shape) for x in given], 1e-6
    ahead, behind = (parts(f.reference(*(x + s * h * d for x, d in zip(given, along, strict=True)))) for s in (1, -1))
    found = f.compile().jvp()(*given, *along)
    for x, y, z in zip(parts(found), ahead, behind, strict=True):
        assert np.abs(x - (y - z) / (2 * h)).max() <= 1e-7 * max(np.abs(x).max(), 1.0)


def test_tangents_and_cotangents_are_adjoint(case: tuple[Any, list[np.ndarray]]) -> None:
    f, given = case
    made, rng = f.compile(), np.random.default_rng(8)
    along = [rng.normal(size=x.shape) for x in given]
    tangents = parts(made.jvp()(*given, *along))
    bars = [rng.normal(size=x.shape) for x in tangents]
    cotangents = parts(made.vjp()(*given, *bars))
    assert [x.shape for x in cotangents] == [x.shape for x in given]
    assert np.allclose(inner(tangents, bars), inner(cotangents, along), rtol=1e-10, atol=1e-10)


def test_the_network_is_differentiated_by_its_input() -> None:
    """Its Jacobian is that of its cotangents; its second derivative that of its Jacobian."""
    f = condyle.function(network, inputs=CASES["network"][1])
    x, *weights = drawn(CASES["network"][1], 1)
    made, weights = f.compile(), [w[0] for w in weights]
    slope = made.jacobian(by=("x",))(x, *weights)
    agree(slope, made.vjp()(x, *weights, np.ones(N))[0], 1e-12)
    h = 1e-6
    for k in range(3):
        step = h * np.eye(SIZES[0])[k]
        one, other = (f.reference(x + s * step, *weights) for s in (1, -1))
        assert np.abs(slope[:, k] - (one - other) / (2 * h)).max() < 1e-8


def test_nothing_is_computed_twice_or_in_vain() -> None:
    """Each layer's product once, one product for each cotangent, none for what nobody asks."""
    f = condyle.function(network, inputs=CASES["network"][1])
    dynamics = f.compile()._dynamics
    code = dynamics._compiler.best(jacobian(f.specification, "x")).code
    assert isinstance(code, Segmented)
    assert sorted(one.shape for one in code.products) == [(14, 1), (40, 1), (40, 1), (40, 1)]
    assert sum(node[0] == "tanh" for program in code.programs for node in program.nodes) == 80
    assert {"w0", "w1"} <= code.held


def test_structural_zeros_stay() -> None:
    """Of a triangle times a triangle; where nothing depends on an input, no product is left."""
    upper = np.triu(np.ones((24, 24)))
    f = condyle.function(lambda a, b: (upper * a) @ (upper * b), inputs={"a": (24, 24), "b": (24, 24)})
    best = f.compile()._dynamics._compiler.best
    (product,) = best(f.specification).code.products
    made = best(jvp(f.specification)).code
    assert [one.terms() for one in made.products] == [product.terms()] * 2
    a, b, da, db = (np.random.default_rng(k).normal(size=(N, 24, 24)) for k in range(4))
    found = f.compile().jvp()(a, b, da, db)
    assert not found[:, np.tril(np.ones((24, 24)), -1) > 0].any()
    agree(found, (upper * da) @ (upper * b) + (upper * a) @ (upper * db), 1e-13)
