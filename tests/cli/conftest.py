"""The command, run in this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from condyle.cli import main


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    def command(*words: str) -> Ran:
        try:
            status = main(words)
        except SystemExit as stop:
            status = int(stop.code or 0)
        said = capfd.readouterr()
        return Ran(status, said.out, said.err)

    return command


@pytest.fixture
def cache_dir(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A cache of this test's own."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("CONDYLE_CACHE_DIR", str(folder))
    return folder


PENDULUM = """<robot name="{name}">
  <link name="base"/>
  <link name="rod">
    <inertial><origin xyz="0 0 -0.5"/><mass value="2"/>
      <inertia ixx="0.1" iyy="0.1" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="pivot" type="continuous"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/></joint>
</robot>
"""


@pytest.fixture
def pendulum(tmp_path: Any) -> Callable[..., str]:
    """The path of a one-joint URDF file, with the robot's name as asked."""

    def written(name: str = "pendulum", text: str = PENDULUM) -> str:
        path = tmp_path / "pendulum.urdf"
        path.write_text(text.replace("{name}", name), encoding="utf-8")
        return str(path)

    return written
