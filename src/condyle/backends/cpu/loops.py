"""Loops over joints -> machine code and data: a block of code for each step, and the driver's words (tiles/loops.h)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from condyle.backends.common.loops import Bank, Copy, Workspace, layout, on_the_left, own_inputs, product_table
from condyle.backends.cpu.assemble import (
    AGAIN,
    LOOPS,
    Assembled,
    Kernel,
    Straight,
    full_layouts,
    packed_constants,
    port_numbers,
)
from condyle.backends.cpu.encode import padded
from condyle.backends.cpu.joint_loop_steps import FRONT, Block, Way, block
from condyle.backends.cpu.operations import expanded, inline_angles
from condyle.backends.cpu.target import TARGET, Isa, Target
from condyle.errors import UnsupportedError
from condyle.ir.loops import COUNT, Columns, Mirror, Rolled, Step, Sweep, TimeLoop, Walk
from condyle.ir.program import Program, input_of, operands
from condyle.ir.segments import Iteration, Product, Segmented
from condyle.operations import TRIGONOMETRIC
from condyle.runtime import machine
from condyle.runtime._native import Entry
from condyle.runtime.native import PACKED_IN, PACKED_OUT, PIECE_NS, NativeKernel, Shape, plan_entry
from condyle.runtime.packed import Layouts

CALL, ANGLES, COLUMNS, UPTO, WALK, CLEAR, MIRROR, PRODUCT, COPY = range(1, 10)
AGAIN_WORDS = 3
"""The step to go back to, the slot of the flag that ends it or -1, and how many times at most."""
WORDS = 6
"""Number of words before the records: see tiles/loops.h."""
MINUS, SAME, HELD = 1, 2, 4
"""Flags of products: - left right; the left operand is a constant; it is an input that may be one row for all
states."""


def assemble_rolled(
    rolled: Rolled,
    isa: Isa,
    bits: int,
    target: Target = TARGET,
    tiles: int | None = None,
    layouts: Layouts | None = None,
) -> Assembled:
    """The machine code of loops over joints. layouts: of packed arrays.

    tiles: the number that run together. Two, unless matrices fill the caches: the latency of one tile's dependent steps
    is hidden by the other's.

    Raises UnsupportedError for a constant that is not finite, and for sines of values that are no coordinates.
    """
    tiles = (1 if rolled.matrices else 2) if tiles is None else tiles
    return _Writer(rolled, Way(isa, bits, target, tiles)).assembled(layouts or full_layouts(rolled, isa.lanes(bits)))


def product_words(product: Product, left: int, right: int, result: int, slots: list[int], kind: int = 0) -> list[int]:
    """The words of a product of arrays that begin at these slots; its blocks are added to the table `slots`.

    kind: SAME if `left` is an index into the table of constants, HELD if it is an input that may be one row.
    """
    table = product_table(product)
    slots += table
    lines, columns = product.shape
    first, second = product.left, product.right
    return [
        *(PRODUCT, kind + MINUS * product.minus, left + first.offset, first.row, first.column),
        *(right + second.offset, second.row, second.column, result, lines, product.inner, columns),
        *(len(slots) - len(table), len(table)),
    ]


class _Writer:
    def __init__(self, rolled: Rolled, way: Way) -> None:
        self.rolled, self.way = rolled, way
        self.place = layout(rolled, FRONT)
        self.members: list[list[int]] = [[] for _ in rolled.kinds]
        self.number: list[int] = []  # of a joint among those of its kind
        for i, joint in enumerate(rolled.joints):
            self.number.append(len(self.members[joint.kind]))
            self.members[joint.kind].append(i)
        self.kernels: list[Kernel] = []
        self.offset = 0
        self.records: list[int] = []
        self.constants: list[bytes] = []
        self.constant_bytes = 0
        self.slots: list[int] = []

    def assembled(self, layouts: Layouts) -> Assembled:
        rolled, place = self.rolled, self.place
        words = self._clear(place.to_clear())
        for loop in rolled.loops:
            if isinstance(loop, Sweep):
                words += self._sweep(loop)
            elif isinstance(loop, Columns):
                words += self._columns(loop)
            elif isinstance(loop, Mirror):
                words += (MIRROR, place.bases[Bank("matrix", loop.matrix)])
            else:
                words += self._product(loop)
        loops = (rolled.nv, self.way.tiles, place.size, len(self.records) // 5, 0, 0, *self.records, *words)
        inputs = [place.bases[Bank("input", array.name)] for array in rolled.inputs]
        ports = port_numbers(inputs, place.outputs(), place.zero, layouts, self.slots)
        head = (self.way.tiles * place.size, len(rolled.inputs), len(rolled.arrays), 1, 1, len(loops))
        numbers = (*head, *ports, LOOPS, WORDS + len(self.records), len(words), place.zero, *loops)
        return Assembled(tuple(self.kernels), b"".join(self.constants), tuple(self.slots), (0.0,), numbers, None)

    def _sweep(self, sweep: Sweep) -> list[int]:
        if any(node[0] in TRIGONOMETRIC for step in sweep.steps for node in step.program.nodes):
            return self._angles(sweep)
        words: list[int] = []
        records = [self._record(step, kind, sweep.backward) for kind, step in enumerate(sweep.steps)]
        for kind, first, count in self._runs(sweep.backward):
            record, number = records[kind], self.number[first]
            if record >= 0:
                words += (UPTO, record, number, count, first) if sweep.upto else (CALL, record, number, count)
        return words

    def _runs(self, backward: bool) -> Iterator[tuple[int, int, int]]:
        """Runs of consecutive joints of one kind: (kind, first joint in this direction, number of joints)."""
        joints = self.rolled.joints
        order = list(reversed(range(len(joints)))) if backward else list(range(len(joints)))
        start = 0
        for k in range(1, len(order) + 1):
            if k == len(order) or joints[order[k]].kind != joints[order[start]].kind:
                yield joints[order[start]].kind, order[start], k - start
                start = k

    def _angles(self, sweep: Sweep) -> list[int]:
        """Sines and cosines of coordinates: one table for all joints."""
        begin, place = len(self.slots), self.place
        for i, joint in enumerate(self.rolled.joints):
            step = sweep.steps[joint.kind]
            wanted: dict[int, list[int]] = {}
            for output in step.program.outputs:
                node, at = step.program.nodes[output.node], place.written(step.writes[output.array], output.index)
                if node[0] not in TRIGONOMETRIC or at is None:
                    raise UnsupportedError("machine code for loops takes sines and cosines alone, of coordinates")
                pair = wanted.setdefault(operands(node)[0], [FRONT - 1, FRONT - 1])
                pair[node[0] == "cos"] = place.start(at[0], i) + at[1]
            for angle, pair in wanted.items():
                array, entry = input_of(step.program.nodes[angle])
                bank, offset = place.read(step.reads[array], entry)
                self.slots += (place.start(bank, i) + offset, *pair)
        return [ANGLES, begin, (len(self.slots) - begin) // 3]

    def _columns(self, columns: Columns) -> list[int]:
        rolled, body = self.rolled, list[int]()
        dofs = [(i, k) for i, joint in enumerate(rolled.joints) for k in range(rolled.kinds[joint.kind].nv)]
        for part in columns.body:
            body += self._walk(part, dofs) if isinstance(part, Walk) else self._sweep(part)
        return [COLUMNS, len(body), *(i for i, _ in dofs), *body]

    def _walk(self, walk: Walk, dofs: Sequence[tuple[int, int]]) -> list[int]:
        """For each column its start; for each joint the run of visits at it and its ancestors, and the joint after."""
        rolled, words = self.rolled, list[int]()
        starts = [[self._record(step, kind, True) for step in steps] for kind, steps in enumerate(walk.starts)]
        visits = [self._record(step, kind, True) for kind, step in enumerate(walk.visits)]
        if rolled.branches():
            words += self._clear(self.place.of_walk(walk))
        words += (WALK, len(rolled.joints))
        for i, k in dofs:
            joint = rolled.joints[i]
            words += (starts[joint.kind][k], self.number[i], joint.parent)
        runs: list[int] = []
        for i, joint in enumerate(rolled.joints):
            goes_on = joint.parent == i - 1 >= 0 and rolled.joints[i - 1].kind == joint.kind
            runs.append(1 + (runs[-1] if goes_on else 0))
            words += (visits[joint.kind], self.number[i], runs[i], rolled.joints[i + 1 - runs[i]].parent)
        return words

    def _clear(self, slots: Sequence[int]) -> list[int]:
        """Sets these slots to zero."""
        begin = len(self.slots)
        self.slots += slots
        return [CLEAR, begin, len(slots)] if slots else []

    def _product(self, product: Product) -> list[int]:
        bases = self.place.bases
        left, right = bases[Bank("input", product.left.array)], bases[Bank("matrix", product.right.array)]
        return product_words(product, left, right, bases[Bank("matrix", product.result)], self.slots)

    def _record(self, step: Step, kind: int, backward: bool) -> int:
        """The number of a step's record (see tiles/loops.h); -1 for a step that writes nothing."""
        if not step.writes or not self.members[kind]:
            return -1
        made = block(step, self.members[kind], self.place, backward, self.way)
        constants = self._constants(made, kind)
        row_bytes = len(constants) // len(self.members[kind])
        self.records += (self.offset, self.constant_bytes, row_bytes, len(self.slots), len(made.bases))
        self.kernels.append(made.kernel)
        self.offset += len(padded(made.kernel.text))
        self.constants.append(constants)
        self.constant_bytes += len(constants)
        for k in range(len(self.members[kind])):
            self.slots += [base.starts[k] for base in made.bases]
        return len(self.records) // 5 - 1

    def _constants(self, block: Block, kind: int) -> bytes:
        """The constants of a block, one row for each joint of the kind."""
        rows: list[float] = []
        for i in self.members[kind]:
            table = self.rolled.joints[i].table
            rows += (table[x] if isinstance(x, int) else x for x in block.constants)
        return packed_constants(rows, self.way.isa, self.way.bits)


