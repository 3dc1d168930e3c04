"""Numbers that are none, in every spelling that C reads (M5)."""

from __future__ import annotations

from pathlib import Path

import pytest

from condyle.errors import ModelError
from condyle.readers import load_robot

SPELLINGS = ("nan", "NaN", "-nan", "NaN(0)", "nan(char)", "inf", "-INF", "Infinity", "+infinity")
PLACES = {
    "mass": '<geom size=".1" mass="{}"/>',
    "density": '<geom size=".1" density="{}"/>',
    "axis": '<joint axis="0 {} 1"/><geom size=".1"/>',
    "armature": '<joint armature="{}"/><geom size=".1"/>',
    "range": '<joint range="{} 1"/><geom size=".1"/>',
    "fullinertia": '<inertial pos="0 0 0" mass="1" fullinertia="1 1 {} 0 0 0"/>',
    "shellscale": '<geom type="mesh" mesh="m" fitscale="{}"/>',
    "hidden by an inertia": '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><geom mass="{}" size="1"/>',
}


@pytest.mark.parametrize("word", SPELLINGS)
@pytest.mark.parametrize("place", PLACES)
def test_m5_numbers_that_are_none(place: str, word: str, tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    path = tmp_path / "bad.xml"
    path.write_text(f"<mujoco><worldbody>\n<body>{PLACES[place].format(word)}</body></worldbody></mujoco>")
    with pytest.raises(ModelError, match=r"bad.xml:2: .*is not finite"):
        load_robot(path)


def test_m5_defaults_too(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    path = tmp_path / "bad.xml"
    text = '<default><geom mass="NaN(1)"/></default><worldbody><body><joint/><geom size=".1"/></body></worldbody>'
    path.write_text(f"<mujoco>{text}</mujoco>")
    with pytest.raises(ModelError, match="mass='NaN\\(1\\)' is not finite"):
        load_robot(path)


@pytest.mark.parametrize("name", ["finance", "info", "nan", "inf"])
def test_names_may_have_such_letters(name: str, tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    path = tmp_path / "fine.xml"
    path.write_text(
        f'<mujoco><worldbody><body name="{name}"><joint name="{name}"/><geom size=".1" mass="0x10"/></body>'
        f'</worldbody><actuator><motor joint="{name}"/></actuator></mujoco>'
    )
    robot = load_robot(path)
    assert (robot.joint_names, robot.bodies[0].mass) == ((name,), 16.0)  # MuJoCo reads hexadecimal numbers
