"""The complementarity problem of a step, given as numbers: rows of joints, sweeps, and steps of Newton's method.

Rows of G, b and p are those of `contact_friction`: two tangents and the normal of each contact, then joints. With step
lengths s and u = b + G p, a solution is a zero of F(p) = p - P(p - s u), where P cuts the normal entry off at zero, the
tangents at friction times the new normal entry, and an impulse of a joint as is said below. F / s is a velocity. F
is piecewise smooth, and a step d of the semi-smooth Newton method solves F'(p) d = -F(p) (Alart, Curnier 1991). With A
the derivative of P, which is 1 for a contact that sticks and 0 for one that is in the air,

    F' = 1 - A + A s (G + R),    R the small numbers that `contact_forces` adds on the diagonal of dependent rows.

Newton's method alone fails far from a solution, and sweeps alone take long near it. So each iteration is a few sweeps
and one step, of the length of `LENGTHS` that has the least |F / s|, or none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isfinite
from typing import NamedTuple

from condyle.algorithms.drives import law_number
from condyle.algorithms.linear_systems import dot
from condyle.algorithms.unrolled import Unrolled
from condyle.model.tree import Tree
from condyle.scalar import Scalar, absolute, is_zero, maximum, minimum, number, reciprocal, select, sqrt, total
from condyle.specification.ports import DRY_FRICTION

# Dry friction and limits of joints as rows of the complementarity problem of `contact_friction`.
#
# With u = v_next of a degree of freedom, p its impulse over a step of length h, f its dry friction:
#
#     p = p_f + p_l + p_u,    |p_f| <= h f,  p_f |u| = -h f u,
#     0 <= p_l,  0 <= u - low,  p_l (u - low) = 0,    p_u <= 0,  u <= high,  p_u (high - u) = 0,
#
# low = (lower limit - q) / h, high = (upper limit - q) / h. So -p is a subgradient of the convex function
#
#     phi(u) = h f |u|  where low <= u <= high,  else infinite.
#
# With w what u is without p, and g = dw / dp, u is the point that makes phi(u) + (u - w)² / (2 g) least (Moreau 1965):
# w, drawn towards zero by g h f, then cut off at low and high; and p = (u - w) / g.


AS_ROWS = ("friction", "limits")
"""The joint forces that become rows."""


class JointRow(NamedTuple):
    """The row of one degree of freedom. grip: h f; low, high: see above; None where there is no such thing."""

    entry: int
    grip: Scalar | None
    low: Scalar | None
    high: Scalar | None

    def drawn(self, w: Scalar, g: Scalar) -> Scalar:
        """w, drawn towards zero by g h f."""
        if self.grip is None:
            return w
        reach = g * self.grip
        return maximum(w - reach, 0.0) + minimum(w + reach, 0.0)

    def cut(self, u: Scalar) -> Scalar:
        """u, cut off at low and high."""
        u = u if self.low is None else maximum(u, self.low)
        return u if self.high is None else minimum(u, self.high)

    def velocity(self, w: Scalar, g: Scalar) -> Scalar:
        """u, given what it is without the impulse of this row."""
        return self.cut(self.drawn(w, g))

    def rests(self, w: Scalar, g: Scalar) -> Scalar:
        """1 where u is that of a joint that sticks, or that is at a stop; 0 where p is what friction can at most."""
        u, flag = self.drawn(w, g), number(0.0)
        if self.grip is not None:
            flag = select(g * self.grip - absolute(w), 1.0, flag)
        if self.low is not None:
            flag = select(self.low - u, 1.0, flag)
        return flag if self.high is None else select(u - self.high, 1.0, flag)


def apart(tree: Unrolled) -> tuple[Unrolled, list[JointRow]]:
    """The tree without the joint forces that are rows, and these rows; all of the tree where none are."""
    drives = tree.tree.drives
    if not drives.joint_rows:
        return tree, []
    smooth = drives._replace(forces=tuple(law for law in drives.forces if law not in AS_ROWS))
    dropped = DRY_FRICTION.name if "friction" in drives.forces else ""
    inputs = {name: entries for name, entries in tree.inputs.items() if name != dropped}
    return Unrolled(replace(tree.tree, drives=smooth), inputs), _rows(tree)


def _rows(tree: Unrolled) -> list[JointRow]:
    drives, (h,), rows = tree.tree.drives, tree.inputs["dt"], list[JointRow]()
    for k, place in enumerate(tree.tree.positions):
        f = law_number(tree, "friction", k) if "friction" in drives.forces else None
        limits = (drives.lower[k], drives.upper[k]) if "limits" in drives.forces else ()
        ends = [_rate(tree, place, limit, h) if isfinite(limit) else None for limit in limits] or [None, None]
        if f is not None or any(end is not None for end in ends):
            rows.append(JointRow(k, None if f is None else h * maximum(f, 0.0), *ends))
    return rows


def shape_of(tree: Tree, open_friction: bool) -> tuple[tuple[bool, bool, bool], ...]:
    """For each row whether it has a grip, a low and a high end. open_friction: whether friction is an input."""
    if not tree.drives.joint_rows:
        return ()
    zeros = [number(0.0)]
    inputs = {"q": zeros * tree.nq, "dt": zeros}
    if open_friction:
        inputs[DRY_FRICTION.name] = zeros * tree.nv
    return shape(_rows(Unrolled(tree, inputs)))


def shape(rows: Sequence[JointRow]) -> tuple[tuple[bool, bool, bool], ...]:
    """The same of rows that are there."""
    return tuple((x is not None, y is not None, z is not None) for _, x, y, z in rows)


def ends_of(rows: Sequence[JointRow]) -> list[Scalar]:
    """The numbers of rows, those that are there, one after the other."""
    return [x for _, *ends in rows for x in ends if x is not None]


def with_ends(shape: Sequence[Sequence[bool]], ends: Sequence[Scalar]) -> list[JointRow]:
    """Rows with these numbers."""
    numbers = iter(ends)
    return [JointRow(-1, *(next(numbers) if there else None for there in three)) for three in shape]


def _rate(tree: Unrolled, place: int, limit: float, h: Scalar) -> Scalar:
    """The velocity that reaches a limit in one step."""
    return (limit - tree.inputs["q"][place]) * reciprocal(h)


SWEEPS = 2
"""Sweeps before each step of Newton's method."""
LENGTHS = (1.0, 0.5, 0.2)
"""Of a step of Newton's method."""
FIRST, FACTOR = 1e-3, 10.0
"""What is added to R after the first step that is not taken whole, and by what it grows then, up to `FACTOR`, and falls
else."""
NEAR, NEARLY = 1e-6, 3e-6
"""|F / s| [m/s] from which one more step suffices, and times |b|, which allows for rounding in single precision."""
SMALL = 1e-24
"""Added to squares of lengths: a length of zero has a derivative then, and nothing is divided by zero."""

