"""One step of time with unilateral contacts and Coulomb friction, as a complementarity problem of velocities.

With v_f = v + h M^-1 (tau - c), J of the contacts' points and impulses p, along the normal n and the tangents t,

    v_next = v_f + M^-1 Jᵀ p,    u = J v_next = J v_f + G p,    G = J M^-1 Jᵀ,    w = u_n + gap / h,
    0 <= p_n,  0 <= w,  p_n w = 0,    |p_t| <= friction p_n,    p_t |u_t| = -friction p_n u_t.

Moreau 1988; Jean 1999. Solved by `SWEEPS` sweeps of projected Gauss-Seidel over the contacts; at each contact p_n
first, then p_t. The residual is de Saxcé's: with u' = (u_t, w + friction |u_t|) the conditions hold if and only if p is
the projection of p - rho u' onto the cone, for any rho > 0 (Acary, Brogliato 2008, section 3.9).

Rows of joints (`joint_rows`), if there are any, are unit vectors below the contacts' rows in J. A sweep comes to them
before the contacts, so that impulses of contacts are all that a start needs, and once more at the end, so that joints
are exact where sweeps do not suffice. Before every `BETWEEN` sweeps and at the end, all joints that rest are solved for
together, a step of a semi-smooth Newton method (Alart, Curnier 1991).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, reduce

from condyle.algorithms.contact_forces import Constrained, Regular
from condyle.algorithms.contacts import Row
from condyle.algorithms.drives import driven
from condyle.algorithms.joint_rows import JointRow
from condyle.algorithms.ltl import half_solved, ltl, solve
from condyle.algorithms.matrix import SparseMatrix
from condyle.algorithms.solvers import net_force
from condyle.algorithms.unrolled import Unrolled
from condyle.scalar import Scalar, absolute, is_zero, maximum, minimum, number, reciprocal, select, sqrt, total
from condyle.spatial import vector as vec
from condyle.spatial.vector import Matrix, Vector

SWEEPS = 25
"""Sweeps over all contacts."""
BETWEEN = 5
"""Sweeps between two solves for all joints that rest."""
SMALL = 1e-24
"""Added to squares of lengths: a length of zero has a derivative then, and nothing is divided by zero."""


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
        found = list[Row]()
        for k, (one, axes) in enumerate(zip(self.contacts.held, self.axes, strict=True)):
            link, rows = self.contacts.axes(one.side.link), self.contacts.J[3 * k : 3 * k + 3]
            for axis in axes:
                turn = vec.transposed_times(one.side.frame.axes, vec.transposed_times(link, axis))
                found.append(_combined(vec.scale(self.active[3 * k], turn), rows))
        return found + [{joint.entry: number(1.0)} for joint in self.joints]

    @cached_property
    def regular(self) -> Regular:
        """Of the contacts, with the same mu D for all rows: so the result does not depend on the choice of tangents."""
        contacts = ((i, j, x) for i, j, x in self.G if max(i, j) < self.first)
        return self.regularised(SparseMatrix.from_entries(self.first, contacts), alike=True)

    @cached_property
    def rows(self) -> list[list[Scalar]]:
        """G, all entries."""
        n = range(self.G.size)
        return [[number(0.0) if (x := self.G.get(i, j)) is None else x for j in n] for i in n]

    @cached_property
    def steps(self) -> list[tuple[Scalar, Scalar]]:
        """Step lengths (p_n, p_t) of each contact: 1 / G_nn, and 1 / the largest eigenvalue of the tangents' 2 x 2
        block."""
        found = list[tuple[Scalar, Scalar]]()
        for k in range(0, self.first, 3):
            least = self.regular.damped[k] + (1.0 - self.active[k])
            xx, xy, yy, nn = self.rows[k][k], self.rows[k][k + 1], self.rows[k + 1][k + 1], self.rows[k + 2][k + 2]
            half = 0.5 * (xx - yy)
            largest = 0.5 * (xx + yy) + sqrt(half * half + xy * xy + SMALL)
            found.append((reciprocal(nn + least), reciprocal(largest + least)))
        return found

    def step(self) -> tuple[list[Scalar], list[Scalar], Scalar]:
        """(v_next, impulses in the world's axes, residual) for the tree's inputs."""
        v, (h,) = self.tree.inputs["v"], self.tree.inputs["dt"]
        friction = [maximum(x, 0.0) for x in self.tree.inputs["friction"]]
        half = half_solved(self.factors, dict(enumerate(h * x for x in net_force(driven(self.tree)))))
        b = [total([x * v[k] for k, x in row.items()]) if row else number(0.0) for row in self.J]
        b = [x + y for x, y in zip(b, self.at_contacts(half), strict=True)]
        for k, gap in enumerate(self.tree.inputs.get("gaps", ())):
            b[3 * k + 2] = b[3 * k + 2] + self.active[3 * k] * gap * reciprocal(h)
        p = self._start(b, friction)
        for k in range(SWEEPS):
            p = self._joints_swept(b, p)
            if k % BETWEEN == 0:
                p = self._rested(b, p)
            p = self._sweep(b, p, friction)
        p = self._without_gain(b, self._rested(b, self._joints_swept(b, p)))
        moved = self.moved(half, p)
        found = [x + y for x, y in zip(v, moved, strict=True)]
        return found, self._in_world(p), self._residual(b, p, friction)

    def _start(self, b: Sequence[Scalar], friction: Sequence[Scalar]) -> list[Scalar]:
        """The first p: the input impulse0, else that of sticking contacts (w = 0, u_t = 0); cut off at the cones. Zero
        of joints."""
        given = self.tree.inputs.get("impulse0")
        if given is None:
            p = self.forces([-x for x in b[: self.first]]) if friction else []
        else:
            p = [x for k, axes in enumerate(self.axes) for x in vec.times(axes, vec.three(given, 3 * k))]
        found = list[Scalar]()
        for k, mu in enumerate(friction):
            push = maximum(p[3 * k + 2], 0.0)
            found += [*shortened((p[3 * k], p[3 * k + 1]), mu * push), push]
        return found + [number(0.0) for _ in self.joints]

    def _velocity(self, i: int, b: Sequence[Scalar], p: Sequence[Scalar]) -> Scalar:
        return total([b[i], *(x * y for x, y in zip(self.rows[i], p, strict=True) if not is_zero(x))])

    def _sweep(self, b: Sequence[Scalar], p: Sequence[Scalar], friction: Sequence[Scalar]) -> list[Scalar]:
        p = list(p)
        for k, (mu, (normal, across)) in enumerate(zip(friction, self.steps, strict=True)):
            x, y, n = 3 * k, 3 * k + 1, 3 * k + 2
            p[n] = maximum(p[n] - normal * self._velocity(n, b, p), 0.0)
            moved = p[x] - across * self._velocity(x, b, p), p[y] - across * self._velocity(y, b, p)
            p[x], p[y] = shortened(moved, mu * p[n])
        return p

    def _without(self, i: int, b: Sequence[Scalar], p: Sequence[Scalar]) -> Scalar:
        """The velocity of a row without its own impulse."""
        return self._velocity(i, b, p) - self.rows[i][i] * p[i]

    def _joints_swept(self, b: Sequence[Scalar], p: Sequence[Scalar]) -> list[Scalar]:
        p = list(p)
        for i, joint in enumerate(self.joints, self.first):
            w, g = self._without(i, b, p), self.rows[i][i]
            p[i] = (joint.velocity(w, g) - w) * reciprocal(g)
        return p

    def _rested(self, b: Sequence[Scalar], p: Sequence[Scalar]) -> list[Scalar]:
        """p with all joints that rest or are at a stop solved for together, then swept over."""
        if not self.joints:
            return list(p)
        flags, ends, moved = list[Scalar](), list[Scalar](), list(p)
        for i, joint in enumerate(self.joints, self.first):
            w, g = self._without(i, b, p), self.rows[i][i]
            flags.append(joint.rests(w, g))
            ends.append(joint.velocity(w, g))
            moved[i] = select(flags[-1] - 0.5, p[i], (ends[-1] - w) * reciprocal(g))
        held, misses = SparseMatrix(len(flags)), list[Scalar]()
        for i, (flag, end) in enumerate(zip(flags, ends, strict=True)):
            row = self.rows[self.first + i]
            misses.append(flag * (end - self._velocity(self.first + i, b, moved)))
            for j, (other, x) in enumerate(zip(flags, row[self.first :], strict=True)):
                if i == j:
                    held.put(i, i, flag * x + (1.0 - flag))
                elif not is_zero(x):
                    held.put(i, j, flag * other * x)
        for i, change in enumerate(solve(ltl(held), misses), self.first):
            moved[i] = moved[i] + change
        return self._joints_swept(b, moved)

    def _without_gain(self, b: Sequence[Scalar], p: Sequence[Scalar]) -> list[Scalar]:
        """p times the largest factor up to 1 at which the energy of the impulses, pᵀ (b + G p / 2), is not positive.

        Velocities of joints beyond a limit count from that which brings them back.
        """
        if not p:
            return []
        given = total([x * y for x, y in zip(p, b, strict=True)])
        for push, joint in zip(p[self.first :], self.joints, strict=True):
            given = given - push * joint.cut(number(0.0))
        taken = total([x * (self._velocity(i, b, p) - b[i]) for i, x in enumerate(p)])
        part = minimum(maximum(-2.0 * given * reciprocal(taken + SMALL), 0.0), 1.0)
        return [part * x for x in p]

    def _residual(self, b: Sequence[Scalar], p: Sequence[Scalar], friction: Sequence[Scalar]) -> Scalar:
        """The largest |p - nearest(p - rho u')| / rho [m/s] of the active contacts; of joints, how far u is from where
        p leaves it."""
        found = list[Scalar]()
        for k, mu in enumerate(friction):
            ux, uy, un = (self._velocity(3 * k + i, b, p) for i in range(3))
            across = sqrt(ux * ux + uy * uy + SMALL)
            rho = minimum(*self.steps[k])
            own = vec.three(p, 3 * k)
            back = nearest(vec.sub(own, vec.scale(rho, (ux, uy, un + mu * across))), mu)
            miss = vec.sub(own, back)
            found.append(self.active[3 * k] * sqrt(vec.dot(miss, miss) + SMALL * rho * rho) * reciprocal(rho))
        for i, joint in enumerate(self.joints, self.first):
            u, g = self._velocity(i, b, p), self.rows[i][i]
            found.append(absolute(u - joint.velocity(u - g * p[i], g)))
        return reduce(maximum, found) if found else number(0.0)

    def _in_world(self, p: Sequence[Scalar]) -> list[Scalar]:
        """Impulses in the world's axes; zero for inactive contacts."""
        turned = (vec.transposed_times(axes, vec.three(p, 3 * k)) for k, axes in enumerate(self.axes))
        return [self.active[3 * k] * x for k, one in enumerate(turned) for x in one]


def _combined(weights: Vector, rows: Sequence[Row]) -> Row:
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


def shortened(across: tuple[Scalar, Scalar], most: Scalar) -> tuple[Scalar, Scalar]:
    """The vector, scaled down where it is longer than `most`."""
    x, y = across
    part = minimum(most * reciprocal(sqrt(x * x + y * y + SMALL)), 1.0)
    return x * part, y * part


def nearest(p: Vector, mu: Scalar) -> Vector:
    """The projection of p onto the cone |p_t| <= mu p_n."""
    x, y, n = p
    across = sqrt(x * x + y * y + SMALL)
    push = maximum((n + mu * across) * reciprocal(1.0 + mu * mu), 0.0)
    inside, part = mu * n - across, mu * push * reciprocal(across)
    return select(inside, x, part * x), select(inside, y, part * y), select(inside, n, push)
