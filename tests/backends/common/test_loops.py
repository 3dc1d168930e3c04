"""Loops over joints, and segments, give the same through their slots in the workspace as by names."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import condyle
from condyle import scalar
from condyle.backends.common.chunks import Angles, Cut, Lowered, angle_slots, lower
from condyle.backends.common.loops import (
    AT_ONCE,
    Bank,
    Copy,
    Layout,
    Workspace,
    layout,
    on_the_left,
    own_inputs,
    product_table,
)
from condyle.functions import FUNCTIONS
from condyle.ir import interp
from condyle.ir.expr import Expr, Graph
from condyle.ir.loops import Columns, Mirror, Step, Sweep, Walk
from condyle.ir.program import Array, Output, Program, operands
from condyle.ir.segments import Iteration, Product, Segment, Segmented, gives, verify_segments, whole
from condyle.model.tree import tree_of
from condyle.operations import MEANING
from condyle.passes import pipeline
from condyle.specification.ports import F_EXT
from condyle.trace.loops import roll

N, FRONT = 2, 3


class Slots:
    """The workspace of one run, NaN where nothing was written."""

    def __init__(self, place: Layout, inputs: list[np.ndarray]) -> None:
        self.place, self.rolled = place, place.rolled
        self.w = np.full((place.size, N), np.nan)
        self.w[place.zero] = 0.0
        self.w[place.to_clear()] = 0.0
        for array, rows in zip(self.rolled.inputs, inputs, strict=True):
            base = place.bases[Bank("input", array.name)]
            self.w[base : base + array.size] = rows.T

    def slot(self, bank: Bank, offset: int, i: int, c: int) -> int:
        column = {"column": c, "row": c * self.rolled.nv}.get(bank.kind, 0)
        return self.place.start(bank, i) + offset + column

    def step(self, step: Step, i: int, c: int = 0) -> None:
        reads: list[np.ndarray] = []
        used = {(int(a), int(k)) for op, a, k in (node for node in step.program.nodes if node[0] == "input")}
        for number, (ref, array) in enumerate(zip(step.reads, step.program.inputs, strict=True)):
            if ref.space == "table":
                reads.append(np.tile(self.rolled.joints[i].table, (N, 1)))
                continue
            here = {k: self.slot(*self.place.read(ref, k), i, c) for k in range(array.size) if (number, k) in used}
            reads.append(np.stack([self.w[here[k]] if k in here else np.full(N, np.nan) for k in range(array.size)], 1))
        values = interp.run(step.program, reads or [np.zeros((N, 0))])
        for ref, value in zip(step.writes, values, strict=True):
            for k in range(value.shape[1]):
                to = self.place.written(ref, k)
                if to is not None:
                    self.w[self.slot(*to, i, c)] = value[:, k]

    def sweep(self, sweep: Sweep, n: int, c: int = 0) -> None:
        for i in reversed(range(n)) if sweep.backward else range(n):
            self.step(sweep.steps[self.rolled.joints[i].kind], i, c)

    def walk(self, walk: Walk, i: int, k: int, c: int) -> None:
        self.w[self.place.of_walk(walk)] = 0.0
        self.step(walk.starts[self.rolled.joints[i].kind][k], i, c)
        while (i := self.rolled.joints[i].parent) >= 0:
            self.step(walk.visits[self.rolled.joints[i].kind], i, c)

    def matrix(self, name: str) -> np.ndarray:
        """(nv, nv, n), a view."""
        nv, base = self.rolled.nv, self.place.bases[Bank("matrix", name)]
        return self.w[base : base + nv**2].reshape(nv, nv, N)

    def run(self) -> list[np.ndarray]:
        for loop in self.rolled.loops:
            if isinstance(loop, Sweep):
                self.sweep(loop, len(self.rolled.joints))
            elif isinstance(loop, Columns):
                self.columns(loop)
            elif isinstance(loop, Mirror):
                whole = self.matrix(loop.matrix)
                for row in range(self.rolled.nv):
                    whole[row, :row] = whole[:row, row]
            else:
                self.product(loop)
        return [self.w[slots].T for slots in self.place.outputs()]

    def columns(self, loop: Columns) -> None:
        for i, joint in enumerate(self.rolled.joints):
            for k in range(self.rolled.kinds[joint.kind].nv):
                for part in loop.body:
                    if isinstance(part, Walk):
                        self.walk(part, i, k, joint.v + k)
                    else:
                        self.sweep(part, i + 1 if part.upto else len(self.rolled.joints), joint.v + k)

    def product(self, loop: Product) -> None:
        base, nv = self.place.bases[Bank("input", loop.left.array)], self.rolled.nv
        right = self.matrix(loop.right.array).reshape(nv**2, N).T
        made = interp.product(loop, self.w[base : base + nv**2].T, right)
        self.matrix(loop.result)[...] = np.moveaxis(made, 0, 2)


@pytest.mark.parametrize("name", ["fd", "m", "minv", "did", "difd"])
def test_slots_hold_what_is_read(name: str) -> None:
    """No entry is overwritten before its last reader, and none is read that was not written."""
    robot = condyle.random_tree(3, 9, floating_base=True)
    rolled = roll(tree_of(robot), FUNCTIONS[name].taking(F_EXT))
    assert rolled.branches()
    rng = np.random.default_rng(0)
    inputs = [rng.uniform(-1.0, 1.0, (N, array.size)) for array in rolled.inputs]
    place = layout(rolled, FRONT)
    assert min(place.bases.values()) >= FRONT and place.zero == place.size - 1
    expected = interp.run_rolled(rolled, inputs)
    for found, answer in zip(Slots(place, inputs).run(), expected, strict=True):
        np.testing.assert_array_equal(found, answer.reshape(N, -1))


# Segments: random ones, with whatever a Program can answer and an array can be used for.


class Chance:
    """The same numbers on every machine."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def below(self, n: int) -> int:
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % n


