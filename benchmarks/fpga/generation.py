"""What `condyle export ROBOT --target verilog` takes, errors over 1000 states included."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from condyle.cli import main

ROWS = ("iiwa14", "hyq", "atlas")
GOALS = {"iiwa14": {"wall_s": 30.0}, "atlas": {"wall_s": 300.0, "peak_mb": 4096.0}}


def measure(row: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        if main(["export", row, "--target", "verilog", "--out", folder]):
            raise SystemExit(1)
        return {"verilog_mb": sum(path.stat().st_size for path in Path(folder).glob("*.v")) / 1e6}
