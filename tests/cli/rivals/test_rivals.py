"""The adapters that build in a moment give our answers; the others are compared whenever they are timed."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import condyle
from condyle.cli import rivals
from condyle.cli.rivals import numbers as comparing
from condyle.cli.rivals.mujoco_c import frames, mjcf
from condyle.cli.rivals.numbers import agreement, numbers_of
from condyle.cli.rivals.pinocchio_cpp import FOLDER, SOURCES, PinocchioCpp, algorithms
from condyle.errors import BuildError, UnsupportedError
from condyle.functions import FUNCTIONS
from condyle.functions.added import ADDED
from condyle.functions.contacts import CONSTRAINED
from condyle.functions.dynamics import DRIVE_FORCES
from condyle.model.placement import Placement

ARMS = [("iiwa14", False), ("hyq", False), ("hyq", True)]


@pytest.mark.parametrize(("name", "floating"), ARMS)
def test_mujoco_agrees(name: str, floating: bool) -> None:
    pytest.importorskip("mujoco", reason="needs the mujoco package: pip install 'condyle[bench]'")
    robot = condyle.load(name, floating_base=floating)
    rival, dynamics = rivals.opened("mujoco", robot), robot.compile(target="numpy")
    exact = {"id", "fd", "m", "minv", "step", "rollout"}
    assert set(rival.algorithms) == exact | (set() if floating else {"did", "dfd", "dstep"})
    for function in set(rival.algorithms) & {"id", "fd", "m", "minv", "did", "dfd"}:
        assert agreement(robot, dynamics, rival, FUNCTIONS[function]) < rival.tolerance(function)


@pytest.mark.parametrize(("name", "floating"), ARMS)
def test_pinocchio_python_agrees(name: str, floating: bool) -> None:
    pytest.importorskip("pinocchio", reason="needs the pin package: pip install 'condyle[bench]'")
    from benchmarks.rivals.pinocchio_python import PinocchioPython

    robot = condyle.load(name, floating_base=floating)
    frames = tuple(robot.frames)[1:4]
    rival = PinocchioPython(robot, frames)
    assert {"fk", "jac"} <= set(rival.algorithms)
    for function in rival.algorithms:
        assert agreement(robot, robot.compile(target="numpy", frames=frames), rival, FUNCTIONS[function]) < 1e-8


def test_armature_slides_balls_and_branches_agree() -> None:
    pytest.importorskip("mujoco", reason="needs the mujoco package: pip install 'condyle[bench]'")
    types = ("revolute", "prismatic", "spherical")
    robot = condyle.random_tree(7, rng=3, types=types)
    rival, dynamics = rivals.opened("mujoco", robot), robot.compile(target="numpy")
    for function in ("id", "fd", "m", "minv"):
        assert agreement(robot, dynamics, rival, FUNCTIONS[function]) < 1e-8


def test_another_robot_is_noticed() -> None:
    pytest.importorskip("mujoco", reason="needs the mujoco package: pip install 'condyle[bench]'")
    robot, heavier = (condyle.chain(3, rng=seed) for seed in (0, 1))
    with pytest.raises(BuildError, match=r"differ by .* in m; nothing was timed"):
        agreement(robot, robot.compile(target="numpy"), rivals.opened("mujoco", heavier), FUNCTIONS["m"])
    assert comparing.N_STATES > 1


def test_joints_that_a_rival_is_not_given_are_named() -> None:
    robot = condyle.random_tree(2, rng=0, types=("helical",))
    with pytest.raises(UnsupportedError, match="supports no helical joints such as"):
        numbers_of(robot, "Pinocchio")
    with pytest.raises(UnsupportedError, match="Pinocchio"):
        PinocchioCpp(robot)
    free = condyle.random_tree(1, rng=0, types=("free",))
    rotors = replace(free, joints=(replace(free.joints[0], armature=np.ones(6)),))
    assert numbers_of(rotors, "MuJoCo").armature.all()
    with pytest.raises(UnsupportedError, match="Pinocchio defines armature on a free joint"):
        numbers_of(rotors, "Pinocchio")


def test_pinocchio_has_a_row_for_every_function() -> None:
    """Each source's table holds what is looked for in it; together they are our functions, apart from those of
    contacts, of drives and of `functions/added`.

    `benchmarks/contacts.py` has these: Pinocchio's take models of contacts.
    """
    for source, functions in SOURCES.items():
        rows = re.findall(r'^    \{"(\w+)"', (FOLDER / source).read_text(), re.MULTILINE)
        assert rows == list(functions)
    assert {name for functions in SOURCES.values() for name in functions} == (
        set(FUNCTIONS) - {"dstep", *(one.name for one in (*CONSTRAINED, *DRIVE_FORCES, *ADDED))} | {"rollout"}
    )


def test_frames_are_numbers_seen_from_their_joint() -> None:
    robot = condyle.random_tree(3, rng=2, types=("revolute", "prismatic"))
    names = tuple(robot.frames)
    numbers = numbers_of(robot, "Pinocchio", names)
    assert [robot.frames[name].body for name in names] == numbers.frame_joint.tolist()
    assert numbers.frame_rotation.shape == (len(names), 3, 3) and numbers.frame_translation.shape == (len(names), 3)
    assert numbers.struct().frames == len(names) and numbers_of(robot, "Pinocchio").struct().frames == 0


def test_what_means_something_else_there_is_not_compared() -> None:
    robot = condyle.load("iiwa14")
    assert {"reg", "ke"} <= algorithms(robot).keys()
    away = replace(robot.joints[1], after=Placement.from_rpy((0.1, 0.0, 0.0)))
    moved = replace(robot, joints=(robot.joints[0], away, *robot.joints[2:]))
    assert "reg" not in algorithms(moved)
    turning = replace(robot, joints=(replace(robot.joints[0], armature=np.ones(1)), *robot.joints[1:]))
    assert "ke" not in algorithms(turning)


def test_mjcf_has_no_name_of_the_model() -> None:
    robot = condyle.load("iiwa14")
    text = mjcf(numbers_of(robot, "MuJoCo"))
    assert text.count("<body ") == text.count("</body>") == 7
    assert not any(name in text for name in (*robot.joint_names, *robot.body_names))


def test_frames_turn_velocities_and_keep_joints() -> None:
    robot = condyle.load("hyq", floating_base=True)
    q, v = robot.random_state(4, 0)
    where = frames(robot, q, v)
    identity = where.T @ where.T.swapaxes(-1, -2)
    assert abs(identity - np.eye(robot.nv)).max() < 1e-12
    assert (where.q[:, 3] == q[:, 6]).all() and (where.q[:, 7:] == q[:, 7:]).all()
    assert (where.coriolis[:, 3:] == 0).all()
