"""Inverse dynamics, forward dynamics and the mass matrix against MuJoCo, given the same numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle import Robot
from condyle.model import builder
from tests.accuracies import DIFFERENCES, FLOAT64
from tests.laws.evaluated import reference
from tests.laws.robots import relative, states

pytest.importorskip("mujoco", reason="pip install 'condyle[test]'")
from tests.twins.compare import error as twins_error
from tests.twins.mujoco_twin import MujocoTwin, mjcf

N = 5
SHARED = ("id", "m", "fd")


def mixed(seed: int) -> Robot:
    """A random tree of the joints that both have, rotors on every second joint, gravity aslant."""
    kinds = ("revolute", "prismatic", "spherical")
    tree = Robot.from_data(builder.random_tree(9, seed, types=kinds, floating_base=True))
    joints = tuple(
        replace(joint, armature=np.full(len(joint.armature), 0.1 * (i % 2))) for i, joint in enumerate(tree.joints)
    )
    return Robot(tree.name, np.array((1.0, -2.0, 3.0)), joints, tree.bodies, tree.frames, tree.base, tree.snap)


def solid(tree: Robot) -> Robot:
    """The robot, inertia added alike about every axis where no real body has it so: MuJoCo refuses such bodies."""
    bodies = []
    for body in tree.bodies:
        low, middle, high = np.linalg.eigvalsh(body.inertia)
        lack = high - middle - low
        bodies.append(body if lack < 0.0 else replace(body, inertia=body.inertia + (lack + 0.01) * np.eye(3)))
    return Robot(tree.name, tree.gravity, tree.joints, tuple(bodies), tree.frames, tree.base, tree.snap)


ROBOTS: dict[str, Callable[[], Robot]] = {
    **{name: lambda name=name: solid(condyle.load(name, snap=0.0)) for name in ("iiwa14", "hyq", "atlas")},
    "hyq_floating": lambda: condyle.load("hyq", snap=0.0, floating_base=True),
    "atlas_floating": lambda: solid(condyle.load("atlas", snap=0.0, floating_base=True)),
    "mixed_0": lambda: mixed(0),
    "mixed_1": lambda: mixed(1),
}


@cache
def robot(name: str) -> Robot:
    return ROBOTS[name]()


@cache
def twin(name: str) -> MujocoTwin:
    return MujocoTwin(robot(name))


def error(name: str, function: str) -> float:
    q, v, a, _ = states(robot(name), N, seed=5)
    given = (q,) if function == "m" else (q, v, a)
    expected = [getattr(twin(name), function)(*row) for row in zip(*given, strict=True)]
    return relative(reference(robot(name), function, *given), np.array(expected))


@pytest.mark.parametrize("function", SHARED)
@pytest.mark.parametrize("name", ROBOTS)
def test_function(name: str, function: str) -> None:
    assert error(name, function) < FLOAT64[function]


@pytest.mark.parametrize("function", ["fk", "fv", "jac", "com", "jcom", "cmm", "ke", "pe", "g"])
@pytest.mark.parametrize("name", ROBOTS)
def test_functions_of_frames_and_of_all_bodies(name: str, function: str) -> None:
    """Their Jacobians are in the world's axes, at the body's origin."""
    other, given = twin(name), states(robot(name), N, seed=5)
    dyn = robot(name).compile("numpy", frames=other.frames, reference_frame="local_world_aligned")
    assert twins_error(dyn, other, function, given, forces=False) < FLOAT64[function]


def floating_with_rotors(armature: float = 0.7) -> Robot:
    """A free joint, hinges, slides and balls with rotors; the free one's stand in world axes there."""
    tree = mixed(2)
    joints = tuple(replace(joint, armature=np.full(len(joint.armature), armature)) for joint in tree.joints)
    return replace(tree, joints=joints)


def test_armature_of_a_free_joint(tmp_path: Path) -> None:
    """From a file of our own text: id, m, fd, and derivatives by differences of theirs."""
    path = tmp_path / "rotors.xml"
    path.write_text(mjcf(floating_with_rotors()), encoding="utf-8")
    read = condyle.load(path, snap=0.0)
    assert read.joints[0].type == "free" and read.joints[0].armature.tolist() == [0.7] * 6
    other = MujocoTwin(floating_with_rotors())
    q, v, a, _ = states(read, N, seed=5)
    for function in SHARED:
        given = (q,) if function == "m" else (q, v, a)
        expected = [getattr(other, function)(*row) for row in zip(*given, strict=True)]
        assert relative(reference(read, function, *given), np.array(expected)) < FLOAT64[function], function
    for function, forward in (("did", other.id), ("dfd", other.fd)):
        by_q, by_v = reference(read, function, q, v, a)[:2]
        assert relative(by_q, slopes(forward, lambda e: (read.integrate(q, e), v, a), read.nv)) < DIFFERENCES, function
        assert relative(by_v, slopes(forward, lambda e: (q, v + e, a), read.nv)) < DIFFERENCES, function


def slopes(forward: Callable[..., np.ndarray], moved: Callable[[np.ndarray], Sequence[np.ndarray]], n: int) -> object:
    """Central differences along n directions, (states, nv, n)."""
    step = 1e-6
    columns = []
    for e in step * np.eye(n):
        ahead, behind = (np.array([forward(*row) for row in zip(*moved(x), strict=True)]) for x in (e, -e))
        columns.append((ahead - behind) / (2.0 * step))
    return np.stack(columns, axis=-1)


def test_an_mjcf_file_means_what_mujoco_takes_it_for(tmp_path: object) -> None:
    """Our reader and MuJoCo read one file to the same mass matrix and the same forces."""
    path = tmp_path / "mixed.xml"  # type: ignore[operator]
    path.write_text(mjcf(robot("mixed_0")), encoding="utf-8")
    read = condyle.load(path, snap=0.0)
    assert read.nv == robot("mixed_0").nv
    q, v, a, _ = states(robot("mixed_0"), N, seed=5)
    assert [joint.type for joint in read.joints] == [joint.type for joint in robot("mixed_0").joints]
    for function, given in (("id", (q, v, a)), ("m", (q,))):
        expected = [getattr(twin("mixed_0"), function)(*row) for row in zip(*given, strict=True)]
        assert relative(reference(read, function, *given), np.array(expected)) < FLOAT64[function]
