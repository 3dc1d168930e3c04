"""The words of a chain in lanes, number by number, by hand: two joints in each of four lanes."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.backends.cpu import chain
from condyle.backends.cpu.chain import CALL, EMIT, GATHER, PICK, SCATTER, SET, SHIFT, SINES, SPLAT, SPREAD
from condyle.backends.cpu.target import AVX2
from condyle.ir.link_parallel import (
    NONE,
    EachJoint,
    Emit,
    LinkParallel,
    Neighbour,
    Once,
    Op,
    Scan,
    Sines,
    Splat,
    Spread,
    Start,
    TreeScanStep,
)
from condyle.ir.program import Array, Output, Program

X = Array("x", (3,))
ALONE = Program("alone", (X,), (X,), (("input", 0, 0),), (Output(0, 0, 0),))
BOTH = Program("both", (Array("base", (3,)), Array("tip", (3,))), (X,), (("input", 0, 0),), (Output(0, 0, 0),))
KERNELS = {"alone": 100, "both": 200}
BESIDE = (0, 20, 0, 0, 0)
HEAD = (6, 2, 23, 23, 2, 1, 2, 7, 12, 7, 0, 3, 1, 3, 3, 1, GATHER, 0, 1, 1, 0, GATHER, 1, 0, 2, 6)
"""io is at 0 (three columns of two joints), f_ext at 6, x at 10 and 13, z at 16 and 18, what is beside it at 20."""
TAIL = (SCATTER, 0, 1, 2)


@pytest.fixture(autouse=True)
def places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chain._Writer, "_kernel", lambda self, stage: KERNELS[stage.name])


def code_of(*ops: Op) -> LinkParallel:
    return LinkParallel(
        "f",
        6,
        4,
        2,
        (("q", 0), ("f_ext", NONE)),
        (("tau", 1),),
        {"table": 2, "io": 3, "f_ext": 2, "x": 3, "z": 2},
        {"x": (1.0, 2.0, 3.0)},
        tuple((float(k), 10.0 + k) for k in range(8)),
        ops,
        partners={"up": ((-1, 0, -2, 1),)},
        base={"q": 1, "tau": 1},
        spans=((0, 2), (2, 1), (3, 2), (5, 1)),
    )


def words_of(*ops: Op) -> tuple[list[int], list[float]]:
    """The words of these operations alone, and the numbers that variables begin with."""
    found = chain.assemble_chain(code_of(*ops), AVX2, 64)
    assert found.words[: len(HEAD)] == HEAD and found.words[-len(TAIL) :] == TAIL and found.work == 27
    return list(found.words[len(HEAD) : -len(TAIL)]), np.frombuffer(found.starts).tolist()


def test_constants_of_links_are_side_by_side() -> None:
    table = np.frombuffer(chain.assemble_chain(code_of(), AVX2, 64).table).reshape(2, 2, 4)
    assert table.tolist() == [[[0, 2, 4, 6], [10, 12, 14, 16]], [[1, 3, 5, 7], [11, 13, 15, 17]]]


def test_values_that_go_in_and_out() -> None:
    found, starts = words_of(
        Splat(1, "x", 2),
        Start("z", (7.0, 8.0)),
        Sines(0, 1, 2),
        Spread("x"),
        Neighbour("x", "z", 1, -1),
        Emit(0, "z", 4),
    )
    assert found == [
        *(SPLAT, 1, 2, 3, 10),
        *(SET, 16, 2, 0),
        *(SINES, 0, 2, 4, 2),
        *(SPREAD, 10, 3),
        *(SHIFT, 11, 16, 2, -1, 2),
        *(EMIT, 0, 4, 2, 16),
    ]
    assert starts == [7.0, 8.0, 2.0, 3.0]


def test_a_variable_changes_halves_with_every_joint() -> None:
    found, _ = words_of(EachJoint(ALONE, True), EachJoint(ALONE, False), Once(ALONE), Spread("x"), Emit(0, "x"))
    assert found == [
        *(CALL, 100, 1, 2, -1, 2, 0, 10, 3, 1, 1, 0, 10, 3, 1, 0),
        *(CALL, 100, 0, 2, 1, 2, 0, 10, 3, 1, 0, 0, 10, 3, 1, 1),
        *(CALL, 100, 0, 1, 1, 2, 0, 10, 3, 1, 0, 0, 10, 3, 1, 1),
        *(SPREAD, 13, 3),
        *(EMIT, 0, 0, 3, 13),
    ]


@pytest.mark.parametrize("from_tip", [True, False])
def test_a_scan_reaches_twice_as_far_with_each_step(from_tip: bool) -> None:
    def step(here: int, by: int, half: int) -> list[int]:
        near = (0, here, 3, 0, 0)
        shift = (SHIFT, here, 20, 3, by if from_tip else -by, 0)
        both = (*near, *BESIDE) if from_tip else (*BESIDE, *near)
        return [*shift, CALL, 200, 0, 1, 1, 3, *both, 0, 10, 3, 1, half]

    found, starts = words_of(Scan(BOTH, "x", from_tip))
    assert found == [*step(10, 1, 1), *step(13, 2, 0)] and starts == [1.0, 2.0, 3.0]
    assert words_of(Scan(BOTH, "x", from_tip, halves=True))[0] == step(10, 1, 1)


@pytest.mark.parametrize(("from_tip", "handed"), [(False, 1), (True, 0)])
def test_a_lane_without_a_partner_meets_the_identity(from_tip: bool, handed: int) -> None:
    """What is handed on along a branch is not handed to the first of another one, here the third lane."""
    found, starts = words_of(TreeScanStep(BOTH, "x", "x", "up", from_tip, handed))
    first = [PICK, 10, 20, 1, 0, -1, 0, -1, 1] if handed else []
    rest = [PICK, 10 + handed, 20 + handed, 3 - handed, handed, -1, 0, 0, 1]
    near = (0, 10, 3, 0, 0)
    both = (*near, *BESIDE) if from_tip else (*BESIDE, *near)
    assert found == [*first, *rest, CALL, 200, 0, 1, 1, 3, *both, 0, 10, 3, 1, 1]
    assert starts == [1.0, 2.0, 3.0]


def test_outputs_beyond_the_first_of_a_value_are_copied() -> None:
    """Entries of io are columns, two joints apart; a value is stored once, and inputs and constants are only copied."""
    stage = Program(
        "stage",
        (Array("io", (3,)), X),
        (X, Array("io", (3,))),
        (("input", 0, 1), ("input", 1, 2), ("const", 0.5), ("mul", 0, 1)),
        (Output(0, 0, 3), Output(0, 1, 3), Output(0, 2, 0), Output(1, 2, 2)),
    )
    writer, first = chain._Writer(code_of(), AVX2, 64), chain.PLACED
    homes, stores, late, places = writer._places(stage)
    assert homes == {0: first, 1: first + 1} and stores == {3: first + 2}
    assert late == [(3, first + 3), (0, first + 4), (2, first + 5)]
    pairs = ((0, 2), (1, 2), (2, 0), (2, 1), (2, 2), (3, 4))
    assert places == {first + k: pair for k, pair in enumerate(pairs)}
    constants = chain.Constants()
    sources = [chain.slot(first + 2), chain.slot(first), chain.constant(constants.number(0.5))]
    assert writer._copies(stage, late, homes | stores, constants) == [
        chain.Instruction(op, 0, chain.NOWHERE, number)
        for source, (_, to) in zip(sources, late, strict=True)
        for op, number in (("load", source), ("store", chain.slot(to)))
    ]
    assert constants.values == [0.5]
