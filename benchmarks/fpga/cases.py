"""The accelerators that are measured, and the tools for it."""

from __future__ import annotations

import shutil
import subprocess

from condyle.fpga import Options
from condyle.fpga.rtl.target import XCVU9P


class AbsentError(Exception):
    """A tool that is not installed."""


ACCELERATORS = {
    "iiwa14 32": ("iiwa14", Options(word="32")),
    "iiwa14 27x18": ("iiwa14", Options()),
    "iiwa14 27x18 difd": ("iiwa14", Options(("difd",), dsp=XCVU9P.dsp * 85 // 100)),
    "hyq 27x18": ("hyq", Options()),
    "atlas 27x18": ("atlas", Options()),
    "atlas 27": ("atlas", Options(word="27", dsp=XCVU9P.dsp * 95 // 100, folding=1)),
}
"""Row to robot and options; the default budget is 62 % of the device."""

SHOWN = ("id", "difd", "fd")


def version(tool: str, *flags: str, install: str) -> str:
    """The first line that a tool says of itself; AbsentError, with what to do, where it cannot be run."""
    if shutil.which(tool) is None:
        raise AbsentError(f"{tool} is not installed: {install}")
    said = subprocess.run([tool, *flags], capture_output=True, text=True, check=False)
    if said.returncode and not said.stdout.strip():
        raise AbsentError(f"{tool} is there, and ends with status {said.returncode}: {install}")
    return (said.stdout or said.stderr).strip().split("\n")[0].partition(" (")[0]
