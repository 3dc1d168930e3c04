"""A function as launches: one kernel, or, where that would be too long, kernels one after the other.

The partitionings are those of Plancher 2021 (see `forms`); kernels of a split function are those of the plain ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from condyle.backends.common.lacking import lacks, refused
from condyle.backends.cuda.emit import emit, kernel_name
from condyle.backends.cuda.forms import FUSED, WHOLE, usual
from condyle.backends.cuda.group.emit import FURTHEST, emit_group, pool, state_bytes
from condyle.backends.cuda.group.emit import kernel_name as group_name
from condyle.backends.cuda.group.schedule import group
from condyle.backends.cuda.group.words import OPERATIONS
from condyle.backends.cuda.lower import lower
from condyle.backends.cuda.product import NAME, emit_product
from condyle.backends.cuda.target import TARGET, WARP, Target
from condyle.errors import UnsupportedError
from condyle.ir.count import work
from condyle.ir.program import Array, Program
from condyle.passes.elementary.expand import expand


@dataclass(frozen=True, slots=True)
class Text:
    """PTX of one kernel. pool: shared bytes a warp. states: that a warp works on. parked: bytes a thread.

    block: threads that work on one state together, and have the pool together; 0 where warps are on their own. tasks:
    of a state, each of which as many threads work on as on a state otherwise.
    """

    name: str
    ptx: str
    pool: int
    states: int
    order: str
    parked: int
    block: int = 0
    tasks: int = 1

    def shared_bytes(self, threads: int) -> int:
        """Of a block of so many threads."""
        return self.pool if self.block else self.pool * threads // WARP

    def blocks(self, n: int, threads: int) -> int:
        """So many of them for n states."""
        n *= self.tasks
        return n if self.block else -(-n // (threads // WARP * self.states))


@dataclass(frozen=True, slots=True)
class Part:
    """One launch: texts to choose from (see `lower.lower`), and names of the arrays that it reads and writes.

    constants: bytes that lie in device memory; their address is the last parameter.
    """

    texts: tuple[Text, ...]
    reads: tuple[Array, ...]
    writes: tuple[Array, ...]
    constants: bytes = b""


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


def parts(
    function: str,
    code: Callable[[str], Program],
    one: Callable[[str], Part],
    bits: int,
    target: Target = TARGET,
    partition: str = "",
) -> Parts:
    """What to launch for a function; code: the Program of any function, one: its one kernel.

    partition: one of `forms.PARTITIONS`; by default one kernel, unless it would be too long for a thread a state.
    """
    program = code(function)
    partition = partition or usual(function, work(program), target)
    if partition == WHOLE:
        return Parts(function, bits, program.inputs, program.arrays, (one(function),))
    known = {array.name: array for array in program.inputs}
    launches: list[Part] = []
    if function == "dfd":
        known["Minv"], known["a"] = program.arrays[-1], Array("scratch a", known["tau"].shape)
        launches += [replace(one("minv"), writes=(known["Minv"],)), replace(one("fd"), writes=(known["a"],))]

    def behind(name: str, writes: tuple[Array, ...]) -> Part:
        part = one(name)
        return replace(part, reads=tuple(known[array.name] for array in part.reads), writes=writes)

    if partition == FUSED:
        launches.append(behind("difd", program.arrays[:-1]))
    else:
        scratch = tuple(Array(f"scratch {array.name}", array.shape) for array in code("did").arrays)
        launches.append(behind("did", scratch))
        product = Text(NAME, emit_product(known["Minv"].shape[0], len(scratch), bits, target), 0, 1, "rows", 0)
        launches.append(Part((product,), (known["Minv"], *scratch), program.arrays[: len(scratch)]))
    return Parts(function, bits, program.inputs, program.arrays, tuple(launches))


def straight(program: Program, bits: int, target: Target = TARGET) -> Part:
    """One kernel, one thread a state."""
    texts = tuple(
        Text(kernel_name(low), emit(low, target=target), low.pool, 32, low.order, low.slots * bits // 8)
        for low in lower(expand(program, bits), bits, target)
    )
    return Part(texts, program.inputs, program.arrays)


def grouped(program: Program, lanes: int, bits: int, target: Target = TARGET) -> Part:
    """One kernel, `lanes` lanes a state.

    UnsupportedError without values, for operations that lanes lack, and for more than shared memory holds.
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