# Segments -> machine code: kernels of Programs, and the driver's matrix products between them (tiles/loops.h).


ORDERS = ("tips", "arrays")
"""The orders for long Programs; the order `blocks` is for products, which these Programs do not contain."""
BESIDE = 3
"""Tiles that run together where left operands of products may be the same for all states (tiles/side.h)."""


def assemble_segments(
    code: Segmented, isa: Isa, bits: int, target: Target = TARGET, layouts: Layouts | None = None
) -> Assembled:
    """The machine code of segments, without a scalar form. layouts, errors: as in `assemble`."""
    code = code.rewritten(lambda program: expanded(program, bits, isa))
    work, space = Straight(isa, bits, replace(target, huge=ORDERS)), Workspace(code)
    table, begins = list[float](), dict[str, int]()
    for constant in code.constants:
        begins[constant.name] = len(table)
        table += constant.values
    words: list[int] = []
    for segment in code.segments:
        begin = len(words)
        if isinstance(segment, Program):
            words += _program(work, space, code, segment)
        elif isinstance(segment, Iteration):
            _iteration(work, space, segment, words)
            continue
        else:
            left, right = segment.left.array, space.bases[segment.right.array]
            base = begins[left] if left in begins else space.bases[left]
            kind = SAME if left in begins else HELD if left in code.held else 0
            words += product_words(segment, base, right, space.multiplied(segment), work.slots, kind)
        _add_words(work, words, begin)
    tiles = BESIDE if any(product.left.array in code.held | begins.keys() for product in code.products) else 1
    alone = sum(1 << k for k, array in enumerate(code.inputs) if array.name in on_the_left(code))
    head = (0, tiles, space.size, 0, len(packed_constants(work.constants.values, isa, bits)), alone)
    layouts = layouts or full_layouts(code, isa.lanes(bits))
    bases = [space.bases[array.name] for array in code.inputs]
    ports = port_numbers(bases, space.tables, space.zero, layouts, work.slots)
    return work.assembled(space.zero, len(bases), ports, tiles * space.size, (*head, *words), table)


