"""The equation of motion: inverse and forward dynamics, the mass matrix, its inverse, and derivatives."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from condyle.functions.quantities import DA_DQ, DA_DTAU, DA_DV, DTAU_DQ, DTAU_DV, MINV, TAU, A, M, Q, V
from condyle.ports import NUMBERS
from condyle.specification import Accuracy, Call, Closed, Function, MinusProduct, ParallelRoute, Route, Size

GROWS = Size(80, 50, 2)
"""Of routes that factor M: they grow with the cube of the depth."""


def _routes(name: str) -> Mapping[str, Route]:
    from condyle.functions.dynamics_routes import ROUTES

    return ROUTES[name]


def _rules(name: str) -> Mapping[str, Closed]:
    from condyle.functions.dynamics_rules import RULES

    return RULES[name]


def _parallel(name: str) -> Mapping[str, ParallelRoute]:
    from condyle.functions.dynamics_parallel import ROUTES

    return ROUTES[name]


DYNAMICS = (
    Function(
        "id",
        "inverse_dynamics",
        "tau = M(q) a + c(q, v, f_ext)",
        (Q, V, A),
        (TAU,),
        partial(_routes, "id"),
        Size(200),
        Accuracy(1e-12, 2e-5),
        "Featherstone 2008, section 5.3",
        takes_f_ext=True,
        parallel_ways=partial(_parallel, "id"),
        normal_form="joint_space",
        inverse="fd",
        closed_ways=partial(_rules, "id"),
        numbers=tuple(NUMBERS),
    ),
    Function(
        "fd",
        "forward_dynamics",
        "a = M(q)^-1 (tau - c(q, v, f_ext))",
        (Q, V, TAU),
        (A,),
        partial(_routes, "fd"),
        Size(600),
        Accuracy(1e-9, 5e-5),
        "Featherstone 2008, sections 6.5 and 7.3",
        takes_f_ext=True,
        condition=64.0,
        parallel_ways=partial(_parallel, "fd"),
        normal_form="joint_space",
        closed_ways=partial(_rules, "fd"),
        numbers=tuple(NUMBERS),
    ),
    Function(
        "m",
        "mass_matrix",
        "M(q)",
        (Q,),
        (M,),
        partial(_routes, "m"),
        Size(80, 40),
        Accuracy(1e-12, 2e-5),
        "Featherstone 2008, section 6.2",
        parallel_ways=partial(_parallel, "m"),
        normal_form="joint_space",
        numbers=("inertias", "armature"),
    ),
    Function(
        "minv",
        "mass_matrix_inverse",
        "M(q)^-1",
        (Q,),
        (MINV,),
        partial(_routes, "minv"),
        GROWS,
        Accuracy(1e-9, 5e-5),
        "Featherstone 2008, section 6.5; Carpentier 2018",
        condition=8.0,
        parallel_ways=partial(_parallel, "minv"),
        normal_form="joint_space",
        numbers=("inertias", "armature"),
    ),
    Function(
        "did",
        "inverse_dynamics_derivatives",
        "d tau / d q, d tau / d v of inverse dynamics",
        (Q, V, A),
        (DTAU_DQ, DTAU_DV),
        partial(_routes, "did"),
        Size(200, 180),
        Accuracy(1e-11, 5e-5),
        "Singh, Russell, Wensing 2022",
        takes_f_ext=True,
        parallel_ways=partial(_parallel, "did"),
        normal_form="joint_space",
        numbers=tuple(NUMBERS),
    ),
    Function(
        "dfd",
        "forward_dynamics_derivatives",
        "d a / d q, d a / d v, d a / d tau of forward dynamics",
        (Q, V, TAU),
        (DA_DQ, DA_DV, DA_DTAU),
        partial(_routes, "dfd"),
        Size(500, 220, 5),
        Accuracy(1e-8, 5e-5),
        "Plancher 2021, Algorithm 3",
        takes_f_ext=True,
        condition=8.0,
        parallel_ways=partial(_parallel, "dfd"),
        normal_form="joint_space",
        composition=(
            Call("minv", (DA_DTAU.name,)),
            Call("fd", (A.name,)),
            Call("difd", (DA_DQ.name, DA_DV.name), (Q.name, V.name, A.name, DA_DTAU.name)),
        ),
        numbers=tuple(NUMBERS),
    ),
    Function(
        "difd",
        "dynamics_derivatives",
        "d a / d q, d a / d v, given a and Minv",
        (Q, V, A, MINV),
        (DA_DQ, DA_DV),
        partial(_routes, "difd"),
        Size(200, 180, 5),
        Accuracy(1e-8, 5e-5),
        "Plancher 2021, equation 1",
        takes_f_ext=True,
        condition=8.0,
        parallel_ways=partial(_parallel, "difd"),
        normal_form="joint_space",
        composition=(
            Call("did", (DTAU_DQ.name, DTAU_DV.name)),
            MinusProduct(MINV.name, DTAU_DQ.name, DA_DQ.name),
            MinusProduct(MINV.name, DTAU_DV.name, DA_DV.name),
        ),
        numbers=tuple(NUMBERS),
    ),
)

AUXILIARY = (
    Function(
        "solve",
        "solve",
        "M(q)^-1 tau",
        (Q, TAU),
        (A,),
        partial(_routes, "solve"),
        Size(600),
        Accuracy(1e-9, 5e-5),
        "Featherstone 2008, section 6.5",
        condition=64.0,
        normal_form="joint_space",
        numbers=("inertias", "armature"),
    ),
)
"""What rules for derivatives call beside the functions that users have."""
