"""Steps of time: where a state is after dt, and how that depends on the state and on the torques."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from condyle.functions.quantities import TAU, Q, V
from condyle.ports import CONTACT_NUMBERS, NUMBERS, RISING
from condyle.specification import F_EXT, Accuracy, Closed, Function, Port, Route, Size

DT = Port("dt", (), "s", "-", "length of the step; negative: back in time")
Q_AFTER = Port("q", ("nq",), Q.unit, "joint", "configuration after the step")
V_AFTER = Port("v", ("nv",), V.unit, "joint", "velocity after the step, in the local tangent of that q")
STATE = ("nv + nv",)
MIXED = "of the state after the step by"
A = Port("A", (*STATE, *STATE), "mixed", "joint", f"derivative {MIXED} that before, [dq; dv], in the local tangents")
B = Port("B", (*STATE, "nv"), "mixed", "joint", f"derivative {MIXED} tau")
E = Port("E", (*STATE, "6 n_bodies"), "mixed", "joint", f"derivative {MIXED} external forces, body by body")
OPTIONS = ("integrator",)
OPENED = (*NUMBERS, *CONTACT_NUMBERS)


def _routes(name: str) -> Mapping[str, Route]:
    from condyle.functions.steps_routes import ROUTES

    return ROUTES[name]


def _rules(name: str) -> Mapping[str, Closed]:
    from condyle.functions.steps_rules import RULES

    return RULES[name]


EQUATION = (
    "q, v after dt by the integrator; tau, f_ext and contacts are held. Semi-implicit Euler: v' = v + dt a, "
    "q' = q moved by dt v'. The linear velocity of a free or planar joint is stepped in the axes of q: "
    "u = v_lin + dt (a_lin + w x v_lin), p' = p + dt R u, v_lin' = R'^T R u"
)

STEPS = (
    Function(
        "step",
        "step",
        EQUATION,
        (Q, V, TAU, DT),
        (Q_AFTER, V_AFTER),
        partial(_routes, "step"),
        Size(700),
        Accuracy(1e-9, 5e-5),
        "Munthe-Kaas 1998; Hairer, Lubich, Wanner 2006",
        takes_f_ext=True,
        condition=64.0,
        normal_form="joint_space",
        options=OPTIONS,
        numbers=OPENED,
        closed_ways=partial(_rules, "step"),
    ),
    Function(
        "dstep",
        "step_derivatives",
        "A, B: the state [dq; dv] after the step is A times that before, plus B dtau",
        (Q, V, TAU, DT),
        (A, B),
        partial(_routes, "dstep"),
        Size(900, 400, 10),
        Accuracy(1e-8, 5e-5),
        "Solà, Deray, Atchuthan 2018; Plancher 2021, Algorithm 3",
        condition=64.0,
        normal_form="joint_space",
        options=OPTIONS,
        numbers=tuple(name for name in OPENED if name != RISING.name),
        forced="dstep_f_ext",
    ),
)

AUXILIARY = (
    replace(
        STEPS[1],
        name="dstep_f_ext",
        method="step_derivatives_f_ext",
        equation=f"{STEPS[1].equation}, plus E df_ext",
        inputs=(*STEPS[1].inputs, F_EXT),
        outputs=(*STEPS[1].outputs, E),
        options=(*OPTIONS, "force_frame"),
        forced="",
        variant_of="dstep",
        call=STEPS[1].called,
    ),
)
"""What is called where external forces are given."""
