"""The least forces of contacts that carry a floating base: what its joints cannot.

With B the columns of J of the base's six velocities, and tau_b what inverse dynamics asks of them, the force of least
size with Bᵀ f = tau_b is found by proximal iterations,

    (B Bᵀ + mu 1) f_(k+1) = B tau_b + mu f_k,

which stay among the forces that push on the base: where contacts cannot carry it, f is the nearest they come. A robot
on a fixed base needs none. Featherstone 2008, section 8.8.
"""

from __future__ import annotations

from collections.abc import Sequence

from condyle.algorithms.contact_forces import Constrained, gram
from condyle.scalar import Scalar, number, total


def base_coordinates(way: Constrained) -> list[int]:
    """The velocities of a free joint on the world; none on a fixed base."""
    links = way.tree.tree.links
    free = [link for link in links if link.parent < 0 and link.kind.is_free]
    return [coordinate.at for link in free for coordinate in link.v]


def least_forces(way: Constrained, tau: Sequence[Scalar]) -> tuple[list[Scalar], list[Scalar]]:
    """(forces row by row, tau - Jᵀ force)."""
    base = set(base_coordinates(way))
    if not base:
        return [number(0.0)] * len(way.J), list(tau)
    rows = [{k: x for k, x in row.items() if k in base} for row in way.J]
    wanted = [total([number(0.0), *(x * tau[k] for k, x in row.items())]) for row in rows]
    forces, left = way.forces(wanted, way.regularised(gram(rows, rows), alike=True)), list(tau)
    for force, row in zip(forces, way.J, strict=True):
        for k, y in row.items():
            left[k] = left[k] - y * force
    return forces, left
