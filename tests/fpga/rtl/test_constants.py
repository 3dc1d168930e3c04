"""Products with constants as shifts and sums: the same integers as a DSP's, to the last bit."""

from __future__ import annotations

import math

import numpy as np
import pytest

import condyle
from condyle import fpga
from condyle.fpga.rtl.build import build, dsp_at, with_folding
from condyle.fpga.rtl.constants import digits, shifted, steps, widest, with_constants
from condyle.fpga.rtl.datapath import Datapath, Op, Word
from condyle.fpga.rtl.evaluate import evaluate, run
from condyle.fpga.rtl.operators import Arrays
from condyle.fpga.rtl.target import Format, constant_format
from condyle.fpga.rtl.vectors import task_of
from tests.processor import slow

from .conftest import Bench, accelerator

RNG = np.random.default_rng(8)


def test_digits_are_the_constant_and_few() -> None:
    for value in [*range(-600, 0), *range(1, 600), *RNG.integers(-(2**17), 2**17, 500).tolist()]:
        if value:
            found = digits(value)
            assert sum(digit << place for place, digit in found) == value
            assert found[0][1] == 1
            assert len(found) <= bin(abs(value)).count("1") + (2 if value < 0 else 0)
            assert len(found) <= 10


@pytest.mark.parametrize("width", [18, 23, 27])
def test_shifts_equal_a_product_on_every_bit(width: int) -> None:
    first = Format(width, width - 4)
    x = np.concatenate([RNG.integers(-first.limit - 1, first.limit, 500), [0, -1, 1, first.limit, -first.limit - 1]])
    done = 0
    for value in [3, -3, 5, -1, 7, 96, *RNG.integers(-(2**17), 2**17, 60).tolist()]:
        for frac in (first.frac + 17, first.frac, first.frac - 5):  # right shifts of 0, 17, 22
            ops = (
                Op("input", first),
                Op("const", Format(18, 17), value=value),
                Op("mul", Format(width, frac), (0, 1), factor=18),
            )
            word = Word("y", 0)
            path = Datapath("p", ops, ((Word("x", 0), 0),), (("out", ((word, 2),)),))
            made = shifted(path, 1, "shift")
            assert widest(made) <= 32
            if all(op.kind != "mul" for op in made.ops):
                done += 1
                before, after = Arrays(), Arrays()
                left, right = (
                    run(ints, one, "out", {Word("x", 0): x}) for ints, one in ((before, path), (after, made))
                )
                assert (left[word] == right[word]).all(), (value, frac)
                assert (before.over == after.over).all(), (value, frac)
    assert done > 100


def test_a_chain_whose_sums_would_be_too_wide_is_not_made() -> None:
    assert steps(0b10000000000000001, 27, 0) is None
    assert steps(0b10000000000000001, 27, 16) is not None


@pytest.mark.slow  # it simulates
@pytest.mark.parametrize("word", ["27x18", slow("27")])
def test_an_accelerator_computes_the_same_without_those_dsps(word: str) -> None:
    robot = condyle.load("iiwa14")
    plan = accelerator(robot, word=word).plan
    states = fpga.consistent(robot, fpga.sampled(robot, 50, 5))
    dsp = dsp_at(plan, 1)
    acc = build(plan, 4)
    for mode in ("shift", "auto"):
        made = build(with_constants(plan, mode, 4), 4)
        assert dsp_at(with_constants(plan, mode, 1), 1) < 0.95 * dsp
        for function in plan.functions:
            left, right = (evaluate(one.plan, function, task_of(one.plan, function, states)) for one in (acc, made))
            assert all((left.words[name] == right.words[name]).all() for name in left.words), function


def test_auto_takes_what_is_a_smaller_part_of_the_device() -> None:
    plan = accelerator(condyle.load("iiwa14")).plan
    counts = {ii: dsp_at(with_constants(plan, "auto", ii), ii) / dsp_at(plan, ii) for ii in (1, 16)}
    assert counts[1] < 0.9 and counts[16] > 0.97  # a shared DSP is cheap


def test_operators_that_branches_share_stay_shared() -> None:
    plan = with_folding(accelerator(condyle.load("hyq"), "id").plan, 4)
    path = plan.datapaths["dynamics"]
    made = shifted(path, 4, "shift")
    assert [fold.turn for _, fold in sorted(made.folds.items())] == [
        fold.turn for _, fold in sorted(path.folds.items())
    ]


@pytest.mark.parametrize("word", ["27x18", "32"])
def test_rtl_equals_the_model(bench: Bench, word: str) -> None:
    robot = condyle.chain(2, 0)
    plan = with_constants(accelerator(robot, word=word).plan, "shift", 2)
    assert any(op.shifts for path in plan.datapaths.values() for op in path.ops)
    assert bench(robot, build(plan, 2), 20, "+stall_in=40", "+stall_out=40").startswith("right: 140 tasks")


@pytest.mark.parametrize("width", [8, 18, 27])
def test_a_constant_uses_all_bits_and_fits(width: int) -> None:
    """Also one that rounds up to a power of two; one more fractional bit would leave the word."""
    near = [s * 2.0**n * (1.0 + d * 2.0**-40) for s in (1, -1) for n in (-9, -1, 0, 1, 6) for d in (-1.0, 0.0, 1.0)]
    for value in [*near, *np.random.default_rng(3).normal(size=200).tolist()]:
        format = constant_format(width, value)
        assert format.width == width
        assert round(math.ldexp(abs(value), format.frac)) <= format.limit
        assert round(math.ldexp(abs(value), format.frac + 1)) > format.limit
