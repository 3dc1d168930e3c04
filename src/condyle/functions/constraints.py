"""Constraints of contacts: their Jacobian, their errors, and the matrices of motion with contacts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from condyle import algorithms
from condyle.functions.quantities import Q
from condyle.specification import Accuracy, Function, Needs, Numerics, Port, Route, Size
from condyle.specification.ports import ACTIVE

if TYPE_CHECKING:
    from condyle.algorithms.contact_forces import Constrained
    from condyle.algorithms.contacts import Row
    from condyle.algorithms.matrix import SparseMatrix
    from condyle.algorithms.unrolled import Unrolled
    from condyle.scalar import Scalar

Answers: TypeAlias = "tuple[Sequence[Scalar] | SparseMatrix, ...]"
Way: TypeAlias = "type[Constrained]"
"""By the factors of M, or by eliminating joints."""

CONTACTS = ("contacts",)
OFF = "zero in rows and columns of contacts that are off; symmetric"
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
SINGULAR = Accuracy(1e-5, 5e-2)
"""Where rows depend on others, rounding of G grows by 1e8 in its pseudo-inverse; elsewhere as in forces."""
CONDITION = 512.0
"""Forces are solved for with a matrix that M^-1 is in."""

BOOK = "Featherstone 2008, section 8.8"
PLACED = Function(
    "",
    "",
    "",
    (),
    (),
    source="Featherstone 2008, section 8.3",
    needs=Needs(CONTACTS),
)
"""What functions of contacts share. They have a meaning for a robot that was compiled with contacts only."""
REDUCED = replace(PLACED, source=BOOK, normal_form="joint_space")
"""The same of answers that are joint-space quantities alone."""
SOLVING = replace(REDUCED, numerics=Numerics(condition=CONDITION), takes=("inertias", "armature"))
"""The same of answers that are solved for with M."""


def contact_function(
    shared: Function,
    name: str,
    method: str,
    equation: str,
    inputs: tuple[Port, ...],
    outputs: tuple[Port, ...],
    ways: Callable[[], Mapping[str, Route]],
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
        ways=shared.ways._replace(serial=ways),
        numerics=shared.numerics._replace(size=size, accuracy=accuracy),
    )


CONSTRAINT_MATRIX_INVERSE = contact_function(
    SOLVING,
    "kkt",
    "constraint_matrix_inverse",
    "[M, J^T; J, 0]^-1",
    (Q, ACTIVE),
    (KINV,),
    lambda: {"ltl": Route(_kkt)},
    Size(70, 0, 5, 3),
    SINGULAR,
)

CONSTRAINT_MATRIX = contact_function(
    replace(REDUCED, takes=SOLVING.takes),
    "kktm",
    "constraint_matrix",
    "[M, J^T; J, 0]",
    (Q, ACTIVE),
    (KKT,),
    lambda: {"crba": Route(_kktm)},
    Size(30, 0, 1),
)

DELASSUS_MATRIX = contact_function(
    replace(SOLVING, numerics=Numerics(condition=64.0)),
    "delassus",
    "delassus_matrix",
    "J M^-1 J^T",
    (Q, ACTIVE),
    (G,),
    lambda: by_both(_delassus, Size(350, 0, 0, 2)),
    Size(50, 0, 2, 1),
    Accuracy(1e-9, 5e-5),
)

DELASSUS_MATRIX_INVERSE = contact_function(
    SOLVING,
    "delassusinv",
    "delassus_matrix_inverse",
    "(J M^-1 J^T)^-1",
    (Q, ACTIVE),
    (GINV,),
    lambda: {"ltl": Route(_delassus_inverse)},
    Size(10, 0, 2, 3),
    SINGULAR,
)

CONSTRAINT_JACOBIAN = contact_function(
    PLACED,
    "cjac",
    "constraint_jacobian",
    "J(q) of all contacts, those that are off too",
    (Q,),
    (J,),
    lambda: {"columns": Route(_cjac)},
    Size(10, 4),
)

CONSTRAINT_ERRORS = contact_function(
    replace(PLACED, takes=("anchors",)),
    "cerr",
    "constraint_errors",
    "how far contacts are from their anchors: translation in the contact's axes, logarithm of the rotation",
    (Q,),
    (ERROR,),
    lambda: {"poses": Route(_cerr)},
    Size(10, 4),
)

MATRICES = (
    CONSTRAINT_MATRIX_INVERSE,
    CONSTRAINT_MATRIX,
    DELASSUS_MATRIX,
    DELASSUS_MATRIX_INVERSE,
    CONSTRAINT_JACOBIAN,
    CONSTRAINT_ERRORS,
)


# Routes


def constrained(tree: Unrolled, kind: Way | None = None, active: Sequence[Scalar] | None = None) -> Constrained:
    """The tree with its contacts, by default those that its flags say, and by the factors of M."""
    if kind is None or algorithms.drives.couples(tree):
        kind = algorithms.contact_forces.Constrained
    return kind(tree, tree.inputs[ACTIVE.name] if active is None else active)


def by_both(run: Callable[[Way, Unrolled], Answers], size: Size) -> Mapping[str, Route]:
    """By both; size: of the second."""
    return {
        "ltl": Route(partial(run, algorithms.contact_forces.Constrained)),
        "aba": Route(partial(run, algorithms.contact_derivatives.ByElimination), alone=True, size=size),
    }


def flat(rows: Sequence[Row], n: int) -> list[Scalar]:
    """All entries."""
    from condyle.scalar import number

    return [row.get(k, number(0.0)) for row in rows for k in range(n)]


def _kkt(tree: Unrolled) -> Answers:
    return (algorithms.contact_derivatives.inverse_blocks(constrained(tree)),)


def _kktm(tree: Unrolled) -> Answers:
    way, n = constrained(tree), tree.nv
    found = algorithms.matrix.SparseMatrix.from_entries(n + len(way.J), algorithms.solvers.mass_matrix(tree))
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
    return (algorithms.matrix.SparseMatrix.from_entries(len(way.J), entries),)


def _cjac(tree: Unrolled) -> Answers:
    return (flat(algorithms.contacts.Contacts(tree).J, tree.nv),)


def _cerr(tree: Unrolled) -> Answers:
    contacts, found = algorithms.contacts.Contacts(tree), list[Any]()
    for k, one in enumerate(tree.tree.contacts):
        slide, turn = contacts.errors(k)
        found += [(*slide, *turn)[row] for row in one.rows]
    return (found,)
