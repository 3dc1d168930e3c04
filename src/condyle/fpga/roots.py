"""The choice of the root link of a floating robot."""

from __future__ import annotations

from typing import TypeVar

from condyle.fpga.plans import ROUTES
from condyle.fpga.stages import stages
from condyle.ir.program import operands
from condyle.model.robot import Robot
from condyle.model.rooted import check_movable
from condyle.model.tree import tree_of

RobotType = TypeVar("RobotType", bound=Robot)
CANDIDATES = 4
"""Roots that are tried."""


def held(robot: RobotType, root: str | None) -> RobotType:
    """The robot with another root link: `root`, or for "auto" the one with the shortest inverse dynamics.

    "auto" traces the CANDIDATES links from which the farthest link is nearest, and compares the cycles on the longest
    path through their graphs. UnsupportedError for a fixed base.
    """
    if root is None:
        return robot
    check_movable(robot, root)
    if root != "auto":
        return robot.reroot(root)
    turned = [robot, *(robot.reroot(body.name) for body in robot.bodies[1:])]
    return min(sorted(turned, key=_depth)[:CANDIDATES], key=_cycles)


def _depth(robot: Robot) -> int:
    """The most coordinates on a path from the root."""
    depths: list[int] = []
    for link in tree_of(robot).links:
        depths.append(len(link.v) + (depths[link.parent] if link.parent >= 0 else 0))
    return max(depths)


def _cycles(robot: Robot) -> int:
    """Cycles of the longest path through inverse dynamics, without shared units."""
    program = stages(tree_of(robot), ROUTES[:1])
    times: list[int] = []
    for node in program.nodes:
        before = max((times[k] for k in operands(node)), default=0)
        times.append(before + {"mul": 2, "add": 1, "sub": 1, "neg": 1}.get(node[0], 0))
    return max(times)
