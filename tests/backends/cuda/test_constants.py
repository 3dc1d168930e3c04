"""Literals of 64 bits are moved to constant memory, each once; those that an instruction holds stay."""

from __future__ import annotations

from condyle.backends.cuda.constants import MOST, in_memory
from condyle.backends.cuda.trig import literal

HEAD = ".version 7.0\n\n.visible .entry k(\n)\n"


def module(*values: float) -> str:
    lines = [f"    add.rn.f64 %x, %x, {literal(value, 64)};\n" for value in values]
    return HEAD + "{\n" + "".join(lines) + "}\n"


def test_each_number_once() -> None:
    text = in_memory(module(0.1, 0.5, 0.1, 0.2))
    assert ".const .align 8 .b64 numbers[2] = {0x3FB999999999999A, 0x3FC999999999999A};\n\n.visible .entry" in text
    for k, offset in enumerate((0, 0, 8)):
        assert f"ld.const.f64 %number{k}, [numbers+{offset}];\n    add.rn.f64 %x, %x, %number{k};" in text
    assert text.count(literal(0.5, 64)) == 1


def test_without_any_nothing_changes() -> None:
    assert in_memory(module(0.5)) == module(0.5)


def test_more_than_the_memory_holds_stay() -> None:
    text = in_memory(module(*(1.1 + k for k in range(MOST + 5)), 1.1))
    assert text.count("ld.const") == MOST + 1
    assert text.count("0d") == 5
