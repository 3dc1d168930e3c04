"""Loops over joints (rolled sweeps): one small Program for each kind of joint, and the robot as tables.

The form for long robots. Passes and targets see no robot here, but a tree: an order of joints, parents, kinds, tables
of constants, and what each step reads and writes. Roots, leaves and the joints between are different kinds, so steps
have no branches.

Storage of one state, in scalars: `buffers` have a row of `width` entries for every joint; `matrices` are nv x nv and
zero where nothing is written. Rows of buffers are written before they are read, so they need no initial value.
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
    """The storage that an input or output array of a step's Program is bound to, at joint i, in column c.

    table           row i of the table of constants of the joint's kind
    input NAME      the joint's own part of an input port (see `Rolled.offset`)
    output NAME     the joint's own part of an output port
    here NAME       row i of a buffer                  parent NAME   row parent(i) of a buffer
    carry           the values that a walk takes from joint to joint
    column NAME     matrix[own part, c]                row NAME      matrix[c, own part]
    diagonal NAME   the joint's own part of the diagonal of a matrix
    """

    space: Space
    name: str = ""


@dataclass(frozen=True)
class Step:
    """One step for one kind of joint; reads[k] binds input array k, writes[k] output array k.

    An entry of an output array without an Output is zero; entries of rows that no step reads may stay unwritten.
    """

    program: Program
    reads: tuple[Ref, ...]
    writes: tuple[Ref, ...]


@dataclass(frozen=True)
class Sweep:
    """steps[kind] for every joint in ascending order, or descending if `backward`. upto: for the joints up to that of
    column c."""

    backward: bool
    steps: tuple[Step, ...]
    upto: bool = False


@dataclass(frozen=True)
class Walk:
    """For column c, dof k of joint i: starts[kind][k] at i, then visits[kind] at every other joint up to the root.

    carry: number of entries that are carried. clears: buffers that are set to zero before the walk.
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
"""In a Product, `left` is an input port; `right` and the result are matrices."""


@dataclass(frozen=True)
class Joint:
    """One joint: its kind, its parent (-1: the world), its first entry in q, v and f_ext, its row of constants."""

    kind: int
    parent: int
    q: int
    v: int
    f_ext: int
    table: tuple[float, ...]


@dataclass(frozen=True)
class Kind:
    """A kind of joint: its numbers of entries of q and of v."""

    name: str
    nq: int
    nv: int


@dataclass(frozen=True)
class Rolled:
    """One function of one robot as loops. results: {output array: the matrix that it is}; steps write the others."""

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
        """The joint's first entry in a port."""
        return joint.q if port == "q" else joint.f_ext if port == "f_ext" else joint.v

    def branches(self) -> bool:
        """Whether the tree is no chain."""
        return any(joint.parent != i - 1 for i, joint in enumerate(self.joints))


Code: TypeAlias = Program | Rolled | Segmented
"""Code of one function, in any form."""


def bodies(loops: Sequence[Loop]) -> Iterator[tuple[int, Sweep | Walk]]:
    """Every sweep and walk with the number of the loop that contains it."""
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
    """(reference, entry) of all that a step reads."""
    for node in step.program.nodes:
        if node[0] == "input":
            array, entry = input_of(node)
            yield step.reads[array], entry
