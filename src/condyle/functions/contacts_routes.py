"""How motion with contacts is computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from condyle.algorithms import contact_derivatives as slopes
from condyle.algorithms.contact_forces import Constrained
from condyle.algorithms.contact_products import KktDerivatives, inverse_blocks
from condyle.algorithms.contacts import Contacts, Row
from condyle.algorithms.damping import resisted
from condyle.algorithms.least_forces import least_forces
from condyle.algorithms.matrix import SparseMatrix
from condyle.algorithms.rnea import rnea
from condyle.algorithms.solvers import mass_matrix
from condyle.algorithms.unrolled import Unrolled
from condyle.functions.contacts import FORCE
from condyle.ports import ACTIVE
from condyle.scalar import Scalar, number
from condyle.specification import Route

Answers: TypeAlias = "tuple[Sequence[Scalar] | SparseMatrix, ...]"


def constrained(tree: Unrolled, active: Sequence[Scalar] | None = None, inverted: bool = False) -> Constrained:
    """The tree with its contacts, by default those that its flags say."""
    return Constrained(tree, tree.inputs[ACTIVE.name] if active is None else active, inverted)


def _cfd(tree: Unrolled) -> Answers:
    way = constrained(tree)
    a, f = way.dynamics()
    return a, way.placed(f)


def _dcfd(tree: Unrolled) -> Answers:
    way = constrained(tree, inverted=True)
    a, f = way.dynamics()
    force = way.placed([flag * x for flag, x in zip(way.active, f, strict=True)])
    by_q, by_v = slopes.force_slopes(way.contacts, a, force)
    return KktDerivatives(way).answers((by_q, by_v), slopes.Slopes(way.contacts, a))


def _impact(tree: Unrolled) -> Answers:
    way = constrained(tree)
    v, f = way.impact(tree.inputs["v"], tree.inputs["restitution"])
    return v, way.placed(f)


def _cid(tree: Unrolled) -> Answers:
    way = constrained(tree)
    tau = list(resisted(tree, tree.gathered(rnea(tree, tree.given("v"), tree.given("a")))))
    f, left = least_forces(way, tau)  # pyright: ignore[reportArgumentType]
    return left, way.placed(f)


def _kkt(tree: Unrolled) -> Answers:
    return (inverse_blocks(constrained(tree)),)


def _kktm(tree: Unrolled) -> Answers:
    way, n = constrained(tree), tree.nv
    found = SparseMatrix.of(n + len(way.J), mass_matrix(tree))
    for i, row in enumerate(way.J):
        for k, x in row.items():
            found.put(n + i, k, x)
            found.put(k, n + i, x)
    return (found,)


def _delassus(tree: Unrolled) -> Answers:
    return (constrained(tree).G,)


def _delassus_inverse(tree: Unrolled) -> Answers:
    way = constrained(tree)
    entries = ((i, j, way.active[i] * way.active[j] * x) for i, j, x in way.inverse)
    return (SparseMatrix.of(len(way.J), entries),)


def _cjac(tree: Unrolled) -> Answers:
    return (flat(Contacts(tree).J, tree.nv),)


def _cerr(tree: Unrolled) -> Answers:
    contacts, found = Contacts(tree), list[Scalar]()
    for k, one in enumerate(tree.tree.contacts):
        slide, turn = contacts.errors(k)
        found += [(*slide, *turn)[row] for row in one.rows]
    return (found,)


def _cres(tree: Unrolled) -> Answers:
    contacts = Contacts(tree)
    pushed = tree.pushed(slopes.wrenches(contacts, tree.inputs[FORCE.name]))
    tau = resisted(tree, tree.gathered(rnea(pushed, tree.given("v"), tree.given("a"))))
    return tau, contacts.acceleration(tree.inputs["a"])  # pyright: ignore[reportReturnType]


def _dcres(tree: Unrolled) -> Answers:
    contacts, a = Contacts(tree), tree.inputs["a"]
    by_q, by_v = slopes.force_slopes(contacts, a, tree.inputs[FORCE.name])
    rows = slopes.Slopes(contacts, a)
    return by_q, by_v, flat(rows.by_q, tree.nv), flat(rows.by_v, tree.nv)


def _ksolve(tree: Unrolled) -> Answers:
    return constrained(tree).solved(tree.inputs["x"], tree.inputs["y"])


def flat(rows: Sequence[Row], n: int) -> list[Scalar]:
    """All entries."""
    return [row.get(k, number(0.0)) for row in rows for k in range(n)]


ROUTES: Mapping[str, Mapping[str, Route]] = {
    "cfd": {"ltl": Route(_cfd)},
    "dcfd": {"ltl+closed_form": Route(_dcfd)},
    "impact": {"ltl": Route(_impact)},
    "cid": {"rnea": Route(_cid)},
    "kkt": {"ltl": Route(_kkt)},
    "kktm": {"crba": Route(_kktm)},
    "delassus": {"ltl": Route(_delassus)},
    "delassusinv": {"ltl": Route(_delassus_inverse)},
    "cjac": {"columns": Route(_cjac)},
    "cerr": {"poses": Route(_cerr)},
    "cres": {"rnea": Route(_cres)},
    "dcres": {"closed_form": Route(_dcres)},
    "ksolve": {"ltl": Route(_ksolve)},
}