def _program(work: Straight, space: Workspace, code: Segmented, program: Program) -> list[int]:
    """Adds the kernels of a Program; gives the words that copy its outputs."""
    own, room = own_inputs(code, program), space.room(program)
    low = work.add(program, {k for k in inline_angles(program) if input_of(program.nodes[k])[0] in own}, room)
    return _copied(work, space.programmed(low, room.first, work.size))


def _add_words(work: Straight, words: Sequence[int], begin: int) -> None:
    """The words from this one on are commands of the last step, or of a new one."""
    if work.steps[-3:-2] == [LOOPS] and len(words) > begin:
        work.steps[-1] += len(words) - begin
    elif len(words) > begin:
        work.steps += (LOOPS, WORDS + begin, len(words) - begin)


def _iteration(work: Straight, space: Workspace, iteration: Iteration, words: list[int]) -> None:
    """Adds the kernels of the body, and the words before and behind it: the last ones say where it is done again."""
    begin = len(words)
    words += _copied(work, space.begun(iteration))
    _add_words(work, words, begin)
    room, again = space.room(iteration.body, is_body=True), len(work.steps) // 3
    low = work.add(iteration.body, (), room)
    begin = len(words)
    words += _copied(work, space.iterated(low, room.first, work.size))
    if len(words) > begin:  # a step of its own, also behind the words before the loop
        work.steps += (LOOPS, WORDS + begin, len(words) - begin)
    if len(work.steps) // 3 == again:  # the body changes nothing
        return
    flag = -1 if iteration.until < 0 else space.bases[iteration.body.arrays[iteration.until].name]
    work.steps += (AGAIN, WORDS + len(words), AGAIN_WORDS)
    words += (again, flag, iteration.most)


