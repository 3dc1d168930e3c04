"""A function as launches: one kernel, or several in order where one would be too long.

The steps are those of a partitioning (see `forms.partitions`); a call in it is the kernel of the called function.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from condyle.backends.common.forms import lacks, refused
from condyle.backends.cuda.forms import stages
from condyle.backends.cuda.group.group_kernel import FURTHEST, emit_group, pool, state_bytes
from condyle.backends.cuda.group.group_kernel import kernel_name as group_name
from condyle.backends.cuda.group.schedule import OPERATIONS, group
from condyle.backends.cuda.lower import lower
from condyle.backends.cuda.target import TARGET, WARP, Target
from condyle.backends.cuda.thread_kernel import emit, kernel_name, write_entry, write_head
from condyle.backends.cuda.trig import literal
from condyle.errors import UnsupportedError
from condyle.ir.program import Array, Program
from condyle.passes.elementary.expand import expand
from condyle.specification import Call, Composition, Function
from condyle.text import Emitter

# -Minv times dense matrices, a warp for each state: the last stage of derivatives that are too long for one kernel.
#
# A lane has its columns of the right-hand sides in registers. All lanes read the same rows of Minv.


NAME = "condyle_product"


def emit_product(nv: int, matrices: int, bits: int, target: Target = TARGET) -> str:
    """The text of a module with one kernel: inputs Minv and `matrices` matrices, `matrices` outputs, all (n, nv, nv).

    Parameters as in `thread_kernel.emit`; no shared memory.
    """
    e = Emitter()
    write_head(e, target)
    write_entry(e, NAME, (matrices + 1, matrices), target.most_threads)
    units = [(k, start) for k in range(matrices) for start in range(0, nv, WARP)]
    together = max(1, target.values(bits) // (2 * nv))
    with e.block("{"):
        e(f".reg .f{bits} %d<{nv * together}>, %sum<{together}>, %m;", f".reg .pred %done, %inside<{together}>;")
        e(".reg .b32 %lane, %state, %left, %k, %n;", f".reg .b64 %a, %s, %from, %to<{together}>;")
        e("mov.u32 %lane, %tid.x;", "mov.u32 %k, %ntid.x;", "mov.u32 %state, %ctaid.x;")
        e("mad.lo.u32 %state, %state, %k, %lane;", "shr.u32 %state, %state, 5;", "and.b32 %lane, %lane, 31;")
        e("ld.param.u32 %n, [n];", "setp.ge.u32 %done, %state, %n;", "@%done ret;")
        for number, first in enumerate(range(0, len(units), together)):
            _columns(e, units[first : first + together], nv, bits, number)
        e("ret;")
    return e.text()


def _columns(e: Emitter, units: Sequence[tuple[int, int]], nv: int, bits: int, number: int) -> None:
    """Writes columns of the outputs. units: (matrix, first column) of groups of 32 columns."""
    f, item = f"f{bits}", bits // 8
    zero = literal(0.0, bits)
    for u, (matrix, start) in enumerate(units):
        e(f"add.u32 %k, %lane, {start};", f"setp.lt.u32 %inside{u}, %k, {nv};")
        e(f"mul.wide.u32 %to{u}, %k, {item};", "cvt.u64.u32 %s, %state;")
        e(f"ld.param.u64 %a, [stride{matrix + 1}];", f"mad.lo.u64 %from, %s, %a, %to{u};")
        e(f"ld.param.u64 %a, [in{matrix + 1}];", "cvta.to.global.u64 %a, %a;", "add.u64 %from, %from, %a;")
        e(f"mad.lo.u64 %to{u}, %s, {nv * nv * item}, %to{u};", f"ld.param.u64 %a, [out{matrix}];")
        e("cvta.to.global.u64 %a, %a;", f"add.u64 %to{u}, %to{u}, %a;")
        for k in range(nv):
            e(
                f"mov.{f} %d{u * nv + k}, {zero};",
                f"@%inside{u} ld.global.nc.{f} %d{u * nv + k}, [%from+{k * nv * item}];",
            )
    e("cvt.u64.u32 %s, %state;", "ld.param.u64 %a, [stride0];", "mul.lo.u64 %from, %s, %a;", "ld.param.u64 %a, [in0];")
    e("cvta.to.global.u64 %a, %a;", "add.u64 %from, %from, %a;", f"mov.u32 %left, {nv};", f"ROW{number}:")
    e(*(f"mov.{f} %sum{u}, {zero};" for u in range(len(units))))
    for k in range(nv):
        e(f"ld.global.nc.{f} %m, [%from+{k * item}];", f"neg.{f} %m, %m;")
        e(*(f"fma.rn.{f} %sum{u}, %m, %d{u * nv + k}, %sum{u};" for u in range(len(units))))
    for u in range(len(units)):
        e(f"@%inside{u} st.global.{f} [%to{u}], %sum{u};", f"add.u64 %to{u}, %to{u}, {nv * item};")
    e(f"add.u64 %from, %from, {nv * item};", "sub.u32 %left, %left, 1;", "setp.ne.u32 %done, %left, 0;")
    e(f"@%done bra ROW{number};")


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
    """A function, its arrays, and the steps of its launches."""

    function: Function
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    steps: Composition

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
            text = Text(NAME, emit_product(reads[0].shape[0], len(rights), bits, target), 0, 1, "rows", 0)
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
