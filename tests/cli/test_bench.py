from __future__ import annotations

import re
import sys

import numpy as np
import pytest

import condyle
from condyle.cli import bench
from condyle.cli.bound import Row, Sampling, Spread
from condyle.cli.states import draw
from condyle.errors import UnsupportedError
from condyle.functions import FUNCTIONS


def duration(ns: float) -> str:
    """As plots write it; matplotlib may be missing here."""
    unit, size = next((of for of in (("s", 1e9), ("ms", 1e6), ("us", 1e3)) if ns >= of[1]), ("ns", 1.0))
    return f"{ns / size:.3g} {unit}"


def test_a_table_of_functions_and_batches(run, pendulum) -> None:
    ran = run("bench", pendulum(), "--target", "numpy", "--functions", "id,m", "--batch", "2,8")
    assert ran.status == 0
    lines = [line for line in ran.out.splitlines() if re.match(r"(id|m) ", line)]
    assert len(lines) == 4
    assert "states/s" in ran.out
    assert "cores" in ran.out


def test_json_has_machine_and_spread(run, pendulum) -> None:
    ran = run("bench", pendulum(), "--target", "numpy", "--functions", "id", "--batch", "4", "--json")
    found = ran.json
    assert found["machine"]["numpy"]
    (row,) = found["rows"]
    assert row["function"] == "id"
    assert 0 < row["ns"]["minimum"] <= row["ns"]["low"] <= row["ns"]["median"] <= row["ns"]["high"]


def test_the_c_target_runs(run, pendulum) -> None:
    ran = run("bench", pendulum(), "--target", "c", "--functions", "id", "--batch", "16", "--dtype", "float32")
    assert ran.status == 0
    assert "float32" in ran.out


@pytest.mark.slow
def test_html_is_one_page_that_fetches_nothing(run, pendulum, tmp_path) -> None:
    pytest.importorskip("matplotlib", reason="plots need matplotlib: pip install 'condyle[plots]'")
    page = tmp_path / "report.html"
    name = "a&lt;script&gt;b"
    words = ("--target", "numpy", "--functions", "id,m", "--batch", "2,4", "--html", str(page))
    assert run("bench", pendulum(name=name), *words).status == 0
    text = page.read_text(encoding="utf-8")
    assert text.count("<svg") == 1
    assert "inverse dynamics" in text and "mass matrix" in text
    assert "<script" not in text
    assert not re.search(r"<(link|img|iframe|image)|url\((?!#)|@import", text)
    assert re.findall(r"href=.(?!#)", text) == []


@pytest.mark.parametrize("batches", ["8", "2,4", "1,2,4,8,16"])
def test_a_page_has_axes_and_numbers_at_any_number_of_batch_sizes(run, pendulum, tmp_path, batches) -> None:
    pytest.importorskip("matplotlib", reason="plots need matplotlib: pip install 'condyle[plots]'")
    page = tmp_path / "page.html"
    words = ("--target", "numpy", "--functions", "id,m", "--batch", batches, "--html", str(page), "--json")
    ran = run("bench", pendulum(), *words)
    assert ran.status == 0, ran.err
    text = page.read_text(encoding="utf-8")
    svg = text[text.index("<svg") : text.index("</svg>")]
    labels = re.findall(r"<text[^>]*>([^<]*)</text>", svg)
    assert any(label.endswith("states a call") for label in labels) and any("time a state" in label for label in labels)
    assert sum(label.endswith((" ns", " us", " ms")) for label in labels) >= 2
    medians = [duration(row["ns"]["median"]) for row in ran.json["rows"]]
    assert all(f"<td>{median}</td>" in text[: text.index("<details>")] for median in medians)
    if "," not in batches:  # bars, each with its number
        assert set(medians) <= set(labels)
    # dark and light: every stroke and text of the drawing that is no engine's takes the page's colours
    assert "prefers-color-scheme:dark" in text and "@media print" in text and 'name="viewport"' in text
    assert "currentColor" in svg and not re.search("#23282d|#d9dde1|#ffffff|#000000", svg)


def test_an_axis_of_times_has_two_numbers_even_if_the_times_are_close() -> None:
    draw = pytest.importorskip("condyle.cli.plots", exc_type=UnsupportedError).plots
    times = {"id": {"numpy": {n: dict.fromkeys(("median", "minimum", "low", "high"), 60e3 + n) for n in (2, 4)}}}
    labels = re.findall(r"<text[^>]*>([^<]*)</text>", draw(times, ["numpy"]))
    assert [label for label in labels if label.endswith(" us")] == ["50 us", "100 us"]


