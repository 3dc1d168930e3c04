"""The C++ example: its commands, which stand in its CMakeLists.txt, build and run it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.programs import HERE, needs

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "standing_cpp"


@pytest.mark.slow
@needs("cmake", "g++")
def test_hyq_stands(tmp_path: Path) -> None:
    page = (EXAMPLE / "CMakeLists.txt").read_text()
    commands = "\n".join(re.findall(r"(?m)^#   (.*)$", page)).replace(
        "condyle export", f"{sys.executable} -m condyle export"
    )
    (tmp_path / "examples").symlink_to(EXAMPLE.parent)
    found = {**os.environ, "PATH": os.pathsep.join((os.environ["PATH"], HERE))}
    command = ["sh", "-e", "-c", commands]
    done = subprocess.run(command, cwd=tmp_path, env=found, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "falls by 9.810 m/s^2" in done.stdout
    assert float(re.findall(r"it accelerates by (\S+) m/s", done.stdout)[0]) < 1e-12
