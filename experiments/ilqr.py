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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments import riccati
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


@dataclass(frozen=True)
class Path:
    """Trajectories of many trials: q, v, u (trials, knots, n), and the defects (trials, forward blocks - 1, 2 n)."""

    q: Array
    v: Array
    u: Array
    defect: Array

    @property
    def x(self) -> Array:
        return np.concatenate([self.q, self.v], axis=-1)

    def put(self, trials: Array, other: Path) -> None:
        """The other path, of fewer trials, in the place of these."""
        for mine, theirs in zip(
            (self.q, self.v, self.u, self.defect), (other.q, other.v, other.u, other.defect), strict=True
        ):
            mine[trials] = theirs


@dataclass(frozen=True)
class Values:
    """V dx^2 / 2 + p dx at the first knot of every backward block, and the states x there."""

    V: Array
    p: Array
    x: Array


@dataclass(frozen=True)
class Gains:
    """Gains (trials, knots, ...) by the acceleration and by the torque; the cost changes by s g1 + s^2/2 g2."""

    K: Array
    k: Array
    K_u: Array
    k_u: Array
    g1: Array
    g2: Array


@dataclass(frozen=True)
class Solved:
    """Trajectories, the cost after 0, 1, ... iterations, and the step lengths, 0 where none was taken."""

    path: Path
    cost: Array
    length: Array


