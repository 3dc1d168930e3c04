"""The text: deterministic, positional, honest about what it is."""

from __future__ import annotations

import dataclasses
import math
import re

import pytest

from condyle.backends.c.source import argument_names, source
from condyle.backends.common.facts import Facts, in_ascii
from condyle.backends.common.forms import literal
from condyle.errors import UnsupportedError
from condyle.functions import FUNCTIONS
from condyle.ir.expr import Graph
from condyle.ir.program import Array, Output, Program
from tests.backends.c.small import tangle, toy
from tests.backends.texts import Golden, without_support

pytestmark = pytest.mark.smoke

FACTS = Facts(nq=5, nv=5, fingerprint="0123abcd", version="1.2.3", name="arm", functions=FUNCTIONS)


@pytest.mark.parametrize("bits", [64, 32])
def test_golden(golden: Golden, bits: int) -> None:
    golden(f"c_toy_{bits}.txt", without_support(source(toy(), FACTS, bits).main))


def test_specifications_are_written_in_ascii() -> None:
    """Compilers read the comments too; nothing of a known text is lost."""
    for function in FUNCTIONS.values():
        for text in (
            function.equation,
            *(f"{port.doc} [{port.unit}]" for port in (*function.inputs, *function.outputs)),
        ):
            assert "?" not in in_ascii(text), text
    facts = dataclasses.replace(FACTS, functions={"id": FUNCTIONS["integrate"]})
    assert "/* id: q (+) dv:" in source(toy(), facts, 64).main


def test_same_program_same_text() -> None:
    assert source(tangle(5), FACTS, 64) == source(tangle(5), FACTS, 64)


def test_header_says_what_it_is() -> None:
    text = source(toy(), FACTS, 64).main
    head = text[: text.index("*/")]
    for part in ("0123abcd", "1.2.3", "nq = 5", "ABI 2", "5 sin", "q[n][5]", "M[n][4][4]", "[rad | m]"):
        assert part in head


@pytest.mark.parametrize("name", ["", "A", "1a", "a-b", "a b", "a" * 128, "x;", "é", "a\n"])
def test_names_that_cannot_be_symbols_are_refused(name: str) -> None:
    with pytest.raises(UnsupportedError):
        Facts(1, 1, name=name)
    nodes = (("input", 0, 0),)
    with pytest.raises(UnsupportedError):
        source(Program(name, (Array("q", (1,)),), (Array("y", (1,)),), nodes, (Output(0, 0, 0),)), FACTS, 64)


@pytest.mark.parametrize("text", ['"', "*/", "a\nb", "\\", "é"])
def test_facts_cannot_leave_their_string(text: str) -> None:
    with pytest.raises(UnsupportedError):
        Facts(1, 1, fingerprint=text)
    with pytest.raises(UnsupportedError):
        Facts(1, 1, version=text)


def test_array_names_never_become_code_unchecked() -> None:
    names = argument_names(
        [Array(name, (1,)) for name in ("q", "int", "x; }", "n", "w", "dup", "dup", "__x", "f_ext")], "in"
    )
    assert names == ["q", "in1", "in2", "in3", "in4", "in5", "in6", "in7", "f_ext"]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_constants_must_be_finite(value: float) -> None:
    with pytest.raises(UnsupportedError, match=f"^the constant {value} cannot stand in generated code$"):
        literal(value, 64)


def test_constants_must_be_finite_in_their_precision() -> None:
    assert literal(1e300, 64) == (1e300).hex()
    with pytest.raises(UnsupportedError, match=r"^the constant inf cannot stand in generated code$"):
        literal(1e39, 32)


def test_float32_constants_are_rounded_once() -> None:
    assert literal(0.1, 32) == "0x1.99999a0000000p-4f"


def test_no_decimal_constants_and_no_foreign_words() -> None:
    body = source(tangle(7), FACTS, 64).main.split("CD_STATIC void did_0")[-1]
    for line in re.findall(r"const real_v t\d+ = (.*);", body):
        assert re.fullmatch(
            r"[-+*/() ]*((t\d+|w\[\d+\]|\(?-?0x[0-9a-f.]+p[-+]\d+\)?|1\.0|cd_sqrt|cd_splat)[-+*/() ]*)+", line
        )


@pytest.mark.parametrize("size", [65_530, 65_540, 131_080])
def test_numbers_of_slots_are_as_wide_as_the_last_slot_needs(size: int) -> None:
    """The sum of the first and the last of many inputs."""
    graph = Graph()
    total = graph.input(0, 0) + graph.input(0, size - 1)
    program = graph.program("id", (Array("q", (size,)),), (Array("tau", (1,)),), [(0, 0, total)])
    text = source(program, FACTS, 64).main
    (word,) = re.findall(r"typedef unsigned (\w+) cd_slot;", text)
    assert f"w[{size - 1}]" in text
    assert size <= 1 << {"short": 16, "int": 32}[word]
