"""Transfers of any number of packets through the boundary, by a driver that shares nothing with the exported bench.

Packets are laid out here by the rule of the README: a header of 32 bits, then the words. Every bit, the order, each
tlast and all counters are compared with the integer model.
"""

from __future__ import annotations

import json
import subprocess
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.fpga import Accelerator
from condyle.fpga.rtl.boundary import Boundary
from condyle.fpga.rtl.evaluate import evaluate
from condyle.fpga.rtl.target import Format
from tests.programs import needs

from .conftest import accelerator
from .test_boundary import written

FLAG, ERROR, MALFORMED = 1 << 8, 1 << 9, 1 << 10
WRONG = -1
MOST_GAP = 40
"""Cycles between two beats of a packet."""
HERE = Path(__file__).parent


@dataclass
class Traffic:
    """beats: (cycles before, tlast, tdata). answers: by code, and WRONG: the beats of each result, in their order."""

    beats: list[tuple[int, bool, int]] = field(default_factory=list[Any])
    answers: dict[int, deque[list[int]]] = field(default_factory=lambda: defaultdict(deque))
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("tasks", "flagged", "unknown", "malformed"), 0)
    )


def values(rng: np.random.Generator, format: Format, n: int, float32: bool) -> tuple[np.ndarray, np.ndarray]:
    """(n,) Bits on the bus, and the words that they are: some outside the box, and singles that are not finite."""
    if not float32:
        words = rng.integers(-format.limit - 1, format.limit + 1, n) >> rng.integers(0, 6, n)
        return words & (1 << format.width) - 1, words
    real = np.ldexp(rng.normal(size=n), format.width - 3 - format.frac - rng.integers(0, 6, n))
    strange = rng.random(n) < 0.01
    real[strange] = rng.choice([np.nan, np.inf, -np.inf, 1e30, -1e-40, -0.0], strange.sum())
    singles = real.astype(np.float32)
    scaled = np.rint(np.ldexp(np.where(np.isnan(singles), -np.inf, singles).astype(np.float64), format.frac))
    words = np.clip(scaled, -format.limit - 1, format.limit).astype(np.int64)
    return np.frombuffer(singles.tobytes(), np.uint32).astype(np.int64), words


def cut(whole: int, beats: int, axi: int) -> list[int]:
    return [whole >> axi * k & (1 << axi) - 1 for k in range(beats)]


