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
from itertools import chain
from typing import NamedTuple, TypeAlias

from condyle.algorithms.linear_systems import Cholesky
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
NEAREST, WRONG = 0.01, 0.3
"""Of a start with multipliers: the least slack, and the residual from which on the multipliers are left out."""
LEAST = 1e-15
"""The least slack: differences of rounded numbers may be zero."""
KEPT = 0.999
"""The part of the longest step that is taken."""
SMALL = 1e-7
"""s z before the last step, at most."""
NEAR, CURVED = 6e-7, 1e-3
"""The last step leaves this error beside x, by what it does not take and by its curvature, at least this part of it."""
SOLVED = 1e-6
"""The residual of what is called solved, in the units of the scaled problem."""
CLEAR = 1e6
"""theta z, beside 1 + mu, where no feasible x is near."""
FAR = 1e4
"""Where a certificate says that no feasible x is nearer than this, in scaled units, the problem is called infeasible."""
STIFF = 1e8
"""Of derivatives: a side that holds x is a spring so many times as stiff as H."""
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
    """What a step changes. w: A x. left: the part of the gradient of the Lagrangian at the start that is left. y, gap:
    multipliers and E x - e of equalities."""

    x: Vector
    w: Vector
    z: Vector
    theta: Scalar
    left: Scalar
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


def _least(values: Sequence[Scalar]) -> Scalar:
    return reduce(minimum, values)


def _largest(values: Sequence[Scalar]) -> Scalar:
    return _most([absolute(x) for x in values])


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


def stiffened(problem: Problem, state: State) -> Problem:
    """What steps from a state are made with: H + E^T E / DELTA and damping in place of H, the gradient of the Lagrangian
    in place of g."""
    n = len(problem.gradient)
    columns = _transposed(problem.equal, n)
    scaled = [[x * (1.0 / DELTA) for x in column] for column in columns]
    hessian = [
        [problem.hessian[i][j] + dot(scaled[i], columns[j]) + (DAMPED if i == j else 0.0) for j in range(n)]
        for i in range(n)
    ]
    return problem._replace(hessian=hessian, gradient=_slope(problem, state.x, state.z, state.y))


def scaled(problem: Problem, x: Vector, start: Vector) -> tuple[Problem, State, Units]:
    """The problem with all numbers of order 1, and the state at x; start: multipliers as `answers` gives them, or []."""
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
    x, w, gap = ([v * by_length for v in part] for part in (x, w, gap))
    z: Vector = [number(0.0)] * len(sides)
    y: Vector = [number(0.0)] * len(equal)
    slack, product = number(SLACK), number(SLACK * MULTIPLIER)
    if start:
        places, fixed = split(problem, start)
        places = [v * by_force / norm for v, norm in zip(places, [*[1.0] * n, *norms], strict=True)]
        z = [maximum(places[k.place] if k.sign > 0.0 else -places[k.place], 0.0) for k in sides]
        y = [v * by_force / norm for v, norm in zip(fixed, equal_norms, strict=True)]
        wrong = maximum(_largest(_slope(small, x, z, y)), missed * by_length)
        slack = minimum(maximum(wrong, NEAREST), SLACK)
        product = slack * slack
        z = [select(WRONG - wrong, v, 0.0) for v in z]
        y = [select(WRONG - wrong, v, 0.0) for v in y]
    theta = maximum(_most([slack - r * by_length for r in room]), 0.0) if sides else number(0.0)
    z = [maximum(product * reciprocal(r * by_length + theta), v) for r, v in zip(room, z, strict=True)]
    state = State(x, w, z, theta, number(1.0), y, gap)
    return small, state, Units(length, force, norms, equal_norms)


def split(problem: Problem, multipliers: Vector) -> tuple[Vector, Vector]:
    """Multipliers by place of [x; A x], and those of equalities."""
    n, m = len(problem.gradient), len(problem.rows)
    box = multipliers[m : m + n] if has_box(problem) else [number(0.0)] * n
    return [*box, *multipliers[:m]], multipliers[len(multipliers) - len(problem.equal) :]