Values = Sequence[Scalar]
Factors = tuple[list[list[Scalar]], list[Scalar]]


class Linear(NamedTuple):
    """matrix: F' with R, where the normal row of each contact, times its grip on a tangent, is taken from the tangent's
    row. damping: the part of R in it. The derivative of the solution by a number y is -F'^-1 dF/dy."""

    matrix: list[list[Scalar]]
    damping: list[dict[int, Scalar]]
    grips: list[Scalar]

    def turned(self, right: Values) -> list[Scalar]:
        """What stands on the right of these rows."""
        right = list(right)
        for k, grip in enumerate(self.grips):
            row = 3 * (k // 2)
            right[row + k % 2] = right[row + k % 2] - grip * right[row + 2]
        return right

    def derivative(self, right: Values) -> list[Scalar]:
        """F'^-1 right, without what dependent rows make of right sides that contradict each other: see `_filtered`."""
        return _filtered(factored(self.matrix), self.damping, self.turned(right))

    def transposed(self, right: Values) -> list[Scalar]:
        """The same with the transposed matrix."""
        columns = [{i: row[j] for i, row in enumerate(self.damping) if j in row} for j in range(len(right))]
        answer = _filtered(factored([list(x) for x in zip(*self.matrix, strict=True)]), columns, list(right))
        for k, grip in enumerate(self.grips):
            row = 3 * (k // 2)
            answer[row + 2] = answer[row + 2] - grip * answer[row + k % 2]
        return answer


class Problem(NamedTuple):
    """G row by row, b, the friction of each contact, joints. steps, rates: s and 1 / s of each row; damping: R."""

    rows: Sequence[Values]
    b: Values
    steps: Values
    rates: Values
    damping: Values
    friction: Values
    joints: Sequence[JointRow]

    @property
    def first(self) -> int:
        """The first row of a joint."""
        return 3 * len(self.friction)

    def velocity(self, p: Values) -> list[Scalar]:
        """u = b + G p."""
        return [x + y for x, y in zip(self.b, self.times(p), strict=True)]

    def times(self, p: Values) -> list[Scalar]:
        """G p."""
        return [dot(row, p) for row in self.rows]

    def swept(self, p: Values) -> tuple[list[Scalar], list[Scalar]]:
        """(p, u) after a sweep over the joints and then the contacts, from p."""
        p, u = list(p), self.velocity(p)
        for _ in range(SWEEPS):
            for i in range(self.first, len(p)):
                self._change(p, u, (i,), (self._joint(i, u, p),))
            for k in range(0, self.first, 3):
                push = maximum(p[k + 2] - self.steps[k + 2] * u[k + 2], 0.0)
                self._change(p, u, (k + 2,), (push,))
                across = p[k] - self.steps[k] * u[k], p[k + 1] - self.steps[k + 1] * u[k + 1]
                self._change(p, u, (k, k + 1), shortened(across, self.friction[k // 3] * push))
        return p, u

    def _change(self, p: list[Scalar], u: list[Scalar], places: Sequence[int], values: Values) -> None:
        """Sets entries of p, and moves u with them."""
        for i, value in zip(places, values, strict=True):
            change, p[i] = value - p[i], value
            for j, row in enumerate(self.rows):
                if not is_zero(row[i]):
                    u[j] = u[j] + row[i] * change

    def _joint(self, i: int, u: Values, p: Values) -> Scalar:
        """The impulse of a joint that is right for the other impulses."""
        g = self.rows[i][i]
        w = u[i] - g * p[i]
        return (self.joints[i - self.first].velocity(w, g) - w) * self.steps[i]

    def misses(self, p: Values, u: Values) -> list[Scalar]:
        """F."""
        values = list[Scalar]()
        for k in range(0, self.first, 3):
            x, y, n = (p[i] - self.steps[i] * u[i] for i in range(k, k + 3))
            push = maximum(n, 0.0)
            values += [*shortened((x, y), self.friction[k // 3] * push), push]
        values += [self._joint(i, u, p) for i in range(self.first, len(p))]
        return [x - y for x, y in zip(p, values, strict=True)]

    def merit(self, misses: Values) -> Scalar:
        """|F / s|²."""
        return total([number(0.0), *((x * y) * (x * y) for x, y in zip(misses, self.rates, strict=True))])

    def is_near(self, merit: Scalar) -> Scalar:
        """Not below zero where |F / s| is as small as `NEAR` and `NEARLY` say."""
        return NEAR * NEAR + NEARLY * NEARLY * dot(self.b, self.b) - merit

    def linearised(self, p: Values, u: Values) -> Linear:
        """F', with A s R apart."""
        matrix, damping, grips = list[list[Scalar]](), list[dict[int, Scalar]](), list[Scalar]()
        for k in range(0, self.first, 3):
            x, y, n = (p[i] - self.steps[i] * u[i] for i in range(k, k + 3))
            across = sqrt(x * x + y * y + SMALL)
            inverse, most = reciprocal(across), self.friction[k // 3] * maximum(n, 0.0)
            x, y = x * inverse, y * inverse
            pushes, slips, part = select(n, 1.0, 0.0), select(most - across, 0.0, 1.0), minimum(most * inverse, 1.0)
            along = -(part * slips)
            A = (part + along * x * x, along * x * y), (along * x * y, part + along * y * y)
            pairs = list(zip(self.rows[k], self.rows[k + 1], strict=True))
            for i, (row, z) in enumerate(zip(A, (x, y), strict=True)):
                weights = [self.steps[k + j] * row[j] for j in range(2)]
                entries = [_sum(_times(a, weights[0]), _times(b, weights[1])) for a, b in pairs]
                for j in range(2):
                    entries[k + j] = entries[k + j] + ((1.0 if i == j else 0.0) - row[j])
                grips.append(pushes * slips * self.friction[k // 3] * z)
                entries[k + 2] = entries[k + 2] - grips[-1]
                matrix.append(entries)
                damping.append({k + j: weights[j] * self.damping[k + j] for j in range(2)})
            self._append(k + 2, pushes, matrix, damping)
        for i, joint in enumerate(self.joints, self.first):
            g = self.rows[i][i]
            self._append(i, joint.rests(u[i] - g * p[i], g), matrix, damping)
        for entries, more in zip(matrix, damping, strict=True):
            for j, x in more.items():
                entries[j] = entries[j] + x
        return Linear(matrix, damping, grips)

    def _append(self, i: int, flag: Scalar, matrix: list[list[Scalar]], damping: list[dict[int, Scalar]]) -> None:
        """The row of a velocity where the flag is 1, else of an impulse."""
        weight = flag * self.steps[i]
        entries = [_times(x, weight) for x in self.rows[i]]
        entries[i] = entries[i] + (1.0 - flag)
        matrix.append(entries)
        damping.append({i: weight * self.damping[i]})

    def direction(self, p: Values, u: Values, misses: Values) -> list[Scalar]:
        """d with F' d = -F."""
        linear = self.linearised(p, u)
        return solved(factored(linear.matrix), linear.turned([-x for x in misses]))

    def iterated(self, p: Values, extra: Scalar) -> tuple[list[Scalar], Scalar, Scalar]:
        """(p, `extra` of the next time, |F / s|²) after sweeps and a step of Newton's method.

        extra: times 1 / s, added to R. More makes a step shorter: more of it after a step that was cut short or left
        out, less after a whole one.
        """
        p, u = self.swept(p)
        misses = self.misses(p, u)
        damping = [x + extra * rate for x, rate in zip(self.damping, self.rates, strict=True)]
        d = self._replace(damping=damping).direction(p, u, misses)
        turned, least, length = self.times(d), self.merit(misses), number(0.0)
        for t in LENGTHS:
            merit = self.merit(self.misses(*(_moved(x, t, y) for x, y in ((p, d), (u, turned)))))
            length = select(least - merit, t, length)
            least = select(least - merit, merit, least)
        more = (FACTOR * extra + FIRST) * reciprocal(1.0 + extra)
        extra = select(length - 1.0, (1.0 / FACTOR) * extra, more)
        return [x + select(-length, 0.0, length * y) for x, y in zip(p, d, strict=True)], extra, least

    def with_joints_solved(self, p: Values) -> list[Scalar]:
        """p with the impulses of joints that are right for those of the contacts."""
        n, contacts = self.first, list(p[: self.first])
        if not self.joints:
            return contacts
        rows, zeros = [row[n:] for row in self.rows[n:]], [number(0.0)] * len(self.joints)
        b = self.velocity([*contacts, *zeros])[n:]
        alone = Problem(rows, b, self.steps[n:], self.rates[n:], self.damping[n:], (), self.joints)
        return [*contacts, *alone.swept(alone.iterated(p[n:], number(0.0))[0])[0]]

    def ended(self, p: Values) -> list[Scalar]:
        """p after a last step, which is left out where it would lead away, within the cones."""
        u = self.velocity(p)
        misses = self.misses(p, u)
        moved = _moved(p, 1.0, self.direction(p, u, misses))
        merit = self.merit(self.misses(moved, self.velocity(moved)))
        takes = maximum(select(self.merit(misses) - merit, 1.0, -1.0), select(self.is_near(merit), 1.0, -1.0))
        return cut([select(takes, x, y) for x, y in zip(moved, p, strict=True)], self.friction)


def cut(p: Values, friction: Values) -> list[Scalar]:
    """p, the impulses of contacts cut off at the cones."""
    p = list(p)
    for k, mu in enumerate(friction):
        push = maximum(p[3 * k + 2], 0.0)
        p[3 * k : 3 * k + 3] = [*shortened((p[3 * k], p[3 * k + 1]), mu * push), push]
    return p


def _sum(x: Scalar, y: Scalar) -> Scalar:
    return y if is_zero(x) else x if is_zero(y) else x + y


def _moved(p: Values, t: float, d: Values) -> list[Scalar]:
    return [x + t * y for x, y in zip(p, d, strict=True)]


def _filtered(factors: Factors, damping: Sequence[Mapping[int, Scalar]], right: list[Scalar]) -> list[Scalar]:
    """(1 - X)² (1 + 3 X + 6 X²) M^-1 right, X = M^-1 D with D the damping in M: (M - D)^-1 right up to 10 X³.

    Where X is 1, right sides contradict each other; what they ask for is taken away before it is divided by D.
    """

    def damped(x: Values) -> list[Scalar]:
        return [total([number(0.0), *(weight * x[j] for j, weight in row.items())]) for row in damping]

    for _ in range(2):
        right = [x - y for x, y in zip(right, damped(solved(factors, right)), strict=True)]
    first = solved(factors, right)
    second = solved(factors, damped(first))
    third = solved(factors, damped(second))
    return [x + 3.0 * y + 6.0 * z for x, y, z in zip(first, second, third, strict=True)]


def _times(x: Scalar, factor: Scalar) -> Scalar:
    return x if is_zero(x) else factor * x


def factored(matrix: list[list[Scalar]]) -> Factors:
    """L and U of a matrix in one, without pivoting, and the reciprocals of U's diagonal."""
    rows, inverses = [list(row) for row in matrix], list[Scalar]()
    for k, pivots in enumerate(rows):
        inverses.append(reciprocal(pivots[k]))
        for row in rows[k + 1 :]:
            if is_zero(row[k]):
                continue
            row[k] = row[k] * inverses[k]
            for j in range(k + 1, len(rows)):
                if not is_zero(pivots[j]):
                    row[j] = row[j] - row[k] * pivots[j]
    return rows, inverses


def solved(factors: Factors, right: list[Scalar]) -> list[Scalar]:
    """x of matrix x = right."""
    (rows, inverses), x = factors, list(right)
    n = len(x)
    for k in range(n):
        _remove(x, k, range(k + 1, n), rows)
    for k in reversed(range(n)):
        x[k] = x[k] * inverses[k]
        _remove(x, k, range(k), rows)
    return x


def _remove(x: list[Scalar], k: int, places: Sequence[int], rows: Sequence[Values]) -> None:
    """Takes from other entries what entry k makes there."""
    for i in places:
        if not is_zero(rows[i][k]):
            x[i] = x[i] - rows[i][k] * x[k]


def shortened(across: tuple[Scalar, Scalar], most: Scalar) -> tuple[Scalar, Scalar]:
    """The vector, scaled down where it is longer than `most`."""
    x, y = across
    part = minimum(most * reciprocal(sqrt(x * x + y * y + SMALL)), 1.0)
    return x * part, y * part
