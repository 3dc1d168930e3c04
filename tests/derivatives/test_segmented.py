"""Derivatives of segments: against differences, against the straight form, jvp and vjp adjoint, nothing in vain."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.backends.cpu.build import build, supported
from condyle.derivatives.segmented import jvp, straight, vjp
from condyle.derivatives.summed import summed, vjp_summed
from condyle.ir import interp
from condyle.ir.interp_segments import run_segments
from condyle.ir.program import Program
from condyle.ir.segments import Segmented
from condyle.passes import pipeline
from condyle.scalar import sin
from tests.dense import matmul
from tests.products import chain, network_of_inputs, recorded, riccati, traced

N, LEAST = 5, 64
WRITTEN_OUT = 1 << 62


def signed(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Zeros in a triangle, numbers on both sides, minus, a part of a result, and a product that is used twice."""
    numbers = np.random.default_rng(5).normal(size=(12, 12)) / 4.0
    first = matmul(np.triu(a), numbers)
    second = matmul(first[:8], np.array([[sin(x) for x in row] for row in b]))  # type: ignore[arg-type]
    return matmul(np.transpose(second), second) - matmul(first, np.transpose(first))[:7, :7]


CASES = {
    "network": (network_of_inputs, {"x": (24,), "theta": (1120,)}),
    "riccati": (riccati, {"a": (9, 9), "p": (9, 9)}),
    "thin and wide": (chain, {"a": (3, 20), "b": (20, 9), "c": (9, 2)}),
    "signed": (signed, {"a": (12, 12), "b": (12, 7)}),
}


@pytest.fixture(scope="module", params=CASES)
def code(request: pytest.FixtureRequest) -> Segmented:
    made = recorded(*CASES[request.param], least=LEAST)
    assert isinstance(made, Segmented)
    return made


def drawn(code: Segmented | Program, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(N, *array.shape)) / array.shape[-1] ** 0.5 for array in code.inputs]


def run(code: Segmented | Program, inputs: list[np.ndarray]) -> list[np.ndarray]:
    if isinstance(code, Segmented):
        return run_segments(code, inputs)
    return interp.run(code, [x.reshape(N, -1) for x in inputs])


def agree(found: list[np.ndarray], expected: list[np.ndarray], tolerance: float) -> None:
    for x, y in zip(found, expected, strict=True):
        assert np.abs(x.reshape(y.shape) - y).max() <= tolerance * max(np.abs(y).max(), 1.0)


def names(code: Segmented) -> list[str]:
    return [array.name for array in code.inputs]


def forward(code: Segmented, least: int = LEAST) -> Segmented | Program:
    return jvp(code, {name: f"d{name}" for name in names(code)}, "jvp", least)


def backward(code: Segmented, least: int = LEAST) -> Segmented | Program:
    return vjp(code, names(code), [f"{array.name}_bar" for array in code.arrays], "vjp", least)


def test_the_straight_form_is_the_same_function(code: Segmented) -> None:
    agree(run(straight(code), drawn(code)), run(code, drawn(code)), 1e-13)


def test_tangents_are_differences(code: Segmented) -> None:
    made = forward(code)
    assert isinstance(made, Segmented)
    given = drawn(made)
    at, along = given[: len(code.inputs)], given[len(code.inputs) :]
    h = 1e-6
    ahead, behind = (run(code, [x + s * h * dx for x, dx in zip(at, along, strict=True)]) for s in (1, -1))
    agree(run(made, given), [(x - y) / (2 * h) for x, y in zip(ahead, behind, strict=True)], 1e-8)


def test_both_agree_with_the_straight_form(code: Segmented) -> None:
    for made, other in ((forward(code), forward(code, WRITTEN_OUT)), (backward(code), backward(code, WRITTEN_OUT))):
        assert isinstance(made, Segmented)
        assert isinstance(other, Program)
        given = drawn(made)
        agree(run(made, given), run(other, given), 1e-12)


def test_forward_and_backward_are_adjoint(code: Segmented) -> None:
    up, down = forward(code), backward(code)
    at = drawn(code)
    along, bars = drawn(code, 1), [np.random.default_rng(2).normal(size=y.shape) for y in run(code, at)]
    tangents, cotangents = run(up, [*at, *along]), run(down, [*at, *bars])
    left = sum((x.reshape(N, -1) * y.reshape(N, -1)).sum(1) for x, y in zip(bars, tangents, strict=True))
    right = sum((x.reshape(N, -1) * y.reshape(N, -1)).sum(1) for x, y in zip(along, cotangents, strict=True))
    assert np.allclose(left, right, rtol=1e-11, atol=1e-11)