class Tangle:
    """A random function: arrays of 1 to 6 numbers, each written by one segment and read by any later one."""

    def __init__(self, seed: int) -> None:
        self.chance = Chance(seed)
        self.known = [Array("x", (6,)), Array("u", (2, 2))]
        self.zeros: dict[str, set[int]] = {}
        """Entries that are zero in every state."""
        self.segments: list[Segment] = []

    def code(self) -> Segmented:
        inputs = tuple(self.known)
        for _ in range(6):
            (*[self.program] * 5, *[self.product] * 3, *[self.iteration] * 2)[self.chance.below(10)]()
        self.program()
        answers = [array for array in self.known[2:] if self.chance.below(5) < 2] or self.known[-1:]
        return verify_segments(Segmented("tangle", inputs, tuple(answers), (), tuple(self.segments)))

    def some(self, most: int) -> list[Array]:
        picked = dict.fromkeys(self.chance.below(len(self.known)) for _ in range(most))
        return [self.known[k] for k in picked]

    def values(self, graph: Graph, inputs: list[Array], count: int) -> list[Expr | float]:
        """Zeros, constants, inputs, and few sums and products, some of them more than once."""
        leaves = [graph.input(a, k) for a, array in enumerate(inputs) for k in range(array.size)]
        pick = lambda: leaves[self.chance.below(len(leaves))]  # noqa: E731
        made: list[Expr | float] = [0.0, 2.0 + self.chance.below(3), pick(), pick() * 0.5 - pick()]
        made += [scalar.sin(pick()) * pick(), pick() * pick() + 0.25]  # type: ignore[operator, arg-type]
        return [made[self.chance.below(len(made))] for _ in range(count)]

    def traced(self, inputs: list[Array], arrays: list[Array]) -> Program:
        graph, entries = Graph(), list[tuple[int, int, Expr | float]]()
        for number, array in enumerate(arrays):
            entries += [(number, k, x) for k, x in enumerate(self.values(graph, inputs, array.size))]
        name = f"s{len(self.segments)}"
        return pipeline.apply(graph.program(name, inputs, arrays, entries), pipeline.CLEAN)

    def program(self) -> None:
        count = len(self.segments)
        arrays = [Array(f"p{count}_{k}", (1 + self.chance.below(6),)) for k in range(1 + self.chance.below(2))]
        made = self.traced(self.some(2), arrays)
        for number, array in enumerate(arrays):
            written = {output.index for output in made.outputs if output.array == number}
            self.zeros[array.name] = set(range(array.size)) - written
        self.add(made, arrays)

    def product(self) -> None:
        left, right = (self.known[self.chance.below(len(self.known))] for _ in range(2))
        k = 1 + self.chance.below(min(left.size, right.size))
        m, n = left.size // k, right.size // k
        zeros = self.zeros.get(left.name, set())
        across = tuple(tuple(j for j in range(k) if i * k + j not in zeros) for i in range(m))
        rows = tuple(tuple(j for j in range(k) if j == c % k or self.chance.below(3)) for c in range(n))
        minus = self.chance.below(2) == 1
        made = Product(whole(left.name, k), whole(right.name, n), f"p{len(self.segments)}", rows, across, minus)
        self.add(made, [made.array])

    def iteration(self) -> None:
        starts, count = self.some(2), len(self.segments)
        held = [array for array in self.some(2) if array not in starts]
        carried = [Array(f"i{count}_{k}", array.shape) for k, array in enumerate(starts)]
        body = self.traced([*carried, *held], carried)
        self.add(Iteration(body, tuple(array.name for array in starts), 3), carried)

    def add(self, segment: Segment, arrays: list[Array]) -> None:
        self.segments.append(segment)
        self.known += arrays


