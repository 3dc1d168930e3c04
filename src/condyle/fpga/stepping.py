"""One stage of an integration step as a Program, for the joints that a robot has."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from condyle.errors import UnsupportedError
from condyle.fpga.rtl.datapath import Word
from condyle.fpga.rtl.formats import MARGIN
from condyle.fpga.rtl.steps import AGAIN, Coordinates, Stage, Stepping
from condyle.ir.expr import Expr, Graph
from condyle.ir.program import Array, Program
from condyle.model.joints.series import LARGEST_TURN, terms
from condyle.model.parts import Joint
from condyle.model.robot import Robot
from condyle.scalar import Scalar
from condyle.text import printable

Reals = NDArray[np.float64]
NEARLY = 2.0**-10
"""How far a quaternion's square may be from 1 without a flag."""


def coordinates(robot: Robot) -> Coordinates:
    moving = [joint for joint in robot.joints if joint.mimic is None]
    flat = [joint.q_index + k for joint in moving if joint.kind.is_flat for k in range(joint.nq)]
    curved = [joint.v_index + k for joint in moving if not joint.kind.is_flat for k in range(joint.nv)]
    return Coordinates(robot.nq, robot.nv, tuple(flat), tuple(curved))


def stepping_of(robot: Robot, h: float, speed: float, bits: int) -> Stepping:
    """Steps of h seconds, each rate within `speed`, in words of so many bits.

    UnsupportedError if a joint could turn too far for the series.
    """
    turn = math.sqrt(3.0) * MARGIN * speed * h
    curved = [f"{printable(joint.name)} ({joint.type})" for joint in robot.joints if not joint.kind.is_flat]
    if curved and turn > LARGEST_TURN:
        raise UnsupportedError(
            f"step={h:g}: at twice the box's rate of {speed:g}, {', '.join(curved)} would turn by {turn:.2g} rad in "
            f"one step. The most is {LARGEST_TURN} rad: choose a step of at most {h * LARGEST_TURN / turn:.2g} s"
        )

    def advance(words: Sequence[Word], again: bool) -> Stage:
        return _Tracer(words, again).stage(robot, terms(turn, bits))

    return Stepping(h, coordinates(robot), advance)


def _entries(joint: Joint) -> range:
    """Of v."""
    return range(joint.v_index, joint.v_index + joint.nv)


class _Tracer:
    def __init__(self, words: Sequence[Word], again: bool) -> None:
        self.words, self.again = words, again
        self.graph = Graph()
        self.arrays: dict[str, int] = {}
        self.results: list[tuple[Word, Scalar]] = []
        self.alike: dict[int, Word] = {}
        self.small: dict[int, float] = {}
        self.whole: set[int] = set()

    def leaf(self, name: str, k: int = 0) -> Scalar:
        self.arrays[name] = max(k + 1, self.arrays.get(name, 0))
        return cast(Scalar, self.graph.input(list(self.arrays).index(name), k))

    def stage(self, robot: Robot, count: int) -> Stage:
        for k in range(robot.nv):
            self._sums("v", k, self.leaf("k", k))
        for joint in robot.joints:
            if joint.mimic is None:
                self._flat(joint) if joint.kind.is_flat else self._curved(joint, count)
        if self.again:
            self.results += [(word, self.leaf(word.name, word.index)) for word in self.words if word.name not in AGAIN]
        return Stage(self._program(), self.alike, self.small, frozenset(self.whole))

    def _sums(self, name: str, k: int, rate: Scalar) -> None:
        """What is a plain vector: the next sub-task's, and the result so far."""
        self.results.append((Word(f"{name}_next", k), self.leaf(f"s{name}", k) + self.leaf("b") * rate))
        if self.again:
            self.results.append((Word(f"n{name}", k), self.leaf(name, k) + self.leaf("c") * rate))

    def _flat(self, joint: Joint) -> None:
        for k in range(joint.nq):
            self._sums("q", joint.q_index + k, self.leaf("cv", joint.v_index + k))

    def _curved(self, joint: Joint, count: int) -> None:
        """The same configuration is the next sub-task's and the result: u depends on the stage."""
        entries = _entries(joint)
        rates = [self.leaf("cv", k) for k in entries]
        u = [self.leaf("c") * rate for rate in rates]
        if self.again:
            turned = joint.kind.bracket([self.leaf("v", k) for k in entries], rates)
            sums = [self.leaf("su", k) for k in entries]
            u = [x + (self.leaf("d") * y + self.leaf("e") * total) for x, y, total in zip(u, turned, sums, strict=True)]
            for k, rate, total in zip(entries, rates, sums, strict=True):
                self.results.append((Word("su_next", k), total + self.leaf("b") * rate))
        result = joint.kind.integrate_by_series([self.leaf("q", joint.q_index + k) for k in range(joint.nq)], u, count)
        for k, value in enumerate(result.q):
            names = ("q_next", "nq") if self.again else ("q_next",)
            self.results += [(Word(name, joint.q_index + k), value) for name in names]
        for k, value in enumerate(result.raw, joint.nq - len(result.raw)):
            self.alike[_node(value)] = Word("q", joint.q_index + k)
            self.whole.add(_node(value * value))
        self.small |= {_node(value): NEARLY for value in result.defect}

    def _program(self) -> Program:
        sizes: dict[str, int] = {}
        for word, _ in self.results:
            sizes[word.name] = max(word.index + 1, sizes.get(word.name, 0))
        inputs, outputs = ([Array(name, (n,)) for name, n in kinds.items()] for kinds in (self.arrays, sizes))
        values = [(list(sizes).index(word.name), word.index, cast(Expr, value)) for word, value in self.results]
        return self.graph.program("advance", inputs, outputs, values)


def _node(value: Scalar) -> int:
    return cast(Expr, value).index
