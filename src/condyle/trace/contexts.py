"""Contexts of steps for a kind of joint: a new graph, and the joint with symbols of that graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from condyle.algorithms.placed import joint_at, wrench_on
from condyle.algorithms.rnea import NO_FORCE, Wrench
from condyle.algorithms.sweeps import Entry
from condyle.ir import sweep as ir
from condyle.ir.expr import Expr, Graph
from condyle.scalar import Scalar
from condyle.trace.kinds import Kind
from condyle.trace.steps import StepContext, StepGraph


def context_of(number: int, kind: Kind, dof: int | None = None) -> StepContext:
    """A new graph, and the joint of this kind as steps take it."""
    graph = StepGraph(kind.type.nq)
    numbers = kind.bound(graph.read(ir.Ref("table"), len(kind.fixed))).numbers
    joint = joint_at(kind.type, numbers, graph.read(ir.Ref("input", "q"), kind.type.nq))
    return StepContext(number, graph, joint, dof)


def angles(context: StepContext, kind: Kind) -> list[Scalar]:
    """Cosine and sine of every coordinate of a joint whose coordinates are angles; else nothing."""
    if not kind.type.angles:
        return []
    q = cast("list[Expr]", context.graph.read(ir.Ref("input", "q"), kind.type.nq))
    return [cast(Scalar, Graph.function(context.graph, op, (x,))) for x in q for op in ("cos", "sin")]


def external(context: StepContext, kind: Kind) -> Wrench:
    """The external wrench on the link, in its own frame."""
    if not kind.carries_body:
        return NO_FORCE
    _, frame = kind.bound(context.graph.read(ir.Ref("table"), len(kind.fixed)))
    return wrench_on(frame, context.graph.read(ir.Ref("input", "f_ext"), 6))


def write_pair(context: StepContext, entry: Entry, name: str, values: Sequence[Scalar]) -> None:
    """Writes the values of the pairs of the walk's degree of freedom and those of the joint at `context`."""
    row, column, k = ir.Ref("row", name), ir.Ref("column", name), context.dof
    if not entry.symmetric:
        if k is None or not entry.transposed:
            context.write(column if entry.transposed else row, values)
        return
    context.write(row, values if k is None else values[: k + 1])
    if k != 0:
        context.write(column, values if k is None else values[:k])
