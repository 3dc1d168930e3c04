"""The functions of an iteration: a primal-dual interior point method over all knots (multiple shooting).

At a knot with z = [q; v; u], limits c(z) + s = 0 with s > 0 and multipliers l > 0, and e(z) = 0 with multipliers y:

    least    cost(z) - mu sum log s + |e + delta y|^2 / (2 delta),   s l = mu at the end,

so that each limit is a square in z with the weight l / s, and an iteration is one linear-quadratic problem without
limits: `condyle.algorithms.riccati`. Steps are judged by phi = cost - mu sum log s + nu |violation|_1.

Sources: Wächter, Biegler 2006 (barrier, steps to the boundary); Nocedal, Wright 2006, chapters 18 and 19 (merit).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from condyle.derivatives import hessian, jacobian, jvp
from condyle.functions.kinematics import DIFFERENCE, INTEGRATE
from condyle.functions.riccati import Turning, columns_of_q
from condyle.jobs.optimal_control.problem import Rules, Side
from condyle.scalar import is_zero, total
from condyle.specification import Function
from condyle.symbolic import Symbols

np: Any = numpy  # of symbols, which NumPy's types do not know
Call = Callable[..., Sequence[Any]]
Values = Mapping[str, Any]
Answers = dict[str, Any]

COST, VIOLATION, WORST, LOGS, GAP = range(5)
FACTS = 5
"""Of a knot: cost, sum and largest of |violation|, sum of log s, sum of s l."""
SLOPE, LOG_SLOPE, TO_BOUNDARY, TO_DUAL = range(4)
MOVES = 4
"""Of the step of a knot: slopes of the cost and of sum log s; the largest -ds / s and -dl / l."""
BARRIER, PENALTY, DAMPING, COUNT, STATUS, VALUE, ERROR, FAILED = range(8)
STATE = 8
"""What iterations hand on: mu, nu, what is added to the diagonal of Quu, iterations, status, cost, largest violation,
iterations without a step."""
LENGTH, DUAL, TRIES, MERIT, DOWN, PROMISED = range(6)
SEARCH = 6
"""Of a line search: lengths of the step of z and s and of that of l and y, tries, phi before, its slope, and by how
much the quadratic model goes down."""
TOLERANCE, MOST, LEAST = range(3)
ASKED = 3
"""What a caller asks: tolerance, iterations, the least mu; 0: by the tolerance."""

STRAIGHT = 40_000
"""Products of two entries in straight code of J^T J at the most."""
LEAST_SLACK = 0.1
"""Of a cold start, in parts of the range of a limit."""
SOLVED, GOES_ON, INFEASIBLE, NO_DESCENT, NOT_FINITE = 1.0, 0.0, -1.0, -2.0, -3.0


@dataclass(frozen=True)
class Knot:
    """The functions of one knot, each f(call, values) -> answers; the last knot has no motion and no u.

    motion: (q, v, u, inputs) -> q, v at the next knot; None at the last one. inputs: names of the user's. eps: of the
    number type. is_linear: the controls are accelerations, and the motion v + h u, q + h (v + h u) holds all the time.
    turning: of steps of semi-implicit Euler, dt long, the joints that turn; None of other motions.
    """

    nv: int
    nu: int
    lanes: int
    rules: Rules
    motion: Function | None
    inputs: tuple[str, ...]
    eps: float
    is_linear: bool = False
    turning: Turning | None = None
    dt: float = 0.0

    @property
    def nx(self) -> int:
        return 2 * self.nv

    @property
    def variables(self) -> tuple[str, ...]:
        return ("q", "v") if self.motion is None else ("q", "v", "u")

    @property
    def delta(self) -> float:
        """Of equalities: the rounding of e / delta is as large as delta is small."""
        return self.eps**0.5

    @property
    def together(self) -> int:
        """Slacks, of 1e-9 and more, whose product is a number of this type."""
        return 4 if self.eps > 1e-9 else 12

    def panel(self, matrix: Any) -> Any:
        """Columns in groups of lanes: [group][row][lane], zeros behind them."""
        rows, columns = matrix.shape
        groups = -(-columns // self.lanes)
        behind = numpy.zeros((rows, groups * self.lanes - columns))
        wide = np.concatenate([matrix, behind], axis=1).reshape(rows, groups, self.lanes)
        return np.transpose(wide, (1, 0, 2))

    def arguments(self, values: Values) -> list[Any]:
        return [values[name] for name in (*self.variables, *self.inputs)]

    # The linear-quadratic problem.

    def linearise(self, call: Call, values: Values) -> Answers:
        """Panels of the motion and of the quadratic, and the slope of the cost [dq; dv; du]."""
        quadratic = _Quadratic(self, call, values)
        quadratic.add_cost()
        slope = quadratic.slope
        quadratic.add_limits()
        rows, d, arguments = None, None, self.arguments(values)
        if self.motion is not None and not self.is_linear:
            blocks = call(jacobian(self.motion, self.variables), *arguments)
            rows = np.concatenate([np.concatenate(blocks[:3], axis=1), np.concatenate(blocks[3:], axis=1)])
            d = self.defect(call, arguments, values["next_q"], values["next_v"])
        if rows is not None and self.turning is not None:
            quadratic_parts = self.panels(quadratic.square, quadratic.slope, None, None)
            moves = self._step_of_joints(call, values["q"], call(self.motion, *arguments)[1], rows[self.nv :], d)
            return {**quadratic_parts, **moves, "gradient": slope}
        answers = {**self.panels(quadratic.square, quadratic.slope, rows, d), "gradient": slope}
        if self.motion is None and self.turning == ():
            answers["E"] = self._columns_of_q(())
        return answers

    def panels(self, H: Any, g: Any, F: Any, d: Any) -> Answers:
        """Panels of a quadratic and, where it is not of accelerations, of the motion F [dq; dv; du] + d."""
        if self.is_linear:
            return self._joints(H, g)
        nx = self.nx
        row = np.concatenate([g[:nx], numpy.zeros(1)])[None]
        x = np.concatenate([np.concatenate([H[:nx, :nx], g[:nx, None]], axis=1), row])
        if self.motion is None:
            return {"V": self.panel(x)}
        u = np.concatenate([H[nx:, :nx], g[nx:, None]], axis=1)
        answers = {"Hx": self.panel(np.concatenate([x, u])), "Hu": self.panel(H[nx:, nx:])}
        if F is None:
            return answers
        last = numpy.zeros((1, nx + 1))
        last[0, -1] = 1.0
        return {
            **answers,
            "Fx": self.panel(np.concatenate([np.concatenate([F[:, :nx], d[:, None]], axis=1), last])),
            "Fu": self.panel(F[:, nx:]),
        }

    def _step_of_joints(self, call: Call, q: Any, v: Any, M: Any, d: Any) -> Answers:
        """Panels of v+ = M [dq; dv; du] + d and of q+ = J1 q + J2 v+ + d; see `condyle.functions.riccati`.

        v: after the step. With R+ = R exp(h w+), p+ = p + h R+ v_lin+ of a free joint, E = R+^T R and w+ turning by Jr:
        J1 = [E, -h [v_lin+] E; 0, E], J2 = h [1, -h [v_lin+] Jr; 0, Jr]; of a spherical one J1 = E, J2 = h Jr.
        """
        n, h, nx, turning = self.nv, self.dt, self.nx, self.turning or ()
        turns: list[Any] = [v[k] * h for k in range(n)]
        for first, size in turning:
            turns[first : first + size - 3] = [0.0] * (size - 3)
        firsts, seconds = list[Any](), list[Any]()
        dq: list[Any] = [d[k] - h * d[n + k] for k in range(n)]
        slopes: list[Any] = list(call(jacobian(INTEGRATE), q, np.stack(turns))) if turning else []
        for first, size in turning:
            turn, own = slice(first + size - 3, first + size), slice(first, first + size)
            by_q, by_v = turned(slopes[0][turn, turn], slopes[1][turn, turn], v[own], h)
            firsts.append(by_q)
            seconds.append(by_v)
            change = by_v @ d[n + first : n + first + size]
            dq[own] = [d[first + k] - change[k] for k in range(size)]
        blocks = [block.reshape(-1) for block in (*firsts, *seconds)]
        answers = {
            "Mx": self.panel(np.concatenate([M[:, :nx], d[n:, None]], axis=1)),
            "Mu": self.panel(M[:, nx:]),
            "J": np.concatenate([h + 0.0 * v[:1], np.stack(dq), *blocks]),
        }
        if turning:
            answers["E"] = self._columns_of_q(firsts)
        return answers

    def _columns_of_q(self, blocks: Sequence[Any]) -> Any:
        """E of `condyle.functions.riccati.columns_of_q`, with blocks J1."""
        constant = numpy.array(columns_of_q(self.nx, self.nu, self.lanes, self.turning or ()))
        rows = 2 + sum(size for _, size in self.turning or ())
        parts = list(numpy.reshape(constant, (-1, rows, self.lanes)))
        wide: list[Any] = list(np.concatenate(parts, axis=1)[:, : self.nx + 1])
        k = 2
        for (first, size), block in zip(self.turning or (), blocks, strict=True):
            for i in range(size):
                before, behind = numpy.zeros(first), numpy.zeros(self.nx + 1 - first - size)
                wide[k] = np.concatenate([before, block[i], behind])
                k += 1
        return self.panel(np.stack(wide))

    def _joints(self, H: Any, g: Any) -> Answers:
        """The quadratic in panels of joints; see `condyle.functions.riccati_accelerations`."""
        n, nx = self.nv, self.nx
        row = np.concatenate([g[:nx], numpy.zeros(1)])[None]
        left, right = H[:, :n], np.concatenate([H[:, n:nx], g[:, None]], axis=1)
        parts = {"Q": np.concatenate([left, numpy.zeros((len(H), 1))], axis=1), "V": right}
        rows = {"Q": np.concatenate([row[:, :n], numpy.zeros((1, 1))], axis=1), "V": row[:, n:]}
        panels = {k: self.panel(np.concatenate([x[:nx], rows[k], x[nx:]])) for k, x in parts.items()}
        if self.motion is None:
            return {"VQ": panels["Q"], "VV": panels["V"]}
        control = np.concatenate([H[nx:, nx:], numpy.zeros((n, 1))], axis=1)
        return {"HQ": panels["Q"], "HV": panels["V"], "HU": self.panel(control)}

    def defect(self, call: Call, arguments: Sequence[Any], next_q: Any, next_v: Any) -> Any:
        """Where the motion goes, as seen from the next knot."""
        q, v = call(self.motion, *arguments)
        return np.concatenate([call(DIFFERENCE, next_q, q)[0], v - next_v])

    # Limits.

    def limits(self, call: Call, values: Values) -> tuple[Any, Any]:
        """Rows that are at most 0, the user's before bounds, and rows that are 0; None where there are none."""
        rules = self.rules
        users = dict[str, Any]()
        if rules.limits is not None:
            names = [port.name for port in rules.limits.outputs]
            users = dict(zip(names, call(rules.limits, *self.arguments(values)), strict=True))
        held = {**values, **users}
        sides = [side.sign * (held[side.quantity][side.entry] - side.limit) / side.scale for side in rules.sides]
        rows = [users[name] for name in ("below",) if name in users] + ([np.stack(sides)] if sides else [])
        below, equal = np.concatenate(rows) if rows else None, users.get("equal")
        if below is not None and "free" in values:
            absent = 1.0 - values["free"]
            below = self.free(values, below, rules.of_state)
            below = np.stack(
                [row - (absent if alone else 0.0) for row, alone in zip(below, rules.of_state, strict=True)]
            )
        return below, None if equal is None else self.free(values, equal, rules.equal_of_state)

    @staticmethod
    def free(values: Values, rows: Any, only: Sequence[bool]) -> Any:
        """Rows without those of the state alone at the first knot, whose state is given."""
        if "free" not in values:
            return rows
        return np.stack([row * (values["free"] if alone else 1.0) for row, alone in zip(rows, only, strict=True)])

    def prepare(self, call: Call, values: Values) -> Answers:
        """Slacks and multipliers where there are none yet."""
        below, _ = self.limits(call, values)
        slack = np.maximum(-below, LEAST_SLACK)
        return {"slack": slack, "multiplier": values["state"][BARRIER] / slack}

    def step(self, call: Call, values: Values) -> Answers:
        """Steps of slacks, multipliers and prices for a step dx, du, and MOVES."""
        rules = self.rules
        dx = values["dx"]
        dz = np.concatenate([dx, values["du"]]) if self.motion is not None else dx
        moves = [values["gradient"] @ dz, 0.0, 0.0, 0.0]
        answers: Answers = {}
        below, equal = self.limits(call, values)
        changes = dict[str, Any]()
        if rules.limits is not None:
            tangents = [dx[: self.nv], dx[self.nv :], *([values["du"]] if self.motion is not None else [])]
            tangents += [np.zeros_like(values[name]) for name in self.inputs]
            names = [port.name for port in rules.limits.outputs]
            changes = dict(zip(names, call(jvp(rules.limits), *self.arguments(values), *tangents), strict=True))
        if below is not None:
            parts = {"q": dx[: self.nv], "v": dx[self.nv :], "u": dz[self.nx :], **changes}
            sides = [parts[side.quantity][side.tangent] * (side.sign / side.scale) for side in rules.sides]
            rows = [changes[name] for name in ("below",) if name in changes] + ([np.stack(sides)] if sides else [])
            change = self.free(values, np.concatenate(rows), rules.of_state)
            slack, multiplier, barrier = values["slack"], values["multiplier"], values["state"][BARRIER]
            dslack = -(below + slack) - change
            inverse = 1.0 / slack
            change = dslack * inverse
            dmultiplier = barrier * inverse - multiplier * (1.0 + change)
            moves[LOG_SLOPE] = change.sum()
            moves[TO_BOUNDARY], moves[TO_DUAL] = (-change).max(), (-dmultiplier / multiplier).max()
            answers |= {"dslack": dslack, "dmultiplier": dmultiplier}
        if equal is not None:
            change = self.free(values, changes["equal"], rules.equal_of_state)
            answers["dprice"] = (equal + change) / self.delta
        return {**answers, "moves": np.stack(moves)}

    def trial(self, call: Call, values: Values) -> Answers:
        """The knot after a part of its step, and FACTS there. Where the length is 0 it stays as it is."""
        search, dx = values["search"], values["dx"]
        length = search[LENGTH]

        def moved(value: Any, by: Any, part: Any = length) -> Any:
            return np.where(part > 0.0, value + part * by, value)

        def moved_state(q: Any, v: Any, dx: Any) -> tuple[Any, Any]:
            (after,) = call(INTEGRATE, q, length * dx[: self.nv])
            return np.where(length > 0.0, after, q), moved(v, dx[self.nv :])

        answers: Answers = dict(zip(("q", "v"), moved_state(values["q"], values["v"], dx), strict=True))
        if self.motion is not None:
            answers["u"] = moved(values["u"], values["du"])
        for name, part in (("slack", length), ("multiplier", search[DUAL]), ("price", search[DUAL])):
            if f"d{name}" in values:
                answers[name] = moved(values[name], values[f"d{name}"], part)
        behind = None
        if self.motion is not None and not self.is_linear:
            behind = moved_state(values["next_q"], values["next_v"], values["next_dx"])
        facts = self._facts(call, {**values, **answers}, behind, lambda e: moved(e, -self.delta * values["dprice"]))
        answers = {f"new_{name}": value for name, value in answers.items()}
        return {**answers, "facts": facts}

    def measure(self, call: Call, values: Values) -> Answers:
        """FACTS of the knot as it is."""
        is_shooting = self.motion is not None and not self.is_linear
        behind = (values["next_q"], values["next_v"]) if is_shooting else None
        return {"facts": self._facts(call, values, behind, lambda equal: equal)}

    def _facts(self, call: Call, values: Values, behind: tuple[Any, Any] | None, judged: Callable[[Any], Any]) -> Any:
        """FACTS. behind: q and v of the next knot in multiple shooting. judged: of equalities, see `_violate`."""
        facts: list[Any] = [0.0 * values["v"][0]] * FACTS
        facts[COST] = self._cost(call, values)
        below, equal = self.limits(call, values)
        if below is not None:
            slack = values["slack"]
            _violate(facts, below + slack)
            facts[LOGS], facts[GAP] = log_sum(slack, self.together), slack @ values["multiplier"]
        if equal is not None:
            _violate(facts, equal, judged(equal))
        if behind is not None:
            _violate(facts, self.defect(call, self.arguments(values), *behind))
        return np.stack(facts)

    def _cost(self, call: Call, values: Values) -> Any:
        """The cost alone."""
        costs, cost = self.rules.costs, 0.0 * values["v"][0]
        if costs is None:
            return cost
        names = [port.name for port in costs.outputs]
        for name, answer in zip(names, call(costs, *self.arguments(values)), strict=True):
            cost = cost + (0.5 * (answer @ answer) if name == "residual" else answer.sum())
        return cost

    def variable(self, side: Side) -> int:
        """Where a bound's entry is in [dq; dv; du]."""
        return side.tangent + {"q": 0, "v": self.nv, "u": self.nx}[side.quantity]


