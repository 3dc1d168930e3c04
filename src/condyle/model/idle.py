"""Coordinates that move no inertia of their own, whatever the configuration: M(q) is singular then, and has no inverse.

M = Aᵀ A, where A says how fast masses move: a row for each sqrt(mass) of a velocity, each sqrt(moment) of a turn, each
sqrt(armature). Coordinates are eliminated from A by orthogonal transforms, the last first, link by link, so that a link
hands few rows to its parent. What is left of a coordinate's column is the root of its pivot in M = Lᵀ D L. It is
compared with what could be there: the masses behind the joint and their distances. Rounding leaves some 1e-16 of that;
of a pivot of M itself it leaves as much, and a pivot is a square.

Who has little left waits until all others are eliminated, then the largest goes first: coordinates that only together
move nothing would hide it else, each by the little that the other one lacks.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from condyle.model.array import Array, motion_matrix, skew, transpose
from condyle.model.parts import RobotData
from condyle.model.tree import Link, tree_of
from condyle.scalar import number
from condyle.spatial import vector as vec
from condyle.spatial.rotation import Axes

NOTHING = 1e-11
"""Of what could be there; a coordinate with less is idle."""
WEAK, LONG = (1e-3, 1e-6), 300
"""Who has less than the first waits, in robots with more coordinates than LONG than the second: waiting costs time."""
FLAT = 1e-12
"""A principal moment below so much of the largest one is rounding."""


@dataclass(frozen=True)
class _Factor:
    """A of some links: (states, rows, columns), a column for each coordinate in `shared`, then six of a motion.

    mass: of the links. reach: the root of their moments about the origin of the motion, or more.
    """

    matrix: Array
    shared: tuple[int, ...]
    mass: float
    reach: float


def idle_coordinates(robot: RobotData, q: Array) -> list[int]:
    """The numbers of coordinates without inertia of their own at every one of the states q (n, nq), ascending."""
    if is_sound(robot):
        return []
    return [int(k) for k in np.flatnonzero(np.all(shares(robot, q) <= NOTHING, axis=0))]


def is_sound(robot: RobotData) -> bool:
    """Whether every body resists every motion, or its joint has armature all over: M has an inverse then, at every q.

    Where nothing that moves has energy, joint after joint from the root on has to rest.
    """
    doubtful = [
        body for joint, body in zip(robot.joints, robot.bodies, strict=True) if not (joint.armature > 0.0).all()
    ]
    if not doubtful:
        return True
    moments = np.linalg.eigvalsh(np.array([body.inertia for body in doubtful]))
    solid = (moments[:, 0] > 0.0) & (moments[:, 0] > FLAT * moments[:, 2])
    return bool(solid.all()) and all(body.mass > 0.0 for body in doubtful)


def shares(robot: RobotData, q: Array) -> Array:
    """What is left of each coordinate's column, of what could be there, (n, nv); those behind it are free to move."""
    return _Elimination(robot, q).run()


