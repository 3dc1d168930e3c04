"""A stage of a function in lanes while it is traced: what it reads and writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar, cast

from condyle.algorithms.joint import Joint
from condyle.algorithms.values import flat, like, refilled
from condyle.ir.expr import Expr, Graph
from condyle.ir.link_parallel import TABLE
from condyle.ir.program import Array, Program
from condyle.model.joints.base import JointType
from condyle.passes import pipeline
from condyle.scalar import Scalar, is_zero, number

T = TypeVar("T")


class Stage:
    """One stage: banks are read and written by name, a value of any structure entry by entry."""

    def __init__(self, name: str, graph: Graph | None = None) -> None:
        self.name, self.graph = name, graph or Graph()
        self.inputs: list[Array] = []
        self.outputs: list[Array] = []
        self.values: list[tuple[int, int, Expr | float]] = []

    def read(self, bank: str, width: int) -> list[Scalar]:
        names = [array.name for array in self.inputs]
        if bank not in names:
            self.inputs.append(Array(bank, (width,)))
            names.append(bank)
        at = names.index(bank)
        self.inputs[at] = Array(bank, (max(width, self.inputs[at].size),))
        return [cast(Scalar, self.graph.input(at, k)) for k in range(width)]

    def value(self, bank: str, shape: T, first: int = 0) -> T:
        """A value of this structure, from entry `first` of the bank."""
        size = len(flat(shape))
        return cast(T, like(shape, iter(self.read(bank, first + size)[first:])))

    def write(self, bank: str, value: object, first: int = 0) -> None:
        scalars = flat(value)
        self.outputs.append(Array(bank, (first + len(scalars),)))
        at = len(self.outputs) - 1
        zero = self.graph.constant(0.0)  # zeros are stored as other values are: somebody reads them
        self.values += [(at, first + k, zero if is_zero(x) else cast(Expr, x)) for k, x in enumerate(scalars)]

    def program(self) -> Program:
        made = self.graph.program(self.name, self.inputs, self.outputs, self.values)
        return pipeline.apply(made, pipeline.ALL)


@dataclass(frozen=True)
class Entry:
    """A number of a variable; version: how often the variable was overwritten before."""

    bank: str
    at: int
    version: int = 0


@dataclass(frozen=True)
class Here:
    """Where a step is traced: its stage, and what it knows of the joint."""

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
    """A value that is computed where it is used."""

    read: Callable[[Here], object]


def seen(here: Here, value: T) -> T:
    """A value as a stage sees it: numbers, and symbols for entries."""
    if isinstance(value, View):
        return cast(T, value.read(here))
    return refilled(value, [_symbol(here.stage, x) for x in flat(value)])


def _symbol(stage: Stage, x: Scalar) -> Scalar:
    return stage.read(x.bank, x.at + 1)[x.at] if isinstance(x, Entry) else x


def variable(bank: str, shape: T, first: int = 0, version: int = 0) -> T:
    """The value of this structure that stands in a variable from entry `first` on."""
    return refilled(shape, [cast(Scalar, Entry(bank, first + k, version)) for k in range(len(flat(shape)))])


def name_of(step: Callable[..., object]) -> str:
    return name_of(step.func) if isinstance(step, partial) else step.__name__


class Table:
    """Constants of joints, a row a joint; those that all joints share stand in the code."""

    def __init__(self, rows: Sequence[Sequence[float]]) -> None:
        self.fixed = [column[0] if len(set(column)) == 1 else None for column in zip(*rows, strict=True)]
        self._columns = [k for k, x in enumerate(self.fixed) if x is None]
        self.width = len(self._columns)
        self.rows = tuple(tuple(row[k] for k in self._columns) for row in rows)

    def row(self, entry: Callable[[str, int], object]) -> list[object]:
        """A row: numbers, and entries of the table."""
        left = iter(range(self.width))
        return [entry(TABLE, next(left)) if x is None else number(x) for x in self.fixed]

    def read(self, stage: Stage) -> list[Scalar]:
        """A row as a stage sees it: numbers and symbols."""
        symbols = stage.read(TABLE, self.width)
        return [cast(Scalar, x) for x in self.row(lambda _, k: symbols[k])]


def composed(bank: str, shape: T, combine: Callable[[T, T], T]) -> Program:
    """A scan's stage."""
    stage = Stage(f"{bank}_scan")
    stage.write(bank, combine(stage.value("base", shape), stage.value("tip", shape)))
    return stage.program()