def turned(E: Any, Jr: Any, v: Any, h: float) -> tuple[Any, Any]:
    """J1 and J2 of a free or spherical joint; see `Knot._step_of_joints`."""
    if len(v) == 3:
        return E, h * Jr
    x, y, z = v[0], v[1], v[2]
    cross = np.stack([np.stack([0.0 * x, -z, y]), np.stack([z, 0.0 * y, -x]), np.stack([-y, x, 0.0 * z])])
    zero, one = numpy.zeros((3, 3)), numpy.eye(3)

    def blocks(upper: Any, right: Any, lower: Any) -> Any:
        rows = (upper, -h * (cross @ right)), (zero, lower)
        return np.concatenate([np.concatenate(row, axis=1) for row in rows])

    return blocks(E, E, E), blocks(h * one, h * Jr, h * Jr)


def log_sum(x: Any, together: int) -> Any:
    """The sum of logarithms, one for so many entries: few are computed, and each product is a number."""
    products = [np.prod(x[k : k + together]) for k in range(0, len(x), together)]
    return np.log(np.stack(products)).sum()


def gram(J: Any, by: Any = None) -> Any:
    """J^T diag(by) J, as straight code where it is small: its zeros cost nothing, and its halves are one."""
    rows, n = J.entries, J.shape[1]
    filled = [[k for k, x in enumerate(row) if not is_zero(x)] for row in rows]
    if sum(len(columns) ** 2 for columns in filled) > STRAIGHT:
        return J.T @ (J if by is None else J * by[:, None])
    terms = dict[tuple[int, int], list[Any]]()
    for row, columns, weight in zip(rows, filled, [1.0] * len(rows) if by is None else by.entries, strict=True):
        for i in columns:
            weighted = row[i] if by is None else weight * row[i]
            for j in (j for j in columns if j <= i):
                terms.setdefault((i, j), []).append(weighted * row[j])
    product = numpy.zeros((n, n), object)
    product[:] = 0.0
    for (i, j), some in terms.items():
        product[i, j] = product[j, i] = total(some)
    return Symbols(product, J.source)


