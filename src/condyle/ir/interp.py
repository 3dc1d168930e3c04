"""The meaning of a Program: its interpreter, node by node, on batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from condyle.ir.loops import (
    COUNT,
    Code,
    Columns,
    Joint,
    Loop,
    Mirror,
    Ref,
    Repeated,
    Rolled,
    Step,
    Sweep,
    Take,
    TimeLoop,
    Walk,
)
from condyle.ir.program import Program, constant_of, input_of, operands
from condyle.ir.segments import Iteration, Product, Segmented, View
from condyle.operations import MEANING

Array = NDArray[np.floating]


def values(program: Program, inputs: Sequence[Array], dtype: type[np.floating] = np.float64) -> list[Array]:
    """The value of each node, for input arrays (n, *shape) or (1, *shape), computed in `dtype`."""
    flat = [np.reshape(np.asarray(array, dtype=dtype), (len(array), -1)) for array in inputs]
    found: list[Array] = []
    with np.errstate(all="ignore"):
        for node in program.nodes:
            if node[0] == "const":
                found.append(np.asarray(constant_of(node), dtype=dtype))
            elif node[0] == "input":
                array, entry = input_of(node)
                found.append(flat[array][:, entry])
            else:
                found.append(MEANING[node[0]](*(found[k] for k in operands(node))))
    return found


def run(program: Program, inputs: Sequence[Array], dtype: type[np.floating] = np.float64) -> list[Array]:
    """The output arrays, each (n, *shape), for inputs as those of `values`."""
    batch, found = max((len(array) for array in inputs), default=1), values(program, inputs, dtype)
    results: list[Array] = [np.zeros((batch, array.size), dtype=dtype) for array in program.arrays]
    for output in program.outputs:
        results[output.array][:, output.index] = found[output.node]
    return [np.reshape(result, (batch, *array.shape)) for result, array in zip(results, program.arrays, strict=True)]


# The meaning of segments: their interpreter, Programs and products of matrices in order, on batches.


def run_segments(code: Segmented, inputs: Sequence[Array], dtype: type[np.floating] = np.float64) -> list[Array]:
    """The output arrays, each (n, *shape), for input arrays (n, *shape) or (1, *shape), computed in `dtype`."""
    n = max((len(array) for array in inputs), default=1)
    known = {constant.name: np.asarray([constant.values], dtype) for constant in code.constants}
    for array, values in zip(code.inputs, inputs, strict=True):
        known[array.name] = np.reshape(np.asarray(values, dtype), (len(values), array.size))
    for segment in code.segments:
        if isinstance(segment, Program):
            given = [known[array.name] for array in segment.inputs]
            found = run(segment, given or [np.zeros((n, 0), dtype)], dtype)
            known |= {a.name: np.reshape(x, (len(x), a.size)) for a, x in zip(segment.arrays, found, strict=True)}
        elif isinstance(segment, Iteration):
            known |= _iterated(segment, known, n, dtype)
        else:
            made = product(segment, known[segment.left.array], known[segment.right.array])
            known[segment.result] = np.reshape(made, (len(made), segment.array.size))
    return [
        np.broadcast_to(np.reshape(x, (len(x), *array.shape)), (n, *array.shape))
        for array in code.arrays
        for x in (known[array.name],)
    ]


def _iterated(iteration: Iteration, arrays: Mapping[str, Array], n: int, dtype: type[np.floating]) -> dict[str, Array]:
    """The answers of an iteration, each (n, size), by name."""
    body, held = iteration.body, [arrays[array.name] for array in iteration.held]
    carried = [np.broadcast_to(arrays[name], (n, arrays[name].shape[1])) for name in iteration.starts]
    for _ in range(iteration.most):
        carried = [np.reshape(x, (len(x), -1)) for x in run(body, [*carried, *held], dtype)]
        if iteration.until >= 0 and np.all(carried[iteration.until] > 0.0):
            break
    return {array.name: x for array, x in zip(body.arrays, carried, strict=True)}


def product(what: Product, left: Array, right: Array) -> Array:
    """The product of matrices in arrays (n, size) or (1, size)."""
    m, n = what.shape
    x, y = matrix(what.left, left, m, what.inner), matrix(what.right, right, what.inner, n)
    result = np.zeros((max(len(x), len(y)), m, n), x.dtype)
    groups: dict[tuple[int, ...], list[int]] = {}
    for c, rows in enumerate(what.rows):
        groups.setdefault(rows, []).append(c)
    for rows, columns in groups.items():
        result[:, :, columns] = x[:, :, rows] @ y[:, rows, :][:, :, columns]
    return -result if what.minus else result


def matrix(view: View, array: Array, m: int, n: int) -> Array:
    """The m x n matrix of a view."""
    return array[:, view.offset + view.row * np.arange(m)[:, None] + view.column * np.arange(n)]


# The meaning of loops over joints: their interpreter, loop by loop, on batches.


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
        values = run(step.program, reads or [np.zeros((self.n, 0))], self.dtype)
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


# The meaning of a function repeated over time: its interpreter, step by step, on batches.


def run_repeated(code: Repeated, inputs: Sequence[Array], dtype: type[np.floating] = np.float64) -> list[Array]:
    """The output arrays, each (n, *shape), for input arrays (n, *shape) or (1, *shape), computed in `dtype`."""
    n = max((len(array) for array in inputs), default=1)
    flat = [np.reshape(np.asarray(array, dtype), (len(array), -1)) for array in inputs]
    answers = [np.zeros((n, array.size), dtype) for array in code.arrays]
    shapes = [array.shape for array in code.body.inputs]

    def step(values: Sequence[Array]) -> list[Array]:
        shaped = [np.reshape(x, (len(x), *shape)) for x, shape in zip(values, shapes, strict=True)]
        return [np.reshape(x, (len(x), -1)) for x in run_code(code.body, shaped, dtype)]

    repeat(code.loop, step, [array.size for array in code.body.inputs], flat, answers)
    return [np.reshape(x, (n, *array.shape)) for x, array in zip(answers, code.arrays, strict=True)]


def run_code(body: Code, inputs: Sequence[Array], dtype: type[np.floating]) -> list[Array]:
    """The output arrays, each (n, *shape), of code in any form."""
    if isinstance(body, Program):
        return run(body, inputs, dtype)
    return run_segments(body, inputs, dtype) if isinstance(body, Segmented) else run_rolled(body, inputs, dtype)


def repeat(
    loop: TimeLoop,
    step: Callable[[Sequence[Array]], Sequence[Array]],
    sizes: Sequence[int],
    inputs: Sequence[Array],
    answers: Sequence[Array],
) -> None:
    """Fills answers, each (n, number of entries), from inputs, each (n or 1, number of entries).

    step: runs the body on its inputs, each (n or 1, size), sizes being `sizes`. Its result is read until the next call.
    """
    before: Sequence[Array] | None = None
    running = np.ones((len(answers[0]), 1), np.bool_)
    with np.errstate(all="ignore"):
        for number, t in enumerate(loop.times(), 1):
            given = [
                _taken(loop, take, t, array, size, before)
                for take, array, size in zip(loop.takes, inputs, sizes, strict=True)
            ]
            found = step(given)
            for give, answer in zip(loop.gives, answers, strict=True):
                made = found[give.output] if give.output != COUNT else np.full((1, 1), number, answer.dtype)
                if give.summed:
                    np.copyto(answer, made if before is None else answer + made, where=running)
                elif give.every and loop.row(give.every, t) >= 0:
                    _row(answer, loop.row(give.every, t), made.shape[1])[...] = made
                elif not give.every and (t == loop.last or loop.until >= 0):
                    np.copyto(answer, made, where=running)
            before = found
            if loop.until >= 0:
                done = found[loop.until] > 0.0
                running = running & ~(np.any(done) if loop.together else done)
                if not np.any(running):
                    return


def _row(array: Array, row: int, size: int) -> Array:
    return array[:, row * size : (row + 1) * size]


def _taken(loop: TimeLoop, take: Take, t: int, array: Array, size: int, before: Sequence[Array] | None) -> Array:
    """One input at step t. before: the body's outputs at the step before."""
    if not take.every:
        return array if before is None or take.carried < 0 else before[take.carried]
    row = loop.row(take.every, t)
    given = np.zeros((1, size), array.dtype) if row < 0 else _row(array, row, size)
    if take.carried < 0 or before is None:
        return given
    return before[take.carried] if row < 0 else before[take.carried] + given
