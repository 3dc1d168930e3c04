"""Which orders are tried for a thread, how wide tiles are, and which candidates there are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from condyle.backends.cuda import lower as lowering
from condyle.backends.cuda import time_loop
from condyle.backends.cuda.launches import over_rows, straight
from condyle.backends.cuda.lower import Uses, early, late, lower, most_first, peak, relieved
from condyle.backends.cuda.schedule import Layout, Staging, _gap, schedule
from condyle.backends.cuda.target import TARGET, WARP
from condyle.backends.cuda.thread_steps import (
    Angle,
    Compute,
    Flush,
    Group,
    Guard,
    Load,
    Lowered,
    Order,
    Put,
    Reload,
    SinCos,
    Spill,
    Step,
    Take,
    Wait,
)
from condyle.ir.loops import Give, TimeLoop
from condyle.ir.loops import Take as Taken
from condyle.ir.program import Array, Output, Program
from condyle.operations import Node
from condyle.passes.dce import dce
from tests.backends.c.small import tangle, toy

STAGED = replace(TARGET, whole_rows=False)


def array(size: int) -> Array:
    return Array("x", (size,))


def test_tiles_are_no_wider_than_their_rows() -> None:
    widths = {size: lowering._width(array(size), 32, STAGED) for size in (0, 1, 2, 3, 4, 5, 31, 33, 200)}
    assert widths == {0: 1, 1: 1, 2: 2, 3: 4, 4: 4, 5: 8, 31: 32, 33: 32, 200: 32}
    assert [lowering._width(array(9), most, STAGED) for most in (4, 8, 16)] == [4, 8, 16]


def test_rows_of_two_tiles_are_staged_whole() -> None:
    assert [lowering._width(array(size), 8, TARGET) for size in (16, 17)] == [0, 8]
    assert [lowering._width(array(size), 32, TARGET) for size in (64, 65)] == [0, 32]


def test_inputs_that_are_read_at_the_start_have_the_widest_tiles() -> None:
    program = Program("f", (array(64), array(65)), (array(40),), (), ())
    assert lowering._layout(program, 32, 8, STAGED) == Layout(32, (32, 8), (8,))
    assert lowering._layout(program, 64, 8, TARGET) == Layout(64, (0, 8), (8,))


def lowered(bits: int = 32, peak: int = 0, pool: int = 0, traffic: int = 0) -> Lowered:
    return Lowered(toy(), bits, (), "order", pool, 0, traffic, peak)


def test_the_cost_is_spills_then_the_part_of_a_multiprocessor() -> None:
    """65536 registers, 32 more a thread than there are values; 227000 bytes of shared memory."""
    assert lowering._cost(lowered(traffic=3, peak=96)) == (3, 128 * 32 / 65_536)
    assert lowering._cost(lowered(64, peak=96)) == (0, 224 * 32 / 65_536)
    assert lowering._cost(lowered(pool=113_500)) == (0, 0.5)


def test_long_programs_are_tried_in_few_orders() -> None:
    program = dce(tangle(3))
    target = replace(TARGET, orders=("rows", "columns"), few=("leaves",))
    assert [one.name for one in lowering._orders(program, target, False)] == ["trace", "rows", "columns"]
    long = replace(target, many=10)
    assert [one.name for one in lowering._orders(program, long, False)] == ["leaves"]
    assert [one.name for one in lowering._orders(program, long, True)] == ["leaves, low pressure"]
    count = sum(node[0] not in ("const", "input") for node in program.nodes)
    for many, names in ((count, ["leaves"]), (count + 1, ["trace", "rows", "columns"])):
        assert [one.name for one in lowering._orders(program, replace(target, many=many), False)] == names
    lone = Program("f", (array(1),), (array(1),), (("input", 0, 0), ("neg", 0)), (Output(0, 0, 1),))
    assert [one.name for one in lowering._orders(lone, replace(long, many=1), False)] == ["trace"]


def fits(program: Program, bits: int, target: object) -> list[tuple[bool, bool]]:
    """Of each candidate whether it is without spills of its own, and whether it waits before sines."""
    found = lower(program, bits, target)  # type: ignore[arg-type]
    waits = [
        any(isinstance(a, Wait) and isinstance(b, SinCos) for a, b in zip(low.steps, low.steps[1:], strict=False))
        for low in found
    ]
    return list(zip((low.slots == 0 for low in found), waits, strict=True))


def test_candidates_by_the_registers_that_are_needed() -> None:
    """One where all fits; before it one that trusts the assembler to find a better order; behind it, in float64, one
    that leaves registers to the assembler."""
    program = tangle(3)
    needed = lower(program, 32, replace(TARGET, values32=1000))[0].peak
    exact = replace(TARGET, trust=1.0)
    assert fits(program, 32, replace(exact, values32=needed)) == [(True, False)]
    best = min(low.peak for low in lower(program, 32, replace(TARGET, values32=needed - 1, trust=2.0)))
    assert best < needed
    tight = best - 1
    assert fits(program, 32, replace(TARGET, values32=tight, trust=2.0)) == [(True, False), (False, False)]
    assert fits(program, 32, replace(exact, values32=tight)) == [(False, False)]
    assert fits(program, 32, replace(TARGET, values32=tight, trust=2.0, many=10)) == [(False, False)]
    spare = replace(exact, values64=best, spare64=best)
    assert fits(program, 64, spare) == [(True, False)]
    assert fits(program, 64, replace(spare, spare64=best - 1)) == [(True, False), (False, True)]
    assert fits(program, 32, replace(exact, values32=needed, spare64=5)) == [(True, False)]


def test_orders_of_low_pressure_are_tried_where_no_other_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    program, asked, orders = dce(tangle(3)), list[object](), lowering.low_pressure_orders
    needed = lower(program, 32, replace(TARGET, values32=1000))[0].peak

    def counted(*arguments: Any) -> Iterator[tuple[str, list[int]]]:
        asked.append(arguments)
        return orders(*arguments)

    monkeypatch.setattr(lowering, "low_pressure_orders", counted)
    lower(program, 32, replace(TARGET, values32=needed))
    assert not asked
    lower(program, 32, replace(TARGET, values32=needed - 1))
    assert len(asked) == 1


def test_tiles_are_narrowed_until_the_pool_is_small() -> None:
    """The widest that fits, else the narrowest."""
    program = toy(width=70, side=9)
    widths = (32, 16, 8, 4)
    pools = [lower(program, 32, replace(STAGED, widths=(width,), pool=0))[0].pool for width in widths]
    assert pools[3] < pools[2] < pools[1]
    for pool, chosen in ((pools[0], 0), (pools[2], 2), (pools[2] - 1, 3), (0, 3)):
        (low,) = lower(program, 32, replace(STAGED, widths=widths, pool=pool))
        assert low.pool == pools[chosen], (pool, pools)


def test_operands_that_need_more_registers_come_last() -> None:
    """Of equal ones the earlier one; a node needs as many as its operands do, one after the other."""
    nodes: tuple[Node, ...] = (
        ("input", 0, 0),
        *(("neg", 0) for _ in range(3)),
        ("add", 1, 2),
        ("add", 3, 4),
        ("add", 3, 2),
    )
    program = Program("f", (array(1),), (array(1),), nodes, ())
    uses = Uses.from_program(program, [1, 2, 3, 4, 5, 6])
    assert uses.reads == {1: (), 2: (), 3: (), 4: (1, 2), 5: (3, 4), 6: (3, 2)}
    assert uses.readers == {1: [4], 2: [4, 6], 3: [5, 6], 4: [5], 5: [], 6: []}
    assert most_first(uses, [1, 2, 3, 4, 5, 6]) == {1: [], 2: [], 3: [], 4: [2, 1], 5: [3, 4], 6: [3, 2]}
    twice = Program("f", (array(1),), (array(1),), (("input", 0, 0), ("neg", 0), ("mul", 1, 1)), ())
    assert Uses.from_program(twice, [1, 2]).reads == {1: (), 2: (1,)}


def test_passes_move_what_ends_lives() -> None:
    """Three pairs of values and their sums: all values first, six are alive; sums right behind pairs, three."""
    nodes: list[Node] = [("input", 0, 0), *(("neg", 0) for _ in range(6)), *(("add", k, k + 1) for k in (1, 3, 5))]
    nodes += [("add", 7, 8), ("add", 10, 9)]
    program, order = Program("f", (array(1),), (array(1),), tuple(nodes), ()), list(range(1, 12))
    uses = Uses.from_program(program, order)
    assert peak(uses, order) == 6
    assert early(uses, order) == [1, 2, 7, 3, 4, 8, 10, 5, 6, 9, 11]
    assert peak(uses, early(uses, order)) == 3
    assert late(uses, order) == [1, 2, 7, 3, 4, 8, 5, 6, 9, 10, 11]
    assert peak(uses, late(uses, order)) == 4
    assert relieved(uses, order) == early(uses, order)
    assert relieved(uses, relieved(uses, order)) == relieved(uses, order)
    assert peak(uses, []) == 0


def test_groups_of_a_program() -> None:
    program = Program("f", (array(5), Array("none", (0,))), (array(6),), (("input", 0, 4),), (Output(0, 5, 0),))
    staging = Staging(program, 32, (4, 1), (4,))
    assert staging.groups == {
        ("in", 0, 0): Group(0, 0, 4, 4, 32), ("in", 0, 4): Group(0, 4, 1, 4, 32),
        ("out", 0, 0): Group(0, 0, 4, 4, 32), ("out", 0, 4): Group(0, 4, 2, 4, 32),
    }  # fmt: skip
    # inputs have all columns of a tile, outputs those of their entries
    assert [size // 160 for size in staging.sizes.values()] == [4, 4, 4, 2]
    assert staging.source(0, 4) == (("in", 0, 4), 0) and staging.column(("out", 0, 4), 5) == 160
    assert list(staging.eager(5)) == [("in", 0, 0), ("in", 0, 4)] and not list(staging.eager(4))
    assert staging.empty() == [("out", 0, 0)] and staging.zeros(("out", 0, 4)) == [4]
    assert staging.filled(("out", 0, 4)) and not staging.filled(("out", 0, 0))
    assert staging.is_whole(("out", 0, 4))
    assert staging.entries == {0: [(("out", 0, 4), 5)]}


def test_tiles_lie_where_dead_ones_were_behind_a_barrier() -> None:
    program = Program("f", (array(4),) * 3, (array(4),), (("input", 0, 0),), (Output(0, 0, 0),))
    staging = Staging(program, 32, (4, 4, 4), (4,))
    a, b, c, out = (("in", 0, 0), ("in", 1, 0), ("in", 2, 0), ("out", 0, 0))
    size = 4 * 40 * 4
    assert staging.allocate([a, b, a, None, c, b, out, out]) == ({a: 0, b: size, c: 0, out: 0}, 2 * size, {4, 6})
    assert staging.allocate([a, a, b, c]) == ({a: 0, b: 0, c: 0}, size, {2, 3})
    assert staging.allocate([a, b, c, a, b, c]) == ({a: 0, b: size, c: 2 * size}, 3 * size, set())
    assert staging.allocate([]) == ({}, 0, set())


@pytest.mark.parametrize(
    ("spans", "need", "offset"),
    [
        ([], 5, 0),
        ([(0, 4)], 5, 4),
        ([(5, 9)], 5, 0),
        ([(4, 9)], 5, 9),
        ([(10, 12), (0, 4)], 6, 4),
        ([(10, 12), (0, 4)], 7, 12),
    ],
)
def test_the_first_gap_that_is_large_enough_is_taken(spans: list[tuple[int, int]], need: int, offset: int) -> None:
    assert _gap(spans, need) == offset


def steps_of(nodes: tuple[Node, ...], outputs: tuple[Output, ...], values: int = 100, dirty: float = 0.7) -> list[Step]:
    program = Program("f", (array(3),), (array(3),), nodes, outputs)
    order = Order.from_program(
        program, "trace", [k for k, node in enumerate(nodes) if node[0] not in ("input", "const")]
    )
    target = replace(TARGET, values32=values, dirty=dirty)
    low = schedule(program, order, Layout(32, (0,), (0,)), target)
    assert low.peak <= values
    return list(low.steps)


X: tuple[Node, ...] = tuple(("input", 0, k) for k in range(3))
ROWS = Group(0, 0, 3, 0, 32)


def test_steps_of_a_small_program() -> None:
    """Inputs are loaded at the start; entries that nothing writes are zero, before the tile is stored."""
    steps = steps_of((*X, ("const", 2.0), ("add", 0, 1)), (Output(0, 0, 4), Output(0, 2, 3)))
    size = ROWS.bytes(3)
    assert steps == [
        Load(ROWS, 0), Put(3, 0, 2, size + 8), Take(0, 0), Take(1, 4), Compute(4), Put(4, 0, 0, size),
        Put(-1, 0, 1, size + 4), Flush(ROWS, size),
    ]  # fmt: skip


def test_an_output_of_zeros_has_no_tile() -> None:
    assert steps_of((*X, ("neg", 0)), ())[-1] == Flush(ROWS, -1)


def test_outputs_that_are_inputs_are_taken_last() -> None:
    steps = steps_of((*X, ("neg", 0)), (Output(0, 0, 2), Output(0, 1, 3), Output(0, 2, 2)))
    assert [step for step in steps if isinstance(step, (Take, Put))][-4:] == [
        Put(3, 0, 1, 384 + 4), Take(2, 8), Put(2, 0, 0, 384), Put(2, 0, 2, 384 + 8),
    ]  # fmt: skip


def test_the_value_with_the_farthest_use_is_spilled() -> None:
    """3 waits longer than 4 and 5 do; then 7 waits, in the same slot. Inputs are taken again."""
    nodes = (*X, ("neg", 0), ("neg", 1), ("neg", 2), ("add", 4, 5), ("add", 6, 3))
    assert moves(steps_of(nodes, (Output(0, 0, 7),), values=2)) == [
        Take(0, 0), Take(1, 4), Spill(3, 0), Take(2, 8), Reload(3, 0),
    ]  # fmt: skip
    assert moves(steps_of(nodes, (Output(0, 0, 7),), values=3)) == [Take(0, 0), Take(1, 4), Take(2, 8)]
    longer = (*nodes, ("neg", 0), ("neg", 1), ("add", 8, 9), ("add", 10, 7))
    assert moves(steps_of(longer, (Output(0, 0, 11),), values=2)) == [
        Take(0, 0), Take(1, 4), Spill(3, 0), Take(2, 8), Reload(3, 0),
        Take(0, 0), Spill(7, 0), Take(1, 4), Reload(7, 0),
    ]  # fmt: skip


def moves(steps: list[Step]) -> list[Step]:
    return [step for step in steps if isinstance(step, (Take, Spill, Reload))]


def test_an_input_goes_before_a_value_that_is_used_a_little_later() -> None:
    """It need not be stored. The input is read after two operations, the value after four."""
    nodes = (*X, ("neg", 0), ("add", 1, 2), ("neg", 4), ("sub", 5, 0), ("neg", 6), ("add", 7, 3))
    inputs = [Take(0, 0), Take(1, 4), Take(2, 8)]
    assert moves(steps_of(nodes, (Output(0, 0, 8),), values=3, dirty=0.5)) == [*inputs, Take(0, 0)]
    assert moves(steps_of(nodes, (Output(0, 0, 8),), values=3, dirty=0.51)) == [
        *inputs[:2], Spill(3, 0), inputs[2], Reload(3, 0),
    ]  # fmt: skip


def test_angles_are_guarded_level_by_level() -> None:
    nodes = (*X, ("sin", 0), ("cos", 0), ("sin", 1), ("sin", 3), ("add", 4, 5), ("add", 7, 6))
    steps = [step for step in steps_of(nodes, (Output(0, 0, 8),)) if isinstance(step, (Angle, Guard, SinCos))]
    row = 4 * WARP
    first = next(step.offset for step in steps if isinstance(step, Angle))
    assert steps[:3] == [Angle(0, first, True), Angle(1, first + row, False), Guard(2, first)]
    second = next(step.offset for step in steps[3:] if isinstance(step, Angle))
    assert [step for step in steps if not isinstance(step, SinCos)][3:] == [Angle(3, second, True), Guard(1, second)]
    assert {(step.sine, step.cosine, step.offset) for step in steps if isinstance(step, SinCos)} == {
        (3, 4, first), (5, None, first + row), (6, None, second),
    }  # fmt: skip


def test_spills_are_bytes_of_a_thread() -> None:
    """In kernels of every sort."""
    tight = replace(TARGET, values32=8, values64=8, spare64=8, trust=1.0)
    program = dce(tangle(3))
    loop = TimeLoop(2, (Taken(), Taken()), (Give(0),))
    for bits in (64, 32):
        slots = [low.slots for low in lower(program, bits, tight)]
        staged = [low.slots for low in lower(program, bits, replace(tight, whole_rows=False))]
        assert min(*slots, *staged) > 0
        texts = {
            "dense": straight(program, bits, tight).texts,
            "rows": over_rows(program, bits, tight).texts,
            "loop": time_loop.texts(program, time_loop.Kind.from_loop(loop), bits, tight),
        }
        for sort, found in texts.items():
            wanted = [count * bits // 8 for count in (slots if sort == "dense" else staged)]
            assert [text.spilled for text in found] == wanted, sort
            assert all(text.states == WARP and not text.block and text.tasks == 1 for text in found)
            hidden = "add.u32 %spilled, %spilled, %zero;"  # an address that the assembler does not know
            assert all(text.ptx.count(hidden) == 1 for text in found), sort


def test_long_float64_code_has_barriers() -> None:
    """Before sines, and before every fifth step of a Program of `many` operations; of others `barrier` says nothing."""
    program = dce(tangle(3))

    def steps(barrier: int, many: int) -> tuple[Step, ...]:
        tight = replace(TARGET, values64=20, spare64=8, trust=1.0, barrier=barrier, many=many)
        return tuple(lower(program, 64, tight)[-1].steps)

    every = steps(1, len(program))
    plain = every[1::2]
    assert every[::2] == (Wait(),) * len(plain)
    pairs = [(Wait(), step) if k % 5 == 0 or isinstance(step, SinCos) else (step,) for k, step in enumerate(plain)]
    assert steps(5, len(program)) == tuple(part for pair in pairs for part in pair)
    assert steps(5, len(program) + 1) == steps(1, len(program) + 1)
