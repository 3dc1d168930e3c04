"""Large products are loops: a network and chains of products agree on every target with NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.backends.c.build import build as build_c
from condyle.backends.common.facts import Facts
from condyle.backends.cpu.build import build, load, object_code, supported
from condyle.backends.cpu.loops import COPY, PRODUCT, WORDS, assemble_segments
from condyle.backends.cuda.time_loop import segmented
from condyle.errors import UnsupportedError
from condyle.ir.interp import run_segments
from condyle.ir.segments import Segmented
from condyle.runtime import machine, native
from condyle.runtime.native import Kernel
from condyle.runtime.packed import Packed, full, pack_rows, sparse
from tests.backends.cuda.simulate import simulate
from tests.dense import matmul
from tests.processor import slow
from tests.products import CASES, STATES, Case, case_of, traced

TOLERANCE = {"float64": 1e-13, "float32": 5e-5}


@pytest.fixture(scope="module", params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return case_of(*CASES[request.param])


def answers(kernel: Kernel, code: Segmented, inputs: list[np.ndarray], threads: int = 1) -> list[np.ndarray]:
    inputs = [np.ascontiguousarray(x, kernel.dtype) for x in inputs]
    outputs = [np.full((len(inputs[0]), array.size), np.nan, kernel.dtype) for array in code.arrays]
    kernel(len(inputs[0]), inputs, outputs, threads)
    return outputs


def agree(found: list[np.ndarray], expected: list[np.ndarray], tolerance: float) -> None:
    for x, y in zip(found, expected, strict=True):
        assert np.abs(x.reshape(y.shape) - y).max() <= tolerance * np.abs(y).max()


def test_the_meaning(case: Case) -> None:
    agree(run_segments(case.code, case.inputs), case.expected, TOLERANCE["float64"])


@pytest.mark.skipif(not supported(), reason="this processor or installation runs no machine code of ours")
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_machine_code(case: Case, dtype: str) -> None:
    for isa in supported():
        agree(answers(build(case.code, dtype, isa), case.code, case.inputs), case.expected, TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", ["float64", slow("float32")])
def test_c(case: Case, dtype: str) -> None:
    agree(answers(build_c(case.code, Facts(1, 1), dtype), case.code, case.inputs), case.expected, TOLERANCE[dtype])


PTX = [pytest.param(name, marks=pytest.mark.slow) if "60" in name or "numbers" in name else name for name in CASES]


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("name", PTX)
def test_ptx(name: str, dtype: str) -> None:
    case, n = case_of(*CASES[name]), 3
    parts = segmented(case.code, 64 if dtype == "float64" else 32)
    agree(simulate(parts, [x[:n] for x in case.inputs]), [y[:n] for y in case.expected], TOLERANCE[dtype])


@pytest.mark.skipif(not supported(), reason="this processor or installation runs no machine code of ours")
def test_place_in_the_batch_and_threads_change_no_bit(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "PIECE_NS", 0.001)
    kernel = build(case.code)
    whole = answers(kernel, case.code, case.inputs)
    assert all((a == b).all() for a, b in zip(whole, answers(kernel, case.code, case.inputs, 3), strict=True))
    for start, end in ((1, 2), (3, 11), (0, 7)):
        part = answers(kernel, case.code, [x[start:end] for x in case.inputs])
        assert all((a[start:end] == b).all() for a, b in zip(whole, part, strict=True))


@pytest.mark.skipif(not supported(), reason="this processor or installation runs no machine code of ours")
def test_packed_arrays_hold_the_same() -> None:
    """One answer of which half is kept, in tiles."""
    lower = np.tril(np.ones((20, 20)))
    case = case_of(lambda a: matmul(np.tril(a), lower), {"a": (20, 20)})
    isa = supported()[0]
    lanes = isa.lanes(64)
    kept = sparse(lower != 0, False, lanes)
    kernel = build(case.code, isa=isa, layouts=((full((20, 20), lanes),), (kept,)))
    plain = answers(kernel, case.code, case.inputs)[0].reshape(STATES, 20, 20)
    assert kernel.packed is not None
    assert not plain[:, lower == 0].any()
    agree([plain], case.expected, 1e-13)
    given = pack_rows(case.inputs[0], full((20, 20), lanes), (STATES,))
    blocks = np.full((-(-STATES // lanes), 210, lanes), np.nan)
    kernel.packed.run(STATES, [given.blocks], [blocks], 1)
    assert np.array_equal(Packed(blocks, kept, (STATES,)).dense(), plain)


@pytest.mark.smoke
@pytest.mark.skipif(not supported(), reason="this processor or installation runs no machine code of ours")
def test_what_leads_out_of_its_tables_is_refused() -> None:
    """Every word of the copies and products, and every number of the blocks."""
    code = case_of(*CASES["network"]).code
    isa = supported()[0]
    made = object_code(code, assemble_segments(code, isa, 64), isa.name, 64)
    load(made)
    numbers, slots = np.frombuffer(made.numbers, np.int64), np.frombuffer(made.slots, np.uint32)

    def refused(numbers: np.ndarray, slots: np.ndarray) -> None:
        with pytest.raises(ValueError, match="do not fit"):
            machine.plan(made.isa, 64, made.text, made.constants, slots.tolist(), made.values, numbers.tolist())

    first = len(numbers) - int(numbers[5])
    for k in range(first, len(numbers)):
        for value in (-1, 1 << 40):
            bad = numbers.copy()
            bad[k] = value
            refused(bad, slots)
    words = numbers[first:]
    at, products = WORDS, 0
    while at < len(words):
        if words[at] == COPY:
            at += 3
            continue
        assert words[at] == PRODUCT
        products += 1
        for k in range(3):
            bad = slots.copy()
            bad[words[at + 12] + k] = 1 << 30
            refused(numbers, bad)
        at += 14
    assert products == 2


def test_numbers_that_are_not_finite_in_a_precision() -> None:
    code = traced(lambda x: matmul(np.full((20, 20), 1e300), x), {"x": (20,)})
    assert isinstance(code, Segmented)
    with pytest.raises(UnsupportedError, match="finite"):
        segmented(code, 32)
    with pytest.raises(UnsupportedError, match="cannot stand"):
        build_c(code, Facts(1, 1), "float32")
