"""MJCF files with more than a tree: what is left out leaves MuJoCo's tree, and linear joint equalities are mimics."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from condyle.errors import ModelWarning, UnsupportedError
from condyle.model.parts import unapplied
from condyle.model.robot import Robot
from condyle.readers import load_robot
from tests.laws.evaluated import reference
from tests.laws.robots import relative
from tests.model.kinematics import frames_at

# a hand: the right finger follows the left one, the thumb's tip (slide) its turn; springs, tendons, a flex, a weld
HAND = """<mujoco model="hand">
  <default><joint armature="0.02"/></default>
  <worldbody>
    <body name="palm" pos="0 0 1" euler="20 0 30">
      <joint name="wrist" axis="0 1 1" ref="15" stiffness="4" springref="10"/>
      <geom type="box" size=".1 .05 .02" mass="1"/>
      <body name="left" pos=".1 .03 0">
        <joint name="left" axis="0 0 1" pos="0 .01 0" ref="-20" stiffness="1"/>
        <geom type="capsule" size=".01 .05" mass=".2"/>
      </body>
      <body name="right" pos=".1 -.03 0">
        <joint name="right" axis="0 0 -1" ref="40"/><geom type="capsule" size=".01 .05" mass=".3" pos="0 0 .02"/>
      </body>
      <body name="thumb" pos="0 .05 .05" euler="0 70 0">
        <joint name="turn" axis="1 2 0"/><geom type="ellipsoid" size=".02 .03 .04" mass=".4"/>
        <body name="tip" pos="0 0 .1"><joint name="slide" type="slide" axis="0 1 1" ref=".02"/><geom size=".02"/></body>
      </body>
    </body>
  </worldbody>
  <tendon><fixed name="t" stiffness="3"><joint joint="left" coef="1"/><joint joint="right" coef=".5"/></fixed></tendon>
  <equality>
    <joint joint1="right" joint2="left" polycoef="0.1 -1.5 0 0 0"/>
    <joint joint1="slide" joint2="turn" polycoef="0 0.03 0 0 0"/>
    <joint joint1="right" joint2="turn"/>
    <joint joint1="turn" joint2="wrist" active="false"/>
    <joint joint1="turn" joint2="wrist" polycoef="0 0 1 0 0"/>
    <weld body1="tip" body2="left"/>
  </equality>
  <deformable><flex dim="1" body="left right" vertex="0 0 0 0 0 0" element="0 1"/></deformable>
  <actuator><position tendon="t" kp="10"/></actuator>
</mujoco>
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    pytest.importorskip("mujoco")
    (tmp_path / "hand.xml").write_text(HAND, encoding="utf-8")
    return tmp_path / "hand.xml"


def load(path: Path, mimic: str = "exact") -> Robot:
    with pytest.warns(ModelWarning):
        return load_robot(path, unmodelled="ignore", mimic=mimic)


def test_each_kind_is_refused_or_noted_with_its_count(path: Path) -> None:
    acting = "equality constraints (2): <joint> (line 24), <joint> (line 26)"
    tendons = "tendons with a spring, damping, friction, a limit or armature (1): 't' (line 20)"
    with pytest.raises(UnsupportedError, match=re.escape(f"flexes (1): <flex> (line 29); {acting}; {tendons}: not")):
        load_robot(path)
    with pytest.warns(ModelWarning) as caught:
        load_robot(path, unmodelled="ignore")
    (warning,) = caught
    notes = [note.removeprefix(f"note: {path}: ") for note in str(warning.message).splitlines()]
    assert [note for note in notes if not note.startswith("MuJoCo: ")] == [
        "flexes (1): <flex> (line 29): ignored",
        f"{acting}: ignored",
        f"{tendons}: ignored",
    ]
    line = unapplied(load(path))
    assert "not applied: springs of 2 joints ('wrist', 'left'), 1 actuator (to apply: compile(joint_forces" in line
    assert [(one.frame, one.other) for one in load(path).contacts] == [("tip", "left")]  # the weld is a closure
    with pytest.warns(ModelWarning):  # none is doubtful physics of the tree
        load_robot(path, unmodelled="ignore", strict=True)


