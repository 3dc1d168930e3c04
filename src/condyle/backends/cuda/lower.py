"""Program -> steps of a thread: the best of several orders, with the widest tiles that shared memory allows."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from condyle.backends.common.chunks import TRACE, by_key, depth_first, orders
from condyle.backends.cuda.schedule import Layout, schedule
from condyle.backends.cuda.target import TARGET, WARP, Target
from condyle.backends.cuda.thread_steps import Lowered, Order, SinCos, Wait
from condyle.ir.program import Array, Program, operands
from condyle.operations import LEAVES
from condyle.passes.dce import dce

# Orders of the operations with low register pressure.
#
# Depth first, with the operand that needs more registers first (Sethi and Ullman 1970, for trees). Then two greedy
# passes: backward, an operation that adds at most one live value comes as late as possible; forward, one that ends a
# live range comes as early as possible. Inputs and constants are not counted: they are in shared memory and in the
# code.


ROUNDS = 2


@dataclass(frozen=True, slots=True)
class Uses:
    """For each inner node the inner nodes that it reads, and those that read it."""

    reads: Mapping[int, tuple[int, ...]]
    readers: Mapping[int, Sequence[int]]

    @staticmethod
    def from_program(program: Program, nodes: Sequence[int]) -> Uses:
        kinds = program.nodes
        reads = {x: tuple(dict.fromkeys(u for u in operands(kinds[x]) if kinds[u][0] not in LEAVES)) for x in nodes}
        readers: dict[int, list[int]] = {x: [] for x in nodes}
        for x, used in reads.items():
            for u in used:
                readers[u].append(x)
        return Uses(reads, readers)


def low_pressure_orders(
    program: Program, nodes: Sequence[int], roots: Sequence[int], names: Sequence[str]
) -> Iterator[tuple[str, list[int]]]:
    """The orders of `condyle.backends.common.chunks.orders` after the passes; their names say so."""
    uses = Uses.from_program(program, nodes)
    needs = most_first(uses, nodes)
    yield f"{TRACE}, low pressure", relieved(uses, nodes)
    for name in names:
        yield f"{name}, low pressure", relieved(uses, depth_first(needs, by_key(program, roots, name)))


def most_first(uses: Uses, nodes: Sequence[int]) -> dict[int, list[int]]:
    """For each node its operands, the one that needs the most registers last, as `depth_first` takes them.

    nodes: in an order in which operands come first.
    """
    need: dict[int, int] = {}
    found: dict[int, list[int]] = {}
    for x in nodes:
        found[x] = sorted(uses.reads[x], key=lambda u: (need[u], -u))
        need[x] = max((need[u] + k for k, u in enumerate(reversed(found[x]))), default=1)
    return found


def peak(uses: Uses, order: Sequence[int]) -> int:
    """The largest number of values live at once."""
    left = {x: len(uses.readers[x]) for x in order}
    alive = most = 0
    for x in order:
        for u in uses.reads[x]:
            left[u] -= 1
            alive -= left[u] == 0
        alive += left[x] > 0
        most = max(most, alive)
    return most


def relieved(uses: Uses, order: Sequence[int]) -> list[int]:
    """The best of the order and of the results of the two passes, applied in turn."""
    best = order = list(order)
    fewest = peak(uses, order)
    for step in (late, early) * ROUNDS:
        order = step(uses, order)
        found = peak(uses, order)
        if found < fewest:
            best, fewest = order, found
    return best


def late(uses: Uses, order: Sequence[int]) -> list[int]:
    """From the end: an operation that adds at most one live value if there is one, else the last of the order."""
    left = {x: len(uses.readers[x]) for x in order}
    missing = {x: len(uses.reads[x]) for x in order}

    def note(x: int) -> Iterator[int]:
        for u in uses.reads[x]:
            left[u] -= 1
            if left[u] == len(uses.readers[u]) - 1:  # live from here on
                for reader in uses.readers[u]:
                    missing[reader] -= 1
                    if left[reader] == 0:
                        yield reader
            if left[u] == 0:
                yield u

    free = [x for x in order if not left[x]]
    return _listed(order[::-1], free, lambda x: missing[x] <= 1, note)[::-1]


def early(uses: Uses, order: Sequence[int]) -> list[int]:
    """From the start: an operation that ends a live range, or has no reader, if there is one, else the first of the
    order."""
    left = {x: len(uses.readers[x]) for x in order}
    missing = {x: len(uses.reads[x]) for x in order}

    def ends_a_life(x: int) -> bool:
        return not uses.readers[x] or any(left[u] == 1 for u in uses.reads[x])

    def note(x: int) -> Iterator[int]:
        for reader in uses.readers[x]:
            missing[reader] -= 1
            if missing[reader] == 0:
                yield reader
        for u in uses.reads[x]:
            left[u] -= 1
            if left[u] == 1:
                yield from (reader for reader in uses.readers[u] if missing[reader] == 0)

    return _listed(order, [x for x in order if not missing[x]], ends_a_life, note)


def _listed(
    order: Sequence[int], free: Iterable[int], is_cheap: Callable[[int], bool], note: Callable[[int], Iterable[int]]
) -> list[int]:
    """List scheduling: a cheap free node if there is one, else any free one; of several the first in `order`.

    note: updates counts for a node; gives the nodes that are free and may have become cheap.
    """
    rank = {x: k for k, x in enumerate(order)}
    waiting: list[int] = []
    cheap: list[int] = []
    done: set[int] = set()

    def offer(nodes: Iterable[int]) -> None:
        for x in nodes:
            if x not in done:
                heapq.heappush(cheap if is_cheap(x) else waiting, rank[x])

    offer(free)
    found: list[int] = []
    while cheap or waiting:
        x = order[heapq.heappop(cheap or waiting)]
        if x not in done:
            done.add(x)
            found.append(x)
            offer(note(x))
    return found


def lower(program: Program, bits: int, target: Target = TARGET) -> list[Lowered]:
    """The candidates: the first for which the assembler spills nothing is taken, else the one that moves fewest bytes.

    The chosen order spills the fewest numbers; of several, it needs the smallest part of a multiprocessor. If no plain
    order fits into registers, those of low register pressure are tried too.
    """
    program = dce(program)
    values = target.values(bits)
    wide = replace(target, values32=int(target.trust * values), values64=int(target.trust * values))
    found = _orders(program, target, pressed=False)
    trusting, order = _best(program, found, bits, wide)
    if trusting.peak > values:
        found += _orders(program, target, pressed=True)
        trusting, order = _best(program, found, bits, wide)
    least, least_order = _best(program, found, bits, target) if trusting.peak > values else (trusting, order)
    chosen = [_narrowed(program, least_order, bits, target, least)]
    if trusting.peak > values and trusting.traffic == 0 and len(program) < target.many:
        chosen.insert(0, _narrowed(program, order, bits, wide, trusting))
    if bits == 64 and least.peak > target.spare64:
        chosen.append(_spare(program, least_order, target))
    return chosen


def _spare(program: Program, order: Order, target: Target) -> Lowered:
    """Schedules float64 with registers to spare for the assembler. It moves nothing over a barrier, so that it neither
    computes many sines at once nor, in a long Program, loads spilled numbers long before they are used."""
    target = replace(target, values64=target.spare64)
    layout = _layout(program, 64, target.widths[0], target)
    low = _narrowed(program, order, 64, target, schedule(program, order, layout, target))
    is_long = len(program) >= target.many
    steps = (
        (Wait(), step) if isinstance(step, SinCos) or (is_long and number % target.barrier == 0) else (step,)
        for number, step in enumerate(low.steps)
    )
    return replace(low, steps=tuple(chain.from_iterable(steps)))


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
    needed for its row. Where the target has whole rows, rows of up to two tiles are staged as such."""
    widths_in = (_width(array, WARP if array.size <= target.eager else width, target) for array in program.inputs)
    return Layout(bits, tuple(widths_in), tuple(_width(array, width, target) for array in program.arrays))


def _width(array: Array, most: int, target: Target) -> int:
    if target.whole_rows and array.size <= 2 * most:
        return 0
    width = 1
    while width < min(array.size, most):
        width *= 2
    return width
