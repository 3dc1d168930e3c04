"""`connect` and `weld` of MJCF files: what they hold is what MuJoCo's own constraint holds."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import condyle
from condyle import Contact, ModelError, ModelWarning, Robot, UnsupportedError
from condyle.readers import mjcf_compiler as mjcf_compiler
from condyle.readers import mjcf_model as mjcf_model
from condyle.readers import mjcf_tree
from tests.accuracies import ROUNDING
from tests.model.kinematics import frames_at

mujoco = pytest.importorskip("mujoco")

WORLD = """
  <body name="a" pos="0.1 0.2 0.3" euler="10 20 30">
    <joint name="ja" axis="0 1 0.2" ref="20"/><geom type="box" size=".1 .2 .05" pos=".3 0 0"/>
    <site name="sa" pos=".1 .2 .3" euler="30 0 0"/>
    <body name="a2" pos="0.3 0 0"><joint name="ja2" type="ball" pos="0 .1 0"/><geom size=".1" pos=".2 .1 0"/></body>
  </body>
  <body name="b" pos="0.5 0.2 0.3" euler="40 20 30">
    <joint name="jb" axis="1 0 0.3"/><joint name="sb" type="slide" axis="0 1 1" ref=".1"/>
    <geom type="box" size=".1 .2 .05" pos=".3 0 0"/>
    <site name="sb" pos=".1 .2 .3" euler="0 30 0"/>
    <body name="b2" pos="0.1 .1 0"><joint name="jb2" type="ball"/><geom size=".1" pos=".2 .1 0"/></body>
  </body>
  <body name="post" pos="1 0 0" euler="0 0 40"><geom size=".1"/><site name="top" pos="0 0 .2" euler="0 50 0"/></body>
"""
POINTS = {
    '<connect body1="a2" body2="b2" anchor="0.1 0.2 0.3"/>': ("a2", "b2"),
    '<connect body1="b2" anchor="1 2 3"/>': ("b2", None),
    '<connect body1="world" body2="b2" anchor="1 2 3"/>': ("b2", None),
    '<connect body1="post" body2="a2" anchor=".1 .2 .3"/>': ("a2", None),
    '<connect body1="a2" body2="post" anchor=".1 .2 .3"/>': ("a2", None),
    '<connect site1="sa" site2="sb"/>': ("a", "b"),
    '<connect site1="top" site2="sb"/>': ("b", None),
    '<weld body1="a2" body2="b" relpose=".1 .2 .3 2 1 0 0" anchor=".3 .2 .1" torquescale="0"/>': ("a2", "b"),
}
PLANES = {
    '<weld body1="a2" body2="b2"/>': ("a2", "b2"),
    '<weld body1="a2" body2="b2" anchor=".1 .2 .3" torquescale="3"/>': ("a2", "b2"),
    '<weld body1="a2" body2="b2" relpose=".3 .1 .1 1 .3 0 .2" anchor=".1 0 .1"/>': ("a2", "b2"),
    '<weld body1="b2"/>': ("b2", None),
    '<weld body1="post" body2="b2" anchor=".1 .2 .3"/>': ("b2", None),
}


def write(folder: Path, equality: str, world: str = WORLD) -> Path:
    path = folder / "loops.xml"
    path.write_text(f"<mujoco><worldbody>{world}</worldbody>\n<equality>{equality}</equality></mujoco>")
    return path


class Twin:
    """MuJoCo's model of a file, at states of ours."""

    def __init__(self, path: Path, robot: Robot) -> None:
        self.model = mujoco.MjModel.from_xml_path(str(path))
        self.data, self.robot = mujoco.MjData(self.model), robot

    def at(self, q: np.ndarray, v: np.ndarray | None = None) -> Any:
        for joint in self.robot.joints:
            own = q[joint.q_slice]
            self.data.joint(joint.name).qpos = np.roll(own, 1) if len(own) == 4 else own
            self.data.joint(joint.name).qvel = 0.0 if v is None else v[joint.v_slice]
        mujoco.mj_forward(self.model, self.data)
        return self.data

    @property
    def J(self) -> np.ndarray:
        """The equality's rows, columns in our order."""
        rows = np.reshape(self.data.efc_J, (-1, self.model.nv))[: self.data.ne]
        order = [
            i
            for joint in self.robot.joints
            for i in np.atleast_1d(self.model.joint(joint.name).dofadr[0]) + range(joint.nv)
        ]
        return rows[:, order]


def turned(robot: Robot, held: Contact, q: np.ndarray) -> np.ndarray:
    """The contact's axes in the world."""
    return frames_at(robot, q)[held.frame].rotation @ held.placed.rotation


def side(equality: str) -> float:
    """Whether the moving body is MuJoCo's first one."""
    return -1.0 if re.search('body1="(world|post)"|site1="top"', equality) else 1.0


def loaded(path: Path) -> Robot:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # some stand open at first
        return condyle.load(path)


