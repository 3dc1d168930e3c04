"""A locked joint is a joint that does not move: the rest of the robot is a block of what it was."""

from __future__ import annotations

import numpy as np
import pytest

from condyle import Robot
from tests.accuracies import ROUNDING, SOLVED
from tests.laws.evaluated import reference
from tests.laws.robots import Array, relative, robot_named, states

CASES = [
    ("zoo_floating", ["continuous", "planar", "universal", "free"]),
    ("zoo", ["helical", "spherical", "translation"]),
    ("hyq_floating", ["lf_haa_joint", "rh_kfe_joint"]),
    ("floating-2", ["joint1", "joint4"]),
]


def halves(robot: Robot, names: list[str]) -> tuple[Robot, Array, Array, Array, Array]:
    """The locked robot, rows of q of the whole one with those joints at rest, and where kept q, v and bodies stand."""
    q = states(robot).q
    locked = [joint for joint in robot.joints if joint.name in names]
    for joint in locked:
        q[:, joint.q_slice] = q[0, joint.q_slice]
    rest = robot.lock({joint.name: q[0, joint.q_slice] for joint in locked})
    kept = [joint for joint in robot.joints if joint.name not in names and joint.mimic is None]
    in_q = np.concatenate([np.arange(joint.q_index, joint.q_index + joint.nq) for joint in kept])
    in_v = np.concatenate([np.arange(joint.v_index, joint.v_index + joint.nv) for joint in kept])
    bodies = np.array([robot.body_names.index(name) for name in rest.body_names])
    return rest, q, in_q, in_v, bodies


@pytest.mark.parametrize(("name", "names"), CASES)
def test_locked_robot_is_a_block_of_the_free_one(name: str, names: list[str]) -> None:
    robot = robot_named(name)
    rest, q, in_q, in_v, bodies = halves(robot, names)
    assert rest.nv == len(in_v) < robot.nv
    _, v, a, f_ext = states(rest)
    moves, rates, forces = np.zeros((3, robot.nv)), np.zeros((3, robot.nv)), np.zeros((3, len(robot.bodies), 6))
    moves[:, in_v], rates[:, in_v], forces[:, bodies] = v, a, f_ext
    part = q[:, in_q]
    assert relative(reference(rest, "m", part), reference(robot, "m", q)[:, in_v][:, :, in_v]) < ROUNDING
    tau = reference(rest, "id", part, v, a, f_ext=f_ext)
    assert relative(tau, reference(robot, "id", q, moves, rates, f_ext=forces)[:, in_v]) < ROUNDING
    for own, whole in zip(
        reference(rest, "did", part, v, a, f_ext=f_ext),
        reference(robot, "did", q, moves, rates, f_ext=forces),
        strict=True,
    ):
        assert relative(own, whole[:, in_v][:, :, in_v]) < ROUNDING
    assert relative(reference(rest, "fd", part, v, tau, f_ext=f_ext), a) < SOLVED


def test_forces_on_a_merged_body_go_through_its_frame() -> None:
    """`Robot.f_ext` by link name gives the same torques before and after its body was merged into another."""
    robot = robot_named("floating-2")
    rest, q, in_q, in_v, _ = halves(robot, ["joint1"])
    _, v, a, _ = states(rest)
    moves, rates = np.zeros((3, robot.nv)), np.zeros((3, robot.nv))
    moves[:, in_v], rates[:, in_v] = v, a
    wrench = {"link1": np.arange(1.0, 7.0), "link3": -np.arange(1.0, 7.0)}
    whole = reference(robot, "id", q, moves, rates, f_ext=robot.f_ext(wrench)[None])
    part = reference(rest, "id", q[:, in_q], v, a, f_ext=rest.f_ext(wrench)[None])
    assert relative(part, whole[:, in_v]) < ROUNDING
