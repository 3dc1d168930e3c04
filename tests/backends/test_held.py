"""Inputs that are held: one row for all states, or a row for each, answers alike to the bit on every target."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from condyle.backends.c.build import build as build_c
from condyle.backends.c.export import export_c
from condyle.backends.common.facts import Facts, Vectors
from condyle.backends.cpu.build import build, supported
from condyle.backends.cpu.loops import BESIDE
from condyle.ir.interp import run_segments
from condyle.ir.segments import Segmented
from condyle.runtime import native
from condyle.runtime.native import Kernel
from condyle.runtime.packed import Packed, full, pack_rows
from condyle.runtime.toolchain import find_compiler
from tests.dense import matmul
from tests.products import soft, traced
from tests.programs import call

N = 29
HELD = frozenset(("m", "b", "u", "c"))


def network(x: np.ndarray, w: np.ndarray, b: np.ndarray, u: np.ndarray, c: np.ndarray) -> np.ndarray:
    """14-17-17-1: w is read as it is and transposed, u by a product of one line; b by Programs, c by both."""
    hidden = soft(matmul(w[:, :14], x) + b)
    hidden = soft(matmul(hidden, w) + np.reshape(c, -1)[:17])
    return matmul(u, matmul(c, hidden))


def matrices(x: np.ndarray, w: np.ndarray, b: np.ndarray, u: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Two, three and four columns on the right, few lines on the left, and c on both sides."""
    pairs = np.stack([x[:8], x[6:]], axis=1)
    first = matmul(w[:, :8], pairs) * b[:, None]
    second = matmul(c, np.concatenate([first, first[:, :1] * x[0]], axis=1))
    return np.concatenate([matmul(matmul(c, c)[:3], second), matmul(u[:, :5], matmul(w[:5], first))[:, :1]], axis=None)


SHAPES = {"x": (14,), "m": (17, 17), "b": (17,), "u": (2, 17), "c": (17, 17)}
FUNCTIONS: dict[str, Callable[..., np.ndarray]] = {"network": network, "matrices": matrices}


@pytest.fixture(scope="module", params=FUNCTIONS)
def code(request: pytest.FixtureRequest) -> Segmented:
    made = traced(FUNCTIONS[request.param], SHAPES, least=30)
    assert isinstance(made, Segmented)
    return replace(made, held=HELD)


def rows(dtype: str = "float64") -> list[np.ndarray]:
    """Of x for each state, of the others one."""
    rng = np.random.default_rng(4)
    return [
        np.asarray(rng.normal(size=(N if name == "x" else 1, int(np.prod(shape)))) / shape[-1] ** 0.5, dtype)
        for name, shape in SHAPES.items()
    ]


def answer(kernel: Kernel, code: Segmented, inputs: list[np.ndarray], n: int, threads: int = 1) -> np.ndarray:
    out = np.full((n, code.arrays[0].size), np.nan, kernel.dtype)
    kernel(n, inputs, [out], threads)
    return out


