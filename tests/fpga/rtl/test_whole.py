"""The protocol of a whole accelerator and of its boundary: their own top modules, proven by yosys and ABC.

Arrays are delays and queues two words long, so that few cycles bring a task through; a queue's and a credit counter's
own text is proven in `test_formal.py`, an array's in-order delay is seen in the simulations. ABC is taken because the
solver of yosys does not reach the cycles that two passes take.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

import condyle
from condyle.fpga.rtl.boundary import Boundary, describe
from condyle.fpga.rtl.build import Accelerator
from condyle.fpga.rtl.emit_axi import AxiEmitter
from condyle.fpga.rtl.emit_top import emit_top
from tests.programs import YOSYS, needs, tool

from .conftest import accelerator
from .formal.skeleton import boundary_skeleton, sizes, skeleton

pytestmark = [
    pytest.mark.slow,
    needs(YOSYS),
    needs("berkeley-abc"),
]
ORDER, CREDITS, PROGRESS, LEFT = range(4)
FLATTEN = (
    "hierarchy -top whole; proc; setattr -mod -unset keep_hierarchy; flatten; opt; setundef -undriven -zero; "
    "setundef -zero -init; opt -full; techmap; opt -full; dffunmap; simplemap; opt_clean -purge; aigmap; "
    "opt_clean -purge; write_aiger -zinit whole.aig"
)
SEVEN = ("id", "fd", "m", "minv", "did", "dfd", "difd")


def found(folder: Path, text: str, values: Mapping[str, int], frames: int | None = None) -> str:
    """What ABC says of `whole` with these parameters: `proved` for ever, `unbroken` for so many cycles, or `broken`."""
    (folder / "whole.v").write_text(text)
    sets = " ".join(f"-set {name} {value}" for name, value in values.items())
    commands = f"read_verilog whole.v; chparam {sets} whole; {FLATTEN}"
    subprocess.run([tool(YOSYS), "-Q", "-q", "-p", commands], cwd=folder, capture_output=True, text=True, check=True)
    prove = "scorr; pdr -T 60" if frames is None else f"scorr; dc2; scorr; dc2; bmc3 -F {frames} -T 120"
    script = f"read_aiger whole.aig; {prove}"
    ran = subprocess.run(["berkeley-abc", "-c", script], cwd=folder, capture_output=True, text=True, check=True).stdout
    if "combinational" in ran:  # no register is left, so what is true is true for ever
        return "unbroken" if found(folder, text, values) == "proved" else "broken"
    said = re.search(rf"(Property proved)|(No output asserted in {frames} frames)|(was asserted in frame)", ran)
    assert said is not None, ran
    return ("proved", "unbroken", "broken")[(said.lastindex or 0) - 1]


def planned(word: str = "8x8") -> Accelerator:
    return accelerator(condyle.chain(1, 0), *SEVEN, word=word, ii=1, box={"v": 2.0, "a": 5.0})


def changed(text: str, planted: tuple[str, str] | None) -> str:
    if planted is None:
        return text
    assert planted[0] in text
    return text.replace(*planted, 1)


def code(acc: Accelerator, function: str) -> int:
    return 15 if function == "unknown" else acc.plan.tasks[function].codes[0]


def judged(
    folder: Path, watched: tuple[str, str], what: int, frames: int | None, planted: tuple[str, str] | None = None
) -> str:
    """A property of the accelerator while tasks of two functions come."""
    acc = planned()
    codes = [code(acc, name) for name in watched]
    values = {**sizes(acc), "F": codes[0], "OTHER": codes[1], "WHAT": what}
    return found(folder, skeleton(acc, changed(emit_top(acc, "top"), planted)), values, frames)


WATCHED = {("id", "dfd"): 18, ("dfd", "id"): 24, ("fd", "difd"): 20, ("unknown", "did"): 18}
"""The function whose tasks are watched, the one beside it, and the cycles that seconds are enough for."""


@pytest.mark.parametrize(("watched", "frames"), WATCHED.items())
def test_no_task_is_lost_doubled_or_overtaken(tmp_path, watched, frames) -> None:
    """For so many cycles, in which the watched task can enter and leave."""
    assert judged(tmp_path, watched, LEFT, frames - 4) == "broken"
    assert judged(tmp_path, watched, ORDER, frames) == "unbroken"


@pytest.mark.parametrize("watched", WATCHED)
def test_something_always_moves_while_tasks_are_inside(tmp_path, watched) -> None:
    assert judged(tmp_path, watched, PROGRESS, 24) == "unbroken"


@pytest.mark.parametrize("watched", [("id", "dfd"), ("fd", "difd"), ("dfd", "minv"), ("m", "did"), ("dfd", "unknown")])
def test_no_full_queue_gets_a_word_and_no_empty_one_gives_one(tmp_path, watched) -> None:
    """For ever, by ABC's pdr."""
    assert judged(tmp_path, watched, CREDITS, None) == "proved"


