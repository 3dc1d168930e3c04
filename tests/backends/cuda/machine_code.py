"""Machine code of the kernels under test, and the limits that we set to it.

A kernel is assembled here for one architecture, by a fixed rule under which each architecture sees every robot, base
and number type. For the others the record speaks where it holds this very text, which a hash of the PTX proves; a text
that is not in the record is assembled for all of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import pytest

from benchmarks.gpu_code import INSTRUCTION, PATH, text_hash
from benchmarks.gpu_time import text_bytes
from condyle.backends.cuda.kernel import assemble, link_version
from condyle.backends.cuda.launches import Part
from condyle.backends.cuda.target import ARCHITECTURES, TARGET
from condyle.errors import BuildError
from condyle.functions import DEFAULT

MOST_CODE = 2_500  # instructions of a group's kernel: 40 kB, whatever the function
LOCAL = {
    # bits, floating: id, fd, m, minv, did, dfd, difd
    "sm_90": {
        (32, False): (0, 0, 0, 0, 300, 0, 0),
        (32, True): (0, 700, 0, 1400, 600, 0, 800),
        (64, False): (0, 900, 0, 600, 1800, 1200, 400),
        (64, True): (800, 3200, 0, 3800, 2500, 0, 2000),
    },
    "sm_80": {
        (32, False): (0, 0, 0, 0, 300, 300, 0),
        (32, True): (0, 1200, 0, 3000, 700, 0, 1000),
        (64, False): (600, 800, 100, 600, 1700, 1600, 800),
        (64, True): (1300, 3000, 300, 8000, 2500, 200, 6200),
    },
}
LOCAL["sm_120"] = LOCAL["sm_90"]
"""Bytes a thread in local memory at most, spilled by us and by the assembler together, of every robot. That of
sm_80 needs more registers for the same text (see the README of the target)."""
LONG_DFD = {32: (32_000, 2_900), 64: (38_000, 7_300)}
"""Of dfd in one kernel of more than 9 000 instructions, by bits: instructions, and bytes a thread in local memory, at
most."""
REGISTERS = 65_536  # of a multiprocessor
LINKED = {(32, False): (0, 5200), (32, True): (800, 5700), (64, False): (1600, 19_500), (64, True): (3600, 17_700)}
"""The same of kernels whose lanes are links, by bits and whether it is sm_80: in blocks of up to 256 threads, and in
larger ones, which leave fewer registers for each."""

Row = Mapping[str, Any]


@cache
def rows() -> list[Row]:
    """What benchmarks/gpu_code.py found."""
    return json.loads(PATH.read_text())["kernels"]


@cache
def recorded() -> dict[tuple[str, str], Row]:
    """The same by architecture and text."""
    return {(row["arch"], row["text"]): row for row in rows()}


def hold_code(part: Part, function: str, bits: int, floating: bool, lanes: int = 1) -> None:
    """Its code keeps the limits on every architecture; skips, with the reason, where there is no assembler."""
    try:
        link_version()
    except BuildError as error:
        pytest.skip(f"it computes what it should, but {error}")
    for arch, row in on_every_architecture(part, list(DEFAULT).index(function) + bits // 32 + floating):
        hold(row, function, arch, bits, floating, lanes)


def on_every_architecture(part: Part, turn: int) -> Iterator[tuple[str, Row]]:
    """What the code takes: made here for that whose turn it is, and where the record does not know the text."""
    version, text = ".".join(map(str, link_version())), text_hash(part)
    for arch in ARCHITECTURES:
        row = recorded().get((arch, text))
        if row is None or arch == ARCHITECTURES[turn % len(ARCHITECTURES)]:
            found = measured(part, arch)
            if row is not None and row["nvjitlink"] == version:
                assert found.items() <= row.items()
            row = found
        yield arch, row


def measured(part: Part, arch: str) -> Row:
    code = assemble(part, arch)
    assert code.cubin[:4] == b"\x7fELF"
    return {
        "instructions": text_bytes(code.cubin) // INSTRUCTION,
        "registers": code.usage.registers,
        "spilled_bytes": code.text.spilled,
        "spill_store_bytes": code.usage.spill_stores,
        "shared_bytes": code.text.pool,
    }


def hold(row: Row, function: str, arch: str, bits: int, floating: bool, lanes: int) -> None:
    local = row["spilled_bytes"] + row["spill_store_bytes"]
    assert row["shared_bytes"] <= TARGET.shared, row
    if lanes > 1:
        assert local == 0, row
        assert 0 < row["registers"] <= 168, row  # a block of 128 threads and two more beside it
        assert row["instructions"] <= MOST_CODE, row
        return
    assert 0 < row["registers"] <= 255, row
    most = LOCAL[arch][bits, floating][list(DEFAULT).index(function)]
    if function == "dfd" and row["instructions"] > 9_000:
        most_code, most = LONG_DFD[bits]
        assert row["instructions"] <= most_code, row
    assert local <= most, row


def hold_linked(row: Row, arch: str, bits: int, lanes: int) -> None:
    """A kernel whose lanes are links: its block fits into a multiprocessor."""
    assert 0 < row["registers"] * lanes <= REGISTERS, row
    assert row["shared_bytes"] <= TARGET.shared, row
    assert row["spilled_bytes"] + row["spill_store_bytes"] <= LINKED[bits, arch == "sm_80"][lanes > 256], row
