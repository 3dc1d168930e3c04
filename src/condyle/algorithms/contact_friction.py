"""One step of time with unilateral contacts and Coulomb friction, as a complementarity problem of velocities.

With v_f = v + h M^-1 (tau - c), J of the contacts' points and impulses p, along the normal n and the tangents t,

    v_next = v_f + M^-1 Jᵀ p,    u = J v_next = J v_f + G p,    G = J M^-1 Jᵀ,    w = u_n + gap / h,
    0 <= p_n,  0 <= w,  p_n w = 0,    |p_t| <= friction p_n,    p_t |u_t| = -friction p_n u_t.

Moreau 1988; Jean 1999. This file has the problem, where its solution begins, and the answers; `contact_newton` solves
it. The residual is de Saxcé's: with u' = (u_t, w + friction |u_t|) the conditions hold if and only if p is
the projection of p - rho u' onto the cone, for any rho > 0 (Acary, Brogliato 2008, section 3.9).

Rows of joints (`contact_newton.JointRow`), if there are any, are unit vectors below the contacts' rows in J. A sweep of
`contact_newton` comes to them before the contacts, so that impulses of contacts are all that its start needs. At the
end joints are solved for once more alone, so that they are right for the impulses of the contacts where these are not
there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, reduce
from typing import TypeAlias

from condyle.algorithms.contact_forces import Constrained
from condyle.algorithms.contact_newton import SMALL, JointRow, Problem, cut
from condyle.algorithms.contacts import Row
from condyle.algorithms.drives import driven
from condyle.algorithms.ltl import half_solved, solve
from condyle.algorithms.matrix import SparseMatrix
from condyle.algorithms.solvers import net_force
from condyle.algorithms.unrolled import Unrolled
from condyle.scalar import Scalar, absolute, is_zero, maximum, minimum, number, reciprocal, select, sqrt, total
from condyle.spatial import vector as vec
from condyle.spatial.twist import Pair
from condyle.spatial.vector import Matrix, Vector

START = 1e-3
"""mu of `contact_forces` for the first impulses: they need few digits, and stay small where rows contradict each
other."""


Answers: TypeAlias = tuple[list[Scalar], list[Scalar], Scalar, list[Scalar]]


class Frictional(Constrained):
    """Point contacts with friction, the rows of each along two tangents and the normal; then rows of joints."""

    def __init__(self, tree: Unrolled, active: Sequence[Scalar], joints: Sequence[JointRow] = ()) -> None:
        super().__init__(tree, active)
        self.joints, self.first = joints, len(self.active)

    @cached_property
    def axes(self) -> list[Matrix]:
        """Two tangents and the normal of each contact, in the world's axes (rows)."""
        normals = self.tree.inputs.get("normals")
        contacts = range(len(self.tree.tree.contacts))
        return [vec.IDENTITY_MATRIX if normals is None else basis(vec.three(normals, 3 * k)) for k in contacts]

    @cached_property
    def J(self) -> list[Row]:
        """Of the point of a body that is an arm r away from a contact, n.(v + w x r) = n.v + (r x n).w."""
        found, arms = list[Row](), self.tree.inputs.get("arms")
        for k, (one, axes) in enumerate(zip(self.contacts.held, self.axes, strict=True)):
            link, rows = self.contacts.axes(one.side.link), self.contacts.J[3 * k : 3 * k + 3]
            turning = [] if arms is None else _angular(self.contacts.relative[k])
            for axis in axes:
                along = [axis] if arms is None else [axis, vec.cross(vec.three(arms, 3 * k), axis)]
                turned = [
                    vec.transposed_times(one.side.frame.axes, vec.transposed_times(link, other)) for other in along
                ]
                weights = [x * self.active[3 * k] for other in turned for x in other]
                found.append(_combined(weights, [*rows, *turning]))
        return found + [{joint.entry: number(1.0)} for joint in self.joints]

    @cached_property
    def of_contacts(self) -> SparseMatrix:
        """G without the rows of joints."""
        return SparseMatrix.from_entries(self.first, ((i, j, x) for i, j, x in self.G if max(i, j) < self.first))

    @cached_property
    def rows(self) -> list[list[Scalar]]:
        """G, all entries."""
        n = range(self.G.size)
        return [[number(0.0) if (x := self.G.get(i, j)) is None else x for j in n] for i in n]

    def entry(self, i: int, j: int) -> Scalar:
        """G_ij."""
        return self.rows[i][j]

    @cached_property
    def least(self) -> list[Scalar]:
        """What is added on the diagonal of the rows of contacts; 1 more where they are inactive.

        The same mu D for all rows: so the result does not depend on the choice of tangents."""
        diagonal = [self.entry(i, i) for i in range(self.first)]
        damped = self.damping_by(diagonal, alike=True) if self.active else []
        return [x + (1.0 - flag) for x, flag in zip(damped, self.active, strict=True)]

    @cached_property
    def rates(self) -> list[tuple[Scalar, Scalar]]:
        """(tangents, normal) of each contact: the largest eigenvalue of the tangents' 2 x 2 block, and G_nn."""
        rates = list[tuple[Scalar, Scalar]]()
        for k in range(0, self.first, 3):
            xx, xy, yy, nn = (self.entry(k + i, k + j) for i, j in ((0, 0), (0, 1), (1, 1), (2, 2)))
            half = 0.5 * (xx - yy)
            largest = 0.5 * (xx + yy) + sqrt(half * half + xy * xy + SMALL)
            rates.append((largest + self.least[k], nn + self.least[k]))
        return rates

    @cached_property
    def friction(self) -> list[Scalar]:
        return [maximum(x, 0.0) for x in self.tree.inputs["friction"]]

    @cached_property
    def half_moved(self) -> Mapping[int, Scalar]:
        """h L^-T (tau - c)."""
        (h,) = self.tree.inputs["dt"]
        return half_solved(self.factors, dict(enumerate(h * x for x in net_force(driven(self.tree)))))

    @cached_property
    def b(self) -> list[Scalar]:
        """u without impulses; of a normal with gap / h."""
        v, (h,) = self.tree.inputs["v"], self.tree.inputs["dt"]
        b = [total([x * v[k] for k, x in row.items()]) if row else number(0.0) for row in self.J]
        b = [x + y for x, y in zip(b, self.at_contacts(self.half_moved), strict=True)]
        for k, gap in enumerate(self.tree.inputs.get("gaps", ())):
            b[3 * k + 2] = b[3 * k + 2] + self.active[3 * k] * gap * reciprocal(h)
        return b

    @cached_property
    def row_rates(self) -> list[Scalar]:
        """`rates` of each row, G_ii of joints."""
        of_joints = [self.entry(i, i) for i in range(self.first, len(self.J))]
        return [x for tangents, normal in self.rates for x in (tangents, tangents, normal)] + of_joints

    @cached_property
    def problem(self) -> Problem:
        """What p is a solution of."""
        least, steps = [*self.least, *(number(0.0) for _ in self.joints)], [reciprocal(x) for x in self.row_rates]
        return Problem(self.rows, self.b, steps, self.row_rates, least, self.friction, self.joints)

    def times(self, p: Sequence[Scalar]) -> list[Scalar]:
        """G p."""
        return self.problem.times(p)

    def start(self) -> list[Scalar]:
        """The first p: `impulses_before`, else those of contacts that all stick (w = 0, u_t = 0); cut off at the cones;
        and `joints_before`."""
        p = self.impulses_before
        if p is None:
            sought = [-x for x in self.b[: self.first]]
            p = solve(self.regularised(self.of_contacts, alike=True, mu=START).factors, sought) if sought else []
        return cut([*p, *self.joints_before], self.friction)

    @property
    def joints_before(self) -> list[Scalar]:
        """The input joint_impulse0 of each row of a joint, else zero."""
        first = self.tree.inputs.get("joint_impulse0")
        return [number(0.0) if first is None else first[joint.entry] for joint in self.joints]

    @property
    def impulses_before(self) -> list[Scalar] | None:
        """The input impulse0 along the axes of the contacts."""
        first = self.tree.inputs.get("impulse0")
        if first is None:
            return None
        turned = (vec.times(axes, vec.three(first, 3 * k)) for k, axes in enumerate(self.axes))
        return [self.active[3 * k] * x for k, three in enumerate(turned) for x in three]

    def answers(self, p: Sequence[Scalar]) -> Answers:
        """(v_next, impulses in the world's axes, residual, impulses of joints) of a solution; without gain of energy,
        also where it is none."""
        return self.answers_without_gain(self.problem.with_joints_solved(p))

    def answers_without_gain(self, p: Sequence[Scalar]) -> Answers:
        """The same of any impulses within the cones."""
        p = self._without_gain(p)
        moved = self.moved(self.half_moved, p)
        v_next = [x + y for x, y in zip(self.tree.inputs["v"], moved, strict=True)]
        joints = [number(0.0)] * self.tree.nv
        for push, joint in zip(p[self.first :], self.joints, strict=True):
            joints[joint.entry] = push
        return v_next, self._in_world(p), self._residual(p), joints

    def _without_gain(self, p: Sequence[Scalar]) -> list[Scalar]:
        """p times the largest factor up to 1 at which the energy of the impulses, pᵀ (b + G p / 2), is not positive.

        Velocities of joints beyond a limit count from that which brings them back.
        """
        if not p:
            return []
        gained = total([x * y for x, y in zip(p, self.b, strict=True)])
        for push, joint in zip(p[self.first :], self.joints, strict=True):
            gained = gained - push * joint.cut(number(0.0))
        taken = self.energy(p)
        part = minimum(maximum(-2.0 * gained * reciprocal(taken + SMALL), 0.0), 1.0)
        return [part * x for x in p]

    def energy(self, p: Sequence[Scalar]) -> Scalar:
        """pᵀ G p."""
        return total([x * y for x, y in zip(p, self.times(p), strict=True)])

    def _residual(self, p: Sequence[Scalar]) -> Scalar:
        """The largest |p - nearest(p - rho u')| / rho [m/s] of the active contacts; of joints, how far u is from where
        p leaves it."""
        u, residuals = [x + y for x, y in zip(self.b, self.times(p), strict=True)], list[Scalar]()
        for k, mu in enumerate(self.friction):
            ux, uy, un = u[3 * k : 3 * k + 3]
            across = sqrt(ux * ux + uy * uy + SMALL)
            rate = maximum(*self.rates[k])
            rho = reciprocal(rate)
            push = vec.three(p, 3 * k)
            miss = vec.sub(push, nearest(vec.sub(push, vec.scale(rho, (ux, uy, un + mu * across))), mu))
            residuals.append(self.active[3 * k] * sqrt(vec.dot(miss, miss) + SMALL * rho * rho) * rate)
        for i, joint in enumerate(self.joints, self.first):
            g = self.entry(i, i)
            residuals.append(absolute(u[i] - joint.velocity(u[i] - g * p[i], g)))
        return reduce(maximum, residuals) if residuals else number(0.0)

    def _in_world(self, p: Sequence[Scalar]) -> list[Scalar]:
        """Impulses in the world's axes; zero for inactive contacts."""
        turned = (vec.transposed_times(axes, vec.three(p, 3 * k)) for k, axes in enumerate(self.axes))
        return [self.active[3 * k] * x for k, one in enumerate(turned) for x in one]


