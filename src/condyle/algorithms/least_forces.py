"""The least forces of contacts that carry a floating base: what its joints cannot.

With J_b the columns of the base's six velocities, and tau_b what inverse dynamics asks of them,

    (J_b J_bᵀ)-weighted least squares: force = J_b (J_bᵀ J_b + mu 1)^-1 tau_b.

A robot on a fixed base needs none. Featherstone 2008, section 8.8.
"""

from __future__ import annotations

from collections.abc import Sequence

from condyle.algorithms.contact_forces import LEAST, MU, TIMES, Constrained
from condyle.algorithms.ltl import ltl, solve
from condyle.algorithms.matrix import SparseMatrix
from condyle.scalar import Scalar, number, total


def base_coordinates(way: Constrained) -> list[int]:
    """The velocities of a free joint on the world; none on a fixed base."""
    links = way.tree.tree.links
    free = [link for link in links if link.parent < 0 and link.kind.is_free]
    return [coordinate.at for link in free for coordinate in link.v]


def least_forces(way: Constrained, tau: Sequence[Scalar]) -> tuple[list[Scalar], list[Scalar]]:
    """(forces row by row, tau - Jᵀ force); proximal iterations as for accelerations."""
    base, J = base_coordinates(way), way.J
    if not base:
        return [number(0.0)] * len(J), list(tau)
    gram = SparseMatrix(len(base))
    for i, one in enumerate(base):
        for j, other in enumerate(base[: i + 1]):
            terms = [row[one] * row[other] for row in J if one in row and other in row]
            if terms:
                gram.put(i, j, total(terms))
                gram.put(j, i, total(terms))
    trace = total([number(0.0), *(x for i in range(len(base)) if (x := gram.get(i, i)) is not None)])
    mu = trace * (MU / len(base)) + LEAST
    for i in range(len(base)):
        gram.add(i, i, mu)
    factors, wanted = ltl(gram), [tau[k] for k in base]
    x = solve(factors, wanted)
    for _ in range(TIMES - 1):
        x = solve(factors, [one + mu * other for one, other in zip(wanted, x, strict=True)])
    forces = [total([number(0.0), *(row[k] * y for k, y in zip(base, x, strict=True) if k in row)]) for row in J]
    left = list(tau)
    for force, row in zip(forces, J, strict=True):
        for k, y in row.items():
            left[k] = left[k] - y * force
    return forces, left
