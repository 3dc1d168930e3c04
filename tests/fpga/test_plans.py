"""What is advised about errors, what words are compared by, and which interval fits a part."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

import condyle
from condyle import Robot, fpga
from condyle.errors import UnsupportedError
from condyle.fpga import Options, plans
from condyle.fpga.plans import advice
from condyle.fpga.rtl.build import build
from condyle.fpga.rtl.planner import LARGEST_II, fit, fitted
from condyle.fpga.rtl.target import PARTS

ARM = condyle.chain(2, 0)
AT_THE_GOAL = {"clamped": 0.01, "x_absolute": 5.0, "x_relative": 0.01}
FAR = {**AT_THE_GOAL, "x_relative": 0.02}


def test_what_reaches_a_limit_is_not_beyond_it() -> None:
    assert advice(ARM, Options(), {"id": AT_THE_GOAL}, 100) == []


def test_a_function_that_clamps_is_told_of_other_words() -> None:
    (said,) = advice(ARM, Options(word="q16.16"), {"id": {**AT_THE_GOAL, "clamped": 0.02}, "fd": AT_THE_GOAL}, 100)
    assert said == (
        "id: a signal is clamped in 2% of 100 states of the box, because it does not fit word 'q16.16': choose one "
        "with more bits before the point, or with a scale for each signal, such as 27x18"
    )


@pytest.mark.parametrize(
    ("word", "wider"),
    [
        ("12", ["16", "18", "20x18", "25x18", "27x18", "27", "32"]),
        ("25x18", ["27x18", "27", "32"]),
        ("26x13", ["27x18", "27", "32"]),
        ("q16.16", ["27x18", "27", "32"]),
        ("27", ["32"]),
        ("32", []),
    ],
)
def test_wider_words_are_tried_from_the_narrowest_on(
    monkeypatch: pytest.MonkeyPatch, word: str, wider: list[str]
) -> None:
    """Each for the functions that none before has helped."""
    tried: list[tuple[str, tuple[str, ...], int]] = []

    def within(_: Robot, options: Options, other: str, states: int) -> dict[str, str]:
        tried.append((other, options.functions, states))
        return {"id": f"word {other!r} does"} if len(tried) == 1 else {}

    monkeypatch.setattr(plans, "_within", within)
    said = advice(ARM, Options(("id", "fd", "m"), word=word), {"id": FAR, "fd": FAR, "m": AT_THE_GOAL}, 50)
    assert tried == [(other, ("fd",) if k else ("id", "fd"), 50) for k, other in enumerate(wider)]
    cure = f"word {wider[0]!r} does" if wider else "no other word was better: choose a smaller box, or"
    assert said[0].startswith(f"id: errors reach 0.02 of the range over 50 states, more than 0.01; {cure}")
    assert said[1].startswith("fd: errors reach 0.02") and "no other word was better" in said[1] and len(said) == 2


def test_words_are_compared_by_what_they_cost_and_err() -> None:
    options, acc = Options(("id", "fd"), word="27x18"), fpga.accelerator(ARM, Options(("id", "fd"), word="18"))
    rows, errors = fpga.compared(ARM, options, "18", 40), fpga.errors(ARM, acc.plan, 40)
    used = {"id": ("trig", "dynamics"), "fd": ("trig", "dynamics", "mass", "solve")}
    for row, (name, arrays) in zip(rows, used.items(), strict=True):
        one = errors[name]
        port = {"id": "tau", "fd": "a"}[name]
        quantiles = {part: one[f"{port}_relative_{part}"] for part in ("p50", "p90", "p99")}
        bits = sum(map(acc.register_bits_of, arrays))
        assert row == {
            "word": "18",
            "function": name,
            "dsp": row["dsp"],
            "register_bits": bits,
            "ii": acc.interval(name),
            **quantiles,
            "max": one[f"{port}_relative"],
            "flagged": one["clamped"],
        }
    assert 0 < rows[0]["dsp"] < rows[1]["dsp"] == acc.dsp


def test_an_export_has_ten_tasks_of_each_function_and_one_of_each_unknown_code(tmp_path: Path) -> None:
    condyle.export(ARM, "verilog", tmp_path, ("id", "fd"), name="arm")
    assert len((tmp_path / "tasks.hex").read_text().splitlines()) == 10 * 2 + (2**4 - 2)


def test_an_interval_is_at_least_that_of_the_link_and_at_most_half_of_the_longest() -> None:
    plan = fpga.planned(ARM, Options(("id",)))
    assert [fit(plan, 4000, least=n) for n in (1, 5, 32, 1000)] == [(n, 1) for n in (1, 5, 32, LARGEST_II // 2)]


def test_registers_that_just_fit_are_taken_and_else_the_interval_that_fits_is_said() -> None:
    """Of an ECP5, which has a flip-flop for each look-up table."""
    plan, part = fpga.planned(ARM, Options()), PARTS["ecp5-85k"]
    ii, _ = fit(plan, part.dsp, device=part)
    bits = {n: build(plan, n, device=part).register_bits for n in range(ii, LARGEST_II + 1, ii)}
    assert fitted(plan, part.dsp, "dsp", None, replace(part, lut=bits[ii]), 1).ii == ii
    room = bits[ii] - 1
    longer = next(n for n, count in bits.items() if count <= room)
    with pytest.raises(UnsupportedError) as caught:
        fitted(plan, part.dsp, "dsp", None, replace(part, lut=room), 1)
    asked = f"take {bits[ii]} flip-flops, and it has {room}. The shortest interval that fits is {longer} cycles: --dsp "
    assert asked in str(caught.value) and f"with a task every {ii} cycles" in str(caught.value)
    (dsp,) = re.findall(r"--dsp (\d+)\.", str(caught.value))
    assert int(dsp) == build(plan, longer, device=part).dsp
