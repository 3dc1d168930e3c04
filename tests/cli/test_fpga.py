from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import condyle
from condyle import fpga
from condyle.cli.export import named_functions, with_plans
from condyle.errors import UnsupportedError
from condyle.fpga.plans import WORDS
from condyle.fpga.simulation import Verdict
from condyle.functions import DEFAULT
from tests.programs import needs


def test_a_report(run, pendulum, tmp_path) -> None:
    page = tmp_path / "page.html"
    ran = run("fpga", "report", pendulum(), "--states", "200", "--html", str(page))
    assert ran.status == 0, ran.err
    assert "DSPs" in ran.out and "difd" in ran.out
    assert "<svg" in page.read_text()


@pytest.mark.parametrize(
    ("name", "shown"), [("pendulum", "pendulum"), ("My Arm-2", "My Arm-2"), ("a&lt;b&gt;", "a&lt;b&gt;"), ("", "robot")]
)
def test_the_page_has_the_name_of_the_robot(run, pendulum, tmp_path, name, shown) -> None:
    """Also where it cannot name a module; text of the model stays text."""
    page = tmp_path / "page.html"
    ran = run("fpga", "report", pendulum(name), "--functions", "id", "--states", "50", "--html", str(page))
    assert ran.status == 0, ran.err
    assert f"<title>{shown}: id</title>" in page.read_text() and f"<h1>{shown}: id</h1>" in page.read_text()


def test_the_page_has_axes_bars_and_both_colour_schemes(run, pendulum, tmp_path) -> None:
    page = tmp_path / "page.html"
    ran = run("fpga", "report", pendulum(), "--functions", "id,fd", "--states", "50", "--html", str(page), "--json")
    assert ran.status == 0, ran.err
    text = page.read_text()
    arrays, totals = ran.json["arrays"], ran.json["totals"]
    assert text.count(">cycle</text>") == len(arrays)
    for name, dsp in [*((name, array["dsp"]) for name, array in arrays.items()), ("all", totals["dsp"])]:
        assert re.search(rf"<td>{name}</td>.*<td>{dsp} of \d+, [\d.]+ %</td>", text)
    widths = {float(width) for width in re.findall(r'class="used" style="width:([\d.]+)%"', text)}
    assert max(widths) == pytest.approx(ran.json["dsp_percent"], abs=0.1)
    assert "prefers-color-scheme:dark" in text and "@media print" in text and 'name="viewport"' in text
    assert "<script" not in text and not re.search(r"<(link|img|iframe)|url\((?!#)|@import", text)


def _boxes(text: str) -> tuple[list[tuple[float, ...]], list[tuple[float, ...]]]:
    """Boxes of the drawing, and about the ones of its labels: left, top, right, bottom."""
    svg = text[text.index('aria-label="pipeline"') : text.index("</svg>")]
    rects = re.findall(r'<rect x="(\d+)" y="(\d+)" width="(\d+)" height="(\d+)"', svg)
    boxes = [(float(x), float(y), float(x) + float(w), float(y) + float(h)) for x, y, w, h in rects]
    labels: list[tuple[float, ...]] = []
    for x, y, anchor, said in re.findall(r'<text x="(\d+)" y="(\d+)" text-anchor="(\w+)">([^<]*)<', svg):
        wide = 6.2 * len(said)
        left = float(x) - {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor] * wide
        labels.append((left, float(y) - 10, left + wide, float(y) + 2))
    return boxes, labels


def test_labels_stand_off_the_arrows_and_the_boxes(run, pendulum, tmp_path) -> None:
    page = tmp_path / "page.html"
    ran = run("fpga", "report", pendulum(), "--states", "50", "--html", str(page))
    assert ran.status == 0, ran.err
    text = page.read_text()
    boxes, labels = _boxes(text)
    assert len(boxes) == 5 and len(labels) == 5
    for k, label in enumerate(labels):
        for other in (*boxes, *labels[:k]):
            apart = label[2] <= other[0] or other[2] <= label[0] or label[3] <= other[1] or other[3] <= label[1]
            assert apart, (label, other)
    arrows = [tuple(map(float, a)) for a in re.findall(r'<path d="M(\d+) (\d+)L(\d+) (\d+)" class="arrow"', text)]
    for x0, y0, x1, y1 in arrows:
        for t in np.linspace(0.0, 1.0, 200):
            x, y = x0 + t * (x1 - x0), y0 + t * (y1 - y0)
            assert not any(left < x < right and top < y < bottom for left, top, right, bottom in labels), (x, y)


def test_the_drawing_has_the_size_of_its_boxes(run, pendulum, tmp_path) -> None:
    """One function needs two arrays: they are beside each other, and nothing is empty below them."""
    page = tmp_path / "page.html"
    for function in ("id", "m"):
        ran = run("fpga", "report", pendulum(), "--functions", function, "--states", "50", "--html", str(page))
        assert ran.status == 0, ran.err
        text = page.read_text()
        boxes, _ = _boxes(text)
        size = re.findall(r'viewBox="0 0 (\d+) (\d+)"', text)[0]
        assert len({top for _, top, *_ in boxes}) == 1 and len(boxes) == 2
        assert size == (f"{max(right for *_, right, _ in boxes) + 10:.0f}", f"{boxes[0][3] + 10:.0f}")