def _angular(columns: Mapping[int, Pair]) -> list[Row]:
    """The rows of the angular velocity."""
    return [{k: x for k, pair in columns.items() if not is_zero(x := pair[1][row])} for row in range(3)]


def _combined(weights: Sequence[Scalar], rows: Sequence[Row]) -> Row:
    """The sum of rows with these weights."""
    found: Row = {}
    for weight, row in zip(weights, rows, strict=True):
        for k, x in row.items():
            found[k] = found[k] + weight * x if k in found else weight * x
    return found


def basis(normal: Vector) -> Matrix:
    """Two unit tangents and the unit normal (rows), given a normal of any length: Duff et al. 2017."""
    x, y, z = vec.scale(reciprocal(sqrt(vec.dot(normal, normal))), normal)
    sign = select(z, 1.0, -1.0)
    a = -reciprocal(sign + z)
    b = x * y * a
    return (1.0 + sign * x * x * a, sign * b, -(sign * x)), (b, sign + y * y * a, -y), (x, y, z)


def nearest(p: Vector, mu: Scalar) -> Vector:
    """The projection of p onto the cone |p_t| <= mu p_n."""
    x, y, n = p
    across = sqrt(x * x + y * y + SMALL)
    push = maximum((n + mu * across) * reciprocal(1.0 + mu * mu), 0.0)
    inside, part = mu * n - across, mu * push * reciprocal(across)
    return select(inside, x, part * x), select(inside, y, part * y), select(inside, n, push)
