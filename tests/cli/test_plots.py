"""Drawings and tables of a benchmark's page."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from condyle.errors import UnsupportedError

plots = pytest.importorskip("condyle.cli.plots", exc_type=UnsupportedError)
report = pytest.importorskip("condyle.cli.report", exc_type=UnsupportedError)


def spread(median: float) -> dict[str, float]:
    return {"median": median, "minimum": 0.5 * median, "low": 0.75 * median, "high": 1.5 * median}


def labels(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def inches(svg: str) -> tuple[float, float]:
    ((width, height),) = re.findall(r'<svg[^>]* width="([\d.]+)pt" height="([\d.]+)pt"', svg)
    return float(width) / 72, float(height) / 72


def test_panels_stand_in_rows_of_four() -> None:
    names = ("id", "fd", "m", "minv", "did")
    times = {name: {"condyle": {2: spread(40.0), 4: spread(30.0)}, "other": {2: spread(80.0)}} for name in names}
    del times["did"]["other"]
    svg = plots.plots(times, ["condyle", "other"])
    said = labels(svg)
    assert inches(svg) == pytest.approx((4 * 2.9 + 0.4, 2 * 2.5 + 0.4))
    assert (said.count("time a state"), said.count("states a call")) == (2, 4)
    assert (said.count("condyle"), said.count("other")) == (1, 1), "one legend"
    assert (said.count("2"), said.count("4")) == (4, 4), "the lowest panel of each column has numbers"
    assert [label for label in said if ":" in label] == [plots._title(name) for name in names]
    assert all(colour in svg for colour in plots.COLOURS[:2]) and not any(c in svg for c in plots.COLOURS[2:])


def test_bars_of_one_batch_size_leave_out_who_has_no_time() -> None:
    times = {
        "id": {"condyle": {8: spread(2e3)}, "other": {8: spread(5e6)}},
        "m": {"condyle": {8: spread(300.0)}},
    }
    svg = plots.plots(times, ["condyle", "other"])
    said = labels(svg)
    assert inches(svg) == pytest.approx((2 * 2.9 + 0.4, 0.9 + 0.45 * 2 + 0.4))
    assert {"2 us", "5 ms", "300 ns"} <= set(said), "each bar has its number"
    assert said.count("time a state, 8 states a call") == 2
    assert "condyle" in said and "other" in said


@pytest.mark.parametrize(
    ("ns", "said"),
    [
        (0.5, "0.5 ns"),
        (999.0, "999 ns"),
        (1e3, "1 us"),
        (1234.0, "1.23 us"),
        (1e6, "1 ms"),
        (1e9, "1 s"),
        (2e11, "200 s"),
    ],
)
def test_a_time_is_said_in_three_digits(ns: float, said: str) -> None:
    assert plots.duration(ns) == said == plots._tick(ns, None)


@pytest.mark.parametrize(
    ("times", "limits"),
    [
        ((50.0, 50.0), (20.0, 100.0)),
        ((11.0, 49.0), (10.0, 50.0)),
        ((3.0, 700.0), (2.0, 1000.0)),
        ((1e-4, 1e20), (1e-3, 5e14)),
    ],
)
def test_an_axis_goes_from_the_mark_below_to_the_mark_above(
    times: tuple[float, float], limits: tuple[float, float]
) -> None:
    low, high = times
    panels = [
        {"condyle": {1: {"median": high, "low": low}}},
        {"condyle": {2: {"median": high}}, "other": {1: {"a": low}}},
    ]
    assert plots._around(panels) == pytest.approx(limits)


def cells(html: str) -> list[list[str]]:
    """Of the table in a part of a page."""
    table = ElementTree.fromstring(html[html.index("<table") : html.index("</table>") + len("</table>")])
    return [[cell.text or "" for cell in row] for row in table.iter("tr")]


def test_tables_have_every_number_of_every_engine() -> None:
    rows = [
        {"function": "id", "batch": 2, "engine": "condyle", "ns": spread(40.0)},
        {"function": "id", "batch": 1000, "engine": "condyle", "ns": spread(20.0)},
        {"function": "m", "batch": 2, "engine": "condyle", "ns": spread(4000.0)},
        {"function": "id", "batch": 2, "engine": "other", "ns": spread(100.0)},
        {"function": "id", "batch": 1000, "engine": "other", "ns": spread(10.0)},
    ]
    times = report._times(rows)
    assert cells(report._medians(times, "condyle")) == [
        ["states a call", "2", "1,000"],
        ["id", "40 ns", "20 ns"],
        ["m", "4 us", "-"],
    ]
    assert cells(report._medians(times, "other")) == [["states a call", "2", "1,000"], ["id", "100 ns", "10 ns"]]
    assert cells(report._ratios(times, "other")) == [["states a call", "2", "1,000"], ["id", "2.5", "0.5"]]
    assert cells(report._numbers(times))[1:] == [
        ["id", "condyle", "2", "40 ns", "20 ns", "30 ns", "60 ns", "25,000,000"],
        ["id", "condyle", "1,000", "20 ns", "10 ns", "15 ns", "30 ns", "50,000,000"],
        ["id", "other", "2", "100 ns", "50 ns", "75 ns", "150 ns", "10,000,000"],
        ["id", "other", "1,000", "10 ns", "5 ns", "7.5 ns", "15 ns", "100,000,000"],
        ["m", "condyle", "2", "4 us", "2 us", "3 us", "6 us", "250,000"],
    ]