@pytest.mark.parametrize("mimic", ["exact", "independent"])
def test_the_tree_is_mujocos(path: Path, mimic: str) -> None:
    """Frames, mass matrix and inverse dynamics; of followers with G, their velocities from the free ones."""
    mujoco = pytest.importorskip("mujoco")
    robot = load(path, mimic)
    assert robot.nv == (3 if mimic == "exact" else 5)
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    rng = np.random.default_rng(0)
    q, v = robot.random_state(10, rng)
    a = rng.uniform(-1.0, 1.0, v.shape)
    G = np.zeros((5, robot.nv))
    start = np.zeros(5)
    for k, joint in enumerate(robot.joints):
        G[k, joint.v_index] = 1.0 if joint.mimic is None else joint.mimic.multiplier
        start[k] = 0.0 if joint.mimic is None else joint.mimic.offset
    M, tau = np.zeros((10, robot.nv, robot.nv)), np.zeros((10, robot.nv))
    for i in range(10):
        data.qpos, data.qvel = G @ q[i] + start, G @ v[i]
        M[i], tau[i] = projected(mujoco, model, data, G, a[i])
        frames = frames_at(robot, q[i])
        for k in range(1, model.nbody):
            place = frames[model.body(k).name]
            assert place.translation == pytest.approx(data.xpos[k], abs=1e-13)
            assert place.rotation.ravel() == pytest.approx(data.xmat[k], abs=1e-13)
    # five bodies of rounding
    assert relative(reference(robot, "m", q), M) < 1e-12
    assert relative(reference(robot, "id", q, v, a), tau) < 1e-12


def projected(mujoco: Any, model: Any, data: Any, G: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """G^T M G and G^T (M G a + c): no spring, tendon or constraint has a part in either."""
    mujoco.mj_forward(model, data)
    full = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, full)
    return G.T @ full @ G, G.T @ (full @ G @ a + data.qfrc_bias)


def test_followers_keep_mujocos_equality(path: Path) -> None:
    """At every state of ours the residual of the equalities that were read is zero."""
    mujoco = pytest.importorskip("mujoco")
    robot, free = load(path), load(path, "independent")
    assert robot.joint_names == free.joint_names
    model = mujoco.MjModel.from_xml_path(str(path))
    model.eq_active0[2:] = 0
    data = mujoco.MjData(model)
    for q in robot.random_state(10, 1).q:
        for joint in robot.joints:
            m = joint.mimic
            value = q[joint.q_index] if m is None else m.multiplier * q[joint.q_index] + m.offset
            data.joint(joint.name).qpos = value
        mujoco.mj_forward(model, data)
        assert data.ne == 2
        assert data.efc_pos[:2] == pytest.approx([0.0, 0.0], abs=1e-15)