def test_second_derivatives_are_symmetric(code: Segmented) -> None:
    """The tangent of the cotangents, as a form of two directions."""
    down = backward(code)
    assert isinstance(down, Segmented)
    second = jvp(down, {name: f"d{name}" for name in names(code)}, "second", LEAST)
    given = drawn(down)
    one, other = drawn(code, 3), drawn(code, 4)

    def form(u: list[np.ndarray], v: list[np.ndarray]) -> np.ndarray:
        found = run(second, [*given, *u])
        return np.sum([(x.reshape(N, -1) * y.reshape(N, -1)).sum(1) for x, y in zip(found, v, strict=True)], axis=0)

    assert np.allclose(form(one, other), form(other, one), rtol=1e-10, atol=1e-10)


@pytest.mark.skipif(not supported(), reason="this processor or installation runs no machine code of ours")
def test_machine_code(code: Segmented) -> None:
    for made in (forward(code), backward(code)):
        assert isinstance(made, Segmented)
        given = drawn(made)
        kernel = build(made.rewritten(lambda program: pipeline.apply(program, pipeline.CODE)))
        out = [np.full((N, array.size), np.nan) for array in made.arrays]
        kernel(N, [np.ascontiguousarray(x.reshape(N, -1)) for x in given], out, 1)
        agree(out, run(made, given), 1e-13)


def layers(x: np.ndarray, w: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Two layers with tanh."""
    for matrix in (w, u):
        x = np.array([y.function("tanh", [y]) for y in matmul(matrix, x)], dtype=object)
    return matmul(np.ones(20), x)


LAYERS = {"x": (14,), "w": (20, 14), "u": (20, 20)}


def test_nothing_is_computed_twice_or_in_vain() -> None:
    code = recorded(layers, LAYERS, least=LEAST)
    assert isinstance(code, Segmented)
    assert code.held == {"w", "u"}

    def made(by: list[str]) -> tuple[list[tuple[int, int]], int]:
        derived = vjp(code, by, ["y0_bar"], "vjp", LEAST)
        assert isinstance(derived, Segmented)
        tanh = sum(node[0] == "tanh" for program in derived.programs for node in program.nodes)
        return sorted(product.shape for product in derived.products), tanh

    assert made(["x"]) == ([(14, 1), (20, 1), (20, 1), (20, 1)], 40)
    assert made(["u"]) == ([(20, 1), (20, 1), (20, 20)], 40)
    assert made(["w"])[0] in ([(20, 1), (20, 1), (20, 1), (n, 34 - n)] for n in (14, 20))


def test_structural_zeros_stay() -> None:
    """Of a triangle times a triangle; where nothing depends on an input, no product is left."""
    code = recorded(lambda a, b: matmul(np.triu(a), np.triu(b)), {"a": (12, 12), "b": (12, 12)}, least=LEAST)
    assert isinstance(code, Segmented)
    (product,) = code.products
    made = jvp(code, {"a": "da", "b": "db"}, "jvp", LEAST)
    assert isinstance(made, Segmented)
    assert [one.terms() for one in made.products] == [product.terms()] * 2
    found = run(made, drawn(made))[0].reshape(N, 12, 12)
    assert not found[:, np.tril(np.ones((12, 12)), -1) > 0].any()
    one = jvp(code, {"a": "da"}, "jvp", LEAST)
    assert isinstance(one, Segmented)
    assert len(list(one.products)) == 1


def test_contracted_code_is_refused() -> None:
    code = traced(*CASES["network"], least=LEAST)
    assert isinstance(code, Segmented)
    with pytest.raises(AssertionError, match="contracted"):
        vjp(code, ["x"], ["y0_bar", "y1_bar"], "vjp")


def test_sums_over_all_states_are_sums_of_cotangents(code: Segmented) -> None:
    """Those of one input are given as factors, those of the others for each state."""
    bars, every = [f"{array.name}_bar" for array in code.arrays], names(code)
    whole = backward(code)
    given = drawn(whole)
    expected = dict(zip(every, run(whole, given), strict=True))
    for one in every:
        made, factors = vjp_summed(code, every, [one], bars, "vjp", LEAST)
        found = dict(zip((array.name for array in made.arrays), run(made, given), strict=True))
        shapes = {array.name: array.shape for array in made.arrays}
        shaped = {name: x.reshape(N, *shapes[name]) for name, x in found.items()}
        size = next(array.size for array in code.inputs if array.name == one)
        agree([summed(one, size, factors, shaped)], [expected[one].reshape(N, -1).sum(0)], 1e-12)
        others = [name for name in every if name != one]
        agree([found[f"{name}_bar"] for name in others], [expected[name].reshape(N, -1) for name in others], 1e-12)
        if one == "theta":
            assert sum(array.size for array in made.arrays if array.name != "x_bar") < 300
