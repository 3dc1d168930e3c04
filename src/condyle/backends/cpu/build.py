"""A Program to a Kernel: assemble, put into memory. There is nothing to compile and nothing to keep."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from condyle.backends.cpu.assemble import Assembled, assemble, packed
from condyle.backends.cpu.chain import assemble_chain
from condyle.backends.cpu.target import ISAS, Isa
from condyle.errors import BuildError, UnsupportedError
from condyle.ir.chunked import Chunked
from condyle.ir.count import work as work_of
from condyle.ir.program import Program
from condyle.runtime import machine
from condyle.runtime.layout import Layout, Layouts
from condyle.runtime.native import ChainKernel, NativeKernel, PlanKernel, Shape

BITS = {"float64": 64, "float32": 32}


def supported() -> tuple[Isa, ...]:
    """The instruction sets that can run here, the best one first; none where only another target serves."""
    return tuple(ISAS[name] for name in machine.instruction_sets())


def lanes(dtype: str) -> int:
    """States that lie side by side in a packed array."""
    can = supported()
    return can[0].lanes(BITS[dtype]) if can else 512 // BITS[dtype]


def build(
    program: Program, dtype: str = "float64", isa: Isa | None = None, layouts: Layouts | None = None
) -> NativeKernel:
    """The function in machine code, for the best instruction set or for this one; layouts: of packed arrays.

    Raises UnsupportedError where the processor has none of them, BuildError where the system forbids new code.
    """
    if dtype not in BITS:
        raise UnsupportedError(f"dtype {dtype!r}: machine code computes in {' and '.join(BITS)}")
    can = supported()
    if not can or (isa is not None and isa not in can):
        raise UnsupportedError("target 'cpu': needs an x86-64 processor with AVX2 and FMA; target 'c' runs everywhere")
    isa = can[0] if isa is None else isa
    return load(program, assemble(program, isa, BITS[dtype], layouts=layouts), isa, dtype, layouts)


def load(program: Program, made: Assembled, isa: Isa, dtype: str, layouts: Layouts | None = None) -> NativeKernel:
    """Assembled code as a Kernel."""
    bits = BITS[dtype]
    try:
        plan = machine.plan(
            isa.name, bits, made.text, made.constants, made.slots, packed(made.values, bits), made.numbers
        )
        one = made.single
        alone = one and machine.single(isa.name, bits, one.text, packed(one.constants, bits), one.numbers)
    except OSError as error:
        raise BuildError(f"the system does not let this process make code: {error}") from error
    in_sizes = tuple(array.size for array in program.inputs)
    out_sizes = tuple(array.size for array in program.arrays)
    # about three operations a nanosecond, and as much for each entry that is moved
    state_ns = 0.3 * work_of(program) / plan.lanes + 0.1 * (sum(in_sizes) + sum(out_sizes))
    shape = Shape(in_sizes, out_sizes, plan.lanes, plan.work_bytes, state_ns)
    columns = None if layouts is None else (_columns(layouts[0]), _columns(layouts[1]))
    kernel = PlanKernel(plan, shape, np.dtype(dtype), f"machine code, {isa.name}", columns)
    if alone is not None:
        kernel.add_single(alone, shape)
    return kernel


def _columns(layouts: Sequence[Layout]) -> tuple[int, ...]:
    return tuple(layout.columns for layout in layouts)


def build_chain(chunked: Chunked, dtype: str, isa: Isa) -> ChainKernel:
    """A chunked function whose chunks are the lanes of this instruction set; BuildError as `build`."""
    made = assemble_chain(chunked, isa, BITS[dtype])
    try:
        plan = machine.chain(
            isa.name, BITS[dtype], made.text, made.constants, made.table, made.starts, made.words, made.work
        )
    except OSError as error:
        raise BuildError(f"the system does not let this process make code: {error}") from error
    sizes = (chunked.joints,) * len(chunked.inputs)
    # some 150 nanoseconds for every joint of the chunks, and two microseconds for the scans between them
    shape = Shape(sizes, (chunked.joints,), 1, plan.work_bytes, 150.0 * chunked.length + 2000.0)
    return ChainKernel(plan, shape, np.dtype(dtype), f"machine code, {isa.name}, the chain in {plan.lanes} chunks")
