"""What the model of cost counts, and that it sees what outgrows the caches."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from condyle.backends.common.chunks import TRACE
from condyle.backends.cpu import _allocate
from condyle.backends.cpu.allocate import cost, is_near, traffic
from condyle.backends.cpu.assemble import assemble
from condyle.backends.cpu.operations import NONE, Instruction, constant, slot
from condyle.backends.cpu.target import ISAS, TARGET, Isa, Target
from tests.backends.c.small import tangle
from tests.backends.cpu import plain_schedule
from tests.backends.cpu.plain_schedule import LINE

pytestmark = pytest.mark.smoke

AVX512, AVX2 = ISAS["avx512"], ISAS["avx2"]


def loads(*slots: int) -> list[Instruction]:
    return [Instruction("load", k % 8, NONE, slot(number)) for k, number in enumerate(slots)]


def test_what_was_used_last_is_near() -> None:
    """Two sets of two ways: three lines of one set chase each other out, two do not."""
    small = Target(sets=2, ways=2)
    assert traffic(loads(0, 2, 0, 2, 1), LINE, small) == (5, 0)
    assert traffic(loads(0, 2, 4), LINE, small) == (3, 3)
    assert traffic(loads(0, 2, 0, 4, 0), LINE, small) == (5, 2)  # 2 and 4 take turns, 0 was used in between
    assert traffic(loads(0, 1, 2, 3, 4, 5), LINE // 2, small) == (6, 0)  # two slots a line
    rest = [Instruction("add", 0, 1, 2), Instruction("mul", 0, 1, constant(3)), Instruction("store", 0, NONE, slot(9))]
    assert traffic(rest, LINE, small) == (2, 0)


def test_both_count_the_same() -> None:
    draw = random.Random(5)
    for sets, ways, slots in ((1, 1, 3), (4, 2, 12), (64, 11, 900)):
        code = loads(*(draw.randrange(slots) for _ in range(3000)))
        code += [Instruction("add", 0, 1, draw.randrange(-9, 64)) for _ in range(100)]
        target = Target(sets=sets, ways=ways)
        fast = traffic(code, 32, target)
        assert fast == plain_schedule.traffic(code, 32, target)
    for numbers in ((0, 64, 11), (64, 0, 11), (64, 64, 0), (64, 64, 99)):
        with pytest.raises(ValueError, match="out of range"):
            _allocate.traffic(code, *numbers)


def test_long_code_costs_its_bytes() -> None:
    short = loads(0) * (TARGET.near_bytes // 7)
    longer = loads(0) * (TARGET.near_bytes // 7 + 1)
    assert is_near(short, AVX512) and not is_near(longer, AVX512)
    assert cost(longer, AVX512, 64) > 1.2 * cost(short, AVX512, 64)
    assert cost(loads(*range(2000)), AVX512, 64) > 2 * cost(loads(0) * 2000, AVX512, 64)


@pytest.mark.parametrize("isa", [AVX512, AVX2], ids=lambda isa: isa.name)
def test_bytes_are_about_those_of_the_code(isa: Isa) -> None:
    for seed in range(3):
        kernel = assemble(tangle(seed, 2000, 12), isa, 64).kernels[-1]
        reads = traffic(list(kernel.code), isa.slot_bytes(64))[0]
        assert isa.plain * len(kernel.code) + isa.reach * reads == pytest.approx(len(kernel.text), rel=0.15)


def test_code_that_a_schedule_would_push_out_is_not_scheduled() -> None:
    """A schedule needs more instructions; where they no longer stay near, the plain order serves."""
    program = tangle(1, 2000, 12)
    scheduled, plain = (
        assemble(program, AVX512, 64, replace(TARGET, orders=(), near_bytes=near)).kernels[-1] for near in (1 << 40, 0)
    )
    assert scheduled.order == plain.order == TRACE and scheduled.code != plain.code
    assert plain.code == assemble(program, AVX512, 64, Target(small=0, long=())).kernels[-1].code
