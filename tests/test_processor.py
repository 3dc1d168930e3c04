"""Processor seconds of tests are measured, added up, and said."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest

from tests.processor import NAME, SMOKE_S, SUITE_S, TEST_S, Processor, repeats, repeats_text, summary, used
from tests.where import ROOT


def report(test: str, spent: float, *marks: str) -> pytest.TestReport:
    keywords = dict.fromkeys(marks, 1)
    return pytest.TestReport(test, ("f", 1, ""), keywords, "passed", None, "call", user_properties=[(NAME, spent)])


def test_setup_call_and_teardown_of_a_test_are_added_and_slow_tests_left_out() -> None:
    plugin = Processor()
    for spent in (1.0, TEST_S, 0.5):
        plugin.pytest_runtest_logreport(report("a", spent))
    plugin.pytest_runtest_logreport(report("b", 0.5))
    plugin.pytest_runtest_logreport(report("c", 99.0, "slow"))
    said: list[str] = []
    plugin.pytest_terminal_summary(SimpleNamespace(write_line=said.append))  # type: ignore[arg-type]
    assert said[0] == f"processor: {TEST_S + 2:.0f} s in 2 tests, at most {SUITE_S:.0f}; 99 s in slow ones"
    assert said[1:] == [f"{TEST_S + 1.5:6.1f} s, more than {TEST_S:.0f}: a"]


def test_a_suite_that_takes_too_much_is_said() -> None:
    many = {str(k): 1.0 for k in range(int(SUITE_S) + 1)}
    assert "CONTRIBUTING.md" in summary(many, set(), set())[1]
    assert len(summary(dict(list(many.items())[1:]), set(), set())) == 1


def test_smoke_tests_that_take_too_much_are_said() -> None:
    seconds = {"a": SMOKE_S, "b": 1.0}
    assert summary(seconds, {"a", "b"}, {"a"})[1] == "smoke tests that are slow: a"
    said = summary(seconds, {"a"}, {"a", "b"})[1]
    assert said == f"smoke tests take {SMOKE_S + 1:.0f} s, more than {SMOKE_S:.0f}"
    assert len(summary(seconds, {"a"}, {"b"})) == 1


def test_work_of_children_counts() -> None:
    before = used()
    subprocess.run([sys.executable, "-S", "-c", "sum(range(3_000_000))"], check=True)
    assert used() - before > 0.01


def test_this_run_is_measured(request: pytest.FixtureRequest) -> None:
    plugins = request.config.pluginmanager.get_plugins()
    assert sum(isinstance(plugin, Processor) for plugin in plugins) == 1


def test_what_is_listed_as_a_repeat_is_there() -> None:
    """A renamed test would be quick again, and nobody would see it."""
    for name in repeats():
        file, _, test = name.partition("[")[0].partition("::")
        assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8"), f"{name}: correct tests/repeats.txt"


def test_cases_beyond_the_time_of_their_test_are_repeats() -> None:
    seconds = {"tests/a.py::t[b-1]": 0.3, "tests/a.py::t[c[2]]": 0.2, "tests/a.py::t[d]": 0.1, "tests/a.py::u": 9.0}
    seconds |= {"tests/a.py::long[x]": 4.0, "tests/a.py::long[y]": 4.1, "docs/b.py::t[x]": 5.0, "docs/b.py::t[y]": 5.0}
    _, *lines = repeats_text(seconds).splitlines()
    assert lines == ["a.py::long", "    y", "a.py::t", "    b-1"]


def test_what_is_listed_as_a_repeat_is_slow(request: pytest.FixtureRequest) -> None:
    if request.config.option.renew_repeats:
        return  # every case runs
    listed = [item for item in request.session.items if item.nodeid in repeats()]
    assert all(item.get_closest_marker("slow") for item in listed)
