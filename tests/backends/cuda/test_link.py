"""Machine code without a GPU: it is made for every architecture, within the registers and spills that we promise."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.gpu_code import INSTRUCTION
from benchmarks.gpu_time import text_bytes
from condyle.backends.cuda.assemble import Code, assemble
from condyle.backends.cuda.link import link, link_version, usage
from condyle.backends.cuda.parts import grouped
from condyle.backends.cuda.target import ARCHITECTURES
from condyle.errors import BuildError
from condyle.signature import FUNCTIONS
from tests.backends.cuda.simulate import code as program
from tests.backends.cuda.simulate import made, robot

RESULTS = Path(__file__).parents[3] / "benchmarks" / "results" / "gpu_code.json"
NO_SPILLS = ("id", "fd", "m", "minv")
MOST_CODE = 2_500  # instructions of a group's kernel: 40 kB, whatever the function
FEW = 400
LIMITS = {
    arch: {function: 0 if function in NO_SPILLS else FEW for function in FUNCTIONS} for arch in ("sm_90", "sm_120")
} | {"sm_80": {"id": 0, "fd": 0, "m": 0, "minv": 200, "did": 2700, "dfd": FEW, "difd": FEW}}
"""Bytes a thread that the assembler may spill, of every robot, fixed base, float32. That of sm_80 needs more registers
for the same text (see the README of the target); it is Atlas that needs them."""

try:
    link_version()
except BuildError as error:
    pytest.skip(str(error), allow_module_level=True)


def codes(name: str, function: str, bits: int, arch: str, floating: bool = False) -> list[Code]:
    return [assemble(part, arch) for part in made(robot(name, floating), function, bits).launches]


def hold(code: Code, function: str, arch: str, floating: bool = False, bits: int = 32) -> None:
    assert code.cubin[:4] == b"\x7fELF"
    assert 0 < code.usage.registers <= 255
    if not floating and bits == 32:
        assert code.usage.spill_stores <= LIMITS[arch][function]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_arm(function: str) -> None:
    for arch in ARCHITECTURES:
        for code in codes("iiwa14", function, 32, arch):
            hold(code, function, arch)
    for code in codes("iiwa14", function, 64, "sm_90"):
        hold(code, function, "sm_90", bits=64)


@pytest.mark.parametrize("bits", [32, 64])
def test_groups(bits: int) -> None:
    """Nothing is spilled, and the code is short, on every architecture."""
    for arch in ARCHITECTURES:
        code = assemble(grouped(program(robot("hyq", True), "fd", False), 16, bits), arch)
        assert code.usage.moved == 0
        assert code.usage.registers <= 168
        assert text_bytes(code.cubin) <= INSTRUCTION * MOST_CODE


@pytest.mark.parametrize("function", ["id", "dfd"])
def test_quadruped(function: str) -> None:
    for arch in ARCHITECTURES:
        for code in codes("hyq", function, 32, arch):
            hold(code, function, arch)
    for code in codes("hyq", function, 32, "sm_90", floating=True):
        hold(code, function, "sm_90", floating=True)


@pytest.mark.parametrize("arch", ["sm_80", "sm_120"])
def test_humanoid(arch: str) -> None:
    """sm_90 is looked at by `test_cost`."""
    for code in codes("atlas", "fd", 32, arch):
        hold(code, "fd", arch)


def test_recorded_numbers_keep_the_limits() -> None:
    """All kernels of the three robots for all architectures, as benchmarks/gpu_code.py recorded them."""
    rows = json.loads(RESULTS.read_text())["kernels"]
    fixed = [row for row in rows if row["bits"] == 32 and not row["floating"]]
    known = {(row["arch"], row["robot"], row["function"]) for row in fixed}
    robots = ("iiwa14", "hyq", "atlas")
    assert {(a, r, f) for a in ARCHITECTURES for r in robots for f in (*NO_SPILLS, "did", "dfd")} <= known
    newest = {(row["robot"], row["function"]) for row in fixed if row["arch"] == "sm_90"}
    groups = {(row["robot"], row["function"]) for row in fixed if row["arch"] == "sm_90" and row["lanes"] == 32}
    assert groups >= newest - {(row["robot"], row["function"]) for row in fixed if row["kernel"] == "condyle_product"}
    for row in rows:
        if row["lanes"] > 1:
            assert row["spill_store_bytes"] == row["parked_bytes"] == 0, row
            assert row["registers"] <= 168, row  # a block of 128 threads and two more beside it
            assert row["instructions"] <= MOST_CODE, row
    for row in fixed:
        assert row["spill_store_bytes"] <= LIMITS[row["arch"]][row["function"]], row


def test_the_same_text_gives_the_same_code() -> None:
    (first,), (second,) = codes("iiwa14", "id", 32, "sm_90"), codes("iiwa14", "id", 32, "sm_90")
    assert first.cubin == second.cubin
    assert link(first.text.ptx, "sm_90")[0] == first.cubin


def test_errors_say_what_is_wrong() -> None:
    with pytest.raises(BuildError, match="no code for sm_90"):
        link(".version 7.0\n.target sm_80\nnonsense", "sm_90")
    with pytest.raises(BuildError, match="no code for sm_1;"):
        link(codes("iiwa14", "id", 32, "sm_90")[0].text.ptx, "sm_1")
    with pytest.raises(BuildError, match="says nothing"):
        usage("")
