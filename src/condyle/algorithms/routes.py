"""Which algorithms answer which function: the table "what" -> "how".

Every route to a function gives the same numbers to rounding; tests hold them against each other,
the compiler takes the one with the fewest operations, a user can name one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from condyle.algorithms import forward_dynamics as fd
from condyle.algorithms import rotors
from condyle.algorithms.aba import aba, eliminations
from condyle.algorithms.free_base import Known
from condyle.algorithms.ltl import halves, inverse, minus_inverse_times
from condyle.algorithms.matrix import SparseMatrix
from condyle.algorithms.minv import minv
from condyle.algorithms.mminvgen import mminvgen
from condyle.algorithms.rnea import rnea
from condyle.algorithms.rnea_adjoint import rnea_adjoint
from condyle.algorithms.rnea_columns import rnea_columns
from condyle.algorithms.rnea_derivatives import rnea_derivatives
from condyle.algorithms.rnea_refactored import rnea_refactored
from condyle.algorithms.unrolled import Unrolled, is_zero
from condyle.scalar import Scalar

Vector: TypeAlias = Sequence[Scalar]
Inputs: TypeAlias = Mapping[str, Vector]
Output: TypeAlias = "Sequence[Scalar] | SparseMatrix"
Route: TypeAlias = Callable[[Unrolled, Inputs], tuple[Output, ...]]
Derivatives: TypeAlias = Callable[[Unrolled, Vector, Vector], tuple[SparseMatrix, SparseMatrix]]


def _sparse(*matrices: object) -> tuple[SparseMatrix, SparseMatrix]:
    first, second = matrices
    assert isinstance(first, SparseMatrix) and isinstance(second, SparseMatrix)
    return first, second


def _closed_form(tree: Unrolled, v: Vector, a: Vector) -> tuple[SparseMatrix, SparseMatrix]:
    return _sparse(*rnea_derivatives(tree, tree.dofs(v), tree.dofs(a)))


def _with_rotors(derivatives: Derivatives) -> Derivatives:
    """The derivatives with what armature of free joints adds to those by v."""

    def run(tree: Unrolled, v: Vector, a: Vector) -> tuple[SparseMatrix, SparseMatrix]:
        by_q, by_v = derivatives(tree, v, a)
        for joint, link, own in zip(tree.joints, tree.tree.links, tree.dofs(v), strict=True):
            for k, row in enumerate(link.v if tree.free_rotors and rotors.turn(joint) else ()):
                for column, value in zip(link.v, rotors.by_v(joint, k, own), strict=True):
                    if not is_zero(value):
                        by_v.add(row.at, column.at, value)
        return by_q, by_v

    return run


_refactored = _with_rotors(rnea_refactored)
DERIVATIVES: dict[str, Derivatives] = {
    "closed_form": _closed_form,
    "adjoint": _with_rotors(rnea_adjoint),
    "columns": _with_rotors(rnea_columns),
}


def _id(tree: Unrolled, x: Inputs) -> tuple[Output, ...]:
    return (tree.gathered(rnea(tree, tree.dofs(x["v"]), tree.dofs(x["a"]))),)


def _m(tree: Unrolled, x: Inputs) -> tuple[Output, ...]:
    return (fd.mass_matrix(tree),)


def _minv_ltl(tree: Unrolled, x: Inputs) -> tuple[Output, ...]:
    return (inverse(fd.factors(tree)),)


def _minv_aba(tree: Unrolled, x: Inputs) -> tuple[Output, ...]:
    result = minv(tree, eliminations(tree))
    assert isinstance(result, SparseMatrix)
    return (result,)


def _fd_aba(tree: Unrolled, x: Inputs) -> tuple[Output, ...]:
    return (tree.gathered(aba(tree, tree.dofs(x["v"]), tree.dofs(x["tau"]))),)


def _mminvgen(inverse_too: bool) -> Route:
    def run(tree: Unrolled, x: Inputs) -> tuple[Output, ...]:
        return (mminvgen(tree, inverse_too),)

    return run


def _fd_ltl(tree: Unrolled, x: Inputs) -> tuple[Output, ...]:
    return (fd.by_factors(tree, x["v"], x["tau"]),)


def _fd_minv(tree: Unrolled, x: Inputs) -> tuple[Output, ...]:
    return (fd.by_inverse(tree, x["v"], x["tau"]),)


def _did(derivatives: Derivatives) -> Route:
    def run(tree: Unrolled, x: Inputs) -> tuple[Output, ...]:
        return derivatives(tree, x["v"], x["a"])

    return run


def _dfd_factors(derivatives: Derivatives) -> Route:
    """Derivatives through L^-1: no product with a full M^-1."""

    def run(tree: Unrolled, x: Inputs) -> tuple[Output, ...]:
        factors = fd.factors(tree)
        a = fd.solve(factors, fd.net_force(tree, x["v"], x["tau"]))
        known = Known(tree, x["v"])
        by_q, by_v = known.left(*derivatives(tree, x["v"], a))
        return *known.joined(minus_inverse_times(factors, by_q), minus_inverse_times(factors, by_v)), inverse(factors)

    return run


def _dfd_minv(derivatives: Derivatives) -> Route:
    """-M^-1 dID, the papers' route."""

    def run(tree: Unrolled, x: Inputs) -> tuple[Output, ...]:
        Minv = inverse(fd.factors(tree))
        a = fd.matrix_times(Minv, fd.net_force(tree, x["v"], x["tau"]))
        known = Known(tree, x["v"])
        by_q, by_v = known.left(*derivatives(tree, x["v"], a))
        minus = Minv.scaled(-1.0)
        return *known.joined(minus.times(by_q), minus.times(by_v)), Minv

    return run


