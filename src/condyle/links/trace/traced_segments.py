"""`Segments` traced: a lane is a segment of a chain, or of a tree's branches.

A lane has consecutive joints. A stage runs for each of them in turn, or once in each lane; scans over the lanes are
between. Constants that are equal for all joints are in the code, the others in a table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby, islice
from typing import NamedTuple, TypeVar, cast

from condyle.algorithms.joint import NO_BODY, Dof, Inertia, Joint, Wrench, joint_at, wrench_on
from condyle.algorithms.matrix import flat, like, numbers, plus, refilled
from condyle.ir import link_parallel as ir
from condyle.ir.expr import Expr, Graph
from condyle.ir.link_parallel import TABLE
from condyle.ir.program import Array, Program
from condyle.links.algorithms.dynamics import body
from condyle.links.algorithms.links import Branching, Row, Semigroup, exchange_map
from condyle.model.joints.base import JointType
from condyle.model.tree import Link, Tree
from condyle.passes import pipeline
from condyle.scalar import Scalar, is_zero, number
from condyle.spatial import six
from condyle.spatial import vector as vec
from condyle.spatial.rotation import AboutZ, Axes, Full, Identity, Product, Rotation, Transform
from condyle.spatial.vector import IDENTITY_MATRIX, Vector
from condyle.specification import Function

# Stages under construction: the variables that they read and write.


class Stage:
    """One stage: variables are read and written by name, a value of any structure entry by entry."""

    def __init__(self, name: str, graph: Graph | None = None) -> None:
        self.name, self.graph = name, graph or Graph()
        self.inputs: list[Array] = []
        self.outputs: list[Array] = []
        self.values: list[tuple[int, int, Expr | float]] = []

    def read(self, var: str, width: int) -> list[Scalar]:
        names = [array.name for array in self.inputs]
        if var not in names:
            self.inputs.append(Array(var, (width,)))
            names.append(var)
        at = names.index(var)
        self.inputs[at] = Array(var, (max(width, self.inputs[at].size),))
        return [cast(Scalar, self.graph.input(at, k)) for k in range(width)]

    def value(self, var: str, shape: T, first: int = 0) -> T:
        """A value of this structure, from entry `first` of the variable."""
        size = len(flat(shape))
        return cast(T, like(shape, iter(self.read(var, first + size)[first:])))

    def write(self, var: str, value: object, first: int = 0) -> None:
        scalars = flat(value)
        self.outputs.append(Array(var, (first + len(scalars),)))
        at = len(self.outputs) - 1
        zero = self.graph.constant(0.0)  # zeros are stored too: other stages read them
        self.values += [(at, first + k, zero if is_zero(x) else cast(Expr, x)) for k, x in enumerate(scalars)]

    def program(self) -> Program:
        made = self.graph.program(self.name, self.inputs, self.outputs, self.values)
        return pipeline.apply(made, pipeline.ALL)


@dataclass(frozen=True)
class Entry:
    """An entry of a variable; version: how often the variable was overwritten before."""

    var: str
    position: int
    version: int = 0


@dataclass(frozen=True)
class Here:
    """Where a step is traced: its stage, and the joint."""

    stage: Stage
    kind: JointType | None = None
    joint: Joint | None = None

    @property
    def nv(self) -> int:
        """Degrees of freedom of the joint."""
        assert self.kind is not None
        return self.kind.nv


@dataclass(frozen=True)
class View:
    """A value that is computed again wherever it is used."""

    read: Callable[[Here], object]


def seen(here: Here, value: T) -> T:
    """A value with entries of variables replaced by symbols of the stage."""
    if isinstance(value, View):
        return cast(T, value.read(here))
    return refilled(value, [_symbol(here.stage, x) for x in flat(value)])


def _symbol(stage: Stage, x: Scalar) -> Scalar:
    return stage.read(x.var, x.position + 1)[x.position] if isinstance(x, Entry) else x


def variable(var: str, shape: T, first: int = 0, version: int = 0) -> T:
    """The value of this structure that a variable has from entry `first` on."""
    return refilled(shape, [cast(Scalar, Entry(var, first + k, version)) for k in range(len(flat(shape)))])


def name_of(step: Callable[..., object]) -> str:
    return name_of(step.func) if isinstance(step, partial) else step.__name__


class Table:
    """Constants of joints, one row for each; columns that are equal for all joints are left out, as numbers in
    `fixed`."""

    def __init__(self, rows: Sequence[Sequence[float]]) -> None:
        self.fixed = [column[0] if len(set(column)) == 1 else None for column in zip(*rows, strict=True)]
        self._columns = [k for k, x in enumerate(self.fixed) if x is None]
        self.width = len(self._columns)
        self.rows = tuple(tuple(row[k] for k in self._columns) for row in rows)

    def row(self, entry: Callable[[str, int], object]) -> list[object]:
        """A row: numbers for fixed columns, entry(TABLE, k) for the others."""
        left = iter(range(self.width))
        return [entry(TABLE, next(left)) if x is None else number(x) for x in self.fixed]

    def read(self, stage: Stage) -> list[Scalar]:
        """A row in a stage: numbers and symbols."""
        symbols = stage.read(TABLE, self.width)
        return [cast(Scalar, x) for x in self.row(lambda _, k: symbols[k])]


def composed(var: str, shape: T, combine: Callable[[T, T], T]) -> Program:
    """The stage of a scan, which combines two elements."""
    stage = Stage(f"{var}_scan")
    stage.write(var, combine(stage.value("base", shape), stage.value("tip", shape)))
    return stage.program()


# Scans over lanes: along a chain by distance, along a tree by the lane-exchange map.


class LaneOperations:
    """The operations so far, the widths of variables, and the identity elements of those that are scanned."""

    def __init__(self, chain: bool) -> None:
        self.chain = chain
        self.ops: list[ir.Op] = []
        self.widths: dict[str, int] = {}
        self.identities: dict[str, tuple[float, ...]] = {}

    def _step(self, var: str, semigroup: Semigroup[T]) -> Program:
        identity = semigroup.identity()
        self.identities[var] = numbers(identity)
        return composed(var, identity, semigroup.combine)

    def _outward(self, var: str, semigroup: Semigroup[T]) -> None:
        """A scan from the root."""
        stage = self._step(var, semigroup)
        self.ops.append(
            ir.Scan(stage, var, False) if self.chain else ir.TreeScanStep(stage, var, var, "ancestors", False)
        )

    def _inward(self, var: str, semigroup: Branching[T], half: bool = False) -> None:
        """A scan from the tips; half: products of at most half the lanes of a chain."""
        stage = self._step(var, semigroup)
        meet = ir.TreeScanStep(stage, var, var, "behind", True, handed(semigroup))
        self.ops.append(ir.Scan(stage, var, True, half) if self.chain else meet)

    def _of_parent(self, var: str, into: str, value: object, first: int) -> None:
        """`into` = the parent's value in a tree; at a root it keeps its own."""
        stage = Stage(into)
        stage.write(into, stage.value("base", value, first))
        self.ops.append(ir.TreeScanStep(stage.program(), into, var, "parents", False))

    def _of_children(self, var: str, into: str, value: object, first: int) -> None:
        """`into`, zero so far, = the sum of the children's values in a tree."""
        stage = Stage(into)
        stage.write(into, plus(stage.value("base", value), stage.value("tip", value, first)))
        self.ops.append(ir.TreeScanStep(stage.program(), into, var, "children", True))


