"""Assertions of queues and of credits, proven by yosys by induction."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.programs import YOSYS, needs, tool

from .formal.skeleton import OPERATORS, module

HERE = Path(__file__).parent / "formal"
pytestmark = [
    pytest.mark.slow,
    needs(YOSYS),
]


def proven(folder: Path, top: str, text: str, depth: int, steps: int, more: str = "") -> bool:
    """Whether yosys proves all assertions of a module and of formal/TOP.v by induction over so many steps; anything but
    a proof or a counterexample is an error. more: parameters."""
    (folder / "module.v").write_text(text)
    bits = max(1, (depth - 2).bit_length())  # as the emitter counts them
    commands = (
        f"read_verilog -formal module.v {HERE / top.removeprefix('fx_')}.v; "
        f"chparam {more} -set DEPTH {depth} -set BITS {bits} {top}; "
        f"prep -top {top} -flatten; memory_map; async2sync; opt -full; chformal -lower; "
        f"sat -tempinduct -maxsteps {steps} -prove-asserts -set-assumes -set-init-def -set-def-inputs -show-public"
    )
    ran = subprocess.run([tool(YOSYS), "-Q", "-p", commands], cwd=folder, capture_output=True, text=True, check=False)
    if "SUCCESS!" in ran.stdout:
        return True
    assert re.search(r"model found.*: FAIL!", ran.stdout), (ran.stdout[-3000:], ran.stderr[-3000:])
    return False


BOUND = """
    wire [BITS-1:0] place;
    lane_formal #(W, DEPTH, BITS) formal (
        .clock(clock), .reset(reset), .mark(mark), .push(push), .in_data(in_data), .pop(pop), .ready(ready),
        .valid(valid), .out_data(out_data), .head(head), .tail(tail), .count(count), .stored(stored), .waits(waits),
        .fetched({fetched}), .word({word}), .place(place), .cell({memory}[place])
    );
endmodule
"""


def lane(deep: bool, planted: tuple[str, str] = ("", "")) -> str:
    """A lane with its assertions inside, and a bug if one is planted. deep: with block RAM."""
    was, now = planted
    text = module(OPERATORS, "fx_lane")
    assert was in text and text.count(CHOICE) == 1
    text = text.replace(CHOICE, f"localparam DEEP = {int(deep)};")
    inside = {
        "fetched": "deep.fetched" if deep else "1'b0",
        "word": "deep.word" if deep else "out_data",
        "memory": "deep.memory" if deep else "shallow.memory",
    }
    text = text.replace(was, now, 1) if was else text
    text = text.replace("input clock,", "input clock, input mark,", 1)
    enable = module(OPERATORS, "fx_enable").removeprefix('(* keep_hierarchy = "yes" *)\n')  # so that it is flattened
    return text.replace("endmodule\n", BOUND.format(**inside)) + enable


CHOICE = "localparam DEEP = DEPTH > 33;"


def holds(folder: Path, depth: int, deep: bool, planted: tuple[str, str] = ("", "")) -> bool:
    return proven(folder, "fx_lane", lane(deep, planted), depth, 12, "-set W 2")


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("depth", [2, 4, 5, 17])
def test_a_queue_neither_loses_nor_doubles_nor_reorders(tmp_path, depth, deep) -> None:
    """By induction, so for ever."""
    assert holds(tmp_path, depth, deep)


@pytest.mark.parametrize(
    ("planted", "deep"),
    [
        (("~push | pop | count != DEPTH - 1", "1'b1"), False),
        (("~push | pop | count != DEPTH - 1", "1'b1"), True),
        (("count != DEPTH - 1 : pop", "count != DEPTH - 1 : 1'b0"), False),
        (("writes | ~reads | stored != 1", "~reads | stored != 1"), False),
        (("if (writes) tail", "if (push) tail"), True),
        (("out_data <= some ? first : in_data", "out_data <= in_data"), False),
        ((".state(valid), .go(pop)", ".state(valid), .go(1'b0)"), False),
        ((".state(ready), .go(push)", ".state(ready), .go(1'b0)"), True),
        (("direct = moves & ~some & ~waits", "direct = moves & ~some"), True),
        (("reads = waits & (~fetched | moves)", "reads = waits"), True),
    ],
)
def test_a_planted_bug_is_found(tmp_path, planted, deep) -> None:
    assert not holds(tmp_path, 4, deep, planted)


CREDITS = """
    credits_formal #(DEPTH, BITS) formal (
        .clock(clock), .reset(reset), .take(take), .give(give), .free(free), .taken(taken)
    );
endmodule
"""


def counts(folder: Path, depth: int, planted: tuple[str, str] = ("", "")) -> bool:
    was, now = planted
    text = module(OPERATORS, "fx_credits")
    assert was in text
    text = text.replace(was, now, 1) if was else text
    return proven(folder, "fx_credits", text.replace("endmodule\n", CREDITS), depth, 8)


@pytest.mark.parametrize("depth", [2, 4, 5, 9, 10, 20, 34])
def test_never_more_tasks_are_inside_than_credits(tmp_path, depth) -> None:
    """By induction, so for ever; a credit comes back for each task that leaves."""
    assert counts(tmp_path, depth)


@pytest.mark.parametrize(
    "planted",
    [
        ("free ? ~take | give | taken", "free ? ~take | taken"),
        ("DEPTH - 1 : give", "DEPTH - 1 : 1'b1"),
        ("taken != DEPTH - 1", "taken != DEPTH"),
        ("if (take != give) taken", "if (take) taken"),
        ("take ? taken + 1'b1 : taken - 1'b1", "taken + 1'b1"),
        ("reg [BITS:0] taken", "reg [BITS-1:0] taken"),
    ],
)
def test_a_planted_bug_in_credits_is_found(tmp_path, planted) -> None:
    assert not counts(tmp_path, 4, planted)
