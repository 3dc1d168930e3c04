"""Stages under construction: the variables that they read and write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar, cast

from condyle.algorithms.joint import Joint
from condyle.algorithms.matrix import flat, like, numbers, plus, refilled
from condyle.ir import link_parallel as ir
from condyle.ir.expr import Expr, Graph
from condyle.ir.link_parallel import TABLE
from condyle.ir.program import Array, Program
from condyle.links.algorithms.links import Branching, Semigroup
from condyle.model.joints.base import JointType
from condyle.passes import pipeline
from condyle.scalar import Scalar, is_zero, number

T = TypeVar("T")


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
