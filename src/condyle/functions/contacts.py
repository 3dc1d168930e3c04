"""Motion with contacts: accelerations and forces, impacts.

Derivatives are known in closed form. With s the flags, a and f solve M a + c - (s J)ᵀ f = tau and s (J a + gamma) +
(1 - s) f = 0. Small changes of all else are right-hand sides of the same matrix; its transpose is the same, f of
another sign. So a jvp is that of the residuals and a solve, a vjp a solve and that of the residuals.

That leaves out how the filter of `contact_forces` changes, which matters where rows depend on each other. Where they do
in all configurations (`contact_forces`), a jvp and a vjp are differentiated instead, and dcfd adds this change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from condyle import algorithms
from condyle.derivatives import jacobian, jvp, vjp
from condyle.functions import contact_steps
from condyle.functions.constraints import (
    BOOK,
    CONSTRAINT_JACOBIAN,
    DELASSUS_MATRIX,
    MATRICES,
    REDUCED,
    SOLVING,
    Answers,
    Way,
    by_both,
    constrained,
    contact_function,
    flat,
)
from condyle.functions.dynamics import BODIES, INVERSE_DYNAMICS, MASS_MATRIX, MOVING_MASS
from condyle.functions.quantities import (
    DA_DQ,
    DA_DTAU,
    DA_DV,
    DTAU_DQ,
    DTAU_DV,
    TAU,
    A,
    ByName,
    Calls,
    Q,
    V,
    Values,
    call,
    pushed,
)
from condyle.specification import Accuracy, Function, Port, Route, Size, Ways
from condyle.specification.ports import ACTIVE, CONTROLS, DRIVEN, EXTRA, F_EXT, NUMBERS, RISING, SOLVE_NUMBERS

if TYPE_CHECKING:
    from condyle.algorithms.contact_derivatives import Rows
    from condyle.algorithms.contact_forces import Constrained
    from condyle.algorithms.contacts import Contacts, Row
    from condyle.algorithms.unrolled import Unrolled
    from condyle.scalar import Scalar

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
X, Y = replace(TAU, name="x", given_by=""), replace(GAMMA, name="y", doc="J a where it is on, f where it is off")
ROWS = replace(GAMMA, name="f", unit="N, N m", doc="forces row by row")

DT_AHEAD = Port("dt", (), "s", "-", "length of the step, above zero", is_positive=True)
FRICTION = Port(
    "friction", ("n_contacts",), "1", "-", "Coulomb's coefficient of each contact; below zero counts as zero"
)
PUSH = Port("impulse", ("n_contacts", "3"), "N s", "world", "impulse on the body at each contact, over the step")
RESIDUAL = Port("residual", (), "m/s", "-", "distance from complementarity: zero at an exact solution", beside="v")

SOLVED, DERIVED = Accuracy(1e-8, 5e-4), Accuracy(1e-7, 5e-3)
GAINED, PULLED = (*NUMBERS, "gains", "anchors"), (*BODIES, "gains", "anchors")
"""What motion with contacts depends on beside the state; without actuators."""
DRIVES = SOLVING.needs._replace(options=(*SOLVING.needs.options, "drives"))


def _by(port: Port, by: Port, unit: str) -> Port:
    doc = f"derivative of {port.name} by {by.name}"
    return Port(f"d{port.name}_d{by.name}", (*port.dims, "nv"), unit, port.frame, doc, by=by.name if by is TAU else "")


DA = tuple(replace(port, zeros="none", symmetric=False) for port in (DA_DQ, DA_DV, DA_DTAU))
DFORCE = (_by(FORCE, Q, "N, N m"), _by(FORCE, V, "N s, N m s"), _by(FORCE, TAU, "mixed"))
DGAMMA = (_by(GAMMA, Q, "1/s^2"), _by(GAMMA, V, "1/s"))

CONSTRAINED_FORWARD_DYNAMICS = contact_function(
    replace(
        SOLVING,
        source=f"{BOOK}; Carpentier, Budhiraja, Mansard 2021",
        takes=(F_EXT.name, *DRIVEN, *GAINED),
        ways=Ways(closed=lambda: {"jvp": _jvp, "vjp": _vjp, "jacobian": _jacobian}),
        needs=DRIVES,
    ),
    "cfd",
    "constrained_forward_dynamics",
    "M a + c = tau + J^T force, J a + gamma = 0 where contacts are on",
    (Q, V, TAU, ACTIVE),
    (A, FORCE),
    lambda: by_both(_cfd, Size(500, 0, 0, 3)),
    Size(150, 0, 3, 1),
    SOLVED,
)

CONSTRAINED_FORWARD_DYNAMICS_DERIVATIVES = contact_function(
    replace(
        SOLVING, source=f"{BOOK}; Singh, Russell, Wensing 2022", takes=(F_EXT.name, *DRIVEN, *GAINED), needs=DRIVES
    ),
    "dcfd",
    "constrained_forward_dynamics_derivatives",
    "derivatives of a and force by q, v and tau: -K^-1 times those of the residuals",
    (Q, V, TAU, ACTIVE),
    (*DA, *DFORCE),
    lambda: {"ltl+closed_form": Route(_dcfd)},
    Size(500, 0, 27, 5),
    DERIVED,
)

IMPULSE_DYNAMICS = contact_function(
    replace(SOLVING, source="Featherstone 2008, section 11.7"),
    "impact",
    "impulse_dynamics",
    "M (v_next - v) = J^T impulse, J v_next = - restitution J v where contacts are on",
    (Q, V, ACTIVE, RESTITUTION),
    (V_AFTER, IMPULSE),
    lambda: by_both(_impact, Size(400, 0, 0, 3)),
    Size(70, 0, 2, 1),
    SOLVED,
)

CONTACT_SOLVE = contact_function(
    replace(
        SOLVING,
        source="Moreau 1988; Jean 1999; Acary, Brogliato 2008, section 3.9",
        needs=DRIVES._replace(options=(*DRIVES.options, "sweeps"), contact_kinds=("point",), joint_rows=True),
        takes=(F_EXT.name, CONTROLS.name, *NUMBERS, *SOLVE_NUMBERS),
        outputs_with=contact_steps.WITH_STARTS,
    ),
    "cfric",
    "contact_solve",
    "M (v_next - v) = dt (tau - c) + J^T p, p_n >= 0, J_n v_next + gap / dt >= 0, one of them 0, |p_t| <= mu p_n, "
    "p_t opposite to the slip; by iterations until the residual is small",
    (Q, V, TAU, ACTIVE, DT_AHEAD, FRICTION),
    (V_AFTER, PUSH, RESIDUAL),
    lambda: contact_steps.ways_of(CONTACT_SOLVE),
    Size(3000, 60, 2),
    Accuracy(1e-7, 2e-2),
)

CONSTRAINED_INVERSE_DYNAMICS = contact_function(
    replace(SOLVING, takes=BODIES, needs=DRIVES),
    "cid",
    "constrained_inverse_dynamics",
    "tau + J^T force = M a + c, with the least force that leaves no torque on a floating base",
    (Q, V, A, ACTIVE),
    (TAU, FORCE),
    lambda: {"rnea": Route(_cid)},
    Size(40, 9),
    SOLVED,
)

CONSTRAINED = (
    CONSTRAINED_FORWARD_DYNAMICS,
    CONSTRAINED_FORWARD_DYNAMICS_DERIVATIVES,
    IMPULSE_DYNAMICS,
    CONTACT_SOLVE,
    CONSTRAINED_INVERSE_DYNAMICS,
    *MATRICES,
)

CONSTRAINT_RESIDUALS = contact_function(
    replace(REDUCED, takes=(F_EXT.name, *PULLED), needs=DRIVES, ways=Ways(closed=lambda: {"jacobian": _jacobian_cres})),
    "cres",
    "constraint_residuals",
    "tau = M a + c - J^T force, and J a + gamma",
    (Q, V, A, FORCE),
    (TAU, GAMMA),
    lambda: {"rnea": Route(_cres)},
    Size(70, 5),
    Accuracy(1e-11, 5e-5),
)

CONSTRAINT_RESIDUAL_DERIVATIVES = contact_function(
    replace(REDUCED, source="Singh, Russell, Wensing 2022", takes=(F_EXT.name, *PULLED), needs=DRIVES),
    "dcres",
    "constraint_residual_derivatives",
    "derivatives of the residuals by q and v",
    (Q, V, A, FORCE),
    (*(replace(port, zeros="none") for port in (DTAU_DQ, DTAU_DV)), *DGAMMA),
    lambda: {"closed_form": Route(_dcres)},
    Size(280, 0, 5),
    Accuracy(1e-10, 5e-5),
)

CONSTRAINT_SOLVE = contact_function(
    SOLVING,
    "ksolve",
    "constraint_solve",
    "M a - J^T f = x, J a = y",
    (Q, ACTIVE, X, Y),
    (A, ROWS),
    lambda: by_both(_ksolve, Size(400, 0, 0, 3)),
    Size(80, 0, 2, 1),
    SOLVED,
)

LANDING_DERIVATIVES = contact_function(
    replace(SOLVING, source="Featherstone 2008, section 11.7"),
    "dland",
    "landing_derivatives",
    "derivatives by q and v of v after an impact without restitution",
    (Q, V, ACTIVE),
    (_by(V_AFTER, Q, "1/s"), _by(V_AFTER, V, "1")),
    lambda: {"ltl+closed_form": Route(_dland)},
    Size(400, 0, 20, 4),
    DERIVED,
)

AUXILIARY = (CONSTRAINT_RESIDUALS, CONSTRAINT_RESIDUAL_DERIVATIVES, CONSTRAINT_SOLVE, LANDING_DERIVATIVES)
"""What rules for derivatives call beside the functions that users have."""


# Impacts in steps


def landed(calls: Any, inputs: ByName) -> Values:
    """v after the impact, in a recording."""
    q, v = inputs["q"], inputs["v"]
    return call(calls, inputs, IMPULSE_DYNAMICS, q, v, landing(inputs), no_bounce(inputs))[0]


def landing(inputs: ByName) -> list[Scalar]:
    """The contacts that hold after an impact: all that are on, if some flag rises."""
    from condyle.scalar import number

    left = number(1.0)
    for flag in inputs[RISING.name]:
        left = left * (1.0 - flag)
    return [flag * (1.0 - left) for flag in inputs[ACTIVE.name]]


def no_bounce(inputs: ByName) -> list[Scalar]:
    """Restitutions of 0."""
    from condyle.scalar import number

    return [number(0.0)] * len(inputs[ACTIVE.name])


# Routes


def _cfd(kind: Way, tree: Unrolled) -> Answers:
    way = constrained(tree, kind)
    a, f = way.dynamics()
    return a, way.placed(f)


def _dcfd(tree: Unrolled) -> Answers:
    turns = algorithms.contact_forces.depends(tree.tree)
    way = algorithms.contact_forces.Constrained(tree, tree.inputs[ACTIVE.name], inverted=not turns)
    a, f = way.dynamics()
    force = way.placed([flag * x for flag, x in zip(way.active, f, strict=True)])
    slopes = algorithms.contact_derivatives
    by_q, by_v = slopes.force_slopes(way.contacts, a, force)
    turned = _turned(way, f) if turns else None
    found = slopes.KktDerivatives(way, way.inverse).answers((by_q, by_v), slopes.Slopes(way.contacts, a), turned)
    by_tau = (algorithms.drives.by_controls(tree, x, a) for x in found[2::3])
    return (*found[:2], next(by_tau), *found[3:5], next(by_tau))


def _turned(way: Constrained, f: Sequence[Scalar]) -> Rows:
    """By q: `Constrained.turned`."""
    from condyle.scalar import is_zero

    tree, n, size = way.tree, way.tree.nv, len(f)
    (slopes_of_G,) = call(
        Calls(tree.tree),
        tree.inputs,
        DELASSUS_MATRIX,
        tree.inputs["q"],
        tree.inputs[ACTIVE.name],
        derived=partial(jacobian, by=Q.name),
    )
    found: list[Row] = [{} for _ in f]
    for column in range(n):
        by_column = slopes_of_G[column::n]
        rows = (enumerate(by_column[i : i + size]) for i in range(0, size * size, size))
        dG = [{j: x for j, x in row if not is_zero(x)} for row in rows]
        if any(dG):
            for row, change in zip(found, way.turned(f, dG), strict=True):
                row[column] = change
    return algorithms.contact_derivatives.Rows(found)


def _impact(kind: Way, tree: Unrolled) -> Answers:
    way = constrained(tree, kind)
    v, f = way.impact(tree.inputs["v"], tree.inputs["restitution"])
    return v, way.placed(f)


def _dland(tree: Unrolled) -> Answers:
    """With w = v_next - v and p the impulses, [dw; -dp] = -K^-1 [d(M w - J^T p); d(J v_next)] for changes of q."""
    from condyle.scalar import number

    still, slopes = [number(0.0)] * tree.nv, algorithms.contact_derivatives
    way = algorithms.contact_forces.Constrained(tree, tree.inputs[ACTIVE.name], inverted=True)
    held = zip(way.active, way.contacts.velocities(tree.inputs["v"]), strict=True)
    p = way.forces([-(flag * x) for flag, x in held])
    w = way.moved({}, p)

    def contacts(v: Sequence[Scalar]) -> Contacts:
        """Of the robot at this v without gravity."""
        inputs = {**tree.inputs, "v": v, "gravity": still[:1] * 3}
        return algorithms.contacts.Contacts(algorithms.unrolled.Unrolled(tree.tree, inputs))

    force = way.placed([flag * x for flag, x in zip(way.active, p, strict=True)])
    by_q, _ = slopes.force_slopes(contacts(still), w, force)
    after = contacts([x + y for x, y in zip(tree.inputs["v"], w, strict=True)])
    turned = slopes.Rows(slopes.Slopes(after, still).of_velocity).scaled(way.active)
    inverse = slopes.KktDerivatives(way, way.inverse)
    found, _ = inverse.solved(slopes.Rows.from_matrix(by_q), turned)
    kept = slopes.Rows([{k: number(1.0)} for k in range(tree.nv)])
    return found.flat(tree.nv), kept.plus(inverse.Ct.times(slopes.Rows(way.J)).negative()).flat(tree.nv)


def _cid(tree: Unrolled) -> Answers:
    way = constrained(tree)
    tau = tree.gathered(algorithms.rnea.rnea(tree, tree.input("v"), tree.input("a")))
    tau = list(algorithms.drives.resisted(tree, tau))
    f, left = algorithms.contact_forces.least_forces(way, tau)  # pyright: ignore[reportArgumentType]
    return left, way.placed(f)


def _cres(tree: Unrolled) -> Answers:
    contacts = algorithms.contacts.Contacts(tree)
    pushed = tree.pushed(algorithms.contact_derivatives.wrenches(contacts, tree.inputs[FORCE.name]))
    tau = tree.gathered(algorithms.rnea.rnea(pushed, tree.input("v"), tree.input("a")))
    return algorithms.drives.resisted(tree, tau), contacts.acceleration(tree.inputs["a"])  # pyright: ignore[reportReturnType]


def _dcres(tree: Unrolled) -> Answers:
    contacts, a = algorithms.contacts.Contacts(tree), tree.inputs["a"]
    by_q, by_v = algorithms.contact_derivatives.force_slopes(contacts, a, tree.inputs[FORCE.name])
    rows = algorithms.contact_derivatives.Slopes(contacts, a)
    return by_q, by_v, flat(rows.by_q, tree.nv), flat(rows.by_v, tree.nv)


def _ksolve(kind: Way, tree: Unrolled) -> Answers:
    return constrained(tree, kind).solved(tree.inputs["x"], tree.inputs["y"])


# Derivatives


class _At:
    """The solution of cfd at a state."""

    def __init__(self, calls: Any, inputs: ByName) -> None:
        self.calls, self.inputs, self.n = calls, inputs, calls.tree.nv
        self.q, self.v = inputs["q"], inputs["v"]
        self.extra = [name for name in EXTRA if name in inputs and name != ACTIVE.name]
        self.flags = [
            flag for flag, one in zip(inputs[ACTIVE.name], calls.tree.contacts, strict=True) for _ in one.rows
        ]
        self.a, self.force = self.call(
            CONSTRAINED_FORWARD_DYNAMICS, self.q, self.v, pushed(inputs), inputs[ACTIVE.name]
        )
        self.f = self.rows(self.force)

    def call(self, function: Function, *inputs: Values, **derivative: Any) -> tuple[list[Any], ...]:
        return call(self.calls, self.inputs, function, *inputs, **derivative)

    def solved(self, x: Values, y: Values) -> tuple[list[Any], ...]:
        return self.call(CONSTRAINT_SOLVE, self.q, self.inputs[ACTIVE.name], x, y)

    def residuals(self, **derivative: Any) -> tuple[list[Any], ...]:
        """Of cres at the forces that act: those of contacts that are on."""
        return self.call(CONSTRAINT_RESIDUALS, self.q, self.v, self.a, self.acting, **derivative)

    @property
    def acting(self) -> list[Any]:
        """s f."""
        return self.placed([s * x for s, x in zip(self.flags, self.f, strict=True)])

    def rows(self, placed: Values) -> list[Any]:
        """The entries that contacts hold, of [force; torque] each."""
        contacts = self.calls.tree.contacts
        return [placed[6 * k + row] for k, one in enumerate(contacts) for row in one.rows]

    def placed(self, rows: Values) -> list[Any]:
        """The same among six."""
        return algorithms.contacts.among_six(self.calls.tree.contacts, rows, 0.0)

    def of_rows(self, flags: Values) -> list[Any]:
        """A number of each contact, for each row."""
        return [flag for flag, one in zip(flags, self.calls.tree.contacts, strict=True) for _ in one.rows]

    @property
    def left(self) -> list[Any]:
        """J a + gamma - f: what the second equation changes by with a flag."""
        gamma = self.residuals()[1]
        return [x - y for x, y in zip(gamma, self.f, strict=True)]


def _jvp(calls: Any, inputs: ByName) -> ByName:
    if algorithms.contact_forces.depends(calls.tree) or DRIVEN.keys() & inputs.keys():
        return {}
    of = _At(calls, inputs)
    moved = [flag * x for flag, x in zip(of.of_rows(inputs["dactive"]), of.f, strict=True)]
    still = [0.0] * of.n
    more = (inputs["dq"], inputs["dv"], still, of.placed(moved), *(inputs[f"d{name}"] for name in of.extra))
    tau, gamma = of.residuals(derived=jvp, more=more)
    x = [one - other for one, other in zip(inputs["dtau"], tau, strict=True)]
    flags = zip(of.flags, gamma, of.of_rows(inputs["dactive"]), of.left, strict=True)
    a, f = of.solved(x, [-(s * one) - ds * left for s, one, ds, left in flags])
    return {"da": a, "dforce": of.placed(f)}


def _vjp(calls: Any, inputs: ByName) -> ByName:
    if algorithms.contact_forces.depends(calls.tree) or DRIVEN.keys() & inputs.keys():
        return {}
    of = _At(calls, inputs)
    w, z = of.solved(inputs["a_bar"], [-x for x in of.rows(inputs["force_bar"])])
    bars = [-x for x in w], [s * x for s, x in zip(of.flags, z, strict=True)]
    by_q, by_v, _, by_force, *others = of.residuals(derived=vjp, more=bars)
    pairs = zip(of.rows(by_force), of.f, z, of.left, strict=True)
    rows = iter([push * f + one * left for push, f, one, left in pairs])
    active = [sum((next(rows) for _ in one.rows), 0.0) for one in calls.tree.contacts]
    extra = {f"{name}_bar": x for name, x in zip(of.extra, others, strict=True)}
    return {"q_bar": by_q, "v_bar": by_v, "tau_bar": w, "active_bar": active, **extra}


def _jacobian(calls: Any, inputs: ByName) -> ByName:
    """By q, v and tau as dcfd has them; by what only moves inverse dynamics, that by tau times those.

    What moves M, too, if no rows depend on each other.
    """
    from condyle.scalar import matrix_product

    if DRIVEN.keys() & inputs.keys():
        return {}
    answers = call(
        calls,
        inputs,
        CONSTRAINED_FORWARD_DYNAMICS_DERIVATIVES,
        inputs["q"],
        inputs["v"],
        inputs[TAU.name],
        inputs[ACTIVE.name],
    )
    found = {port.name: x for port, x in zip((*DA, *DFORCE), answers, strict=True)}
    of, n = _At(calls, inputs), calls.tree.nv
    left = {"gains", "anchors", *(MOVING_MASS if algorithms.contact_forces.depends(calls.tree) else ())}
    for name in (name for name in of.extra if name not in left):
        (block,) = call(calls, inputs, INVERSE_DYNAMICS, of.q, of.v, of.a, derived=partial(jacobian, by=name))
        columns = [block[k :: len(block) // n] for k in range(len(block) // n)]
        for output in (A, FORCE):
            by_tau = found[f"d{output.name}_d{TAU.name}"]
            rows = [by_tau[k : k + n] for k in range(0, len(by_tau), n)]
            found[f"d{output.name}_d{name}"] = [-x for row in matrix_product(rows, columns) for x in row]
    return found


def _jacobian_cres(calls: Any, inputs: ByName) -> ByName:
    answers = call(
        calls, inputs, CONSTRAINT_RESIDUAL_DERIVATIVES, inputs["q"], inputs["v"], inputs["a"], inputs[FORCE.name]
    )
    found = {port.name: x for port, x in zip((DTAU_DQ, DTAU_DV, *DGAMMA), answers, strict=True)}
    n, rows = calls.tree.nv, calls.tree.n_rows
    (mass,), (J,) = call(calls, inputs, MASS_MATRIX, inputs["q"]), call(calls, inputs, CONSTRAINT_JACOBIAN, inputs["q"])
    none = [0.0] * (rows * 6 * len(calls.tree.contacts))
    found |= {
        "dtau_da": mass,
        f"d{GAMMA.name}_da": J,
        f"d{GAMMA.name}_dforce": none,
    }
    places = [6 * k + row for k, one in enumerate(calls.tree.contacts) for row in one.rows]
    if len(places) == 6 * len(calls.tree.contacts):  # of other kinds entries that are not held push too
        found["dtau_dforce"] = [-J[i * n + k] for k in range(n) for i in range(rows)]
    return found
