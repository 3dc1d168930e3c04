"""Loops over time around a kernel of tiles; the same machine code is used for any number of steps."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

from condyle.ir.repeated import TimeLoop
from condyle.runtime import machine
from condyle.runtime._native import Entry
from condyle.runtime.native import PACKED_IN, PACKED_OUT, PIECE_NS, NativeKernel, Shape, plan_entry


def repeated(kernel: NativeKernel, loop: TimeLoop) -> NativeKernel | None:
    """The kernel of a loop around this one; None if it is no kernel of tiles."""
    if kernel.body is None:
        return None
    tiles, single, of, columns = kernel.body
    numbers = _numbers(loop)
    plan = machine.repeat(tiles, numbers)
    shape = _looped(of, of, loop, plan.work_bytes)
    packed = plan_entry(plan, _looped(columns, of, loop, plan.work_bytes), kernel.dtype, PACKED_IN + PACKED_OUT)
    text = f"{loop.steps} steps a tile, {kernel.description}"
    made = NativeKernel(plan_entry(plan, shape, kernel.dtype), kernel.dtype, text, plan, packed)
    if single is not None:
        alone = machine.repeat(single, numbers)
        ports = shape.in_sizes, shape.out_sizes
        grain = 8 if shape.state_ns < PIECE_NS else 1
        entry = Entry(alone.entry(0), alone.work_bytes, 1, kernel.dtype.char, *ports, grain, alone.context)
        made.add_single(entry, alone)
    return made


def _looped(once: Shape, whole: Shape, loop: TimeLoop, work_bytes: int) -> Shape:
    """The shape of a loop. once: sizes of arrays without a time axis. whole: sizes of a row of those with one."""
    inputs = [
        loop.rows(take.every) * rows if take.every else size
        for take, size, rows in zip(loop.takes, once.in_sizes, whole.in_sizes, strict=True)
    ]
    outputs = [
        loop.rows(give.every) * whole.out_sizes[give.output]
        if give.every
        else (whole if give.summed else once).out_sizes[give.output]
        for give in loop.gives
    ]
    state_ns = loop.steps * whole.state_ns
    return replace(whole, in_sizes=tuple(inputs), out_sizes=tuple(outputs), work_bytes=work_bytes, state_ns=state_ns)


def _numbers(loop: TimeLoop) -> tuple[int, ...]:
    """The loop as the numbers that tiles/repeat.h describes."""
    takes = chain.from_iterable((take.carried, take.every) for take in loop.takes)
    gives = chain.from_iterable((give.output, give.every, int(give.summed)) for give in loop.gives)
    return (loop.steps, int(loop.backwards), len(loop.gives), *takes, *gives)
