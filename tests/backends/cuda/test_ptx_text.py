"""Kernels of tiny functions as texts for people, one of each sort; `--update-golden` rewrites them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from condyle.backends.cuda import time_loop
from condyle.backends.cuda.launches import Part, Product, grouped, over_rows, straight
from condyle.backends.cuda.target import TARGET
from condyle.ir import segments
from condyle.ir.loops import COUNT, Give, Take, TimeLoop
from condyle.ir.program import Array, Output, Program
from tests.backends.texts import Golden


def small(name: str = "f") -> Program:
    """y = (x0 u, 1 / x1, 0), z = sin x0, done = x1 - 0.1."""
    nodes = (
        *(("input", 0, 0), ("input", 0, 1), ("input", 1, 0), ("const", 0.1)),
        *(("mul", 0, 2), ("rcp", 1), ("sin", 0), ("sub", 1, 3)),
    )
    inputs = Array("x", (2,)), Array("u", ())
    outputs = (Output(0, 0, 4), Output(0, 1, 5), Output(1, 0, 6), Output(2, 0, 7))
    return Program(name, inputs, (Array("y", (3,)), Array("z", ()), Array("done", ())), nodes, outputs)


def plain() -> Program:
    """The same without sines."""
    code = small()
    nodes = (*code.nodes[:6], ("neg", 0), code.nodes[7])
    return replace(code, nodes=nodes)


def text(part: Part) -> str:
    (one,) = part.texts
    about = (
        f"{one.name}: pool {one.pool}, states {one.states}, {one.order}, spilled {one.spilled}, numbers {part.numbers}"
    )
    return f"// {about}\n{one.ptx}"


@pytest.mark.parametrize("bits", [64, 32])
def test_a_thread_a_state(golden: Golden, bits: int) -> None:
    golden(f"ptx_thread_{bits}.txt", text(straight(small() if bits == 64 else plain(), bits)))


def test_a_thread_a_state_in_tiles(golden: Golden) -> None:
    golden("ptx_tiles.txt", text(straight(plain(), 32, replace(TARGET, whole_rows=False))))


def test_rows_of_problems(golden: Golden) -> None:
    golden("ptx_rows.txt", text(over_rows(plain(), 64)))


def test_a_group_of_lanes(golden: Golden) -> None:
    golden("ptx_group.txt", text(grouped(plain(), 4, 64)))


@pytest.mark.parametrize("until", [-1, 2])
def test_a_loop_over_time(golden: Golden, until: int) -> None:
    """Carried and constant inputs, or with rows; a sum, rows, last values; backwards where it has no other end."""
    code = plain()
    arrays = (Array("x_next", (2,)), *code.arrays[1:])
    code = replace(code, arrays=arrays)
    gives = (Give(0, 2), Give(1, 0, True), Give(COUNT)) if until >= 0 else (Give(0), Give(1, 1), Give(2, 0, True))
    loop = TimeLoop(9, (Take(0), Take(every=int(until < 0))), gives, until < 0, until)
    texts = time_loop.texts(code, time_loop.Kind.from_loop(loop), 32)
    parts = time_loop.parts("roll", code, loop, 32, texts)
    assert [array.shape for array in (*parts.inputs, *parts.outputs)] == (
        [(2,), (), (5, 2), (), ()] if until >= 0 else [(2,), (9,), (2,), (9,), ()]
    )
    golden(f"ptx_loop_{'until' if until >= 0 else 'backwards'}.txt", text(parts.launches[0]))


def test_minus_a_product(golden: Golden) -> None:
    kept = np.tri(6, 6, dtype=bool)
    product = Product(kept, 2, 64, replace(TARGET, pool=1024, values64=30))
    golden("ptx_product.txt", f"// pool {product.pool}, rows {product.rows}\n{product.text()}")


@pytest.mark.parametrize("constants", [False, True])
def test_a_product_of_matrices(golden: Golden, constants: bool) -> None:
    product = segments.Product(
        segments.View("a", 2, 5, 1), segments.View("b", 1, 3, 1), "y", ((0, 1),) * 3, ((0, 1),) * 5, constants
    )
    ptx = time_loop.emit_matrices(product, 4, constants, 64 if constants else 32)
    golden(f"ptx_matrices_{'constants' if constants else 'inputs'}.txt", ptx)
