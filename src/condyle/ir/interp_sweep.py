"""The meaning of loops over joints: their interpreter, loop by loop, on batches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from condyle.ir import interp
from condyle.ir.interp_segments import product
from condyle.ir.segments import Product
from condyle.ir.sweep import Columns, Joint, Loop, Mirror, Ref, Rolled, Step, Sweep, Walk

Array = NDArray[np.floating]


def run_rolled(rolled: Rolled, inputs: Sequence[Array], dtype: type[np.floating] = np.float64) -> list[Array]:
    """The output arrays, each (n, *shape), for input arrays (n, *shape) or (1, *shape), computed in `dtype`."""
    machine = _Machine(rolled, inputs, dtype)
    for loop in rolled.loops:
        machine.loop(loop)
    return [np.reshape(machine.answer(array.name), (machine.n, *array.shape)) for array in rolled.arrays]


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
        self.buffers: dict[str, Array] = {  # NaN, so that a read before the first write is seen
            name: np.full((self.n, len(rolled.joints), width), np.nan, dtype) for name, width in rolled.buffers.items()
        }
        self.matrices: dict[str, Array] = {m: np.zeros((self.n, rolled.nv, rolled.nv), dtype) for m in rolled.matrices}
        self.carry: Array = np.zeros((self.n, 0), dtype)
        self.column = 0

    def answer(self, name: str) -> Array:
        """An output by its name: a matrix, or the entries that steps wrote."""
        results = self.rolled.results
        return self.matrices[results[name]] if name in results else self.outputs[name]

    def loop(self, loop: Loop) -> None:
        if isinstance(loop, Sweep):
            self._sweep(loop, len(self.rolled.joints))
        elif isinstance(loop, Columns):
            self._columns(loop)
        elif isinstance(loop, Mirror):
            upper = np.triu(self.matrices[loop.matrix])
            self.matrices[loop.matrix] = upper + np.swapaxes(np.triu(upper, 1), 1, 2)
        else:
            self._product(loop)

    def _columns(self, columns: Columns) -> None:
        for i, joint in enumerate(self.rolled.joints):
            for k in range(self.rolled.kinds[joint.kind].nv):
                self.column = joint.v + k
                for part in columns.body:
                    if isinstance(part, Walk):
                        self._walk(part, i, k)
                    else:
                        self._sweep(part, i + 1 if part.upto else len(self.rolled.joints))

    def _sweep(self, sweep: Sweep, n: int) -> None:
        for i in reversed(range(n)) if sweep.backward else range(n):
            self._step(sweep.steps[self.rolled.joints[i].kind], i)

    def _walk(self, walk: Walk, i: int, k: int) -> None:
        joints = self.rolled.joints
        for name in walk.clears:
            self.buffers[name][...] = 0.0
        self._step(walk.starts[joints[i].kind][k], i)
        while (i := joints[i].parent) >= 0:
            self._step(walk.visits[joints[i].kind], i)

    def _product(self, what: Product) -> None:
        right = np.reshape(self.matrices[what.right.array], (self.n, -1))
        self.matrices[what.result][...] = product(what, self.inputs[what.left.array], right)

    def _step(self, step: Step, i: int) -> None:
        joint = self.rolled.joints[i]
        reads = [
            self._read(ref, joint, i, array.size) for ref, array in zip(step.reads, step.program.inputs, strict=True)
        ]
        values = interp.run(step.program, reads or [np.zeros((self.n, 0))], self.dtype)
        for ref, value in zip(step.writes, values, strict=True):
            self._write(ref, joint, i, np.broadcast_to(value, (self.n, value.shape[1])))

    def _read(self, ref: Ref, joint: Joint, i: int, size: int) -> Array:
        if ref.space == "table":
            return np.asarray([joint.table], self.dtype)
        if ref.space == "carry":
            return self.carry
        if ref.space == "diagonal":
            return np.stack([self.matrices[ref.name][:, joint.v + k, joint.v + k] for k in range(size)], axis=1)
        return self._place(ref, joint, i, size)

    def _write(self, ref: Ref, joint: Joint, i: int, value: Array) -> None:
        size = value.shape[1]
        if ref.space == "carry":
            self.carry = value
        elif ref.space == "diagonal":
            for k in range(size):
                self.matrices[ref.name][:, joint.v + k, joint.v + k] = value[:, k]
        else:
            self._place(ref, joint, i, size)[...] = value

    def _place(self, ref: Ref, joint: Joint, i: int, size: int) -> Array:
        """The view of the storage that a reference is bound to."""
        own = slice(joint.v, joint.v + size)
        if ref.space == "input":
            begin = self.rolled.offset(joint, ref.name)
            return self.inputs[ref.name][:, begin : begin + size]
        if ref.space == "output":
            return self.outputs[ref.name][:, own]
        if ref.space == "column":
            return self.matrices[ref.name][:, own, self.column]
        if ref.space == "row":
            return self.matrices[ref.name][:, self.column, own]
        return self.buffers[ref.name][:, i if ref.space == "here" else joint.parent, :size]
