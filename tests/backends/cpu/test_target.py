"""Registers and slots of the instruction sets, and the cost model's cycles, by their formulas."""

from __future__ import annotations

from dataclasses import replace

import pytest

from condyle.backends.common.chunks import Chunk, lower
from condyle.backends.cpu.allocate import LATENCY, Constants, cost, is_near
from condyle.backends.cpu.assemble import WHOLE, _orders
from condyle.backends.cpu.operations import (
    BINARY,
    CHAINED,
    NONE,
    ONE,
    REGISTERS,
    ROWS,
    SIGN,
    UNARY,
    Instruction,
    constant,
    slot,
)
from condyle.backends.cpu.target import AVX2, AVX512, ISAS, SINGLE, TARGET, narrow
from condyle.ir.program import Array, Output, Program
from condyle.operations import AMOUNTS, FUSED, Node


def test_registers_and_slots() -> None:
    assert [isa.lanes(bits) for isa in (AVX512, AVX2) for bits in (64, 32)] == [8, 16, 4, 8]
    assert [isa.slot_bytes(bits) for isa in (AVX512, AVX2) for bits in (64, 32)] == [64, 64, 32, 32]
    assert list(ISAS) == list(SINGLE) == ["avx512", "avx2"]
    assert [(isa.registers, isa.broadcast, isa.stretch) for isa in ISAS.values()] == [
        (32, True, True),
        (16, False, False),
    ]
    for name, isa in SINGLE.items():
        assert isa == replace(ISAS[name], vector_bytes=16, scalar=True)
        assert [isa.lanes(64), isa.lanes(32), isa.slot_bytes(64), isa.slot_bytes(32)] == [1, 1, 8, 4]


def test_half_registers_are_for_narrow_panels() -> None:
    half = replace(AVX512, vector_bytes=32)
    assert narrow(AVX512, 64, 4) == narrow(AVX512, 32, 8) == half
    for bits, panel in ((64, 8), (32, 4), (32, 16), (64, 0)):
        assert narrow(AVX512, bits, panel) is AVX512
    assert narrow(AVX2, 64, 4) is AVX2


def loads(count: int) -> list[Instruction]:
    return [Instruction("load", 0, NONE, slot(0))] * count


def test_short_code_costs_its_instructions() -> None:
    """Three a cycle, an operand in memory a tenth of one more, a miss of the cache 0.9 cycles."""
    assert cost(loads(30), AVX512, 64) == pytest.approx((30 + 0.1 * 30) / 3.0)
    registers = [Instruction("add", 0, 1, 2)] * 30
    assert cost(registers, AVX2, 64) == pytest.approx(10.0)
    apart = [Instruction("load", 0, NONE, slot(64 * k)) for k in range(12)]  # of one set, which has eleven ways
    assert cost(apart, AVX512, 64) == pytest.approx((12 + 1.2) / 3.0 + 0.9 * 12)
    assert cost(apart[:11], AVX512, 64) == pytest.approx((11 + 1.1) / 3.0)


def test_long_code_costs_its_bytes() -> None:
    """Six bytes an instruction and one more for memory, with AVX2 4.6 and 2.5; 12.8 of them a cycle from 36000 on."""
    for isa, each in ((AVX512, 7.0), (AVX2, 7.1)):
        count = int(TARGET.near_bytes / each) + 1
        assert cost(loads(count), isa, 64) == pytest.approx(count * each / 12.8)
        assert cost(loads(count - 1), isa, 64) == pytest.approx((count - 1) * 1.1 / 3.0)
    exact = replace(TARGET, near_bytes=70)
    assert not is_near(loads(10), AVX512, exact) and is_near(loads(9), AVX512, exact)
    assert cost(loads(10), AVX512, 64, exact) == pytest.approx(70 / 12.8)


def test_what_reads_memory_is_longer() -> None:
    """Slots and constants do, registers do not."""
    exact = replace(TARGET, near_bytes=13)
    for b, is_memory in ((0, False), (63, False), (64, True), (constant(0), True)):
        assert is_near([Instruction("add", 0, 1, b)] * 2, AVX512, exact) != is_memory


