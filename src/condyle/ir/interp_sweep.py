"""What rolled sweeps mean: run them, loop by loop, on batches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from condyle.ir import interp
from condyle.ir.sweep import Columns, Joint, Loop, Mirror, Pairs, Product, Ref, Rolled, Step, Sweep

Array = NDArray[np.floating]


def run_rolled(rolled: Rolled, inputs: Sequence[Array], dtype: type[np.floating] = np.float64) -> list[Array]:
    """The output arrays, each (n, *shape), for input arrays (n, *shape) or (1, *shape), computed in `dtype`."""
    machine = _Machine(rolled, inputs, dtype)
    for loop in rolled.loops:
        machine.loop(loop)
    outputs = [machine.matrices[rolled.results[a.name]] if a.name in rolled.results else machine.outputs[a.name]
               for a in rolled.arrays]  # fmt: skip
    return [np.reshape(output, (machine.n, *array.shape)) for output, array in zip(outputs, rolled.arrays, strict=True)]


class _Machine:
    """The storage of one run; the first axis of everything is the batch."""

    def __init__(self, rolled: Rolled, inputs: Sequence[Array], dtype: type[np.floating]) -> None:
        self.rolled, self.dtype = rolled, dtype
        self.n = max((len(array) for array in inputs), default=1)
        self.inputs = {
            array.name: np.broadcast_to(np.reshape(np.asarray(values, dtype), (len(values), -1)), (self.n, array.size))
            for array, values in zip(rolled.inputs, inputs, strict=True)
        }
        self.outputs: dict[str, Array] = {a.name: np.zeros((self.n, a.size), dtype) for a in rolled.arrays}
        self.buffers: dict[str, Array] = {
            name: np.zeros((self.n, len(rolled.joints) + 1, width), dtype) for name, width in rolled.buffers.items()
        }
        for name, values in rolled.world.items():
            self.buffers[name][:, -1] = values
        self.matrices: dict[str, Array] = {m: np.zeros((self.n, rolled.nv, rolled.nv), dtype) for m in rolled.matrices}
        self.carry: Array = np.zeros((self.n, 0), dtype)
        self.column = 0

    def loop(self, loop: Loop) -> None:
        if isinstance(loop, Sweep):
            self._sweep(loop)
        elif isinstance(loop, Pairs):
            self._pairs(loop)
        elif isinstance(loop, Columns):
            for column in range(self.rolled.nv):
                self.column = column
                for sweep in loop.body:
                    self._sweep(sweep)
        elif isinstance(loop, Mirror):
            lower = np.tril(self.matrices[loop.matrix])
            self.matrices[loop.matrix] = lower + np.swapaxes(np.tril(lower, -1), 1, 2)
        else:
            self._product(loop)

    def _sweep(self, sweep: Sweep) -> None:
        order = range(len(self.rolled.joints))
        for i in reversed(order) if sweep.backward else order:
            self._step(sweep.steps[self.rolled.joints[i].kind], i)

    def _pairs(self, pairs: Pairs) -> None:
        joints = self.rolled.joints
        for i, joint in enumerate(joints):
            for k, start in enumerate(pairs.starts[joint.kind]):
                self.carry = np.zeros((self.n, pairs.carry), self.dtype)
                self._step(start, i)
                j = i
                while True:
                    self._meet(pairs, joint.v + k, i, j)
                    if joints[j].parent < 0:
                        break
                    self._step(pairs.rises[joints[j].kind], j)
                    j = joints[j].parent

    def _meet(self, pairs: Pairs, row: int, i: int, j: int) -> None:
        joint = self.rolled.joints[j]
        (values,) = self._values(pairs.meets[joint.kind], j)
        values = np.reshape(values, (self.n, -1, len(pairs.targets)))
        for m, target in enumerate(pairs.targets):
            columns = slice(joint.v, joint.v + values.shape[1])
            if not target.transposed:
                self.matrices[target.matrix][:, row, columns] = values[:, :, m]
            elif j != i:
                self.matrices[target.matrix][:, columns, row] = values[:, :, m]

    def _product(self, product: Product) -> None:
        nv = self.rolled.nv
        left = np.reshape(self.inputs[product.left], (self.n, nv, nv))
        self.matrices[product.result][...] = -np.einsum("nij,njk->nik", left, self.matrices[product.right])

    def _step(self, step: Step, i: int) -> None:
        for ref, value in zip(step.writes, self._values(step, i), strict=True):
            self._write(ref, i, value)

    def _values(self, step: Step, i: int) -> list[Array]:
        joint = self.rolled.joints[i]
        reads = [
            self._read(ref, joint, i, array.size) for ref, array in zip(step.reads, step.program.inputs, strict=True)
        ]
        values = interp.run(step.program, reads or [np.zeros((self.n, 0))], self.dtype)
        return [np.broadcast_to(value, (self.n, value.shape[1])) for value in values]

    def _read(self, ref: Ref, joint: Joint, i: int, size: int) -> Array:
        own = slice(joint.v, joint.v + size)
        if ref.space == "table":
            return np.asarray([joint.table], self.dtype)
        if ref.space == "input":
            begin = self.rolled.offset(joint, ref.name)
            return self.inputs[ref.name][:, begin : begin + size]
        if ref.space == "carry":
            return self.carry
        if ref.space == "column":
            return self.matrices[ref.name][:, own, self.column]
        if ref.space == "unit":
            return np.asarray([[float(joint.v + k == self.column) for k in range(size)]], self.dtype)
        return self.buffers[ref.name][:, i if ref.space == "here" else joint.parent, :size]

    def _write(self, ref: Ref, i: int, value: Array) -> None:
        joint, size = self.rolled.joints[i], value.shape[1]
        own = slice(joint.v, joint.v + size)
        if ref.space == "carry":
            self.carry = value
        elif ref.space == "here":
            self.buffers[ref.name][:, i, :size] = value
        elif ref.space == "output":
            self.outputs[ref.name][:, own] = value
        elif ref.space == "column":
            self.matrices[ref.name][:, own, self.column] = value
        elif ref.space == "diagonal":
            for k in range(size):
                self.matrices[ref.name][:, joint.v + k, joint.v + k] += value[:, k]
        elif joint.parent >= 0:
            self.buffers[ref.name][:, joint.parent, :size] += value
