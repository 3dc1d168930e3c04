"""A dense convex quadratic program by a primal-dual interior point method.

Minimum of x^T H x / 2 + g^T x with rows of A x, entries of x within limits, and E x = e. Each limit is a side k:
sign_k v_k <= h_k, where v_k is an entry of x or of A x. With slacks s and multipliers z of sides, and G their rows,

    H x + g + G^T z + E^T y = 0,  G x + s = h + theta,  E x = e,  s z = mu,   s, z > 0.

theta >= 0 widens all sides alike at the start, so that s = h - G x + theta is positive from any x; it shrinks with the
steps to 0, and does not where there is no feasible x. A step is Mehrotra's predictor and corrector with one Cholesky
factor of H + G^T diag(z / s) G + E^T E / DELTA. The problem is scaled first, so that units do not matter.

Source: S. Mehrotra, "On the implementation of a primal-dual interior point method" (1992); J. Nocedal, S. Wright,
"Numerical Optimization" (2006), section 16.6.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple, TypeAlias

from condyle.scalar import Scalar, absolute, is_zero, maximum, minimum, number, reciprocal, select, sqrt

Vector: TypeAlias = "list[Scalar]"
Matrix: TypeAlias = "list[list[Scalar]]"

DELTA = 1e-7
"""Of equalities: E dx - DELTA dy is their residual in one step. Their multipliers y are carried, so it adds no error."""
DAMPED = 1e-10
"""Added to the diagonal of the scaled H in steps: a zero Hessian has a factor."""
PIVOT = 1e-14
"""The least pivot of a factor, beside the diagonal entry there."""
SLACK, MULTIPLIER = 0.3, 0.3
"""Least slacks at the start, and their multipliers, in the units of the scaled problem."""
LEAST = 1e-15
"""The least slack: differences of rounded numbers may be zero."""
KEPT = 0.995
"""The part of the longest step that is taken."""
STEP = 1e-5
"""The last step is this small beside x; the error that it leaves is smaller by a factor of ten or more."""
CLEAR = 1e6
"""theta z, beside 1 + mu, where no feasible x is near."""
FAR = 1e4
"""Where a certificate says that no feasible x is nearer than this, in scaled units, the problem is called infeasible."""
TINY, LARGE = 1e-30, 1e20
"""Denominators are not below it; limits not above it."""


class Side(NamedTuple):
    """sign v <= limit; place: an entry of [x; A x]."""

    place: int
    sign: float


class Problem(NamedTuple):
    """hessian: symmetric, all entries. limits: by side, sign times the limit."""

    hessian: Matrix
    gradient: Vector
    rows: Matrix
    equal: Matrix
    target: Vector
    sides: tuple[Side, ...]
    limits: Vector


class State(NamedTuple):
    """What a step changes. w: A x. gradient: that of the Lagrangian. y, gap: multipliers and E x - e of equalities."""

    x: Vector
    w: Vector
    z: Vector
    theta: Scalar
    gradient: Vector
    y: Vector
    gap: Vector


class Units(NamedTuple):
    """x and the gradient of the cost in which all is of order 1; the factor of each row, and of each equality."""

    x: Scalar
    gradient: Scalar
    rows: Vector
    equal: Vector


def dot(left: Sequence[Scalar], right: Sequence[Scalar]) -> Scalar:
    """The sum of products, without those with a zero."""
    return _sum([x * y for x, y in zip(left, right, strict=True) if not (is_zero(x) or is_zero(y))])


def _sum(terms: Sequence[Scalar]) -> Scalar:
    return reduce(lambda x, y: x + y, terms) if terms else number(0.0)


def _times(matrix: Matrix, x: Vector) -> Vector:
    return [dot(row, x) for row in matrix]


def _transposed(matrix: Matrix, columns: int) -> Matrix:
    return [[row[j] for row in matrix] for j in range(columns)]


def _most(values: Sequence[Scalar]) -> Scalar:
    return reduce(maximum, values) if values else number(0.0)


def _largest(values: Sequence[Scalar]) -> Scalar:
    return _most([absolute(x) for x in values])


def factor(matrix: Matrix) -> tuple[Matrix, Vector]:
    """Cholesky's L below the diagonal, and the reciprocals on it; pivots are kept above zero."""
    n = len(matrix)
    rows: Matrix = [[number(0.0)] * k for k in range(n)]
    inverse: Vector = []
    for j in range(n):
        pivot = matrix[j][j] - dot(rows[j], rows[j])
        inverse.append(reciprocal(sqrt(maximum(pivot, PIVOT * matrix[j][j]))))
        for i in range(j + 1, n):
            rest = dot(rows[i][:j], rows[j])
            entry = matrix[i][j] if is_zero(rest) else matrix[i][j] - rest
            rows[i][j] = entry if is_zero(entry) else entry * inverse[j]
    return rows, inverse


