"""Which algorithm serves each function as loops, and the Rolled form of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from condyle.algorithms.aba import aba, eliminations, solve, still_forces
from condyle.algorithms.crba import crba
from condyle.algorithms.joint import Joint
from condyle.algorithms.minv import minv, no_force
from condyle.algorithms.reframe import reframed
from condyle.algorithms.regroup import regrouped
from condyle.algorithms.rnea import rnea
from condyle.algorithms.rnea_derivatives import rnea_derivatives
from condyle.algorithms.rotors import left_of
from condyle.algorithms.sweeps import Field, Matrix
from condyle.ir.sweep import Kind, Rolled
from condyle.model.tree import Tree
from condyle.scalar import Scalar
from condyle.signature import FUNCTIONS
from condyle.trace.rolling import Rolling
from condyle.trace.steps import MatrixHandle
from condyle.trace.straight import arrays


def _id(tree: Rolling) -> Sequence[Matrix]:
    tree.output("tau", rnea(tree, tree.dofs("v"), tree.dofs("a")))
    return ()


def _fd(tree: Rolling) -> Sequence[Matrix]:
    tree.output("a", aba(tree, tree.dofs("v"), tree.dofs("tau")))
    return ()


def _did(tree: Rolling) -> Sequence[Matrix]:
    return rnea_derivatives(tree, tree.dofs("v"), tree.dofs("a"))


def negated(joint: Joint, values: Sequence[Scalar]) -> Sequence[Scalar]:
    return tuple(-value for value in values)


def _dfd(tree: Rolling) -> Sequence[Matrix]:
    force, eliminated, still = still_forces(tree, tree.dofs("v")), eliminations(tree), tree.each(no_force)
    a = solve(tree, eliminated, force, left_of(tree, tree.dofs("tau"), tree.dofs("v")))
    by_q, by_v = rnea_derivatives(tree, tree.dofs("v"), a)

    def column(force: Field[Sequence[Scalar]]) -> Field[Sequence[Scalar]]:
        return solve(tree, eliminated, still, tree.each(negated, force))

    return tree.map_columns(column, by_q), tree.map_columns(column, by_v), minv(tree, eliminated)


def _difd(tree: Rolling) -> Sequence[Matrix]:
    by_q, by_v = _did(tree)
    return tree.minus_product("Minv", by_q), tree.minus_product("Minv", by_v)


def _m(tree: Rolling) -> Sequence[Matrix]:
    return (crba(tree),)


def _minv(tree: Rolling) -> Sequence[Matrix]:
    return (minv(tree, eliminations(tree)),)


class RolledRoute(NamedTuple):
    """The name of an algorithm, and how to record it; matrices it gives are the function's outputs in order."""

    route: str
    record: Callable[[Rolling], Sequence[Matrix]]


ROLLED: Mapping[str, RolledRoute] = {
    "id": RolledRoute("rnea", _id),
    "fd": RolledRoute("aba", _fd),
    "m": RolledRoute("crba", _m),
    "minv": RolledRoute("aba", _minv),
    "did": RolledRoute("closed_form", _did),
    "dfd": RolledRoute("aba+closed_form", _dfd),
    "difd": RolledRoute("closed_form", _difd),
}


def roll(tree: Tree, function: str, f_ext: bool = False) -> Rolled:
    """The loops of one function; UnsupportedError for robots with mimic joints."""
    signature = FUNCTIONS[function]
    rolling = Rolling(reframed(regrouped(tree)), f_ext)
    matrices = ROLLED[function].record(rolling)
    outputs = arrays(tree, signature.outputs)
    results = {
        array.name: matrix.name
        for array, matrix in zip(outputs, matrices, strict=False)
        if isinstance(matrix, MatrixHandle)
    }
    loops = rolling.loops()
    return Rolled(
        function,
        arrays(tree, signature.ports(f_ext)),
        outputs,
        tuple(Kind(kind.type.name, kind.type.nq, kind.type.nv) for kind in rolling.kinds),
        rolling.joints,
        rolling.buffers,
        tuple(rolling.matrices),
        results,
        loops,
        tree.nv,
    )