class Solver:
    """iLQR of one problem. slope: where the derivatives of the inverse dynamics come from; the robot's by default."""

    def __init__(self, functions: Functions, options: Options, slope: Slope | None = None) -> None:
        self.functions, self.options, self.slope = functions, options, slope
        self.problem, self.n = functions.problem, functions.problem.robot.nv
        if self.problem.knots % options.backward_blocks:
            raise ValueError(f"{self.problem.knots} knots are no multiple of {options.backward_blocks} blocks")
        self.dtype = np.dtype(functions.dtype)
        self.backward = riccati.backward(self.n, functions.dtype, functions.threads)
        self.by_torque = riccati.by_torque(self.n, functions.dtype, functions.threads)
        self.h = self.problem.steps().astype(self.dtype)
        self.weights = self.problem.weights().astype(self.dtype)
        self.rest = self.problem.rest.astype(self.dtype)

    def solve(self, q: Array, v: Array, u: Array, goal: Array | None = None) -> Solved:
        """From q, v, u (trials, knots, n), which need not be a rollout; goal (3,), (knots, 3) or (trials, knots, 3)."""
        options, trials = self.options, len(q)
        given = self.problem.goal if goal is None else goal
        goals = np.ascontiguousarray(np.broadcast_to(given, (trials, self.problem.knots, 3)), self.dtype)
        defect = np.zeros((trials, options.forward_blocks - 1, 2 * self.n), self.dtype)
        path = Path(q.astype(self.dtype), v.astype(self.dtype), u.astype(self.dtype), defect)
        path.u[:, -1] = 0.0
        cost = self.functions.cost(path.q, path.v, path.u, goals, self.rest, self.weights).cost.sum(axis=-1)
        values = self.no_values(path)
        rho, growth = np.full(trials, options.rho), np.ones(trials)
        costs, lengths = [cost], list[Array]()
        for _ in range(options.iterations):
            gains, values = self.backward_pass(path, goals, values, rho)
            path, cost, length = self.forward_pass(path, goals, gains, cost)
            rho, growth = self.regularised(rho, growth, length > 0.0)
            costs.append(cost)
            lengths.append(length)
        return Solved(path, np.stack(costs, axis=-1), np.stack(lengths, axis=-1))

    def model(self, path: Path, goals: Array) -> Any:
        """The quadratic model of every knot (`problems.knot_model`)."""
        q, v, u = path.q, path.v, path.u
        a = self.functions.acceleration(q, v, u)
        if self.slope is None:
            return self.functions.quadratic(q, v, a, u, goals, self.rest, self.weights)
        a[:, -1] = 0.0  # no step follows the last knot: its derivatives are multiplied by nothing
        slope = self.slope(q, v, a).astype(self.dtype)
        return self.functions.quadratic_of(q, v, slope, u, goals, self.rest, self.weights)

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
        model = self.model(path, goals)
        V, p = self.behind(path, values)
        names = [name for name in riccati.BY_KNOT if name != "h"]
        reverse = {name: turned(in_blocks(getattr(model, name), blocks)) for name in names}
        found = self.backward.rollout(
            V,
            p,
            **reverse,
            h=turned(in_blocks(self.h[None], blocks)),
            rho=rho.astype(self.dtype)[:, None],
            gain=np.array([0.0, 0.0, np.inf], self.dtype),
            by_time=riccati.BY_KNOT,
        )
        K, k = (in_order(part) for part in (found.K, found.k))
        by_u = self.by_torque(K, k, model.M, model.slope)
        g1, g2 = found.gain[:, :, -1, 0].sum(axis=1), found.gain[:, :, -1, 1].sum(axis=1)
        first = Values(found.V[:, :, -1].copy(), found.p[:, :, -1].copy(), in_blocks(path.x, blocks)[:, :, 0])
        return Gains(K, k, by_u.K, by_u.k, g1, g2), first

    def forward_pass(self, path: Path, goals: Array, gains: Gains, cost: Array) -> tuple[Path, Array, Array]:
        """The longest step length that lowers the cost by enough, of each trial: its path, cost and length."""
        starts = self.starts(path, gains)
        best, cost, length = (
            Path(path.q.copy(), path.v.copy(), path.u.copy(), path.defect.copy()),
            cost.copy(),
            np.zeros_like(cost),
        )
        left = np.arange(len(cost))
        for s in 0.5 ** np.arange(self.options.lengths):
            new, reached = self.followed(path, goals, gains, starts, left, s)
            promised = -(s * gains.g1[left] + 0.5 * s * s * gains.g2[left])
            fine = (cost[left] - reached > self.options.accept * promised) & (promised > 0.0)
            fine &= (np.abs(new.defect).sum(axis=-1) < self.options.largest_defect).all(axis=-1)
            taken = left[fine]
            best.put(taken, Path(new.q[fine], new.v[fine], new.u[fine], new.defect[fine]))
            cost[taken], length[taken] = reached[fine], s
            left = left[~fine]
            if not left.size:
                break
        return best, cost, length

    def starts(self, path: Path, gains: Gains) -> Array:
        """By the linear model, how far the first state of each forward block moves: (trials, blocks, 2 n, 2).

        The move is that matrix times (s, 1), s being the step length: defects are closed by any step.
        """
        blocks, n = self.options.forward_blocks, self.n
        each = self.problem.knots // blocks
        found = np.zeros((len(path.q), blocks, 2 * n, 2))
        moved = found[:, 0].copy()
        for j in range(1, each * (blocks - 1) + 1):
            a = gains.K[:, j - 1] @ moved
            a[..., 0] += gains.k[:, j - 1]
            moved = np.concatenate(
                [moved[:, :n] + self.problem.h * moved[:, n:], moved[:, n:] + self.problem.h * a], axis=1
            )
            if j % each == 0:
                moved[..., 1] += path.defect[:, j // each - 1]
                found[:, j // each] = moved
        return found

    def followed(
        self, path: Path, goals: Array, gains: Gains, starts: Array, trials: Array, s: float
    ) -> tuple[Path, Array]:
        """Some trials rolled out by a step length: their paths and costs."""
        blocks = self.options.forward_blocks
        q, v, u, K, k, goal = (
            in_blocks(part[trials], blocks) for part in (path.q, path.v, path.u, gains.K_u, gains.k_u, goals)
        )
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
        return new, found.cost.sum(axis=-1)

    def regularised(self, rho: Array, growth: Array, stepped: Array) -> tuple[Array, Array]:
        """Faster and faster down while steps are taken, up where none was."""
        f, (least, most) = self.options.factor, self.options.rho_limits
        growth = np.where(stepped, np.minimum(growth / f, 1.0 / f), np.maximum(growth * f, f))
        return np.clip(rho * growth, least, most), growth


def in_blocks(rows: Array, blocks: int) -> Array:
    """(trials, knots, ...) as (trials, blocks, knots of a block, ...)."""
    return rows.reshape(len(rows), blocks, rows.shape[1] // blocks, *rows.shape[2:])


def in_order(blocks: Array) -> Array:
    """Knots of blocks from last to first, as (trials, knots, ...)."""
    return turned(blocks).reshape(len(blocks), -1, *blocks.shape[3:])


def turned(blocks: Array) -> Array:
    """The knots of every block from last to first; a copy, as calls read it faster than a view."""
    return np.ascontiguousarray(blocks[:, :, ::-1])