def test_a_linear_equality_alone_needs_no_option(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    body = '<body name="{0}"><joint name="{0}"/><geom size=".1" pos=".1 0 0"/></body>'
    equality = '<equality><joint joint1="b" joint2="a" polycoef="0 -1 0 0 0"/></equality>'
    path = tmp_path / "two.xml"
    path.write_text(f"<mujoco><worldbody>{body.format('a')}{body.format('b')}</worldbody>{equality}</mujoco>")
    robot = load_robot(path)
    assert (robot.nv, len(robot.joints)) == (1, 2)


def test_tendons_that_only_route_actuators_are_of_the_actuators(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    body = '<body name="{0}"><joint name="{0}"/><geom size=".1" pos=".1 0 0"/></body>'
    tendon = '<fixed{}><joint joint="a" coef="1"/><joint joint="b" coef="1"/></fixed>'
    path = tmp_path / "routed.xml"
    for more in ("", ' stiffness="1"', ' damping="1"', ' frictionloss="1"', ' armature="1"', ' range="0 1"'):
        path.write_text(
            f"<mujoco><worldbody>{body.format('a')}{body.format('b')}</worldbody><tendon>{tendon.format(more)}"
            '</tendon><actuator><position tendon="t"/></actuator></mujoco>'.replace('"t"', '"t"')
        )
        path.write_text(path.read_text().replace("<fixed", '<fixed name="t"'))
        if more:
            with pytest.raises(UnsupportedError, match=r"tendons with .*'t' \(line 1\)"):
                load_robot(path)
        else:
            robot = load_robot(path)
            assert (robot.nv, "not applied: 1 actuator (to apply: compile(actuators=True))" in unapplied(robot)) == (
                2,
                True,
            )


def test_long_lists_are_cut_short(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    joints = "\n".join(f'<body><joint name="j{k}" stiffness="1"/><geom size=".1"/></body>' for k in range(9))
    (tmp_path / "many.xml").write_text(f"<mujoco><worldbody>\n{joints}</worldbody></mujoco>")
    text = "springs of 9 joints ('j0', 'j1', 'j2' and 6 more)"
    assert text in unapplied(load_robot(tmp_path / "many.xml"))


def test_sensors_and_actuators_by_plugin_are_left_out_and_never_run(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    parts = (
        '<extension><plugin plugin="no.such"/></extension>\n<sensor><plugin plugin="no.such"/></sensor>\n'
        '<actuator><plugin joint="a" plugin="no.such"/><motor joint="a"/></actuator>'
    )
    path = tmp_path / "plugged.xml"
    path.write_text(f'<mujoco><worldbody><body><joint name="a"/><geom size=".1"/></body></worldbody>\n{parts}</mujoco>')
    with pytest.raises(UnsupportedError, match=r"plugins \(2\): 'no.such' \(line 2\), 'no.such' \(line 4\)"):
        load_robot(path)
    with pytest.warns(ModelWarning, match=r"plugins \(2\): .*: ignored"):
        assert load_robot(path, unmodelled="ignore").nv == 1


CONSTANT = """<mujoco><worldbody>
  <body><joint name="a" axis="0 1 0" ref="10"/><geom size=".1" pos=".2 0 0"/>
    <body name="forearm" pos=".3 0 0">
      <joint name="b" axis="0 1 0" pos="0 0 .1" ref="-20"/><geom size=".1" pos=".2 0 0"/>
      <body pos=".3 0 0"><joint name="c" axis="1 0 1" type="slide" ref=".2"/><geom size=".1" pos=".2 0 0"/></body>
    </body>
  </body>
  <body pos="0 1 0"><joint name="d" axis="1 0 0"/><geom size=".1" pos="0 .1 0"/></body>
</worldbody><equality>{}</equality></mujoco>"""


@pytest.mark.parametrize(
    ("equalities", "held"),
    [
        ('<joint joint1="b" joint2="a" polycoef=".3 0 0 0 0"/>', {"b": 0.3}),
        ('<joint joint1="b" polycoef=".3 1 0 0 0"/>', {"b": 0.3}),
        ('<joint joint1="c" polycoef=".1"/><joint joint1="b" joint2="c" polycoef=".3 2 0 0 0"/>', {"b": 0.5, "c": 0.1}),
    ],
)
def test_an_equality_with_a_constant_holds_its_joint(equalities: str, held: dict[str, float], tmp_path: Path) -> None:
    """M of the other joints is MuJoCo's where its equalities have no residual; a joint that follows is held too."""
    mujoco = pytest.importorskip("mujoco")
    path = tmp_path / "held.xml"
    path.write_text(CONSTANT.format(equalities))
    robot = load_robot(path)
    free = [name for name in "abcd" if name not in held]
    assert robot.joint_names == tuple(free)
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    (q,) = robot.random_state(1, 0).q
    for name in free:
        data.joint(name).qpos = q[robot.joint(name).q_index]
    for name, off in held.items():
        data.joint(name).qpos = model.joint(name).qpos0 + off
    mujoco.mj_forward(model, data)
    assert np.abs(data.efc_pos[: data.ne]).max() < 1e-15
    full = np.zeros((4, 4))
    mujoco.mj_fullM(model, data, full)
    rows = [int(model.joint(name).dofadr[0]) for name in free]
    # four bodies of rounding
    assert relative(reference(robot, "m", q[None]), full[np.ix_(rows, rows)][None]) < 1e-13
    place = frames_at(robot, q)["forearm"]
    assert place.translation == pytest.approx(data.body("forearm").xpos, abs=1e-14)
    assert load_robot(path, mimic="independent").joint_names == ("a", "b", "c", "d")
