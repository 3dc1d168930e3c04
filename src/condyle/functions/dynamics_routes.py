"""How the equation of motion is computed: every route to its functions, from the algorithms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from condyle.algorithms.crba import crba
from condyle.algorithms.damping import driven, resisted, with_damping
from condyle.algorithms.derivatives import DERIVATIVES, Derivatives
from condyle.algorithms.free_base import Known
from condyle.algorithms.ltl import halves
from condyle.algorithms.ltl import solve as solve_by
from condyle.algorithms.mminvgen import mminvgen
from condyle.algorithms.rnea import rnea
from condyle.algorithms.solvers import ByElimination, ByFactors, ByInverse, Solver, factors
from condyle.algorithms.sweeps import Matrix, Sweeps, Vector
from condyle.algorithms.unrolled import Unrolled
from condyle.functions.dynamics import GROWS
from condyle.functions.quantities import MINV
from condyle.scalar import number
from condyle.specification import Route

Answers: TypeAlias = "tuple[Vector | Matrix, ...]"
Run: TypeAlias = Callable[..., Answers]

BASELINE = "plancher2021"
"""The papers' route to the derivatives, which runs when it is named. GRiD's Algorithm 2 (Plancher 2022) is its
arithmetic: see `rnea_refactored`."""


def _id(tree: Sweeps) -> Answers:
    return (resisted(tree, tree.gathered(rnea(tree, tree.given("v"), tree.given("a")))),)


def _m(tree: Sweeps) -> Answers:
    return (crba(tree),)


def _mminvgen(inverse: bool, tree: Unrolled) -> Answers:
    return (mminvgen(tree, inverse),)


def _fd(solver: Callable[..., Solver], tree: Sweeps) -> Answers:
    return (solver(driven(tree)).acceleration(),)


def _solve(tree: Unrolled) -> Answers:
    return (solve_by(factors(tree), list(tree.inputs["tau"])),)


def _solve_by_elimination(tree: Unrolled) -> Answers:
    """Forward dynamics at rest without gravity."""
    at_rest = {**tree.inputs, "v": [number(0.0)] * tree.nv}
    return (ByElimination(Unrolled(replace(tree.tree, gravity=(0.0, 0.0, 0.0)), at_rest)).acceleration(),)


def _minv(solver: Callable[..., Solver], tree: Sweeps) -> Answers:
    return (solver(tree).inverse(),)


def _did(derivatives: Derivatives, tree: Sweeps) -> tuple[Matrix, Matrix]:
    by_q, by_v = derivatives(tree, tree.given("v"), tree.given("a"))
    return by_q, with_damping(tree, by_v)


def _difd(derivatives: Derivatives, tree: Sweeps) -> Answers:
    by_q, by_v = _did(derivatives, tree)
    return tree.minus_product(MINV.name, by_q), tree.minus_product(MINV.name, by_v)


def _dfd(solver: Callable[[Unrolled], Solver], derivatives: Derivatives, tree: Unrolled) -> Answers:
    """Plancher 2021, Algorithm 3. Columns that are known where a base floats freely are left out of the products."""
    way, v = solver(driven(tree)), tree.given("v")
    a = way.acceleration()
    known = Known(tree, v)
    by_q, by_v = known.left(*derivatives(tree, v, tree.dofs(a)))
    by_v = with_damping(tree, by_v)
    return *known.joined(way.minus_times(by_q), way.minus_times(by_v)), way.inverse()


def _dfd_by_sweeps(tree: Sweeps) -> Answers:
    way = ByElimination(tree)
    by_q, by_v = DERIVATIVES["closed_form"](tree, tree.given("v"), tree.dofs(way.acceleration()))
    return way.minus_times(by_q), way.minus_times(by_v), way.inverse()


def _dfd_factors(derivatives: Derivatives, tree: Unrolled) -> Answers:
    """What dense products make dfd of: derivatives of inverse dynamics, M^-1, and its `halves`."""
    way = ByFactors(tree)
    a = tree.dofs(way.acceleration())
    return *derivatives(tree, tree.given("v"), a), way.inverse(), *halves(way.factors)


def _routes(run: Run, factors: Run | None = None) -> dict[str, Route]:
    """A route for each algorithm to the derivatives of inverse dynamics."""
    return {
        name: Route(
            partial(run, derivatives),
            loops=name == "closed_form",
            baseline=name == BASELINE,
            part=name,
            alias="grid" if name == BASELINE else "",
            factors=None if factors is None or name == BASELINE else partial(factors, derivatives),
        )
        for name, derivatives in DERIVATIVES.items()
    }


def _solved_routes(prefix: str, solver: Callable[[Unrolled], Solver]) -> dict[str, Route]:
    """The same, solved with M in one way; the baseline is that of the papers, which spell out M^-1."""
    spelled = solver is ByInverse
    routes = _routes(partial(_dfd, solver), None if spelled else _dfd_factors)
    return {
        prefix + name: replace(route, loops=False, shallow=spelled, alias=route.alias and prefix + route.alias)
        for name, route in routes.items()
        if spelled or not route.baseline
    }


ROUTES: Mapping[str, Mapping[str, Route]] = {
    "id": {"rnea": Route(_id, loops=True)},
    "fd": {
        "ltl": Route(partial(_fd, ByFactors), size=GROWS),
        "aba": Route(partial(_fd, ByElimination), loops=True, alone=True),
        "minv": Route(partial(_fd, ByInverse), shallow=True, size=GROWS),
    },
    "m": {
        "crba": Route(_m, loops=True),
        "mminvgen": Route(partial(_mminvgen, False), alone=True, shallow=True),
    },
    "minv": {
        "ltl": Route(partial(_minv, ByFactors)),
        "aba": Route(partial(_minv, ByElimination), loops=True, alone=True, shallow=True),
        "mminvgen": Route(partial(_mminvgen, True), alone=True, shallow=True),
    },
    "did": {name: replace(route, shallow=name in ("adjoint", "columns")) for name, route in _routes(_did).items()},
    "dfd": {
        **_solved_routes("ltl+", ByFactors),
        **_solved_routes("minv+", ByInverse),
        "aba+closed_form": Route(_dfd_by_sweeps, loops=True, alone=True, baseline=True, part="closed_form"),
    },
    "difd": _routes(_difd, _did),
    "solve": {"ltl": Route(_solve, size=GROWS), "aba": Route(_solve_by_elimination, alone=True)},
}
"""By function and by name; the first of each is the reference's."""
