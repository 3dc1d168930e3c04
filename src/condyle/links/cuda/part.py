"""A code function as one launch: its text, and the robot's numbers, which lie in device memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from condyle.backends.cuda.parts import Part, Parts, Text
from condyle.backends.cuda.target import TARGET, WARP, Target
from condyle.ir.link_parallel import LinkParallel
from condyle.ir.program import Array
from condyle.links.cuda.emit import emit, kernel_name
from condyle.links.cuda.lanes import Lanes


def linked(
    code: LinkParallel, inputs: Sequence[Array], outputs: Sequence[Array], bits: int, target: Target = TARGET
) -> Parts:
    """The one launch of a code function with these ports."""
    part = launch(code, inputs, outputs, bits, target)
    return Parts(code.name, bits, tuple(inputs), tuple(outputs), (part,))


def launch(
    code: LinkParallel, inputs: Sequence[Array], outputs: Sequence[Array], bits: int, target: Target = TARGET
) -> Part:
    """The same as a part of a function. Elements are exchanged in device memory where shared memory is too small."""
    lanes = Lanes(code.lanes, bits)
    data, offsets = constants(code, bits)
    kernel = emit(code, outputs, bits, offsets, target)
    states, block = (WARP // lanes.count, 0) if lanes.in_warp else (1, lanes.slots)
    tasks = 1 if code.columns is None else code.columns.tasks
    text = Text(kernel_name(code), kernel.ptx, kernel.pool, states, "links", 0, block, tasks)
    far = [Array(f"scratch {code.name} meeting", (kernel.far,))] if kernel.far else []
    return Part((text,), tuple(inputs), (*outputs, *far), data)


def constants(code: LinkParallel, bits: int) -> tuple[bytes, dict[str, int]]:
    """(data, offsets): the table, entry e of joint t of all lanes side by side; then rows of integers, one for each
    lane, which begin at `offsets`."""
    length = code.length
    rows = [[code.table[lane * length + t] for lane in range(code.lanes)] for t in range(length)]
    data = np.array([list(zip(*row, strict=True)) for row in rows], f"<f{bits // 8}").tobytes()
    offsets: dict[str, int] = {}
    whole = {f"place {name}": (row,) for name, row in code.offsets.items()} | dict(code.partners)
    if code.kinds:
        whole["kinds"] = (code.kinds,)
    for name, numbers in whole.items():
        offsets[name] = len(data)
        data += np.array(numbers, "<i4").tobytes()
    return data or bytes(8), offsets
