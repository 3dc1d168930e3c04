"""From a file to answers: every format, every target with derivatives and a rollout, every export, the command.

Each other folder has a smoke test of its own part; `pytest -m smoke` takes less than a minute for all.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle.compile.targets import TARGETS
from condyle.exports.targets import EXPORTS
from tests.accuracies import ROUNDING, SOLVED
from tests.backends.cuda.fake_driver import FakeDriver
from tests.gpu.conftest import fake

__all__ = ["fake"]
pytestmark = pytest.mark.smoke

URDF = """<robot name="two"><link name="base"/>{}</robot>""".format(
    "".join(
        f"""<link name="l{k}"><inertial><origin xyz="0.1 0.02 0.3"/><mass value="2"/>
        <inertia ixx=".1" iyy=".2" izz=".15" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <joint name="j{k}" type="revolute"><parent link="{parent}"/><child link="l{k}"/><axis xyz="{axis}"/>
        <origin xyz="0 0.1 0.4"/><limit lower="-3" upper="3" effort="9" velocity="9"/></joint>"""
        for k, (parent, axis) in enumerate([("base", "0 0 1"), ("l0", "0 1 0")])
    )
)
"""A robot of two links."""
MJCF = """<mujoco><worldbody><body><joint axis="0 0 1"/><geom size="0.1" pos="0.1 0 0"/><body pos="0 0.1 0.4">
<joint axis="0 1 0"/><geom size="0.1" pos="0 0 0.3"/></body></body></worldbody></mujoco>"""
"""Another one in MuJoCo's format."""


@pytest.fixture
def robot(tmp_path: Path) -> condyle.Robot:
    (tmp_path / "two.urdf").write_text(URDF, encoding="utf-8")
    return condyle.load(tmp_path / "two.urdf")


def test_every_format_is_read(robot: condyle.Robot, tmp_path: Path) -> None:
    assert (robot.nq, robot.nv) == (2, 2)
    pytest.importorskip("mujoco", reason="pip install 'condyle[test]'")
    (tmp_path / "two.xml").write_text(MJCF, encoding="utf-8")
    other = condyle.load(tmp_path / "two.xml")
    q, _ = other.random_state(3, 0)
    assert np.all(np.linalg.eigvalsh(other.compile("numpy").mass_matrix(q)) > 0)


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_has_the_answers_of_the_reference(target: str, robot: condyle.Robot, fake: FakeDriver) -> None:
    """Forward and inverse dynamics undo each other; derivatives and a rollout are those of the target numpy."""
    dyn, reference = robot.compile(target), robot.compile("numpy")
    q, v = robot.random_state(3, 0)
    a = np.ones((3, 2))
    tau = reference.inverse_dynamics(q, v, a)
    assert dyn.inverse_dynamics(q, v, a) == pytest.approx(tau, abs=ROUNDING)
    assert dyn.forward_dynamics(q, v, tau) == pytest.approx(a, abs=SOLVED)
    calls = (
        lambda x: x.forward_dynamics_derivatives(q, v, tau),
        lambda x: x.vjp("id")(q, v, a, a),
        lambda x: x.rollout(q, v, np.stack([tau, tau], 1), 0.01),
    )
    for call in calls:
        for answer, wanted in zip(call(dyn), call(reference), strict=True):
            assert answer == pytest.approx(wanted, rel=SOLVED, abs=SOLVED)


@pytest.mark.parametrize("target", EXPORTS)
def test_every_export_writes_the_same_files_twice(target: str, robot: condyle.Robot, tmp_path: Path) -> None:
    if target == "casadi":
        pytest.importorskip("casadi", reason="pip install 'condyle[test]'")
    once, again = (
        {path.name: path.read_bytes() for path in condyle.export(robot, target, tmp_path / name, ["id"], name="two")}
        for name in ("once", "again")
    )
    assert once == again
    assert all(once.values())


def test_the_command_answers(robot: condyle.Robot, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "condyle", "check", str(tmp_path / "two.urdf")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
