"""Parts: what a product costs there, which interval fits, what is said where none does."""

from __future__ import annotations

import json

import pytest

import condyle
from condyle import fpga
from condyle.errors import UnsupportedError
from condyle.fpga import Options
from condyle.fpga.rtl.datapath import unit_dsp
from condyle.fpga.rtl.planner import fit
from condyle.fpga.rtl.target import PARTS

ARM = condyle.chain(2, 0)


@pytest.mark.parametrize(
    ("unit", "dsp48e2", "dsp48e1", "mult18"),
    [
        (("mul", 27, 18), 1, 2, 2),
        (("mul", 25, 18), 1, 1, 2),
        (("mul", 18, 18), 1, 1, 1),
        (("mul", 27, 27), 2, 4, 4),
        (("mul", 32, 32), 4, 4, 4),
        (("sincos", 27, 23), 4, 6, 6),
        (("rcp", 27, 0), 2, 4, 4),
    ],
)
def test_what_a_unit_costs(unit, dsp48e2, dsp48e1, mult18) -> None:
    found = [unit_dsp(unit, PARTS[name]) for name in ("xcvu9p", "xc7a100t", "xc7z020", "ecp5-85k")]
    assert found == [dsp48e2, dsp48e1, dsp48e1, mult18]


FACTORS = {"xcup": (27, 18), "xc7": (25, 18), "ecp5": (18, 18)}
"""Bits of the signed factors of a multiplier, by family."""
RESOURCES = {
    "xcvu9p": ("xcup", 6840, 1_182_240, 4240),
    "xcu250": ("xcup", 12_288, 1_728_000, 7618),
    "xck26": ("xcup", 1248, 117_120, 773),
    "xc7a100t": ("xc7", 240, 63_400, 148),
    "xc7z020": ("xc7", 220, 53_200, 136),
    "ecp5-85k": ("ecp5", 156, 83_640, 96),
    "ecp5-45k": ("ecp5", 72, 43_848, 44),
    "ecp5-25k": ("ecp5", 28, 24_288, 17),
}
"""Family, multipliers, look-up tables, and 62 % of the multipliers."""


def test_what_each_part_has() -> None:
    found = {name: (part.family, part.dsp, part.lut, part.budget) for name, part in PARTS.items()}
    assert found == RESOURCES
    assert all(part.factors == FACTORS[part.family] for part in PARTS.values())


@pytest.mark.parametrize(("part", "dsp"), [("xc7a100t", 240), ("xc7z020", 220)])
def test_a_part_of_the_7_series_has_words_that_fit_its_multipliers(part: str, dsp: int) -> None:
    options = Options(("id", "fd"), part=part)
    assert (options.word, options.device.dsp, options.device.multiplier) == ("25x18", dsp, "DSP48E1")
    fits, wide = (fpga.accelerator(ARM, Options(("id", "fd"), part=part, word=word)) for word in ("", "27x18"))
    assert fits.ii < wide.ii or fits.dsp < wide.dsp
    assert Options(part=part, word="32").word == "32" and Options().word == "27x18"


@pytest.mark.parametrize("part", PARTS)
def test_the_budget_and_the_report_are_of_the_part(tmp_path, part) -> None:
    condyle.export(ARM, "verilog", tmp_path, ("id",), name="arm", part=part)
    report = json.loads((tmp_path / "report.json").read_text())
    device = PARTS[part]
    assert report["device"] == device.name and report["totals"]["dsp"] <= device.dsp * 62 // 100
    assert report["dsp_percent"] == round(100 * report["totals"]["dsp"] / device.dsp, 1)
    readme = (tmp_path / "README.md").read_text()
    assert f"{report['totals']['dsp']} {device.multiplier}" in readme and device.name in readme
    scripts = [text for path in tmp_path.glob("vivado_*.tcl") if "-part" in (text := path.read_text())]
    assert all(device.order in text for text in scripts) and bool(scripts) == (device.family != "ecp5")


def test_a_smaller_part_takes_a_longer_interval() -> None:
    intervals = [fpga.accelerator(ARM, Options(part=part)).ii for part in ("xcvu9p", "ecp5-85k", "ecp5-45k")]
    assert intervals == sorted(set(intervals)), "each is longer than the one before"


def test_a_budget_beyond_the_part_names_the_smallest_interval_that_fits() -> None:
    plan = fpga.planned(ARM, Options())
    ii, _ = fit(plan, PARTS["ecp5-85k"].dsp, device=PARTS["ecp5-85k"])
    with pytest.raises(
        UnsupportedError, match=rf"^dsp=1200 is more than an LFE5U-85F has; .* fits its 156 DSPs is {ii} cycles"
    ):
        fpga.accelerator(ARM, Options(dsp=1200, part="ecp5-85k"))


def test_a_robot_that_no_interval_brings_into_the_part() -> None:
    with pytest.raises(
        UnsupportedError, match=r"LFE5U-25F is too small for .* at any interval: it has 28 DSPs, and \d+ are"
    ):
        fpga.accelerator(condyle.chain(4, 0), Options(part="ecp5-25k"))


def test_words_beyond_the_flip_flops_of_a_part() -> None:
    """An ECP5 keeps no lines of registers in tables."""
    iiwa = condyle.load("iiwa14")
    with pytest.raises(UnsupportedError, match=r"LFE5U-85F .* take \d+ flip-flops, and it has 83640. No interval fits"):
        fpga.accelerator(iiwa, Options(dsp=156, part="ecp5-85k"))
    assert fpga.accelerator(iiwa, Options(("id",), part="ecp5-85k")).register_bits < 83_640


def test_a_part_that_is_not_there(tmp_path) -> None:
    with pytest.raises(UnsupportedError, match=r"part 'spartan': allowed is xcvu9p, xcu250, xck26, xc7a100t, xc7z020"):
        condyle.export(ARM, "verilog", tmp_path, part="spartan")
