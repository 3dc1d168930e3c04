"""How motion with contacts is computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from condyle.algorithms import contact_derivatives as slopes
from condyle.algorithms.contact_elimination import ByElimination
from condyle.algorithms.contact_forces import Constrained
from condyle.algorithms.contact_friction import Frictional
from condyle.algorithms.contact_products import KktDerivatives, Rows, inverse_blocks
from condyle.algorithms.contact_ranks import depends
from condyle.algorithms.contacts import Contacts, Row
from condyle.algorithms.damping import resisted
from condyle.algorithms.least_forces import least_forces
from condyle.algorithms.matrix import SparseMatrix
from condyle.algorithms.rnea import rnea
from condyle.algorithms.solvers import mass_matrix
from condyle.algorithms.unrolled import Unrolled
from condyle.functions.calls import Calls, call
from condyle.functions.contacts import FORCE
from condyle.ports import ACTIVE
from condyle.scalar import Scalar, is_zero, number
from condyle.specification import Route, Size

Answers: TypeAlias = "tuple[Sequence[Scalar] | SparseMatrix, ...]"


Way: TypeAlias = "type[Constrained]"
"""By the factors of M, or by eliminating joints."""


def constrained(tree: Unrolled, kind: Way = Constrained, active: Sequence[Scalar] | None = None) -> Constrained:
    """The tree with its contacts, by default those that its flags say."""
    return kind(tree, tree.inputs[ACTIVE.name] if active is None else active)


def _cfd(kind: Way, tree: Unrolled) -> Answers:
    way = constrained(tree, kind)
    a, f = way.dynamics()
    return a, way.placed(f)


def _dcfd(tree: Unrolled) -> Answers:
    turns = depends(tree.tree)
    way = Constrained(tree, tree.inputs[ACTIVE.name], inverted=not turns)
    a, f = way.dynamics()
    force = way.placed([flag * x for flag, x in zip(way.active, f, strict=True)])
    by_q, by_v = slopes.force_slopes(way.contacts, a, force)
    turned = _turned(way, f) if turns else None
    return KktDerivatives(way, way.inverse).answers((by_q, by_v), slopes.Slopes(way.contacts, a), turned)


def _turned(way: Constrained, f: Sequence[Scalar]) -> Rows:
    """By q: `Constrained.turned`."""
    tree, n, size = way.tree, way.tree.nv, len(f)
    (slopes_of_G,) = call(
        Calls(tree.tree),
        tree.inputs,
        "delassus",
        tree.inputs["q"],
        tree.inputs[ACTIVE.name],
        kind="jacobian_",
        by="_by_q",
    )
    found: list[Row] = [{} for _ in f]
    for column in range(n):
        by_column = slopes_of_G[column::n]
        rows = (enumerate(by_column[i : i + size]) for i in range(0, size * size, size))
        dG = [{j: x for j, x in row if not is_zero(x)} for row in rows]
        if any(dG):
            for row, change in zip(found, way.turned(f, dG), strict=True):
                row[column] = change
    return Rows(found)


def _impact(kind: Way, tree: Unrolled) -> Answers:
    way = constrained(tree, kind)
    v, f = way.impact(tree.inputs["v"], tree.inputs["restitution"])
    return v, way.placed(f)


def _cfric(tree: Unrolled) -> Answers:
    v, impulse, residual = Frictional(tree, tree.inputs[ACTIVE.name]).step()
    return v, impulse, [residual]


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


def _delassus(kind: Way, tree: Unrolled) -> Answers:
    return (constrained(tree, kind).G,)


def _delassus_inverse(tree: Unrolled) -> Answers:
    way = constrained(tree)
    entries = ((i, j, way.active[i] * way.active[j] * x) for i, j, x in way.pseudoinverse)
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


def _ksolve(kind: Way, tree: Unrolled) -> Answers:
    return constrained(tree, kind).solved(tree.inputs["x"], tree.inputs["y"])


def _ways(run: Callable[[Way, Unrolled], Answers], size: Size) -> Mapping[str, Route]:
    """By both; size: of the second."""
    return {
        "ltl": Route(partial(run, Constrained)),
        "aba": Route(partial(run, ByElimination), alone=True, size=size),
    }


def flat(rows: Sequence[Row], n: int) -> list[Scalar]:
    """All entries."""
    return [row.get(k, number(0.0)) for row in rows for k in range(n)]


ROUTES: Mapping[str, Mapping[str, Route]] = {
    "cfd": _ways(_cfd, Size(500, 0, 0, 3)),
    "dcfd": {"ltl+closed_form": Route(_dcfd)},
    "impact": _ways(_impact, Size(400, 0, 0, 3)),
    "cfric": {"gauss_seidel": Route(_cfric)},
    "cid": {"rnea": Route(_cid)},
    "kkt": {"ltl": Route(_kkt)},
    "kktm": {"crba": Route(_kktm)},
    "delassus": _ways(_delassus, Size(350, 0, 0, 2)),
    "delassusinv": {"ltl": Route(_delassus_inverse)},
    "cjac": {"columns": Route(_cjac)},
    "cerr": {"poses": Route(_cerr)},
    "cres": {"rnea": Route(_cres)},
    "dcres": {"closed_form": Route(_dcres)},
    "ksolve": _ways(_ksolve, Size(400, 0, 0, 3)),
}
