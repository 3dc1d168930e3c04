"""Steps of time: where a state is after dt, and how that depends on the state and on the torques."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from condyle import algorithms
from condyle.functions.constraints import constrained
from condyle.functions.contacts import CONSTRAINED_FORWARD_DYNAMICS, landed, landing, no_bounce
from condyle.functions.dynamics import FORWARD_DYNAMICS, FORWARD_DYNAMICS_DERIVATIVES
from condyle.functions.kinematics import INTEGRATE, ByCalls
from condyle.functions.quantities import TAU, ByName, Calls, Q, V, call, pushed
from condyle.specification import Accuracy, Function, Needs, Numerics, Port, Route, Size, Ways
from condyle.specification.integrators import METHODS
from condyle.specification.ports import ACTIVE, CONTACT_NUMBERS, CONTROLS, F_EXT, NUMBERS, RISING

if TYPE_CHECKING:
    from condyle.algorithms.contact_forces import Constrained
    from condyle.algorithms.stepping import Moves, Vector
    from condyle.algorithms.unrolled import Unrolled

DT = Port("dt", (), "s", "-", "length of the step; negative: back in time")
Q_AFTER = Port("q", ("nq",), Q.unit, "joint", "configuration after the step")
V_AFTER = Port("v", ("nv",), V.unit, "joint", "velocity after the step, in the local tangent of that q")
STATE = ("nv + nv",)
MIXED = "of the state after the step by"
A = Port("A", (*STATE, *STATE), "mixed", "joint", f"derivative {MIXED} that before, [dq; dv], in the local tangents")
B = Port("B", (*STATE, "nv"), "mixed", "joint", f"derivative {MIXED} tau", by=TAU.name)
E = Port("E", (*STATE, "6 n_bodies"), "mixed", "joint", f"derivative {MIXED} external forces, body by body")
OPTIONS = ("integrator", "drives")
OPENED = (*NUMBERS, *CONTACT_NUMBERS)

EQUATION = (
    "q, v after dt by the integrator; tau, f_ext and contacts are held. Semi-implicit Euler: v' = v + dt a, "
    "q' = q moved by dt v'. The linear velocity of a free or planar joint is stepped in the axes of q: "
    "u = v_lin + dt (a_lin + w x v_lin), p' = p + dt R u, v_lin' = R'^T R u"
)

STEP = Function(
    "step",
    "step",
    EQUATION,
    (Q, V, TAU, DT),
    (Q_AFTER, V_AFTER),
    Ways(
        lambda: {name: _step_by(route) for name, route in FORWARD_DYNAMICS.routes.items()},
        closed=lambda: {"jacobian": _jacobian},
    ),
    Numerics(Size(700), Accuracy(1e-9, 5e-5), 64.0),
    "Munthe-Kaas 1998; Hairer, Lubich, Wanner 2006",
    takes=(F_EXT.name, CONTROLS.name, *OPENED),
    normal_form="joint_space",
    needs=Needs(OPTIONS),
)

STEP_DERIVATIVES = Function(
    "dstep",
    "step_derivatives",
    "A, B: the state [dq; dv] after the step is A times that before, plus B dtau, plus E df_ext with external forces",
    (Q, V, TAU, DT),
    (A, B),
    Ways(
        lambda: {
            "chain": Route(
                _Derivatives(), recorded=True, parts=(FORWARD_DYNAMICS, FORWARD_DYNAMICS_DERIVATIVES, INTEGRATE)
            )
        }
    ),
    Numerics(Size(900, 400, 10), Accuracy(1e-8, 5e-5), 64.0),
    "Solà, Deray, Atchuthan 2018; Plancher 2021, Algorithm 3",
    takes=(F_EXT.name, CONTROLS.name, *(name for name in OPENED if name != RISING.name)),
    normal_form="joint_space",
    needs=Needs(OPTIONS),
    outputs_with={F_EXT.name: E},
)

STEPS = (STEP, STEP_DERIVATIVES)

# Routes: forward dynamics, by any of its routes, and moving in the space of configurations


def _step_by(route: Route) -> Route:
    """A step by this route to forward dynamics."""
    solver = algorithms.contact_derivatives.ByElimination if route.alone else algorithms.contact_forces.Constrained
    run = _Step(route.run, solver)
    return Route(run, False, route.alone, route.shallow, size=route.size, parts=(FORWARD_DYNAMICS, INTEGRATE))


class _Step:
    """A step by one route to forward dynamics."""

    def __init__(self, acceleration: Callable[..., tuple[object, ...]], contacts: type[Constrained]) -> None:
        """contacts: how it is solved for the forces of contacts, where there are flags."""
        self._acceleration, self._contacts = acceleration, contacts

    def __call__(self, tree: Unrolled) -> tuple[Vector, Vector]:
        given = algorithms.drives.at_end(tree.tree, tree.inputs)

        def acceleration(q: Vector, v: Vector) -> Vector:
            here = algorithms.unrolled.Unrolled(tree.tree, {**given, "q": q, "v": v})
            if ACTIVE.name in given:
                return constrained(here, self._contacts).dynamics()[0]
            return cast("Vector", self._acceleration(here)[0])

        if RISING.name in given:
            given = {
                **given,
                "v": constrained(tree, self._contacts, landing(given)).impact(given["v"], no_bounce(given))[0],
            }
        return _stepped(tree.tree, given, acceleration, algorithms.stepping.JointByJoint(tree.tree))

    def record(self, calls: Any, inputs: ByName) -> Sequence[Sequence[Any]]:
        """In a recording, where forward dynamics and integrate stay closed."""
        inputs = algorithms.drives.at_end(calls.tree, inputs)

        def acceleration(q: Vector, v: Vector) -> Vector:
            held = [inputs[ACTIVE.name]] if ACTIVE.name in inputs else []
            function = CONSTRAINED_FORWARD_DYNAMICS if held else FORWARD_DYNAMICS
            return call(calls, inputs, function, q, v, pushed(inputs), *held)[0]

        if RISING.name in inputs:
            inputs = {**inputs, "v": landed(calls, inputs)}
        return _stepped(calls.tree, inputs, acceleration, ByCalls(calls))


def _stepped(
    tree: Any,
    inputs: ByName,
    acceleration: Callable[[Vector, Vector], Vector],
    moves: Moves,
) -> tuple[Vector, Vector]:
    (h,) = inputs[DT.name]
    return algorithms.stepping.stepped(tree, METHODS[tree.integrator], acceleration, moves, inputs["q"], inputs["v"], h)


class _Derivatives:
    """A, B, and E where there are forces, by the chain rule."""

    def __call__(self, tree: Unrolled) -> tuple[Vector, ...]:
        return self.record(Calls(tree.tree), tree.inputs)

    def record(self, calls: Any, inputs: ByName) -> tuple[Vector, ...]:
        from condyle.functions.step_derivatives import matrices

        return matrices(calls, inputs)


def _jacobian(calls: Any, inputs: ByName) -> ByName:
    from condyle.functions.step_derivatives import jacobian

    return jacobian(calls, inputs)