def solved(factored: tuple[Matrix, Vector], right: Vector) -> Vector:
    """The solution with a matrix of this factor."""
    rows, inverse = factored
    y: Vector = []
    for k, row in enumerate(rows):
        y.append((right[k] - dot(row, y)) * inverse[k])
    n = len(rows)
    for k in reversed(range(n)):
        y[k] = (y[k] - dot([rows[i][k] for i in range(k + 1, n)], y[k + 1 :])) * inverse[k]
    return y


def by_place(problem: Problem, values: Sequence[Scalar], signed: bool = True) -> Vector:
    """Sums over the sides of each place, signs counted: G^T, where places stand for their rows."""
    sums: Vector = [number(0.0)] * (len(problem.gradient) + len(problem.rows))
    for side, value in zip(problem.sides, values, strict=True):
        sums[side.place] = sums[side.place] - value if signed and side.sign < 0.0 else sums[side.place] + value
    return sums


def _pulled(problem: Problem, places: Vector) -> Vector:
    """The gradient by x of what is by place."""
    n = len(problem.gradient)
    columns = _transposed(problem.rows, n)
    return [places[j] + dot(columns[j], places[n:]) for j in range(n)]


def condensed(problem: Problem, weights: Vector) -> Matrix:
    """The lower triangle of H + diag(weights of x) + A^T diag(weights of rows) A."""
    n = len(problem.gradient)
    columns = _transposed(problem.rows, n)
    weighted = [[w * x if not is_zero(x) else x for w, x in zip(weights[n:], column, strict=True)] for column in columns]
    made: Matrix = []
    for i in range(n):
        row = [problem.hessian[i][j] + dot(weighted[i], columns[j]) for j in range(i + 1)]
        row[i] = row[i] + weights[i]
        made.append(row)
    return made


def stiffened(problem: Problem) -> Problem:
    """With H + E^T E / DELTA and damping in place of H: what steps are made with."""
    n = len(problem.gradient)
    columns = _transposed(problem.equal, n)
    scaled = [[x * (1.0 / DELTA) for x in column] for column in columns]
    hessian = [
        [problem.hessian[i][j] + dot(scaled[i], columns[j]) + (DAMPED if i == j else 0.0) for j in range(n)]
        for i in range(n)
    ]
    return problem._replace(hessian=hessian)


def scaled(problem: Problem, x: Vector, z: Vector, y: Vector) -> tuple[Problem, State, Units]:
    """The problem with all numbers of order 1, and the state at the start: at x, and multipliers, or at none ([])."""
    sides, n = problem.sides, len(problem.gradient)
    norms = [_inverse_norm(row) for row in problem.rows]
    equal_norms = [_inverse_norm(row) for row in problem.equal]
    rows = [[x * norm for x in row] for row, norm in zip(problem.rows, norms, strict=True)]
    equal = [[x * norm for x in row] for row, norm in zip(problem.equal, equal_norms, strict=True)]
    limits = [_clipped(h * norms[k.place - n] if k.place >= n else h) for h, k in zip(problem.limits, sides, strict=True)]
    for side, limit in zip(sides, limits, strict=True):
        if side.place < n:
            x = [*x]
            x[side.place] = minimum(x[side.place], limit) if side.sign > 0.0 else maximum(x[side.place], -limit)
    w = _times(rows, x)
    values = [*x, *w]
    room = [h - values[k.place] if k.sign > 0.0 else h + values[k.place] for h, k in zip(limits, sides, strict=True)]
    gap = [dot(row, x) - e * norm for row, e, norm in zip(equal, problem.target, equal_norms, strict=True)]
    slope = [g + h for g, h in zip(problem.gradient, _times(problem.hessian, x), strict=True)]
    steepest, stiffest = _largest(slope), _most([problem.hessian[k][k] for k in range(n)])
    missed = maximum(_largest(gap), _most([-r for r in room])) if sides or gap else number(0.0)
    length = steepest * reciprocal(maximum(stiffest, TINY))
    if sides:
        length = minimum(length, _largest(room))
    length = maximum(length, missed)
    length = select(TINY - length, 1.0, length)
    force = maximum(steepest, stiffest * length)
    force = select(TINY - force, 1.0, force)
    by_length, by_force = reciprocal(length), reciprocal(force)
    cost = length * by_force
    small = Problem(
        [[h if is_zero(h) else h * cost for h in row] for row in problem.hessian],
        [g * by_force for g in problem.gradient],
        rows,
        equal,
        [e * norm * by_length for e, norm in zip(problem.target, equal_norms, strict=True)],
        sides,
        [h * by_length for h in limits],
    )
    least = _most([SLACK - r * by_length for r in room])
    theta = maximum(least, 0.0) if sides else number(0.0)
    slack = [r * by_length + theta for r in room]
    multipliers = [SLACK * MULTIPLIER * reciprocal(s) for s in slack]
    pulled = _pulled(small, by_place(small, multipliers))
    gradient = [s * by_force + p for s, p in zip(slope, pulled, strict=True)]
    none: Vector = [number(0.0)] * len(equal)
    state = State(
        [v * by_length for v in x], [v * by_length for v in w], multipliers, theta, gradient, none, [r * by_length for r in gap]
    )
    return small, state, Units(length, force, norms, equal_norms)