def test_the_numbers_that_were_measured() -> None:
    assert (TARGET.issue, TARGET.read, TARGET.near_bytes, TARGET.fetch) == (3.0, 0.1, 36_000, 12.8)
    assert (TARGET.sets, TARGET.ways, TARGET.miss) == (64, 11, 0.9)
    assert [(isa.plain, isa.reach) for isa in (AVX512, AVX2)] == [(6, 1), (4.6, 2.5)]
    assert (TARGET.orders, TARGET.long, TARGET.huge) == (
        ("rows", "leaves", "tips"), ("rows", "leaves", "tips", "arrays"), ("tips", "arrays", "blocks"),
    )  # fmt: skip


def test_a_constant_is_kept_once() -> None:
    constants = Constants()
    assert [constants.number(x) for x in (1.0, -0.0, 0.0, 1.0, -0.0)] == [0, 1, 2, 0, 1]
    other = constants.copy()
    assert other.number(5.0) == 3 and constants.values == [1.0, -0.0, 0.0] and constants.number(7.0) == 3


def test_the_parameters_of_the_code_generator() -> None:
    assert (TARGET.far, TARGET.dirty, TARGET.ahead, TARGET.small, TARGET.many) == (6, 0.7, 200_000, 4_500, 16_000)


def test_instructions_take_their_cycles() -> None:
    """Four but for divisions, roots, roundings and whole numbers; sums and products swap their operands."""
    slow = {"div": 17, "rcp": 17, "sqrt": 20, "floor": 8, "rint": 8, "iadd": 1}
    slow |= {
        f"{way}{32 - amount if way == 'down' else amount}": 1 for way in ("rotl", "up", "down") for amount in AMOUNTS
    }
    assert slow == LATENCY == {op: row.latency for op, row in ROWS.items() if row.latency != 4}
    assert {op for op, row in ROWS.items() if row.swaps} == {"add", "mul", "iadd"}


def test_operands_that_may_be_in_memory() -> None:
    forms = {BINARY: set[str](), UNARY: set[str](), REGISTERS: set[str](), CHAINED: set[str]()}
    for op, row in ROWS.items():
        forms[row.form].add(op)
    assert forms[UNARY] == {"sqrt"} and forms[CHAINED] == FUSED
    words = "rotl", "up", "down"
    assert {op for op in forms[REGISTERS] if not op.startswith(words)} == {
        "floor", "rint", "bit0", "bit1", "shl", "shr", "pick",
    }  # fmt: skip
    assert forms[BINARY] == {
        *("add", "sub", "mul", "div", "rcp", "neg", "abs", "xor", "and", "or", "least", "most", "iadd"),
    }
    assert all(ROWS[op].instructions == (f"{op}132", f"{op}213", f"{op}231") for op in FUSED)
    assert [ROWS[op].operands for op in ("rcp", "neg", "abs", "pick")] == [(ONE, 0), (0, SIGN), (SIGN, 0), (0, 1, 2)]


def straight(count: int) -> Program:
    nodes: tuple[Node, ...] = (("input", 0, 0), *(("neg", 0) for _ in range(count)))
    outputs = tuple(Output(0, k, 1 + 7 * k % count) for k in range(count))
    return Program("f", (Array("x", (1,)),), (Array("y", (count,)),), nodes, outputs)


def test_orders_by_the_length_of_a_program() -> None:
    """The trace first where it is short; fewer orders where it is long or very long."""
    low = lower(straight(20), WHOLE)
    (chunk,) = low.steps
    assert isinstance(chunk, Chunk)
    cases = {(21, 99): ["trace", "rows"], (20, 21): ["rows", "tips"], (20, 99): ["rows", "tips"], (20, 20): ["tips"]}
    for (small, many), names in cases.items():
        target = replace(TARGET, small=small, many=many, orders=("rows",), long=("rows", "tips"), huge=("tips",))
        assert [name for name, _ in _orders(low, chunk, target)] == names
    lone = lower(straight(1), WHOLE)
    (chunk,) = lone.steps
    assert isinstance(chunk, Chunk)
    assert [name for name, _ in _orders(lone, chunk, replace(TARGET, small=0, many=0))] == ["trace"]
