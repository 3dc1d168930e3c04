"""Machine code without a GPU: it is made for every architecture, within the registers and spills that we promise."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from condyle.backends.cuda.assemble import Code, assemble
from condyle.backends.cuda.link import link, link_version, usage
from condyle.backends.cuda.target import ARCHITECTURES
from condyle.errors import BuildError
from condyle.signature import FUNCTIONS
from tests.backends.cuda.simulate import made, robot

RESULTS = Path(__file__).parents[3] / "benchmarks" / "results" / "gpu_code.json"
NO_SPILLS = ("id", "fd", "m", "minv")
FEW = 400  # bytes a thread

try:
    link_version()
except BuildError as error:
    pytest.skip(str(error), allow_module_level=True)


def codes(name: str, function: str, bits: int, arch: str, floating: bool = False) -> list[Code]:
    return [assemble(part, arch) for part in made(robot(name, floating), function, bits).launches]


def hold(code: Code, function: str, floating: bool = False, bits: int = 32) -> None:
    assert code.cubin[:4] == b"\x7fELF"
    assert 0 < code.usage.registers <= 255
    if not floating and bits == 32:
        assert code.usage.spill_stores <= (0 if function in NO_SPILLS else FEW)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_arm(function: str) -> None:
    for arch in ARCHITECTURES:
        for code in codes("iiwa14", function, 32, arch):
            hold(code, function)
    for code in codes("iiwa14", function, 64, "sm_90"):
        hold(code, function, bits=64)


@pytest.mark.parametrize("function", ["id", "dfd"])
def test_quadruped(function: str) -> None:
    for code in codes("hyq", function, 32, "sm_90"):
        hold(code, function)
    for code in codes("hyq", function, 32, "sm_90", floating=True):
        hold(code, function, floating=True)


@pytest.mark.parametrize("function", ["id", "fd"])
def test_humanoid(function: str) -> None:
    for code in codes("atlas", function, 32, "sm_90"):
        hold(code, function)


def test_recorded_numbers_keep_the_limits() -> None:
    """All kernels of the three robots, as benchmarks/gpu_code.py recorded them."""
    rows = json.loads(RESULTS.read_text())["kernels"]
    fixed = [row for row in rows if row["arch"] == "sm_90" and row["bits"] == 32 and not row["floating"]]
    known = {(row["robot"], row["function"]) for row in fixed}
    assert {(name, function) for name in ("iiwa14", "hyq", "atlas") for function in (*NO_SPILLS, "did", "dfd")} <= known
    for row in fixed:
        assert row["spill_store_bytes"] <= (0 if row["function"] in NO_SPILLS else FEW), row


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