def test_names_of_groups_that_leave_together_are_one_label(run, pendulum, tmp_path) -> None:
    page = tmp_path / "page.html"
    ran = run("fpga", "report", pendulum(), "--functions", "fd,rk4", "--states", "50", "--html", str(page))
    assert ran.status == 0, ran.err
    assert re.search(r">out, again \d+</text>|>again, out \d+</text>", page.read_text())


def test_a_report_as_json(run, pendulum) -> None:
    ran = run("fpga", "report", pendulum(), "--states", "100", "--functions", "id", "--word", "32", "--json")
    assert ran.status == 0, ran.err
    assert ran.json["functions"]["id"]["states"] == 100
    assert ran.json["word"] == "32"


@needs("iverilog", "make")
def test_a_simulation(run, pendulum) -> None:
    ran = run("fpga", "simulate", pendulum(), "--functions", "id,m", "--states", "5")
    assert ran.status == 0, ran.err
    assert ran.out.startswith("right: 10 tasks")


def test_an_export(run, pendulum, tmp_path) -> None:
    ran = run(
        "export",
        pendulum(),
        "--target",
        "verilog",
        "--out",
        str(tmp_path),
        "--functions",
        "id",
        "--dsp",
        "20",
        "--json",
    )
    assert ran.status == 0, ran.err
    assert (tmp_path / "report.json").exists()
    assert str(tmp_path / "Makefile") in ran.json["files"]


def test_all_functions_are_all_that_the_robot_can_have(run, pendulum) -> None:
    ran = run("fpga", "report", pendulum(), "--functions", "all", "--states", "20", "--json")
    assert ran.status == 0, ran.err
    fixed = [*DEFAULT, "rk4", "euler"]
    assert [*ran.json["functions"]] == fixed
    floating = condyle.load("hyq", floating_base=True)
    assert with_plans(named_functions("all"), floating) == (*fixed, "minv_given", "fd_given", "dfd_given")


def test_words_are_compared(run, pendulum) -> None:
    asked = ("fpga", "report", pendulum(), "--functions", "id,fd", "--states", "100", "--words")
    ran = run(*asked)
    assert ran.status == 0, ran.err
    rows = [line.split() for line in ran.out.splitlines() if line.startswith(("id ", "fd "))]
    assert [(row[0], row[1]) for row in rows] == [(name, word) for name in ("id", "fd") for word in reversed(WORDS)]
    found = run(*asked[:-1], "--words", "27x18,12,q4.8", "--json")
    assert found.status == 0 and "word 'q4.8': box: " in found.err
    rows = {(row["word"], row["function"]): row for row in found.json["words"]}
    assert [*rows] == [(word, name) for word in ("27x18", "12") for name in ("id", "fd")]
    plain = run(*asked[:-1], "--json").json["functions"]
    for name in ("id", "fd"):
        wide, narrow = rows["27x18", name], rows["12", name]
        assert (wide["dsp"], wide["ii"]) == (plain[name]["dsp"], plain[name]["ii"])
        assert (wide["p99"], wide["max"]) == (plain[name]["relative_quantiles"]["p99"], plain[name]["worst_relative"])
        assert narrow["p50"] > 100.0 * wide["p50"] and narrow["register_bits"] < wide["register_bits"]
    assert "such as 27x18" in run(*asked, "nonsense").err
    assert "--words: `condyle fpga simulate`" in run("fpga", "simulate", pendulum(), "--words").err
    assert (
        run("fpga", "report", "iiwa14", "--functions", "id", "--words", "32", "--part", "xc7z020", "--dsp", "3").status
        == 2
    )


def test_a_root_for_a_robot_that_cannot_be_moved(run, pendulum) -> None:
    ran = run("fpga", "report", pendulum(), "--root", "auto")
    assert ran.status == 2
    assert "floating_base=True" in ran.err


def test_a_budget_that_is_too_small(run, pendulum) -> None:
    ran = run("fpga", "report", pendulum(), "--dsp", "1")
    assert ran.status == 2
    assert "smallest budget" in ran.err


def test_a_box_of_ones_own(run, pendulum) -> None:
    ran = run("fpga", "report", pendulum(), "--states", "100", "--functions", "id", "--box", "v=10,a=100", "--json")
    assert ran.status == 0, ran.err
    assert ran.json["box"]["v"] == 10.0 and ran.json["box"]["a"] == 100.0