def _copied(work: Straight, copies: Sequence[Copy]) -> list[int]:
    words: list[int] = []
    for copy in copies:
        work.values += ((slot, 0.0) for slot in copy.cleared)
        words += (COPY, len(work.slots), 2 * len(copy.to))
        work.slots += (slot for pair in zip(copy.slots, copy.to, strict=True) for slot in pair)
    return words


# Loops over time around a kernel of tiles; the same machine code is used for any number of steps.


TILES, ALL = 128, 1 << 40
"""How many tiles of it a thread takes at once, since lanes are idle at the end of these; states that end together."""


def repeated(kernel: NativeKernel, loop: TimeLoop) -> NativeKernel | None:
    """The kernel of a loop around this one; None if it is no kernel of tiles."""
    if kernel.body is None:
        return None
    tiles, single, of, columns = kernel.body
    numbers = _numbers(loop)
    plan = machine.repeat(tiles, numbers)
    shape = _looped(of, of, loop, plan.work_bytes)
    packed = None
    if not loop.together:
        packed = plan_entry(plan, _looped(columns, of, loop, plan.work_bytes), kernel.dtype, PACKED_IN + PACKED_OUT)
    text = f"{_said(loop, of.lanes)}, {kernel.description}"
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
        else 1
        if give.output == COUNT
        else (whole if give.summed else once).out_sizes[give.output]
        for give in loop.gives
    ]
    state_ns = whole.state_ns * loop.expected
    least = ALL if loop.together else TILES * whole.lanes * _refills(loop)
    return replace(
        whole,
        in_sizes=tuple(inputs),
        out_sizes=tuple(outputs),
        work_bytes=work_bytes,
        state_ns=state_ns,
        least=least,
    )


def _refills(loop: TimeLoop) -> bool:
    """Whether a state that is done leaves its place to the next one: see tiles/repeat_until.h."""
    return loop.until >= 0 and not any(take.every for take in loop.takes)


def _said(loop: TimeLoop, lanes: int) -> str:
    if loop.until < 0:
        return f"{loop.steps} steps a tile"
    if loop.together:
        return f"at most {loop.steps} steps, all states until one is done"
    refilled = ", one that is done leaves its place to the next" if _refills(loop) else ""
    return f"at most {loop.steps} steps, tiles of {lanes} states{refilled}"


def _numbers(loop: TimeLoop) -> tuple[int, ...]:
    """The loop as the numbers that tiles/repeat.h describes."""
    takes = chain.from_iterable((take.carried, take.every) for take in loop.takes)
    gives = chain.from_iterable((give.output, give.every, int(give.summed)) for give in loop.gives)
    return (loop.steps, int(loop.backwards), len(loop.gives), loop.until, int(loop.together), *takes, *gives)
