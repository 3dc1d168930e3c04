"""docs/how-to/board.md: its commands and programs run, its figures are what today's exporter and its Verilog do."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import results
from benchmarks.fpga import figures, wave_figure
from tests.programs import needs

needs_iverilog = needs("iverilog", "make", "cc")
PAGE = results.ROOT / "docs" / "how-to" / "board.md"


def said(path: Path) -> list[str]:
    """All texts of a figure, and its description: the bits of a waveform."""
    found = path.read_text()
    return re.findall(r"<text[^>]*>(.*?)</text>|<dc:description>(.*?)</dc:description>", found, re.DOTALL)


@needs_iverilog
def test_the_page_shows_what_the_script_draws(tmp_path: Path) -> None:
    assert figures.main(tmp_path) == 0
    page = PAGE.read_text()
    for name in figures.NAMES:
        assert said(tmp_path / name) == said(figures.FOLDER / name), "python -m benchmarks.fpga.figures"
        assert f"](../figures/{name})" in page


def test_the_page_names_the_cycles_of_the_figures() -> None:
    """The interval, and where the first beat of either stream waits."""
    (interval,) = re.findall(r"a task every \d+ cycles", (figures.FOLDER / figures.NAMES[0]).read_text())
    assert f"takes {interval}:" in PAGE.read_text()
    bits: dict[str, dict[str, str]] = {}
    for name, what, row in re.findall(r"([sm]_axis) (\w+) ([01x]+)", (figures.FOLDER / figures.NAMES[1]).read_text()):
        bits.setdefault(name, {})[what] = row
    for name in wave_figure.STREAMS:
        beats = wave_figure.beats(wave_figure.Stream(bits[name], [None] * len(bits[name]["tvalid"])))
        first = next(beat.first for beat in beats if beat.stop - beat.first > 1)
        assert f"At cycle {first} " in PAGE.read_text(), name


@needs_iverilog
def test_the_commands_and_the_host_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The steps before a vendor's tools; the programs of the host, with a DMA that answers the answers of the bench."""
    shutil.copy(PAGE.parents[1] / "arm.urdf", tmp_path)
    step = PAGE.read_text().split("## 4a. ", 1)[0]
    lines = re.findall(r"^(?:condyle|make|cd) .*|(?<=^`)condyle .*?(?=`)", step, re.MULTILINE)
    assert [line.split()[:2] for line in lines[:3]] == [["condyle", "info"], ["condyle", "fpga"], ["condyle", "export"]]
    for line in lines:
        ran = line.split("#")[0].replace("condyle ", f"{shlex.quote(sys.executable)} -m condyle ")
        done = subprocess.run(ran, shell=True, cwd=tmp_path, check=True, capture_output=True, text=True)
        assert "WRONG" not in done.stdout
    assert (tmp_path / "arm" / "axi.vcd").is_file()
    monkeypatch.chdir(tmp_path / "arm")
    monkeypatch.syspath_prepend(str(tmp_path / "arm"))
    answers = [int(line, 16) & (1 << 64) - 1 for line in Path("axi_answers.hex").read_text().split()]
    sent: list[bytes] = []
    state = {name: np.zeros((2, 2)) for name in "qva"}
    dma = {"send": sent.append, "receive": lambda: b"".join(beat.to_bytes(8, "little") for beat in answers)}
    _compiled(step)
    (program,) = re.findall(r"^```python\n(.*?)^```$", step, re.MULTILINE | re.DOTALL)
    registers = json.loads(Path("arm_stream.json").read_text())["registers"].values()
    values = {row["address"]: row.get("value") for row in registers}
    exec(program, {"read": values.get, **state, **dma})
    assert len(sent[0]) == 64


def _compiled(step: str) -> None:
    """The program in C, with the bytes of a result of id in hand."""
    (include, body) = re.findall(r"^```c\n(#include .*?\n)\n(.*?)^```$", step, re.MULTILINE | re.DOTALL)[0]
    given = "double q0 = 0, q1 = 0, v0 = 0, v1 = 0, a0 = 0, a1 = 0;\nuint32_t registers[16] = {0};\n"
    given += "unsigned char received[16] = {0};\nsize_t bytes = 16;\n"
    ends = 'return strcmp(wrong, "magic") || size != 32 || used != 16 || head.tag || tau[0] != 0.0;\n'
    Path("page.c").write_text(f"{include}int main(void) {{\n{given}{body}{ends}}}\n")
    subprocess.run(["cc", "-std=c99", "-Wall", "-Werror", "page.c", "-o", "page"], check=True)
    subprocess.run(["./page"], check=True)


def test_a_beat_waits_until_it_is_taken() -> None:
    """Two packets of two beats: the second beat of the first waits for two cycles, a pause stands between the two."""
    bits = {"tvalid": "0111101100", "tready": "1100111111", "tlast": "x0111x01xx"}
    data = [None, 5 << 16, 1, 1, 1, None, 7 << 16, 7 << 16, None, None]
    assert wave_figure.beats(wave_figure.Stream(bits, data)) == [
        wave_figure.Beat(1, 2, 5, 0),
        wave_figure.Beat(2, 5, 5, 1),
        wave_figure.Beat(6, 7, 7, 0),
        wave_figure.Beat(7, 8, 7, 1),
    ]
