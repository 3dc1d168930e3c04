"""The header: its rows fit a word of 32 bits, and a field more is a row more."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

import condyle
from condyle.fpga.rtl.boundary import _returned
from condyle.fpga.rtl.header import HEAD, HEADER, RETURNED, RETURNED_BITS, TAG_BITS
from tests.programs import needs

PACKAGE = Path(condyle.__file__).parent

TAG_ROW = '    "tag": '
NEW_ROW = '    "sequence": Bits(15, 11, "a number of the host", in_task=True, is_returned=True),\n'
PROGRAM = """
from pathlib import Path

import condyle
from condyle import fpga
from condyle.fpga.rtl.boundary import Boundary
from condyle.fpga.rtl.export import Facts, Sheet, write

robot = condyle.chain(2, 0)
boundary = Boundary(64, async_clock=True)
acc = fpga.accelerator(robot, fpga.Options(("id", "fd")))
sheet = Sheet({function: {} for function in acc.plan.functions}, 0, acc.plan.box)
tasks = fpga.tasks(robot, acc, 6, boundary=boundary)
write(Path("rig"), acc, Facts("rig", robot.fingerprint, "", 125.0, "27x18", boundary), sheet, tasks, {})
"""


def test_fields_do_not_overlap() -> None:
    rows = sorted(HEADER.values(), key=lambda bits: bits.low)
    assert rows[0].low >= 0 and rows[-1].high < HEAD
    assert all(below.high < above.low for below, above in pairwise(rows))
    assert all(bits.low <= bits.high for bits in rows)
    assert RETURNED[0] == "tag" and RETURNED_BITS >= TAG_BITS
    assert HEADER["tag"].high == HEAD - 1  # host.h takes it without a mask


def test_a_tag_has_its_own_bits_and_begins_again_after_the_last() -> None:
    assert [_returned(tag) for tag in (0, 5, 65_535, 65_541)] == [0, 5 << 16, 65_535 << 16, 5 << 16]


def made(folder: Path, *command: str) -> str:
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PYTHONPATH": str(folder)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@needs("iverilog", "make")
def test_a_field_more_is_a_row_more(tmp_path: Path) -> None:
    """A number of five bits that comes back with the result: of right packets and of wrong ones, whatever stalls."""
    shutil.copytree(PACKAGE, tmp_path / "condyle")
    header = tmp_path / "condyle/fpga/rtl/header.py"
    text = header.read_text(encoding="utf-8")
    assert text.count(TAG_ROW) == 1
    header.write_text(text.replace(TAG_ROW, NEW_ROW + TAG_ROW), encoding="utf-8")
    made(tmp_path, sys.executable, "-W", "error", "-c", PROGRAM)
    rig = tmp_path / "rig"
    assert json.loads((rig / "rig_stream.json").read_text())["header"]["sequence"] == {"high": 15, "low": 11}
    assert "| 15:11 | a number of the host | the same |" in (rig / "README.md").read_text()
    for target in ("sim", "axi"):
        assert made(rig, "make", target).count("right: ") >= 1

    # the bench compares the field: it sees a result without it
    module = rig / "rig_axi.v"
    text = module.read_text(encoding="utf-8")
    assert "out_tag[20:16]" in text
    module.write_text(text.replace("out_tag[20:16]", "5'b0"), encoding="utf-8")
    broken = subprocess.run(["make", "axi"], cwd=rig, capture_output=True, text=True, check=False)
    assert broken.returncode != 0 and "WRONG" in broken.stdout