def _inverse_norm(row: Vector) -> Scalar:
    return reciprocal(sqrt(maximum(dot(row, row), TINY)))


def _clipped(limit: Scalar) -> Scalar:
    return maximum(minimum(limit, LARGE), -LARGE)


def step(problem: Problem, state: State) -> tuple[State, Scalar]:
    """The state after a step of a `stiffened` problem, and whether it was the last: 1, else 0."""
    sides, n = problem.sides, len(problem.gradient)
    values, theta = [*state.x, *state.w], state.theta
    widened = [h + theta for h in problem.limits]
    s = [
        maximum(h - values[k.place] if k.sign > 0.0 else h + values[k.place], LEAST)
        for h, k in zip(widened, sides, strict=True)
    ]
    z = state.z
    products = [a * b for a, b in zip(s, z, strict=True)]
    inverse = [reciprocal(p) for p in products]
    by_s = [a * b for a, b in zip(z, inverse, strict=True)]
    by_z = [a * b for a, b in zip(s, inverse, strict=True)]
    d = [a * b for a, b in zip(z, by_s, strict=True)]
    weights = by_place(problem, d, signed=False)
    factored = factor(condensed(problem, weights))
    lifted = [g * (1.0 / DELTA) for g in state.gap]
    columns = _transposed(problem.equal, n)
    right = [-g - dot(columns[j], lifted) for j, g in enumerate(state.gradient)]

    def moved(forces: Vector) -> tuple[Vector, Vector, Vector]:
        """Changes of x, of A x and of slacks, where these forces are on sides."""
        pulled = _pulled(problem, by_place(problem, forces))
        dx = solved(factored, [r - p for r, p in zip(right, pulled, strict=True)])
        dw = _times(problem.rows, dx)
        both = [*dx, *dw]
        return dx, dw, [-theta - both[k.place] if k.sign > 0.0 else both[k.place] - theta for k in sides]

    share = 1.0 / len(sides)
    mu = _sum(products) * share
    forces = [b * theta - a for a, b in zip(z, d, strict=True)]
    _, _, ds = moved(forces)
    ratios = [a * b for a, b in zip(ds, by_s, strict=True)]
    bends = [r * r + r for r in ratios]
    # both steps' bounds: ds / s is the ratio, dz / z is -1 - ratio
    longest = reciprocal(_most([number(1.0), *[maximum(-r, r + 1.0) for r in ratios]]))
    bent = [b * c for b, c in zip(z, bends, strict=True)]
    curved = dot(s, bent) * share
    left = (1.0 - longest) * mu - longest * longest * curved
    centre = left * reciprocal(maximum(mu, TINY))
    centre = centre * centre * centre * mu
    pushed = [centre * b + c for b, c in zip(by_s, bent, strict=True)]
    dx, dw, ds = moved([f + p for f, p in zip(forces, pushed, strict=True)])
    dz = [p - a - b * c for p, a, b, c in zip(pushed, z, d, ds, strict=True)]
    limit = _most([*[-a * b for a, b in zip(ds, by_s, strict=True)], *[-a * b for a, b in zip(dz, by_z, strict=True)]])
    taken = minimum(KEPT * reciprocal(maximum(limit, 1e-3)), 1.0)
    rest = 1.0 - taken
    change = _times(problem.equal, dx)
    dy = [(c + r) * (1.0 / DELTA) for c, r in zip(change, state.gap, strict=True)]
    after = State(
        _moved(state.x, taken, dx),
        _moved(state.w, taken, dw),
        _moved(z, taken, dz),
        theta * rest,
        [g * rest for g in state.gradient],
        _moved(state.y, taken, dy),
        _moved(state.gap, taken, change),
    )
    far = [_largest(dx) - STEP * maximum(_largest(after.x), 0.01), rest - 0.1, after.theta - 1e-9, mu - 1e-6]
    far += [_largest(after.gradient) - 1e-7]
    if after.gap:
        far += [_largest(after.gap) - 1e-8]
    wide = theta * _sum(z) + _sum([absolute(a * b) for a, b in zip(after.y, after.gap, strict=True)])
    going = minimum(_most(far), CLEAR * (1.0 + mu) - wide)
    return after, select(going, 0.0, 1.0)


def _moved(start: Vector, length: Scalar, along: Vector) -> Vector:
    return [a + length * b for a, b in zip(start, along, strict=True)]
