"""Columns of the regressor for numbers of joints: tau = Y pi with damping, dry friction, armature and springs in pi."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle import Robot, UnsupportedError
from condyle.backends.common.facts import Facts
from condyle.backends.cuda.target import TARGET, Form
from condyle.compile.compiler import Compiler
from condyle.compile.gpu import GpuFunction, GpuKernels
from condyle.compile.options import bound_of
from condyle.functions import FUNCTIONS
from condyle.model.tree import tree_of
from condyle.specification.integrators import REGRESSOR
from tests.accuracies import FEW_ROUNDINGS, FLOAT32, ROUNDING
from tests.backends.cuda.simulate import simulate
from tests.laws.robots import Array, relative, robot_named, rotors, states
from tests.laws.test_mimic import gripper

NAMES = ("zoo", "zoo_floating", "hyq_floating", "hand", "hand_floating")
FORCES = ("damping", "friction", "springs")
W = 0.3
"""Of dry friction; not the default, so that it shows."""
INPUTS = {"damping": "damping", "friction": "dry_friction", "armature": "armature", "stiffness": "stiffness"}
"""The input that has the number of each column."""


@cache
def driven(name: str) -> Robot:
    """A robot with random numbers at all joints, followers too."""
    floating = name.endswith("floating")
    robot = gripper("exact", floating) if name.startswith("hand") else robot_named(name)
    rng, joints = np.random.default_rng(8), list(robot.joints)
    for k, joint in enumerate(joints):
        damping, friction, stiffness, reference, armature = rng.uniform(0.2, 2.0, (5, len(joint.armature)))
        joints[k] = replace(
            joint,
            damping=damping,
            friction=friction,
            stiffness=stiffness if joint.kind.is_flat else 0.0 * stiffness,
            spring_reference=reference if joint.kind.is_flat else 0.0 * reference,
            armature=rotors(joint.type, armature),
        )
    return Robot.from_data(replace(robot, joints=tuple(joints)))


def parameters(robot: Robot) -> list[Array]:
    """Of the inertias and of each of `REGRESSOR`; armature with m^2 times that of each follower."""
    armature = robot.armature.copy()
    for joint in robot.joints:
        if joint.mimic is not None:
            armature[joint.v_index] += joint.mimic.multiplier**2 * joint.armature[0]
    return [robot.inertias.reshape(-1), robot.damping, robot.friction, armature, robot.stiffness]


def blocks(robot: Robot, Y: Array, names: tuple[str, ...]) -> dict[str, Array]:
    """The columns of each number behind the inertias', (n, nv, nv)."""
    first, nv = 10 * len(robot.bodies), robot.nv
    assert Y.shape[1:] == (nv, first + len(names) * nv)
    return {name: Y[:, :, first + k * nv : first + (k + 1) * nv] for k, name in enumerate(names)}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("target", ["numpy", "cpu"])
@pytest.mark.parametrize("name", NAMES)
def test_torques_are_the_regressor_times_all_numbers(name: str, target: str, dtype: str) -> None:
    robot = driven(name)
    q, v, a, _ = states(robot)
    dyn = robot.compile(target, dtype, regressor=REGRESSOR, friction_velocity=W)
    tau = robot.compile("numpy", joint_forces=FORCES, friction_velocity=W).inverse_dynamics(q, v, a)
    Y = dyn.inverse_dynamics_regressor(*(x.astype(dtype) for x in (q, v, a)))
    assert Y.dtype == dtype
    assert relative(Y @ np.concatenate(parameters(robot)), tau) < (ROUNDING if dtype == "float64" else FLOAT32["reg"])


@pytest.mark.parametrize("name", NAMES)
def test_columns_are_the_jacobian_by_these_numbers(name: str) -> None:
    """At other numbers than the robot's: tau is linear in them."""
    robot = driven(name)
    q, v, a, _ = states(robot)
    dyn = robot.compile("numpy", inputs=tuple(INPUTS.values()), friction_velocity=W)
    others = {name: 0.5 * x for name, x in zip(INPUTS.values(), parameters(robot)[1:], strict=True)}
    Y = robot.compile("numpy", regressor=REGRESSOR, friction_velocity=W).inverse_dynamics_regressor(q, v, a)
    plain = robot.compile("numpy").inverse_dynamics_regressor(q, v, a)
    assert np.array_equal(Y[:, :, : plain.shape[2]], plain)
    for number, block in blocks(robot, Y, REGRESSOR).items():
        wanted = dyn.jacobian("id", by=(INPUTS[number],))(q, v, a, **others)
        assert np.abs(block - wanted).max() < ROUNDING * max(np.abs(wanted).max(), 1.0)


