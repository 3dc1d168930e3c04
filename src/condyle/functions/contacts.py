"""Motion with contacts: accelerations and forces, impacts, and the matrices behind them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from condyle.functions.quantities import DA_DQ, DA_DTAU, DA_DV, DTAU_DQ, DTAU_DV, TAU, A, Q, V
from condyle.ports import ACTIVE, FRICTION_NUMBERS, NUMBERS
from condyle.specification import Accuracy, Closed, Function, Port, Route, Size

CONTACTS = ("contacts",)
OFF = "zero in rows and columns of contacts that are off; symmetric"
FORCE = Port("force", ("n_contacts", "6"), "N, N m", "contact", "[force; torque] on the body, in the contact's axes")
IMPULSE = Port("impulse", FORCE.dims, "N s, N m s", "contact", "[linear; angular] impulse on the body")
RESTITUTION = Port("restitution", ("n_contacts",), "1", "-", "coefficient of restitution, 0 to 1", is_fraction=True)
V_AFTER = Port("v", ("nv",), V.unit, "joint", "velocity after the impact")
GAMMA = Port(
    "gamma",
    ("n_rows",),
    "m/s^2, rad/s^2",
    "contact",
    "acceleration J a + gamma of what contacts hold: zero where they are on",
)
ERROR = Port("error", ("n_rows",), "m, rad", "contact", "placement of each contact relative to its anchor")
J = Port("J", ("n_rows", "nv"), "m | 1", "contact", "Jacobian of all contacts: J v is the velocity of what they hold")
KKT = Port("kkt", ("nv + n_rows", "nv + n_rows"), "mixed", "-", f"[M, J^T; J, 0]; {OFF}")
KINV = replace(KKT, name="kinv", doc=f"inverse of [M, J^T; J, 0]; {OFF}")
G = Port("delassus", ("n_rows", "n_rows"), "1/kg", "contact", f"J M^-1 J^T; {OFF}")
GINV = replace(
    G,
    name="ginv",
    unit="kg",
    doc=f"pseudo-inverse of J M^-1 J^T; {OFF}",
)
X, Y = replace(TAU, name="x", given_by=""), replace(GAMMA, name="y", doc="J a where it is on, f where it is off")
ROWS = replace(GAMMA, name="f", unit="N, N m", doc="forces row by row")

DT_AHEAD = Port("dt", (), "s", "-", "length of the step, above zero", is_positive=True)
FRICTION = Port(
    "friction", ("n_contacts",), "1", "-", "Coulomb's coefficient of each contact; below zero counts as zero"
)
PUSH = Port("impulse", ("n_contacts", "3"), "N s", "world", "impulse on the body at each contact, over the step")
RESIDUAL = Port("residual", (), "m/s", "-", "distance from complementarity: zero at an exact solution", beside="v")

SOLVED, DERIVED = Accuracy(1e-8, 5e-4), Accuracy(1e-7, 5e-3)
SINGULAR = Accuracy(1e-5, 5e-2)
"""Where rows depend on others, rounding of G grows by 1e8 in its pseudo-inverse; elsewhere as in forces."""
CONDITION = 512.0
"""Forces are solved for with a matrix that M^-1 is in."""
GAINED = (*NUMBERS, "gains", "anchors")
"""What motion with contacts depends on beside the state."""


def _by(of: Port, by: Port, unit: str) -> Port:
    return Port(f"d{of.name}_d{by.name}", (*of.dims, "nv"), unit, of.frame, f"derivative of {of.name} by {by.name}")


DA = tuple(replace(port, zeros="none", symmetric=False) for port in (DA_DQ, DA_DV, DA_DTAU))
DFORCE = (_by(FORCE, Q, "N, N m"), _by(FORCE, V, "N s, N m s"), _by(FORCE, TAU, "mixed"))
DGAMMA = (_by(GAMMA, Q, "1/s^2"), _by(GAMMA, V, "1/s"))


def _routes(name: str) -> Mapping[str, Route]:
    from condyle.functions.contacts_routes import ROUTES

    return ROUTES[name]


def _rules(name: str) -> Mapping[str, Closed]:
    from condyle.functions.contacts_rules import RULES

    return RULES[name]


BOOK = "Featherstone 2008, section 8.8"
PLACED = Function("", "", "", (), (), source="Featherstone 2008, section 8.3", options=CONTACTS)
"""What functions of contacts share. They have a meaning for a robot that was compiled with contacts only."""
REDUCED = replace(PLACED, source=BOOK, normal_form="joint_space")
"""The same of answers that are joint-space quantities alone."""
SOLVING = replace(REDUCED, condition=CONDITION, numbers=("inertias", "armature"))
"""The same of answers that are solved for with M."""


def _of(
    shared: Function,
    name: str,
    method: str,
    equation: str,
    inputs: tuple[Port, ...],
    outputs: tuple[Port, ...],
    size: Size,
    accuracy: Accuracy = PLACED.accuracy,
) -> Function:
    """A function of contacts: what it shares with others, and what is its own."""
    return replace(
        shared,
        name=name,
        method=method,
        equation=equation,
        inputs=inputs,
        outputs=outputs,
        ways=partial(_routes, name),
        size=size,
        accuracy=accuracy,
    )


CONSTRAINED = (
    _of(
        replace(
            SOLVING,
            source=f"{BOOK}; Carpentier, Budhiraja, Mansard 2021",
            takes_f_ext=True,
            numbers=GAINED,
            closed_ways=partial(_rules, "cfd"),
        ),
        "cfd",
        "constrained_forward_dynamics",
        "M a + c = tau + J^T force, J a + gamma = 0 where contacts are on",
        (Q, V, TAU, ACTIVE),
        (A, FORCE),
        Size(150, 0, 3, 1),
        SOLVED,
    ),
    _of(
        replace(SOLVING, source=f"{BOOK}; Singh, Russell, Wensing 2022", takes_f_ext=True, numbers=GAINED),
        "dcfd",
        "constrained_forward_dynamics_derivatives",
        "derivatives of a and force by q, v and tau: -K^-1 times those of the residuals",
        (Q, V, TAU, ACTIVE),
        (*DA, *DFORCE),
        Size(500, 0, 27, 5),
        DERIVED,
    ),
    _of(
        replace(SOLVING, source="Featherstone 2008, section 11.7"),
        "impact",
        "impulse_dynamics",
        "M (v_next - v) = J^T impulse, J v_next = - restitution J v where contacts are on",
        (Q, V, ACTIVE, RESTITUTION),
        (V_AFTER, IMPULSE),
        Size(70, 0, 2, 1),
        SOLVED,
    ),
    _of(
        replace(
            SOLVING,
            source="Moreau 1988; Jean 1999; Acary, Brogliato 2008, section 3.9",
            takes_f_ext=True,
            contact_kinds=("point",),
            numbers=(*NUMBERS, *FRICTION_NUMBERS),
        ),
        "cfric",
        "contact_solve",
        "M (v_next - v) = dt (tau - c) + J^T p, p_n >= 0, J_n v_next + gap / dt >= 0, one of them 0, |p_t| <= mu p_n, "
        "p_t opposite to the slip; an approximation by a fixed number of sweeps",
        (Q, V, TAU, ACTIVE, DT_AHEAD, FRICTION),
        (V_AFTER, PUSH, RESIDUAL),
        Size(3000, 60, 2),
        Accuracy(1e-7, 2e-2),
    ),
    _of(
        replace(SOLVING, numbers=tuple(NUMBERS)),
        "cid",
        "constrained_inverse_dynamics",
        "tau + J^T force = M a + c, with the least force that leaves no torque on a floating base",
        (Q, V, A, ACTIVE),
        (TAU, FORCE),
        Size(40, 9),
        SOLVED,
    ),
    _of(
        SOLVING,
        "kkt",
        "constraint_matrix_inverse",
        "[M, J^T; J, 0]^-1",
        (Q, ACTIVE),
        (KINV,),
        Size(70, 0, 5, 3),
        SINGULAR,
    ),
    _of(
        replace(REDUCED, numbers=SOLVING.numbers),
        "kktm",
        "constraint_matrix",
        "[M, J^T; J, 0]",
        (Q, ACTIVE),
        (KKT,),
        Size(30, 0, 1),
    ),
    _of(
        replace(SOLVING, condition=64.0),
        "delassus",
        "delassus_matrix",
        "J M^-1 J^T",
        (Q, ACTIVE),
        (G,),
        Size(50, 0, 2, 1),
        Accuracy(1e-9, 5e-5),
    ),
    _of(
        SOLVING,
        "delassusinv",
        "delassus_matrix_inverse",
        "(J M^-1 J^T)^-1",
        (Q, ACTIVE),
        (GINV,),
        Size(10, 0, 2, 3),
        SINGULAR,
    ),
    _of(PLACED, "cjac", "constraint_jacobian", "J(q) of all contacts, those that are off too", (Q,), (J,), Size(10, 4)),
    _of(
        replace(PLACED, numbers=("anchors",)),
        "cerr",
        "constraint_errors",
        "how far contacts are from their anchors: translation in the contact's axes, logarithm of the rotation",
        (Q,),
        (ERROR,),
        Size(10, 4),
    ),
)

AUXILIARY = (
    _of(
        replace(REDUCED, takes_f_ext=True, numbers=GAINED, closed_ways=partial(_rules, "cres")),
        "cres",
        "constraint_residuals",
        "tau = M a + c - J^T force, and J a + gamma",
        (Q, V, A, FORCE),
        (TAU, GAMMA),
        Size(70, 5),
        Accuracy(1e-11, 5e-5),
    ),
    _of(
        replace(REDUCED, source="Singh, Russell, Wensing 2022", takes_f_ext=True, numbers=GAINED),
        "dcres",
        "constraint_residual_derivatives",
        "derivatives of the residuals by q and v",
        (Q, V, A, FORCE),
        (*(replace(port, zeros="none") for port in (DTAU_DQ, DTAU_DV)), *DGAMMA),
        Size(280, 0, 5),
        Accuracy(1e-10, 5e-5),
    ),
    _of(
        SOLVING,
        "ksolve",
        "constraint_solve",
        "M a - J^T f = x, J a = y",
        (Q, ACTIVE, X, Y),
        (A, ROWS),
        Size(80, 0, 2, 1),
        SOLVED,
    ),
)
"""What rules for derivatives call beside the functions that users have."""