def test_a_box_of_effort_or_of_a_file(run, pendulum, tmp_path) -> None:
    asked = ("fpga", "report", "ur5e", "--states", "50", "--functions", "id", "--json")
    found = run(*asked, "--box-effort", "5", "--box", "q=6.3,v=2")
    assert found.status == 0, found.err
    assert (found.json["box"]["q"], found.json["box"]["v"]) == (6.3, 2.0) and len(found.json["box"]["a"]) == 6
    np.savez(tmp_path / "s.npz", q=np.ones((9, 6)), v=np.full((9, 6), 2.0), a=np.full((9, 6), 8.0))
    found = run(*asked, "--box-states", str(tmp_path / "s.npz"))
    assert found.json["box"] == {"q": np.pi, "v": 2.5, "a": 10.0}, found.err
    for wrong, said in (
        (("--box-effort", "5", "--box-states", "s.npz"), "not allowed with"),
        (("--box-effort", "0"), "above 0 and at most 100"),
        (("--box-effort", "5", "--root", "auto"), "--root: its base has other velocities"),
        (("--box-states", str(tmp_path / "none.npz")), "cannot be read"),
    ):
        refused = run(*asked, *wrong)
        assert refused.status == 2 and said in refused.err
    asked = ("export", "ur5e", "--target", "c", "--out", str(tmp_path / "c"), "--box-effort", "5")
    assert run(*asked).status == 2 and not (tmp_path / "c").exists()


@pytest.mark.parametrize("box", ["v", "v=", "=1", "v=1,v=2", "v=x", "w=1", "v=0", "v=nan", "v.nobody=1", ""])
def test_what_is_no_box(run, pendulum, box: str, tmp_path) -> None:
    out = tmp_path / "out"
    ran = run("export", pendulum(), "--target", "verilog", "--out", str(out), "--functions", "id", "--box", box)
    assert ran.status == 2
    assert "v=10,v.joint_3=2" in ran.err or "give q, v, a or tau" in ran.err or "joints are" in ran.err
    assert not out.exists()


@pytest.mark.parametrize(
    ("words", "given"),
    [
        ((), (20, 40, "iverilog")),
        (("--states", "3", "--stall", "0", "--tool", "verilator"), (3, 0, "verilator")),
    ],
)
def test_a_simulation_is_given_what_was_typed(run, pendulum, monkeypatch, words, given) -> None:
    heard = []

    def check(folder, robot, acc, facts, *rest):
        heard.append((folder.is_dir(), facts.name, *rest))
        return Verdict("right: 20 tasks", 20, 99)

    monkeypatch.setattr("condyle.fpga.simulation.check", check)
    asked = ("fpga", "simulate", pendulum("My Arm"), "--functions", "m", *words)
    ran = run(*asked)
    assert (ran.status, ran.out) == (0, "right: 20 tasks\n")
    assert run(*asked, "--json").json == {"right": True, "answer": "right: 20 tasks", "tasks": 20, "cycles": 99}
    assert heard == [(True, "robot", *given)] * 2


def test_a_simulation_that_differs_is_found_wanting(run, pendulum, monkeypatch) -> None:
    monkeypatch.setattr("condyle.fpga.simulation.check", lambda *_: Verdict("WRONG m", 1, 9))
    ran = run("fpga", "simulate", pendulum(), "--functions", "m")
    assert (ran.status, ran.out) == (1, "WRONG m\n")


ROW = {"dsp": 7, "ii": 3, "register_bits": 40, "p50": 1e-6, "p99": 2e-6, "max": 3e-6, "flagged": 0.25}


def test_words_stand_in_the_order_of_the_functions(run, pendulum, monkeypatch) -> None:
    heard = []

    def compared(robot, options, word, states):
        heard.append((word, states))
        if word == "12":
            raise UnsupportedError("too narrow")
        return [{"word": word, "function": name, **ROW} for name in ("m", "id")]

    monkeypatch.setattr("condyle.fpga.compared", compared)
    asked = ("fpga", "report", pendulum(), "--functions", "id,m", "--words")
    ran = run(*asked, "27x18,12,32,12")
    assert heard == [("27x18", 1000), ("12", 1000), ("32", 1000)]
    assert ran.status == 0 and ran.err == "word '12': too narrow\n"
    lines = [line.split() for line in ran.out.splitlines()[2:6]]
    numbers = ["3", "7", "40", "1.0e-06", "2.0e-06", "3.0e-06", "2.5e-01"]
    assert lines == [[name, word, *numbers] for name in ("id", "m") for word in ("27x18", "32")]
    refused = run(*asked, "12", "--states", "5")
    assert heard[-1] == ("12", 5) and refused.status == 2 and "word '12': too narrow" in refused.err
    before = len(heard)
    assert run(*asked, "27x18,nonsense").status == 2 and len(heard) == before, "words are read before any is compared"


def test_warnings_about_errors_are_said(run, pendulum, monkeypatch) -> None:
    heard, sheet_of = [], fpga.sheet_of

    def sheet(robot, plan, options, states):
        heard.append(states)
        return replace(sheet_of(robot, plan, options, 20), warnings=("m errs much",))

    monkeypatch.setattr("condyle.fpga.sheet_of", sheet)
    for words in ((), ("--states", "30")):
        ran = run("fpga", "report", pendulum(), "--functions", "m", *words)
        assert ran.status == 0 and ran.err == "warning: m errs much\n"
    assert heard == [10_000, 30]
