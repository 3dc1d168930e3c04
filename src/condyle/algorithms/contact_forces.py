"""Motion with contacts: M a + c = tau + Jᵀ f, J a + gamma = 0, from the factors of M.

With M = Lᵀ D L and Y = L^-T Jᵀ, the Delassus matrix is G = J M^-1 Jᵀ = Yᵀ D^-1 Y, and forces are

    f = A (1 - X)³ (1 + 4 X + 10 X² + 20 X³) b,    A = (G + R)^-1,    X = R A,    b = - J a_free - gamma,

R diagonal, R_i = mu (G_ii + s_i / 4), s_i the scale of the row (`contact_scales`). Along an eigenvector of G, in units
in which R is rho times one, with lambda its eigenvalue and x = rho / (rho + lambda),

    f = (1 - 35 x⁴ + 84 x⁵ - 70 x⁶ + 20 x⁷) b / lambda:
    b / lambda where lambda >> rho,    35 lambda³ b / rho⁴ where lambda << rho.

So independent rows are held to about 35 x⁴. Rows that move next to nothing, those of a loop whose digits are cut off,
count as no constraint, and what contradicting rows want of each other is left out. If rows are dependent, f has the
least sum R_i f_i². The second factor is the beginning of (1 - X)^-4: with all of it these were proximal iterations
without end. Each factor 1 - X takes away what G does not see; rounding leaves some 1e-10 of it, in single precision a
tenth. Rows of an inactive contact are zero, and 1 is added on their diagonal: the force is zero. Featherstone 2008,
section 8.8; Carpentier, Budhiraja, Mansard 2021.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from condyle.algorithms.contact_filter import (
    Regular,
    filtered,
    filtered_change,
    filtered_inverse,
    gram,
    proximal_inverse,
)
from condyle.algorithms.contact_scales import scales
from condyle.algorithms.contacts import Contacts, Row, among_six
from condyle.algorithms.damping import driven
from condyle.algorithms.ltl import Factors, half_solved, ltl, rest_solved
from condyle.algorithms.matrix import SparseMatrix
from condyle.algorithms.solvers import factors, net_force
from condyle.algorithms.unrolled import Unrolled
from condyle.scalar import Scalar, number, sqrt, total

MU = 1e-6
"""mu: large enough that float32 factors G + R where G is singular."""
SHARE = 0.25
"""Of the scale of a row: 1e-4 rad off still holds nothing, and rows of small motion are held."""
LEAST = 1e-12
"""Added to R [1/kg], for rows where G and the scale are zero."""
SOFT, SOFTLY = 1e-4, 8
"""mu of the diagonal and iterations for `pseudoinverse`: rounding of G grows by 1 / mu² where rows depend on each
other, so mu is larger."""


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
        """G + R, and 1 more on the diagonal of inactive rows."""
        return self.regularised(self.G)

    def regularised(self, matrix: SparseMatrix, alike: bool = False, mu: float = MU) -> Regular:
        """The factors of a matrix like G with R added on its diagonal, and 1 for inactive rows.

        R_i = mu ((matrix)_ii + `SHARE` s_i). alike: R is the mean of that, so that the forces have the least norm.
        """
        diagonal = [number(0.0) if (x := matrix.get(i, i)) is None else x for i in range(matrix.size)]
        least = [SHARE * mu * scale + LEAST for scale in scales(self.tree.tree)]
        damped = [mu * x + more for x, more in zip(diagonal, least, strict=True)]
        if alike:
            damped = [total(damped) * (1.0 / matrix.size)] * matrix.size
        found = SparseMatrix.from_entries(matrix.size, matrix)
        for k, (flag, more) in enumerate(zip(self.active, damped, strict=True)):
            found.add(k, k, more + (1.0 - flag))
        return Regular(ltl(found), damped)

    def forces(self, b: Sequence[Scalar], by: Regular | None = None) -> list[Scalar]:
        """f with G f = b, as far as rows are more than rounding."""
        if self.inverted and by is None:
            rows = (self.inverse.row(i) for i in range(self.inverse.size))
            return [total([x * b[k] for k, x in row.items()]) for row in rows]
        return filtered(by or self.regular, b)

    def turned(self, f: Sequence[Scalar], dG: Sequence[Row]) -> list[Scalar]:
        """How these forces f change with G at the same G f: the change of b = ... - G f is known to `dcfd` already."""
        pushed = [total([number(0.0), *(x * f[j] for j, x in row.items())]) for row in dG]
        damped = [MU * row.get(i, number(0.0)) for i, row in enumerate(dG)]
        return filtered_change(self.regular, self.wanted, pushed, dG, damped)

    @cached_property
    def inverse(self) -> SparseMatrix:
        """The matrix that takes b to these forces."""
        return filtered_inverse(self.regular)

    @cached_property
    def pseudoinverse(self) -> SparseMatrix:
        """P G P, P the result of `SOFTLY` proximal iterations with mu = `SOFT`: near G^-1 where G has an inverse, and
        near zero along forces that J does not see (dependent rows).
        """
        made = proximal_inverse(self.regularised(self.G, mu=SOFT), SOFTLY)
        return made.times(self.G).times(made)

    def at_contacts(self, half: Mapping[int, Scalar]) -> list[Scalar]:
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
        half = self.half(x)
        f = self.forces([one - reached for one, reached in zip(y, self.at_contacts(half), strict=True)])
        return self.moved(half, f), f

    @cached_property
    def wanted(self) -> list[Scalar]:
        """b for the tree's inputs v, tau and f_ext."""
        held = zip(self.active, self.contacts.bias, self.at_contacts(self.net), strict=True)
        return [-(flag * x) - reached for flag, x, reached in held]

    def dynamics(self) -> tuple[list[Scalar], list[Scalar]]:
        """(a, f) for the tree's inputs v, tau and f_ext."""
        f = self.forces(self.wanted)
        return self.moved(self.net, f), f

    def impact(self, v: Sequence[Scalar], restitution: Sequence[Scalar]) -> tuple[list[Scalar], list[Scalar]]:
        """(v after, impulses). The kinetic energy does not grow: see decision 81."""
        contacts = zip(restitution, self.tree.tree.contacts, strict=True)
        factors = [sqrt((1.0 - e) / (1.0 + e)) for e, one in contacts for _ in one.rows]
        kept = ((i, j, x + factors[i] * factors[j] * x) for i, j, x in self.G)
        approach = [flag * x for flag, x in zip(self.active, self.contacts.velocities(v), strict=True)]
        f = self.forces([-2.0 * x for x in approach], self.regularised(SparseMatrix.from_entries(self.G.size, kept)))
        return [x + y for x, y in zip(v, self.moved({}, f), strict=True)], f

    def placed(self, f: Sequence[Scalar]) -> list[Scalar]:
        """Forces of constrained rows as [force; torque] of each contact."""
        return among_six(self.tree.tree.contacts, f, number(0.0))
