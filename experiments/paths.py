"""Trajectories, gains and values of many trials, and their knots in blocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]
Trials = NDArray[np.integer] | NDArray[np.bool_]


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

    def put(self, trials: Trials, other: Path) -> None:
        """The other path, of fewer trials, in the place of these."""
        for mine, theirs in zip(self.parts(), other.parts(), strict=True):
            mine[trials] = theirs

    def of(self, trials: Trials) -> Path:
        return Path(*(part[trials] for part in self.parts()))

    def copy(self) -> Path:
        return Path(*(part.copy() for part in self.parts()))

    def parts(self) -> tuple[Array, Array, Array, Array]:
        return self.q, self.v, self.u, self.defect


@dataclass(frozen=True)
class Values:
    """V dx^2 / 2 + p dx at the first knot of every backward block, and the states x there."""

    V: Array
    p: Array
    x: Array


@dataclass(frozen=True)
class Gains:
    """Gains (trials, knots, ...) by the torque, and by the acceleration; the cost changes by s g1 + s^2/2 g2."""

    K: Array
    k: Array
    by_a: tuple[Array, Array] | None
    g1: Array
    g2: Array


@dataclass(frozen=True)
class Solved:
    """Trajectories, the cost after 0, 1, ... iterations, and the step lengths, 0 where none was taken."""

    path: Path
    cost: Array
    length: Array


@dataclass(frozen=True)
class Reached:
    """Trajectories and their costs."""

    path: Path
    cost: Array


def in_blocks(rows: Array, blocks: int) -> Array:
    """(trials, knots, ...) as (trials, blocks, knots of a block, ...)."""
    return rows.reshape(len(rows), blocks, rows.shape[1] // blocks, *rows.shape[2:])


def in_order(blocks: Array) -> Array:
    """Knots of blocks from last to first, as (trials, knots, ...)."""
    return turned(blocks).reshape(len(blocks), -1, *blocks.shape[3:])


def turned(blocks: Array) -> Array:
    """The knots of every block from last to first; a copy, as calls read it faster than a view."""
    return np.ascontiguousarray(blocks[:, :, ::-1])
