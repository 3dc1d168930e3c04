"""A Program -> a Kernel: assemble, then load into memory. Object code can be kept and loaded again."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from condyle.backends.common.facts import bits_of, packed
from condyle.backends.cpu.encode import ObjectCode, from_bytes, to_bytes
from condyle.backends.cpu.target import ISAS, NEEDS, Isa
from condyle.errors import BuildError, UnsupportedError
from condyle.ir.link_parallel import LinkParallel
from condyle.ir.loops import Code
from condyle.ir.program import Program
from condyle.ir.segments import Segmented
from condyle.runtime import cache, machine
from condyle.runtime._native import Entry
from condyle.runtime.native import PACKED_IN, PACKED_OUT, Body, NativeKernel, Shape, entry_of, identity, plan_entry
from condyle.runtime.packed import Layouts

if TYPE_CHECKING:
    from condyle.backends.cpu.assemble import Assembled


def supported() -> tuple[Isa, ...]:
    """The instruction sets of this machine, the best one first; empty where this target cannot run."""
    return tuple(ISAS[name] for name in machine.instruction_sets())


def lanes(dtype: str) -> int:
    """The number of states in a tile of a packed array."""
    can = supported()
    return can[0].lanes(bits_of(dtype)) if can else 512 // bits_of(dtype)


def least_lanes(dtype: str, columns: Sequence[int]) -> int:
    """Columns of a panel, of matrices with so many: those of half a register where it takes no more of them."""
    wide, half = lanes(dtype), 32 * 8 // bits_of(dtype)
    return wide if any(-(-n // half) > -(-n // wide) for n in columns) else min(wide, half)


def build(
    program: Code, dtype: str = "float64", isa: Isa | None = None, layouts: Layouts | None = None
) -> NativeKernel:
    """The function in machine code, for the best instruction set or for the given one. layouts: of packed arrays.

    Raises UnsupportedError where the processor has none of them, BuildError where the system does not allow new code.
    """
    return load(assembled(program, dtype, isa, layouts), layouts)


def assembled(
    program: Code,
    dtype: str,
    isa: Isa | None = None,
    layouts: Layouts | None = None,
    shared: Sequence[bool] = (),
    lower: Sequence[int] = (),
    panel: int = 0,
) -> ObjectCode:
    """The object code of the function, not loaded. shared: of a function of columns, the inputs that are the same for
    all columns of a call: there is a form for columns too. lower: of outputs, panel: of inputs, see `Port.lower` and
    `Port.lanes`."""
    bits, can = bits_of(dtype), supported()
    if not can or (isa is not None and isa not in can):
        raise UnsupportedError(f"target 'cpu': {NEEDS}; target 'c' runs everywhere")
    isa = can[0] if isa is None else isa
    if isinstance(program, Program):
        from condyle.backends.cpu.assemble import assemble

        made = assemble(program, isa, bits, layouts=layouts)
    elif isinstance(program, Segmented):
        from condyle.backends.cpu.loops import assemble_segments

        made = assemble_segments(program, isa, bits, layouts=layouts)
    else:
        from condyle.backends.cpu.loops import assemble_rolled

        made = assemble_rolled(program, isa, bits, layouts=layouts)
    code = object_code(program, made, isa.name, bits)
    if shared and isinstance(program, Program):
        from condyle.backends.cpu.columns import alone, columns
        from condyle.backends.cpu.target import narrow

        one = alone(program, isa, bits) or code.single
        code = replace(code, columns=columns(program, shared, narrow(isa, bits, panel), bits, lower), single=one)
    return code


def object_code(program: Code, assembled_code: Assembled, isa: str, bits: int) -> ObjectCode:
    """The object code of a Program, of segments or of loops. Raises UnsupportedError for a constant that is not
    finite."""
    from condyle.ir.count import work

    return ObjectCode(
        isa,
        bits,
        tuple(array.size for array in program.inputs),
        tuple(array.size for array in program.arrays),
        work(program),
        assembled_code.text,
        assembled_code.constants,
        array("I", assembled_code.slots).tobytes(),
        packed(assembled_code.values, bits),
        array("q", assembled_code.numbers).tobytes(),
        assembled_code.single,
    )


def load(code: ObjectCode, layouts: Layouts | None = None) -> NativeKernel:
    """Object code as a Kernel."""
    slots, numbers = _numbers("I", code.slots), _numbers("q", code.numbers)
    one, wide = code.single, code.columns
    try:
        plan = machine.plan(code.isa, code.bits, code.text, code.constants, slots, code.values, numbers)
        alone = one and machine.single(code.isa, code.bits, one.text, one.constants, _numbers("q", one.numbers))
        of_columns = _numbers("q", wide.numbers) if wide is not None else array("q", (0, 0, 0))
        *_, mask, _, lanes = of_columns  # of the last step; its driver is that of a set with as many lanes
        driver = next((isa.name for isa in ISAS.values() if isa.lanes(code.bits) == lanes), code.isa)
        panels = wide and machine.single(driver, code.bits, wide.text, wide.constants, of_columns)
    except OSError as error:
        raise BuildError(f"the system does not let this process make code: {error}") from error
    dtype: np.dtype[np.floating] = np.dtype(f"f{code.bits // 8}")
    shape = Shape.estimated(code.in_sizes, code.out_sizes, plan.lanes, plan.work_bytes, code.operations, _side(numbers))
    packed = None
    if layouts is not None:
        before, after = (tuple(layout.columns for layout in some) for some in layouts)
        packed = plan_entry(plan, replace(shape, in_sizes=before, out_sizes=after), dtype, PACKED_IN + PACKED_OUT)
    kernel = NativeKernel(plan_entry(plan, shape, dtype), dtype, f"machine code, {code.isa}", plan, packed)
    kernel.body = Body(
        plan, alone, shape, replace(shape, in_sizes=_columns(numbers, 0), out_sizes=_columns(numbers, 1))
    )
    ports = code.in_sizes, code.out_sizes
    if alone is not None:
        kernel.add_single(Entry(alone.entry, alone.work_bytes, 1, dtype.char, *ports, 8, alone.context), alone)
    if wide is not None and panels is not None:
        shared = tuple(bool(mask >> k & 1) for k in range(len(code.in_sizes)))
        kernel.add_columns(panels, replace(shape, lanes=lanes), shared)
    return kernel


def _numbers(code: str, data: bytes) -> array[int]:
    found: array[int] = array(code)
    found.frombytes(data)
    return found


def _columns(numbers: Sequence[int], way: int) -> tuple[int, ...]:
    """Columns of packed inputs (way 0) or outputs (way 1); see tiles/plan.h."""
    first, count = (0, numbers[1]) if way == 0 else (numbers[1], numbers[2])
    return tuple(numbers[6 + 4 * k + 2 + way] for k in range(first, first + count))


def _side(numbers: Sequence[int]) -> int:
    """The number of tiles that run together: the second of the words of loops, which come last."""
    words = numbers[5]
    return numbers[len(numbers) - words + 1] if words else 1


def build_chain(code: LinkParallel, dtype: str, isa: Isa) -> NativeKernel:
    """A link-parallel function whose lanes are those of this instruction set; BuildError as in `build`."""
    from condyle.backends.cpu.chain import assemble_chain

    bits = bits_of(dtype)
    made = assemble_chain(code, isa, bits)
    try:
        plan = machine.chain(isa.name, bits, made.text, made.constants, made.table, made.starts, made.words, made.work)
    except OSError as error:
        raise BuildError(f"the system does not let this process make code: {error}") from error
    # an estimate: 150 ns for every joint of a lane, and 2 us for the scans
    sizes = [tuple(code.size(*port) for port in ports) for ports in (code.inputs, code.outputs)]
    shape = Shape(sizes[0], sizes[1], 1, plan.work_bytes, 150.0 * code.length + 2000.0)
    entry = entry_of(plan.entry, shape, np.dtype(dtype), plan.context)
    text = f"machine code, {isa.name}, the chain in {plan.lanes} segments"
    return NativeKernel(entry, np.dtype(dtype), text, plan)


# Kernels in the cache, found by a key of all that determines them, before anything is traced.


@dataclass(frozen=True, slots=True)
class Key:
    """All that one kernel depends on, in addition to the processor and Condyle itself.

    fingerprint: that of the robot; empty for a robot whose kernels are not kept. function: its key. routes: the
    requested ones. name: of the function, for people.
    """

    fingerprint: str
    function: str
    routes: str
    dtype: str
    name: str = field(repr=False)


def find(key: Key, layouts: Layouts | None) -> NativeKernel | None:
    """The kernel, if this version of Condyle kept it for this instruction set and it can be loaded.

    BuildError where CONDYLE_CACHE_DIR names a directory that is refused.
    """
    cache.check()
    parts = _parts(key)
    data = cache.look(parts) if parts else None
    if data is None:
        return None
    try:
        return load(from_bytes(data), layouts)
    except (BuildError, ValueError):
        return None


def keep(key: Key, code: ObjectCode) -> None:
    """Keeps a kernel for the next process."""
    parts = _parts(key)
    if parts:
        cache.keep(parts, f"{key.name} {key.dtype} {key.fingerprint[:12]} machine code", to_bytes(code))


def _parts(key: Key) -> list[str]:
    """The parts of the cache key; empty where there can be none."""
    can = supported()
    if not (key.fingerprint and can and identity()):
        return []
    return ["cpu", identity(), str(vars(np)["__version__"]), can[0].name, repr(key)]
