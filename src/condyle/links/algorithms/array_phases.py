"""`Phases` by NumPy, and two more routes to forward dynamics, from Yang, Wu, Pan 2017 (Algorithms 2 and 3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, cast

import numpy as np

from condyle.algorithms import aba, rotors
from condyle.algorithms.aba import Elimination
from condyle.algorithms.joint import Joint
from condyle.algorithms.rnea import NO_FORCE, Wrench
from condyle.algorithms.unrolled import Unrolled
from condyle.algorithms.values import flat, refilled
from condyle.links.algorithms import inverse_dynamics as sums
from condyle.links.algorithms.arrays import ArrayLinks, Kinds
from condyle.links.algorithms.entries import entries, mass_entries
from condyle.links.algorithms.links import OfJoints
from condyle.links.algorithms.phases import PairRule
from condyle.links.algorithms.route import ParallelRoute
from condyle.links.algorithms.rows import Array, array
from condyle.links.algorithms.solve import solve
from condyle.model.tree import Tree
from condyle.scalar import Scalar, number

Inputs: TypeAlias = Mapping[str, Array]


class ArrayPhases:
    """`Phases` on arrays: vectors as values of `ArrayLinks`, matrices (nv, nv, states)."""

    def __init__(self, tree: Tree, inputs: Inputs) -> None:
        self.tree, self.all, self.inputs = tree, ArrayLinks(tree, inputs), inputs

    def input(self, port: str) -> OfJoints:
        return self.all.dofs(self.inputs[port])

    def matrix(self, port: str) -> Array:
        given = self.inputs[port]
        return np.moveaxis(np.reshape(given, (len(given), self.tree.nv, self.tree.nv)), 0, 2)

    def links(self, run: Callable[..., object], *quantities: OfJoints) -> OfJoints:
        return run(self.all, *quantities)

    def eliminated(self, run: Callable[..., tuple[object, ...]], *quantities: OfJoints) -> Sequence[OfJoints]:
        return run(self.all, *quantities)

    def pairs(self, rule: PairRule, records: OfJoints) -> Sequence[Array]:
        found = self.all.gathered(records)
        return mass_entries(self.all, rule, found) if rule.symmetric else entries(self.all, rule, found)

    def own_added(self, matrix: Array, step: Callable[..., object], *quantities: OfJoints) -> Array:
        for kind, rows in cast(
            "Kinds[Sequence[Sequence[Scalar]]]", self.all.of_joints(step, *quantities)
        ).values.items():
            at = self.all.dofs_of(kind)
            for i, row in zip(at, rows, strict=True):
                for j, value in zip(at, row, strict=True):
                    matrix[i, j] += self.all.filled(array(value), len(i))[:, 0]
        return matrix

    def minus_solved(self, eliminated: OfJoints, matrix: Array) -> Array:
        return self.solved(eliminated, self.all.dofs(-matrix))

    def inverse(self, eliminated: OfJoints) -> Array:
        """The mean of both triangles."""
        columns = self.solved(eliminated, self.unit())
        return 0.5 * (columns + np.swapaxes(columns, 0, 1))

    def minus_products(self, left: Array, matrices: Sequence[Array]) -> Sequence[Array]:
        minus = -np.moveaxis(left, 2, 0)
        return [np.moveaxis(minus @ np.moveaxis(part, 2, 0), 0, 2) for part in matrices]

    def unit(self) -> OfJoints:
        """Columns of the identity."""
        return self.all.dofs(np.eye(self.all.tree.nv, dtype=self.all.dtype)[:, :, None])

    def vector(self, values: OfJoints) -> Array:
        """Of all degrees of freedom, (nv, columns, states)."""
        return array(cast(Scalar, self.all.gathered(values)))

    def solved(self, eliminated: OfJoints, tau: OfJoints, force: Wrench = NO_FORCE) -> Array:
        """M^-1 (tau - forces on bodies), for as many columns as these have."""
        answers = solve(self.all, eliminated, self.all.of_joints(_one_column, tau), 1, force)
        return self.vector(self.all.of_joints(_of_one_column, answers))


def _one_column(joint: Joint, tau: Sequence[Scalar]) -> Sequence[Sequence[Scalar]]:
    return (tau,)


def _of_one_column(joint: Joint, rows: Sequence[Sequence[Scalar]]) -> tuple[Scalar, ...]:
    return tuple(x for (x,) in rows)


def hybrid(k: ArrayPhases) -> Array:
    """Forward dynamics with articulated inertias link by link and all else by affine scans: the paper's Algorithm 3."""
    links, v = k.all, k.input("v")
    motion = sums.motion(links, sums.moved(links, v, links.still))
    force = links.each(sums.own_force, motion, *sums.outer(links))
    left = links.of_joints(rotors.less_bias, k.input("tau"), v)
    return k.solved(_serial_eliminations(links, k.inputs["q"]), left, force)


def _serial_eliminations(links: ArrayLinks, q: Array) -> OfJoints:
    """The articulated-body algorithm's eliminations, computed link by link."""
    found = aba.eliminations(Unrolled(links.tree, {"q": [number(q[:, k]) for k in range(q.shape[1])]}))

    def together(some: list[tuple[Elimination, ...]]) -> tuple[Elimination, ...]:
        table = zip(*map(flat, some), strict=True)
        wide = [[np.broadcast_to(np.asarray(array(x), links.dtype), len(q)) for x in column] for column in table]
        return refilled(some[0], [number(np.stack(column)[:, None, :]) for column in wide])

    return Kinds({kind: together([found[i] for i in rows]) for kind, rows in links.rows.items()})


def through_mass_matrix(k: ArrayPhases) -> Array:
    """M a = tau - c by a dense solve: the paper's Algorithm 2. Column j of M is inverse dynamics of the j-th unit
    acceleration, without velocity and gravity."""
    links = k.all
    bias = k.vector(sums.inverse_dynamics(links, k.input("v"), links.still))
    left = k.vector(sums.inverse_dynamics(links.weightless(), links.still, k.unit()))
    right = k.vector(k.input("tau")) - bias
    return np.moveaxis(np.linalg.solve(np.moveaxis(left, 2, 0), np.moveaxis(right, 2, 0)), 0, 2)


def evaluate(tree: Tree, route: ParallelRoute, inputs: Inputs) -> list[Array]:
    """The outputs, each flat (n, size), for inputs by name, each flat (n or 1, size), in the inputs' dtype."""
    n = max(len(rows) for rows in inputs.values())
    with np.errstate(all="ignore"):
        phases = ArrayPhases(tree, inputs)
        found = route.run(phases)
    answers = cast("Sequence[object]", found) if isinstance(found, (tuple, list)) else [found]
    arrays = [cast(Array, x) if isinstance(x, np.ndarray) else phases.vector(x) for x in answers]
    wide = [np.broadcast_to(answer, (*answer.shape[:2], n)) for answer in arrays]
    return [np.reshape(np.moveaxis(answer, 2, 0), (n, -1)) for answer in wide]
