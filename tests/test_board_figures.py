"""The figures of docs/board.md are what today's exporter describes and what its Verilog does."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from benchmarks import results
from benchmarks.fpga import figures, wave_figure

needs_iverilog = pytest.mark.skipif(
    shutil.which("iverilog") is None or shutil.which("make") is None,
    reason="iverilog and make are needed to simulate (apt-get install iverilog make)",
)


def said(path: Path) -> list[str]:
    """All texts of a figure, and its description: the bits of a waveform."""
    found = path.read_text()
    return re.findall(r"<text[^>]*>(.*?)</text>|<dc:description>(.*?)</dc:description>", found, re.DOTALL)


@needs_iverilog
def test_the_page_shows_what_the_script_draws(tmp_path: Path) -> None:
    assert figures.main(tmp_path) == 0
    page = (results.ROOT / "docs" / "board.md").read_text()
    for name in figures.NAMES:
        assert said(tmp_path / name) == said(figures.FOLDER / name), "python -m benchmarks.fpga.figures"
        assert f"](figures/{name})" in page


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
