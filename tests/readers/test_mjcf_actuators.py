"""What actuators add to their joints: gear squared times armature and damping, as MuJoCo 4 has it (mismatch 2)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from condyle.errors import ModelWarning, UnsupportedError
from condyle.readers import load_robot
from tests.laws.evaluated import reference
from tests.laws.robots import relative

ARM = """<body name="a"><joint name="j" axis="0 1 0" armature=".1" damping=".2"/><geom size=".1" pos=".1 0 0"/>
<body name="b" pos=".3 0 0"><joint name="k" type="slide" axis="1 0 1"/><geom size=".1"/></body></body>"""
BALL = '<body name="a"><joint name="j" type="ball"/><geom type="box" size=".1 .2 .3" pos=".1 0 0"/></body>'
FREE = BALL.replace("ball", "free")
TENDON = '<tendon><fixed name="t"><joint joint="j" coef="2"/><joint joint="k" coef="-1"/></fixed></tendon>'
ACTUATORS = {
    "hinge": (ARM, '<motor joint="j" gear="3" armature="0.5" damping="2"/>'),
    "slide": (ARM, '<position joint="k" gear="-2" armature="0.5"/>'),
    "in the parent": (ARM, '<motor jointinparent="j" gear="3" armature="0.5"/>'),
    "two of one joint": (ARM, '<motor joint="j" gear="3" armature="0.5"/><velocity joint="j" armature="0.2"/>'),
    "by default": (ARM, '<general joint="j" class="geared"/>'),
    "switched off": (ARM, '<motor joint="j" gear="3" armature="0.5" group="1"/>'),
    "direct current": (ARM, '<dcmotor joint="j" armature="0.5" motorconst="1" resistance="2"/>'),
    "ball": (BALL, '<motor joint="j" gear="2 1 0" armature="0.5"/>'),
    "ball, no first gear": (BALL, '<motor joint="j" gear="0 1 0" armature="0.5"/>'),
    "ball in the parent": (BALL, '<motor jointinparent="j" gear="1 1 0" armature="0.5"/>'),
    "free": (FREE, '<motor joint="j" gear="2 0 0 0 1 0" armature="0.5"/>'),
    "tendon without gear": (ARM, '<motor tendon="t" gear="0" armature="0.5"/>'),
}
HEAD = (
    '<option actuatorgroupdisable="1"><flag actuation="disable"/></option>'
    '<default><default class="geared"><general gear="4" armature=".25"/></default></default>'
)


def write(folder: Path, body: str, actuators: str, tendon: str = "") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "a.xml"
    path.write_text(
        f"<mujoco>{HEAD}<worldbody>\n{body}</worldbody>\n{tendon}\n<actuator>{actuators}</actuator></mujoco>"
    )
    return path


@pytest.mark.filterwarnings("ignore::condyle.errors.ModelWarning")
@pytest.mark.parametrize("case", ACTUATORS)
def test_the_mass_matrix_is_mujocos(case: str, tmp_path: Path) -> None:
    mujoco = pytest.importorskip("mujoco")
    body, actuators = ACTUATORS[case]
    path = write(tmp_path, body, actuators, TENDON if "tendon" in actuators else "")
    robot = load_robot(path)
    bare = load_robot(write(tmp_path / "bare", body, ""))
    assert (robot.fingerprint == bare.fingerprint) == (case in ("tendon without gear", "ball, no first gear"))
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    q, _ = robot.random_state(5, 0)
    M, full = reference(robot, "m", q), np.zeros((model.nv, model.nv))
    for i in range(5):
        turn = [q[i, -1], *q[i, -4:-1]] if robot.joints[0].nq > 1 else []
        data.qpos = [*q[i, : len(q[i]) - len(turn)], *turn]
        mujoco.mj_forward(model, data)
        mujoco.mj_fullM(model, data, full)
        theirs = full.copy()
        if robot.joints[0].type == "free":  # their linear velocity is the world's, ours the body's
            turn_to_world = np.eye(6)
            turn_to_world[:3, :3] = data.xmat[1].reshape(3, 3)
            theirs = turn_to_world.T @ full @ turn_to_world
        assert relative(M[i], theirs) < 1e-13


def test_damping_of_actuators_is_damping_of_joints(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    robot = load_robot(write(tmp_path, *ACTUATORS["hinge"]))
    assert robot.joints[0].damping.tolist() == [pytest.approx(0.2 + 9 * 2.0)]


@pytest.mark.parametrize(
    ("actuator", "tendon"),
    [('<motor tendon="t" gear="3" armature="0.5"/>', TENDON), ("", TENDON.replace("<fixed", '<fixed armature="1"'))],
)
def test_armature_by_a_tendon_is_refused_by_name(actuator: str, tendon: str, tmp_path: Path) -> None:
    """It couples joints in M."""
    pytest.importorskip("mujoco")
    path = write(tmp_path, ARM, actuator, tendon)
    text = r"tendons with a spring, damping, friction, a limit or armature \(1\): 't' \(line 4\)"
    with pytest.raises(UnsupportedError, match=text):
        load_robot(path)
    with pytest.warns(ModelWarning, match=text):
        assert load_robot(path, unmodelled="ignore").joints[0].armature.tolist() == [0.1]
