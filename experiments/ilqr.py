"""iLQR for many trials at once: backward pass, forward pass with a line search, regularisation; each trial its own.

Blocks are those of Plancher and Kuindersma (2018). With several backward blocks each block of knots starts from the
value that the block behind it had one iteration before, moved to today's state, so that all blocks run at once. With
several forward blocks each starts from the state that the linear model predicts; where one ends and the next one starts
the trajectory has a defect, which the next backward pass takes in. One block of each is the textbook's method.

A trial whose step fails (no step length lowers its cost by enough, or its numbers are not finite) keeps its trajectory
and raises its regularisation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments import riccati
from experiments.paths import Gains, Path, Reached, Solved, Values, in_blocks, in_order, turned
from experiments.problems import Functions

Array = NDArray[np.floating]
Slope = Callable[[Array, Array, Array], Array]
"""(q, v, a) to [dtau/dq, dtau/dv] (..., nv, 2 nv), the derivatives of the inverse dynamics."""


@dataclass(frozen=True)
class Options:
    """Defaults are those of the sweep of Plancher et al. (2021), but for the blocks: theirs are 4 and 2."""

    iterations: int = 40
    rho: float = 12.5
    factor: float = 1.25
    rho_limits: tuple[float, float] = (1e-2, 1e7)
    lengths: int = 16
    """Step lengths 1, 1/2, ..., tried from the longest."""
    accept: float = 0.05
    """A step is taken where the cost falls by more than this share of what the model promises."""
    largest_defect: float = 1.0
    """... and where no defect is larger, in the sum of its entries' absolute values."""
    backward_blocks: int = 1
    forward_blocks: int = 1

    def __post_init__(self) -> None:
        if self.backward_blocks % self.forward_blocks:
            raise ValueError(
                f"backward_blocks={self.backward_blocks}: a multiple of forward_blocks={self.forward_blocks} is "
                f"needed, so that defects stand where backward blocks meet"
            )


