"""What `condyle export ROBOT --target verilog` takes, errors over 1000 states included; how many formats are proven."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from condyle.cli import main

ROWS = ("iiwa14", "hyq", "atlas")


def measure(row: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        if main(["export", row, "--target", "verilog", "--out", folder]):
            raise SystemExit(1)
        report = json.loads(Path(folder, "report.json").read_text(encoding="utf-8"))
        return {
            "verilog_mb": sum(path.stat().st_size for path in Path(folder).glob("*.v")) / 1e6,
            "between_registers": report["registers"]["max_between"]["sum_bits"],
            "signals": {name: function["signals"] for name, function in report["functions"].items()},
        }
