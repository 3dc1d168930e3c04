"""Rolled sweeps: loops over joints, one small Program a kind of joint, the robot as tables.

The form for long robots, and for targets that run joints side by side. The machine wing sees a tree here
without knowing robots: an order, parents, kinds, tables of constants, and where each step reads and writes.

Storage, all of it scalars a state: `buffers` have a row of `width` entries for every joint and one more for the
world (row -1, kept at `world` in buffers that start there); `matrices` are nv x nv, zero at first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from condyle.ir.program import Array, Program

Space: TypeAlias = Literal[
    "table", "input", "here", "parent", "carry", "column", "unit", "output", "diagonal", "add", "meeting"
]


@dataclass(frozen=True)
class Ref:
    """What one input or output array of a step's Program is bound to, at joint i.

    As an input:
      table           row i of the table of constants of the joint's kind
      input NAME      the joint's own part of an input port (see `Joint.offset`)
      here NAME       row i of a buffer                  parent NAME   row parent(i) of a buffer
      carry           what a pair carries                unit          the joint's part of the unit vector of the column
      column NAME     the joint's part of column c of a matrix
    As an output:
      here NAME, carry, column NAME                      as above
      add NAME        added to row parent(i) of a buffer, nowhere at the root
      output NAME     the joint's own part of an output port
      meeting         the values of a meeting, for each dof of the joint one a target
      diagonal NAME   added to the joint's part of the diagonal of a matrix
    """

    space: Space
    name: str = ""


@dataclass(frozen=True)
class Step:
    """One step for one kind of joint; reads[k] binds input array k, writes[k] output array k."""

    program: Program
    reads: tuple[Ref, ...]
    writes: tuple[Ref, ...]


@dataclass(frozen=True)
class Sweep:
    """steps[kind] for every joint, in ascending order, or descending if `backward`."""

    backward: bool
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Target:
    """Where value number `value` of a meeting goes: matrix[row k, column l], or [l, k] if transposed (not at i = j)."""

    matrix: str
    transposed: bool


@dataclass(frozen=True)
class Pairs:
    """For dof k of joint i: carry = start; for j = i and every ancestor j of i: meet, then rise.

    starts[kind][k], meets[kind], rises[kind]. A meeting's output array has, for each dof l of joint j, one value
    a target. `here` is joint i in a start and joint j in a meeting.
    """

    starts: tuple[tuple[Step, ...], ...]
    meets: tuple[Step, ...]
    rises: tuple[Step, ...]
    targets: tuple[Target, ...]
    carry: int


@dataclass(frozen=True)
class Columns:
    """The sweeps of `body` once for every column c of an nv x nv matrix."""

    body: tuple[Sweep, ...]


@dataclass(frozen=True)
class Product:
    """result = - left right, all nv x nv; left is an input port, right a matrix."""

    left: str
    right: str
    result: str


@dataclass(frozen=True)
class Mirror:
    """The lower triangle of a symmetric matrix, copied to its upper one."""

    matrix: str


Loop: TypeAlias = Sweep | Pairs | Columns | Product | Mirror


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
    world: Mapping[str, Sequence[float]]
    matrices: tuple[str, ...]
    results: Mapping[str, str]
    loops: tuple[Loop, ...]
    nv: int

    def offset(self, joint: Joint, port: str) -> int:
        """Where the joint's own part of a port begins."""
        return joint.q if port == "q" else joint.f_ext if port == "f_ext" else joint.v


Code: TypeAlias = Program | Rolled
"""Either form of one function."""
