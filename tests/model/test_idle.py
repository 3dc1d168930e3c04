"""Whether M is singular at every q: what singular robots and honest ones have left, many orders apart."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle import ModelWarning, Robot, SingularError
from condyle.functions import FUNCTIONS
from condyle.model import checks
from condyle.model.checks import NOTHING, idle_coordinates, is_sound, shares
from condyle.model.parts import Body
from condyle.model.tree import tree_of
from condyle.trace.reference import evaluate
from tests.laws.robots import changed
from tests.zoo import every_joint

SINGULAR, HONEST = 1e-14, 1e-6
"""The most that singular robots have and the least that honest ones have; `NOTHING` stands between."""


def states(robot: Robot, n: int = 3) -> np.ndarray:
    return robot.random_state(n, 0).q


def least(robot: Robot) -> float:
    return float(shares(robot, states(robot)).max(axis=0).min())


def bare(floating_base: bool, armature: float = 0.0, tilt: float = 1.57079) -> Robot:
    """An arm on a base without mass: turned against the first joint, a floating base moves nothing."""
    builder = condyle.Builder("bare").body("base")
    parent = "base"
    for i in range(5):
        builder.body(f"b{i}", mass=0.5, com=(0.01, -0.05, 0.02), inertia=np.diag((1e-3, 6e-4, 1.2e-3)))
        turn = {"xyz": (0.1, 0.2, 0.05 * i), "rpy": (-tilt, tilt, 0.0), "axis": (0, -1, 0)}
        builder.joint(f"j{i}", parent=parent, child=f"b{i}", type="revolute", armature=armature, **turn)
        parent = f"b{i}"
    return builder.build(floating_base=floating_base)


def test_the_pivots_are_those_of_the_mass_matrix() -> None:
    """Squares of what is left, against Lᵀ D L of M: every joint type, rotors and a mimic joint."""
    for robot in (changed(every_joint(), armature=True), every_joint(floating_base=True), condyle.random_tree(9, 4)):
        q = states(robot)
        run = checks._Elimination(robot, q)
        run.weak = 0.0  # nobody waits: the order is that of the factors
        run.run()
        (flat,) = evaluate(tree_of(robot), FUNCTIONS["m"], "crba", {"q": q})
        H = flat.reshape(len(q), robot.nv, robot.nv).copy()
        for k in reversed(range(robot.nv)):
            factor = H[:, k, :k] / H[:, k, k, None]
            H[:, :k, :k] -= factor[:, :, None] * H[:, k, None, :k]
        pivots = np.diagonal(H, axis1=1, axis2=2)
        np.testing.assert_allclose(run.left**2, pivots, rtol=1e-9)


def test_a_massless_floating_base_is_found_and_named(tmp_path: Path) -> None:
    """The pivots of M are 1e-13 to 1e-11 of its diagonal there: rounding, that looked like inertia."""
    with pytest.warns(ModelWarning, match=r"'root_joint': has a motion that moves no mass.*singular"):
        robot = bare(True)
    assert least(robot) < SINGULAR
    dyn = robot.compile(target="numpy")
    with pytest.raises(SingularError, match=r"'root_joint'.*'base'"):
        dyn.mass_matrix_inverse(states(robot))
    assert np.isfinite(dyn.mass_matrix(states(robot))).all()
    with pytest.raises(condyle.ModelError, match="'root_joint'"):
        condyle.load(written(robot, tmp_path), floating_base=True, strict=True)


def written(robot: Robot, folder: Path) -> Path:
    path = folder / "bare.urdf"
    path.write_text(robot.to_urdf(), encoding="utf-8")
    return path


def test_mass_armature_or_a_fixed_base_cures_it() -> None:
    fixed, rotors = bare(False), bare(True, armature=0.01)
    for robot in (fixed, rotors):
        assert robot.check() == ()
        assert least(robot) > HONEST
        assert np.isfinite(robot.compile(target="numpy").mass_matrix_inverse(states(robot))).all()


@pytest.mark.filterwarnings("ignore::condyle.ModelWarning")
@pytest.mark.parametrize("tilt", [0.0, 1e-12, 1e-9, 1e-6, 1e-3, 0.3])
def test_motions_that_hide_behind_each_other(tilt: float) -> None:
    """Slightly tilted axes spread what moves nothing over coordinates by that little: none looks idle by itself."""
    robot = bare(True, tilt=tilt)
    assert idle_coordinates(robot, states(robot))
    assert least(robot) < SINGULAR


@pytest.mark.filterwarnings("ignore::condyle.ModelWarning")
def test_a_follower_that_undoes_its_master() -> None:
    """A slide on a slide the other way: their body stands still, whatever the one coordinate is."""
    builder = condyle.Builder().body("a").body("b", mass=1.0, inertia=0.1 * np.eye(3))
    builder.joint("there", parent="world", child="a", type="prismatic", axis=(1, 2, 3))
    builder.joint("back", parent="a", child="b", type="prismatic", axis=(1, 2, 3), mimic=("there", -1.0, 0.0))
    robot = builder.build()
    assert idle_coordinates(robot, states(robot)) == [0]
    half = condyle.Builder().body("a").body("b", mass=1.0, inertia=0.1 * np.eye(3))
    half.joint("there", parent="world", child="a", type="prismatic", axis=(1, 2, 3))
    half.joint("back", parent="a", child="b", type="prismatic", axis=(1, 2, 3), mimic=("there", -0.5, 0.0))
    assert not idle_coordinates(half.build(), np.zeros((1, 1)))


HONEST_ROBOTS = {
    "iiwa14": lambda: condyle.load("iiwa14", floating_base=True),
    "hyq": lambda: condyle.load("hyq", floating_base=True),
    "atlas": lambda: condyle.load("atlas", floating_base=True),
    "every_joint": lambda: every_joint(floating_base=True),
    "tree": lambda: condyle.random_tree(60, rng=3, floating_base=True),
    "chain": lambda: condyle.chain(200),
    "tiny tips": lambda: scaled_tips(1e-6),
    "hairs": lambda: scaled_tips(1e-9),
    "millimetres and tonnes": lambda: in_units(1e3, 1e-3),
    "kilometres and grams": lambda: in_units(1e-3, 1e3),
}


def scaled_tips(factor: float) -> Robot:
    """HyQ with so light lower legs."""
    robot = condyle.load("hyq", floating_base=True)
    bodies = tuple(
        replace(body, mass=factor * body.mass, inertia=factor * body.inertia) if "lowerleg" in body.name else body
        for body in robot.bodies
    )
    return replace(robot, bodies=bodies)


def in_units(length: float, mass: float) -> Robot:
    """HyQ in other units than metres and kilograms."""
    robot = condyle.load("hyq", floating_base=True)
    bodies = tuple(
        Body(body.name, mass * body.mass, length * body.com, mass * length**2 * body.inertia) for body in robot.bodies
    )
    joints = tuple(
        replace(joint, placement=replace(joint.placement, translation=length * joint.placement.translation))
        for joint in robot.joints
    )
    return replace(robot, bodies=bodies, joints=joints)


@pytest.mark.parametrize("name", HONEST_ROBOTS)
def test_honest_robots_are_not_accused(name: str) -> None:
    """Solid bodies are proof, but Atlas has one that is indefinite; and by numbers too they are far from idle."""
    robot = HONEST_ROBOTS[name]()
    assert is_sound(robot) is (name != "atlas")
    assert not idle_coordinates(robot, states(robot))
    assert least(robot) > HONEST > 1e4 * NOTHING


def test_light_links_between_heavy_ones_are_honest() -> None:
    """A wrist's massless frame, a gimbal: bodies without inertia, but no motion without any."""
    builder = condyle.Builder().body("arm", mass=5.0, inertia=0.1 * np.eye(3)).body("cross")
    builder.body("hand", mass=1e-3, inertia=1e-9 * np.eye(3))
    builder.joint("swing", parent="world", child="arm", type="revolute", axis=(0, 1, 0))
    builder.joint("roll", parent="arm", child="cross", type="revolute", axis=(1, 0, 0), xyz=(0.3, 0, 0))
    builder.joint("pitch", parent="cross", child="hand", type="revolute", axis=(0, 1, 0))
    robot = builder.build()
    assert not is_sound(robot)
    assert robot.check() == () and least(robot) > HONEST