def has_box(problem: Problem) -> bool:
    return any(side.place < len(problem.gradient) for side in problem.sides)


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
    factored = Cholesky(condensed(problem, weights), PIVOT)
    lifted = [g * (1.0 / DELTA) for g in state.gap]
    columns = _transposed(problem.equal, n)
    right = [-(g * state.left) - dot(column, lifted) for g, column in zip(problem.gradient, columns, strict=True)]

    def moved(places: Vector) -> tuple[Vector, Vector, Vector]:
        """Changes of x, of A x and of slacks, where these forces are on places."""
        dx = factored.solve([r - p for r, p in zip(right, _pulled(problem, places), strict=True)])
        dw = _times(problem.rows, dx)
        both = [*dx, *dw]
        return dx, dw, [-theta - both[k.place] if k.sign > 0.0 else both[k.place] - theta for k in sides]

    share = 1.0 / len(sides)
    mu = _sum(products) * share
    forces = by_place(problem, [b * theta - a for a, b in zip(z, d, strict=True)])
    _, _, ds = moved(forces)
    ratios = [a * b for a, b in zip(ds, by_s, strict=True)]
    # ds / s is the ratio and dz / z is -1 - ratio: both bound the step
    longest = reciprocal(maximum(1.0, maximum(-_least(ratios), _most(ratios) + 1.0)))
    bends = [r * r + r for r in ratios]
    bent = [a * b for a, b in zip(z, bends, strict=True)]
    ahead = (1.0 - longest) * mu - longest * longest * (dot(s, bent) * share)
    centre = ahead * reciprocal(maximum(mu, TINY))
    centre = centre * centre * centre * mu
    pushed = [centre * b + c for b, c in zip(by_s, bent, strict=True)]
    dx, dw, ds = moved([f + p for f, p in zip(forces, by_place(problem, pushed), strict=True)])
    dz = [p - a - b * c for p, a, b, c in zip(pushed, z, d, ds, strict=True)]
    steepest = _least([a * b for a, b in zip([*ds, *dz], [*by_s, *by_z], strict=True)])
    taken = minimum(KEPT * reciprocal(maximum(-steepest, 1e-3)), 1.0)
    rest = 1.0 - taken
    change = _times(problem.equal, dx)
    dy = [(c + r) * (1.0 / DELTA) for c, r in zip(change, state.gap, strict=True)]
    after = State(
        _moved(state.x, taken, dx),
        _moved(state.w, taken, dw),
        _moved(z, taken, dz),
        theta * rest,
        state.left * rest,
        _moved(state.y, taken, dy),
        _moved(state.gap, taken, change),
    )
    missed = _largest(dx) * (rest + CURVED - _least(bends)) - NEAR * maximum(_largest(after.x), 0.01)
    far = [missed, mu - SMALL, after.theta - 1e-9, after.left - 1e-8, *[absolute(gap) - 1e-8 for gap in after.gap]]
    wide = theta * _sum(z) + _sum([absolute(a * b) for a, b in zip(after.y, after.gap, strict=True)])
    going = minimum(_most(far), CLEAR * (1.0 + mu) - wide)
    return after, select(going, 0.0, 1.0)


def _moved(start: Vector, length: Scalar, along: Vector) -> Vector:
    return [a + length * b for a, b in zip(start, along, strict=True)]


def balanced(problem: Problem, state: State) -> State:
    """The state at the minimum of a scaled problem without sides: one factor, and corrections by it."""
    stiff = stiffened(problem, state)
    factored = Cholesky(condensed(stiff, [number(0.0)] * len(state.x)), PIVOT)
    n = len(state.x)
    columns = _transposed(problem.equal, n)
    x, y, gap, gradient = state.x, state.y, state.gap, stiff.gradient
    for _ in range(3):
        lifted = [r * (1.0 / DELTA) for r in gap]
        dx = factored.solve([-g - dot(column, lifted) for g, column in zip(gradient, columns, strict=True)])
        change = _times(problem.equal, dx)
        x = [a + b for a, b in zip(x, dx, strict=True)]
        y = [a + (b + c) * (1.0 / DELTA) for a, b, c in zip(y, change, gap, strict=True)]
        gap = [a + b for a, b in zip(gap, change, strict=True)]
        gradient = _slope(problem, x, state.z, y)
    return state._replace(x=x, y=y, gap=gap)


def _slope(problem: Problem, x: Vector, z: Vector, y: Vector) -> Vector:
    """The gradient of the Lagrangian."""
    columns, pulled = _transposed(problem.equal, len(x)), _pulled(problem, by_place(problem, z))
    rows = zip(problem.hessian, problem.gradient, pulled, columns, strict=True)
    return [dot(row, x) + g + p + dot(column, y) for row, g, p, column in rows]


def answers(problem: Problem, limits: Vector, state: State, units: Units, done: Scalar) -> tuple[Vector, Vector, Scalar, Scalar]:
    """(x, multipliers of rows, of the box if there is one, of equalities; residual; status) of the problem before it was
    scaled. limits: its limits."""
    sides, n = problem.sides, len(state.x)
    x, z, y = state.x, state.z, state.y
    values = [*x, *_times(problem.rows, x)]
    room = [h - values[k.place] if k.sign > 0.0 else h + values[k.place] for h, k in zip(problem.limits, sides, strict=True)]
    gap = [dot(row, x) - e for row, e in zip(problem.equal, problem.target, strict=True)]
    slack = [absolute(a * maximum(r, 0.0)) for a, r in zip(z, room, strict=True)]
    residual = _most([_largest(_slope(problem, x, z, y)), *[-r for r in room], *map(absolute, gap), *slack])
    columns = _transposed(problem.equal, n)
    pulled = _pulled(problem, by_place(problem, z))
    normal = _sum([absolute(p + dot(column, y)) for p, column in zip(pulled, columns, strict=True)])
    apart = -dot(problem.limits, z) - dot(problem.target, y) - FAR * normal - TINY
    solved = select(minimum(SOLVED - residual, done - 0.5), 1.0, 0.0)
    status = select(solved - 0.5, 1.0, select(apart, -1.0, 0.0)) if sides or gap else solved
    x = [v * units.x for v in x]
    for side, limit in zip(sides, limits, strict=True):
        if side.place < n:
            x[side.place] = minimum(x[side.place], limit) if side.sign > 0.0 else maximum(x[side.place], -limit)
    places = [v * units.gradient for v in by_place(problem, z)]
    rows = [a * b for a, b in zip(places[n:], units.rows, strict=True)]
    box = places[:n] if has_box(problem) else []
    equal = [a * units.gradient * b for a, b in zip(y, units.equal, strict=True)]
    return x, [*rows, *box, *equal], residual, status


