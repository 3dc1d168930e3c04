"""The written project: its files, its report, its refusals."""

from __future__ import annotations

import json
import re
from html import escape

import numpy as np
import pytest

import condyle
from condyle import fpga
from condyle.cli import main
from condyle.errors import AccuracyWarning, ModelWarning, SingularError, UnsupportedError
from condyle.fpga.plans import GOAL

ARM = condyle.chain(2, 0)


def test_files_and_report(tmp_path) -> None:
    files = condyle.export(ARM, "verilog", tmp_path, ("id", "fd"), name="arm", dsp=60)
    names = {path.name for path in files}
    assert {"arm.v", "arm_dynamics.v", "arm_bench.v", "fx_operators.v", "Makefile", "count.ys", "report.html"} <= names
    assert all(path.is_file() for path in files)
    report = json.loads((tmp_path / "report.json").read_text())
    assert set(report["functions"]) == {"id", "fd"}
    assert {"latency", "ii", "dsp", "lut", "ff", "max_error", "states"} <= set(report["functions"]["id"])
    assert report["totals"]["dsp"] <= 60
    assert report["registers"]["max_between"]["sum_bits"] <= 32
    assert report["functions"]["id"]["states"] == 1000
    page = (tmp_path / "report.html").read_text()
    assert "assumed" in page and "|v| &le; 10" in page and page.isascii()


def test_the_readme_says_what_the_verilog_has(tmp_path) -> None:
    condyle.export(ARM, "verilog", tmp_path, ("fd", "difd"), name="arm")
    text, top = (tmp_path / "README.md").read_text(), (tmp_path / "arm.v").read_text()
    for high, port in re.findall(r"^    (?:input|output) \[(\d+):0\] (\w+),?$", top, re.MULTILINE):
        said = re.findall(rf"^\| .*`{port}`.* \| ([\d, ]+) \|", text, re.MULTILINE)
        assert said and str(int(high) + 1) in said[0].split(", "), port
    fields = [tuple(map(int, pair)) for pair in re.findall(r"^\| .* \| (\d+):(\d+) \|", text, re.MULTILINE)]
    (width,) = re.findall(r"input \[(\d+):0\] in_data", top)
    assert [low for _, low in fields] == [0, *(high + 1 for high, _ in fields[:-1])] and fields[-1][0] == int(width)
    report = json.loads((tmp_path / "report.json").read_text())
    for name in ("fd", "difd"):
        row = report["functions"][name]
        assert re.search(rf"^\| {name} \| \d \| .* \| {row['latency']} \| {row['ii']} \|", text, re.MULTILINE)
    assert all(f"`{path.name}`" in text for path in tmp_path.iterdir() if path.name != "README.md")
    assert all(name in text for name in ARM.joint_names)


def test_the_text_is_the_same_every_time_and_without_names_of_the_model(tmp_path) -> None:
    for k in (1, 2):
        condyle.export(ARM, "verilog", tmp_path / str(k), ("minv",), name="arm")
    for path in (tmp_path / "1").iterdir():
        assert path.read_bytes() == (tmp_path / "2" / path.name).read_bytes()
        if path.suffix in (".v", ".hex", ".html"):
            assert not any(name in path.read_text() for name in (*ARM.joint_names, *ARM.body_names) if len(name) > 2)


def test_errors_above_one_percent_are_said_with_the_word_that_does(tmp_path, capsys) -> None:
    """In the papers' format entries of M^-1 up to 20 are a few hundred units."""
    arm = condyle.chain(4, 0)
    with pytest.warns(AccuracyWarning, match=r"^minv: errors reach 0\.0\d+ .* word '27x18' stays within"):
        condyle.export(arm, "verilog", tmp_path, ("minv",), name="arm", word="q16.16")
    found = json.loads((tmp_path / "report.json").read_text())
    assert found["functions"]["minv"]["worst_relative"] > GOAL
    (said,) = found["warnings"]
    assert escape(said) in (tmp_path / "report.html").read_text()
    (tmp_path / "arm.urdf").write_text(arm.to_urdf())
    words = ["--functions", "minv", "--word", "q16.16"]
    main(["export", str(tmp_path / "arm.urdf"), "--target", "verilog", "--out", str(tmp_path), *words])
    assert "warning: minv: errors reach 0.0" in capsys.readouterr().err
    options = fpga.Options(("minv",))
    assert not fpga.sheet_of(arm, fpga.planned(arm, options), options, 500).warnings


def test_a_narrow_word_is_said_to_be_too_narrow_with_the_narrowest_that_does() -> None:
    arm, options = condyle.chain(4, 0), fpga.Options(("id",), word="12")
    (said,) = fpga.sheet_of(arm, fpga.planned(arm, options), options, 500).warnings
    assert re.search(r"^id: errors reach 0\.02 .* word '16' stays within 0\.001", said)


