"""A chunked function as one launch: its text, and the robot's numbers, which lie in device memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from condyle.backends.cuda.links.emit import emit, kernel_name
from condyle.backends.cuda.links.lanes import Lanes
from condyle.backends.cuda.parts import Part, Parts, Text
from condyle.backends.cuda.target import TARGET, WARP, Target
from condyle.ir.link_parallel import LinkParallel
from condyle.ir.program import Array


def linked(
    chunked: LinkParallel, inputs: Sequence[Array], outputs: Sequence[Array], bits: int, target: Target = TARGET
) -> Parts:
    """The one launch of a chunked function with these ports."""
    part = launch(chunked, inputs, outputs, bits, target)
    return Parts(chunked.name, bits, tuple(inputs), tuple(outputs), (part,))


def launch(
    chunked: LinkParallel, inputs: Sequence[Array], outputs: Sequence[Array], bits: int, target: Target = TARGET
) -> Part:
    """The same as a part of a function. Elements meet in device memory where shared memory is too small for them."""
    lanes = Lanes(chunked.chunks, bits)
    data, offsets = constants(chunked, bits)
    kernel = emit(chunked, outputs, bits, offsets, target)
    states, block = (WARP // lanes.count, 0) if lanes.in_warp else (1, lanes.slots)
    tasks = 1 if chunked.columns is None else chunked.columns.tasks
    text = Text(kernel_name(chunked), kernel.ptx, kernel.pool, states, "links", 0, block, tasks)
    far = [Array(f"scratch {chunked.name} meeting", (kernel.far,))] if kernel.far else []
    return Part((text,), tuple(inputs), (*outputs, *far), data)


def constants(chunked: LinkParallel, bits: int) -> tuple[bytes, dict[str, int]]:
    """The table, entry e of joint t of all lanes side by side; then whole numbers of lanes, and where they begin."""
    length = chunked.length
    rows = [[chunked.table[lane * length + t] for lane in range(chunked.chunks)] for t in range(length)]
    data = np.array([list(zip(*row, strict=True)) for row in rows], f"<f{bits // 8}").tobytes()
    offsets: dict[str, int] = {}
    whole = {f"place {name}": (row,) for name, row in chunked.offsets.items()} | dict(chunked.partners)
    if chunked.kinds:
        whole["kinds"] = (chunked.kinds,)
    for name, numbers in whole.items():
        offsets[name] = len(data)
        data += np.array(numbers, "<i4").tobytes()
    return data or bytes(8), offsets
