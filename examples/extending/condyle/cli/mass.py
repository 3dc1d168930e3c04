"""`condyle mass`: the mass of a robot and its centre."""

from __future__ import annotations

import argparse

from condyle.cli.common import add_robot, load_aloud, show


def fill(command: argparse.ArgumentParser) -> None:
    command.description = "Print the mass of a robot and its centre where q is zero."
    add_robot(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    robot = load_aloud(arguments).robot
    x, y, z = robot.compile("numpy").center_of_mass(robot.neutral())
    show(f"{robot.mass:.4g} kg at {x:.4g} {y:.4g} {z:.4g} m")
    return 0