def handed(semigroup: Branching[T]) -> int:
    """The first entry that branches pass on; in its place entries before are the identity's."""
    identity = semigroup.identity()
    own = [cast(Scalar, Entry("", k)) for k in range(len(flat(identity)))]
    found = flat(semigroup.handed(refilled(identity, own)))
    first = next(k for k, x in enumerate(found) if isinstance(x, Entry))
    assert [*flat(identity)[:first], *own[first:]] == found
    return first


# A tree's branches, cut into segments of about equal length, one for each lane.


Span = tuple[int, int]
"""Consecutive links: the first one, and their number."""


class Cut(NamedTuple):
    """For each segment its links, and its parent: the segment that it begins at the tip of, -1 for the world."""

    spans: tuple[Span, ...]
    parents: tuple[int, ...]


def branches(tree: Tree) -> list[Span]:
    """Runs of consecutive links, each the only child of the one before it."""
    children = [0] * (len(tree.links) + 1)
    for link in tree.links:
        children[link.parent] += 1
    found: list[Span] = []
    for i, link in enumerate(tree.links):
        if found and link.parent == i - 1 and children[i - 1] == 1:
            found[-1] = found[-1][0], found[-1][1] + 1
        else:
            found.append((i, 1))
    return found


def cut(tree: Tree, lanes: int) -> Cut:
    """Branches cut into at most `lanes` segments, with the longest one as short as possible. lanes: at least the number
    of branches."""
    runs = branches(tree)
    length = next(k for k in range(1, len(tree.links) + 1) if _pieces(runs, k) <= lanes)
    spans = [(first + at, min(length, count - at)) for first, count in runs for at in range(0, count, length)]
    segment_of = {first + count - 1: k for k, (first, count) in enumerate(spans)}
    return Cut(tuple(spans), tuple(segment_of.get(tree.links[first].parent, -1) for first, _ in spans))


