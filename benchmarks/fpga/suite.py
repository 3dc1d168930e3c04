"""Seconds of the part of the tests that is the FPGA target's, run as CI does: a worker a core."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import Any

from benchmarks.fpga.cases import version

PARTS = ("tests/fpga/rtl", "tests/fpga", "tests/cli/test_fpga.py")
ROWS = ("quick", "slow")
GOAL_S = 360.0


def measure(row: str) -> dict[str, Any]:
    tool = version("iverilog", "-V", install="apt-get install iverilog")
    command = [sys.executable, "-m", "pytest", "-n", "auto", "--dist", "worksteal", "-q", *PARTS]
    command += ["-m", "slow"] if row == "slow" else []
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    passed = re.findall(r"(\d+) passed", said)[-1]
    return {"passed": int(passed), "cores": os.cpu_count(), "tool": tool, "load_after": os.getloadavg()[0]}