def test_stiffness_alone_is_an_input() -> None:
    """Springs act with the robot's references, whose compiled code is their own."""
    robot = condyle.load("panda")
    q, v, a, _ = states(robot)
    k = np.arange(1.0, 9.0)
    plain = robot.compile("cpu").inverse_dynamics(q, v, a)
    for reference in (0.0, 0.3, -0.5):
        sprung = robot.with_drives({name: condyle.Drive(spring_reference=reference) for name in robot.joint_names})
        tau = sprung.compile("cpu", inputs=("stiffness",)).inverse_dynamics(q, v, a, stiffness=k)
        assert np.allclose(tau - plain, k * (q - reference), rtol=0, atol=ROUNDING)


def test_columns_of_a_free_base_and_of_joints_without_springs() -> None:
    """Armature of its linear axes is times a + w x v; a quaternion has no spring."""
    robot = driven("zoo_floating")
    q, v, a, _ = states(robot)
    columns = blocks(robot, robot.compile("cpu", regressor=REGRESSOR).inverse_dynamics_regressor(q, v, a), REGRESSOR)
    entries = {name: np.diagonal(block, axis1=1, axis2=2) for name, block in columns.items()}
    assert all(np.array_equal(block, entries[name][:, :, None] * np.eye(robot.nv)) for name, block in columns.items())
    assert np.array_equal(entries["damping"], v)
    assert np.allclose(entries["friction"], v / np.hypot(v, 1e-2), rtol=0, atol=FEW_ROUNDINGS)
    for joint in robot.joints:
        rates = a[:, joint.v_slice].copy()
        if joint.type == "free":
            slide, spin = np.split(v[:, joint.v_slice], 2, axis=1)
            rates[:, :3] += np.cross(spin, slide)
        assert np.allclose(entries["armature"][:, joint.v_slice], rates, rtol=0, atol=FEW_ROUNDINGS)
        length = q[:, joint.q_slice] - robot.spring_reference[joint.v_slice] if joint.kind.is_flat else 0.0 * rates
        assert np.array_equal(entries["stiffness"][:, joint.v_slice], length)


@pytest.mark.parametrize("words", ["friction", ("stiffness", "damping"), ["armature", "armature"], ()])
def test_only_what_is_named_and_always_in_one_order(words: tuple[str, ...] | str) -> None:
    robot = driven("zoo")
    q, v, a, _ = states(robot)
    everything = robot.compile("numpy", regressor=REGRESSOR).inverse_dynamics_regressor(q, v, a)
    dyn = robot.compile("numpy", regressor=words)
    some = tuple(name for name in REGRESSOR if name in words)
    wanted = blocks(robot, everything, REGRESSOR)
    for name, block in blocks(robot, dyn.inverse_dynamics_regressor(q, v, a), some).items():
        assert np.array_equal(block, wanted[name])
    assert dyn.sizes["n_regressor"] == len(some)
    again = pickle.loads(pickle.dumps(dyn)).inverse_dynamics_regressor(q, v, a)
    assert np.array_equal(again, dyn.inverse_dynamics_regressor(q, v, a))


@pytest.mark.parametrize("words", ["spring", ("damping", "dry_friction"), 3, (None,)])
def test_words_that_name_no_column(words: object) -> None:
    allowed = "allowed is 'damping', 'friction', 'armature', 'stiffness'"
    with pytest.raises(UnsupportedError, match=rf"regressor=.*: {allowed}"):
        driven("zoo").compile(regressor=words)  # type: ignore[arg-type]
    with pytest.raises(UnsupportedError, match=rf"regressor=.*: {allowed}"):
        condyle.export(driven("zoo"), "c", "unused", regressor=words)  # type: ignore[arg-type]


