"""Other orders of joints: names, robots, Pinocchio's and MuJoCo's models; mimic joints are never guessed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from condyle import ModelError, load

INERTIAL = '<inertial><mass value="1"/><inertia ixx=".1" ixy="0" ixz="0" iyy=".2" iyz="0" izz=".25"/></inertial>'
LIMIT = '<limit lower="-1" upper="1" effort="1" velocity="1"/>'


def urdf(folder: Path, kind: str = "revolute", mimics: bool = True) -> str:
    """A tree whose file has another order than Pinocchio, which sorts by name: z, then its mimic y, x, w."""
    joints = ("z", "base", kind), ("y", "z", "prismatic"), ("x", "base", "revolute"), ("w", "x", "revolute")
    text = ""
    for name, parent, word in joints:
        mimic = '<mimic joint="z" multiplier="-2" offset="0.1"/>' if name == "y" and mimics else ""
        ends = f'<parent link="{parent}"/><child link="{name}"/><origin xyz="1 0 {len(text) * 1e-3}"/>'
        text += f'<link name="{name}">{INERTIAL}</link>'
        text += f'<joint name="{name}" type="{word}"><axis xyz="0 1 0"/>{ends}{LIMIT}{mimic}</joint>'
    path = folder / "r.urdf"
    path.write_text(f'<robot name="r"><link name="base">{INERTIAL}</link>{text}</robot>')
    return str(path)


@pytest.mark.parametrize("floating", [False, True])
def test_another_robot_is_an_order(tmp_path: Path, floating: bool) -> None:
    robot = load(urdf(tmp_path), floating_base=floating)
    turned = robot.reroot("w")
    assert turned.joint_names != robot.joint_names
    p = turned.permutation(robot)
    for joint in turned.joints:
        there = robot.joint(joint.name)
        assert p.q[joint.q_slice].tolist() == list(range(robot.nq))[there.q_slice]
        assert p.v[joint.v_slice].tolist() == list(range(robot.nv))[there.v_slice]


def test_names_of_mimic_joints_are_refused(tmp_path: Path) -> None:
    robot = load(urdf(tmp_path))
    assert robot.permutation(["x", "w", "z"]).q.tolist() == [2, 0, 1]
    with pytest.raises(ModelError, match=r"among the names: 'y': .* give the other model itself .* or leave out"):
        robot.permutation(["x", "w", "z", "y"])
    assert load(urdf(tmp_path), mimic="independent").permutation(["x", "w", "z", "y"]).q.tolist() == [2, 3, 0, 1]
    with pytest.raises(ModelError, match="order=None: give"):
        robot.permutation(None)  # type: ignore[arg-type]


def test_robots_of_which_one_has_entries_for_mimic_joints(tmp_path: Path) -> None:
    exact, free = load(urdf(tmp_path)), load(urdf(tmp_path), mimic="independent")
    with pytest.raises(ModelError, match=r"'y': mimics another joint here .* mimic='independent'\) gives it some here"):
        exact.permutation(free)
    with pytest.raises(ModelError, match=r"'y': has entries here and mimics .* mimic='exact'"):
        free.permutation(exact)


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("mimic", ["exact", "independent"])
def test_a_model_of_pinocchio(tmp_path: Path, mimic: str, floating: bool) -> None:
    """M qdd + c of both, with the entries where the permutation says; the other handling of mimics is refused."""
    pin = pytest.importorskip("pinocchio", reason="pip install 'condyle[test]'")
    path, root = urdf(tmp_path), [pin.JointModelFreeFlyer()] if floating else []
    robot = load(path, mimic=mimic, floating_base=floating)  # type: ignore[arg-type]
    for same in (True, False):
        model = pin.buildModelFromUrdf(path, *root, mimic=same == (mimic == "exact"))
        if not same:
            with pytest.raises(ModelError, match=r"'y': .*mimics another joint"):
                robot.permutation(model)
            continue
        p, q_pin, v_pin = robot.permutation(model), pin.neutral(model), np.linspace(-1, 1, model.nv)
        q_pin = pin.integrate(model, q_pin, v_pin)
        if not floating:
            assert p.v.tolist() != list(range(robot.nv)), "the test is about another order"
        tau = robot.compile("numpy").inverse_dynamics(q_pin[p.q], v_pin[p.v], v_pin[p.v])
        theirs = pin.rnea(model, model.createData(), q_pin, v_pin, v_pin)
        np.testing.assert_allclose(tau, theirs[p.v], rtol=0, atol=1e-13 * np.abs(theirs).max())


def test_cos_and_sin_are_no_permutation(tmp_path: Path) -> None:
    pin = pytest.importorskip("pinocchio", reason="pip install 'condyle[test]'")
    path = urdf(tmp_path, "continuous", mimics=False)
    with pytest.raises(ModelError, match=r"'z': has cos and sin of its angle in q there"):
        load(path).permutation(pin.buildModelFromUrdf(path))


def test_a_model_of_mujoco(tmp_path: Path) -> None:
    """Quaternions begin with w there, joints without a name have one here, every mimic joint has entries."""
    mujoco = pytest.importorskip("mujoco", reason="pip install 'condyle[test]'")
    arm = '<body pos="1 0 0"><joint{} axis="0 1 0"/><geom size=".1" pos=".2 .1 0"/>{}</body>'
    side = arm.format(' name="c"', "")
    tree = arm.format(' name="b"', arm.format(' name="a" type="ball"', arm.format("", "")))
    (tmp_path / "r.xml").write_text(
        f'<mujoco><worldbody><body><freejoint/><geom size=".2"/>{tree}{side}</body></worldbody>'
        '<equality><joint joint1="c" joint2="b" polycoef="0 2 0 0 0"/></equality></mujoco>'
    )
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "r.xml"))
    with pytest.raises(ModelError, match="'c': mimics another joint here"):
        load(tmp_path / "r.xml").permutation(model)
    robot = load(tmp_path / "r.xml", mimic="independent")
    p, q = robot.permutation(model), np.arange(model.nq)
    assert q[p.q].tolist() == [0, 1, 2, 4, 5, 6, 3, 7, 9, 10, 11, 8, 12, 13]
    assert p.v.tolist() == list(range(model.nv))
    data = mujoco.MjData(model)
    data.qpos[:] = np.random.default_rng(0).uniform(-1, 1, model.nq)
    mujoco.mj_normalizeQuat(model, data.qpos)
    mujoco.mj_forward(model, data)
    place = robot.compile("numpy", frames=robot.body_names).frame_placements(data.qpos[p.q])
    names = [model.body(k).name or f"body{k}" for k in range(1, model.nbody)]
    at = [robot.body_names.index(name) for name in names]
    np.testing.assert_allclose(place.translation[at], data.xpos[1:], atol=1e-13)
