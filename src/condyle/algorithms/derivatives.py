"""The algorithms for the derivatives of inverse dynamics by q and v, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from condyle.algorithms import rotors
from condyle.algorithms.matrix import SparseMatrix
from condyle.algorithms.rnea_adjoint import rnea_adjoint
from condyle.algorithms.rnea_columns import rnea_columns
from condyle.algorithms.rnea_derivatives import rnea_derivatives
from condyle.algorithms.rnea_refactored import rnea_refactored
from condyle.algorithms.sweeps import Field, Matrix
from condyle.algorithms.unrolled import Unrolled
from condyle.algorithms.world_forces import with_world_forces
from condyle.scalar import Scalar, is_zero

Dofs: TypeAlias = Field[Sequence[Scalar]]
Derivatives: TypeAlias = Callable[..., tuple[Matrix, Matrix]]
"""(d tau / d q, d tau / d v), given the tree, v and a."""


def _with_rotors(derivatives: Callable[[Unrolled, Dofs, Dofs], tuple[SparseMatrix, SparseMatrix]]) -> Derivatives:
    """The derivatives, with the terms by v of the rotors of free joints (see `rotors`)."""

    def run(tree: Unrolled, v: Dofs, a: Dofs) -> tuple[Matrix, Matrix]:
        by_q, by_v = derivatives(tree, v, a)
        for joint, link, own in zip(tree.joints, tree.tree.links, v, strict=True):
            for k, row in enumerate(link.v if tree.free_rotors and rotors.has_turning_rotors(joint) else ()):
                for column, value in zip(link.v, rotors.by_v(joint, k, own), strict=True):
                    if not is_zero(value):
                        by_v.add(row.entry, column.entry, value)
        return by_q, by_v

    return run


DERIVATIVES: dict[str, Derivatives] = {
    "closed_form": with_world_forces(rnea_derivatives),
    "adjoint": with_world_forces(_with_rotors(rnea_adjoint)),
    "columns": with_world_forces(_with_rotors(rnea_columns)),
    "plancher2021": with_world_forces(_with_rotors(rnea_refactored)),
}
