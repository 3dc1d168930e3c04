"""Mass, momentum, energy, and the parts of the equation of motion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from condyle import algorithms
from condyle.functions.dynamics import INVERSE_DYNAMICS_DERIVATIVES
from condyle.functions.quantities import DOF_UNIT, A, ByName, Q, V, call
from condyle.specification import Accuracy, Function, Needs, Numerics, Port, Route, Size, Ways
from condyle.specification.ports import F_EXT

if TYPE_CHECKING:
    from condyle.algorithms.sweeps import Matrix, Sweeps, Vector
    from condyle.algorithms.unrolled import Unrolled
    from condyle.scalar import Scalar

EXACT, ROUNDED = Accuracy(1e-12, 2e-5), Accuracy(1e-11, 5e-5)
ABOUT = "about the centre of mass"
MOMENTUM = "N s, N m s"

CENTER_OF_MASS = Function(
    "com",
    "center_of_mass",
    "c = sum m_i c_i / sum m_i, moving bodies only",
    (Q,),
    (Port("com", ("3",), "m", "world", "centre of mass"),),
    Ways(lambda: {"sweep": Route(_com)}, closed=lambda: {"jacobian": _jacobian_com}),
    Numerics(Size(40), EXACT),
    "Featherstone 2008, section 2.13",
    takes=("inertias",),
    needs=Needs(mass=True),
)

CENTER_OF_MASS_JACOBIAN = Function(
    "jcom",
    "center_of_mass_jacobian",
    "J_c(q): the velocity of the centre of mass is J_c v",
    (Q,),
    (Port("J_com", ("3", "nv"), "m | 1", "world", "Jacobian of the centre of mass"),),
    Ways(lambda: {"sweep": Route(_jcom)}),
    Numerics(Size(100), EXACT),
    "Orin, Goswami 2008",
    takes=("inertias",),
    needs=Needs(mass=True),
)

CENTROIDAL_MOMENTUM = Function(
    "h",
    "centroidal_momentum",
    "h = A_g(q) v",
    (Q, V),
    (Port("h", ("6",), MOMENTUM, "world", f"momentum {ABOUT}, [linear; angular]"),),
    Ways(lambda: {"sweep": Route(_h)}),
    Numerics(Size(120), EXACT),
    "Orin, Goswami 2008",
    takes=("inertias",),
    needs=Needs(mass=True),
)

CENTROIDAL_MOMENTUM_RATE = Function(
    "dh",
    "centroidal_momentum_rate",
    "d h / d t = A_g a + A_g' v",
    (Q, V, A),
    (Port("dh_dt", ("6",), "N, N m", "world", f"rate of the momentum {ABOUT}, [linear; angular]"),),
    Ways(lambda: {"sweep": Route(_dh)}),
    Numerics(Size(200), ROUNDED),
    "Wensing, Orin 2016",
    takes=("inertias",),
    needs=Needs(mass=True),
)

CENTROIDAL_MOMENTUM_MATRIX = Function(
    "cmm",
    "centroidal_momentum_matrix",
    "A_g(q): h = A_g v",
    (Q,),
    (Port("A_g", ("6", "nv"), "kg | kg m | kg m^2", "world", "centroidal momentum matrix"),),
    Ways(lambda: {"composites": Route(_cmm)}),
    Numerics(Size(200), EXACT),
    "Orin, Goswami 2008",
    takes=("inertias",),
    needs=Needs(mass=True),
)

KINETIC_ENERGY = Function(
    "ke",
    "kinetic_energy",
    "1/2 v . M(q) v",
    (Q, V),
    (Port("kinetic_energy", (), "J", "world", "kinetic energy, with that of the armature"),),
    Ways(lambda: {"sweep": Route(_ke)}),
    Numerics(Size(100), EXACT),
    "Featherstone 2008, section 2.14",
    takes=("inertias", "armature"),
    normal_form="joint_space",
)

POTENTIAL_ENERGY = Function(
    "pe",
    "potential_energy",
    "- g . sum m_i c_i",
    (Q,),
    (Port("potential_energy", (), "J", "world", "potential energy of gravity, zero at the world's origin"),),
    Ways(lambda: {"sweep": Route(_pe)}),
    Numerics(Size(40), EXACT),
    "Featherstone 2008, section 2.14",
    takes=("inertias", "gravity"),
)

GENERALIZED_GRAVITY = Function(
    "g",
    "generalized_gravity",
    "g(q) = inverse dynamics at rest",
    (Q,),
    (Port("g", ("nv",), DOF_UNIT, "joint", "forces that hold the robot at rest"),),
    Ways(lambda: {"rnea": Route(_g, loops=True)}, closed=lambda: {"jacobian": _jacobian_g}),
    Numerics(Size(80), EXACT),
    "Featherstone 2008, section 5.3",
    takes=("inertias", "gravity"),
    normal_form="joint_space",
)

NONLINEAR_EFFECTS = Function(
    "nle",
    "nonlinear_effects",
    "c(q, v, f_ext) = C(q, v) v + g(q) - J^T f_ext",
    (Q, V),
    (Port("c", ("nv",), DOF_UNIT, "joint", "forces of inverse dynamics with a = 0"),),
    Ways(lambda: {"rnea": Route(_nle, loops=True)}, closed=lambda: {"jacobian": _jacobian_nle}),
    Numerics(Size(180), EXACT),
    "Featherstone 2008, section 5.3",
    takes=(F_EXT.name, "inertias", "gravity", "armature", "damping"),
    normal_form="joint_space",
)

CORIOLIS_MATRIX = Function(
    "cor",
    "coriolis_matrix",
    "C(q, v): C v + g = c, and d M / d t - 2 C is skew",
    (Q, V),
    (Port("C", ("nv", "nv"), f"{DOF_UNIT} / v", "joint", "Coriolis matrix", zeros="coupled"),),
    Ways(lambda: {"composites": Route(_cor, loops=True)}),
    Numerics(Size(150, 90), ROUNDED),
    "Echeandia, Wensing 2021",
    takes=("inertias", "armature"),
    normal_form="joint_space",
)

INVERSE_DYNAMICS_REGRESSOR = Function(
    "reg",
    "inverse_dynamics_regressor",
    "Y(q, v, a): tau = Y pi, armature apart",
    (Q, V, A),
    (
        Port(
            "Y",
            ("nv", "10 n_bodies + n_regressor nv"),
            "tau / pi",
            "joint",
            "regressor; pi of a body: m, m c, Ixx Ixy Iyy Ixz Iyz Izz about its frame's origin",
        ),
    ),
    Ways(lambda: {"columns": Route(_reg)}),
    Numerics(Size(200, 140), ROUNDED),
    "Atkeson, An, Hollerbach 1986",
    takes=("gravity",),
    needs=Needs(("regressor",)),
)

MOMENTA = (
    CENTER_OF_MASS,
    CENTER_OF_MASS_JACOBIAN,
    CENTROIDAL_MOMENTUM,
    CENTROIDAL_MOMENTUM_RATE,
    CENTROIDAL_MOMENTUM_MATRIX,
    KINETIC_ENERGY,
    POTENTIAL_ENERGY,
    GENERALIZED_GRAVITY,
    NONLINEAR_EFFECTS,
    CORIOLIS_MATRIX,
    INVERSE_DYNAMICS_REGRESSOR,
)


# Routes


def _com(tree: Sweeps) -> tuple[Sequence[Scalar]]:
    return (algorithms.momentum.center_of_mass(tree),)


def _jcom(tree: Sweeps) -> tuple[Sequence[Scalar]]:
    return (algorithms.momentum.center_of_mass_jacobian(tree),)


def _h(tree: Sweeps) -> tuple[Sequence[Scalar]]:
    return (algorithms.momentum.centroidal_momentum(tree, tree.input("v")),)


def _dh(tree: Sweeps) -> tuple[Sequence[Scalar]]:
    return (algorithms.momentum.centroidal_momentum_rate(tree, tree.input("v"), tree.input("a")),)


def _cmm(tree: Sweeps) -> tuple[Sequence[Scalar]]:
    return (algorithms.momentum.centroidal_momentum_matrix(tree),)


def _ke(tree: Sweeps) -> tuple[Sequence[Scalar]]:
    return (algorithms.momentum.kinetic_energy(tree, tree.input("v")),)


def _pe(tree: Sweeps) -> tuple[Sequence[Scalar]]:
    return (algorithms.momentum.potential_energy(tree),)


def _g(tree: Sweeps) -> tuple[Vector]:
    still = tree.each(algorithms.rnea.no_acceleration)
    return (tree.gathered(algorithms.rnea.rnea(tree, still, still)),)


def _nle(tree: Sweeps) -> tuple[Vector]:
    c = tree.gathered(algorithms.rnea.bias(tree, tree.input("v")))
    return (algorithms.drives.damped(tree, c),)


def _cor(tree: Sweeps) -> tuple[Matrix]:
    return (algorithms.momentum.coriolis_matrix(tree, tree.input("v")),)


def _reg(tree: Unrolled) -> tuple[Sequence[Scalar]]:
    return (algorithms.regressor.regressor(tree, tree.input("v"), tree.input("a")),)


# Derivatives that are other functions


def _jacobian_com(calls: Any, inputs: ByName) -> ByName:
    return {"dcom_dq": call(calls, inputs, CENTER_OF_MASS_JACOBIAN, inputs["q"])[0]}


def _jacobian_g(calls: Any, inputs: ByName) -> ByName:
    """Inverse dynamics at rest."""
    still = [0.0] * calls.tree.nv
    if calls.tree.drives.forces:
        return {}
    return {"dg_dq": call(calls, inputs, INVERSE_DYNAMICS_DERIVATIVES, inputs["q"], still, still)[0]}


def _jacobian_nle(calls: Any, inputs: ByName) -> ByName:
    """Inverse dynamics without acceleration."""
    if calls.tree.drives.forces:
        return {}
    by_q, by_v = call(calls, inputs, INVERSE_DYNAMICS_DERIVATIVES, inputs["q"], inputs["v"], [0.0] * calls.tree.nv)
    return {"dnle_dq": by_q, "dnle_dv": by_v}
