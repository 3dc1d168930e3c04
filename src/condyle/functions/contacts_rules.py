"""Derivatives of motion with contacts in closed form.

With s the flags, a and f solve M a + c - (s J)ᵀ f = tau and s (J a + gamma) + (1 - s) f = 0. Small changes of all else
are right-hand sides of the same matrix; its transpose is the same, f of another sign. So a jvp is that of the residuals
and a solve, a vjp a solve and that of the residuals.

That leaves out how the filter of `contact_forces` changes, which matters where rows depend on each other. Where they do
in all configurations (`contact_ranks`), a jvp and a vjp are differentiated instead, and dcfd adds this change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from condyle.algorithms.contact_ranks import depends
from condyle.algorithms.contacts import among_six
from condyle.functions.calls import call
from condyle.functions.contacts import DA, DFORCE, DGAMMA, FORCE, GAMMA
from condyle.functions.quantities import DTAU_DQ, DTAU_DV, TAU, A
from condyle.ports import ACTIVE, ARMATURE, EXTRA, INERTIAS
from condyle.scalar import matrix_product
from condyle.specification import Closed

Values: TypeAlias = "Sequence[Any]"
Given: TypeAlias = "Mapping[str, Values]"
Answers: TypeAlias = "Mapping[str, Values]"

MOVING_MASS = (INERTIAS.name, ARMATURE.name)


class _At:
    """The solution of cfd at a state."""

    def __init__(self, at: Any, given: Given) -> None:
        self.at, self.given, self.n = at, given, at.tree.nv
        self.q, self.v = given["q"], given["v"]
        self.extra = [name for name in EXTRA if name in given and name != ACTIVE.name]
        self.flags = [flag for flag, one in zip(given[ACTIVE.name], at.tree.contacts, strict=True) for _ in one.rows]
        self.a, self.force = self.call("cfd", self.q, self.v, given[TAU.name], given[ACTIVE.name])
        self.f = self.rows(self.force)

    def call(self, function: str, *inputs: Values, **derivative: Any) -> tuple[list[Any], ...]:
        return call(self.at, self.given, function, *inputs, **derivative)

    def solved(self, x: Values, y: Values) -> tuple[list[Any], ...]:
        return self.call("ksolve", self.q, self.given[ACTIVE.name], x, y)

    def residuals(self, **derivative: Any) -> tuple[list[Any], ...]:
        """Of cres at the forces that act: those of contacts that are on."""
        return self.call("cres", self.q, self.v, self.a, self.acting, **derivative)

    @property
    def acting(self) -> list[Any]:
        """s f."""
        return self.placed([s * x for s, x in zip(self.flags, self.f, strict=True)])

    def rows(self, placed: Values) -> list[Any]:
        """The entries that contacts hold, of [force; torque] each."""
        contacts = self.at.tree.contacts
        return [placed[6 * k + row] for k, one in enumerate(contacts) for row in one.rows]

    def placed(self, rows: Values) -> list[Any]:
        """The same among six."""
        return among_six(self.at.tree.contacts, rows, 0.0)

    def of_rows(self, flags: Values) -> list[Any]:
        """A number of each contact, for each row."""
        return [flag for flag, one in zip(flags, self.at.tree.contacts, strict=True) for _ in one.rows]

    @property
    def left(self) -> list[Any]:
        """J a + gamma - f: what the second equation changes by with a flag."""
        gamma = self.residuals()[1]
        return [x - y for x, y in zip(gamma, self.f, strict=True)]


def _jvp(at: Any, given: Given) -> Answers:
    if depends(at.tree):
        return {}
    of = _At(at, given)
    moved = [flag * x for flag, x in zip(of.of_rows(given["dactive"]), of.f, strict=True)]
    still = [0.0] * of.n
    more = (given["dq"], given["dv"], still, of.placed(moved), *(given[f"d{name}"] for name in of.extra))
    tau, gamma = of.residuals(kind="jvp_", more=more)
    x = [one - other for one, other in zip(given["dtau"], tau, strict=True)]
    flags = zip(of.flags, gamma, of.of_rows(given["dactive"]), of.left, strict=True)
    a, f = of.solved(x, [-(s * one) - ds * left for s, one, ds, left in flags])
    return {"da": a, "dforce": of.placed(f)}


def _vjp(at: Any, given: Given) -> Answers:
    if depends(at.tree):
        return {}
    of = _At(at, given)
    w, z = of.solved(given["a_bar"], [-x for x in of.rows(given["force_bar"])])
    bars = [-x for x in w], [s * x for s, x in zip(of.flags, z, strict=True)]
    by_q, by_v, _, by_force, *others = of.residuals(kind="vjp_", more=bars)
    pairs = zip(of.rows(by_force), of.f, z, of.left, strict=True)
    rows = iter([push * f + one * left for push, f, one, left in pairs])
    active = [sum((next(rows) for _ in one.rows), 0.0) for one in at.tree.contacts]
    extra = {f"{name}_bar": x for name, x in zip(of.extra, others, strict=True)}
    return {"q_bar": by_q, "v_bar": by_v, "tau_bar": w, "active_bar": active, **extra}


def _jacobian(at: Any, given: Given) -> Answers:
    """By q, v and tau as dcfd has them; by what only moves inverse dynamics, that by tau times those.

    What moves M, too, if no rows depend on each other.
    """
    answers = call(at, given, "dcfd", given["q"], given["v"], given[TAU.name], given[ACTIVE.name])
    found = {port.name: x for port, x in zip((*DA, *DFORCE), answers, strict=True)}
    of, n = _At(at, given), at.tree.nv
    left = {"gains", "anchors", *(MOVING_MASS if depends(at.tree) else ())}
    for name in (name for name in of.extra if name not in left):
        (block,) = call(at, given, "id", of.q, of.v, of.a, kind="jacobian_", by=f"_by_{name}")
        columns = [block[k :: len(block) // n] for k in range(len(block) // n)]
        for output in (A, FORCE):
            by_tau = found[f"d{output.name}_d{TAU.name}"]
            rows = [by_tau[k : k + n] for k in range(0, len(by_tau), n)]
            found[f"d{output.name}_d{name}"] = [-x for row in matrix_product(rows, columns) for x in row]
    return found


def _jacobian_cres(at: Any, given: Given) -> Answers:
    answers = call(at, given, "dcres", given["q"], given["v"], given["a"], given[FORCE.name])
    found = {port.name: x for port, x in zip((DTAU_DQ, DTAU_DV, *DGAMMA), answers, strict=True)}
    n, rows = at.tree.nv, at.tree.n_rows
    (mass,), (J,) = call(at, given, "m", given["q"]), call(at, given, "cjac", given["q"])
    none = [0.0] * (rows * 6 * len(at.tree.contacts))
    found |= {
        "dtau_da": mass,
        f"d{GAMMA.name}_da": J,
        f"d{GAMMA.name}_dforce": none,
    }
    places = [6 * k + row for k, one in enumerate(at.tree.contacts) for row in one.rows]
    if len(places) == 6 * len(at.tree.contacts):  # of other kinds entries that are not held push too
        found["dtau_dforce"] = [-J[i * n + k] for k in range(n) for i in range(rows)]
    return found


RULES: Mapping[str, Mapping[str, Closed]] = {
    "cfd": {"jvp": _jvp, "vjp": _vjp, "jacobian": _jacobian},
    "cres": {"jacobian": _jacobian_cres},
}
