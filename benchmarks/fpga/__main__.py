"""Measures the FPGA target into results/fpga.json.

    python -m benchmarks.fpga [--only iiwa14] [SECTION ...]

Without words: everything, in hours. Each section is a file beside this one and says there what it is; each of its rows
is measured in a process of its own and written at once, so that a run may be broken off and gone on with. A row whose
tool is not installed says so and stays as it was.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from typing import Any

from benchmarks import results
from benchmarks.fpga.cases import AbsentError

SECTIONS = (
    "cycles",
    "variants",
    "generation",
    "errors",
    "words",
    "boxes",
    "integers",
    "simulation",
    "axi",
    "host",
    "counts",
    "levels",
    "ecp5",
    "suite",
)
FILE = results.FOLDER / "fpga.json"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    parser.add_argument("--only", default="", metavar="WORD", help="rows whose name begins so")
    parser.add_argument("--row", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if unknown := set(options.sections) - set(SECTIONS):
        parser.error(f"no section {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}")
    if options.row:
        return here(options.sections[0], options.row)
    status = 0
    for section in options.sections or SECTIONS:
        for row in import_module(f"benchmarks.fpga.{section}").ROWS:
            if row.startswith(options.only):
                status |= apart(section, row)
    return status


def here(section: str, row: str) -> int:
    """The row measured by this process; what was found is the last line it prints."""
    try:
        found: dict[str, Any] = import_module(f"benchmarks.fpga.{section}").measure(row)
    except AbsentError as absent:
        found = {"absent": str(absent)}
    print(f"\n{json.dumps(found)}")
    return 0


def apart(section: str, row: str) -> int:
    """The row measured by a fresh process, with the seconds and the memory of all that it starts; kept if it worked."""
    print(f"{section}, {row} ...", flush=True)
    about, start = results.certificate(), time.monotonic()
    with tempfile.TemporaryFile("w+") as said:
        command = [sys.executable, "-m", "benchmarks.fpga", section, "--row", row]
        process = subprocess.Popen(command, cwd=results.ROOT, stdout=said)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        lines = said.read().split("\n")
    if process.returncode:
        print(f"  failed, nothing written: {' '.join(lines[-5:])}")
        return 1
    found = json.loads(lines[-2])
    if "absent" in found:
        print(f"  not measured: {found['absent']}")
        return 0
    seconds = {"wall_s": time.monotonic() - start, "processor_s": used.ru_utime + used.ru_stime}
    results.merge(section, row, {**about, **found, **seconds, "peak_mb": used.ru_maxrss / 1024}, FILE)
    print(f"  {seconds['wall_s']:.0f} s, {seconds['processor_s']:.0f} s of a processor, load {about['load']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