class _Elimination:
    """One run over the links, leaves first."""

    def __init__(self, robot: RobotData, q: Array) -> None:
        self.tree, self.bodies, self.q = tree_of(robot), robot.bodies, q
        self.left, self.size = np.zeros((len(q), robot.nv)), np.zeros(robot.nv)
        self.weak = WEAK[robot.nv > LONG]
        self.to_come = Counter(coordinate.entry for link in self.tree.links for coordinate in link.v)

    def run(self) -> Array:
        carried: dict[int, list[_Factor]] = defaultdict(list)
        for i, link in reversed(list(enumerate(self.tree.links))):
            behind = _stacked([self._body(link), *carried.pop(i, [])])
            carried[link.parent].append(self._eliminated(self._through(link, behind)))
        if carried:
            world = _stacked(carried[-1])
            self._eliminate_waiting(world.matrix[..., :-6], world.shared)
        return self.left / np.where(self.size > 0.0, self.size, 1.0)

    def _body(self, link: Link) -> _Factor:
        """A of one body by the motion of its link."""
        rows = np.zeros((len(self.q), 6, 6))
        if link.body < 0:
            return _Factor(rows, (), 0.0, 0.0)
        body = self.bodies[link.body]
        turn = np.array(cast(Axes, link.body_frame.rotation).axes, np.float64)
        com = turn @ body.com + np.array(link.body_frame.translation, np.float64)
        moments, axes = np.linalg.eigh(body.inertia)
        moments = np.where(moments > FLAT * np.max(np.abs(moments)), moments, 0.0)
        root = np.sqrt(max(body.mass, 0.0))
        rows[:, :3, :3], rows[:, :3, 3:] = root * np.eye(3), -root * skew(com)
        rows[:, 3:, 3:] = np.sqrt(moments)[:, None] * (transpose(axes) @ transpose(turn))
        return _Factor(rows, (), body.mass, float(np.sqrt(2.0 * body.mass * (com @ com) + moments.sum())))

    def _through(self, link: Link, behind: _Factor) -> _Factor:
        """A by the joint's own coordinates and the motion before it."""
        motion, rest = behind.matrix[..., -6:], behind.matrix[..., :-6]
        columns = dict(zip(behind.shared, np.moveaxis(rest, 2, 0), strict=True))
        rotors: list[tuple[int, float]] = []
        subspace = link.kind.subspace(link.numbers.pitch)
        for (linear, angular), armature, own in zip(subspace, link.numbers.armature, link.v, strict=True):
            line, turn = np.array(linear, np.float64), np.array(angular, np.float64)
            root = float(np.sqrt(cast(float, armature)))
            columns[own.entry] = columns.get(own.entry, 0.0) + own.ratio * (motion @ np.concatenate((line, turn)))
            size = math.sqrt(behind.mass) * math.hypot(*line) + behind.reach * math.hypot(*turn) + root
            self.size[own.entry] += abs(own.ratio) * size
            self.to_come[own.entry] -= 1
            if root:
                rotors.append((own.entry, own.ratio * root))
        across, distance = self._across(link)
        moved = np.stack([*columns.values(), *np.moveaxis(motion @ across, 2, 0)], axis=-1)
        extra = np.zeros((len(self.q), len(rotors), moved.shape[2]))
        for row, (at, root) in enumerate(rotors):
            extra[:, row, list(columns).index(at)] = root
        reach = behind.reach + float(np.sqrt(2.0 * behind.mass)) * distance
        return _Factor(np.concatenate((moved, extra), axis=1), tuple(columns), behind.mass, reach)

    def _across(self, link: Link) -> tuple[Array, float]:
        """The motion of a link by that of its parent (n, 6, 6) while the joint rests, and how far off it is at most."""
        values = [number(self.q[:, c.entry] * c.ratio + c.offset) for c in link.q]
        turned, moved = link.kind.transform(values, link.numbers.pitch)
        placed = np.array(link.numbers.rotation, np.float64)
        n = len(self.q)
        turn, shift = np.empty((n, 3, 3)), np.empty((n, 3))
        for j, column in enumerate(vec.transpose(link.numbers.rotation)):
            for i, x in enumerate(turned.into(column)):
                turn[:, i, j] = cast(Array, x)
        for i, x in enumerate(moved):
            shift[:, i] = cast(Array, x)
        origin: Array = shift @ placed + np.array(link.numbers.origin, np.float64)
        return motion_matrix(turn, origin), float(np.linalg.norm(origin, axis=-1).max())

    def _eliminated(self, factor: _Factor) -> _Factor:
        """Without the coordinates that no other link shares, the last first; idle ones and weak ones wait."""
        done = sorted((k for k in factor.shared if not self.to_come[k]), reverse=True)
        while True:
            kept = [k for k in factor.shared if k not in done]
            order = [*(factor.shared.index(k) for k in (*done, *kept)), *range(-6, 0)]
            upper = cast(Array, np.linalg.qr(factor.matrix[..., order], mode="r"))
            left = np.abs(np.diagonal(upper, axis1=1, axis2=2)[:, : len(done)])
            waits = [k for k, x in zip(done, np.transpose(left), strict=True) if x.min() <= self.weak * self.size[k]]
            if not waits:
                break
            done.remove(waits[0])
            self.to_come[waits[0]] += 1
        self.left[:, done] = left
        return replace(factor, matrix=upper[:, len(done) :, len(done) :], shared=tuple(kept))

    def _eliminate_waiting(self, matrix: Array, waiting: Sequence[int]) -> None:
        """The coordinates that have waited, the one with the largest share first."""
        names = list(waiting)
        columns: Array = matrix / np.where(self.size[names] > 0.0, self.size[names], 1.0)
        while names:
            lengths: Array = np.linalg.norm(columns, axis=1)
            at = int(np.argmax(lengths.min(axis=0)))
            self.left[:, names[at]] = lengths[:, at] * self.size[names[at]]
            unit = columns[..., at] / np.where(lengths[:, at] > 0.0, lengths[:, at], 1.0)[:, None]
            columns = np.delete(columns, at, axis=2)
            for _ in range(2):  # the second time takes the rounding of the first
                columns = columns - unit[:, :, None] * (unit[:, None, :] @ columns)
            del names[at]


def _stacked(factors: Sequence[_Factor]) -> _Factor:
    """A of all of them together."""
    shared = tuple(dict.fromkeys(k for factor in factors for k in factor.shared))
    parts: list[Array] = []
    for factor in factors:
        wide = np.zeros((*factor.matrix.shape[:2], len(shared) + 6))
        wide[..., [*(shared.index(k) for k in factor.shared), *range(-6, 0)]] = factor.matrix
        parts.append(wide)
    mass, reach = sum(factor.mass for factor in factors), math.hypot(*(factor.reach for factor in factors))
    return _Factor(np.concatenate(parts, axis=1), shared, mass, reach)
