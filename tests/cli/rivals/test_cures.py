"""What a comparison cannot do is said with its cure, before a compiler runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import condyle
from condyle import Builder, UnsupportedError
from condyle.cli.rivals import rival as toolchain
from condyle.cli.rivals.mujoco_c import MujocoC
from condyle.cli.rivals.numbers import numbers_of
from condyle.cli.rivals.pinocchio_cpp import SOURCES, CasadiC, PinocchioCpp

SOLID = '<inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>'
MIMIC = f"""<robot name="gripper"><link name="palm"/>
  <link name="left">{SOLID}</link><link name="right">{SOLID}</link>
  <joint name="open" type="continuous"><parent link="palm"/><child link="left"/><axis xyz="0 0 1"/></joint>
  <joint name="follow" type="continuous"><parent link="palm"/><child link="right"/><axis xyz="0 0 1"/>
    <mimic joint="open"/></joint>
</robot>
"""


@pytest.mark.parametrize("library", ["pinocchio", "mujoco"])
def test_bench_against_names_the_cure_of_mimic_joints(run, tmp_path: Path, library: str) -> None:
    pytest.importorskip(library, reason="needs the extra: pip install 'condyle[bench]'")
    path = tmp_path / "gripper.urdf"
    path.write_text(MIMIC)
    ran = run("bench", str(path), "--against", library, "--functions", "id", "--batch", "1")
    assert ran.status == 2
    if "headers" not in ran.err:  # of Pinocchio or of Eigen, which are looked for first
        assert "no mimic joints such as 'follow': --mimic independent" in ran.err
        assert "--lock 'open'=VALUE" in ran.err


def test_the_cures_of_mimic_joints_serve(tmp_path: Path) -> None:
    path = tmp_path / "gripper.urdf"
    path.write_text(MIMIC)
    with pytest.raises(UnsupportedError, match="supports no mimic joints such as 'follow'"):
        numbers_of(condyle.load(path), "MuJoCo")
    assert len(numbers_of(condyle.load(path, mimic="independent"), "MuJoCo").parent) == 2
    with pytest.raises(UnsupportedError, match="no joint of this robot moves"):
        numbers_of(condyle.load(path).lock({"open": 0.0}), "MuJoCo")


@pytest.mark.smoke
def test_other_joints_are_named_with_a_cure() -> None:
    builder = Builder().body("a", mass=1.0, inertia=0.01 * np.eye(3))
    robot = builder.joint("slide", parent="world", child="a", type="planar").build()
    with pytest.raises(UnsupportedError, match=r"no planar joints such as 'slide'; it supports .*--lock 'slide'=VALUE"):
        numbers_of(robot, "Pinocchio")


@pytest.mark.parametrize(
    ("module", "rival", "shared"), [("mujoco", MujocoC, "libmujoco.so.4.0.0"), ("casadi", CasadiC, "")]
)
def test_a_wheel_without_headers_is_said_before_a_compiler_runs(
    module: str, rival: type, shared: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / module).mkdir()
    if shared:
        (tmp_path / module / shared).touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(toolchain, "run", lambda *given: pytest.fail("a compiler ran"))
    with pytest.raises(UnsupportedError, match=rf"{module} is installed without its C headers .*pip install --force"):
        rival(condyle.chain(2, rng=0))


def test_each_function_of_pinocchio_is_built_from_the_source_that_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PinocchioCpp, "__init__", lambda self: setattr(self, "_built", {}))
    monkeypatch.setattr(PinocchioCpp, "build", lambda self, source: source)
    rival = PinocchioCpp()  # type: ignore[call-arg]
    for functions in SOURCES.values():
        for function in functions:
            source: Any = rival._model_for(function)
            assert f'{{"{function}",' in source.read_text()
