"""A trace that remembers which step of which algorithm asked for each operation: for people, not for targets."""

from __future__ import annotations

import sys
from dataclasses import replace
from types import FrameType
from typing import NamedTuple

from condyle.ir.expr import Expr, Graph
from condyle.ir.program import Note, Program, verify
from condyle.model.tree import Tree
from condyle.operations import Node
from condyle.specification import Function
from condyle.trace.straight import trace

ALGORITHMS = "condyle.algorithms."
RUNNER = ALGORITHMS + "unrolled"
"""Runs the steps of a sweep: what it calls is a step."""
PLUMBING = {RUNNER, ALGORITHMS + "values", ALGORITHMS + "matrix", ALGORITHMS + "sweeps"}
"""Compute for whoever calls them."""


class Step(NamedTuple):
    """A function of an algorithm's file."""

    module: str
    name: str

    @property
    def file(self) -> str:
        """Below the package: "algorithms/rnea.py"."""
        return self.module.removeprefix("condyle.").replace(".", "/") + ".py"

    @property
    def says(self) -> str:
        """The first line of its docstring: the equation; empty where it has none."""
        text = getattr(getattr(sys.modules.get(self.module), self.name, None), "__doc__", None) or ""
        return text.split("\n", 1)[0]


NOBODY = Step("", "")
"""Of operations outside the algorithms: what a route itself writes."""


class AttributedGraph(Graph):
    """A graph whose nodes know the step that made them first."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[Step] = []

    def node(self, key: Node) -> Expr:
        made = super().node(key)
        if len(self.nodes) > len(self.steps):
            self.steps.append(_step_of(sys._getframe(1)))  # pyright: ignore[reportPrivateUsage]
        return made


def attributed(tree: Tree, function: Function, route: str) -> tuple[Program, list[Step]]:
    """The cleaned straight-line Program of a route, and the step of each of its nodes."""
    from condyle.passes import pipeline

    graph = AttributedGraph()
    program = verify(trace(tree, function, route, graph=graph))
    names = list(dict.fromkeys(graph.steps))
    number = {step: str(k) for k, step in enumerate(names)}
    noted = replace(program, notes=tuple(Note(number[step]) for step in graph.steps))
    cleaned = pipeline.apply(noted, pipeline.CLEAN)
    return cleaned, [names[int(note.stage)] for note in cleaned.notes]


def has_steps(function: Function, route: str) -> bool:
    """Whether the route is traced step by step: not, where it is recorded or has large products as they are."""
    way = function.routes.get(route)
    return way is not None and way.whole is None and not way.recorded


def _step_of(frame: FrameType | None) -> Step:
    """The step that the runner called last; outside a sweep the innermost function of an algorithm."""
    innermost, last = NOBODY, NOBODY
    while frame is not None:
        module, name = frame.f_globals.get("__name__", ""), frame.f_code.co_name
        if module == RUNNER and last is not NOBODY:
            return last
        if module.startswith(ALGORITHMS) and module not in PLUMBING and not name.startswith("<"):
            last = Step(module, name)
            innermost = last if innermost is NOBODY else innermost
        frame = frame.f_back
    return innermost