@pytest.mark.slow
def test_other_targets_have_the_columns() -> None:
    robot, bound = driven("hand_floating"), {"regressor": REGRESSOR, "friction_velocity": W}
    q, v, a, _ = states(robot)
    Y = robot.compile("numpy", **bound).inverse_dynamics_regressor(q, v, a)
    assert relative(robot.compile("c", **bound).inverse_dynamics_regressor(q, v, a), Y) < ROUNDING
    compiler = Compiler(tree_of(robot, bound_of(robot, **bound)), Facts(robot.nq, robot.nv), {})
    kernels = GpuKernels(compiler, TARGET)
    parts = GpuFunction(kernels, FUNCTIONS["reg"], "float64", 132).launches(Form(1, kernels.usual(FUNCTIONS["reg"])))
    (interpreted,) = simulate(parts, (q, v, a))
    assert relative(interpreted.reshape(Y.shape), Y) < ROUNDING


def test_derivatives_and_packed_answers_have_the_columns() -> None:
    robot = condyle.load("panda")
    q, v, a, _ = states(robot)
    dyn = robot.compile("cpu", regressor=("friction",), friction_velocity=W)
    Y = dyn.inverse_dynamics_regressor(q, v, a)
    dY = dyn.jacobian("reg", by=("v",))(q, v, a)
    slope = W * W / (v * v + W * W) ** 1.5
    assert dY.shape == (*Y.shape, robot.nv)
    for k in range(robot.nv):
        wanted = np.zeros((3, robot.nv, robot.nv))
        wanted[:, k, k] = slope[:, k]
        assert np.abs(dY[:, :, 10 * len(robot.bodies) + k] - wanted).max() < ROUNDING
    packed = dyn.inverse_dynamics_regressor(*(dyn.pack(x, name) for x, name in ((q, "q"), (v, "v"), (a, "a"))))
    assert np.array_equal(packed.dense(), Y)


def test_what_is_kept_is_kept_by_all_that_the_columns_depend_on() -> None:
    """Compiled code of other words, another w or other references is another one."""
    robot, words = condyle.load("panda"), ("friction", "stiffness")
    q, v, a, _ = states(robot)
    moved = robot.with_drives({robot.joint_names[0]: condyle.Drive(spring_reference=0.5)})
    one, other, third = (
        x.compile("cpu", regressor=words, friction_velocity=w).inverse_dynamics_regressor(q, v, a)
        for x, w in ((robot, W), (robot, 2.0 * W), (moved, W))
    )
    of_friction, of_springs = 10 * len(robot.bodies), 10 * len(robot.bodies) + robot.nv
    assert np.all(one[:, 0, of_friction] != other[:, 0, of_friction])
    assert np.allclose(one[:, 0, of_springs] - third[:, 0, of_springs], 0.5, rtol=0, atol=FEW_ROUNDINGS)


def test_users_functions_have_the_columns(tmp_path: Path) -> None:
    robot = condyle.load("panda")
    q, v, a, _ = states(robot)
    sizes = {"q": "nq", "v": "nv", "a": "nv"}
    f = robot.function(lambda at, a: at.inverse_dynamics_regressor(a), sizes, regressor=("armature",))
    Y = robot.compile("cpu", regressor=("armature",)).inverse_dynamics_regressor(q, v, a)
    assert relative(f.compile("cpu")(q, v, a), Y) < ROUNDING
    f.export("c", tmp_path, name="mine")
    assert json.loads((tmp_path / "robot.json").read_text())["regressor"] == ["armature"]


def test_exports_have_the_columns(tmp_path: Path) -> None:
    robot = condyle.load("panda")
    condyle.export(robot, "c", tmp_path, functions=("reg",), regressor="damping")
    assert f"out Y[n][{robot.nv}][{10 * len(robot.bodies) + robot.nv}]" in (tmp_path / "panda.h").read_text()
    assert json.loads((tmp_path / "robot.json").read_text())["regressor"] == ["damping"]
    with pytest.raises(UnsupportedError, match="regressor"):
        condyle.export(robot, "verilog", tmp_path / "v", regressor="damping")