def _difd(derivatives: Derivatives) -> Route:
    def run(tree: Unrolled, x: Inputs) -> tuple[Output, ...]:
        by_q, by_v = derivatives(tree, x["v"], x["a"])
        minus = _given_inverse(fd.mass_matrix(tree), x["Minv"]).scaled(-1.0)
        return minus.times(by_q), minus.times(by_v)

    return run


def _solved(derivatives: Derivatives) -> Route:
    """What dfd multiplies: the derivatives of inverse dynamics at a = fd(q, v, tau), and M^-1.

    Behind them its factors: M^-1 is minus the product of the last matrix, which is lower, and the one before.
    """

    def run(tree: Unrolled, x: Inputs) -> tuple[Output, ...]:
        factors = fd.factors(tree)
        a = fd.solve(factors, fd.net_force(tree, x["v"], x["tau"]))
        return *derivatives(tree, x["v"], a), inverse(factors), *halves(factors)

    return run


def _given_inverse(mass: SparseMatrix, values: Vector) -> SparseMatrix:
    """M^-1 as given: entries between coordinates that nothing couples are zero."""
    n = mass.size
    block = list(range(n))
    for i, j, _ in mass:
        old, new = max(block[i], block[j]), min(block[i], block[j])
        block = [new if b == old else b for b in block]
    result = SparseMatrix(n)
    for i in range(n):
        for j in range(n):
            if block[i] == block[j]:
                result.put(i, j, values[i * n + j])
    return result


ROUTES: dict[str, dict[str, Route]] = {
    "id": {"rnea": _id},
    "fd": {"ltl": _fd_ltl, "aba": _fd_aba, "minv": _fd_minv},
    "m": {"crba": _m, "mminvgen": _mminvgen(False)},
    "minv": {"ltl": _minv_ltl, "aba": _minv_aba, "mminvgen": _mminvgen(True)},
    "did": {**{name: _did(route) for name, route in DERIVATIVES.items()}, "plancher2021": _did(_refactored)},
    "dfd": {
        **{f"ltl+{name}": _dfd_factors(route) for name, route in DERIVATIVES.items()},
        **{f"minv+{name}": _dfd_minv(route) for name, route in DERIVATIVES.items()},
        "minv+plancher2021": _dfd_minv(_refactored),
    },
    "difd": {**{name: _difd(route) for name, route in DERIVATIVES.items()}, "plancher2021": _difd(_refactored)},
}

HEADS: dict[str, dict[str, Route]] = {
    "difd": {name: _did(route) for name, route in DERIVATIVES.items()},
    "dfd": {name: _solved(route) for name, route in DERIVATIVES.items()},
}
"""By function and route to did: the matrices that loops multiply, where a product is too long as straight code."""

INDEPENDENT = {("fd", "aba"), ("m", "mminvgen"), ("minv", "aba"), ("minv", "mminvgen")}
"""Routes that need every joint to move alone: not for robots with mimic joints."""


BASELINES = ("plancher2021",)
"""Routes to did that are there by name only, the papers' baseline: they are not traced to be compared."""

ALIASES = {"grid": "plancher2021", "minv+grid": "minv+plancher2021"}
"""GRiD's Algorithm 2 (Plancher 2022) is that route's arithmetic (see `rnea_refactored`)."""


def routes_of(function: str, shared_coordinates: bool) -> list[str]:
    """The names of the routes to a function that serve a robot, the baseline ones too."""
    return [name for name in ROUTES[function] if not (shared_coordinates and (function, name) in INDEPENDENT)]
