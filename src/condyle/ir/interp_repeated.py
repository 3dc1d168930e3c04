"""The meaning of a function repeated over time: its interpreter, step by step, on batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from condyle.ir import interp
from condyle.ir.interp_segments import run_segments
from condyle.ir.interp_sweep import run_rolled
from condyle.ir.program import Program
from condyle.ir.repeated import Repeated, Take, TimeLoop
from condyle.ir.segments import Segmented
from condyle.ir.sweep import Code

Array = NDArray[np.floating]


def run_repeated(code: Repeated, inputs: Sequence[Array], dtype: type[np.floating] = np.float64) -> list[Array]:
    """The output arrays, each (n, *shape), for input arrays (n, *shape) or (1, *shape), computed in `dtype`."""
    n = max((len(array) for array in inputs), default=1)
    flat = [np.reshape(np.asarray(array, dtype), (len(array), -1)) for array in inputs]
    answers = [np.zeros((n, array.size), dtype) for array in code.arrays]
    shapes = [array.shape for array in code.body.inputs]

    def step(values: Sequence[Array]) -> list[Array]:
        shaped = [np.reshape(x, (len(x), *shape)) for x, shape in zip(values, shapes, strict=True)]
        return [np.reshape(x, (len(x), -1)) for x in _run(code.body, shaped, dtype)]

    repeat(code.loop, step, [array.size for array in code.body.inputs], flat, answers)
    return [np.reshape(x, (n, *array.shape)) for x, array in zip(answers, code.arrays, strict=True)]


def _run(body: Code, inputs: Sequence[Array], dtype: type[np.floating]) -> list[Array]:
    if isinstance(body, Program):
        return interp.run(body, inputs, dtype)
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
    with np.errstate(all="ignore"):
        for t in loop.times():
            given = [
                _taken(loop, take, t, array, size, before)
                for take, array, size in zip(loop.takes, inputs, sizes, strict=True)
            ]
            found = step(given)
            for give, answer in zip(loop.gives, answers, strict=True):
                made = found[give.output]
                if give.summed:
                    answer[...] = made if before is None else answer + made
                elif give.every and loop.row(give.every, t) >= 0:
                    _row(answer, loop.row(give.every, t), made.shape[1])[...] = made
                elif not give.every and t == loop.last:
                    answer[...] = made
            before = found


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