class Held(NamedTuple):
    """A solution, and what holds it: sides as springs, equalities as rows with the stiffest.

    rows: those of A, then of E. places: stiffness of each entry of [x; rows]. d: of each side. y: multipliers of these
    rows. A side whose multiplier and slack are both 0 holds nothing.
    """

    x: Vector
    y: Vector
    rows: Matrix
    places: Vector
    d: Vector
    factored: Cholesky


def held(problem: Problem, x: Vector, multipliers: Vector) -> Held:
    """The linear system of derivatives at a solution: problem and answers as the user has them."""
    n, m = len(x), len(problem.rows)
    stiff = STIFF * maximum(_most([problem.hessian[k][k] for k in range(n)]), TINY)
    rows = [*problem.rows, *problem.equal]
    most = [stiff] * n + [stiff * reciprocal(maximum(dot(row, row), TINY)) for row in rows]
    values = [*x, *_times(problem.rows, x)]
    forces, fixed = split(problem, multipliers)
    d: Vector = []
    for side, limit in zip(problem.sides, problem.limits, strict=True):
        z, s = (v if side.sign > 0.0 else -v for v in (forces[side.place], values[side.place]))
        z, s, top = maximum(z, 0.0), maximum(limit - s, 0.0), most[side.place]
        d.append(top * z * reciprocal(top * s + z + TINY))
    places = [*by_place(problem, d, signed=False), *most[n + m :]]
    merged = problem._replace(rows=rows)
    matrix = condensed(merged, places)
    for k in range(n):
        matrix[k][k] = matrix[k][k] + stiff * (DAMPED / STIFF)
    return Held(x, [*multipliers[:m], *fixed], rows, places, d, Cholesky(matrix, PIVOT))


def tangent(problem: Problem, at: Held, change: Problem) -> tuple[Vector, Vector]:
    """Changes of x and of the multipliers along one of the problem, whose limits are signed alike."""
    n = len(at.x)
    rows = [*change.rows, *change.equal]
    shift = _shifts(problem, at, change)
    turned = [d * v - s for d, v, s in zip(at.places[n:], _times(rows, at.x), shift[n:], strict=True)]
    merged = problem._replace(rows=at.rows)
    pulled = _pulled(merged, [*[-s for s in shift[:n]], *turned])
    columns = _transposed(rows, n)
    force = [dot(row, at.x) + g + dot(column, at.y) for row, g, column in zip(change.hessian, change.gradient, columns, strict=True)]
    dx = at.factored.solve([-f - p for f, p in zip(force, pulled, strict=True)])
    dy = [d * v + t for d, v, t in zip(at.places[n:], _times(at.rows, dx), turned, strict=True)]
    box = [d * v - s for d, v, s in zip(at.places, dx, shift, strict=False)]
    m = len(problem.rows)
    return dx, [*dy[:m], *(box if has_box(problem) else []), *dy[m:]]


def _shifts(problem: Problem, at: Held, change: Problem) -> Vector:
    """By place, forces of limits that move."""
    forces = [d * h for d, h in zip(at.d, change.limits, strict=True)]
    n, m = len(at.x), len(problem.rows)
    targets = [d * e for d, e in zip(at.places[n + m :], change.target, strict=True)]
    return [*by_place(problem, forces), *targets]


def cotangent(problem: Problem, at: Held, x_bar: Vector, multipliers_bar: Vector) -> Problem:
    """The cotangents of a problem, its limits signed, by those of x and of the multipliers. hessian: the lower triangle,
    of a symmetric matrix."""
    n, m = len(at.x), len(problem.rows)
    both = [*chain(*split(problem, multipliers_bar))]
    merged = problem._replace(rows=at.rows)
    u = at.factored.solve([a + b for a, b in zip(x_bar, _pulled(merged, [d * v for d, v in zip(at.places, both, strict=True)]), strict=True)])
    moved = [a - b for a, b in zip([*u, *_times(at.rows, u)], both, strict=True)]
    turned = [-d * v for d, v in zip(at.places[n:], moved[n:], strict=True)]
    bars = [[t * x - y * v for x, v in zip(at.x, u, strict=True)] for t, y in zip(turned, at.y, strict=True)]
    hessian = [[-(u[i] * at.x[j] + u[j] * at.x[i]) if i != j else -u[i] * at.x[i] for j in range(i + 1)] for i in range(n)]
    limits = [d * (moved[k.place] if k.sign > 0.0 else -moved[k.place]) for d, k in zip(at.d, problem.sides, strict=True)]
    return Problem(hessian, [-v for v in u], bars[:m], bars[m:], [-t for t in turned[m:]], problem.sides, limits)