def _pieces(runs: Sequence[Span], length: int) -> int:
    return sum(-(-count // length) for _, count in runs)


T = TypeVar("T")
Q, V, DRIVE, ANSWER, ANGLE, SINE, COSINE, COLUMNS = range(8)
"""Columns of variable io: q, v, tau or a, the output, the angle, its sine and cosine."""
ROTATION, ORIGIN, MASS, FIRST, SECOND, ARMATURE, TURN, SLIDE, OUTER, OUTER_ORIGIN, WIDTH = (
    *(0, 9, 12, 13, 16, 22, 23, 24, 25, 34, 37),
)
BASE = ("base_q", "base_v", "base_drive", "base_ext")
"""Variables of the floating base, the same in every lane."""

STIFF = 1e30
"""An armature so large that no force moves the joint; it fits in float32."""


def is_chain(tree: Tree) -> bool:
    """Whether it is a chain of joints with one degree of freedom each, on a fixed or free base."""
    free = floats(tree)
    return (
        _is_simple(tree, free)
        and len(tree.links) > free
        and all(link.parent == i - 1 for i, link in enumerate(tree.links))
    )


def has_branches(tree: Tree, lanes: int) -> bool:
    """Whether lanes can be segments of its branches: joints of one degree of freedom, a fixed base, at most `lanes`
    branches."""
    return len(tree.links) > 0 and _is_simple(tree, False) and len(branches(tree)) <= lanes


def _is_simple(tree: Tree, free: bool) -> bool:
    links = tree.links
    return (
        tree.n_bodies == len(links)
        and not tree.has_shared_coordinates
        and all(link.body == i for i, link in enumerate(links))
        and all(link.kind.is_axial and link.kind.nv == 1 for link in links[free:])
        and all(
            link.q[0].entry == i + 6 * free and link.v[0].entry == i + 5 * free for i, link in enumerate(links) if i
        )
    )


def floats(tree: Tree) -> bool:
    """Whether its first joint is a free one."""
    return bool(tree.links) and tree.links[0].kind.is_free


class TracedSegments(LaneOperations):
    """`Segments`, traced: a chain, or the branches of a tree, cut into segments of at most `length` joints."""

    def __init__(self, tree: Tree, forces: bool, lanes: int, guard: float) -> None:
        super().__init__(is_chain(tree))
        self.branches = not self.chain
        self.tree, self.forces, self.lanes, self.guard, self.free = tree, forces, lanes, guard, floats(tree)
        links = tree.links[1:] if self.free else tree.links
        self.joints = len(links)
        self.length = -(-self.joints // lanes)
        self.partners: dict[str, tuple[Row, ...]] = {}
        first = range(0, lanes * self.length, self.length)
        spans = [(min(at, self.joints), max(0, min(self.length, self.joints - at))) for at in first]
        rows = [_row(link)[: WIDTH if forces else OUTER] for link in links]
        absent = _absent(rows[0])
        if self.branches:
            found = cut(tree, lanes)
            self.length = max(count for _, count in found.spans)
            self.partners = exchange_map(found.parents, lanes)
            spans = [*found.spans, *[(0, 0)] * (lanes - len(found.spans))]
            absent = _stiff(rows[0])
        self.spans = tuple(spans)
        every = [[*rows[at : at + count], *[absent] * (self.length - count)] for at, count in spans]
        self.table = Table([row for lane in every for row in lane])
        self.widths = {ir.TABLE: self.table.width, ir.IO: COLUMNS, **({ir.EXT: 6} if forces else {})}
        self.down = vec.scale(-1.0, cast(Vector, tree.gravity))
        self.v, self.drive, self.answer = ((cast(Scalar, Entry(ir.IO, k)),) for k in (V, DRIVE, ANSWER))
        self.external = (cast(Wrench, View(self._external)),) * forces
        self.root = cast(Joint, View(self._root))
        self.base_v, self.base_drive = (cast("Sequence[Scalar]", View(partial(self._of_base, k))) for k in (1, 2))
        self.base_external = cast("Sequence[Wrench]", View(self._outer))
        self.base_answer = self.variable("answer", six.ZERO) if self.free else ()

    def _root(self, here: Here) -> Joint:
        """The joint of a floating base, or a body that does not move."""
        base = self.tree.links[0]
        return joint_at(base.kind, base.numbers, self._of_base(0, here)) if self.free else body(NO_BODY)

    def _of_base(self, k: int, here: Here) -> list[Scalar]:
        return here.stage.read(BASE[k], 7 if k == 0 else 6) if self.free else []

    def _outer(self, here: Here) -> tuple[Wrench, ...]:
        base = self.tree.links[0]
        return (wrench_on(base.body_frame, self._of_base(3, here)),) if self.forces else ()

    def _external(self, here: Here) -> Wrench:
        row = self.table.read(here.stage)
        axes = (vec.three(row, OUTER), vec.three(row, OUTER + 3), vec.three(row, OUTER + 6))
        return wrench_on(Transform(Axes(axes), vec.three(row, OUTER_ORIGIN)), here.stage.read(ir.EXT, 6))

    def variable(self, name: str, shape: T) -> T:
        self.widths[name] = len(flat(shape))
        return variable(name, shape)

    def of_joints(self, shape: T, first: int = 0) -> T:
        self.widths[ir.ROW] = first + len(flat(shape))
        return variable(ir.ROW, shape, first)

    def start(self, value: T, constants: T) -> None:
        self.ops.append(ir.Start(_name_of(value), numbers(constants)))

    def sines(self) -> None:
        if self.table.fixed[TURN] == 1.0:
            self.ops.append(ir.Sines(Q, SINE, COSINE))
            return
        stage = Stage("angles")
        stage.write(ir.IO, stage.read(ir.IO, COLUMNS)[Q] * self.table.read(stage)[TURN], ANGLE)
        self.ops += [ir.EachJoint(stage.program(), False), ir.Sines(ANGLE, SINE, COSINE)]

    def _joint(self, stage: Stage) -> Joint:
        row, columns = self.table.read(stage), stage.read(ir.IO, COLUMNS)
        turn, slide = row[TURN], row[SLIDE]
        axes = (vec.three(row, ROTATION), vec.three(row, ROTATION + 3), vec.three(row, ROTATION + 6))
        placed: Rotation = Identity() if axes == IDENTITY_MATRIX else Full(axes)
        rotation = placed if is_zero(turn) else Product(placed, AboutZ(columns[COSINE], columns[SINE]))
        none = number(0.0)
        origin = vec.add(vec.three(row, ORIGIN), placed.back((none, none, slide * columns[Q])))
        dof = Dof((none, none, slide), (none, none, turn), row[ARMATURE])
        xx, xy, xz, yy, yz, zz = row[SECOND:ARMATURE]
        inertia = Inertia(row[MASS], vec.three(row, FIRST), (xx, xy, xz, yy, yz, zz))
        return Joint(Transform(rotation, origin), (dof,), inertia, True)

    def sweep(self, step: Callable[..., T], *values: object, into: T, backward: bool = False) -> None:
        stage = Stage(name_of(step))
        joint, here = self._joint(stage), Here(stage)
        self._write(stage, step(joint, *(seen(here, value) for value in values)), into)
        self.ops.append(ir.EachJoint(stage.program(), backward))

    def once(self, step: Callable[..., T], *values: object, into: T) -> None:
        stage = Stage(name_of(step))
        self._write(stage, step(*(seen(Here(stage), value) for value in values)), into)
        self.ops.append(ir.Once(stage.program()))

    def _write(self, stage: Stage, value: object, into: object) -> None:
        targets, scalars = cast("list[Entry]", flat(into)), iter(flat(value))
        for var, entries in groupby(targets, lambda entry: entry.var):
            places = [entry.position for entry in entries]
            stage.write(var, tuple(islice(scalars, len(places))), places[0])

    def outward(self, semigroup: Semigroup[T], elements: T) -> None:
        self._outward(_name_of(elements), semigroup)

    def inward(self, semigroup: Branching[T], elements: T, half: bool = False) -> None:
        self._inward(_name_of(elements), semigroup, half)

    def of_base(self, elements: T, into: T) -> None:
        var, target = _name_of(elements), _name_of(into)
        if self.chain:
            self.ops.append(ir.Neighbour(var, target, 0, -1))
        else:
            self._of_parent(var, target, into, 0)

    def of_tip(self, elements: object, into: object, none: object, by: int = 1) -> None:
        (first, *_), target = cast("list[Entry]", flat(elements)), _name_of(into)
        if self.chain:
            self.identities.setdefault(first.var, numbers(none))
            self.ops.append(ir.Neighbour(first.var, target, first.position, by))
        else:
            self.start(into, none)
            self._of_children(first.var, target, into, first.position)

    def copied(self, value: object, into: object) -> None:
        first = cast(Entry, flat(value)[0])
        self.ops.append(ir.Neighbour(first.var, _name_of(into), first.position, 0))

    def spread(self, value: object) -> None:
        self.ops.append(ir.Spread(_name_of(value)))

    def finished(self, function: Function) -> ir.LinkParallel:
        """All operations, for the ports of this function."""
        inputs = tuple(zip((port.name for port in function.inputs), (Q, V, DRIVE, ir.NONE), strict=False))
        answer = function.outputs[0].name
        ops, base = self.ops, dict[str, int]()
        if self.free:
            base = {port: 7 if port == "q" else 6 for port, _ in (*inputs, (answer, ANSWER))}
            read = [(k, var, base[port]) for k, ((port, _), var) in enumerate(zip(inputs, BASE, strict=False))]
            self.widths |= {var: width for _, var, width in read}
            ops = [*(ir.Splat(k, var) for k, var, _ in read), *ops, ir.Emit(0, "answer")]
        return ir.LinkParallel(
            function.name,
            self.joints,
            self.lanes,
            self.length,
            inputs,
            ((answer, ANSWER),),
            self.widths,
            self.identities,
            self.table.rows,
            tuple(ops),
            partners=self.partners,
            base=base,
            spans=self.spans,
        )


def _name_of(value: object) -> str:
    return cast(Entry, flat(value)[0]).var


def _row(link: Link) -> list[float]:
    n, (linear, angular) = link.numbers, link.kind.subspace(link.numbers.pitch)[0]
    own = (n.rotation, n.origin, n.mass, n.first, n.second, n.armature[0], angular[2], linear[2])
    return [*numbers(own), *numbers(link.body_frame)]


def _absent(row: list[float]) -> list[float]:
    """A padding joint beyond the chain's tip: without mass, with an armature that keeps D from zero."""
    return [*row[:MASS], *[0.0] * (ARMATURE - MASS), 1.0, *row[TURN:]]


def _stiff(row: list[float]) -> list[float]:
    """A padding joint between a segment's last link and the next segment: it never moves."""
    return [*numbers((IDENTITY_MATRIX, vec.ZERO)), *[0.0] * (ARMATURE - MASS), STIFF, *row[TURN:]]
