"""Slots hold what they should when it is read."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from condyle.backends.common.chunks import Chunk, Cut, Lowered, lower
from condyle.ir.program import operands
from condyle.operations import MEANING
from tests.backends.c.small import meaning, states, tangle, toy

pytestmark = pytest.mark.smoke


def walk(low: Lowered, inputs: list[np.ndarray]) -> list[np.ndarray]:
    """Runs a lowered Program on numbers, through its slots alone."""
    nodes = low.program.nodes
    w = np.full((low.size, len(inputs[0])), np.nan)
    w[low.zero] = 0.0
    for slot, value in low.constants:
        w[slot] = value
    for base, x in zip(low.bases, inputs, strict=True):
        w[base : base + x.shape[1]] = x.T
    for step in low.steps:
        if isinstance(step, Chunk):
            local: dict[int, np.ndarray] = {}
            for index in step.nodes:
                values = [read(low, w, local, used) for used in operands(nodes[index])]
                local[index] = MEANING[nodes[index][0]](*values)
                if index in low.slots:
                    w[low.slots[index]] = local[index]
        else:
            for angle in step.angles:
                x = w[low.slots[angle.angle]].copy()
                for index, f in ((angle.sine, np.sin), (angle.cosine, np.cos)):
                    if index is not None and index in low.slots:
                        w[low.slots[index]] = f(x)
    return [w[list(table)].T if table else np.zeros((len(inputs[0]), 0)) for table in low.tables]


def read(low: Lowered, w: np.ndarray, local: dict[int, np.ndarray], index: int) -> np.ndarray:
    node = low.program.nodes[index]
    if node[0] == "const":
        return np.asarray(node[1])
    return local[index] if index in local else w[low.slots[index]]


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), longest=st.integers(2, 90))
def test_slots_survive_any_cut(seed: int, longest: int) -> None:
    program = tangle(seed)
    cut = Cut(shortest=longest // 2, longest=longest)
    inputs = states(program, 3)
    for got, want in zip(walk(lower(program, cut), inputs), meaning(program, inputs), strict=True):
        np.testing.assert_array_equal(got, want)


def test_toy_through_slots() -> None:
    inputs = states(toy(), 4)
    for got, want in zip(walk(lower(toy()), inputs), meaning(toy(), inputs), strict=True):
        np.testing.assert_array_equal(got, want)


def test_symmetric_entries_share_a_slot_and_zeros_the_zero_slot() -> None:
    low = lower(toy())
    table = np.array(low.tables[0]).reshape(4, 4)
    assert (table == table.T).all()
    assert table[0, 2] == low.zero


def test_slots_are_given_out_again() -> None:
    program = tangle(1, operations=3000)
    low = lower(program, Cut(shortest=20, longest=40))
    assert low.size < 600
