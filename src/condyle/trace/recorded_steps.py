"""The parts of a recording of loops: kinds of joints, steps under construction, handles for values and matrices."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeVar, cast, overload

from condyle.algorithms.joint import Joint
from condyle.algorithms.matrix import numbers, refilled
from condyle.ir import loops as ir
from condyle.ir.expr import Expr, Graph
from condyle.ir.program import Array, Program, input_of
from condyle.model.joints.base import JointType
from condyle.model.tree import Link, Numbers, Tree
from condyle.operations import TRIGONOMETRIC
from condyle.passes import pipeline
from condyle.scalar import Scalar, is_zero, number
from condyle.spatial import vector as vec
from condyle.spatial.rotation import IDENTITY, Transform

# Kinds of joints for loops: links with the same steps, and their constants as rows of a table.


class Constants(NamedTuple):
    """All constants of a link, in the order of a row of the table."""

    numbers: Numbers
    body_frame: Transform


@dataclass(frozen=True)
class JointGroup:
    """Joints that share their steps: of one joint type, and alike in the properties below.

    carries_body: the link is a body of the robot. tilts: its placement is a rotation about x, then one about z.
    is_root: the parent is the world. is_leaf: it has no children. is_first: a backward sweep reaches it before its
    siblings, so it stores its value at the parent where the others add. fixed: constants that are equal for all its
    links, None for the others.
    """

    type: JointType
    carries_body: bool
    tilts: bool
    is_root: bool
    is_leaf: bool
    is_first: bool
    fixed: tuple[float | None, ...]

    @property
    def nv(self) -> int:
        return self.type.nv

    def bound(self, symbols: Sequence[Scalar]) -> Constants:
        """The constants as steps take them: numbers where all links agree, else symbols for the table's entries."""
        known = zip(symbols, self.fixed, strict=True)
        values = [symbol if value is None else number(value) for symbol, value in known]
        return refilled(Constants(blank(self.nv), IDENTITY), values)


def tilts(link: Link) -> bool:
    """Whether a link's placement is a rotation about x, then one about z."""
    return is_zero(link.numbers.rotation[2][0])


def kinds_of(tree: Tree) -> tuple[list[JointGroup], list[int]]:
    """All kinds, and the number of the kind of each link."""
    last_child = {link.parent: i for i, link in enumerate(tree.links)}
    keys = [
        (
            link.kind.name,
            link.body >= 0,
            tilts(link),
            link.parent < 0,
            i not in last_child,
            last_child[link.parent] == i,
        )
        for i, link in enumerate(tree.links)
    ]
    order = list(dict.fromkeys(keys))
    kinds: list[JointGroup] = []
    for key in order:
        links = [link for link, own in zip(tree.links, keys, strict=True) if own == key]
        rows = [constants(link) for link in links]
        fixed = tuple(column[0] if len(set(column)) == 1 else None for column in zip(*rows, strict=True))
        kinds.append(JointGroup(links[0].kind, *key[1:], fixed))
    return kinds, [order.index(key) for key in keys]


def constants(link: Link) -> tuple[float, ...]:
    """All numbers of a link in one row."""
    return numbers(Constants(link.numbers, link.body_frame))


def blank(nv: int) -> Numbers:
    """Numbers with the structure of those of a link with nv degrees of freedom."""
    none = number(0.0)
    return Numbers(vec.IDENTITY_MATRIX, vec.ZERO, none, none, vec.ZERO, vec.ZERO_SYMMETRIC, (none,) * nv)


T = TypeVar("T")
TRIG = "trig"  # the buffer of cosines and sines of all joints


class StepGraph(Graph):
    """A step's graph. Sine and cosine of the joint's own coordinates are read: the first sweep computes them."""

    def __init__(self, nq: int) -> None:
        super().__init__()
        self.nq = nq
        self.arrays: list[Array] = []
        self.refs: list[ir.Ref] = []

    def read(self, ref: ir.Ref, size: int) -> list[Scalar]:
        """Symbols for the storage that `ref` is bound to."""
        if ref in self.refs:
            k = self.refs.index(ref)
        else:
            k = len(self.refs)
            self.refs.append(ref)
            self.arrays.append(Array(f"{ref.space} {ref.name}".strip(), (size,)))
        return [cast(Scalar, self.input(k, entry)) for entry in range(size)]

    def _own_coordinate(self, x: Expr | float) -> int | None:
        node = self.nodes[x.index] if isinstance(x, Expr) else ("const", x)
        if node[0] != "input":
            return None
        array, entry = input_of(node)
        return entry if self.refs[array] == ir.Ref("input", "q") else None

    def _computed(self, entry: int) -> Expr:
        return cast(Expr, self.read(ir.Ref("here", TRIG), 2 * self.nq)[entry])

    def function(self, op: str, operands: Sequence[Expr | float]) -> Expr | float:
        k = self._own_coordinate(operands[0]) if op in TRIGONOMETRIC else None
        return super().function(op, operands) if k is None else self._computed(2 * k + (op == "sin"))


