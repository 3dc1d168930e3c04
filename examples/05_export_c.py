"""Write a robot's functions as plain C, for a program without Python."""

from __future__ import annotations

import tempfile
from pathlib import Path

import condyle
from condyle import api

robot = condyle.load("iiwa14")
with tempfile.TemporaryDirectory() as folder:
    written = api.export(robot, target="c", out=Path(folder), functions=("id", "fd"), name="iiwa14", dtype="float64")
    for path in written:
        print(f"{path.name:24s}{path.stat().st_size:8d} bytes")
    header = next(path for path in written if path.suffix == ".h")
    print(header.read_text()[:600])
