"""Rolled sweeps: loops over joints, one small Program a kind of joint, the robot as tables.

The form for long robots, and for targets that run joints side by side. The machine wing sees a tree here
without knowing robots: an order, parents, kinds, tables of constants, and where each step reads and writes.
Roots, leaves and the joints between them are kinds of their own, so no step asks where it is.

Storage, all of it scalars a state: `buffers` have a row of `width` entries for every joint; `matrices` are nv x nv and
zero where nothing is written. What is read was written before: rows need not start at zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from condyle.ir.program import Array, Program, input_of
from condyle.ir.segments import Product, Segmented

Space: TypeAlias = Literal["table", "input", "here", "parent", "carry", "column", "row", "diagonal", "output"]


@dataclass(frozen=True)
class Ref:
    """What one input or output array of a step's Program is bound to, at joint i, in column c.

    table           row i of the table of constants of the joint's kind
    input NAME      the joint's own part of an input port (see `Rolled.offset`)
    output NAME     the joint's own part of an output port
    here NAME       row i of a buffer                  parent NAME   row parent(i) of a buffer
    carry           what a walk carries
    column NAME     matrix[own part, c]                row NAME      matrix[c, own part]
    diagonal NAME   the joint's own part of the diagonal of a matrix
    """

    space: Space
    name: str = ""


@dataclass(frozen=True)
class Step:
    """One step for one kind of joint; reads[k] binds input array k, writes[k] output array k.

    An entry of an output array that no Output names is zero; entries of rows that no step reads may be left unwritten.
    """

    program: Program
    reads: tuple[Ref, ...]
    writes: tuple[Ref, ...]


@dataclass(frozen=True)
class Sweep:
    """steps[kind] for every joint in ascending order, or descending if `backward`; up to column c's joint if `upto`."""

    backward: bool
    steps: tuple[Step, ...]
    upto: bool = False


@dataclass(frozen=True)
class Walk:
    """For column c, dof k of joint i: starts[kind][k] at i, then visits[kind] at every other joint up to the root.

    carry: how many entries are carried. clears: buffers whose rows are zero where the walk does not come.
    """

    starts: tuple[tuple[Step, ...], ...]
    visits: tuple[Step, ...]
    carry: int
    clears: tuple[str, ...] = ()


@dataclass(frozen=True)
class Columns:
    """The body once for every column c of an nv x nv matrix, in ascending order."""

    body: tuple[Sweep | Walk, ...]


@dataclass(frozen=True)
class Mirror:
    """The upper triangle of a symmetric matrix, copied to its lower one."""

    matrix: str


Loop: TypeAlias = Sweep | Columns | Product | Mirror
"""Of a product, `left` is an input port, `right` and the result are matrices."""


@dataclass(frozen=True)
class Joint:
    """What loops know of one joint: its kind, its parent (-1: the world), where its parts begin in q, v and f_ext."""

    kind: int
    parent: int
    q: int
    v: int
    f_ext: int
    table: tuple[float, ...]


@dataclass(frozen=True)
class Kind:
    """A kind of joint: how many numbers of q and v it has."""

    name: str
    nq: int
    nv: int


@dataclass(frozen=True)
class Rolled:
    """One function of one robot as loops. `results` says which matrix is which output array; others come by steps."""

    name: str
    inputs: tuple[Array, ...]
    arrays: tuple[Array, ...]
    kinds: tuple[Kind, ...]
    joints: tuple[Joint, ...]
    buffers: Mapping[str, int]
    matrices: tuple[str, ...]
    results: Mapping[str, str]
    loops: tuple[Loop, ...]
    nv: int

    def offset(self, joint: Joint, port: str) -> int:
        """Where the joint's own part of a port begins."""
        return joint.q if port == "q" else joint.f_ext if port == "f_ext" else joint.v

    def branches(self) -> bool:
        """Whether some joint is nobody's ancestor but the last."""
        return any(joint.parent != i - 1 for i, joint in enumerate(self.joints))


Code: TypeAlias = Program | Rolled | Segmented
"""Every form of one function."""


def bodies(loops: Sequence[Loop]) -> Iterator[tuple[int, Sweep | Walk]]:
    """Every sweep and walk with the number of the loop it stands in."""
    for number, loop in enumerate(loops):
        if isinstance(loop, Sweep):
            yield number, loop
        elif isinstance(loop, Columns):
            for part in loop.body:
                yield number, part


def steps(body: Sweep | Walk) -> Iterator[tuple[int, Step]]:
    """Every step of a sweep or walk with its kind of joint."""
    if isinstance(body, Walk):
        for kind, starts in enumerate(body.starts):
            for step in starts:
                yield kind, step
        yield from enumerate(body.visits)
    else:
        yield from enumerate(body.steps)


def entries_read(step: Step) -> Iterator[tuple[Ref, int]]:
    """What a step reads, entry by entry."""
    for node in step.program.nodes:
        if node[0] == "input":
            array, entry = input_of(node)
            yield step.reads[array], entry
