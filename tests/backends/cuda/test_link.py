"""Machine code without a GPU: what is recorded of every kernel keeps our limits; what the linker says and refuses.

`test_kernels` and `test_group` assemble the kernels themselves, where they run them.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

import condyle
from benchmarks import gpu_code
from benchmarks.gpu_code import CHAINS, INSTRUCTION, LANES, LINKS, ROBOTS, linked_kernels
from benchmarks.gpu_time import text_bytes
from condyle.backends.common.facts import BITS
from condyle.backends.cuda.kernel import Code, assemble, link, link_version, usage
from condyle.backends.cuda.launches import NAME
from condyle.backends.cuda.target import ARCHITECTURES, TARGET
from condyle.errors import BuildError
from condyle.functions import DEFAULT
from tests.backends.cuda.machine_code import hold, hold_linked, on_every_architecture, rows
from tests.backends.cuda.simulate import kernel, made, robot
from tests.processor import slow

try:
    link_version()
except BuildError as error:
    pytest.skip(str(error), allow_module_level=True)


def codes(name: str, function: str, bits: int, arch: str) -> list[Code]:
    return [assemble(part, arch) for part in made(robot(name), function, bits).launches]


def test_the_record_is_whole() -> None:
    """Every robot, base, number type, architecture and function; a thread a state and groups."""
    known = {(row["robot"], row["floating"], row["bits"], row["arch"], row["function"], row["lanes"]) for row in rows()}
    cases = set(itertools.product(ROBOTS, (False, True), BITS.values(), ARCHITECTURES))
    for case in cases:
        # derivatives of forward dynamics may be split: the kernels of other functions, and a product
        assert {(*case, function, 1) for function in DEFAULT if function not in ("dfd", "difd")} <= known
        assert {(*case, function, lanes) for function in DEFAULT for lanes in LANES} <= known
    chains = {(row["robot"], row["bits"], row["arch"], row["function"]) for row in rows()}
    chain = [f"{CHAINS.removesuffix('s')} {links}" for links in LINKS]
    assert set(itertools.product(chain, BITS.values(), ARCHITECTURES, ("id", "fd"))) <= chains


def test_the_record_keeps_the_limits() -> None:
    for row in rows():
        if row["robot"] in ROBOTS:
            hold(row, row["function"], row["arch"], row["bits"], row["floating"], row["lanes"])
        else:
            hold_linked(row, row["arch"], row["bits"], row["lanes"])


PRODUCT = {32: 740, 64: 840}
"""Instructions of the product of a floating Atlas on any architecture, by bits; a warp goes nine times through most."""


def test_short_product() -> None:
    for row in rows():
        assert row["kernel"] != NAME or row["instructions"] <= PRODUCT[row["bits"]], row


MOST = {"id": 760, "fd": 1_060, "minv": 900, "did": 2_250, "dfd": 3_500}
"""Instructions of kernels of iiwa14 in float32 on sm_90, a thread a state: a few per cent more than counted."""


@pytest.mark.parametrize("function", ["id", *(slow(function) for function in ("fd", "minv", "did", "dfd"))])
def test_short_code(function: str) -> None:
    (code,) = codes("iiwa14", function, 32, "sm_90")
    assert text_bytes(code.cubin) // INSTRUCTION <= MOST[function]


def test_the_assembler_spills_no_float64() -> None:
    """On sm_90, of no function of the three robots as they are loaded; test_kernels holds the record to the texts."""
    for row in rows():
        if row["robot"] in ROBOTS and not row["floating"] and row["bits"] == 64 and row["arch"] == "sm_90":
            assert row["spill_store_bytes"] == 0, row


def test_what_has_not_changed_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second recording of the same texts assembles nothing, and leaves other robots' rows alone."""
    path, one = tmp_path / "code.json", kernel(robot("iiwa14"), "id", 32, False, TARGET)
    for name in ROBOTS[:2]:
        about = {"robot": name, "floating": False, "bits": 32, "function": "id", "lanes": 1, "steps": 0}
        monkeypatch.setattr(gpu_code, "launches", lambda case, about=about: [(about, one)])
        gpu_code.record(name, path)
    first = json.loads(path.read_text())["kernels"]
    assert [row["robot"] for row in first] == [name for name in ROBOTS[:2] for _ in ARCHITECTURES]
    monkeypatch.setattr(gpu_code, "assembled", lambda part, arch: pytest.fail("assembled again"))
    gpu_code.record(ROBOTS[1], path)
    assert json.loads(path.read_text())["kernels"] == first


@pytest.mark.slow  # the record's rows keep their limits above; test_links assembles such kernels too
@pytest.mark.parametrize("links", LINKS)
def test_lanes_that_are_links(links: int) -> None:
    for turn, bits in enumerate(BITS.values()):
        for about, part in linked_kernels(condyle.chain(links, rng=1), bits):
            for arch, row in on_every_architecture(part, turn + links + (about["function"] == "fd")):
                hold_linked(row, arch, bits, about["lanes"])


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