Action = Callable[[np.ndarray], None]


def chunks(low: Lowered) -> Action:
    """A Program as C runs it: values of a chunk by node, all others by slot."""

    def run(w: np.ndarray) -> None:
        nodes = low.program.nodes
        for step in low.steps:
            if isinstance(step, Angles):
                for angle in step.angles:
                    x, (_, sine, cosine) = w[low.slots[angle.angle]].copy(), angle_slots(low, angle)
                    w[sine], w[cosine] = np.sin(x), np.cos(x)
                continue
            local = {k: np.full(w.shape[1], float(nodes[k][1])) for k in range(len(nodes)) if nodes[k][0] == "const"}
            for k in step.nodes:
                values = [local[a] if a in local else w[low.slots[a]] for a in operands(nodes[k])]
                local[k] = MEANING[nodes[k][0]](*values)
                if k in low.slots:
                    w[low.slots[k]] = local[k]

    return run


def copied(copy: Copy, zero: int) -> Action:
    """One slot after the other."""

    def run(w: np.ndarray) -> None:
        for slot, to in [*zip(copy.slots, copy.to, strict=True), *((zero, slot) for slot in copy.cleared)]:
            w[to] = w[slot]

    return run


def multiplied(product: Product, left: tuple[int, int], right: tuple[int, int], to: int) -> Action:
    def run(w: np.ndarray) -> None:
        x, y = (w[base : base + size].T for base, size in (left, right))
        w[to : to + product.array.size] = interp.product(product, x, y).reshape(len(x), -1).T

    return run


def through_slots(code: Segmented, inputs: list[np.ndarray]) -> tuple[list[np.ndarray], int, int]:
    """The answers, the number of slots, and how many of them are copied or cleared."""
    space, cut = Workspace(code), Cut(shortest=1, longest=3)
    sizes = {array.name: array.size for array in code.inputs}
    actions: list[Action] = []
    constants: list[tuple[int, float]] = []
    moved = list[int]()

    def copies(of_segment: list[Copy]) -> list[Action]:
        moved.extend(len(copy.to) + len(copy.cleared) for copy in of_segment)
        return [copied(copy, space.zero) for copy in of_segment]

    for segment in code.segments:
        if isinstance(segment, Product):
            sides = [(space.bases[view.array], sizes[view.array]) for view in (segment.left, segment.right)]
            actions.append(multiplied(segment, *sides, space.multiplied(segment)))
        elif isinstance(segment, Iteration):
            actions += copies(space.begun(segment))
            room = space.room(segment.body, is_body=True)
            low = lower(segment.body, cut, room=room)
            turn = [chunks(low), *copies(space.iterated(low, room.first, low.size))]
            actions += turn * segment.most
            constants += low.constants
        else:
            room = space.room(segment)
            low = lower(segment, cut, room=room)
            actions += [chunks(low), *copies(space.programmed(low, room.first, low.size))]
            constants += low.constants
        sizes |= {array.name: array.size for array in gives(segment)}
    w = np.full((space.size, N), np.nan)
    w[space.zero] = 0.0
    for slot, value in constants:
        w[slot] = value
    for array, rows in zip(code.inputs, inputs, strict=True):
        w[space.bases[array.name] : space.bases[array.name] + array.size] = rows.T
    for action in actions:
        action(w)
    return [w[list(table)].T for table in space.tables], space.size, sum(moved)