def tasks(acc: Accelerator, boundary: Boundary, known: Any, function: str, n: int, rng) -> Iterator[tuple[Any, Any]]:
    """Of n tasks the beats and those of the answer, without the tag."""
    plan, row, size = acc.plan, known["functions"][function], 32 if boundary.float32 else None
    given, sent = {}, [row["code"]] * n
    low = 32
    for word, format, _ in boundary.task(plan, function):
        bits, given[word] = values(rng, format, n, boundary.float32)
        sent = [whole | bit << low for whole, bit in zip(sent, bits.tolist(), strict=True)]
        low += size or format.width
    sent_beats = -(-low // boundary.axi)
    answer = evaluate(plan, function, given)
    back = [row["code"] | FLAG * bool(over) for over in answer.over.tolist()]
    low = 32
    for word, format, _ in boundary.result(plan, function):
        found = np.broadcast_to(answer.words[word], n)
        bits = found & (1 << format.width) - 1
        if boundary.float32:
            singles = np.ldexp(found.astype(np.float64), -format.frac).astype(np.float32)
            bits = np.frombuffer(singles.tobytes(), np.uint32).astype(np.int64)
        back = [whole | bit << low for whole, bit in zip(back, bits.tolist(), strict=True)]
        low += size or format.width
    back_beats = -(-low // boundary.axi)
    assert (sent_beats, back_beats) == (row["task"]["beats"], row["result"]["beats"])
    for task, result in zip(sent, back, strict=True):
        yield cut(task, sent_beats, boundary.axi), cut(result, back_beats, boundary.axi)


def traffic(acc: Accelerator, boundary: Boundary, known: Any, sizes: list[int], seed: int) -> Traffic:
    """Transfers of so many packets, their functions mixed; the last packet of some is malformed or of no function."""
    rng, made = np.random.default_rng(seed), Traffic()
    total = sum(sizes)
    chosen = rng.integers(0, len(acc.plan.functions), total)
    each = [tasks(acc, boundary, known, name, total, rng) for name in acc.plan.functions]
    codes = {row["code"] for row in known["functions"].values()}
    nothing, number = sorted(set(range(256)) - codes), 0
    for size in sizes:
        pauses = rng.random() < 0.5
        for k in range(size):
            task, back = next(each[chosen[number]])
            tag = (number * 7919 & 0xFFFF) << 16 | int(rng.integers(0, 32)) << 11  # bits 15:11 are ignored
            task[0] |= tag
            code, ends, lot = task[0] & 0xFF, k + 1 == size, rng.random()
            if ends and lot < 0.2:
                code = int(rng.choice(nothing))
                junk = [int.from_bytes(rng.bytes(boundary.axi // 8), "little") for _ in range(rng.integers(0, 30))]
                task, back, kind = [task[0] & ~0xFF | code, *junk], [code | FLAG | ERROR], "unknown"
            elif ends and lot < 0.4 and len(task) > 1:
                task, back = task[: rng.integers(1, len(task))], [code | FLAG | ERROR | MALFORMED]
                kind = "malformed"
            else:
                kind = ""
            back[0] |= tag & 0xFFFF0000
            made.answers[WRONG if kind else code].append(back)
            made.counts["tasks"] += 1
            made.counts["flagged"] += bool(back[0] & FLAG)
            if kind:
                made.counts[kind] += 1
            gaps = rng.integers(0, MOST_GAP, len(task)) * (rng.random(len(task)) < 0.3) if pauses else [0] * len(task)
            made.beats += [(int(gap), ends and b + 1 == len(task), task[b]) for b, gap in enumerate(gaps)]
            number += 1
    return made


def driven(folder: Path, boundary: Boundary, sent: Traffic, plusargs: dict[str, int]) -> list[list[str]]:
    """What the driver wrote, by words."""
    rows = [(gap << 1 | last) << boundary.axi | data for gap, last, data in sent.beats]
    (folder / "beats.hex").write_text("\n".join(f"{row:x}" for row in rows))
    core = ".core_clk(core_clk)," if boundary.async_clock else ""
    (folder / "driver.v").write_text((HERE / "driver.v").read_text().replace("CORE", core))
    sources = sorted(path.name for path in folder.glob("*.v") if "bench" not in path.name)
    command = ["iverilog", "-g2005", "-s", "driver", f"-Pdriver.N={len(rows)}", f"-Pdriver.AXI={boundary.axi}"]
    subprocess.run([*command, "-o", "driver.vvp", *sources], cwd=folder, check=True)
    options = [f"+{name}={value}" for name, value in plusargs.items()]
    subprocess.run(["vvp", "-N", "driver.vvp", *options], cwd=folder, check=True, capture_output=True)
    return [line.split() for line in (folder / "beats.out").read_text().splitlines()]


def check(known: Any, sent: Traffic, rows: list[list[str]], share: int, timeout: int) -> int:
    """How many transfers of results there are; anything that is not as the model and the registers say is an error."""
    registers = {int(row[1]): int(row[2]) for row in rows if row[0] == "register"}
    stalls = next([int(number) for number in row[1:]] for row in rows if row[0] == "stalled")
    sizes = {row["code"]: row["result"]["beats"] for row in known["functions"].values()}
    beats = [(int(row[0]), row[1] == "1", int(row[2], 16)) for row in rows if row[0].isdigit()]
    at = shared = transfers = 0
    while at < len(beats):
        head = beats[at][2] & 0xFFFFFFFF
        code, size = (WRONG, 1) if head & ERROR else (head & 0xFF, sizes[head & 0xFF])
        packet = beats[at : at + size]
        assert [data for _, _, data in packet] == sent.answers[code].popleft(), f"result at beat {at}"
        *inside, last = (tlast for _, tlast, _ in packet)
        assert not any(inside), f"tlast inside the result at beat {at}"
        shared += 1
        if last and shared < max(1, share) and at + size > 1:  # so the result waited, from the beat before on
            assert packet[-1][0] - beats[at + size - 2][0] > timeout, f"tlast at beat {at} is early"
        assert shared <= max(1, share) and (last or shared < max(1, share)), f"tlast is missing at beat {at}"
        shared, transfers, at = 0 if last else shared, transfers + last, at + size
    assert shared == 0 and not any(sent.answers.values())
    counts = {known["registers"][name]["address"]: count for name, count in sent.counts.items()}
    counts |= {
        0x18: (sent.counts["flagged"] > 0) | (sent.counts["unknown"] > 0) << 1 | (sent.counts["malformed"] > 0) << 2
    }
    counts |= {0x20: sent.counts["tasks"], 0x30: stalls[0], 0x34: stalls[1], 0x38: max(1, share), 0x3C: timeout}
    assert {address: registers[address] for address in counts} == counts
    return transfers


INTEGERS, SINGLES = Boundary(64), Boundary(128, float32=True, async_clock=True)


@needs("iverilog")
@pytest.mark.parametrize(
    ("boundary", "sizes", "settings"),
    [
        (INTEGERS, [1] * 20 + [2, 3, 40, 1, 7], {"share": 3, "timeout": 60, "stall": 30, "bus": 4, "core": 4}),
        (SINGLES, [40, 1, 1, 9], {"share": 1000, "timeout": 500, "stall": 0, "bus": 5, "core": 3}),
        (SINGLES, [1, 30, 2], {"share": 0, "timeout": 0, "stall": 60, "bus": 3, "core": 8}),
    ],
)
def test_every_word_flag_and_tlast_of_many_transfers(tmp_path, boundary: Boundary, sizes, settings) -> None:
    judged(tmp_path, boundary, sizes, settings)


@pytest.mark.slow
@needs("iverilog")
@pytest.mark.parametrize(
    ("boundary", "settings"),
    [
        (Boundary(512), {"share": 1, "timeout": 0, "stall": 50, "bus": 4, "core": 4}),
        (SINGLES, {"share": 5000, "timeout": 1000, "stall": 0, "bus": 10, "core": 3}),
        (Boundary(32, async_clock=True), {"share": 64, "timeout": 30, "stall": 20, "bus": 3, "core": 10}),
    ],
)
def test_every_word_flag_and_tlast_of_transfers_up_to_ten_thousand_packets(tmp_path, boundary, settings) -> None:
    lengths = 10 ** np.random.default_rng(settings["share"]).uniform(0.0, 3.3, 10)
    judged(tmp_path, boundary, [1, 10_000, *np.rint(lengths).astype(int).tolist()], settings)


def judged(folder: Path, boundary: Boundary, sizes: list[int], settings: dict[str, int]) -> None:
    robot = condyle.chain(2, 0)
    acc = accelerator(robot, "id", "m", "minv", "fd", ii=2)
    written(folder, robot, acc, boundary, 1)
    known = json.loads((folder / "rig_stream.json").read_text())
    sent = traffic(acc, boundary, known, sizes, sum(sizes))
    transfers = check(known, sent, driven(folder, boundary, sent, settings), settings["share"], settings["timeout"])
    assert transfers >= -(-sum(sizes) // max(1, settings["share"]))
