"""Errors that are put in on purpose are found by the comparison of model files, however small a derivative is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle import Dynamics, Robot
from condyle.cli.check import allowed
from condyle.functions import DEFAULT, FUNCTIONS, function_of
from tests.laws.robots import States, states
from tests.twins.compare import arguments

pytest.importorskip("mujoco", reason="pip install 'condyle[test]'")
pytest.importorskip("pinocchio", reason="pip install 'condyle[test]'")
from tests.twins.mujoco_file_twin import MujocoFileTwin
from tests.twins.pinocchio_twin import FileTwin
from tools.corpus.compared import Twin, error_of, errors, twin_of
from tools.corpus.find import Case

ARM = (
    '<robot name="arm"><link name="base"/>'
    + "".join(
        f'<link name="l{i}"><inertial><origin xyz="0.1 0.2 0.3"/><mass value="{3 - i}"/>'
        f'<inertia ixx="0.2" iyy="0.3" izz="0.25" ixy="0.0{i}1" ixz="0.02" iyz="0"/></inertial></link>'
        f'<joint name="j{i}" type="continuous"><origin xyz="0.1 0 0.5" rpy="0.3 0.4 0.5"/>'
        f'<parent link="{parent}"/><child link="l{i}"/><axis xyz="0 0.6 0.8"/></joint>'
        for i, parent in enumerate(("base", "l0", "l1"))
    )
    + "</robot>"
)
TRUNK = """<mujoco><worldbody><body><freejoint/><geom type="box" size="0.2 0.1 0.05" mass="3"/>
 <body pos="0.1 0.2 0"><joint type="ball"/><geom type="capsule" fromto="0 0 0 0.3 0.1 0" size="0.03" mass="1"/>
  <body pos="0.3 0 0" quat="0.8 0.6 0 0"><joint type="slide" axis="1 1 0"/><joint axis="0 1 0"/>
   <geom type="ellipsoid" size="0.05 0.1 0.07" mass="0.5" pos="0.02 0.03 0.04"/></body></body></body>
</worldbody></mujoco>"""
# Two slides carry 100 kg. The torques depend on the angle of the small wheel only: by one part in a million.
GANTRY = """<mujoco><worldbody><body><joint type="slide" axis="1 0 0"/><geom size="0.1" mass="60"/>
 <body><joint type="slide" axis="0 0 1"/><geom size="0.1" mass="40"/>
  <body pos="0.1 0 0"><joint axis="0 1 0"/><geom size="0.01" mass="0.01" pos="0.01 0 0"/></body></body></body>
</worldbody></mujoco>"""
BALANCED = GANTRY.replace('pos="0.01 0 0"', 'pos="0 0 0"')


@dataclass
class Wrong:
    """Our functions; one number of one answer is multiplied by 1 + 1e-6."""

    dyn: Dynamics
    name: str
    output: int
    entry: tuple[int, ...]

    def __getattr__(self, name: str) -> object:
        return getattr(self.dyn, name)

    def function(self, name: str) -> object:
        return self.changed if name == self.name else self.dyn.function(name)

    def changed(self, *inputs: np.ndarray) -> object:
        found = outputs(self.dyn.function(self.name)(*inputs))
        found[self.output][self.entry] *= 1.0 + 1e-6
        return found if len(found) > 1 else found[0]


def outputs(answers: object) -> tuple[np.ndarray, ...]:
    return tuple(x.copy() for x in (answers if isinstance(answers, tuple) else (answers,)))


def read(folder: Path, text: str, theirs: str | None = None) -> tuple[Dynamics, Twin, States, float]:
    """Ours, the other engine's reading of the same file or of another text, states, the condition of M."""
    ending = "urdf" if text.startswith("<robot") else "xml"
    ours, other = folder / f"ours.{ending}", folder / f"theirs.{ending}"
    ours.write_text(text, encoding="utf-8")
    other.write_text(theirs or text, encoding="utf-8")
    robot: Robot = condyle.load(ours, snap=0.0)
    twin = FileTwin(robot, str(other), False) if ending == "urdf" else MujocoFileTwin(robot, other)
    given = states(robot, 1, seed=5)
    return robot.compile(target="numpy"), twin, given, float(max(np.linalg.cond(twin.m(q)) for q in given.q))


@pytest.mark.parametrize("text", [ARM, TRUNK, GANTRY, BALANCED], ids=["arm", "trunk", "gantry", "balanced"])
def test_nothing_is_found_where_nothing_is_wrong(text: str, tmp_path: Path) -> None:
    """The balanced wheel's derivatives are zero, and the other engine's are rounding of large torques."""
    assert errors(*read(tmp_path, text), forces=False)[1] == []


@pytest.mark.filterwarnings("ignore::condyle.ModelWarning")  # "taken as 0"
def test_inertials_that_pinocchio_drops(tmp_path: Path) -> None:
    """For a line break in a number, and without its zeros: the comparison gives it the same in its words."""
    path = tmp_path / "arm.urdf"
    path.write_text(ARM.replace('value="3"', 'value="3\n"').replace(' iyz="0"', ""), encoding="utf-8")
    robot = condyle.load(path, snap=0.0)
    twin = twin_of(robot, Case(path, "arm.urdf", "here", "urdf", "fixed"))
    assert errors(robot.compile(target="numpy"), twin, states(robot, 1, seed=5), 1.0, forces=True)[1] == []


@pytest.mark.parametrize(
    ("text", "right", "wrong"),
    [
        (ARM, 'mass value="1"', 'mass value="1.000001"'),
        (ARM, 'ixy="0.021"', 'ixy="0.021001"'),
        (TRUNK, 'mass="0.5"', 'mass="0.5000005"'),
        (TRUNK, 'size="0.03"', 'size="0.030001"'),
    ],
)
def test_a_wrong_inertia_is_found_by_every_function(text: str, right: str, wrong: str, tmp_path: Path) -> None:
    """A mass by one part in a million, an inertia by 1e-6 kg m2, a radius by one micrometre."""
    assert text.count(right) == 1
    assert set(errors(*read(tmp_path, text, text.replace(right, wrong)), forces=False)[1]) == set(DEFAULT)


@pytest.mark.parametrize("name", DEFAULT)
@pytest.mark.parametrize("text", [ARM, TRUNK], ids=["arm", "trunk"])
def test_one_wrong_number_is_found(name: str, text: str, tmp_path: Path) -> None:
    """Every number of every answer in turn, if it is at least a twentieth of the largest."""
    dyn, twin, given, condition = read(tmp_path, text)
    for output, whole in enumerate(outputs(dyn.function(name)(*arguments(dyn, name, given)))):
        for entry in np.argwhere(np.abs(whole) > 0.05 * np.abs(whole).max()):
            wrong = Wrong(dyn, name, output, tuple(map(int, entry)))
            assert error_of(name, wrong, twin, given, False) > allowed(function_of(name), "float64", condition), (
                output,
                entry,
            )


def test_a_small_derivative_hides_no_error(tmp_path: Path) -> None:
    """The largest derivative is a millionth of the largest torque; one part in a million of it is found."""
    dyn, twin, given, condition = read(tmp_path, GANTRY)
    by_q = np.abs(dyn.function("did")(given.q, given.v, given.a)[0])
    entry = np.unravel_index(np.argmax(by_q), by_q.shape)
    assert by_q[entry] < 2e-6 * np.abs(dyn.function("id")(given.q, given.v, given.a)).max()
    wrong = Wrong(dyn, "did", 0, tuple(map(int, entry)))
    assert error_of("did", wrong, twin, given, False) > 10.0 * allowed(FUNCTIONS["did"], "float64", condition)
