"""Phases of functions with a link a lane, and pairs of records as Programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from condyle.algorithms.aba import Elimination
from condyle.algorithms.joint import NO_BODY, Dof, Joint
from condyle.algorithms.rnea import NO_FORCE
from condyle.algorithms.values import flat
from condyle.ir import link_parallel as ir
from condyle.ir.link_parallel import Pairs
from condyle.ir.program import Program
from condyle.links.algorithms import derivatives
from condyle.links.algorithms import solve as columns
from condyle.links.algorithms.inverse_dynamics import axes_of
from condyle.links.algorithms.phases import PairRule
from condyle.links.trace.lanes import MOST, LaneLinks, offsets
from condyle.links.trace.stage import Here, Stage, View, name_of
from condyle.model.joints.base import JointType
from condyle.model.tree import Tree
from condyle.scalar import Scalar, number
from condyle.spatial import vector as vec
from condyle.spatial.rotation import Full
from condyle.spatial.transform import Transform
from condyle.spatial.vector import IDENTITY_MATRIX

COLUMNS = 4
"""Columns that one lane solves for, which share the linear part of their maps: 36 + 4 * 6 numbers are 60, the most that
lanes exchange in registers (`cuda.links.transport.WIDE`)."""
SOLVER = [(IDENTITY_MATRIX, vec.ZERO, *[Elimination(NO_FORCE, number(0.0))] * nv) for nv in range(MOST + 1)]
"""The record of a joint for `solve`, by its number of degrees of freedom: E, origin, eliminations."""


def by_links(
    tree: Tree,
    lanes: int,
    forces: bool,
    guard: float,
    run: Callable[..., object],
    *ports: str,
    eliminates: bool = False,
) -> ir.LinkParallel:
    """run(links, *ports) as a function of q and these ports. guard: see `articulated.Segments`. eliminates: the first
    result of run is the eliminations, and the records for `solve` are an output too.
    """
    links = LaneLinks(tree, lanes, forces, guard)
    links.sines()
    found = run(links, *(links.dofs(port) for port in ports))
    if eliminates:
        links.answer("solver", _solver, cast("tuple[object, ...]", found)[0])
    return links.finished(name_of(run).strip("_"), ("q", *ports, *(("f_ext",) if forces else ())))


def _solver(joint: Joint, eliminated: tuple[Elimination, ...]) -> tuple[object, ...]:
    return vec.transpose(axes_of(joint)), joint.origin, *eliminated


class _Solved(LaneLinks):
    """Links whose joints are read from the records for `solve`."""

    def joint(self, stage: Stage, kind: JointType) -> Joint:
        rotation, origin, *_ = stage.value("solver", SOLVER[kind.nv])
        none = number(0.0)
        dofs = tuple(Dof(*column, none) for column in kind.subspace(self.numbers(stage).pitch))
        return Joint(Transform(Full(rotation), origin), dofs, NO_BODY, True)


def solve(tree: Tree, lanes: int, unit: bool) -> ir.LinkParallel:
    """x = -M^-1 x for columns of a matrix, in place; unit: M^-1 itself."""
    links, source = _Solved(tree, lanes), "unit" if unit else "given"

    def eliminated(here: Here) -> tuple[Elimination, ...]:
        return here.stage.value("solver", SOLVER[here.nv])[2:]

    def tau(here: Here) -> list[list[Scalar]]:
        x = here.stage.read(source, here.nv * COLUMNS)
        return [[x[k] if unit else -x[k] for k in range(c, len(x), COLUMNS)] for c in range(COLUMNS)]

    columns.solve(links, View(eliminated), View(tau), COLUMNS)
    rows = [link.v[0].entry for link in tree.links]
    of_matrix = [tree.nv * at for at in rows]
    of_solver = offsets(tree, [len(flat(SOLVER[link.kind.nv])) for link in tree.links])
    found = {"solver": of_solver, "x": of_matrix, source: rows if unit else of_matrix}
    ports = ("solver",) if unit else ("solver", source)
    return links.finished("solve", ports, found, ir.MatrixPorts(COLUMNS, tree.nv, unit))


def pairs(tree: Tree, rule: PairRule) -> Pairs:
    """Matrices from records: lower where the column's joint is an ancestor of the row's, or the same; upper where the
    row's joint is an ancestor of the column's."""
    n = rule.matrices
    lower, upper = _pair(rule, "column", "row", slice(n)), _pair(rule, "row", "column", slice(-n, None))
    width = len(flat(rule.record))
    return Pairs(rule.name, lower, upper, width, n, derivatives.spans(tree), width - 1 if rule.symmetric else ir.NONE)


def _pair(rule: PairRule, ancestor: str, record: str, part: slice) -> Program:
    stage = Stage(rule.name)
    values = rule.entries(stage.value(ancestor, rule.record), stage.value(record, rule.record))
    for k, value in enumerate(values[part]):
        stage.write(str(k), value)
    return stage.program()
