"""The equation of motion with all links side by side: routes of each function, the first is taken.

| route of forward dynamics | articulated inertias | bias forces | accelerations |
|---|---|---|---|
| `elements` | scan of the 90-number element, which gives both | | affine scan |
| `abia` (ABIA of Yang, Wu, Pan 2017) | link by link | affine scan | affine scan |
| `jsiia` (their JSIIA) | n + 1 inverse dynamics, all side by side, and a solve | | |
"""

from __future__ import annotations

from collections.abc import Sequence

from condyle.algorithms import rotors
from condyle.algorithms.parallel import array_phases, derivatives, lie, segments
from condyle.algorithms.parallel import forward_dynamics as elements
from condyle.algorithms.parallel import inverse_dynamics as sums
from condyle.algorithms.parallel.links import Links, OfJoints
from condyle.algorithms.parallel.phases import DERIVATIVES, MASS, Phases, Quantity
from condyle.functions.quantities import MINV, TAU, A, V
from condyle.specification import ParallelRoute


def _id(k: Phases) -> Quantity:
    return k.links(sums.inverse_dynamics, k.given(V.name), k.given(A.name))


def _id_lie(k: Phases) -> Quantity:
    return k.links(lie.inverse_dynamics, k.given(V.name), k.given(A.name))


def _fd(k: Phases) -> Quantity:
    return k.links(elements.forward_dynamics, k.given(V.name), k.given(TAU.name))


def _m(k: Phases) -> Quantity:
    return k.pairs(MASS, k.links(derivatives.mass_records))


def _at_rest(links: Links) -> tuple[OfJoints]:
    return (elements.eliminated(links, elements.loaded(links, links.still, links.still)),)


def _minv(k: Phases) -> Quantity:
    (eliminated,) = k.eliminated(_at_rest)
    return k.inverse(eliminated)


def _did(k: Phases) -> Sequence[Quantity]:
    return _derivatives(k, k.given(A.name))


def _derivatives(k: Phases, a: Quantity) -> Sequence[Quantity]:
    v = k.given(V.name)
    by_q, by_v = k.pairs(DERIVATIVES, k.links(derivatives.records, v, a))
    return by_q, k.own_added(by_v, rotors.all_by_v, v) if k.tree.has_free_rotors else by_v


def _difd(k: Phases) -> Sequence[Quantity]:
    return k.minus_products(k.matrix(MINV.name), _did(k))


def _accelerated(links: Links, v: OfJoints, tau: OfJoints) -> tuple[OfJoints, OfJoints]:
    of = elements.loaded(links, v, tau)
    return elements.eliminated(links, of), elements.accelerations(links, of)


def _dfd(k: Phases) -> Sequence[Quantity]:
    """One scan of elements; all columns of -M^-1 dID and of M^-1 share what it eliminated."""
    eliminated, a = k.eliminated(_accelerated, k.given(V.name), k.given(TAU.name))
    solved = [k.minus_solved(eliminated, part) for part in _derivatives(k, a)]
    return *solved, k.inverse(eliminated)


ROUTES: dict[str, dict[str, ParallelRoute]] = {
    "id": {"sums": ParallelRoute(_id), "lie": ParallelRoute(_id_lie, segments.inverse_dynamics, in_lanes=False)},
    "fd": {
        "elements": ParallelRoute(_fd, segments.forward_dynamics, elements=True),
        "abia": ParallelRoute(array_phases.hybrid, in_lanes=False),
        "jsiia": ParallelRoute(array_phases.through_mass_matrix, in_lanes=False),
    },
    "m": {"sums": ParallelRoute(_m)},
    "minv": {"elements": ParallelRoute(_minv, elements=True)},
    "did": {"sums": ParallelRoute(_did, free_rotors=False)},
    "dfd": {"elements": ParallelRoute(_dfd, elements=True, free_rotors=False)},
    "difd": {"sums": ParallelRoute(_difd, free_rotors=False)},
}
