"""A function as launches: one kernel, or several in order where one would be too long.

The steps are those of a partitioning (see `forms.partitions`); a call in it is the kernel of the called function.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from condyle.backends.common.forms import lacks, refused
from condyle.backends.cuda.forms import stages
from condyle.backends.cuda.group.group_kernel import FURTHEST, emit_group, pool, state_bytes
from condyle.backends.cuda.group.group_kernel import kernel_name as group_name
from condyle.backends.cuda.group.schedule import OPERATIONS, group
from condyle.backends.cuda.lower import lower
from condyle.backends.cuda.product import NAME, Entries, Product
from condyle.backends.cuda.target import TARGET, WARP, Target
from condyle.backends.cuda.thread_kernel import emit, kernel_name
from condyle.errors import UnsupportedError
from condyle.ir.program import Array, Program
from condyle.passes.elementary.expand import expand
from condyle.specification import Call, Composition, Function

MOST_THREADS = (1 << 31) - 1
"""Threads of one launch: kernels number them in 32 bits and compare numbers of states with their sign."""


@dataclass(frozen=True, slots=True)
class Text:
    """PTX of one kernel. pool: bytes of shared memory for each warp. states: states of a warp. spilled: bytes of spills
    of a thread.

    block: number of threads that compute one state and share the pool; 0 where warps are independent. tasks: number of
    tasks of a state; each has the threads of a state.
    """

    name: str
    ptx: str
    pool: int
    states: int
    order: str
    spilled: int
    block: int = 0
    tasks: int = 1

    @property
    def most(self) -> int:
        """The most states of one launch."""
        return MOST_THREADS // ((self.block or WARP // self.states) * self.tasks)

    def shared_bytes(self, threads: int) -> int:
        """Bytes of shared memory of a block with this number of threads."""
        return self.pool if self.block else self.pool * threads // WARP

    def blocks(self, n: int, threads: int) -> int:
        """The number of blocks for n states."""
        n *= self.tasks
        return n if self.block else -(-n // (threads // WARP * self.states))


@dataclass(frozen=True, slots=True)
class Part:
    """One launch: texts to choose from (see `lower.lower`), and the arrays that it reads and writes.

    constants: bytes in device memory, whose address is the parameter after the arrays. numbers: parameters after that.
    """

    texts: tuple[Text, ...]
    reads: tuple[Array, ...]
    writes: tuple[Array, ...]
    constants: bytes = b""
    numbers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Parts:
    """The launches of one function in order; arrays that are neither its inputs nor its outputs are scratch."""

    function: str
    bits: int
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    launches: tuple[Part, ...]

    @property
    def scratch(self) -> tuple[Array, ...]:
        known = {array.name for array in (*self.inputs, *self.outputs)}
        found = {array.name: array for part in self.launches for array in part.writes if array.name not in known}
        return tuple(found.values())

    @property
    def most(self) -> int:
        """The most states of one launch."""
        return min(text.most for part in self.launches for text in part.texts)


@dataclass(frozen=True, slots=True)
class Composed:
    """A function, its arrays, and the steps of its launches.

    kept: of answers of calls that products read, the entries that can differ from zero.
    """

    function: Function
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    steps: Composition
    kept: Mapping[str, Entries] = field(default_factory=dict[str, Entries])

    @property
    def called(self) -> list[Function]:
        """The functions whose kernels are launched."""
        return [step.function for step in self.steps if isinstance(step, Call)]


def parts(composed: Composed, kernels: Mapping[Function, Part], bits: int, target: Target = TARGET) -> Parts:
    """The launches of a function. kernels: {called function: its part}."""
    known = {array.name: array for array in (*composed.inputs, *composed.outputs)}
    launches: list[Part] = []
    for step in stages(composed.steps):
        if isinstance(step, Call):
            part = kernels[step.function]
            gives, takes = step.gives, dict(zip((array.name for array in part.reads), step.takes, strict=False))
            reads = [known[takes.get(array.name, array.name)] for array in part.reads]
            shapes = [array.shape for array in part.writes]
        else:
            gives, rights = tuple(one.gives for one in step), [known[one.right] for one in step]
            reads, shapes = [known[step[0].left], *rights], [array.shape for array in rights]
            kept: Entries = np.any([composed.kept[one.right] for one in step], axis=0)
            product = Product(kept, len(rights), bits, target)
            text = Text(NAME, product.text(), product.pool, 1, "rows", 0)
            part = Part((text,), (), ())
        writes = tuple(known.setdefault(name, Array(name, shape)) for name, shape in zip(gives, shapes, strict=True))
        launches.append(replace(part, reads=tuple(reads), writes=writes))
    return Parts(composed.function.name, bits, composed.inputs, composed.outputs, tuple(launches))


def straight(program: Program, bits: int, target: Target = TARGET) -> Part:
    """One kernel with a thread for each state."""
    texts = tuple(
        Text(kernel_name(low), emit(low, target), low.pool, 32, low.order, low.slots * bits // 8)
        for low in lower(expand(program, bits), bits, target)
    )
    return Part(texts, program.inputs, program.arrays)


def grouped(program: Program, lanes: int, bits: int, target: Target = TARGET) -> Part:
    """One kernel with `lanes` lanes for each state.

    UnsupportedError for a Program without outputs, with operations that groups do not have, or with more values than
    shared memory holds.
    """
    if not program.outputs:
        raise UnsupportedError(f"{program.name} of this robot has no work for {lanes} lanes: take kernels='thread'")
    lacking = lacks(program, OPERATIONS)
    if lacking:
        raise refused(f"target cuda with {lanes} lanes a state", lacking, OPERATIONS)
    made = group(program, lanes)
    if state_bytes(made, bits) > FURTHEST or pool(made, bits) > target.shared:
        raise UnsupportedError(
            f"{program.name} with {lanes} lanes a state needs {pool(made, bits)} bytes of shared memory a warp and "
            f"{state_bytes(made, bits)} a state; at most {target.shared} and {FURTHEST} can be had: take more lanes or "
            "kernels='thread'"
        )
    text = Text(
        group_name(made), emit_group(made, bits, target), pool(made, bits), WARP // lanes, f"{lanes} lanes a state", 0
    )
    return Part((text,), program.inputs, program.arrays)
