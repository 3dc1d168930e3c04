"""Motion with contacts: M a + c = tau + Jᵀ f, J a + gamma = 0, from the factors of M.

With M = Lᵀ D L and Y = L^-T Jᵀ, the Delassus matrix is G = J M^-1 Jᵀ = Yᵀ D^-1 Y, and forces follow from

    (G + mu D) f_(k+1) = b + mu D f_k,    b = - J a_free - gamma,    D the diagonal of G,

a few times: for independent rows the error falls by mu / (mu + G) each time, G with units on its diagonal; dependent
ones have the proximal limit, where the rows agree the forces of least Σ D_i f_i², in any units. Rows of a contact that
is off are zero, and 1 is added on their diagonal: its force is zero. Featherstone 2008, section 8.8; Carpentier,
Budhiraja, Mansard 2021.
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
"""mu: float32 still tells G + mu D from a singular G."""
LEAST = 1e-12
"""mu D [1/kg] where G is zero."""
TIMES = 4
"""Proximal iterations: they leave 1e-12 of what an eigenvalue of 1e-3, of G with units on its diagonal, asks for."""

SOFT, SOFTLY = 1e-4, 8
"""mu and iterations of explicit inverses: rounding of G grows by 1 / mu² where G is singular."""


class Regular(NamedTuple):
    """Factors of a matrix with mu D on its diagonal, and mu D."""

    factors: Factors
    damped: list[Scalar]


class Constrained:
    """A robot with contacts at one state, ready to be solved for any right-hand side."""

    def __init__(self, tree: Unrolled, active: Sequence[Scalar], inverted: bool = False) -> None:
        """inverted: forces are found by `inverse`, which is needed anyway."""
        self.inverted = inverted
        self.tree, self.contacts = tree, Contacts(tree)
        flags = zip(active, tree.tree.contacts, strict=True)
        self.active = [flag for flag, one in flags for _ in one.rows]

    @cached_property
    def J(self) -> list[Row]:
        """The rows of the contacts that are on; zeros for others."""
        flagged = zip(self.active, self.contacts.J, strict=True)
        return [{k: flag * x for k, x in row.items()} for flag, row in flagged]

    @cached_property
    def factors(self) -> Factors:
        return factors(self.tree)

    @cached_property
    def Y(self) -> list[Row]:
        """Of L^-T Jᵀ the columns."""
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
        """Of D^-1 Y the columns."""
        return [{k: x * self.inverse_D[k] for k, x in column.items()} for column in self.Y]

    @cached_property
    def G(self) -> SparseMatrix:
        """J M^-1 Jᵀ."""
        return gram(self.Y, self.scaled)

    @cached_property
    def regular(self) -> Regular:
        """Of G + mu D, and 1 for what is off."""
        return self.regularised(self.G)

    def regularised(self, matrix: SparseMatrix, alike: bool = False, mu: float = MU) -> Regular:
        """A matrix like G, with mu D and what is off added to its diagonal.

        D is its diagonal; alike: the mean of that, so that of all forces those of least size are found.
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
        """f with G f = b, or what the proximal iterations make of it."""
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
        """P G P: the inverse of G where it has one, zero where rows depend on others, for which mu is larger."""
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
        """(a, f) of the tree's v, tau and external forces."""
        held = zip(self.active, self.contacts.bias, strict=True)
        return self._solved(self.net, [-(flag * x) for flag, x in held])

    def impact(self, v: Sequence[Scalar], restitution: Sequence[Scalar]) -> tuple[list[Scalar], list[Scalar]]:
        """(v after, impulses), no more energy than before: see decision 0081."""
        contacts = zip(restitution, self.tree.tree.contacts, strict=True)
        factors = [sqrt((1.0 - e) / (1.0 + e)) for e, one in contacts for _ in one.rows]
        kept = ((i, j, x + factors[i] * factors[j] * x) for i, j, x in self.G)
        approach = [flag * x for flag, x in zip(self.active, self.contacts.velocities(v), strict=True)]
        f = self.forces([-2.0 * x for x in approach], self.regularised(SparseMatrix.of(self.G.size, kept)))
        return [x + y for x, y in zip(v, self.moved({}, f), strict=True)], f

    def placed(self, f: Sequence[Scalar]) -> list[Scalar]:
        """Forces of rows as [force; torque] of each contact."""
        return among_six(self.tree.tree.contacts, f, number(0.0))


def proximal(regular: Regular, b: Sequence[Scalar], times: int) -> list[Scalar]:
    """f after so many iterations from zero."""
    factors, damped = regular
    f = solve_by(factors, b)
    for _ in range(times - 1):
        f = solve_by(factors, [x + mu * y for x, mu, y in zip(b, damped, f, strict=True)])
    return f


def proximal_inverse(regular: Regular, times: int) -> SparseMatrix:
    """What so many iterations make of b: P_2 = P + P mu D P, P_4 = P_2 + (P mu D P) mu D P_2, and so on."""
    found = power = inverse(regular.factors)
    done = 1
    while done < times:
        found, done = _sum(found, _between(power, regular, found)), 2 * done
        power = _between(power, regular, power) if done < times else power
    return found


def _between(a: SparseMatrix, regular: Regular, b: SparseMatrix) -> SparseMatrix:
    """a mu D b, for what makes a symmetric matrix."""
    rows = [{k: x * regular.damped[k] for k, x in a.row(i).items()} for i in range(a.size)]
    return gram(rows, [b.row(j) for j in range(b.size)])


def gram(left: Sequence[Row], right: Sequence[Row]) -> SparseMatrix:
    """The products of rows with rows, which are symmetric."""
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