class Solver:
    """iLQR of one problem. slope: where the derivatives of the inverse dynamics come from; the robot's by default."""

    def __init__(self, functions: Functions, options: Options, slope: Slope | None = None) -> None:
        self.functions, self.options, self.slope = functions, options, slope
        self.problem, self.n = functions.problem, functions.problem.robot.nv
        if self.problem.knots % options.backward_blocks:
            raise ValueError(f"{self.problem.knots} knots are no multiple of {options.backward_blocks} blocks")
        self.dtype = np.dtype(functions.dtype)
        self.backward = functions.backward(slope is not None, options.forward_blocks > 1)
        self.h = self.problem.steps().astype(self.dtype)
        self.weights = self.problem.weights().astype(self.dtype)
        self.rest = self.problem.rest.astype(self.dtype)

    def solve(self, q: Array, v: Array, u: Array) -> Solved:
        """From q, v, u (trials, knots, n), which need not be a rollout."""
        options, trials = self.options, len(q)
        goals = np.ascontiguousarray(np.broadcast_to(self.problem.goal, (trials, self.problem.knots, 3)), self.dtype)
        defect = np.zeros((trials, options.forward_blocks - 1, 2 * self.n), self.dtype)
        path = Path(q.astype(self.dtype), v.astype(self.dtype), u.astype(self.dtype), defect)
        path.u[:, -1] = 0.0
        values = self.no_values(path)
        rho, growth = np.full(trials, options.rho), np.ones(trials)
        costs, lengths = list[Array](), list[Array]()
        base: Reached | None = None
        for _ in range(options.iterations):
            gains, values = self.backward_pass(path, goals, values, rho)
            if base is None:
                base = self.first(path, goals)
                costs.append(base.cost)
            base, length = self.forward_pass(path, goals, gains, base)
            path, cost = base.path, base.cost
            rho, growth = self.regularised(rho, growth, length > 0.0)
            costs.append(cost)
            lengths.append(length)
        return Solved(path, np.stack(costs, axis=-1), np.stack(lengths, axis=-1))

    def slopes(self, path: Path) -> dict[str, Array]:
        """The slope of every knot, where it comes from elsewhere."""
        if self.slope is None:
            return {}
        a = self.functions.acceleration(path.q, path.v, path.u)
        a[:, -1] = 0.0  # no step follows the last knot: its derivatives are multiplied by nothing
        return {"slope": self.slope(path.q, path.v, a).astype(self.dtype)}

    def no_values(self, path: Path) -> Values:
        blocks = self.options.backward_blocks
        x = in_blocks(path.x, blocks)[:, :, 0]
        return Values(np.zeros((len(x), blocks, self.n * (2 * self.n + 1)), self.dtype), np.zeros_like(x), x)

    def behind(self, path: Path, values: Values) -> tuple[Array, Array]:
        """V and p behind each block: of the block that follows, at today's state; nothing behind the last one."""
        V, p = np.zeros_like(values.V), np.zeros_like(values.p)
        if V.shape[1] > 1:
            moved = in_blocks(path.x, V.shape[1])[:, :, 0] - values.x
            each = V.shape[1] // self.options.forward_blocks
            moved[:, each::each] += path.defect
            V[:, :-1] = values.V[:, 1:]
            change = riccati.symmetric(values.V, 2 * self.n) @ moved[..., None]
            p[:, :-1] = (values.p + change[..., 0])[:, 1:]
        return V, p

    def backward_pass(self, path: Path, goals: Array, values: Values, rho: Array) -> tuple[Gains, Values]:
        """Gains of every knot, all blocks at once."""
        blocks = self.options.backward_blocks
        V, p = self.behind(path, values)
        by_knot = {"q": path.q, "v": path.v, "u": path.u, "goal": goals, **self.slopes(path)}
        by_knot |= {"w": self.weights[None], "h": self.h[None]}
        found = self.backward.rollout(
            **{name: turned(in_blocks(rows, blocks)) for name, rows in by_knot.items()},
            V=V,
            p=p,
            rest=self.rest,
            rho=rho.astype(self.dtype)[:, None],
            gain=np.array([0.0, 0.0, np.inf], self.dtype),
            by_time=tuple(by_knot),
        )
        g1, g2 = found.gain[:, :, -1, 0].sum(axis=1), found.gain[:, :, -1, 1].sum(axis=1)
        by_a = (in_order(found.K_a), in_order(found.k_a)) if self.options.forward_blocks > 1 else None
        first = Values(found.V[:, :, -1].copy(), found.p[:, :, -1].copy(), in_blocks(path.x, blocks)[:, :, 0])
        return Gains(in_order(found.K), in_order(found.k), by_a, g1, g2), first

    def first(self, path: Path, goals: Array) -> Reached:
        """What the first step is compared with."""
        cost = self.functions.cost(path.q, path.v, path.u, goals, self.rest, self.weights).cost
        return Reached(path, cost.sum(axis=-1))

    def forward_pass(self, path: Path, goals: Array, gains: Gains, base: Reached) -> tuple[Reached, Array]:
        """The longest step length that lowers the cost by enough, of each trial, else what was reached before."""
        starts, before = self.starts(path, gains), base.cost
        best, cost, length = base.path.copy(), before.copy(), np.zeros_like(before)
        left = np.arange(len(cost))
        for s in 0.5 ** np.arange(self.options.lengths):
            new = self.followed(path, goals, gains, starts, left, s)
            promised = -(s * gains.g1[left] + 0.5 * s * s * gains.g2[left])
            fine = (before[left] - new.cost > self.options.accept * promised) & (promised > 0.0)
            fine &= (np.abs(new.path.defect).sum(axis=-1) < self.options.largest_defect).all(axis=-1)
            taken = left[fine]
            best.put(taken, new.path.of(fine))
            cost[taken], length[taken] = new.cost[fine], s
            left = left[~fine]
            if not left.size:
                break
        return Reached(best, cost), length

    def starts(self, path: Path, gains: Gains) -> Array:
        """By the linear model, how far the first state of each forward block moves: (trials, blocks, 2 n, 2).

        The move is that matrix times (s, 1), s being the step length: defects are closed by any step.
        """
        blocks, n = self.options.forward_blocks, self.n
        each = self.problem.knots // blocks
        found = np.zeros((len(path.q), blocks, 2 * n, 2))
        if gains.by_a is None:
            return found
        K, k = gains.by_a
        moved = found[:, 0].copy()
        for j in range(1, each * (blocks - 1) + 1):
            a = K[:, j - 1] @ moved
            a[..., 0] += k[:, j - 1]
            moved = np.concatenate(
                [moved[:, :n] + self.problem.h * moved[:, n:], moved[:, n:] + self.problem.h * a], axis=1
            )
            if j % each == 0:
                moved[..., 1] += path.defect[:, j // each - 1]
                found[:, j // each] = moved
        return found

    def followed(
        self, path: Path, goals: Array, gains: Gains, starts: Array, trials: NDArray[np.integer], s: float
    ) -> Reached:
        """Some trials rolled out by a step length."""
        blocks = self.options.forward_blocks
        parts = (path.q, path.v, path.u, gains.K, gains.k, goals)
        parts = parts if len(trials) == len(goals) else tuple(part[trials] for part in parts)
        q, v, u, K, k, goal = (in_blocks(part, blocks) for part in parts)
        moved = (starts[trials] @ np.array([s, 1.0])).astype(self.dtype)
        first = np.concatenate([q[:, :, 0], v[:, :, 0]], axis=-1) + moved
        weights, h = in_blocks(self.weights[None], blocks), in_blocks(self.h[None], blocks)
        found = self.functions.follow.rollout(
            *(
                first[..., : self.n],
                first[..., self.n :],
                q,
                v,
                u,
                k,
                K,
                np.asarray(s, self.dtype),
                h,
                goal,
                self.rest,
                weights,
            ),
            by_time=("q0", "v0", "u0", "k", "K", "h", "goal", "w"),
            sum=("cost",),
        )
        after = np.concatenate([found.q, found.v], axis=-1)
        x = np.concatenate([first[:, :, None], after[:, :, :-1]], axis=2).reshape(len(trials), self.problem.knots, -1)
        applied = found.applied.reshape(len(trials), self.problem.knots, -1)
        applied[:, -1] = 0.0
        new = Path(x[..., : self.n], x[..., self.n :], applied, after[:, :-1, -1] - first[:, 1:])
        return Reached(new, found.cost.sum(axis=-1))

    def regularised(self, rho: Array, growth: Array, stepped: NDArray[np.bool_]) -> tuple[Array, Array]:
        """Faster and faster down while steps are taken, up where none was."""
        f, (least, most) = self.options.factor, self.options.rho_limits
        growth = np.where(stepped, np.minimum(growth / f, 1.0 / f), np.maximum(growth * f, f))
        return np.clip(rho * growth, least, most), growth