@pytest.mark.parametrize("equality", POINTS)
def test_a_point_is_held_as_by_mujocos_connect(equality: str, tmp_path: Path) -> None:
    """Errors and Jacobian, in any state, loops open."""
    path = write(tmp_path, equality)
    robot = loaded(path)
    (held,) = robot.contacts
    assert (held.frame, held.other, held.kind, held.gains) == (*POINTS[equality], "point", (0.0, 0.0))
    dyn, twin, sign = robot.compile("numpy"), Twin(path, robot), side(equality)
    for q in robot.random_state(5, 1).q:
        data, axes = twin.at(q), turned(robot, held, q)
        assert axes @ dyn.constraint_errors(q) == pytest.approx(sign * data.efc_pos[:3], abs=ROUNDING)
        assert axes @ dyn.constraint_jacobian(q) == pytest.approx(sign * twin.J[:3], abs=ROUNDING)


@pytest.mark.parametrize("equality", PLANES)
def test_a_frame_is_held_as_by_mujocos_weld(equality: str, tmp_path: Path) -> None:
    """What `close` closes is closed there; of the closed loop MuJoCo's rows turn half as fast, times torquescale."""
    path = write(tmp_path, equality)
    robot = loaded(path)
    (held,) = robot.contacts
    assert (held.frame, held.other, held.kind) == (*PLANES[equality], "plane")
    dyn, twin, sign = robot.compile("numpy"), Twin(path, robot), side(equality)
    start = robot.random_state(3, 1).q
    scale = 0.5 * (3.0 if "torquescale" in equality else 1.0)
    for q in robot.close(start):
        data, axes = twin.at(q), turned(robot, held, q)
        assert data.efc_pos[:6] == pytest.approx(np.zeros(6), abs=1e-9)
        ours = dyn.constraint_jacobian(q)
        assert axes @ ours[:3] == pytest.approx(sign * twin.J[:3], abs=1e-9)
        theirs = np.eye(3) if sign > 0 else axes.T @ second_axes(robot, twin, q)
        turns = sign * theirs @ twin.J[3:6]
        turns *= np.sign(np.sum(turns * ours[3:]))  # they follow the sign of a quaternion, which is none of the state's
        assert scale * ours[3:] == pytest.approx(turns, abs=1e-9)


def second_axes(robot: Robot, twin: Twin, q: np.ndarray) -> np.ndarray:
    """MuJoCo's rows of a weld turn in the axes of its second body."""
    return frames_at(robot, q)[twin.model.body(int(twin.model.eq_obj2id[0])).name].rotation


def test_accelerations_are_mujocos_with_a_stiff_connect(tmp_path: Path) -> None:
    """At rest, where MuJoCo's constraint has no bias. Its stiffest impedance, 0.9999, is off by some 1e-4."""
    stiff = '<connect body1="a2" body2="b2" anchor="0.1 0.2 0.3" solimp="0.9999 0.9999 .001" solref="0.01 1"/>'
    path = write(tmp_path, stiff)
    robot = loaded(path)
    q = robot.close(robot.random_state(4, 2).q)
    tau = np.random.default_rng(0).uniform(-1.0, 1.0, (4, robot.nv))
    got = robot.compile("numpy").constrained_forward_dynamics(q, 0.0 * tau, tau, [1.0])
    free = robot.compile("numpy").forward_dynamics(q, 0.0 * tau, tau)
    twin = Twin(path, robot)
    order = [i for joint in robot.joints for i in twin.model.joint(joint.name).dofadr[0] + np.arange(joint.nv)]
    for k in range(4):
        twin.data.qfrc_applied[order] = tau[k]
        data = twin.at(q[k])
        theirs = data.qacc[order]
        assert np.abs(got.a[k] - theirs).max() < 2e-3 * np.abs(theirs).max()
        assert np.abs(free[k] - theirs).max() > 0.05 * np.abs(theirs).max()
        M = np.zeros((robot.nv, robot.nv))
        mujoco.mj_fullM(twin.model, data, M)
        M, J, c = M[np.ix_(order, order)], twin.J, data.qfrc_bias[order]
        kkt = np.block([[M, -J.T], [J, np.zeros((3, 3))]])
        exact = np.linalg.solve(kkt, np.concatenate([tau[k] - c, np.zeros(3)]))
        assert got.a[k] == pytest.approx(exact[: robot.nv], abs=1e-9 * np.abs(exact[: robot.nv]).max())
        axes = turned(robot, robot.contacts[0], q[k])
        assert axes @ got.force[k, 0, :3] == pytest.approx(exact[robot.nv :], abs=1e-9 * np.abs(exact).max())


def test_a_loop_that_stands_open_is_told(tmp_path: Path) -> None:
    path = write(tmp_path, '<connect site1="sa" site2="sb"/><weld body1="a2" body2="b2"/>')
    with pytest.warns(
        ModelWarning, match=r"contact 'a' on 'b': is open at the file's own pose, by 0\.\d+ m \(robot.cl"
    ):
        robot = condyle.load(path)
    assert len(robot.contacts) == 2
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    with pytest.warns(ModelWarning) as caught:
        condyle.load(path)
    (said,) = [f for f in caught[0].message.findings if "is open" in f.message]  # type: ignore[union-attr]
    assert f"by {np.linalg.norm(data.efc_pos[:3]):.3g} m" in said.message