def test_a_budget_that_cannot_be_met_says_the_smallest_that_can() -> None:
    with pytest.raises(UnsupportedError, match=r"dsp=5 is too small for id, .*: the smallest budget is \d+"):
        fpga.accelerator(ARM, fpga.Options(dsp=5))
    least = 0
    with pytest.raises(UnsupportedError) as caught:
        fpga.accelerator(ARM, fpga.Options(dsp=1))
    least = int(str(caught.value).split("smallest budget is ")[1].split(",")[0])
    assert fpga.accelerator(ARM, fpga.Options(dsp=least)).dsp == least


def test_a_budget_chooses_the_interval() -> None:
    tight, loose = (fpga.accelerator(ARM, fpga.Options(dsp=n)) for n in (60, 2000))
    assert tight.dsp <= 60 < loose.dsp
    assert tight.ii > loose.ii == 1


@pytest.mark.parametrize(
    "word", ["7", "33", "27x28", "27x13", "x18", "27x", "q0.16", "q16", "q16.17", "q7.0", "Q8.8", "27X18", "٢٧"]
)
def test_a_word_that_no_hardware_has_says_what_is_allowed(word: str) -> None:
    with pytest.raises(UnsupportedError, match=r"word .*: allowed are words such as 27x18 .*q16\.16.*8 to 32 bits"):
        fpga.accelerator(ARM, fpga.Options(("id",), word=word))


def test_a_word_whose_point_is_fixed_saturates() -> None:
    heavy = (
        condyle.Builder()
        .body("base")
        .body("anvil", mass=1e6, com=(1.0, 0.0, 0.0), inertia=((1.0, 0, 0), (0, 1.0, 0), (0, 0, 1.0)))
        .joint("hinge", parent="base", child="anvil", type="revolute", axis=(0.0, 1.0, 0.0))
        .build()
    )
    narrow, scaled = (condyle.fixed_point(heavy, word=word, functions=("id",)) for word in ("q16.16", "27x18"))
    zero = np.zeros(1)
    value, flag = narrow.inverse_dynamics(zero, zero, zero)  # 9.8e6 N m
    assert flag and value == -(2.0**15) + 2.0**-16  # the end of the word, and then its negative
    assert not scaled.inverse_dynamics(zero, zero, zero)[1]


@pytest.mark.parametrize(
    "wrong",
    [
        {"word": "7"},
        {"dsp": 0},
        {"clock": 0.0},
        {"clock": float("nan")},
        {"f_ext": -1.0},
        {"f_ext": float("nan")},
        {"step": 0.0},
        {"name": "A b"},
    ],
)
def test_bad_options_are_named(tmp_path, wrong) -> None:
    with pytest.raises(UnsupportedError):
        condyle.export(ARM, "verilog", tmp_path, **wrong)


def test_steps_too_long_for_the_series_say_the_longest() -> None:
    robot = condyle.load("hyq", floating_base=True)
    with pytest.raises(UnsupportedError, match=r"root_joint \(free\) would turn by 4.2 rad .* step of at most 0.012 s"):
        fpga.accelerator(robot, fpga.Options(("rk4",), step=0.1))
    fpga.planned(condyle.chain(2, 0), fpga.Options(("rk4",), step=0.1))


def test_a_robot_without_an_inverse_is_refused(tmp_path) -> None:
    builder = condyle.Builder().body("base").body("ghost", mass=0.0)
    builder.joint("hinge", parent="base", child="ghost", type="revolute", axis=(0.0, 0.0, 1.0))
    with pytest.warns(ModelWarning, match="hinge"):
        idle = builder.build()
    with pytest.raises(SingularError, match="hinge"):
        condyle.export(idle, "verilog", tmp_path, ("minv",))


def test_a_robot_without_an_inverse_of_m_has_the_functions_that_need_none(tmp_path) -> None:
    """A link without mass at the end: nothing of M^-1, which is not finite then, is traced."""
    builder = condyle.Builder().body("arm", mass=1.0, inertia=((1, 0, 0), (0, 1, 0), (0, 0, 1))).body("flag")
    builder.joint("a", parent="world", child="arm", type="continuous", axis=(0, 0, 1))
    builder.joint("b", parent="arm", child="flag", type="continuous", axis=(0, 1, 0))
    with pytest.warns(ModelWarning, match="flag"):
        robot = builder.build()
    for functions in (("id",), ("id", "m", "did")):
        assert condyle.export(robot, "verilog", tmp_path / "-".join(functions), functions)
    with pytest.raises(SingularError, match="'b'"):
        condyle.export(robot, "verilog", tmp_path / "fd", ("fd",))
