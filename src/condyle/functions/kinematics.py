"""Kinematics: poses, velocities, accelerations and Jacobians of named frames; moving in the space of configurations."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from condyle.functions.quantities import DV, Q0, Q1, Q_NEXT, A, Q, V
from condyle.specification import Accuracy, Closed, Function, Port, Route, Size

FRAMES, SEEN = ("frames",), ("frames", "reference_frame")
EXACT, ROUNDED = Accuracy(1e-12, 2e-5), Accuracy(1e-11, 5e-5)
COLUMNS = ("n_frames", "6", "nv")


def _twist(name: str, unit: str, doc: str) -> Port:
    return Port(name, ("n_frames", "6"), unit, "reference", f"{doc}, [linear; angular]")


def _routes(name: str) -> Mapping[str, Route]:
    from condyle.functions.kinematics_routes import ROUTES

    return ROUTES[name]


def _rules(name: str) -> Mapping[str, Closed]:
    from condyle.functions.kinematics_rules import RULES

    return RULES[name]


KINEMATICS = (
    Function(
        "fk",
        "frame_placements",
        "R, p of each frame: x_world = R x_frame + p",
        (Q,),
        (
            Port("rotation", ("n_frames", "3", "3"), "1", "world", "axes of each frame, its columns"),
            Port("translation", ("n_frames", "3"), "m", "world", "origin of each frame"),
        ),
        partial(_routes, "fk"),
        Size(40),
        EXACT,
        "Featherstone 2008, section 4.2",
        options=FRAMES,
        closed_ways=partial(_rules, "fk"),
    ),
    Function(
        "fv",
        "frame_velocities",
        "velocity of each frame, J(q) v",
        (Q, V),
        (_twist("frame_velocity", "m/s, rad/s", "velocity of each frame"),),
        partial(_routes, "fv"),
        Size(90),
        EXACT,
        "Featherstone 2008, section 2.7",
        options=SEEN,
    ),
    Function(
        "fa",
        "frame_accelerations",
        "acceleration of each frame's origin, and its angular acceleration; gravity is not in it",
        (Q, V, A),
        (_twist("frame_acceleration", "m/s^2, rad/s^2", "classical acceleration of each frame"),),
        partial(_routes, "fa"),
        Size(150),
        ROUNDED,
        "Featherstone 2008, section 2.11",
        options=SEEN,
        reference_frames=("local", "local_world_aligned"),
    ),
    Function(
        "jac",
        "frame_jacobians",
        "J(q) of each frame: its velocity is J v",
        (Q,),
        (Port("J", COLUMNS, "m | 1", "reference", "Jacobian of each frame, rows [linear; angular]"),),
        partial(_routes, "jac"),
        Size(100),
        EXACT,
        "Featherstone 2008, section 8.2",
        options=SEEN,
    ),
    Function(
        "djac",
        "frame_jacobians_time_derivative",
        "d J / d t of each frame, entry by entry",
        (Q, V),
        (Port("dJ_dt", COLUMNS, "m/s | 1/s", "reference", "time derivative of the entries of J"),),
        partial(_routes, "djac"),
        Size(200),
        ROUNDED,
        "Featherstone 2008, section 8.2",
        options=SEEN,
    ),
    Function(
        "integrate",
        "integrate",
        "q ⊕ dv: q moved by a tangent vector",
        (Q, DV),
        (Q_NEXT,),
        partial(_routes, "integrate"),
        Size(20),
        EXACT,
        "Solà, Deray, Atchuthan 2018",
        closed_ways=partial(_rules, "integrate"),
    ),
    Function(
        "difference",
        "difference",
        "q1 ⊖ q0: the tangent vector that leads from q0 to q1",
        (Q0, Q1),
        (DV,),
        partial(_routes, "difference"),
        Size(20),
        Accuracy(1e-11, 5e-5),
        "Solà, Deray, Atchuthan 2018",
        closed_ways=partial(_rules, "difference"),
    ),
)

AUXILIARY = (
    Function(
        "jac_aligned",
        "frame_jacobians_in_world_axes",
        "J(q) of each frame in the world's axes at its origin",
        (Q,),
        (Port("J", COLUMNS, "m | 1", "world", "Jacobian of each frame, rows [linear; angular]"),),
        partial(_routes, "jac_aligned"),
        Size(100),
        EXACT,
        "Featherstone 2008, section 8.2",
        options=FRAMES,
    ),
)
"""What rules for derivatives call beside the functions that users have."""