def test_what_is_inactive_is_out(tmp_path: Path) -> None:
    assert condyle.load(write(tmp_path, '<weld body1="a" body2="b" active="false"/>')).contacts == ()


def test_two_frames_that_cannot_move_hold_nothing(tmp_path: Path) -> None:
    path = write(tmp_path, '<weld body1="post"/><connect body1="a" body2="b" anchor="0 0 0"/>')
    with pytest.warns(ModelWarning, match=r"contact 'post': holds nothing and is left out: it is fixed to the world"):
        robot = condyle.load(path)
    assert [one.frame for one in robot.contacts] == ["a"]
    with pytest.raises(ModelError, match="contact 'post': holds nothing"):
        condyle.load(path, strict=True)


def test_a_floating_base_keeps_what_ties_it_to_the_world(tmp_path: Path) -> None:
    world = '<body name="base"><geom size=".1"/><body name="arm"><joint/><geom size=".1" pos="1 0 0"/></body></body>'
    path = write(tmp_path, '<connect body1="base" anchor="0 0 1"/><connect body1="arm" anchor="1 0 0"/>', world)
    with pytest.warns(ModelWarning, match="contact 'base': holds nothing"):
        assert [one.frame for one in condyle.load(path).contacts] == ["arm"]
    robot = condyle.load(path, floating_base=True)
    assert [(one.frame, one.other) for one in robot.contacts] == [("base", None), ("arm", None)]
    assert robot.compile("numpy").constraint_errors(robot.neutral()) == pytest.approx(np.zeros(6), abs=ROUNDING)


def test_other_equalities_stay_refused_beside_loops(tmp_path: Path) -> None:
    more = '<joint joint1="ja" joint2="jb" polycoef="0 0 1 0 0"/>'
    path = write(tmp_path, f'<connect body1="a" body2="b" anchor="0 0 0"/>\n{more}')
    with pytest.raises(UnsupportedError, match=r"equality constraints \(1\): <joint> \(line \d+\): not supported"):
        condyle.load(path)
    with pytest.warns(ModelWarning, match=r"equality constraints \(1\): <joint> \(line \d+\): ignored"):
        assert len(condyle.load(path, unmodelled="ignore").contacts) == 1


@pytest.mark.parametrize("text", ["nan 0 0", "inf 0 0", "1e300 0 0", "0 0"])
def test_numbers_that_are_none_are_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError):
        condyle.load(write(tmp_path, f'<connect body1="a" body2="b" anchor="{text}"/>'))


def compiled(folder: Path) -> mjcf_model.Compiled:
    """What the reader takes of MuJoCo's bytes."""
    model = mujoco.MjModel.from_xml_path(
        str(write(folder, '<weld body1="a" body2="b"/><connect site1="sa" site2="sb"/>'))
    )
    mujoco.mj_saveModel(model, str(folder / "a.mjb"), None)
    schema = mjcf_tree.schema_of(mjcf_compiler.library().parent / "include" / "mujoco")
    return mjcf_model.read_compiled((folder / "a.mjb").read_bytes(), schema)


@pytest.mark.parametrize("wrong", [-1, 6, 1 << 30])
@pytest.mark.parametrize("name", ["eq_obj1id", "eq_obj2id", "eq_objtype"])
def test_indices_from_the_compiler_that_lead_nowhere_close_no_loop(name: str, wrong: int, tmp_path: Path) -> None:
    model = compiled(tmp_path)
    assert mjcf_model.closing(model) == [0, 1]
    getattr(model, name)[0] = wrong
    assert mjcf_model.closing(model) == [1]


def test_a_quaternion_of_zeros_is_no_turn(tmp_path: Path) -> None:
    model = compiled(tmp_path)
    model.eq_data[0, 6:10] = 0.0
    held = mjcf_model.closures(model, model.names["body"], 0.0)[0]
    assert held.placed.rotation.tolist() == np.eye(3).tolist()


def test_a_floating_base_is_tied_to_the_world_from_either_side(tmp_path: Path) -> None:
    """The world may be named first: what is held is the same."""
    world = '<body name="base"><geom size=".1"/><body name="arm"><joint/><geom size=".1" pos="1 0 0"/></body></body>'
    robots: list[Robot] = []
    for ends in ('body1="world" body2="{}"', 'body1="{}" body2="world"'):
        equality = "".join(f'<connect {ends.format(name)} anchor=".3 .2 1"/>' for name in ("base", "arm"))
        robots.append(condyle.load(write(tmp_path, equality, world), floating_base=True))
        assert [(one.frame, one.other) for one in robots[-1].contacts] == [("base", None), ("arm", None)]
    q = robots[0].random_state(3, 0).q
    first, second = (robot.compile("numpy").constraint_errors(q) for robot in robots)
    np.testing.assert_allclose(np.abs(first), np.abs(second), rtol=0, atol=ROUNDING * np.abs(first).max())
