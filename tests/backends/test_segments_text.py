"""Products and iterations between Programs: as C for people, and as the numbers of machine code's driver."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.backends.c.source import source
from condyle.backends.common.facts import Facts
from condyle.backends.cpu.assemble import AGAIN, LOOPS
from condyle.backends.cpu.build import build, supported
from condyle.backends.cpu.loops import COPY, PRODUCT, WORDS, assemble_segments
from condyle.backends.cpu.target import AVX512
from condyle.ir.interp import run_segments
from condyle.ir.program import Array, Output, Program
from condyle.ir.segments import Iteration, Segmented
from condyle.operations import Node
from tests.backends.texts import Golden, without_support
from tests.dense import matmul
from tests.products import traced


def products() -> Segmented:
    """Numbers with a zero on the right, weights on the right, a square; an answer with a number and an input as one."""

    def f(a: np.ndarray, q: np.ndarray, w: np.ndarray) -> object:
        product = matmul(matmul(a, np.array([[0.5, 0.0], [2.0, 1.5]])), w)
        square = np.array(matmul(product, product) * q, object)
        square[0, 1] = 2.5
        return square, product, q

    code = traced(f, {"a": (2, 2), "q": (2, 2), "w": (2, 2)}, 1)
    assert isinstance(code, Segmented) and code.held == {"w"}
    return code


X, U = Array("x", (2,)), Array("u", ())
START = Program(
    "start", (X, U), (Array("s", (2,)), Array("d", ())),
    (("input", 0, 0), ("input", 0, 1), ("input", 1, 0), ("mul", 0, 2)),
    (Output(0, 0, 1), Output(0, 1, 3), Output(1, 0, 2)),
)  # fmt: skip


def iteration(nodes: tuple[Node, ...], *outputs: Output, until: int = 1) -> Segmented:
    """y, done = s, d; then again and again what the body says."""
    carried = Array("y", (2,)), Array("done", ())
    inputs: tuple[Node, ...] = (("input", 0, 0), ("input", 0, 1), ("input", 1, 0), ("input", 2, 0))
    body = Program("body", (*carried, U), carried, (*inputs, *nodes), outputs)
    return Segmented("g", (X, U), carried, (), (START, Iteration(body, ("s", "d"), 5, until)))


def crossed(until: int = 1) -> Segmented:
    """y = (y1, y0 u), done = y1 - u: entries that are read where others are written."""
    return iteration((("mul", 0, 3), ("sub", 1, 3)), Output(0, 0, 1), Output(0, 1, 4), Output(1, 0, 5), until=until)


@pytest.mark.parametrize("name", ["products", "iteration"])
def test_c(golden: Golden, name: str) -> None:
    code = products() if name == "products" else crossed()
    text = source(code, Facts(1, 1, name="arm"), 64, constants=False, loops=True).main
    golden(f"segments_{name}.c.txt", without_support(text))


def words(code: Segmented) -> tuple[list[tuple[int, ...]], list[int]]:
    """Steps of three numbers, and the words behind the head of loops."""
    made = assemble_segments(code, AVX512, 64)
    _, inputs, outputs, steps, values, loops = made.numbers[:6]
    begin = 6 + 4 * (inputs + outputs)
    triples = [made.numbers[k : k + 3] for k in range(begin, begin + 3 * steps, 3)]
    assert len(made.numbers) == begin + 3 * steps + values + loops
    return triples, list(made.numbers[-loops:][WORDS:])


def test_products_are_words_between_kernels() -> None:
    """One after another in one step; numbers are SAME (2), weights HELD (4), which are on the left."""
    triples, commands = words(products())
    assert triples[0] == (LOOPS, WORDS, 3 * 14) and triples[1][0] >= 0 and len(triples) == 2
    kinds = [commands[k : k + 2] for k in range(0, 42, 14)]
    assert kinds == [[PRODUCT, 2], [PRODUCT, 4], [PRODUCT, 0]]
    made = assemble_segments(products(), AVX512, 64)
    # three tiles of 26 slots, no constants of kernels; input 2, the weights, is read on the left alone
    assert made.numbers[-len(commands) - WORDS :][:WORDS] == (0, 3, 26, 0, 0, 4) and made.numbers[0] == 3 * 26


def test_an_iteration_goes_back_until_its_flag() -> None:
    """The kernel of the start, copies to what is carried, the body, copies of what it wrote, and back to it."""
    triples, commands = words(crossed())
    kinds = [step[0] if step[0] < 0 else 0 for step in triples]
    assert kinds == [0, LOOPS, 0, LOOPS, AGAIN]
    back = triples[-1]
    again, flag, most = commands[back[1] - WORDS :][:3]
    assert (again, most, back[2]) == (2, 5, 3) and triples[again][0] >= 0 and flag >= 0
    copies = [commands[step[1] - WORDS :][: step[2]] for step in triples if step[0] == LOOPS]
    assert [part[::3] for part in copies] == [[COPY] * 4, [COPY] * 2]
    assert [part[2::3] for part in copies] == [[2, 2, 4, 2], [2, 6]]
    triples, commands = words(crossed(until=-1))
    assert commands[triples[-1][1] - WORDS :][:3] == [2, -1, 5]


def unchanged() -> Segmented:
    """y, done = s, d."""
    return iteration((), Output(0, 0, 0), Output(0, 1, 1), Output(1, 0, 2))


def test_a_body_that_changes_nothing_is_no_loop() -> None:
    triples, _ = words(unchanged())
    assert [step[0] if step[0] < 0 else 0 for step in triples] == [0, LOOPS]
    x = np.arange(6.0).reshape(3, 2)
    assert np.array_equal(run_segments(unchanged(), [x, np.ones((3, 1))])[0].reshape(3, 2), x[:, ::-1])


@pytest.mark.skipif(not supported(), reason="this processor or installation runs no machine code of ours")
@pytest.mark.parametrize("code", [crossed(until=-1), unchanged()], ids=["crossed", "unchanged"])
def test_turns_of_an_iteration(code: Segmented) -> None:
    """Each turn reads what the last one wrote, never what it writes itself."""
    x, u = np.array([[1.0, 2.0], [0.5, 0.25], [-3.0, 4.0]]), np.array([[0.5], [0.75], [0.125]])
    found = [np.empty((3, 2)), np.empty((3, 1))]
    build(code)(3, [x, u], found, 1)
    for answer, want in zip(found, run_segments(code, [x, u]), strict=True):
        assert np.array_equal(answer, want.reshape(answer.shape))
