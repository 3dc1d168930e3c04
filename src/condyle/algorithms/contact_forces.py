"""Motion with contacts: M a + c = tau + Jᵀ f, J a + gamma = 0, from the factors of M.

With M = Lᵀ D L and Y = L^-T Jᵀ, the Delassus matrix is G = J M^-1 Jᵀ = Yᵀ D^-1 Y, and forces follow from

    (G + mu D) f_(k+1) = b + mu D f_k,    b = - J a_free - gamma,    D the diagonal of G,

iterated `TIMES` times from f = 0 (proximal iterations). If the rows are independent, f converges to G^-1 b: each
iteration multiplies the error along an eigenvector by mu / (mu + lambda), lambda its eigenvalue of G scaled to ones on
the diagonal. If rows are dependent and consistent, f converges to the forces of least sum D_i f_i², whatever the units
of the rows. Rows of an inactive contact are zero, and 1 is added on their diagonal: the force is zero. Featherstone
2008, section 8.8; Carpentier, Budhiraja, Mansard 2021.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from condyle.algorithms.contacts import Contacts, Row, among_six
from condyle.algorithms.damping import driven
from condyle.algorithms.ltl import Factors, half_solved, inverse, ltl, rest_solved
from condyle.algorithms.ltl import solve as solve_by
from condyle.algorithms.matrix import SparseMatrix
from condyle.algorithms.solvers import factors, net_force
from condyle.algorithms.unrolled import Unrolled
from condyle.scalar import Scalar, number, sqrt, total

MU = 1e-6
"""mu: large enough that float32 factors G + mu D where G is singular."""
LEAST = 1e-12
"""Added to mu D [1/kg], for rows where G is zero."""
TIMES = 4
"""Proximal iterations: for an eigenvalue of 1e-3, of G scaled to ones on its diagonal, the relative error is 1e-12."""

SOFT, SOFTLY = 1e-4, 8
"""mu and iterations for `pseudoinverse`: rounding of G grows by 1 / mu² where G is singular, so mu is larger."""


class Regular(NamedTuple):
    """Factors of a matrix with mu D added on its diagonal, and mu D (`damped`)."""

    factors: Factors
    damped: list[Scalar]


class Constrained:
    """A robot with contacts at one state, and solves for any right-hand side. Letters are those of the module."""

    def __init__(self, tree: Unrolled, active: Sequence[Scalar], inverted: bool = False) -> None:
        """active: 1 or 0 for each contact. inverted: forces by `inverse`, where that matrix is needed anyway."""
        self.inverted = inverted
        self.tree, self.contacts = tree, Contacts(tree)
        flags = zip(active, tree.tree.contacts, strict=True)
        self.active = [flag for flag, one in flags for _ in one.rows]

    @cached_property
    def J(self) -> list[Row]:
        """The constrained rows, times 0 for contacts that are inactive."""
        flagged = zip(self.active, self.contacts.J, strict=True)
        return [{k: flag * x for k, x in row.items()} for flag, row in flagged]

    @cached_property
    def factors(self) -> Factors:
        return factors(self.tree)

    @cached_property
    def Y(self) -> list[Row]:
        """The columns of L^-T Jᵀ, one for each row of J."""
        return [half_solved(self.factors, row) for row in self.J]

    @cached_property
    def inverse_D(self) -> list[Scalar]:
        return self.factors.inverse_D

    def half(self, x: Sequence[Scalar]) -> Mapping[int, Scalar]:
        """L^-T x."""
        return half_solved(self.factors, dict(enumerate(x)))

    @cached_property
    def net(self) -> Mapping[int, Scalar]:
        """L^-T (tau - c)."""
        return self.half(net_force(driven(self.tree)))

    def rest(self, y: Sequence[Scalar]) -> list[Scalar]:
        """M^-1 x, given y = L^-T x."""
        return rest_solved(self.factors, y)

    @cached_property
    def scaled(self) -> list[Row]:
        """The columns of D^-1 Y."""
        return [{k: x * self.inverse_D[k] for k, x in column.items()} for column in self.Y]

    @cached_property
    def G(self) -> SparseMatrix:
        """J M^-1 Jᵀ."""
        return gram(self.Y, self.scaled)

    @cached_property
    def regular(self) -> Regular:
        """G + mu D, and 1 more on the diagonal of inactive rows."""
        return self.regularised(self.G)

    def regularised(self, matrix: SparseMatrix, alike: bool = False, mu: float = MU) -> Regular:
        """The factors of a matrix like G with mu D added on its diagonal, and 1 for inactive rows.

        D is the diagonal of the matrix. alike: D is the mean of that diagonal, so that the forces have the least norm.
        """
        diagonal = [number(0.0) if (x := matrix.get(i, i)) is None else x for i in range(matrix.size)]
        if alike:
            diagonal = [total(diagonal) * (1.0 / matrix.size)] * matrix.size
        damped = [mu * x + LEAST for x in diagonal]
        found = SparseMatrix.of(matrix.size, matrix)
        for k, (flag, more) in enumerate(zip(self.active, damped, strict=True)):
            found.add(k, k, more + (1.0 - flag))
        return Regular(ltl(found), damped)

    def forces(self, b: Sequence[Scalar], by: Regular | None = None) -> list[Scalar]:
        """f with G f = b, by proximal iterations."""
        if self.inverted and by is None:
            rows = (self.inverse.row(i) for i in range(self.inverse.size))
            return [total([x * b[k] for k, x in row.items()]) for row in rows]
        return proximal(by or self.regular, b, TIMES)

    @cached_property
    def inverse(self) -> SparseMatrix:
        """The matrix that takes b to these forces."""
        return proximal_inverse(self.regular, TIMES)

    @cached_property
    def pseudoinverse(self) -> SparseMatrix:
        """P G P, P the result of `SOFTLY` proximal iterations with mu = `SOFT`: near G^-1 where G has an inverse, and
        near zero along forces that J does not see (dependent rows).
        """
        made = proximal_inverse(self.regularised(self.G, mu=SOFT), SOFTLY)
        return made.times(self.G).times(made)

    def at(self, half: Mapping[int, Scalar]) -> list[Scalar]:
        """J M^-1 x, given L^-T x."""
        return [
            total(terms) if (terms := [x * half[k] for k, x in column.items() if k in half]) else number(0.0)
            for column in self.scaled
        ]

    def moved(self, half: Mapping[int, Scalar], f: Sequence[Scalar]) -> list[Scalar]:
        """M^-1 (x + Jᵀ f), given L^-T x."""
        found = [half.get(k, number(0.0)) for k in range(self.tree.nv)]
        for force, column in zip(f, self.Y, strict=True):
            for k, x in column.items():
                found[k] = found[k] + force * x
        return self.rest(found)

    def solved(self, x: Sequence[Scalar], y: Sequence[Scalar]) -> tuple[list[Scalar], list[Scalar]]:
        """(a, f) with M a - Jᵀ f = x, and J a = y in the rows that are on, f = y in the others."""
        return self._solved(self.half(x), y)

    def _solved(self, half: Mapping[int, Scalar], y: Sequence[Scalar]) -> tuple[list[Scalar], list[Scalar]]:
        f = self.forces([one - reached for one, reached in zip(y, self.at(half), strict=True)])
        return self.moved(half, f), f

    def dynamics(self) -> tuple[list[Scalar], list[Scalar]]:
        """(a, f) for the tree's inputs v, tau and f_ext."""
        held = zip(self.active, self.contacts.bias, strict=True)
        return self._solved(self.net, [-(flag * x) for flag, x in held])

    def impact(self, v: Sequence[Scalar], restitution: Sequence[Scalar]) -> tuple[list[Scalar], list[Scalar]]:
        """(v after, impulses). The kinetic energy does not grow: see decision 81."""
        contacts = zip(restitution, self.tree.tree.contacts, strict=True)
        factors = [sqrt((1.0 - e) / (1.0 + e)) for e, one in contacts for _ in one.rows]
        kept = ((i, j, x + factors[i] * factors[j] * x) for i, j, x in self.G)
        approach = [flag * x for flag, x in zip(self.active, self.contacts.velocities(v), strict=True)]
        f = self.forces([-2.0 * x for x in approach], self.regularised(SparseMatrix.of(self.G.size, kept)))
        return [x + y for x, y in zip(v, self.moved({}, f), strict=True)], f

    def placed(self, f: Sequence[Scalar]) -> list[Scalar]:
        """Forces of constrained rows as [force; torque] of each contact."""
        return among_six(self.tree.tree.contacts, f, number(0.0))


def proximal(regular: Regular, b: Sequence[Scalar], times: int) -> list[Scalar]:
    """f after this number of iterations from zero."""
    factors, damped = regular
    f = solve_by(factors, b)
    for _ in range(times - 1):
        f = solve_by(factors, [x + mu * y for x, mu, y in zip(b, damped, f, strict=True)])
    return f


def proximal_inverse(regular: Regular, times: int) -> SparseMatrix:
    """The matrix P_n with f = P_n b after n iterations: P_2 = P + P mu D P, P_4 = P_2 + (P mu D P) mu D P_2, ...

    P = (G + mu D)^-1, and n is the least power of two that is not below `times`.
    """
    found = power = inverse(regular.factors)
    done = 1
    while done < times:
        found, done = _sum(found, _between(power, regular, found)), 2 * done
        power = _between(power, regular, power) if done < times else power
    return found


def _between(a: SparseMatrix, regular: Regular, b: SparseMatrix) -> SparseMatrix:
    """a mu D b, where the product is symmetric."""
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
    found = SparseMatrix.of(a.size, a)
    for i, j, x in b:
        found.add(i, j, x)
    return found