@dataclass(eq=False)
class StepContext:
    """One step under construction, for a kind of joint, in a sweep or walk. dof: set in a walk's start."""

    kind: int
    graph: StepGraph
    joint: Joint
    dof: int | None = None
    writes: list[tuple[ir.Ref, list[Scalar]]] = field(default_factory=list[tuple[ir.Ref, list[Scalar]]])

    def write(self, ref: ir.Ref, values: Sequence[Scalar]) -> None:
        self.writes.append((ref, list(values)))

    def step(self, name: str, wanted: Callable[[ir.Ref, int], bool]) -> ir.Step:
        """The step, reduced to the entries that are wanted of it and the inputs that these need."""
        kept: list[tuple[ir.Ref, int]] = []
        entries: list[tuple[int, int, Expr | float]] = []
        for ref, values in self.writes:
            chosen = [(k, cast(Expr, value)) for k, value in enumerate(values) if wanted(ref, k)]
            if chosen:
                entries += [(len(kept), k, value) for k, value in chosen]
                kept.append((ref, len(values)))
        arrays = [Array(f"{ref.space} {ref.name}".strip(), (size,)) for ref, size in kept]
        program = self.graph.program(name, self.graph.arrays, arrays, entries)
        program = pipeline.apply(program, pipeline.ALL)
        used = sorted({input_of(node)[0] for node in program.nodes if node[0] == "input"})
        return ir.Step(_only(program, used), tuple(self.graph.refs[k] for k in used), tuple(ref for ref, _ in kept))


def _only(program: Program, used: Sequence[int]) -> Program:
    """The Program with only these input arrays."""
    nodes = tuple(
        ("input", used.index(input_of(node)[0]), input_of(node)[1]) if node[0] == "input" else node
        for node in program.nodes
    )
    return replace(program, inputs=tuple(program.inputs[k] for k in used), nodes=nodes)


@dataclass(eq=False)
class Group:
    """A sweep or walk under construction: its contexts, those of a walk's starts first."""

    name: str
    backward: bool
    contexts: list[StepContext]
    upto: bool = False
    walk: bool = False
    sealed: bool = False
    """no further step may be added"""
    clears: list[str] = field(default_factory=list[str])
    carry: int = 0

    def finished(self, wanted: Callable[[ir.Ref, int], bool]) -> ir.Sweep | ir.Walk:
        """The loop with its steps."""
        steps = [context.step(self.name, wanted) for context in self.contexts]
        if not self.walk:
            return ir.Sweep(self.backward, tuple(steps), self.upto)
        kinds = 1 + max(context.kind for context in self.contexts)
        starts: list[list[ir.Step]] = [[] for _ in range(kinds)]
        visits: list[ir.Step] = []
        for context, step in zip(self.contexts, steps, strict=True):
            (visits if context.dof is None else starts[context.kind]).append(step)
        return ir.Walk(tuple(map(tuple, starts)), tuple(visits), self.carry, tuple(self.clears))


class Handle(Sequence[T]):
    """A Field of a recording: values in the contexts that computed them, and a buffer for other loops.

    ref: the storage. home: the loop that computes it, None for inputs. values: {context: value}. shapes: the value's
    structure for each kind of joint; plain numbers in it need no storage.
    """

    def __init__(self, ref: ir.Ref, shapes: Sequence[object], home: Group | None = None) -> None:
        self.ref, self.shapes, self.home = ref, shapes, home
        self.values: dict[StepContext, object] = {}

    def needs(self) -> Collection[Group]:
        """The loops that must have run before this can be read."""
        return () if self.home is None else (self.home,)

    def __len__(self) -> int:
        raise TypeError("a rolled field has no elements")

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        raise TypeError("a rolled field has no elements")


class Lazy(Handle[T]):
    """A Field that is computed again in each step that reads it."""

    def __init__(self, step: Callable[..., T], fields: Sequence[Handle[object]]) -> None:
        super().__init__(ir.Ref("here"), ())
        self.step, self.fields = step, fields

    def needs(self) -> Collection[Group]:
        return [group for handle in self.fields for group in handle.needs()]


class External(Handle[T]):
    """The external wrench on each link."""


class Unit(Handle[T]):
    """The unit vector of a walk's column: 1 at the start's dof, else 0."""


@dataclass(frozen=True)
class MatrixHandle:
    """A joint-space matrix of a recording."""

    name: str

    def get(self, row: int, column: int) -> Scalar | None:
        raise TypeError("a rolled matrix has no elements")