def test_a_page_has_ratios_and_the_birth_certificate(run, pendulum) -> None:
    report = pytest.importorskip("condyle.cli.report", exc_type=UnsupportedError)
    ns = {"median": 50.0, "minimum": 40.0, "low": 45.0, "high": 60.0}
    rows = [
        {"function": "id", "batch": 8, "engine": "condyle", "ns": ns},
        {"function": "id", "batch": 8, "engine": "other", "ns": {key: 30 * value for key, value in ns.items()}},
    ]
    machine = {"cpu": "some cpu", "numpy": "2.0"}
    text = report.page({"title": "arm", "rows": rows, "machine": machine, "rivals": {"other": {"compiler": "cc 9"}}})
    assert "<td>30.0</td>" in text
    assert all(word in text for word in ("some cpu", "cc 9", "1.5 us", "50 ns"))


def test_without_matplotlib_html_is_refused_before_anything_is_timed(run, pendulum, monkeypatch, tmp_path) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for name in ("condyle.cli.report", "condyle.cli.plots"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    ran = run("bench", pendulum(), "--target", "numpy", "--html", str(tmp_path / "page.html"))
    assert ran.status == 2
    assert "pip install 'condyle[plots]'" in ran.err


def test_a_page_in_a_folder_that_is_not_there_is_refused(run, pendulum, tmp_path) -> None:
    pytest.importorskip("matplotlib", reason="plots need matplotlib: pip install 'condyle[plots]'")
    ran = run("bench", pendulum(), "--target", "numpy", "--html", str(tmp_path / "none" / "page.html"))
    assert ran.status == 2
    assert "there is no folder" in ran.err


def test_a_rival_that_is_not_installed_is_named_with_its_cure(run, pendulum, monkeypatch) -> None:
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if "site-packages" not in entry])
    for name in ("pinocchio", "casadi", "mujoco"):
        ran = run("bench", pendulum(), "--target", "numpy", "--against", name)
        assert ran.status == 2
        assert "pip install 'condyle[bench]'" in ran.err


def test_an_unknown_rival_is_refused_with_the_list(run, pendulum) -> None:
    ran = run("bench", pendulum(), "--against", "pinocchio,drake")
    assert ran.status == 2
    assert "'drake' is not one of pinocchio" in ran.err


def test_a_rival_stands_in_the_table_with_its_ratio(run, pendulum) -> None:
    pytest.importorskip("mujoco", reason="needs the mujoco package: pip install 'condyle[bench]'")
    ran = run("bench", pendulum(), "--functions", "id,difd", "--batch", "16", "--against", "mujoco")
    assert ran.status == 0, ran.err
    first, second = (line.split() for line in ran.out.splitlines() if re.match(r"(id|difd) ", line))
    ours, theirs, ratio = float(first[2].rstrip("~")), float(first[5]), float(first[6])
    assert ratio == pytest.approx(theirs / ours, rel=0.05)
    assert second[5:] == ["-", "-"]


@pytest.mark.slow
def test_functions_go_by_their_methods_names_too(run) -> None:
    pytest.importorskip("mujoco", reason="needs the mujoco package: pip install 'condyle[bench]'")
    names = "step,step_derivatives,rollout"
    ran = run("bench", "iiwa14", "--functions", names, "--batch", "16", "--against", "mujoco,mujoco-batch", "--json")
    rows = [(row["function"], row["engine"]) for row in ran.json["rows"]]
    rollout = "rollout_50_by_tau_last_of_step"
    assert [function for function, engine in rows if engine == "condyle"] == ["step", "dstep", rollout]
    assert {engine for function, engine in rows if function == rollout} == {"condyle", "mujoco", "mujoco-batch"}
    assert {engine for function, engine in rows if function == "dstep"} == {"condyle", "mujoco"}


class Rival:
    """A library that has inverse dynamics alone, and keeps how many states it was given."""

    name, algorithms, about = "other", {"id": "theirs (marked)", "m": "theirs"}, {"version": "1.0"}

    def __init__(self) -> None:
        self.states: list[tuple[str, int]] = []

    def call(self, word: str, arrays: list[np.ndarray]) -> str:
        self.states.append((word, len(arrays[0])))
        return word


