"""Packs tasks for the accelerator and unpacks its results. It needs NumPy and NAME_stream.json.

host = Host("NAME_stream.json")
host.check(lambda address: ...)                     # give your function that reads a register
packets = host.pack("id", tags, q=q, v=v, a=a)      # (n, bytes): one packet a row, to be sent by a DMA
head, found = host.unpack(row)                      # {"function", "tag", "flag", ...}, {"tau": ...}
for head, found in host.results(stream): ...        # stream: the received bytes, one packet after the other
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Bytes = NDArray[np.uint8]
Head = dict[str, Any]


class Host:
    """The packets of one exported accelerator."""

    def __init__(self, path: str | Path) -> None:
        self.known: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
        self.functions: dict[str, Any] = self.known["functions"]
        self.named: dict[int, str] = {row["code"]: name for name, row in self.functions.items()}

    def check(self, read: Callable[[int], int]) -> None:
        """ValueError if a constant register has the value of another accelerator. Call it before the first packet."""
        for name, row in self.known["registers"].items():
            found = read(row["address"]) if "value" in row else None
            if found != row.get("value"):
                at, want = row["address"], row["value"]
                said = f"register {name} (0x{at:02x}) reads 0x{found:08x}, but {self.known['name']} has 0x{want:08x}"
                raise ValueError(
                    f"{said}: load the bitstream made from this folder, or use the folder of that bitstream"
                )

    def pack(self, function: str, tags: ArrayLike, **inputs: ArrayLike) -> Bytes:
        """uint8 (n, bytes). tags (n,), each input (n, size), matrices row by row. Numbers are rounded to the nearest
        word, halves to even. A number that does not fit its word is clamped and its result flagged; so is NaN."""
        row = self.functions[function]
        tag = np.atleast_1d(np.asarray(tags, np.int64))
        wrong = set(inputs) ^ set(row["inputs"])
        if wrong:
            said = ", ".join(sorted(wrong))
            raise ValueError(f"{function} takes the inputs {', '.join(row['inputs'])}; wrong or missing: {said}")
        parts: list[NDArray[np.float64]] = []
        for name, size in row["inputs"].items():
            part = np.reshape(np.asarray(inputs[name], np.float64), (len(tag), -1))
            if part.shape[1] != size:
                raise ValueError(f"{name} has {part.shape[1]} entries for each task, but needs {size}")
            parts.append(part)
        given = np.concatenate(parts, axis=1)
        bits = np.zeros((len(tag), 8 * row["task"]["bytes"]), np.uint8)
        _put(bits, 0, 32, row["code"] | tag << self.known["header"]["tag"]["low"])
        for word in row["task"]["words"]:
            values = given[:, word["entries"][0]]
            if self.known["float32"]:
                with np.errstate(over="ignore"):
                    _put(
                        bits,
                        word["low"],
                        32,
                        np.frombuffer(values.astype(np.float32).tobytes(), np.uint32).astype(np.int64),
                    )
            else:
                _put(bits, word["low"], word["width"], integers(values, word["width"], word["frac"]))
        return np.packbits(bits, axis=1, bitorder="little")

    def head(self, packet: bytes | Bytes) -> Head:
        """The fields of the header. `function` is None if the code is unknown."""
        word = int.from_bytes(bytes(bytearray(packet[:4])), "little")
        found = {
            name: (word >> at["low"]) & ((1 << (at["high"] - at["low"] + 1)) - 1)
            for name, at in self.known["header"].items()
        }
        return {**found, "code": found["function"], "function": self.named.get(found["function"])}

    def size(self, packet: bytes | Bytes) -> int:
        """Bytes of the result that begins here. An error has one beat."""
        head = self.head(packet)
        if head["error"] or head["function"] is None:
            return self.known["axi"] // 8
        return self.functions[head["function"]]["result"]["bytes"]

    def unpack(self, packet: bytes | Bytes) -> tuple[Head, dict[str, NDArray[np.float64]]]:
        """Header and outputs of one result, uint8 (bytes,). An error has no outputs."""
        head = self.head(packet)
        if head["error"] or head["function"] is None:
            return head, {}
        row = self.functions[head["function"]]
        bits = np.unpackbits(np.frombuffer(bytes(bytearray(packet)), np.uint8), bitorder="little")
        whole = np.zeros(sum(row["outputs"].values()))
        for word in row["result"]["words"]:
            width = 32 if self.known["float32"] else word["width"]
            place: list[int] = bits[word["low"] : word["low"] + width].tolist()
            number = sum(bit << k for k, bit in enumerate(place))
            if self.known["float32"]:
                value = struct.unpack("<f", number.to_bytes(4, "little"))[0]
            else:
                value = np.ldexp(float(number - (number >> (width - 1) << width)), -word["frac"])
            whole[word["entries"]] = value
        ends = np.cumsum(list(row["outputs"].values()))
        return head, dict(zip(row["outputs"], np.split(whole, ends[:-1]), strict=True))

    def results(self, stream: bytes | Bytes) -> Iterator[tuple[Head, dict[str, NDArray[np.float64]]]]:
        """Each packet of a stream of bytes, unpacked."""
        whole = bytes(bytearray(stream))
        at = 0
        while at < len(whole):
            size = self.size(whole[at : at + 4])
            yield self.unpack(whole[at : at + size])
            at += size


def integers(values: NDArray[np.float64], width: int, frac: int) -> NDArray[np.int64]:
    """Real numbers as words."""
    most = 2.0 ** (width - 1)
    nearest = np.rint(np.ldexp(np.where(np.isnan(values), -np.inf, values), frac))
    return np.minimum(np.maximum(nearest, -most), most - 1).astype(np.int64)


def _put(bits: Bytes, low: int, width: int, values: NDArray[np.int64]) -> None:
    bits[:, low : low + width] = (values[:, None] >> np.arange(width)) & 1