@pytest.mark.parametrize(
    ("planted", "watched", "what"),
    [
        (
            ("assign kept_pop = derivatives_take & is_own", "assign kept_pop = derivatives_take"),
            ("dfd", "difd"),
            PROGRESS,
        ),
        (("assign entry_pop = take | refuse", "assign entry_pop = take"), ("unknown", "id"), ORDER),
        (("{merged_room & ~reset}", "{~reset}"), ("id", "m"), ORDER),
        (("wire again = back_full", "wire again = 1'b0"), ("dfd", "id"), PROGRESS),
        ((" & (~is_dfd | loop_room)", ""), ("dfd", "id"), CREDITS),
        ((" & (~keeps_tau | tau_free)", ""), ("fd", "id"), CREDITS),
        (("inverse_pop = solve_take", "inverse_pop = c_full"), ("fd", "id"), PROGRESS),
        (("merged_pop = merged_full & out_ready", "merged_pop = out_ready"), ("id", "m"), CREDITS),
    ],
)
def test_a_planted_bug_is_found(tmp_path, planted, watched, what) -> None:
    assert judged(tmp_path, watched, what, 24, planted) == "broken"


TRANSFERS, AXI, ANSWERED, RESET, PROMPT = 1, 2, 4, 5, 6
MALFORMED, UNKNOWN = {"WRONG": 1}, {"WRONG": 2}


def bounded(
    folder: Path,
    other: str,
    beats: tuple[int, int],
    what: int,
    frames: int | None,
    planted: tuple[str, str] | None = None,
    **more: int,
) -> str:
    """A property of the boundary while packets of id come, and others; beats: of the others and of their results; more:
    parameters."""
    acc, boundary = planned("32"), Boundary(axi=32)
    text = AxiEmitter(acc.plan, boundary, describe(acc.plan, boundary, "top", "")).text()
    codes = {"F": code(acc, "id"), "OTHER": code(acc, other)}
    sent, back = boundary.beats(boundary.task(acc.plan, "id")), boundary.beats(boundary.result(acc.plan, "id"))
    others = {"OTHER_SENT": beats[0], "OTHER_BACK": beats[1]}
    values = {**codes, "SENT": sent, "BACK": back, **others, **more, "WHAT": what}
    return found(folder, changed(boundary_skeleton(acc, text), planted), values, frames)


@pytest.mark.parametrize(
    ("other", "beats", "wrong"),
    [("m", (2, 2), {}), ("difd", (5, 1), MALFORMED), ("unknown", (3, 1), UNKNOWN), ("id", (1, 1), MALFORMED)],
)
def test_packets_are_whole_and_none_is_lost_doubled_or_overtaken(tmp_path, other, beats, wrong) -> None:
    """For so many cycles, in which the watched packet can come and leave, whichever packets share a transfer."""
    assert bounded(tmp_path, other, beats, LEFT, 16, **wrong) == "broken"
    assert bounded(tmp_path, other, beats, ORDER, 20, **wrong) == "unbroken"
    assert bounded(tmp_path, other, beats, TRANSFERS, 24, **wrong) == "unbroken"
    assert bounded(tmp_path, other, beats, TRANSFERS, 24, **wrong, MOST=3) == "unbroken"
    assert bounded(tmp_path, other, beats, TRANSFERS, 24, **wrong, MOST=3, LATE=1) == "unbroken"
    assert bounded(tmp_path, other, beats, ANSWERED, 28, **wrong, MOST=3, LATE=1) == "unbroken"
    assert bounded(tmp_path, other, beats, ANSWERED, 28, **wrong, MOST=3) == "broken"


@pytest.mark.parametrize("what", [AXI, RESET])
def test_a_beat_stays_until_it_is_taken_and_a_transfer_ends_before_a_reset(tmp_path, what) -> None:
    """For ever, with a reset and other registers at any time."""
    assert bounded(tmp_path, "m", (2, 2), what, None) == "proved"


def test_an_unfinished_transfer_does_not_delay_a_reset(tmp_path) -> None:
    """For so many cycles."""
    assert bounded(tmp_path, "m", (2, 2), PROMPT, 32, MOST=3) == "unbroken"


@pytest.mark.parametrize(
    ("planted", "other", "beats", "what", "more"),
    [
        (("out_ready = next_ready & ~wrong_now", "out_ready = next_ready"), "id", (1, 1), ORDER, MALFORMED),
        (("in_valid(full & ~wrong)", "in_valid(full)"), "id", (1, 1), ORDER, MALFORMED),
        (("wrong_now ? 16'd1 : result_beats", "result_beats"), "id", (1, 1), TRANSFERS, MALFORMED),
        (("valid = there & ~waits & ~closed", "valid = there & ~waits & ~asked"), "m", (2, 2), AXI, {}),
        (("if (~valid | ready) full", "full"), "m", (2, 2), AXI, {}),
        (("(beat ? last : ", "(beat ? ends : "), "m", (2, 2), RESET, {}),
        (("full <= asked | ", "full <= "), "m", (2, 2), PROMPT, {"MOST": 3}),
        (("ends = last | now <= 1", "ends = last"), "m", (2, 2), ORDER, {}),
        (("ends = last | now <= 1", "ends = now <= 1"), "id", (1, 1), ORDER, MALFORMED),
        (("~last & (drops | unknown)", "~last & drops"), "unknown", (3, 1), ANSWERED, UNKNOWN | {"MOST": 3}),
        (("waited >= timeout", "waited > timeout + 20"), "m", (2, 2), ANSWERED, {"MOST": 3, "LATE": 1}),
        (("full ? 32'd1 : place", "place"), "id", (1, 1), TRANSFERS, MALFORMED | {"MOST": 3}),
    ],
)
def test_a_bug_planted_in_the_boundary_is_found(tmp_path, planted, other, beats, what, more) -> None:
    assert bounded(tmp_path, other, beats, what, 28, planted, **more) == "broken"
