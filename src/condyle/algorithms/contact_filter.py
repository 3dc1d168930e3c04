"""Solves with G + R, the regularised matrix of `contact_forces`: by a filter that leaves out what G does not see.

Letters are those of that module.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from condyle.algorithms.contacts import Row
from condyle.algorithms.ltl import Factors, inverse
from condyle.algorithms.ltl import solve as solve_by
from condyle.algorithms.matrix import SparseMatrix
from condyle.scalar import Scalar, total

SERIES, BEFORE = (1.0, 4.0, 10.0, 20.0), 2
"""The first terms of (1 - X)^-4, and how many of the three factors 1 - X are applied before them: the others take away
what these terms make of rounding."""


class Regular(NamedTuple):
    """Factors of a matrix with R added on its diagonal, and R (`damped`)."""

    factors: Factors
    damped: list[Scalar]


def filtered(regular: Regular, b: Sequence[Scalar]) -> list[Scalar]:
    """A (1 - X)³ (1 + 4 X + 10 X² + 20 X³) b."""
    factors, damped = regular
    for _ in range(BEFORE):
        b = [x - rho * y for x, rho, y in zip(b, damped, solve_by(factors, b), strict=True)]
    f = solve_by(factors, [SERIES[-1] * x for x in b])
    for factor in reversed(SERIES[:-1]):
        f = solve_by(factors, [factor * x + rho * y for x, rho, y in zip(b, damped, f, strict=True)])
    return _difference(f, solve_by(factors, [rho * y for rho, y in zip(damped, f, strict=True)]))


def filtered_inverse(regular: Regular) -> SparseMatrix:
    """The matrix that takes b to these forces."""
    A = inverse(regular.factors)
    AX = _between(A, regular, A)
    once = _sum(A, AX.scaled(-1.0))  # A (1 - X), then with the second and third power of 1 - X
    once_X = _between(once, regular, A)
    twice = _sum(once, once_X.scaled(-1.0))
    thrice = _sum(twice, _between(twice, regular, A).scaled(-1.0))
    powers = A, AX, _sum(AX, once_X.scaled(-1.0))
    left, *more = (power.scaled(factor) for power, factor in zip(powers, SERIES[1:], strict=True))
    for term in more:
        left = _sum(left, term)
    return _sum(thrice, _between(thrice, regular, left))


def filtered_change(
    regular: Regular, b: Sequence[Scalar], db: Sequence[Scalar], dG: Sequence[Row], dR: Sequence[Scalar]
) -> list[Scalar]:
    """How `filtered` changes with b, G and R."""
    factors, damped = regular

    def solved(x: Sequence[Scalar], dx: Sequence[Scalar]) -> tuple[list[Scalar], list[Scalar]]:
        """u = A x and its change, A (dx - (dG + dR) u)."""
        u = solve_by(factors, x)
        turned = [
            total([dr * u[i], *(y * u[k] for k, y in row.items())])
            for i, (dr, row) in enumerate(zip(dR, dG, strict=True))
        ]
        return u, solve_by(factors, [x - y for x, y in zip(dx, turned, strict=True)])

    def times_damped(u: Sequence[Scalar], du: Sequence[Scalar]) -> tuple[list[Scalar], list[Scalar]]:
        """R u and its change."""
        changes = zip(damped, du, dR, u, strict=True)
        return [r * x for r, x in zip(damped, u, strict=True)], [r * dx + dr * x for r, dx, dr, x in changes]

    for _ in range(BEFORE):
        away, change = times_damped(*solved(b, db))
        b, db = _difference(b, away), _difference(db, change)
    f, df = solved([SERIES[-1] * x for x in b], [SERIES[-1] * x for x in db])
    for factor in reversed(SERIES[:-1]):
        more, change = times_damped(f, df)
        f, df = solved(
            [factor * x + y for x, y in zip(b, more, strict=True)],
            [factor * x + y for x, y in zip(db, change, strict=True)],
        )
    return _difference(df, solved(*times_damped(f, df))[1])


def _difference(x: Sequence[Scalar], y: Sequence[Scalar]) -> list[Scalar]:
    return [one - other for one, other in zip(x, y, strict=True)]


def proximal(regular: Regular, b: Sequence[Scalar], times: int) -> list[Scalar]:
    """f after this number of iterations (G + R) f_(k+1) = b + R f_k from zero."""
    factors, damped = regular
    f = solve_by(factors, b)
    for _ in range(times - 1):
        f = solve_by(factors, [x + mu * y for x, mu, y in zip(b, damped, f, strict=True)])
    return f


def proximal_inverse(regular: Regular, times: int) -> SparseMatrix:
    """The matrix P_n with f = P_n b after n iterations: P_2 = A + A R A, P_4 = P_2 + (A R A) R P_2, ...

    n is the least power of two that is not below `times`.
    """
    found = power = inverse(regular.factors)
    done = 1
    while done < times:
        found, done = _sum(found, _between(power, regular, found)), 2 * done
        power = _between(power, regular, power) if done < times else power
    return found


def _between(a: SparseMatrix, regular: Regular, b: SparseMatrix) -> SparseMatrix:
    """a R b, where the product is symmetric."""
    rows = [{k: x * regular.damped[k] for k, x in a.row(i).items()} for i in range(a.size)]
    return gram(rows, [b.row(j) for j in range(b.size)])


def gram(left: Sequence[Row], right: Sequence[Row]) -> SparseMatrix:
    """left rightᵀ, given by their rows, where the product is symmetric."""
    found = SparseMatrix(len(left))
    for i, one in enumerate(left):
        for j, other in enumerate(right[: i + 1]):
            terms = [x * other[k] for k, x in one.items() if k in other]
            if terms:
                value = total(terms)
                found.put(i, j, value)
                found.put(j, i, value)
    return found


def _sum(a: SparseMatrix, b: SparseMatrix) -> SparseMatrix:
    found = SparseMatrix.from_entries(a.size, a)
    for i, j, x in b:
        found.add(i, j, x)
    return found