def test_slots_of_segments_hold_what_is_read() -> None:
    """Each array is where the first free slots are, and an operand is computed in its place: so few slots are
    there in all workspaces, and so few of them are copied or cleared."""
    slots = moved = 0
    for seed in range(60):
        code = Tangle(seed).code()
        inputs = [np.random.default_rng(seed).uniform(0.1, 0.9, (N, array.size)) for array in code.inputs]
        found, size, copies = through_slots(code, inputs)
        slots, moved = slots + size, moved + copies
        for answer, expected in zip(found, interp.run_segments(code, inputs), strict=True):
            np.testing.assert_allclose(answer, expected.reshape(N, -1), rtol=1e-13, atol=1e-300, err_msg=str(seed))
    assert (slots, moved) == (3120, 1512)


def shared() -> Segmented:
    """first reads a, b and c; second reads b; c is an answer; w is an operand on the left, v on both sides."""
    a, b, c = (Array(name, (2,)) for name in "abc")
    w, v = Array("w", (2, 2)), Array("v", (2, 2))
    one, two = Array("one", (2, 1)), Array("two", (2, 1))
    nodes = (("input", 0, 0), ("input", 1, 0), ("input", 2, 0))
    first = Program("first", (a, b, c), (one,), nodes, (Output(0, 0, 0), Output(0, 1, 2)))
    second = Program("second", (b,), (two,), nodes[:1], (Output(0, 0, 0),))
    rows, across = ((0, 1),), ((0, 1), (0, 1))
    products = [Product(whole(left, 2), whole("one", 1), f"{left} one", rows, across) for left in "wv"]
    products.append(Product(whole("w", 2), whole("v", 2), "w v", rows * 2, across))
    held = frozenset("abwv")
    return verify_segments(Segmented("f", (a, b, c, w, v), (c, two), (), (first, second, *products), held))


def test_inputs_of_one_program_and_operands_on_the_left() -> None:
    """Own inputs of a Program: no other segment reads them, and they are no answers. On the left: by products alone."""
    code = shared()
    first, second = code.programs
    assert own_inputs(code, first) == {0} and own_inputs(code, second) == set()
    assert on_the_left(code) == {"w"}


def test_a_product_as_numbers() -> None:
    """Of 9 x 2 and 2 x 4, in which the last column reads the second row alone: for each block how many lines, columns
    and terms there are, then which. One column is 8 lines at a time, and of three columns there are 4."""
    assert AT_ONCE == {1: 8, 2: 4, 3: 4}
    product = Product(whole("l", 2), whole("r", 4), "p", (*[(0, 1)] * 3, (1,)), ((0, 1),) * 9)
    blocks = [[3, 3, 2, 0, 4, 5, 0, 1, 2, 0, 1], [2, 1, 1, 0, 1, 3, 1]]
    assert product_table(product) == [number for block in blocks for number in block]


def test_lines_of_a_product_are_taken_together() -> None:
    """Eight for a single column, four for two or three; where there are fewer, one by one."""

    def blocks(lines: int, columns: int) -> list[int]:
        return product_table(Product(whole("a", 1), whole("b", columns), "y", ((0,),) * columns, ((0,),) * lines))

    assert blocks(8, 1) == [1, 1, 1, 0, 0, 0] and blocks(9, 1) == [2, 1, 1, 0, 1, 0, 0]
    assert blocks(4, 2) == [1, 2, 1, 0, 0, 1, 0] and blocks(4, 3) == [1, 3, 1, 0, 0, 1, 2, 0]
    assert blocks(3, 3) == [3, 3, 1, 0, 1, 2, 0, 1, 2, 0]
    assert blocks(4, 4) == [1, 3, 1, 0, 0, 1, 2, 0, 4, 1, 1, 0, 1, 2, 3, 3, 0]
