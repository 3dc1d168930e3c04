"""A function as launches: one kernel, or, where that would be too long, kernels one after the other.

Plancher 2021 calls the one kernel "completely fused", and "split" what computes Minv, the acceleration, the derivatives
of inverse dynamics and their product with -Minv apart. Kernels of a split function are those of the plain functions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from condyle.backends.cuda.emit import emit, kernel_name
from condyle.backends.cuda.lower import lower
from condyle.backends.cuda.product import NAME, emit_product
from condyle.backends.cuda.target import TARGET, WARP, Target
from condyle.ir.count import work
from condyle.ir.program import Array, Program

SPLIT = ("dfd", "difd")


@dataclass(frozen=True, slots=True)
class Text:
    """PTX of one kernel. pool: shared bytes a warp. states: that a warp works on. parked: bytes a thread.

    block: threads that work on one state together, and have the pool together; 0 where warps are on their own.
    """

    name: str
    ptx: str
    pool: int
    states: int
    order: str
    parked: int
    block: int = 0

    def shared_bytes(self, threads: int) -> int:
        """Of a block of so many threads."""
        return self.pool if self.block else self.pool * threads // WARP

    def blocks(self, n: int, threads: int) -> int:
        """So many of them for n states."""
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
        return tuple(array for part in self.launches for array in part.writes if array.name not in known)


def parts(
    function: str, code: Callable[[str], Program], one: Callable[[str], Part], bits: int, target: Target = TARGET
) -> Parts:
    """What to launch for a function; code: the Program of any function, one: its one kernel (`straight`)."""
    program = code(function)
    if function not in SPLIT or work(program) <= target.longest:
        return Parts(function, bits, program.inputs, program.arrays, (one(function),))
    derivatives = code("did")
    scratch = tuple(Array(f"scratch {array.name}", array.shape) for array in derivatives.arrays)
    launches: list[Part] = []
    a, Minv = derivatives.inputs[2], program.arrays[-1] if function == "dfd" else program.inputs[3]
    if function == "dfd":
        a = Array("scratch a", a.shape)
        launches += [replace(one("minv"), writes=(Minv,)), replace(one("fd"), writes=(a,))]
    reads = (*derivatives.inputs[:2], a, *derivatives.inputs[3:])
    launches.append(replace(one("did"), reads=reads, writes=scratch))
    product = Text(NAME, emit_product(Minv.shape[0], len(scratch), bits, target), 0, 1, "rows", 0)
    launches.append(Part((product,), (Minv, *scratch), program.arrays[: len(scratch)]))
    return Parts(function, bits, program.inputs, program.arrays, tuple(launches))


def straight(program: Program, bits: int, target: Target = TARGET) -> Part:
    """One kernel, one thread a state."""
    texts = tuple(
        Text(kernel_name(low), emit(low, target=target), low.pool, 32, low.order, low.slots * bits // 8)
        for low in lower(program, bits, target)
    )
    return Part(texts, program.inputs, program.arrays)