def test_times_are_those_of_a_state(monkeypatch) -> None:
    """Rivals are timed over 256 states at least."""
    called = []

    def interleaved(calls, sampling) -> dict[str, Spread]:
        called.append((list(calls), sampling))
        return dict.fromkeys(calls, Spread(51200.0, 25600.0, 25600.0, 102400.0))

    monkeypatch.setattr(bench, "interleaved", interleaved)
    robot, rival = condyle.chain(2, 0), Rival()
    functions, sampling = (FUNCTIONS["id"], FUNCTIONS["fd"]), Sampling("cpu")
    rows = bench.measure(robot, robot.compile("numpy"), {"other": rival}, functions, (16, 512), sampling)  # type: ignore[dict-item]
    assert [(row.function, row.batch, row.engine, row.ns.median) for row in rows] == [
        ("id", 16, "condyle", 3200.0),
        ("id", 16, "other", 200.0),
        ("id", 512, "condyle", 100.0),
        ("id", 512, "other", 100.0),
        ("fd", 16, "condyle", 3200.0),
        ("fd", 512, "condyle", 100.0),
    ]
    assert rival.states == [("id", 256), ("id", 512)]
    assert [one for _, one in called] == [sampling] * 4


def test_a_call_reuses_its_outputs() -> None:
    robot = condyle.chain(2, 0)
    dyn = robot.compile("numpy")
    for name in ("id", "did"):
        function = FUNCTIONS[name]
        states = draw(robot, 3, "float64", (function,))
        outputs = states.outputs(function)
        for _ in range(2):
            bench.call(dyn, function, states, outputs)()
        for one, two in zip(outputs, dyn.call(function, states.arguments(function)), strict=True):
            np.testing.assert_array_equal(one, two)
        bench.call(dyn, function, states)()


def test_every_rival_is_compared_before_it_is_timed(run, pendulum, monkeypatch) -> None:
    compared = []
    monkeypatch.setattr(bench.rivals, "opened", lambda name, robot, frames: Rival())
    monkeypatch.setattr(bench, "agreement", lambda *given: compared.append((given[2].name, given[3].name)))
    words = ("--functions", "id,fd,m", "--against", "mujoco,casadi", "--batch", "1", "--json", "--target", "numpy")
    monkeypatch.setattr(bench, "measure", lambda *given: rows(given))
    asked = []

    def rows(given) -> list[Row]:
        asked.append(given[-1])
        return [Row("id", 1, "condyle", Spread(1.0, 1.0, 1.0, 1.0))]

    found = run("bench", pendulum(), *words).json
    assert compared == [("other", "id"), ("other", "m")] * 2
    assert asked == [Sampling("cpu")] and found["machine"]["clock"] == "CPU time"
    assert found["rivals"] == {name: {**Rival.about, **Rival.algorithms} for name in ("mujoco", "casadi")}
    assert "1 thread" in found["title"] and "threads" not in found["title"]
    plain = run("bench", pendulum(), "--functions", "id", "--json").json
    assert asked[1:] == [Sampling("wall")] and plain["machine"]["clock"] == "wall time"
    assert plain["title"].endswith("every core") and plain["nv"] == 1
    assert run("bench", pendulum(), "--functions", "id", "--threads", "2", "--json").json["title"].endswith("2 threads")


def test_a_table_has_a_row_for_each_of_ours_and_ratios(capsys) -> None:
    wide = Spread(200.0, 99.94, 100.0, 300.0)
    rows = [
        Row("id", 16, "condyle", Spread(100.0, 99.0, 100.0, 100.0)),
        Row("id", 16, "other", Spread(250.0, 1.0, 250.0, 250.0)),
        Row("fd", 16, "condyle", wide),
    ]
    bench._print("a title", rows, {"other": Rival()}, True)  # type: ignore[dict-item]
    said = capsys.readouterr().out.splitlines()
    assert said[3].split() == ["function", "batch", "ns/state", "min", "states/s", "other", "ratio"]
    assert said[5].split() == ["id", "16", "100", "99.0", "1e+07", "250", "2.50"]
    assert said[6].split() == ["fd", "16", "200~", "99.9", "5e+06", "-", "-"]
    assert "rollout: the time is that of all steps" in said
    assert said[-2] == "other: id: theirs (marked)"
    assert said[-1].startswith("~: in 1 of 3 times the quartiles are more than 15 % apart")
    bench._print("a title", rows[:1], {}, False)
    said = capsys.readouterr().out
    assert "rollout" not in said and "~" not in said and "other" not in said
