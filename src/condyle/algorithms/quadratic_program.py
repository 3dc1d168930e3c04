"""A dense convex quadratic program by a primal-dual interior point method.

Minimum of x^T H x / 2 + g^T x with limits on entries of x and on rows of A x, and E x = e. A place is an entry of
[x; A x; E x]. Each limit is a side k, sign v <= h_k of a place v. With G the rows of sides, slacks s and multipliers z,

    H x + g + G^T z + E^T y = 0,  G x + s = h + theta,  E x = e,  s z = mu,  s, z > 0.

theta >= 0 widens all sides alike, so that s = h - G x + theta is positive from any x; it shrinks to 0 with the steps,
but where there is no feasible x. A step is Mehrotra's predictor and corrector, with one Cholesky factor of
H + G^T diag(z / s) G + hold E^T E. The problem is scaled first, so that units do not matter.

Source: S. Mehrotra, "On the implementation of a primal-dual interior point method" (1992); J. Nocedal, S. Wright,
"Numerical Optimization" (2006), section 16.6.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple, TypeAlias

from condyle.algorithms.linear_systems import Cholesky, dot
from condyle.scalar import Scalar, absolute, is_zero, maximum, minimum, number, reciprocal, select, sqrt, total

Vector: TypeAlias = "list[Scalar]"
Matrix: TypeAlias = "list[list[Scalar]]"

SLACK, MULTIPLIER = 0.3, 0.3
"""Least slacks at the start, and their multipliers."""
NEAREST, WRONG = 0.01, 0.3
"""Of a start with multipliers: the least slack, and the residual from which on the multipliers are left out."""
KEPT = 0.999
"""The part of the longest step that is taken."""
LATE, CENTRED = 14.0, 0.5
"""After so many steps they are plain ones that aim mu at so much of it: of 10 000 problems one would go in circles."""
CURVED = 1e-3
"""The least part of a step that its curvature leaves."""
CLEAR, FAR = 1e6, 1e3
"""theta z beside 1 + mu where no feasible x is near, which ends the loop; infeasible is what has a certificate that all
feasible x are so far."""
TINY, LARGE = 1e-30, 1e20
"""Denominators are not below it; limits not above it."""


class Precision(NamedTuple):
    """Numbers that depend on the number type.

    hold: a step leaves E x - e = dy / hold; as y is carried, this goes to 0. damped: added to H's diagonal in steps, of
    a zero Hessian too. pivot: the least one beside the diagonal's entry. least: a slack. near: the error beside x that
    the last step leaves, by what it does not take and by its curvature. small: s z before it, lowest: where it is the
    last in any case. thin, left: theta, and parts of the residuals, then. solved: the residual of what is solved.
    stiff: of derivatives, a side that holds x is a spring so many times as stiff as H.
    """

    hold: Scalar
    damped: Scalar
    pivot: Scalar
    least: Scalar
    near: Scalar
    small: Scalar
    lowest: Scalar
    thin: Scalar
    left: Scalar
    solved: Scalar
    stiff: Scalar


DOUBLE = (1e7, 1e-10, 1e-14, 1e-15, 6e-7, 1e-7, 1e-14, 1e-9, 1e-8, 1e-5, 1e8)
SINGLE = (1e3, 1e-7, 1e-6, 1e-6, 1e-4, 1e-5, 1e-7, 1e-6, 1e-4, 1e-2, 1e4)


def precision(x: Scalar) -> Precision:
    """That of the code that will run, given a number of a state: 1 + 2^-30 is 1 in single precision alone.

    No pass simplifies what maxima hide.
    """
    unit = maximum(minimum(x, 1.0), 1.0)
    is_single = unit - maximum(unit + 2.0**-30, 0.0)  # not below zero
    return Precision(*(select(is_single, single, double) for double, single in zip(DOUBLE, SINGLE, strict=True)))


class Side(NamedTuple):
    """sign v <= limit; place: of v."""

    place: int
    sign: float


class Problem(NamedTuple):
    """hessian: symmetric, all entries. rows: of A, then of E. limits: sign times the limit, of each side. equal: e."""

    hessian: Matrix
    gradient: Vector
    rows: Matrix
    sides: tuple[Side, ...]
    limits: Vector
    equal: Vector

    def places(self, x: Vector) -> Vector:
        return [*x, *(dot(row, x) for row in self.rows)]

    def room(self, places: Vector, theta: Scalar | float = 0.0) -> Vector:
        """Slacks of sides."""
        pairs = zip(self.limits, self.sides, strict=True)
        return [h + theta - places[k.place] if k.sign > 0.0 else h + theta + places[k.place] for h, k in pairs]

    def gap(self, places: Vector) -> Vector:
        """E x - e."""
        return [v - e for v, e in zip(places[len(places) - len(self.equal) :], self.equal, strict=True)]

    def summed(self, sides: Vector, equal: Vector | None = None, signed: bool = True) -> Vector:
        """By place, what stands by side, with its sign, and by equality."""
        sums: Vector = [number(0.0)] * (len(self.gradient) + len(self.rows))
        for side, value in zip(self.sides, sides, strict=True):
            sums[side.place] = sums[side.place] - value if signed and side.sign < 0.0 else sums[side.place] + value
        return [*sums[: len(sums) - len(equal)], *equal] if equal else sums

    def pulled(self, places: Vector) -> Vector:
        """[I; A; E]^T times this."""
        n = len(self.gradient)
        return [places[j] + dot([row[j] for row in self.rows], places[n:]) for j in range(n)]

    def slope(self, x: Vector, forces: Vector) -> Vector:
        """The gradient of the Lagrangian; forces: multipliers by place."""
        rows = zip(self.hessian, self.gradient, self.pulled(forces), strict=True)
        return [dot(row, x) + g + p for row, g, p in rows]

    def condensed(self, weights: Vector, damped: Scalar | float = 0.0) -> Matrix:
        """The lower triangle of H + [I; A; E]^T diag(weights) [I; A; E]."""
        n = len(self.gradient)
        pairs = [(row, w) for row, w in zip(self.rows, weights[n:], strict=True) if not is_zero(w)]
        left = [[row[i] if is_zero(row[i]) else row[i] * w for row, w in pairs] for i in range(n)]
        right = [[row[j] for row, _ in pairs] for j in range(n)]
        matrix = [[self.hessian[i][j] + dot(left[i], right[j]) for j in range(i + 1)] for i in range(n)]
        for k, row in enumerate(matrix):
            row[k] = row[k] + weights[k] + damped
        return matrix

    @property
    def has_box(self) -> bool:
        return any(side.place < len(self.gradient) for side in self.sides)

    def multipliers(self, places: Vector) -> Vector:
        """What stands by place, without that of x where there is no box."""
        return places if self.has_box else places[len(self.gradient) :]

    def by_place(self, multipliers: Vector) -> Vector:
        return multipliers if self.has_box else [*[number(0.0)] * len(self.gradient), *multipliers]


class State(NamedTuple):
    """What a step changes. w: A x, E x. left: how much of the gradient of the Lagrangian at the start is left. steps:
    how many were taken."""

    x: Vector
    w: Vector
    z: Vector
    theta: Scalar
    left: Scalar
    steps: Scalar
    y: Vector


class Units(NamedTuple):
    """x and g in which all is of order 1; places: the factor that each is scaled by beside x."""

    x: Scalar
    force: Scalar
    places: Vector


def _most(values: Sequence[Scalar]) -> Scalar:
    return reduce(maximum, values) if values else number(0.0)


def _largest(values: Sequence[Scalar]) -> Scalar:
    return _most([absolute(x) for x in values])


def _moved(start: Vector, along: Vector, length: Scalar | float = 1.0) -> Vector:
    return [a + length * b for a, b in zip(start, along, strict=True)]


def _clipped(x: Vector, problem: Problem) -> Vector:
    """x within the box."""
    x = list(x)
    for (place, sign), limit in zip(problem.sides, problem.limits, strict=True):
        if place < len(x):
            x[place] = minimum(x[place], limit) if sign > 0.0 else maximum(x[place], -limit)
    return x


def scaled(problem: Problem, x: Vector, start: Vector) -> tuple[Problem, State, Units]:
    """The problem with all numbers of order 1, and the state at x. start: multipliers as in `answers`, or []."""
    n, sides = len(problem.gradient), problem.sides
    squares = [number(1.0)] * n + [dot(row, row) for row in problem.rows]
    norms = [reciprocal(sqrt(select(square - TINY, square, 1.0))) for square in squares]
    limits = [_limit(h, squares[k.place], norms[k.place]) for h, k in zip(problem.limits, sides, strict=True)]
    equal = [e * norm for e, norm in zip(problem.equal, norms[len(norms) - len(problem.equal) :], strict=True)]
    rows = [[entry * norm for entry in row] for row, norm in zip(problem.rows, norms[n:], strict=True)]
    unit = Problem(problem.hessian, problem.gradient, rows, sides, limits, equal)
    x = _clipped(x, unit)
    places = unit.places(x)
    room = unit.room(places)
    steepest = _largest(unit.slope(x, unit.summed([number(0.0)] * len(sides))))
    stiffest = _most([row[k] for k, row in enumerate(problem.hessian)])
    missed = maximum(_largest(unit.gap(places)), _most([-r for r in room])) if sides or equal else number(0.0)
    length = steepest * reciprocal(maximum(stiffest, TINY))
    reach = _most([select(0.1 * LARGE - absolute(r), absolute(r), 0.0) for r in room])
    length = maximum(minimum(length, reach) if sides else length, missed)
    length = select(TINY - length, 1.0, length)
    force = maximum(steepest, stiffest * length)
    force = select(TINY - force, 1.0, force)
    shorter, weaker = reciprocal(length), reciprocal(force)
    hessian = [[h if is_zero(h) else h * (length * weaker) for h in row] for row in problem.hessian]
    limits, equal, room, x, places = ([v * shorter for v in part] for part in (limits, equal, room, x, places))
    small = Problem(hessian, [g * weaker for g in problem.gradient], rows, sides, limits, equal)
    slack, product = number(SLACK), number(SLACK * MULTIPLIER)
    z, y = [number(0.0)] * len(sides), [number(0.0)] * len(equal)
    if start:
        forces = [v * weaker / norm for v, norm in zip(problem.by_place(start), norms, strict=True)]
        z = [maximum(forces[k.place] if k.sign > 0.0 else -forces[k.place], 0.0) for k in sides]
        wrong = maximum(_largest(small.slope(x, forces)), missed * shorter)
        slack = minimum(maximum(wrong, NEAREST), SLACK)
        product = slack * slack
        z, y = ([select(WRONG - wrong, v, 0.0) for v in part] for part in (z, forces[len(forces) - len(equal) :]))
    theta = maximum(_most([slack - r for r in room]), 0.0) if sides else number(0.0)
    z = [maximum(product * reciprocal(r + theta), v) for r, v in zip(room, z, strict=True)]
    return small, State(x, places[n:], z, theta, number(1.0), number(0.0), y), Units(length, force, norms)


def _limit(limit: Scalar, square: Scalar, norm: Scalar) -> Scalar:
    """A limit of a row whose entries have this sum of squares; of zeros it holds or it does not."""
    scaled_limit = minimum(maximum(limit * norm, -LARGE), LARGE)
    return select(square - TINY, scaled_limit, select(limit, LARGE, -LARGE))


def stiffened(problem: Problem, state: State) -> Problem:
    """What steps from a state are made with: H + hold E^T E and damping in place of H, the Lagrangian's gradient in
    place of g."""
    none, of_type = [number(0.0)] * len(problem.sides), precision(state.x[0])
    lower = problem.condensed(problem.summed(none, [of_type.hold] * len(problem.equal)), of_type.damped)
    hessian = [[lower[max(i, j)][min(i, j)] for j in range(len(lower))] for i in range(len(lower))]
    return problem._replace(hessian=hessian, gradient=problem.slope(state.x, problem.summed(state.z, state.y)))


def step(problem: Problem, state: State) -> tuple[State, Scalar]:
    """The state after a step of a `stiffened` problem, and whether it was the last: 1, else 0."""
    x, w, z, theta, left, steps, y = state
    n, sides, of_type = len(x), problem.sides, precision(steps)
    s = [maximum(r, of_type.least) for r in problem.room([*x, *w], theta)]
    lifted = [r * of_type.hold for r in problem.gap([*x, *w])]
    products = [a * b for a, b in zip(s, z, strict=True)]
    inverse = [reciprocal(p) for p in products]
    by_s, by_z = ([a * b for a, b in zip(part, inverse, strict=True)] for part in (z, s))
    d = [a * b for a, b in zip(z, by_s, strict=True)]
    factored = Cholesky(problem.condensed(problem.summed(d, signed=False)), of_type.pivot)

    def moved(forces: Vector) -> tuple[Vector, Vector]:
        """Changes of places and of slacks under forces at places."""
        dx = factored.solve([-(g * left) - p for g, p in zip(problem.gradient, problem.pulled(forces), strict=True)])
        places = problem.places(dx)
        return places, [-theta - places[k.place] if k.sign > 0.0 else places[k.place] - theta for k in sides]

    mu = total(products) * (1.0 / len(sides))
    forces = problem.summed([b * theta - a for a, b in zip(z, d, strict=True)], lifted)
    _, ds = moved(forces)
    ratios = [a * b for a, b in zip(ds, by_s, strict=True)]
    bends = [r * r + r for r in ratios]
    # ds / s is the ratio and dz / z is -1 - ratio: both bound the step
    longest = reciprocal(maximum(1.0, maximum(-reduce(minimum, ratios), _most(ratios) + 1.0)))
    bent = [a * b for a, b in zip(z, bends, strict=True)]
    ahead = (1.0 - longest) * mu - longest * longest * (dot(s, bent) * (1.0 / len(sides)))
    centre = ahead * reciprocal(maximum(mu, TINY))
    late = select(steps - LATE, 1.0, 0.0)
    centre = maximum(centre * centre * centre, CENTRED * late) * mu
    pushed = [centre * b + (1.0 - late) * c for b, c in zip(by_s, bent, strict=True)]
    dplaces, ds = moved([f + p for f, p in zip(forces, problem.summed(pushed), strict=True)])
    dz = [p - a - b * c for p, a, b, c in zip(pushed, z, d, ds, strict=True)]
    lowest = reduce(minimum, [a * b for a, b in zip([*ds, *dz], [*by_s, *by_z], strict=True)])
    taken = minimum(KEPT * reciprocal(maximum(-lowest, 1e-3)), 1.0)
    rest = 1.0 - taken
    dy = [c * of_type.hold + r for c, r in zip(dplaces[len(dplaces) - len(y) :], lifted, strict=True)]
    # a step that is no number ends the loop, and what is answered stays as it was
    x, z_after, y = (
        [select(taken, b, a) for a, b in zip(part, _moved(part, change, taken), strict=True)]
        for part, change in ((x, dplaces[:n]), (z, dz), (y, dy))
    )
    w = _moved(w, dplaces[n:], taken)
    after = State(x, w, z_after, theta * rest, left * rest, steps + 1.0, y)
    missed = _largest(dplaces[:n]) * (rest + CURVED + late - reduce(minimum, bends))
    missed = missed - of_type.near * maximum(_largest(x), 0.01)
    gap = problem.gap([*x, *w])
    open_gaps = [absolute(r) - of_type.left for r in gap]
    far = [missed, mu - of_type.small, after.theta - of_type.thin, after.left - of_type.left, *open_gaps]
    wide = total([after.theta * total(after.z), *[absolute(a * b) for a, b in zip(after.y, gap, strict=True)]])
    going = minimum(minimum(_most(far), mu - of_type.lowest), CLEAR * (1.0 + mu) - wide)
    return after, select(going, 0.0, 1.0)


def balanced(problem: Problem, state: State) -> State:
    """The state at the minimum of a scaled problem without sides: one factor, and corrections by it."""
    x, y, of_type = state.x, state.y, precision(state.x[0])
    factored = Cholesky(stiffened(problem, state).hessian, of_type.pivot)
    for _ in range(3):
        lifted = [r * of_type.hold for r in problem.gap(problem.places(x))]
        forces = problem.summed([], [a + b for a, b in zip(y, lifted, strict=True)])
        dx = factored.solve([-g for g in problem.slope(x, forces)])
        change = problem.places(dx)
        y = [a + b + c * of_type.hold for a, b, c in zip(y, lifted, change[len(change) - len(y) :], strict=True)]
        x = _moved(x, dx)
    return state._replace(x=x, y=y)


def answers(
    problem: Problem, small: Problem, state: State, units: Units, done: Scalar | float
) -> tuple[Vector, Vector, Scalar, Scalar]:
    """(x, multipliers, residual, status) of a problem, by its scaled form."""
    x, z, y = state.x, state.z, state.y
    places, forces = small.places(x), small.summed(z, y)
    room, gap = small.room(places), small.gap(places)
    held = [a * maximum(r, 0.0) for a, r in zip(z, room, strict=True)]
    residual = _most([*map(absolute, [*small.slope(x, forces), *gap]), *[-r for r in room], *held])
    solved = minimum(precision(x[0]).solved - residual, done - 0.5)
    # with G^T z + E^T y near 0 and h^T z + e^T y < 0 no x of moderate size is feasible
    pull = total([absolute(p) for p in small.pulled(forces)])
    apart = -dot(small.limits, z) - dot(small.equal, y) - FAR * pull - TINY
    status = select(solved, 1.0, select(apart, -1.0, 0.0) if z or y else 0.0)
    multipliers = [v * units.force * norm for v, norm in zip(forces, units.places, strict=True)]
    return _clipped([v * units.x for v in x], problem), problem.multipliers(multipliers), residual, status


class Held(NamedTuple):
    """A solution, held by springs: at each side that has a multiplier, and the stiffest at equalities.

    forces, weights: multipliers and stiffness by place. d: stiffness of sides. A side whose multiplier and slack are
    both 0 holds nothing.
    """

    x: Vector
    forces: Vector
    weights: Vector
    d: Vector
    factored: Cholesky


def held(problem: Problem, x: Vector, multipliers: Vector) -> Held:
    """The linear system of derivatives at a solution: problem and answers as the user has them."""
    n, p, of_type = len(x), len(problem.equal), precision(x[0])
    stiffest = maximum(_most([row[k] for k, row in enumerate(problem.hessian)]), TINY)
    stiff = of_type.stiff * stiffest
    tops = [*[stiff] * n, *(stiff * reciprocal(maximum(dot(row, row), TINY)) for row in problem.rows)]
    forces, d = problem.by_place(multipliers), list[Scalar]()
    for side, s in zip(problem.sides, problem.room(problem.places(x)), strict=True):
        z, s = maximum(forces[side.place] * side.sign, 0.0), maximum(s, 0.0)
        top = tops[side.place]
        d.append(top * z * reciprocal(top * s + z + TINY))
    weights = problem.summed(d, tops[len(tops) - p :], signed=False)
    return Held(x, forces, weights, d, Cholesky(problem.condensed(weights, stiffest * of_type.damped), of_type.pivot))


def tangent(problem: Problem, solution: Held, change: Problem) -> tuple[Vector, Vector]:
    """Changes of x and of the multipliers along one of the problem."""
    n = len(solution.x)
    moving = [
        w * e for w, e in zip(solution.weights[len(solution.weights) - len(change.equal) :], change.equal, strict=True)
    ]
    shifts = problem.summed([d * h for d, h in zip(solution.d, change.limits, strict=True)], moving)
    turned = [number(0.0)] * n + change.places(solution.x)[n:]
    turned = [w * v - s for w, v, s in zip(solution.weights, turned, shifts, strict=True)]
    slope = change.slope(solution.x, [*[number(0.0)] * n, *solution.forces[n:]])
    dx = solution.factored.solve([-a - b for a, b in zip(slope, problem.pulled(turned), strict=True)])
    forces = [w * v + t for w, v, t in zip(solution.weights, problem.places(dx), turned, strict=True)]
    return dx, problem.multipliers(forces)


def cotangent(problem: Problem, solution: Held, x_bar: Vector, multipliers_bar: Vector) -> Problem:
    """The cotangents of a problem by those of the answers; hessian: the lower triangle, of a symmetric matrix."""
    n, bars = len(solution.x), problem.by_place(multipliers_bar)
    pulled = problem.pulled([w * v for w, v in zip(solution.weights, bars, strict=True)])
    u = solution.factored.solve([a + b for a, b in zip(x_bar, pulled, strict=True)])
    moved = [a - b for a, b in zip(problem.places(u), bars, strict=True)]
    turned = [-w * v for w, v in zip(solution.weights, moved, strict=True)]
    rows = [
        [t * x - f * v for x, v in zip(solution.x, u, strict=True)]
        for t, f in zip(turned[n:], solution.forces[n:], strict=True)
    ]
    hessian = [
        [-(u[i] * solution.x[j] + u[j] * solution.x[i]) for j in range(i)] + [-u[i] * solution.x[i]] for i in range(n)
    ]
    limits = [d * moved[k.place] * k.sign for d, k in zip(solution.d, problem.sides, strict=True)]
    equal = [-t for t in turned[len(turned) - len(problem.equal) :]]
    return Problem(hessian, [-v for v in u], rows, problem.sides, limits, equal)
