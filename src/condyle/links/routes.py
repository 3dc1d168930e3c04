"""Which functions have routes with all links side by side: everything else asks here.

The first route is taken unless another is named.

| route of forward dynamics | articulated inertias | bias forces | accelerations |
|---|---|---|---|
| `elements` | scan of the 90-number element, which gives both | | affine scan |
| `abia` (ABIA of Yang, Wu, Pan 2017) | link by link | affine scan | affine scan |
| `jsiia` (their JSIIA) | n + 1 inverse dynamics, all side by side, and a solve | | |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from condyle.algorithms import rnea
from condyle.functions.dynamics import (
    DYNAMICS_DERIVATIVES,
    FORWARD_DYNAMICS,
    FORWARD_DYNAMICS_DERIVATIVES,
    INVERSE_DYNAMICS,
    INVERSE_DYNAMICS_DERIVATIVES,
    MASS_MATRIX,
    MASS_MATRIX_INVERSE,
)
from condyle.functions.quantities import MINV, TAU, A, V
from condyle.links.algorithms import chain_segments, derivatives, dynamics, lie, phases
from condyle.links.algorithms.links import ParallelRoute
from condyle.specification import Function

if TYPE_CHECKING:
    from condyle.links.algorithms.links import Links, OfJoints
    from condyle.links.algorithms.phases import Phases, Quantity


def _id_by_sums(k: Phases) -> Quantity:
    return k.links(dynamics.inverse_dynamics, k.input(V.name), k.input(A.name))


def _id_lie(k: Phases) -> Quantity:
    return k.links(lie.inverse_dynamics, k.input(V.name), k.input(A.name))


def _fd_by_elements(k: Phases) -> Quantity:
    return k.links(dynamics.forward_dynamics, k.input(V.name), k.input(TAU.name))


def _m_by_sums(k: Phases) -> Quantity:
    return k.pairs(phases.MASS, k.links(derivatives.mass_records))


def _at_rest(links: Links) -> tuple[OfJoints]:
    return (dynamics.eliminated(links, dynamics.loaded(links, links.still, links.still)),)


def _minv_by_elements(k: Phases) -> Quantity:
    (eliminated,) = k.eliminated(_at_rest)
    return k.inverse(eliminated)


def _did_by_sums(k: Phases) -> Sequence[Quantity]:
    return _derivatives(k, k.input(A.name))


def _derivatives(k: Phases, a: Quantity) -> Sequence[Quantity]:
    v = k.input(V.name)
    by_q, by_v = k.pairs(phases.DERIVATIVES, k.links(derivatives.records, v, a))
    return by_q, k.own_added(by_v, rnea.all_by_v, v) if k.tree.has_free_rotors else by_v


def _difd_by_sums(k: Phases) -> Sequence[Quantity]:
    return k.minus_products(k.matrix(MINV.name), _did_by_sums(k))


def _accelerated(links: Links, v: OfJoints, tau: OfJoints) -> tuple[OfJoints, OfJoints]:
    loaded = dynamics.loaded(links, v, tau)
    return dynamics.eliminated(links, loaded), dynamics.accelerations(links, loaded)


def _dfd_by_elements(k: Phases) -> Sequence[Quantity]:
    """One scan of elements; all columns of -M^-1 dID and of M^-1 share what it eliminated."""
    eliminated, a = k.eliminated(_accelerated, k.input(V.name), k.input(TAU.name))
    solved = [k.minus_solved(eliminated, part) for part in _derivatives(k, a)]
    return *solved, k.inverse(eliminated)


ROUTES: Mapping[Function, Mapping[str, ParallelRoute]] = {
    INVERSE_DYNAMICS: {
        "sums": ParallelRoute(_id_by_sums),
        "lie": ParallelRoute(_id_lie, chain_segments.inverse_dynamics, in_lanes=False),
    },
    FORWARD_DYNAMICS: {
        "elements": ParallelRoute(_fd_by_elements, chain_segments.forward_dynamics, elements=True),
        "abia": ParallelRoute(phases.hybrid, in_lanes=False),
        "jsiia": ParallelRoute(phases.through_mass_matrix, in_lanes=False),
    },
    MASS_MATRIX: {"sums": ParallelRoute(_m_by_sums)},
    MASS_MATRIX_INVERSE: {"elements": ParallelRoute(_minv_by_elements, elements=True)},
    INVERSE_DYNAMICS_DERIVATIVES: {"sums": ParallelRoute(_did_by_sums, free_rotors=False)},
    FORWARD_DYNAMICS_DERIVATIVES: {"elements": ParallelRoute(_dfd_by_elements, elements=True, free_rotors=False)},
    DYNAMICS_DERIVATIVES: {"sums": ParallelRoute(_difd_by_sums, free_rotors=False)},
}


def routes_of(function: Function) -> Mapping[str, ParallelRoute]:
    """The routes of a function, the same with external forces; none for all others."""
    return ROUTES.get(function.without_forces, {})
