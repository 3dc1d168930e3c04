"""The columns form: the bits of the row form, shared inputs as rows, arrays at any address."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from condyle.backends.cpu.build import assembled, least_lanes, load, supported
from condyle.backends.cpu.columns import MOST_ARRAYS, columns, side_by_side
from condyle.backends.cpu.encode import from_bytes, to_bytes
from condyle.backends.cpu.target import AVX2, AVX512
from condyle.ir.expr import Graph
from condyle.ir.program import Array, Output, Program, input_of, operands
from condyle.operations import LEAVES
from condyle.passes import pipeline
from condyle.passes.dce import dce
from tests.backends.c.small import empty, states, tangle, toy

pytestmark = pytest.mark.skipif(AVX512 not in supported(), reason="this processor has no AVX-512")
ONE, LEAST = 12, 14
"""Constants of `tangle`."""


def plain(seed: int, operations: int = 300) -> Program:
    """A random Program without sines, whose outputs are a value twice, an input, a constant, and a zero."""
    code = tangle(seed, operations)
    other = {"sin": ("min", ONE), "cos": ("max", LEAST)}
    nodes = tuple((other[node[0]][0], node[1], other[node[0]][1]) if node[0] in other else node for node in code.nodes)
    entries = {output.index for output in code.outputs}
    free = [entry for entry in range(30) if entry not in entries]
    more = (code.outputs[0].node, 0, 7, ONE)
    outputs = (*code.outputs, *(Output(0, entry, node) for entry, node in zip(free, more, strict=False)))
    return replace(code, nodes=nodes, outputs=outputs, arrays=(*code.arrays, Array("nothing", (2,))))


def anywhere(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """NaN at an address that no vector begins at, with as much around it."""
    size = int(np.prod(shape))
    return np.full(size + 2 * 64 + 1, np.nan, dtype)[65 : 65 + size].reshape(shape)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_columns_have_the_bits_of_rows(dtype: str) -> None:
    """In whole registers, and in half ones for panels that are as narrow."""
    wide = AVX512.lanes(64 if dtype == "float64" else 32)
    for seed in range(6):
        program, lanes = plain(seed, 300 + 700 * (seed == 5)), wide // (1 + seed % 2)
        n = 3 * lanes
        for shared in ((False, True), (True, False)):
            code = assembled(program, dtype, AVX512, shared=shared, panel=lanes)
            for kept in (code, replace(code, single=None), replace(code, columns=None)):
                assert from_bytes(to_bytes(kept)) == kept
            kernel, inputs = load(code), states(program, n, dtype, seed)
            inputs = [x[:1] if held else x for x, held in zip(inputs, shared, strict=True)]
            exact = empty(program, n, dtype)
            kernel.entry.run(n, inputs, exact, 1)
            panels = []
            for x, held in zip(inputs, shared, strict=True):
                panels.append(anywhere(x.shape if held else (3, x.shape[1], lanes), dtype))
                panels[-1][...] = x if held else x.reshape(3, lanes, -1).swapaxes(1, 2)
            ours = [anywhere((3, x.shape[1], lanes), dtype) for x in exact]
            assert kernel.columns is not None and kernel.columns.lanes == lanes and kernel.single is not None
            single = empty(program, n, dtype)
            kernel.single.run(n, inputs, single, 1)
            assert all(np.array_equal(x, y, equal_nan=True) for x, y in zip(single, exact, strict=True))
            kernel.columns.run(n, panels, ours, 1)
            for answer, right in zip(ours, exact, strict=True):
                assert np.array_equal(answer.swapaxes(1, 2).reshape(n, -1), right, equal_nan=True), (seed, shared)
                around = answer.base
                assert around is not None and np.isnan(around[:65]).all() and np.isnan(around[-64:]).all()


def test_half_a_register_serves_where_it_takes_no_more_of_them() -> None:
    assert [least_lanes("float32", columns) for columns in ((8,), (9,), (15, 7), (40,))] == [8, 16, 16, 16]
    assert [least_lanes("float64", columns) for columns in ((4,), (3, 5), (13,))] == [4, 8, 8]


def test_what_has_no_such_form() -> None:
    """Sines, more arrays than there are registers for, and AVX2; without shared inputs there is no need."""
    program = plain(1)
    assert columns(program, (False, True), AVX512, 64) is not None
    assert columns(toy(), (False, True), AVX512, 64) is None
    assert columns(program, (False, True), AVX2, 64) is None
    for count, is_none in ((MOST_ARRAYS - 2, False), (MOST_ARRAYS - 1, True)):  # and two outputs
        many = tuple(Array(f"x{k}", (6,)) for k in range(count))
        assert (columns(replace(program, inputs=many), (False,) * count, AVX512, 64) is None) is is_none
    assert load(assembled(program, "float64", AVX512)).columns is None
    if AVX2 in supported():  # one state is computed with sums side by side there too
        kernel, inputs, pairs = load(assembled(program, "float64", AVX2, shared=(False, True))), states(program, 9), []
        assert kernel.columns is None and kernel.single is not None
        for entry in (kernel.single, kernel.entry):
            pairs.append(empty(program, 9))
            entry.run(9, inputs, pairs[-1], 1)
        assert all(np.array_equal(x, y, equal_nan=True) for x, y in zip(*pairs, strict=True))


def test_sums_are_made_side_by_side() -> None:
    """Of 30 rows of a product, 24 at a time, the terms of one column of the matrix behind each other; operands come
    first in a random program too."""
    graph = Graph()
    A, x = ([graph.input(k, entry) for entry in range(size)] for k, size in enumerate((150, 5)))
    rows = [sum((A[5 * i + k] * x[k] for k in range(1, 5)), A[5 * i] * x[0]) for i in range(30)]
    ports = (Array("A", (30, 5)), Array("x", (5,))), (Array("y", (30,)),)
    program = pipeline.apply(graph.program("y", *ports, [(0, i, y) for i, y in enumerate(rows)]), pipeline.ALL)
    order = side_by_side(program)
    columns_of = [input_of(program.nodes[operands(program.nodes[k])[1]])[1] for k in order]
    assert columns_of == [k for many in (24, 6) for k in range(5) for _ in range(many)]
    for seed in range(3):
        program = dce(plain(seed))
        order, before = side_by_side(program), {k for k, node in enumerate(program.nodes) if node[0] in LEAVES}
        for k in order:
            assert set(operands(program.nodes[k])) <= before
            before.add(k)
        assert len(before) == len(program)


def test_inputs_that_are_shared_otherwise_are_refused() -> None:
    """A row where the kernel reads a panel would be too short."""
    program, lanes = plain(1), AVX512.lanes(64)
    kernel = load(assembled(program, "float64", AVX512, shared=(False, True)))
    assert kernel.columns is not None and kernel.shared == (False, True)
    found = [np.empty((1, x.size, lanes)) for x in program.arrays]
    for shared in ((True, True), (False, False), (True, False)):
        panels = [
            np.zeros((1, x.size) if held else (1, x.size, lanes))
            for x, held in zip(program.inputs, shared, strict=True)
        ]
        with pytest.raises(RuntimeError, match="failed with status 3"):
            kernel.columns.run(lanes, panels, found, 1)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_entries_that_nobody_reads_are_left_out(dtype: str) -> None:
    """Of an output of 30 entries the first ones, in columns from the second group on: the caller's numbers stay."""
    lanes = AVX512.lanes(64 if dtype == "float64" else 32)
    program, n = plain(3), 3 * lanes
    for first in (lanes, lanes + 1):  # where no group begins nothing is left out
        kernel, inputs = (
            load(assembled(program, dtype, AVX512, shared=(False, True), lower=(first, 0))),
            states(program, n, dtype),
        )
        inputs[1] = inputs[1][:1]
        exact = empty(program, n, dtype)
        kernel.entry.run(n, inputs, exact, 1)
        panels = [np.ascontiguousarray(inputs[0].reshape(3, lanes, -1).swapaxes(1, 2)), inputs[1]]
        ours = [np.full((3, x.shape[1], lanes), 7.0, dtype) for x in exact]
        assert kernel.columns is not None
        kernel.columns.run(n, panels, ours, 1)
        right = exact[0].reshape(3, lanes, -1).swapaxes(1, 2).copy()
        if first == lanes:
            right[1:, :first] = 7.0
        assert np.array_equal(ours[0], right, equal_nan=True)
        assert np.array_equal(ours[1], exact[1].reshape(3, lanes, -1).swapaxes(1, 2))
