"""Loops over joints and loops over time: small Programs, and what passes from one joint or step to the next.

The form for long robots. Passes and targets see no robot here, but a tree: an order of joints, parents, kinds, tables
of constants, and what each step reads and writes. Roots, leaves and the joints between are different kinds, so steps
have no branches.

Storage of one state, in scalars: `buffers` have a row of `width` entries for every joint; `matrices` are nv x nv and
zero where nothing is written. Rows of buffers are written before they are read, so they need no initial value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

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


# A function repeated over time: its body, and a loop that passes outputs of a step to the next step.


class Take(NamedTuple):
    """The value of an input of the body at a step.

    every = 0: the given array is one value. It is the input at the first step; at later steps the input is output
    number `carried` of the step before, or again the array if carried is -1. every = k: the given array has a row for
    each kept step (see `TimeLoop.row`). With carried = -1 the input is the row at kept steps and zero at others. Else
    it is output number `carried` of the step before (zero at the first step), plus the row at kept steps.
    """

    carried: int = -1
    every: int = 0


EARLY, SHARE = 8, 16
"""Steps that are expected of a loop that ends by itself, or if that is more a part of the most that it may take."""
COUNT = -1
"""In place of the number of an output: how many steps were taken."""


class Give(NamedTuple):
    """One output of the loop, from output number `output` of the body. every = k: a row for each kept step; 0: the
    value of the last step. output = COUNT: the number of steps that were taken, as one number.

    summed: the sum over all steps instead, added in the order in which they run.
    """

    output: int
    every: int = 0
    summed: bool = False


@dataclass(frozen=True)
class TimeLoop:
    """How a body is repeated. takes: one for each input of the body. backwards: from the last step to the first.

    until: number of an output of one entry; -1 where all steps are taken. The first step at which it is above 0 is the
    last one of that state: its answers are those of this step. steps: the most that are taken. together: such a step of
    any state is the last one of all states of a call.
    """

    steps: int
    takes: tuple[Take, ...]
    gives: tuple[Give, ...]
    backwards: bool = False
    until: int = -1
    together: bool = False

    def times(self) -> Iterator[int]:
        """The steps in the order in which they run."""
        return iter(reversed(range(self.steps)) if self.backwards else range(self.steps))

    def row(self, every: int, t: int) -> int:
        """The row of step t if it is kept, else -1. Steps and rows count from 0; each `every`-th step and the last one
        are kept."""
        return t // every if (t + 1) % every == 0 or t == self.steps - 1 else -1

    def rows(self, every: int) -> int:
        """The number of rows; 1 where every is 0."""
        return -(-self.steps // every) if every else 1

    @property
    def expected(self) -> int:
        """A guess at how many steps a state takes; it only decides what a thread takes at once."""
        return max(min(self.steps, EARLY), self.steps // SHARE) if self.until >= 0 else self.steps

    @property
    def last(self) -> int:
        """The step that runs last."""
        return 0 if self.backwards else self.steps - 1


@dataclass(frozen=True)
class Repeated:
    """A function as a loop over time. inputs, arrays: the body's, with a leading time axis where `every` is not 0."""

    name: str
    body: Code
    loop: TimeLoop
    inputs: tuple[Array, ...]
    arrays: tuple[Array, ...]


def verify_repeated(code: Repeated) -> Repeated:
    """The code itself; AssertionError (a bug of ours) where it breaks a rule."""
    body, loop = code.body, code.loop
    assert loop.steps >= 1, code.name
    assert len(loop.takes) == len(body.inputs) == len(code.inputs), code.name
    for take, own, array in zip(loop.takes, body.inputs, code.inputs, strict=True):
        assert take.carried < len(body.arrays) and take.every >= 0, take
        assert take.carried < 0 or body.arrays[take.carried].size == own.size, f"{code.name}: {own.name}"
        assert array.size == own.size * (loop.rows(take.every) if take.every else 1), f"{code.name}: {array.name}"
    assert len(loop.gives) == len(code.arrays), code.name
    assert loop.until < 0 or body.arrays[loop.until].size == 1, f"{code.name}: until"
    for give, array in zip(loop.gives, code.arrays, strict=True):
        if give.output == COUNT:
            assert array.size == 1 and not give.every, f"{code.name}: {array.name}"
            continue
        assert loop.until < 0 or not give.every, f"{code.name}: {array.name} has a row for each step"
        assert 0 <= give.output < len(body.arrays) and give.every >= 0 and not (give.summed and give.every), give
        rows = loop.rows(give.every) if give.every else 1
        assert array.size == body.arrays[give.output].size * rows, f"{code.name}: {array.name}"
    return code
