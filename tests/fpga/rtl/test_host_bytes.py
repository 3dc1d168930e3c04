"""The host's packets, byte by byte, of a stream that is written by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from condyle.fpga.rtl.support.host import Host, integers

FLAG, ERROR, MALFORMED = 1 << 8, 1 << 9, 1 << 10


def word(name: str, low: int, width: int, frac: int, *entries: int) -> dict[str, Any]:
    return {"word": name, "low": low, "width": width, "frac": frac, "entries": list(entries)}


FUNCTIONS = {
    "id": {
        "code": 3,
        "inputs": {"q": 1, "v": 1},
        "outputs": {"tau": 1},
        "task": {"bytes": 8, "words": [word("q_0", 32, 10, 4, 0), word("v_0", 42, 8, 2, 1)]},
        "result": {"bytes": 8, "words": [word("tau_0", 32, 12, 5, 0)]},
    },
    "m": {
        "code": 4,
        "inputs": {"q": 1},
        "outputs": {"M": 4, "more": 1},
        "task": {"bytes": 8, "words": [word("q_0", 32, 10, 4, 0)]},
        "result": {
            "bytes": 16,
            "words": [word("M_0", 32, 9, 1, 0), word("M_1", 41, 9, 1, 1, 2), word("M_3", 66, 20, 3, 3)],
        },
    },
}
HEADER = {"function": (7, 0), "flag": (8, 8), "error": (9, 9), "malformed": (10, 10), "tag": (31, 16)}
STREAM = {
    "name": "rig",
    "axi": 64,
    "float32": False,
    "header": {name: {"high": high, "low": low} for name, (high, low) in HEADER.items()},
    "registers": {
        "magic": {"address": 0, "value": 7},
        "control": {"address": 20},
        "shape": {"address": 12, "value": 9},
    },
    "functions": FUNCTIONS,
    "angles": {"q_0": 3.2},
}


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return host_of(tmp_path)


def host_of(folder: Path, **changed: object) -> Host:
    (folder / "rig_stream.json").write_text(json.dumps({**STREAM, **changed}))
    return Host(folder / "rig_stream.json")


def numbers(packets: np.ndarray) -> list[int]:
    return [int.from_bytes(row.tobytes(), "little") for row in packets]


def test_words_stand_at_their_bits_behind_code_and_tag(host: Host) -> None:
    packets = host.pack("id", [5, 65535], q=[[1.25], [-0.25]], v=[-0.5, 1e9])
    assert packets.shape == (2, 8) and packets.dtype == np.uint8
    assert numbers(packets) == [
        3 | 5 << 16 | 20 << 32 | (256 - 2) << 42,
        3 | 65535 << 16 | (1024 - 4) << 32 | 127 << 42,
    ]
    assert numbers(host.pack("m", 2, q=0.5)) == [4 | 2 << 16 | 8 << 32]


def test_angles_beyond_the_box_lose_whole_turns(host: Host) -> None:
    """7 - 2 pi is 11.47 sixteenths; 3.2, the bound, is 51.2 of them and stays; v is no angle."""
    assert numbers(host.pack("m", range(4), q=[7.0, -7.0, 3.2, 13.0])) == [
        4 | tag << 16 | (x % 1024) << 32 for tag, x in enumerate((11, -11, 51, 7))
    ]
    assert numbers(host.pack("id", 0, q=0.0, v=7.0)) == [3 | 28 << 42]


def test_reals_are_rounded_to_even_and_clamped() -> None:
    reals = np.array([0.25, 0.75, 1.25, -0.25, 3.4, 3.5, 1e300, -4.0, -4.3, -np.inf, np.nan])
    assert integers(reals, 4, 1).tolist() == [0, 2, 2, 0, 7, 7, 7, -8, -8, -8, -8]
    assert integers(np.array([24.0, -40.0]), 4, -3).tolist() == [3, -5]


def test_inputs_that_a_task_does_not_take_are_named(host: Host) -> None:
    with pytest.raises(ValueError, match=r"^id takes the inputs q, v; wrong or missing: v, w$"):
        host.pack("id", 0, q=0.0, w=0.0)
    with pytest.raises(ValueError, match=r"^v has 2 entries for each task, but needs 1$"):
        host.pack("id", 0, q=0.0, v=[0.0, 1.0])


ROWS = [
    (3 | FLAG | 9 << 16 | (4096 - 33) << 32, 8),
    (4 | 8 << 16 | 7 << 32 | 256 << 41 | (2**19 - 1) << 66, 16),
    (77 | FLAG | ERROR | MALFORMED | 2 << 16, 8),
    (3 | 10 << 16 | 31 << 32, 8),
    (99 | 1 << 16, 8),
]
RECEIVED = b"".join(number.to_bytes(size, "little") for number, size in ROWS)


def test_results_are_sorted_by_their_function(host: Host) -> None:
    found = host.answers(RECEIVED)
    assert list(found) == ["id", "m", None]
    heads = {name: {key: x.tolist() for key, x in answer.head.items()} for name, answer in found.items()}
    assert heads == {
        "id": {"function": [3, 3], "flag": [1, 0], "error": [0, 0], "malformed": [0, 0], "tag": [9, 10]},
        "m": {"function": [4], "flag": [0], "error": [0], "malformed": [0], "tag": [8]},
        None: {"function": [77, 99], "flag": [1, 0], "error": [1, 0], "malformed": [1, 0], "tag": [2, 1]},
    }
    assert found["id"].outputs["tau"].tolist() == [[-33 / 32], [31 / 32]]
    assert {name: x.tolist() for name, x in found["m"].outputs.items()} == {
        "M": [[3.5, -128.0, -128.0, 65535.875]],
        "more": [[0.0]],
    }
    assert found[None].outputs == {}


def test_each_result_is_read_alone_in_its_order(host: Host) -> None:
    rows = list(host.results(np.frombuffer(RECEIVED, np.uint8)))
    assert [(head["function"], head["code"], head["tag"]) for head, _ in rows] == [
        ("id", 3, 9),
        ("m", 4, 8),
        (None, 77, 2),
        ("id", 3, 10),
        (None, 99, 1),
    ]
    assert [sorted(outputs) for _, outputs in rows] == [["tau"], ["M", "more"], [], ["tau"], []]
    head, outputs = host.unpack((3 | ERROR).to_bytes(8, "little"))
    assert (head["function"], head["error"], outputs) == ("id", 1, {})


def test_a_packet_that_is_cut_off_is_no_packet(host: Host) -> None:
    assert list(host.results(b"")) == [] and host.answers(b"") == {}
    with pytest.raises(ValueError, match=r"^the last packet has 5 of its 8 bytes: give whole packets"):
        host.answers(RECEIVED[:29])
    with pytest.raises(ValueError, match=r"^the last packet has 15 of its 16 bytes"):
        list(host.results(RECEIVED[8:23]))


def test_words_of_a_bus_of_singles_are_their_bits(tmp_path: Path) -> None:
    singles = {
        "id": {
            **FUNCTIONS["id"],
            "task": {"bytes": 16, "words": [word("q_0", 32, 10, 4, 0), word("v_0", 64, 8, 2, 1)]},
        }
    }
    host = host_of(tmp_path, float32=True, functions=singles)
    assert numbers(host.pack("id", 1, q=-1.5, v=1e300)) == [3 | 1 << 16 | 0xBFC00000 << 32 | 0x7F800000 << 64]
    _, outputs = host.unpack((3 | 0x3F000000 << 32).to_bytes(8, "little"))
    assert outputs["tau"].tolist() == [0.5]


def test_registers_without_a_value_are_not_read(host: Host) -> None:
    asked: list[int] = []
    values = {0: 7, 12: 9}

    def read(address: int) -> int:
        asked.append(address)
        return values[address]

    host.check(read)
    assert asked == [0, 12]
    values[12] = 0xAB
    with pytest.raises(
        ValueError, match=r"^register shape \(0x0c\) reads 0x000000ab, but rig has 0x00000009: load the"
    ):
        host.check(read)
