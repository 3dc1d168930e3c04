"""Processor seconds of every test, those of its ended children included, said at the end of a run.

Seconds on the wall depend on what else the machine does. The first test that asks for a shared fixture pays for it.
"""

from __future__ import annotations

import resource
from collections.abc import Generator, Mapping
from functools import cache
from itertools import accumulate
from pathlib import Path

import pytest

SUITE_S = 420.0  # what the README's test command may take: four minutes on two cores
TEST_S = 3.0  # one test that is not marked slow
CASES_S = 0.4  # the cases of one test, together
REPEATS = Path(__file__).parent / "repeats.txt"
SMOKE_S = 60.0  # the smoke tests together: half a minute on two cores, and what collects them
NAME = "processor_s"


def slow(*values: object) -> object:
    """Parameters of a test that `pytest -m slow` runs."""
    return pytest.param(*values, marks=pytest.mark.slow)


@cache
def repeats() -> frozenset[str]:
    """Names of the cases in `tests/repeats.txt`."""
    names: set[str] = set()
    test = ""
    for line in REPEATS.read_text(encoding="utf-8").splitlines():
        if line.startswith("    "):
            names.add(f"{test}[{line[4:]}]")
        elif not line.startswith("#"):
            test = f"tests/{line}"
    return frozenset(names)


def repeats_text(seconds: Mapping[str, float]) -> str:
    """`tests/repeats.txt` by the seconds of tests that are not marked slow: of each test the shortest cases stay quick
    whose sum is at most CASES_S, at least one."""
    cases: dict[str, list[tuple[float, str]]] = {}
    for name, spent in seconds.items():
        test, bracket, case = name.partition("[")
        if bracket and test.startswith("tests/"):
            cases.setdefault(test.removeprefix("tests/"), []).append((spent, case[:-1]))
    lines = ["# Written by `pytest -n auto --renew-repeats`: slow cases, since others of their test use up its time."]
    for test in sorted(cases):
        order = sorted(cases[test])
        left = [case for sum_s, (_, case) in zip(accumulate(s for s, _ in order), order) if sum_s > CASES_S]
        if left := sorted(set(left) - {order[0][1]}):
            lines += [test, *(f"    {case}" for case in left)]
    return "\n".join(lines) + "\n"


def used() -> float:
    """Processor seconds of this process and of its children that have ended."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


class Processor:
    """The pytest plugin: workers measure, the process that says the results adds up."""

    def __init__(self, renew: bool = False) -> None:
        self.renew = renew
        self.begun = used()
        self.seconds: dict[str, float] = {}
        self.slow: set[str] = set()
        self.smoke: set[str] = set()

    def pytest_runtest_logstart(self) -> None:
        self.begun = used()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Setup, the call and teardown have a report each."""
        report = yield
        now = used()
        report.user_properties.append((NAME, now - self.begun))
        self.begun = now
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Of reports of workers too."""
        spent = sum(value for name, value in report.user_properties if name == NAME and isinstance(value, float))
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + spent
        if "slow" in report.keywords:
            self.slow.add(report.nodeid)
        if "smoke" in report.keywords:
            self.smoke.add(report.nodeid)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for line in summary(self.seconds, self.slow, self.smoke) if self.seconds else ():
            terminalreporter.write_line(line)
        if self.renew:
            quick = {name: spent for name, spent in self.seconds.items() if name not in self.slow}
            REPEATS.write_text(repeats_text(quick), encoding="utf-8")


def summary(seconds: Mapping[str, float], slow: set[str], smoke: set[str]) -> list[str]:
    """The sums, and the tests that take more than they may."""
    some = {name: spent for name, spent in seconds.items() if name not in slow}
    total, rest = sum(some.values()), sum(seconds.values()) - sum(some.values())
    found = [f"processor: {total:.0f} s in {len(some)} tests, at most {SUITE_S:.0f}; {rest:.0f} s in slow ones"]
    if total > SUITE_S:
        found.append("that is too much: CONTRIBUTING.md says what to do")
    short = sum(seconds[name] for name in smoke)
    if short > SMOKE_S:
        found.append(f"smoke tests take {short:.0f} s, more than {SMOKE_S:.0f}")
    if smoke & slow:
        found.append(f"smoke tests that are slow: {', '.join(sorted(smoke & slow))}")
    over = sorted((item for item in some.items() if item[1] > TEST_S), key=lambda item: -item[1])
    return found + [f"{spent:6.1f} s, more than {TEST_S:.0f}: {name}" for name, spent in over]
