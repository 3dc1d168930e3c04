"""Program -> steps of a thread: the best of several orders, with the widest tiles that shared memory allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from condyle.backends.common.order import orders
from condyle.backends.cuda.items import Order
from condyle.backends.cuda.register_pressure import low_pressure_orders
from condyle.backends.cuda.schedule import Layout, schedule
from condyle.backends.cuda.steps import Lowered
from condyle.backends.cuda.target import TARGET, WARP, Target
from condyle.ir.program import Array, Program
from condyle.operations import LEAVES
from condyle.passes.dce import dce


def lower(program: Program, bits: int, target: Target = TARGET) -> list[Lowered]:
    """The candidates: the first is taken if the assembler spills nothing, else the one that moves the fewest bytes.

    The chosen order spills the fewest numbers; of several, it needs the smallest part of a multiprocessor. If no plain
    order fits into registers, those of `register_pressure` are tried too.
    """
    program = dce(program)
    values = target.values(bits)
    wide = replace(target, values32=int(target.trust * values), values64=int(target.trust * values))
    found = _orders(program, target, pressed=False)
    trusting, order = _best(program, found, bits, wide)
    if trusting.peak > values:
        found += _orders(program, target, pressed=True)
        trusting, order = _best(program, found, bits, wide)
    if trusting.peak <= values:
        return [_narrowed(program, order, bits, wide, trusting)]
    own, own_order = _best(program, found, bits, target)
    chosen = [_narrowed(program, own_order, bits, target, own)]
    if trusting.traffic == 0 and len(program) < target.many:
        chosen.insert(0, _narrowed(program, order, bits, wide, trusting))
    return chosen


def _best(program: Program, orders: Sequence[Order], bits: int, target: Target) -> tuple[Lowered, Order]:
    layout = _layout(program, bits, target.widths[0], target)
    return min(((schedule(program, one, layout, target), one) for one in orders), key=lambda made: _cost(made[0]))


def _cost(low: Lowered) -> tuple[int, float]:
    """Numbers spilled and reloaded, then the part of a multiprocessor that a warp needs: registers or shared memory."""
    registers = WARP * (low.peak * low.bits // 32 + 32) / 65_536
    return low.traffic, max(registers, low.pool / 227_000)


def _orders(program: Program, target: Target, pressed: bool) -> list[Order]:
    """The orders that are tried; for a long Program the trace is not."""
    nodes = [index for index, node in enumerate(program.nodes) if node[0] not in LEAVES]
    inner = set(nodes)
    roots = sorted({output.node for output in program.outputs} & inner)
    long = len(nodes) >= target.many
    names = target.few if long else target.orders
    found = list((low_pressure_orders if pressed else orders)(program, nodes, roots, names))
    return [Order.from_program(program, *one) for one in (found[1:] if long and len(found) > 1 else found)]


def _narrowed(program: Program, order: Order, bits: int, target: Target, lowered: Lowered) -> Lowered:
    """Schedules with the widest output tiles whose pool is not too large, else with the narrowest."""
    for width in target.widths[1:]:
        if lowered.pool <= target.pool:
            break
        lowered = schedule(program, order, _layout(program, bits, width, target), target)
    return lowered


def _layout(program: Program, bits: int, width: int, target: Target) -> Layout:
    """Inputs that are read as a whole have the widest tiles, others and outputs tiles of `width`; none is wider than
    needed for its row."""
    widths_in = (_width(array, WARP if array.size <= target.eager else width) for array in program.inputs)
    return Layout(bits, tuple(widths_in), tuple(_width(array, width) for array in program.arrays))


def _width(array: Array, most: int) -> int:
    width = 1
    while width < min(array.size, most):
        width *= 2
    return width
