"""Files write 1.57079632679: accuracies hold for the robot after snapping, and with snap=0 for the file's digits."""

from __future__ import annotations

from pathlib import Path

import pytest

import condyle
from condyle import Robot
from tests.accuracies import FLOAT32, FLOAT64, allowed
from tests.laws.robots import states

pytest.importorskip("pinocchio", reason="pip install 'condyle[test]'")
from tests.twins.pinocchio_twin import FileTwin
from tests.twins.test_pinocchio import error

ANGLES = ("1.570796327 0 0", "0 1.57079632679 -1.570796327", "-1.570796327 0 3.14159265359", "0.3 1.570796327 0")
CHANGES = (2.1e-10, 4.9e-12)
LEVER = 10.0
"""How much more than the angles answers may move, relative to the largest entry."""


def text() -> str:
    """An arm of four joints whose frames and inertias are turned by such angles."""
    links, joints = ['<link name="base"/>'], []
    for i, rpy in enumerate(ANGLES):
        links.append(
            f'<link name="l{i}"><inertial><origin xyz="0.1 0.05 -0.2" rpy="{ANGLES[0]}"/>'
            f'<mass value="{2.0 - 0.3 * i}"/>'
            '<inertia ixx="0.02" ixy="0.001" ixz="0.002" iyy="0.03" iyz="-0.001" izz="0.025"/></inertial></link>'
        )
        parent = f"l{i - 1}" if i else "base"
        joints.append(
            f'<joint name="j{i}" type="continuous"><origin xyz="0.3 0.1 0.2" rpy="{rpy}"/><parent link="{parent}"/>'
            f'<child link="l{i}"/><axis xyz="0 0.6 0.8"/></joint>'
        )
    return f'<robot name="arm">{"".join((*links, *joints))}</robot>'


def loaded(folder: Path, snap: float) -> Robot:
    path = folder / "arm.urdf"
    path.write_text(text(), encoding="utf-8")
    return condyle.load(path, snap=snap)


def moved(robot: Robot, function: str, floating_base: bool = False) -> float:
    other = FileTwin(robot, text(), floating_base)
    return error(robot.compile(target="numpy"), other, function, states(robot, 5, seed=2), forces=False)


@pytest.mark.smoke
@pytest.mark.parametrize("function", ["id", "m", "did", "fd", "minv", "dfd"])
def test_with_snap_0_the_accuracies_hold_against_the_file(function: str, tmp_path: Path) -> None:
    robot = loaded(tmp_path, 0.0)
    assert robot.snapped.count == 0
    assert moved(robot, function) < allowed(function, "float64", 0.0)


@pytest.mark.parametrize("function", ["id", "m"])
def test_the_default_moves_answers_by_about_the_angles(function: str, tmp_path: Path) -> None:
    """More than the table, less than what the note says: the largest change times levers."""
    robot = loaded(tmp_path, 1e-9)
    assert robot.snapped.largest == pytest.approx(CHANGES[0], rel=0.1)
    assert allowed(function, "float64", 0.0) < moved(robot, function) < LEVER * robot.snapped.largest < LEVER * 1e-9


def test_what_was_snapped_is_counted(tmp_path: Path) -> None:
    """Six angles of joints, four of inertias; nothing warns; robots made of it remember."""
    robot = loaded(tmp_path, 1e-9)
    assert robot.snapped.count == 6 + 4
    assert robot.check() == ()
    assert robot.lock({"j1": 0.3}).snapped == robot.snapped
    assert loaded(tmp_path, 1e-11).snapped.count == 2
    assert loaded(tmp_path, 1e-11).snapped.largest == pytest.approx(CHANGES[1], rel=0.1)


def test_the_guide_promises_what_is_tested() -> None:
    """Its table of accuracies, number by number; the robot is the one that was loaded."""
    guide = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "accuracy.md").read_text(encoding="utf-8")
    rows = [line for line in guide.split("## Accuracy", 1)[1].splitlines() if line.startswith("|")]
    functions = [cell.strip().split(", ") for cell in rows[0].strip("|").split("|")[1:]]
    for dtype, promised, row in (("float64", FLOAT64, rows[2]), ("float32", FLOAT32, rows[3])):
        name, *cells = (cell.strip() for cell in row.strip("|").split("|"))
        assert name == dtype
        said = {
            f: float(cell) for group, cell in zip(functions, cells, strict=True) for f in group if cell[0].isdigit()
        }
        assert said == promised
