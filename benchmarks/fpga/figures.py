"""The figures of docs/how-to/board.md: the boundary of an accelerator of docs/arm.urdf, and its waveform.

    python -m benchmarks.fpga.figures

The one shows what `NAME_stream.json` describes, the other is read from the VCD of its simulation. Needs iverilog,
Matplotlib and vcdvcd.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import condyle
from benchmarks import results
from benchmarks.fpga import boundary_figure, wave_figure
from condyle import fpga
from condyle.fpga import Accelerator, Options
from condyle.fpga.rtl.boundary import Boundary
from condyle.fpga.rtl.export import Facts, Sheet, write
from condyle.fpga.simulation import simulate

FOLDER = results.ROOT / "docs" / "figures"
NAMES = ("board-boundary.svg", "board-wave.svg")
BOUNDARY, CLOCK, EACH = Boundary(64), 250.0, 8
OPTIONS = Options(("id", "fd"), part="xck26", dsp=14, box={"v": 10.0, "a": 100.0}, clock=CLOCK, pipeline=2)
"""What the page exports, with so few DSPs that the accelerator is slower than the bus."""
STALLS = ("+stall_out=50", "+seed=3", "+dump")


def exported(folder: Path) -> Accelerator:
    """The accelerator, its project with packets that are right."""
    robot = condyle.load(results.ROOT / "docs" / "arm.urdf")
    acc = fpga.accelerator(robot, OPTIONS)
    sheet = Sheet({name: {} for name in acc.plan.functions}, 0, acc.plan.box)
    tasks = fpga.tasks(robot, acc, EACH, boundary=BOUNDARY, wrong=False)
    write(folder, acc, Facts("arm", robot.fingerprint, "", CLOCK, OPTIONS.word, BOUNDARY), sheet, tasks, {})
    return acc


def main(out: Path = FOLDER) -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        acc = exported(folder)
        code = acc.plan.tasks["id"].codes[0]
        verdict = simulate(folder, "arm_axi", (*STALLS, f"+only={code}"))
        if f"right: {EACH} packets" not in verdict:
            print(verdict)
            return 1
        boundary_figure.draw(acc, json.loads((folder / "arm_stream.json").read_text()), out / NAMES[0])
        wave_figure.draw(folder / "axi.vcd", out / NAMES[1])
    return 0


if __name__ == "__main__":
    sys.exit(main())
