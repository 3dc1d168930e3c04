"""All seven functions against MuJoCo's own reading of a file; its derivatives by differences are as good as exact."""

from __future__ import annotations

from pathlib import Path

import pytest

import condyle
from condyle.functions import DEFAULT
from tests.accuracies import FLOAT64
from tests.laws.robots import states
from tests.twins.compare import error

pytest.importorskip("mujoco", reason="pip install 'condyle[test]'")
from tests.twins.mujoco_file_twin import MujocoFileTwin, joint_ids

MODEL = """<mujoco><compiler angle="radian" autolimits="false"/><option density="1.2" viscosity="1e-3"/>
<worldbody><body name="trunk"><freejoint/><geom type="box" size="0.2 0.1 0.05" mass="3"/>
 <body name="arm" pos="0.1 0.2 0"><joint type="ball" pos="0 0 0.02"/>
  <geom type="capsule" fromto="0 0 0 0.3 0.1 0" size="0.03" mass="1"/>
  <body name="slider" pos="0.3 0 0" quat="0.8 0.6 0 0" gravcomp="1">
   <joint name="joint1" type="slide" axis="1 1 0" ref="0.2" armature="0.3" damping="2"/>
   <joint name="wrist" type="hinge" axis="0 1 0" pos="0.1 0 0" ref="0.4" stiffness="5"/>
   <geom type="ellipsoid" size="0.05 0.1 0.07" mass="0.5" pos="0.02 0.03 0.04"/></body></body></body></worldbody>
<equality><joint joint1="wrist" joint2="joint1" polycoef="0 2 0 0 0"/></equality>
<actuator><position joint="wrist" kp="10"/></actuator></mujoco>"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "arm.xml"
    file.write_text(MODEL, encoding="utf-8")
    return file


@pytest.mark.parametrize("function", DEFAULT)
@pytest.mark.filterwarnings("ignore::condyle.ModelWarning")  # notes on what MuJoCo adds to the tree
def test_function(function: str, path: Path) -> None:
    robot = condyle.load(path, snap=0.0, mimic="independent", unmodelled="ignore")
    found = error(
        robot.compile(target="numpy"), MujocoFileTwin(robot, path), function, states(robot, 3, seed=6), forces=False
    )
    assert found < FLOAT64[function]


@pytest.mark.filterwarnings("ignore::condyle.ModelWarning")
def test_another_robot_is_no_twin(path: Path) -> None:
    robot = condyle.load(path, unmodelled="ignore")  # the wrist follows the slider
    with pytest.raises(ValueError, match="11 degrees of freedom, not 10"):
        MujocoFileTwin(robot, path)


@pytest.mark.filterwarnings("ignore::condyle.ModelWarning")
def test_joints_without_names_are_found(path: Path) -> None:
    robot = condyle.load(path, mimic="independent", unmodelled="ignore")
    ids = joint_ids(MujocoFileTwin(robot, path).model)
    assert ids == {"joint0": 0, "joint1_": 1, "joint1": 2, "wrist": 3}
    assert {joint.name for joint in robot.joints} == set(ids)
