"""Mass, momentum, energy, and the parts of the equation of motion."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from condyle.functions.quantities import DOF_UNIT, A, Q, V
from condyle.ports import NUMBERS
from condyle.specification import Accuracy, Closed, Function, Port, Route, Size

EXACT, ROUNDED = Accuracy(1e-12, 2e-5), Accuracy(1e-11, 5e-5)
ABOUT = "about the centre of mass"
MOMENTUM = "N s, N m s"


def _routes(name: str) -> Mapping[str, Route]:
    from condyle.functions.momentum_routes import ROUTES

    return ROUTES[name]


def _rules(name: str) -> Mapping[str, Closed]:
    from condyle.functions.momentum_rules import RULES

    return RULES[name]


MOMENTA = (
    Function(
        "com",
        "center_of_mass",
        "c = sum m_i c_i / sum m_i, moving bodies only",
        (Q,),
        (Port("com", ("3",), "m", "world", "centre of mass"),),
        partial(_routes, "com"),
        Size(40),
        EXACT,
        "Featherstone 2008, section 2.13",
        divides_by_mass=True,
        closed_ways=partial(_rules, "com"),
        numbers=("inertias",),
    ),
    Function(
        "jcom",
        "center_of_mass_jacobian",
        "J_c(q): the velocity of the centre of mass is J_c v",
        (Q,),
        (Port("J_com", ("3", "nv"), "m | 1", "world", "Jacobian of the centre of mass"),),
        partial(_routes, "jcom"),
        Size(100),
        EXACT,
        "Orin, Goswami 2008",
        divides_by_mass=True,
        numbers=("inertias",),
    ),
    Function(
        "h",
        "centroidal_momentum",
        "h = A_g(q) v",
        (Q, V),
        (Port("h", ("6",), MOMENTUM, "world", f"momentum {ABOUT}, [linear; angular]"),),
        partial(_routes, "h"),
        Size(120),
        EXACT,
        "Orin, Goswami 2008",
        divides_by_mass=True,
        numbers=("inertias",),
    ),
    Function(
        "dh",
        "centroidal_momentum_rate",
        "d h / d t = A_g a + A_g' v",
        (Q, V, A),
        (Port("dh_dt", ("6",), "N, N m", "world", f"rate of the momentum {ABOUT}, [linear; angular]"),),
        partial(_routes, "dh"),
        Size(200),
        ROUNDED,
        "Wensing, Orin 2016",
        divides_by_mass=True,
        numbers=("inertias",),
    ),
    Function(
        "cmm",
        "centroidal_momentum_matrix",
        "A_g(q): h = A_g v",
        (Q,),
        (Port("A_g", ("6", "nv"), "kg | kg m | kg m^2", "world", "centroidal momentum matrix"),),
        partial(_routes, "cmm"),
        Size(200),
        EXACT,
        "Orin, Goswami 2008",
        divides_by_mass=True,
        numbers=("inertias",),
    ),
    Function(
        "ke",
        "kinetic_energy",
        "1/2 v . M(q) v",
        (Q, V),
        (Port("kinetic_energy", (), "J", "world", "kinetic energy, with that of the armature"),),
        partial(_routes, "ke"),
        Size(100),
        EXACT,
        "Featherstone 2008, section 2.14",
        normal_form="joint_space",
        numbers=("inertias", "armature"),
    ),
    Function(
        "pe",
        "potential_energy",
        "- g . sum m_i c_i",
        (Q,),
        (Port("potential_energy", (), "J", "world", "potential energy of gravity, zero at the world's origin"),),
        partial(_routes, "pe"),
        Size(40),
        EXACT,
        "Featherstone 2008, section 2.14",
        numbers=("inertias", "gravity"),
    ),
    Function(
        "g",
        "generalized_gravity",
        "g(q) = inverse dynamics at rest",
        (Q,),
        (Port("g", ("nv",), DOF_UNIT, "joint", "forces that hold the robot at rest"),),
        partial(_routes, "g"),
        Size(80),
        EXACT,
        "Featherstone 2008, section 5.3",
        closed_ways=partial(_rules, "g"),
        normal_form="joint_space",
        numbers=("inertias", "gravity"),
    ),
    Function(
        "nle",
        "nonlinear_effects",
        "c(q, v, f_ext) = C(q, v) v + g(q) - J^T f_ext",
        (Q, V),
        (Port("c", ("nv",), DOF_UNIT, "joint", "forces of inverse dynamics with a = 0"),),
        partial(_routes, "nle"),
        Size(180),
        EXACT,
        "Featherstone 2008, section 5.3",
        takes_f_ext=True,
        closed_ways=partial(_rules, "nle"),
        normal_form="joint_space",
        numbers=tuple(NUMBERS),
    ),
    Function(
        "cor",
        "coriolis_matrix",
        "C(q, v): C v + g = c, and d M / d t - 2 C is skew",
        (Q, V),
        (Port("C", ("nv", "nv"), f"{DOF_UNIT} / v", "joint", "Coriolis matrix", zeros="coupled"),),
        partial(_routes, "cor"),
        Size(150, 90),
        ROUNDED,
        "Echeandia, Wensing 2021",
        normal_form="joint_space",
        numbers=("inertias", "armature"),
    ),
    Function(
        "reg",
        "inverse_dynamics_regressor",
        "Y(q, v, a): tau = Y pi, armature apart",
        (Q, V, A),
        (
            Port(
                "Y",
                ("nv", "10 n_bodies"),
                "tau / pi",
                "joint",
                "regressor; pi of a body: m, m c, Ixx Ixy Iyy Ixz Iyz Izz about its frame's origin",
            ),
        ),
        partial(_routes, "reg"),
        Size(200, 140),
        ROUNDED,
        "Atkeson, An, Hollerbach 1986",
        numbers=("gravity",),
    ),
)
