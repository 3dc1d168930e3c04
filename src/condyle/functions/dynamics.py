"""The equation of motion: inverse and forward dynamics, the mass matrix, its inverse, and derivatives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from condyle.algorithms.crba import crba
from condyle.algorithms.derivatives import DERIVATIVES, Derivatives
from condyle.algorithms.free_base import Known
from condyle.algorithms.ltl import halves
from condyle.algorithms.mminvgen import mminvgen
from condyle.algorithms.rnea import rnea
from condyle.algorithms.rnea_derivatives import rnea_derivatives
from condyle.algorithms.solvers import ByElimination, ByFactors, ByInverse, Solver
from condyle.algorithms.sweeps import Matrix, Sweeps, Vector
from condyle.algorithms.unrolled import Unrolled
from condyle.functions.quantities import DOF_UNIT, MINV, TAU, A, M, Q, V, derivative
from condyle.specification import Accuracy, Call, Function, MinusProduct, Route, Size

Answers: TypeAlias = "tuple[Vector | Matrix, ...]"
Run: TypeAlias = Callable[..., Answers]

BASELINE = "plancher2021"
"""The papers' route to the derivatives, which runs when it is named. GRiD's Algorithm 2 (Plancher 2022) is its
arithmetic: see `rnea_refactored`."""
DTAU_DQ, DTAU_DV = derivative(TAU, "q", DOF_UNIT), derivative(TAU, "v", DOF_UNIT + " s")
DA_DQ, DA_DV, DA_DTAU = derivative(A, "q", "1/s^2"), derivative(A, "v", "1/s"), derivative(A, "tau", "1 / M")


def _id(tree: Sweeps) -> Answers:
    return (tree.gathered(rnea(tree, tree.given("v"), tree.given("a"))),)


def _m(tree: Sweeps) -> Answers:
    return (crba(tree),)


def _mminvgen(inverse: bool, tree: Unrolled) -> Answers:
    return (mminvgen(tree, inverse),)


def _fd(solver: Callable[..., Solver], tree: Sweeps) -> Answers:
    return (solver(tree).acceleration(),)


def _minv(solver: Callable[..., Solver], tree: Sweeps) -> Answers:
    return (solver(tree).inverse(),)


def _did(derivatives: Derivatives, tree: Sweeps) -> tuple[Matrix, Matrix]:
    return derivatives(tree, tree.given("v"), tree.given("a"))


def _difd(derivatives: Derivatives, tree: Sweeps) -> Answers:
    by_q, by_v = _did(derivatives, tree)
    return tree.minus_product(MINV.name, by_q), tree.minus_product(MINV.name, by_v)


def _dfd(solver: Callable[[Unrolled], Solver], derivatives: Derivatives, tree: Unrolled) -> Answers:
    """Plancher 2021, Algorithm 3. Columns that are known where a base floats freely are left out of the products."""
    way, v = solver(tree), tree.given("v")
    a = way.acceleration()
    known = Known(tree, v)
    by_q, by_v = known.left(*derivatives(tree, v, tree.dofs(a)))
    return *known.joined(way.minus_times(by_q), way.minus_times(by_v)), way.inverse()


def _dfd_by_sweeps(tree: Sweeps) -> Answers:
    way = ByElimination(tree)
    by_q, by_v = rnea_derivatives(tree, tree.given("v"), tree.dofs(way.acceleration()))
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


GROWS = Size(80, 50, 2)
"""Of routes that factor M: they grow with the cube of the depth."""

DYNAMICS = (
    Function(
        "id",
        "inverse_dynamics",
        "tau = M(q) a + c(q, v, f_ext)",
        (Q, V, A),
        (TAU,),
        {"rnea": Route(_id, loops=True)},
        Size(200),
        Accuracy(1e-12, 2e-5),
        "Featherstone 2008, section 5.3",
        takes_f_ext=True,
        normal_form="joint_space",
    ),
    Function(
        "fd",
        "forward_dynamics",
        "a = M(q)^-1 (tau - c(q, v, f_ext))",
        (Q, V, TAU),
        (A,),
        {
            "ltl": Route(partial(_fd, ByFactors), size=GROWS),
            "aba": Route(partial(_fd, ByElimination), loops=True, alone=True),
            "minv": Route(partial(_fd, ByInverse), shallow=True, size=GROWS),
        },
        Size(600),
        Accuracy(1e-9, 5e-5),
        "Featherstone 2008, sections 6.5 and 7.3",
        takes_f_ext=True,
        condition=64.0,
        normal_form="joint_space",
    ),
    Function(
        "m",
        "mass_matrix",
        "M(q)",
        (Q,),
        (M,),
        {"crba": Route(_m, loops=True), "mminvgen": Route(partial(_mminvgen, False), alone=True, shallow=True)},
        Size(80, 40),
        Accuracy(1e-12, 2e-5),
        "Featherstone 2008, section 6.2",
        normal_form="joint_space",
    ),
    Function(
        "minv",
        "mass_matrix_inverse",
        "M(q)^-1",
        (Q,),
        (MINV,),
        {
            "ltl": Route(partial(_minv, ByFactors)),
            "aba": Route(partial(_minv, ByElimination), loops=True, alone=True, shallow=True),
            "mminvgen": Route(partial(_mminvgen, True), alone=True, shallow=True),
        },
        GROWS,
        Accuracy(1e-9, 5e-5),
        "Featherstone 2008, section 6.5; Carpentier 2018",
        condition=8.0,
        normal_form="joint_space",
    ),
    Function(
        "did",
        "inverse_dynamics_derivatives",
        "d tau / d q, d tau / d v of inverse dynamics",
        (Q, V, A),
        (DTAU_DQ, DTAU_DV),
        {name: replace(route, shallow=name in ("adjoint", "columns")) for name, route in _routes(_did).items()},
        Size(200, 180),
        Accuracy(1e-11, 5e-5),
        "Singh, Russell, Wensing 2022",
        takes_f_ext=True,
        normal_form="joint_space",
    ),
    Function(
        "dfd",
        "forward_dynamics_derivatives",
        "d a / d q, d a / d v, d a / d tau of forward dynamics",
        (Q, V, TAU),
        (DA_DQ, DA_DV, DA_DTAU),
        {
            **_solved_routes("ltl+", ByFactors),
            **_solved_routes("minv+", ByInverse),
            "aba+closed_form": Route(_dfd_by_sweeps, loops=True, alone=True, baseline=True, part="closed_form"),
        },
        Size(500, 220, 5),
        Accuracy(1e-8, 5e-5),
        "Plancher 2021, Algorithm 3",
        takes_f_ext=True,
        condition=8.0,
        normal_form="joint_space",
        composition=(
            Call("minv", (DA_DTAU.name,)),
            Call("fd", (A.name,)),
            Call("difd", (DA_DQ.name, DA_DV.name), (Q.name, V.name, A.name, DA_DTAU.name)),
        ),
    ),
    Function(
        "difd",
        "dynamics_derivatives",
        "d a / d q, d a / d v, given a and Minv",
        (Q, V, A, MINV),
        (DA_DQ, DA_DV),
        _routes(_difd, _did),
        Size(200, 180, 5),
        Accuracy(1e-8, 5e-5),
        "Plancher 2021, equation 1",
        takes_f_ext=True,
        condition=8.0,
        normal_form="joint_space",
        composition=(
            Call("did", (DTAU_DQ.name, DTAU_DV.name)),
            MinusProduct(MINV.name, DTAU_DQ.name, DA_DQ.name),
            MinusProduct(MINV.name, DTAU_DV.name, DA_DV.name),
        ),
    ),
)