def spread(inputs: list[np.ndarray]) -> list[np.ndarray]:
    """A row for each state."""
    return [np.repeat(x, N // len(x), axis=0) for x in inputs]


def expected(code: Segmented, inputs: list[np.ndarray]) -> np.ndarray:
    f = network if len(code.arrays[0].shape) == 1 and code.arrays[0].shape[0] == 2 else matrices
    parts = [x.reshape(len(x), *shape) for x, shape in zip(inputs, SHAPES.values(), strict=True)]
    return np.stack([f(parts[0][k], *(x[0] for x in parts[1:])) for k in range(N)])


def test_the_meaning(code: Segmented) -> None:
    inputs = rows()
    found = run_segments(code, inputs)[0]
    assert np.abs(found - expected(code, inputs)).max() < 1e-13
    assert np.abs(found - run_segments(code, spread(inputs))[0]).max() < 1e-13


@pytest.mark.skipif(not supported(), reason="this processor or installation runs no machine code of ours")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_machine_code(code: Segmented, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some given as one row and others not, any number of states, threads: no bit differs."""
    inputs, tolerance = rows(dtype), 1e-13 if dtype == "float64" else 1e-5
    monkeypatch.setattr(native, "PIECE_NS", 0.001)
    for isa in supported():
        kernel = build(code, dtype, isa)
        whole = answer(kernel, code, inputs, N)
        assert np.abs(whole - expected(code, inputs)).max() < tolerance * np.abs(whole).max()
        every = spread(inputs)
        assert np.array_equal(answer(kernel, code, every, N), whole)
        assert np.array_equal(answer(kernel, code, inputs, N, threads=3), whole)
        for k in range(1, len(inputs)):
            mixed = [*inputs[:k], every[k], *inputs[k + 1 :]]
            assert np.array_equal(answer(kernel, code, mixed, N), whole)
        lanes = isa.lanes(64 if dtype == "float64" else 32)
        for n in {1, 2, lanes, lanes + 1, BESIDE * lanes - 1, BESIDE * lanes + 1} & set(range(N)):
            for first in (0, N - n):
                part = [inputs[0][first : first + n], *inputs[1:]]
                assert np.array_equal(answer(kernel, code, part, n), whole[first : first + n])


@pytest.mark.skipif(not supported(), reason="this processor or installation runs no machine code of ours")
def test_packed_arrays_beside_rows(code: Segmented) -> None:
    """Every input packed; all but x as rows that serve all states; one of them packed too."""
    inputs = rows()
    isa = supported()[0]
    lanes = isa.lanes(64)
    layouts = tuple(full(a.shape, lanes) for a in code.inputs), tuple(full(a.shape, lanes) for a in code.arrays)
    kernel = build(code, isa=isa, layouts=layouts)
    assert kernel.packed is not None
    whole = answer(kernel, code, inputs, N)
    blocks = [pack_rows(x, one, (N,)).blocks for x, one in zip(spread(inputs), layouts[0], strict=True)]
    for given in (blocks, [blocks[0], *inputs[1:]], [*blocks[:2], *inputs[2:]]):
        out = np.full((-(-N // lanes), code.arrays[0].size, lanes), np.nan)
        kernel.packed.run(N, given, [out], 1)
        found = Packed(out, layouts[1][0], (N,)).dense()
        assert np.array_equal(found.reshape(whole.shape), whole)
    with pytest.raises(ValueError, match="expected shape"):
        kernel.packed.run(N, [*blocks[:-1], inputs[-1][:, :-1].copy()], [out], 1)


@pytest.mark.parametrize("dtype", ["float64", pytest.param("float32", marks=pytest.mark.slow)])
def test_c(code: Segmented, dtype: str) -> None:
    inputs = rows(dtype)
    kernel = build_c(code, Facts(1, 1), dtype)
    whole = answer(kernel, code, inputs, N)
    tolerance = 1e-13 if dtype == "float64" else 1e-5
    assert np.abs(whole - expected(code, inputs)).max() < tolerance * np.abs(whole).max()
    assert np.array_equal(answer(kernel, code, spread(inputs), N), whole)


def test_exported_c_takes_one_row(code: Segmented, tmp_path: Path) -> None:
    inputs = rows()
    vectors = Vectors(tuple(inputs), (expected(code, inputs),), 1e-12)
    export_c([code], Facts(1, 1), tmp_path, {code.name: vectors}, {}, [])
    header = (tmp_path / "robot.h").read_text()
    assert "in  x[n][14]\n" in header
    assert "in  m[17][17]  one for all states\n" in header
    assert "| `m` | in | 17 x 17 |" in (tmp_path / "README.md").read_text()
    compiler = find_compiler().path
    flags = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic"]
    call([compiler, *flags, *sorted(path.name for path in tmp_path.glob("*.c")), "-o", "check", "-lm"], tmp_path)
    assert call(["./check"], tmp_path).count("right") == 1
