"""Motion with contacts: M a + c = tau + Jᵀ f, J a + gamma = 0, from the factors of M.

With M = Lᵀ D L and Y = L^-T Jᵀ, the Delassus matrix is G = J M^-1 Jᵀ = Yᵀ D^-1 Y, and forces are

    f = A (1 - X)³ (1 + 4 X + 10 X² + 20 X³) b,    A = (G + R)^-1,    X = R A,    b = - J a_free - gamma,

R diagonal, R_i = mu (G_ii + s_i / 4), s_i the scale of the row (`contacts.scales`). Along an eigenvector of G, in units
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
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from condyle.algorithms.contacts import Contacts, Row, among_six, scales
from condyle.algorithms.drives import driven
from condyle.algorithms.ltl import Factors, half_solved, inverse, ltl, rest_solved
from condyle.algorithms.ltl import solve as solve_by
from condyle.algorithms.matrix import SparseMatrix, dense
from condyle.algorithms.solvers import factors, net_force
from condyle.algorithms.unrolled import Unrolled
from condyle.model.tree import Tree
from condyle.scalar import Scalar, number, sqrt, total
from condyle.specification.ports import ACTIVE

SERIES, BEFORE = (1.0, 4.0, 10.0, 20.0), 2
"""The first terms of (1 - X)^-4, and how many of the three factors 1 - X are applied before them: the others take away
what these terms make of rounding."""


# Solves with G + R, the regularised matrix of `contact_forces`: by a filter that leaves out what G does not see.
#
# Letters are those at the head of this file.


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
        damped = self.damping_by(diagonal, alike, mu)
        found = SparseMatrix.from_entries(matrix.size, matrix)
        for k, (flag, more) in enumerate(zip(self.active, damped, strict=True)):
            found.add(k, k, more + (1.0 - flag))
        return Regular(ltl(found), damped)

    def damping_by(self, diagonal: Sequence[Scalar], alike: bool, mu: float = MU) -> list[Scalar]:
        """R of a matrix with this diagonal."""
        least = [SHARE * mu * scale + LEAST for scale in scales(self.tree.tree)]
        damped = [mu * x + more for x, more in zip(diagonal, least, strict=True)]
        return [total(damped) * (1.0 / len(damped))] * len(damped) if alike else damped

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
        """(v after, impulses). The kinetic energy does not grow: see decision 0081."""
        contacts = zip(restitution, self.tree.tree.contacts, strict=True)
        factors = [sqrt((1.0 - e) / (1.0 + e)) for e, one in contacts for _ in one.rows]
        kept = ((i, j, x + factors[i] * factors[j] * x) for i, j, x in self.G)
        approach = [flag * x for flag, x in zip(self.active, self.contacts.velocities(v), strict=True)]
        f = self.forces([-2.0 * x for x in approach], self.regularised(SparseMatrix.from_entries(self.G.size, kept)))
        return [x + y for x, y in zip(v, self.moved({}, f), strict=True)], f

    def placed(self, f: Sequence[Scalar]) -> list[Scalar]:
        """Forces of constrained rows as [force; torque] of each contact."""
        return among_six(self.tree.tree.contacts, f, number(0.0))


# Whether rows of contacts depend on each other wherever the robot is: four planes on one body, a loop in a plane.


WEAK, TRIES = 1e-3, 4
"""Of an eigenvalue of G, rows in units of their scales: above, the filter of `contact_forces` is that of an independent
row to 1e-10. And how many configurations are tried."""


@lru_cache(maxsize=64)
def depends(tree: Tree) -> bool:
    """Whether rows of all contacts together depend on each other, or nearly, in each of some random configurations.

    The tree's own inertias count, also where they are inputs.
    """
    units = np.array([scale**-0.5 if scale else 0.0 for scale in scales(tree)])
    rng, n = np.random.default_rng(0), len(units)
    if not 0 < n <= tree.nv:
        return n > 0
    return not any(_least(_delassus(tree, rng) * np.outer(units, units)) > WEAK for _ in range(TRIES))


def _delassus(tree: Tree, rng: np.random.Generator) -> NDArray[np.float64]:
    """G in a random configuration."""
    q, on = [number(0.0)] * tree.nq, [number(1.0)] * len(tree.contacts)
    for kind, at, _ in tree.configurations:
        for k, x in zip(at, kind.random(rng, 1)[0], strict=True):
            q[k] = number(float(x))
    G = Constrained(Unrolled(tree, {"q": q, ACTIVE.name: on}), on).G
    return np.reshape(np.array(dense(G), float), (G.size, G.size))


def _least(matrix: NDArray[np.float64]) -> float:
    """The least eigenvalue; zero where M is singular."""
    return float(np.linalg.eigvalsh(matrix)[0]) if np.isfinite(matrix).all() else 0.0


# The least contact forces that give the generalised force of a floating base, where no actuator acts.
#
# With J_b the columns of J for the base's six velocities, and tau_b the entries of inverse dynamics for them,
#
#     force = J_b G^-1 G^-1 J_bᵀ J_b tau_b,    G = J_bᵀ J_b,
#
# the least-squares solution of least norm of J_bᵀ force = tau_b. Each G^-1 is a number of proximal iterations with G +
# mu 1. The product J_bᵀ J_b tau_b first removes the part that no contact can carry; with a singular G one inverse would
# multiply that part, and its rounding, by 1 / mu. On a fixed base all forces are zero. Featherstone 2008, section 8.8.


LEAST_MU = 1e-4
"""mu, relative to the mean of G's diagonal: rounding of the part that cannot be carried grows by (eps / mu)²."""
TIMES = 6
"""Proximal iterations: for an eigenvalue of 1e-2 of that mean the relative error is 1e-12."""


def base_coordinates(way: Constrained) -> list[int]:
    """The velocities of a free joint on the world; none on a fixed base."""
    links = way.tree.tree.links
    free = [link for link in links if link.parent < 0 and link.kind.is_free]
    return [coordinate.entry for link in free for coordinate in link.v]


def least_forces(way: Constrained, tau: Sequence[Scalar]) -> tuple[list[Scalar], list[Scalar]]:
    """(forces row by row, tau - Jᵀ force)."""
    base, J = base_coordinates(way), way.J
    if not base:
        return [number(0.0)] * len(J), list(tau)
    rows = [{k: row[i] for k, i in enumerate(base) if i in row} for row in J]
    pushes = _times(rows, [tau[i] for i in base])
    carried = [number(0.0)] * len(base)
    for row, push in zip(rows, pushes, strict=True):
        for k, x in row.items():
            carried[k] = carried[k] + x * push
    forces = _times(rows, _solved(rows, len(base), carried))
    left = list(tau)
    for force, row in zip(forces, J, strict=True):
        for k, y in row.items():
            left[k] = left[k] - y * force
    return forces, left


def _times(rows: Sequence[Row], x: Sequence[Scalar]) -> list[Scalar]:
    return [total([number(0.0), *(y * x[k] for k, y in row.items())]) for row in rows]


def _solved(rows: Sequence[Row], size: int, wanted: Sequence[Scalar]) -> list[Scalar]:
    """G^-2 `wanted`."""
    columns = [{i: row[k] for i, row in enumerate(rows) if k in row} for k in range(size)]
    G = gram(columns, columns)
    diagonal = [x for i in range(size) if (x := G.get(i, i)) is not None]
    mu = (LEAST_MU / size) * total([number(0.0), *diagonal]) + LEAST
    for i in range(size):
        G.add(i, i, mu)
    regular = Regular(ltl(G), [mu] * size)
    return proximal(regular, proximal(regular, wanted, TIMES), TIMES)
