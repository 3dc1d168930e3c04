"""The least forces of contacts that carry a floating base: what its joints cannot.

With J_b the columns of the base's six velocities, and tau_b what inverse dynamics asks of them,

    force = J_b G^-1 G^-1 J_bᵀ J_b tau_b,    G = J_bᵀ J_b,

the least-squares solution, each G^-1 by proximal iterations with G + mu 1. Twice, for what no contact can carry is to
be left out first: a singular G would return 1 / mu of it, and rounding of that. A robot on a fixed base needs none.
Featherstone 2008, section 8.8.
"""

from __future__ import annotations

from collections.abc import Sequence

from condyle.algorithms.contact_forces import LEAST, Constrained
from condyle.algorithms.contacts import Row
from condyle.algorithms.ltl import ltl, solve
from condyle.algorithms.matrix import SparseMatrix
from condyle.scalar import Scalar, number, total

MU = 1e-4
"""mu, as a part of the mean of G's diagonal: rounding of what cannot be carried grows by (eps / mu)²."""
TIMES = 6
"""Proximal iterations: they leave 1e-12 of what an eigenvalue of 1e-2 of that mean asks for."""


def base_coordinates(way: Constrained) -> list[int]:
    """The velocities of a free joint on the world; none on a fixed base."""
    links = way.tree.tree.links
    free = [link for link in links if link.parent < 0 and link.kind.is_free]
    return [coordinate.at for link in free for coordinate in link.v]


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
    forces = _times(rows, _solved(_gram(rows, len(base)), carried))
    left = list(tau)
    for force, row in zip(forces, J, strict=True):
        for k, y in row.items():
            left[k] = left[k] - y * force
    return forces, left


def _times(rows: Sequence[Row], x: Sequence[Scalar]) -> list[Scalar]:
    return [total([number(0.0), *(y * x[k] for k, y in row.items())]) for row in rows]


def _gram(rows: Sequence[Row], size: int) -> SparseMatrix:
    """G."""
    gram = SparseMatrix(size)
    for i in range(size):
        for j in range(i + 1):
            terms = [row[i] * row[j] for row in rows if i in row and j in row]
            if terms:
                gram.put(i, j, total(terms))
                gram.put(j, i, total(terms))
    return gram


def _solved(gram: SparseMatrix, wanted: Sequence[Scalar]) -> list[Scalar]:
    """G^-2 times it."""
    diagonal = [x for i in range(gram.size) if (x := gram.get(i, i)) is not None]
    mu = (MU / gram.size) * total([number(0.0), *diagonal]) + LEAST
    regular = SparseMatrix.of(gram.size, gram)
    for i in range(gram.size):
        regular.add(i, i, mu)
    factors, found = ltl(regular), list(wanted)
    for _ in range(2):
        right, found = found, solve(factors, found)
        for _ in range(TIMES - 1):
            found = solve(factors, [x + mu * y for x, y in zip(right, found, strict=True)])
    return found