def _violate(facts: list[Any], error: Any, judged: Any = None) -> None:
    """Adds to what is violated. judged: what a search judges instead: e - delta dy, which a whole step makes 0."""
    facts[VIOLATION] = facts[VIOLATION] + np.abs(error if judged is None else judged).sum()
    facts[WORST] = np.maximum(facts[WORST], np.abs(error).max())


class _Quadratic:
    """H and g of a knot in [dq; dv; du], as they are put together."""

    def __init__(self, knot: Knot, call: Call, values: Values) -> None:
        self.knot, self.call, self.values = knot, call, values
        n = knot.nx + (knot.nu if knot.motion is not None else 0)
        zero = 0.0 * values["v"][0]
        self.square, self.slope = numpy.zeros((n, n)) + zero, numpy.zeros(n) + zero

    def _values(self, function: Function) -> tuple[dict[str, Any], list[Any]]:
        arguments = self.knot.arguments(self.values)
        names = [port.name for port in function.outputs]
        return dict(zip(names, self.call(function, *arguments), strict=True)), arguments

    def _rows(self, function: Function, arguments: Sequence[Any]) -> dict[str, Any]:
        """The derivative of each output by [q, v, u]."""
        by = self.knot.variables
        blocks, k = self.call(jacobian(function, by), *arguments, sparse=True), len(by)
        names = [port.name for port in function.outputs]
        return {name: np.concatenate(blocks[k * i : k * i + k], axis=1) for i, name in enumerate(names)}

    def add_cost(self) -> None:
        """Gauss-Newton's of residuals; the Hessian of a cost."""
        costs = self.knot.rules.costs
        if costs is None:
            return
        answers, arguments = self._values(costs)
        rows = self._rows(costs, arguments)
        if "residual" in answers:
            r, J = answers["residual"], rows["residual"]
            self.square, self.slope = self.square + gram(J), self.slope + J.T @ r
        if "cost" in answers:
            curvature = self.knot.rules.curvature
            assert curvature is not None
            (every,) = self.call(hessian(curvature), *arguments, np.ones(1))
            n = len(self.slope)
            self.square, self.slope = self.square + convex(every[:n, :n]), self.slope + rows["cost"][0]

    def add_limits(self) -> None:
        """Limits as weighted squares."""
        knot, values, rules = self.knot, self.values, self.knot.rules
        below, equal = knot.limits(self.call, values)
        rows = {} if rules.limits is None else self._rows(rules.limits, knot.arguments(values))
        if below is not None:
            slack, multiplier, barrier = values["slack"], values["multiplier"], values["state"][BARRIER]
            inverse, error = 1.0 / slack, below + slack
            weight = multiplier * inverse
            pull = barrier * inverse + weight * error
            weight, pull = (knot.free(values, part, rules.of_state) for part in (weight, pull))
            users = len(below) - len(rules.sides)
            if users:
                C = rows["below"]
                self.square, self.slope = self.square + gram(C, weight[:users]), self.slope + C.T @ pull[:users]
            for of in dict.fromkeys(side.quantity for side in rules.sides):
                self._add_sides(
                    of,
                    [(k, side) for k, side in enumerate(rules.sides, users) if side.quantity == of],
                    weight,
                    pull,
                    rows,
                )
        if equal is not None:
            E = knot.free(values, rows["equal"], rules.equal_of_state)
            self.square = self.square + gram(E) / knot.delta
            self.slope = self.slope + E.T @ (values["price"] + equal / knot.delta)

    def _add_sides(
        self, quantity: str, sides: Sequence[tuple[int, Side]], weight: Any, pull: Any, rows: Mapping[str, Any]
    ) -> None:
        """Bounds of one quantity: both sides of an entry are one square."""
        size = rows[quantity].shape[0] if quantity in rows else len(self.slope)
        diagonal, slope = [0.0 * weight[0]] * size, [0.0 * weight[0]] * size
        for k, side in sides:
            i = side.tangent if quantity in rows else self.knot.variable(side)
            diagonal[i] = diagonal[i] + weight[k] * (1.0 / side.scale**2)
            slope[i] = slope[i] + pull[k] * (side.sign / side.scale)
        if quantity in rows:
            self.square, self.slope = (
                self.square + gram(rows[quantity], np.stack(diagonal)),
                self.slope + rows[quantity].T @ np.stack(slope),
            )
        else:
            self.square, self.slope = self.square + np.diag(np.stack(diagonal)), self.slope + np.stack(slope)


def convex(H: Any) -> Any:
    """The matrix with its eigenvalues made positive, about: L |D| L^T of H = L D L^T, entries of D at least small."""
    n = len(H)
    rows = [[H[i, j] for j in range(n)] for i in range(n)]
    least = 1e-9 * (1e-30 + np.abs(np.stack([rows[i][i] for i in range(n)])).max())
    L: list[list[Any]] = [[0.0] * n for _ in range(n)]
    D: list[Any] = []
    for j in range(n):
        pivot = rows[j][j] - sum((L[j][k] * L[j][k] * D[k] for k in range(j)), 0.0)
        D.append(np.maximum(np.abs(pivot), least))
        L[j][j] = 1.0
        for i in range(j + 1, n):
            L[i][j] = (rows[i][j] - sum((L[i][k] * L[j][k] * D[k] for k in range(j)), 0.0)) / D[j]
    return np.stack(
        [
            np.stack([sum((L[i][k] * L[j][k] * D[k] for k in range(min(i, j) + 1)), 0.0 * D[0]) for j in range(n)])
            for i in range(n)
        ]
    )