def test_a_long_robot_is_checked_soon() -> None:
    """A chain of 1000 solid links needs no elimination at all; with a frame among them it takes steps, not cubes."""
    chain = condyle.chain(1000)
    assert is_sound(chain)
    doubtful = replace(chain, bodies=(Body("frame", 0.0, np.zeros(3), np.zeros((3, 3))), *chain.bodies[1:]))
    assert not is_sound(doubtful)
    begin = time.process_time()
    assert idle_coordinates(doubtful, states(doubtful, 2)) == []
    assert time.process_time() - begin < 5.0  # measured 0.7 s
    assert least(doubtful) > HONEST


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "helical"])
@pytest.mark.parametrize("mass", [1e-3, 0.25, 30.0])
@pytest.mark.parametrize("armature", [0.0, 1e-3, 4.0])
def test_what_could_be_there_is_little_more_than_what_may_be(kind: str, mass: float, armature: float) -> None:
    """The size of a coordinate is at least the root of its M_kk at every q, and at most 6 times the largest.

    It adds what M adds as squares, the moments of all axes, and the distances of the farthest state.
    """
    builder, parent = condyle.Builder(), "world"
    for i in range(2):
        builder.body(f"b{i}", mass=mass, com=(0.1, 0.2, 0.0), inertia=mass * np.diag((0.02, 0.03, 0.04)))
        place = {"axis": (0, 0, 1), "xyz": (0.5 * i, 0.0, 0.0), "armature": armature}
        more = {"pitch": 2.0} if kind == "helical" else {}
        builder.joint(f"j{i}", parent=parent, child=f"b{i}", type=kind, **place, **more)
        parent = f"b{i}"
    robot = builder.build()
    q = np.concatenate([np.zeros((1, 2)), states(robot, 20)])
    run = checks._Elimination(robot, q)
    run.run()
    diagonal = np.sqrt(np.diagonal(robot.compile("numpy").mass_matrix(q), axis1=1, axis2=2))
    assert (run.size >= diagonal * (1.0 - 1e-12)).all()
    assert (run.size <= 6.0 * diagonal.max(axis=0)).all()
