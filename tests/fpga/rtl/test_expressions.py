"""Expressions of Verilog, letter by letter."""

from __future__ import annotations

import pytest

from condyle.fpga.rtl import expressions
from condyle.fpga.rtl.expressions import Count, Phases
from condyle.text import Emitter


def lines(e: Emitter) -> list[str]:
    return [line.strip() for line in e.text().splitlines() if line.strip()]


def test_a_module_separates_its_ports_by_commas() -> None:
    e = Emitter()
    with expressions.module(e, "m #(parameter N = 1)", ["input a", "input b", "output c"]):
        e("assign c = a & b;")
    assert e.text().splitlines()[:5] == [
        "module m #(parameter N = 1) (",
        "    input a,",
        "    input b,",
        "    output c",
        ");",
    ]
    assert lines(e)[-2:] == ["assign c = a & b;", "endmodule"]


def test_cases_end_with_the_other_value() -> None:
    e = Emitter()
    expressions.cases(e, "y", "x", [(0, "a"), ("2'd1", "b")], "c")
    assert lines(e) == ["always @* case (x)", "0: y = a;", "2'd1: y = b;", "default: y = c;", "endcase"]


def test_bits_side_by_side() -> None:
    assert expressions.joined("a", "", "b") == "{a, b}" and expressions.joined("", "a", "") == "a"
    assert expressions.packed(["low", "high"]) == "{high, low}"
    assert [expressions.zeros(k) for k in (0, 1, 7)] == ["", "1'b0", "7'b0"]
    assert expressions.is_one_of("code", (1, 3)) == "(code == 1 | code == 3)"
    assert expressions.is_one_of("code", ()) == "(1'b0)"
    assert expressions.copy(3, "one", "then", "now") == "fx_copy #(3) one (.clock(clock), .next(then), .now(now));"


def test_any_of_no_bit_of_one_and_of_many() -> None:
    """A part of a word has more than one bit."""
    wanted = {(): "1'b0", ("a",): "a", ("a", "b"): "|{a, b}", ("a[3:1]",): "|{a[3:1]}", ("a", "b[1:0]"): "|{a, b[1:0]}"}
    assert {bits: expressions.any_of(list(bits)) for bits in wanted} == wanted


@pytest.mark.parametrize(("ii", "bits"), [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (8, 3), (9, 4)])
def test_a_phase_has_the_bits_of_its_largest_number_or_one_for_each_cycle(ii: int, bits: int) -> None:
    assert Count(ii, False).bits == bits and Count(ii, True).bits == ii


def test_the_phase_of_the_next_cycle() -> None:
    """A number counts to the end of the interval; one bit goes around; both start again where nothing is done."""
    number, bit = Count(5, False), Count(4, True)
    assert number.equals(3) == "phase == 3" and bit.equals(3) == "phase[3]"
    assert number.after("none") == "reset | phase == 4 | (none) ? 3'd0 : phase + 1'b1"
    assert bit.after("none") == "reset | (none) ? {{3{1'b0}}, 1'b1} : {phase[2:0], phase[3]}"


def test_words_are_chosen_by_the_bits_of_their_phases() -> None:
    e = Emitter()
    phases = Phases(e, Count(3, True))
    said = phases.chosen(2, [(2, "a"), (1, "b"), (0, "a")])
    assert said.split() == ["{2{|{phase0[0],", "phase0[2]}}}", "&", "a", "|", "{2{phase0[1]}}", "&", "b"]
    assert lines(e) == [
        "wire [2:0] phase0;",
        "fx_copy #(3) counter0 (.clock(clock), .next(next_phase), .now(phase0));",
    ]


def test_a_copy_of_single_bits_chooses_a_quarter() -> None:
    phases = Phases(Emitter(), Count(3, True))
    assert [phases.lane(bits) for bits in (100, 28, 1, 127)] == [0, 0, 1, 1]
    numbers = Phases(Emitter(), Count(3, False))
    assert [numbers.lane(bits) for bits in (500, 12, 1, 511)] == [0, 0, 1, 1]


def test_what_is_loaded_stands_in_its_phase() -> None:
    written: list[list[str]] = []
    for count in (Count(1, False), Count(2, False), Count(2, True)):
        e = Emitter()
        phases = Phases(e, count)
        phases.lane(1)
        last = 0 if count.ii == 1 else 1
        phases.load(0, last, "b <= 1;", "c <= 1;")
        phases.load(0, 0, "a <= 1;")
        e("//")
        phases.write()
        written.append(lines(e)[lines(e).index("//") + 1 :])
    assert written == [
        ["b <= 1;", "c <= 1;", "a <= 1;"],
        ["case (phase0)", "0: begin", "a <= 1;", "end", "1: begin", "b <= 1;", "c <= 1;", "end", "endcase"],
        ["if (phase0[0]) begin", "a <= 1;", "end", "if (phase0[1]) begin", "b <= 1;", "c <= 1;", "end"],
    ]


def test_lanes_without_a_statement_are_not_written() -> None:
    e = Emitter()
    phases = Phases(e, Count(2, False))
    phases.lane(1)
    phases.write()
    assert not any("case" in line for line in lines(e))
