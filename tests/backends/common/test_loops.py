"""Loops over joints give the same through their slots in the workspace as by names."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from condyle.backends.common.loops import Bank, Layout, layout
from condyle.functions import FUNCTIONS
from condyle.ir import interp
from condyle.ir.loops import Columns, Mirror, Ref, Step, Sweep, Walk
from condyle.ir.segments import Product
from condyle.model.tree import tree_of
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


@pytest.mark.parametrize("name", ["fd", "m", "minv", "difd", "dfd"])
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
