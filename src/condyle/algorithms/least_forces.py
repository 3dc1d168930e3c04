"""The least contact forces that give the generalised force of a floating base, where no actuator acts.

With J_b the columns of J for the base's six velocities, and tau_b the entries of inverse dynamics for them,

    force = J_b G^-1 G^-1 J_bᵀ J_b tau_b,    G = J_bᵀ J_b,

the least-squares solution of least norm of J_bᵀ force = tau_b. Each G^-1 is a number of proximal iterations with G + mu
1. The product J_bᵀ J_b tau_b first removes the part that no contact can carry; with a singular G one inverse would
multiply that part, and its rounding, by 1 / mu. On a fixed base all forces are zero. Featherstone 2008, section 8.8.
"""

from __future__ import annotations

from collections.abc import Sequence

from condyle.algorithms.contact_filter import Regular, gram, proximal
from condyle.algorithms.contact_forces import LEAST, Constrained
from condyle.algorithms.contacts import Row
from condyle.algorithms.ltl import ltl
from condyle.scalar import Scalar, number, total

MU = 1e-4
"""mu, relative to the mean of G's diagonal: rounding of the part that cannot be carried grows by (eps / mu)²."""
TIMES = 6
"""Proximal iterations: for an eigenvalue of 1e-2 of that mean the relative error is 1e-12."""


def base_coordinates(way: Constrained) -> list[int]:
    """The velocities of a free joint on the world; none on a fixed base."""
    links = way.tree.tree.links
    free = [link for link in links if link.parent < 0 and link.kind.is_free]
    return [coordinate.entry for link in free for coordinate in link.v]


def least_forces(way: Constrained, tau: Sequence[Scalar]) -> tuple[list[Scalar], list[Scalar]]:
    """(forces row by row, tau - Jᵀ force)."""
    base, J = base_coordinates(way), way.J
    if not base:
        return [number(0.0)] * len(J), list(tau)
    rows = [{k: row[i] for k, i in enumerate(base) if i in row} for row in J]
    pushes = _times(rows, [tau[i] for i in base])
    carried = [number(0.0)] * len(base)
    for row, push in zip(rows, pushes, strict=True):
        for k, x in row.items():
            carried[k] = carried[k] + x * push
    forces = _times(rows, _solved(rows, len(base), carried))
    left = list(tau)
    for force, row in zip(forces, J, strict=True):
        for k, y in row.items():
            left[k] = left[k] - y * force
    return forces, left


def _times(rows: Sequence[Row], x: Sequence[Scalar]) -> list[Scalar]:
    return [total([number(0.0), *(y * x[k] for k, y in row.items())]) for row in rows]


def _solved(rows: Sequence[Row], size: int, wanted: Sequence[Scalar]) -> list[Scalar]:
    """G^-2 `wanted`."""
    columns = [{i: row[k] for i, row in enumerate(rows) if k in row} for k in range(size)]
    G = gram(columns, columns)
    diagonal = [x for i in range(size) if (x := G.get(i, i)) is not None]
    mu = (MU / size) * total([number(0.0), *diagonal]) + LEAST
    for i in range(size):
        G.add(i, i, mu)
    regular = Regular(ltl(G), [mu] * size)
    return proximal(regular, proximal(regular, wanted, TIMES), TIMES)
