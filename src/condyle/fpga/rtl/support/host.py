"""Packs tasks for the accelerator and unpacks its results. It needs NumPy and NAME_stream.json.

host = Host("NAME_stream.json")
host.check(lambda address: ...)                     # give your function that reads a register
packets = host.pack("id", tags, q=q, v=v, a=a)      # (n, bytes): one packet a row, to be sent by a DMA
answers = host.answers(received)                    # received: the bytes of whole results, of any functions
answers["id"].head["tag"], answers["id"].outputs["tau"]     # (n,), (n, nv)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Bytes = NDArray[np.uint8]
Reals = NDArray[np.float64]
Head = dict[str, Any]


class Answers(NamedTuple):
    """The results of one function as they came. head: tag, flag, error, malformed and the code (`function`), (n,) each.
    outputs: (n, size) each, matrices row by row."""

    head: dict[str, NDArray[np.int64]]
    outputs: dict[str, Reals]


class Host:
    """The packets of one exported accelerator."""

    def __init__(self, path: str | Path) -> None:
        self.known: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
        self.functions: dict[str, Any] = self.known["functions"]
        self.named: dict[int, str] = {row["code"]: name for name, row in self.functions.items()}
        self.beat: int = self.known["axi"] // 8

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
        word, halves to even. A number that does not fit its word is clamped and its result flagged; so is NaN. An angle
        outside the box is turned into it by multiples of 2 pi, where the box holds a full turn (`angles`)."""
        row = self.functions[function]
        tag = np.atleast_1d(np.asarray(tags, np.uint64))
        wrong = set(inputs) ^ set(row["inputs"])
        if wrong:
            said = ", ".join(sorted(wrong))
            raise ValueError(f"{function} takes the inputs {', '.join(row['inputs'])}; wrong or missing: {said}")
        parts: list[Reals] = []
        for name, size in row["inputs"].items():
            part = np.reshape(np.asarray(inputs[name], np.float64), (len(tag), -1))
            if part.shape[1] != size:
                raise ValueError(f"{name} has {part.shape[1]} entries for each task, but needs {size}")
            parts.append(part)
        given = np.concatenate(parts, axis=1)
        size: int = row["task"]["bytes"]
        stream, starts = np.zeros(len(tag) * size, np.uint8), np.arange(len(tag)) * size
        _lanes(stream, 4)[starts] = row["code"] | tag << np.uint64(self.known["header"]["tag"]["low"])
        for word in row["task"]["words"]:
            values = self._turned(given[:, word["entries"][0]], self.known["angles"].get(word["word"], np.inf))
            at, low = _place(word, size)
            _lanes(stream, 8)[starts + at] |= self._bits(values, word) << np.uint64(low)
        return np.reshape(stream, (len(tag), size))

    def answers(self, received: bytes | Bytes) -> dict[str | None, Answers]:
        """All results of these bytes, by function; under None those with an error, which have no outputs. The bytes
        hold whole packets, one after the other, of any functions: ValueError if the last one is not complete."""
        stream = bytes(bytearray(received))
        starts: dict[str | None, list[int]] = {}
        for function, start in self._packets(stream):
            starts.setdefault(function, []).append(start)
        whole = np.frombuffer(stream, np.uint8)
        return {function: self._unpacked(function, whole, np.array(places)) for function, places in starts.items()}

    def results(self, received: bytes | Bytes) -> Iterator[tuple[Head, dict[str, Reals]]]:
        """Header and outputs of each packet of these bytes, in their order. `answers` is faster."""
        stream = bytes(bytearray(received))
        starts = [start for _, start in self._packets(stream)]
        for start, end in pairwise([*starts, len(stream)]):
            yield self.unpack(stream[start:end])

    def unpack(self, packet: bytes | Bytes) -> tuple[Head, dict[str, Reals]]:
        """Header and outputs of one result. `function` is None if the code is unknown. An error has no outputs."""
        ((head, outputs),) = self.answers(packet).values()
        first = {name: int(values[0]) for name, values in head.items()}
        named = {**first, "code": first["function"], "function": self.named.get(first["function"])}
        return named, {name: values[0] for name, values in outputs.items()}

    def _packets(self, stream: bytes) -> Iterator[tuple[str | None, int]]:
        """The function of each packet, None for an error, and its first byte."""
        fields = self.known["header"]
        code, error = (2 << fields["function"]["high"]) - 1, 1 << fields["error"]["low"]
        start, sizes = 0, {row["code"]: (name, row["result"]["bytes"]) for name, row in self.functions.items()}
        unknown = (None, self.beat)
        while start < len(stream):
            head = int.from_bytes(stream[start : start + 4], "little")
            function, size = unknown if head & error else sizes.get(head & code, unknown)
            if start + size > len(stream):
                raise ValueError(
                    f"the last packet has {len(stream) - start} of its {size} bytes: give whole packets, as many bytes "
                    "as were received"
                )
            yield function, start
            start += size

    def _unpacked(self, function: str | None, stream: Bytes, starts: NDArray[np.int64]) -> Answers:
        error: dict[str, Any] = {"outputs": {}, "result": {"bytes": self.beat, "words": []}}
        row = self.functions[function] if function else error
        first, header = _lanes(stream, 4)[starts].astype(np.int64), self.known["header"]
        head = {name: first >> at["low"] & (1 << at["high"] - at["low"] + 1) - 1 for name, at in header.items()}
        whole = np.zeros((len(starts), sum(row["outputs"].values())))
        words = row["result"]["words"]
        if words:
            at, low = zip(*(_place(word, row["result"]["bytes"]) for word in words), strict=True)
            lanes = _lanes(stream, 8)[starts[:, None] + np.array(at)]
            numbers = self._numbers(lanes >> np.array(low, np.uint64), words)
            for k in (0, -1):
                whole[:, [word["entries"][k] for word in words]] = numbers
        parts = np.split(whole, np.cumsum([*row["outputs"].values()], dtype=np.int64), axis=1)[:-1]
        return Answers(head, dict(zip(row["outputs"], parts, strict=True)))

    def _numbers(self, bits: NDArray[np.uint64], words: list[dict[str, Any]]) -> Reals:
        """(n, words), from lanes in which each word begins at bit 0."""
        if self.known["float32"]:
            singles = np.frombuffer(bits.astype(np.uint32).tobytes(), np.float32)
            return np.reshape(singles.astype(np.float64), bits.shape)
        signs = np.array([1 << word["width"] - 1 for word in words])
        whole = bits.astype(np.int64) & 2 * signs - 1
        return np.ldexp(whole - 2 * (whole & signs), [-word["frac"] for word in words])

    def _bits(self, values: Reals, word: dict[str, Any]) -> NDArray[np.uint64]:
        if self.known["float32"]:
            with np.errstate(over="ignore"):
                singles = values.astype(np.float32)
            return np.frombuffer(singles.tobytes(), np.uint32).astype(np.uint64)
        return (integers(values, word["width"], word["frac"]) & (1 << word["width"]) - 1).astype(np.uint64)

    @staticmethod
    def _turned(values: Reals, within: float) -> Reals:
        with np.errstate(invalid="ignore"):
            return np.where(np.abs(values) > within, values - 2 * np.pi * np.rint(values / (2 * np.pi)), values)


def integers(values: Reals, width: int, frac: int) -> NDArray[np.int64]:
    """Real numbers as words."""
    most = 2.0 ** (width - 1)
    nearest = np.rint(np.ldexp(np.where(np.isnan(values), -np.inf, values), frac))
    return np.minimum(np.maximum(nearest, -most), most - 1).astype(np.int64)


def _lanes(stream: Bytes, size: int) -> NDArray[Any]:
    """The `size` bytes from each byte on, as a number: a view of the stream."""
    return np.ndarray(len(stream) - size + 1, f"<u{size}", stream, strides=stream.strides)


def _place(word: dict[str, Any], size: int) -> tuple[int, int]:
    """Where a word stands in a packet of so many bytes: its lane of eight bytes, which ends with the packet at the
    latest, and its first bit there. A word has at most 32 bits, so one lane holds it."""
    at = min(word["low"] // 8, size - 8)
    return at, word["low"] - 8 * at
