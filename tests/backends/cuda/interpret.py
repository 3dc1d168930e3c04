"""What the PTX that we write means: run on NumPy, all threads at once. For tests, and for people without a GPU.

Threads are lanes of arrays. A branch forwards puts the lanes that take it to sleep until its label; a branch backwards
must be taken by all lanes that are awake or by none. Accesses to memory are checked against its bounds, and two lanes
that meet at one place of shared memory, or of device memory that a kernel reads back, without a barrier between them
are an error (`RaceError`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tests.backends.cuda.meaning import MEANING, WARP, Lanes, ballot, shuffled, vote_any
from tests.backends.cuda.memory import Memory, Shared

TYPES: dict[str, type[np.generic]] = {
    "f32": np.float32,
    "f64": np.float64,
    "u32": np.uint32,
    "s32": np.int32,
    "b32": np.uint32,
    "u64": np.uint64,
    "s64": np.int64,
    "b64": np.uint64,
    "pred": np.bool_,
}
SPACES = ("param", "global", "shared", "local", "const")
VECTORS = re.compile(r",(?![^{]*\})")  # commas between operands, not those within braces
OTHERS = ("bra", "ret", "bar", "shfl", "ld", "st", "vote")
"""All but arithmetic."""


class Instruction(NamedTuple):
    """One line: the guard ("" for none), the words of its name, its operands; of arithmetic, what it means."""

    guard: str
    words: tuple[str, ...]
    operands: tuple[str, ...]
    meaning: tuple[Callable[..., Lanes], list[type[np.generic]]] | None


@dataclass(frozen=True, slots=True)
class Kernel:
    """One entry of a module: parameters in order, the code, where labels stand, constants, local bytes of a thread,
    threads of a block at most, numbers of the module that lie in global memory.
    """

    name: str
    parameters: tuple[str, ...]
    code: tuple[Instruction, ...]
    labels: dict[str, int]
    constants: dict[str, NDArray[np.uint8]]
    local: int
    threads: int
    tables: dict[str, NDArray[np.uint8]]


@cache
def parse(text: str) -> dict[str, Kernel]:
    """The kernels of a module, by name."""
    text = re.sub(r"//[^\n]*", "", text)
    head = r"\s*\.version \d\.\d\s+\.target sm_\w+\s+(\.address_size 64\s)?"
    assert re.match(head, text), "a module begins with the version and the target, or no driver takes it"
    constants = {
        name: np.array([int(word, 16) for word in words.split(",")], np.uint64).view(np.uint8)
        for name, words in re.findall(r"\.const \.align 8 \.b64 (\w+)\[\d+\] = \{([^}]*)\};", text)
    }
    tables = {
        name: np.array([int(word, 0) for word in words.split(",")], f"u{int(bits) // 8}").view(np.uint8)
        for bits, name, words in re.findall(r"\.global \.align 16 \.b(\d+) (\w+)\[\d+\] = \{([^}]*)\};", text)
    }
    found: dict[str, Kernel] = {}
    entry = r"\.entry (\w+)\(([^)]*)\)\s*(?:\.maxntid (\d+), 1, 1)?[^{]*\{(.*?)\n\}"
    for name, parameters, threads, body in re.findall(entry, text, re.DOTALL):
        names = tuple(re.findall(r"\.param \.\w+ (\w+)", parameters))
        code, labels, local = _code(body)
        found[name] = Kernel(name, names, code, labels, constants, local, int(threads or 1024), tables)
    return found


def _code(body: str) -> tuple[tuple[Instruction, ...], dict[str, int], int]:
    """Instructions, where labels stand, local bytes of a thread."""
    code: list[Instruction] = []
    labels: dict[str, int] = {}
    local = 0
    for line in map(str.strip, re.sub(r"<\d+>", "", body).replace(";", "\n").split("\n")):
        if line.startswith(".local"):
            local = int(line.rpartition("[")[2].rstrip("]"))
        elif line.endswith(":"):
            labels[line[:-1]] = len(code)
        elif line and not line.startswith("."):
            guard, rest = (line.split(" ", 1)) if line.startswith("@") else ("", line)
            name, _, operands = rest.partition(" ")
            parts = VECTORS.split(operands) if "{" in operands else operands.split(",")
            given, words = tuple(map(str.strip, parts)) if operands else (), tuple(name.split("."))
            meaning = None if words[0] in OTHERS else decode(words, len(given))
            code.append(Instruction(guard[1:], words, given, meaning))
    return tuple(code), labels, local


def launch(
    kernel: Kernel,
    grid: int,
    block: int,
    shared_bytes: int,
    values: Sequence[int],
    memory: Memory,
    at_once: int = 64,
    start: int = 0,
) -> None:
    """Runs the grid from block `start` on, `at_once` blocks at a time. values: of the parameters, in order."""
    if len(values) != len(kernel.parameters):
        raise ValueError(f"{kernel.name} has {len(kernel.parameters)} parameters, given are {len(values)}")
    named = dict(zip(kernel.parameters, values, strict=True))
    tables = {name: memory.adopt(data) for name, data in kernel.tables.items()}
    for first in range(start, grid, at_once):
        blocks = np.arange(first, min(grid, first + at_once))
        with np.errstate(all="ignore"):
            _Run(kernel, blocks, block, shared_bytes, named | tables, memory).go()
    for address in tables.values():
        memory.free(address)


class _Run:
    def __init__(
        self,
        kernel: Kernel,
        blocks: NDArray[np.int_],
        block: int,
        shared_bytes: int,
        values: dict[str, int],
        memory: Memory,
    ) -> None:
        n = len(blocks) * block
        self.kernel, self.values, self.memory, self.n = kernel, values, memory, n
        thread = np.tile(np.arange(block, dtype=np.uint32), len(blocks))
        self.registers: dict[str, Lanes] = {
            "%tid.x": thread,
            "%ntid.x": np.full(n, block, np.uint32),
            "%ctaid.x": np.repeat(blocks, block).astype(np.uint32),
        }
        self.shared = Shared(len(blocks), shared_bytes, np.repeat(np.arange(len(blocks)), block), thread)
        handed = any(line.words[:2] == ("ld", "global") and "nc" not in line.words for line in kernel.code)
        memory.watches = {} if handed else None
        self.me = np.arange(1, n + 1, dtype=np.int32)
        self.local = np.full((n, kernel.local), 0xFF, np.uint8)
        self.everyone = self.awake = np.ones(n, np.bool_)
        """all that have not ended"""
        self.asleep: dict[int, Lanes] = {}
        self.constants: dict[tuple[str, type[np.generic]], Lanes] = {}

    def go(self) -> None:
        place, code = 0, self.kernel.code
        while place < len(code):
            waking = self.asleep.pop(place, None)
            if waking is not None:
                awake = self.awake | waking
                self.awake = self.everyone if (awake == self.everyone).all() else awake
            line = code[place]
            mask = self.awake
            if line.guard:
                taken = self.registers[line.guard.lstrip("!")]
                mask = mask & (~taken if line.guard[0] == "!" else taken)
            if line.meaning is None:
                place = self._step(place, line, mask)
            else:
                operation, kinds = line.meaning
                operands = [self._read(operand, kind) for operand, kind in zip(line.operands[1:], kinds, strict=True)]
                self._write(line.operands[0], operation(*operands), mask)
                place += 1

    def _step(self, place: int, line: Instruction, mask: Lanes) -> int:
        """All but arithmetic; the place of the next instruction."""
        op = line.words[0]
        if op == "bra":
            return self._branch(place, self.kernel.labels[line.operands[0]], mask)
        if op == "ret":
            self.awake, self.everyone = self.awake & ~mask, self.everyone & ~mask
            if (self.awake == self.everyone).all():
                self.awake = self.everyone
        elif op == "bar":
            self._wait("warp" in line.words)
        elif op == "shfl":
            self._shuffle(line, mask)
        elif op == "ld":
            names = line.operands[0].strip("{}").split(", ")
            for k, name in enumerate(names):
                self._write(name, self._load(line, mask, k), mask)
        elif op == "st":
            self._store(line, mask)
        else:
            vote = ballot if "ballot" in line.words else vote_any
            self._write(line.operands[0], vote(self.registers[line.operands[1]] & self.awake), mask)
        return place + 1

    def _wait(self, alone: bool) -> None:
        """All threads of a warp, or of a block, are here, those that have ended left out. alone: of a warp."""
        here = self._with_warps(self.awake) if alone else self.everyone
        if any((asleep & here & ~self.awake).any() for asleep in self.asleep.values()):
            raise ValueError("a barrier that only some lanes reach")
        self.shared.watch.barrier()
        self.memory.barrier()

    def _shuffle(self, line: Instruction, mask: Lanes) -> None:
        """shfl.sync: lanes of a warp read a register of each other; whether there was such a lane is an answer too."""
        if (mask.reshape(-1, WARP).any(axis=1) != mask.reshape(-1, WARP).all(axis=1)).any():
            raise ValueError("a shuffle that only some lanes reach")
        to, _, valid = line.operands[0].partition("|")
        value, by, limit = (self._read(operand, np.uint32) for operand in line.operands[1:4])
        result, inside = shuffled(line.words[2], value, by, limit)
        self._write(to, result, mask)
        if valid:
            self._write(valid, inside, mask)

    def _branch(self, place: int, to: int, taken: Lanes) -> int:
        if to > place:
            self.asleep[to] = self.asleep.get(to, np.zeros(self.n, np.bool_)) | taken
            self.awake = self.awake & ~taken
            return place + 1
        left = self.awake & ~taken
        if not taken.any() or not left.any():
            return to if taken.any() else place + 1
        if (self._with_warps(taken) & left).any():
            raise ValueError("a branch backwards that only some lanes take")
        self.asleep[place + 1] = self.asleep.get(place + 1, np.zeros(self.n, np.bool_)) | left
        self.awake = taken
        return to

    @staticmethod
    def _with_warps(lanes: Lanes) -> Lanes:
        """All lanes of the warps of these."""
        return np.repeat(lanes.reshape(-1, WARP).any(axis=1), WARP)

    def _read(self, operand: str, kind: type[np.generic]) -> Lanes:
        value = self.registers.get(operand)
        if value is not None:
            return value if value.dtype.type is kind else value.view(kind)
        if (operand, kind) not in self.constants:
            self.constants[operand, kind] = self._constant(operand, kind)
        return self.constants[operand, kind]

    def _constant(self, operand: str, kind: type[np.generic]) -> Lanes:
        if operand[:2] in ("0f", "0d"):
            bits = np.uint32 if operand[1] == "f" else np.uint64
            return np.full(self.n, int(operand[2:], 16), bits).view(kind)
        if operand in self.kernel.constants or operand in ("pool", "spilled"):
            return np.zeros(self.n, kind)
        if operand in self.kernel.tables:
            return np.full(self.n, self.values[operand], kind)
        return np.full(self.n, int(operand, 0), kind)

    def _write(self, name: str, value: Lanes, mask: Lanes) -> None:
        if mask is not self.everyone and not mask.all():
            old = self.registers.get(name)
            if old is None:  # undefined: all ones, a NaN
                old = np.full(value.nbytes, 0xFF if value.dtype != np.bool_ else 1, np.uint8).view(value.dtype)
            value = np.where(mask, value, old.view(value.dtype) if old.dtype != value.dtype else old)
        self.registers[name] = value

    def _address(self, operand: str) -> Lanes:
        base, _, offset = operand.strip("[]").partition("+")
        name = base if base.startswith("%") else "0"
        return self._read(name, self._width(name)).astype(np.int64) + int(offset or 0)

    def _width(self, name: str) -> type[np.generic]:
        return self.registers[name].dtype.type if name in self.registers else np.uint64

    def _load(self, line: Instruction, mask: Lanes, number: int) -> Lanes:
        """The value, or that of this number of a vector."""
        space, kind = next(word for word in line.words if word in SPACES), TYPES[line.words[-1]]
        if space == "param":
            return np.full(self.n, self.values[line.operands[1].strip("[]")], kind)
        address = self._address(line.operands[1]) + number * np.dtype(kind).itemsize
        if space == "const":
            name = line.operands[1].strip("[]").partition("+")[0]
            table = self.kernel.constants["turns" if name.startswith("%") else name]
            return table.view(kind)[address // np.dtype(kind).itemsize]
        if space == "shared":
            return self.shared.load(address, kind, mask)
        if space == "local":
            return self.local.view(kind)[np.arange(self.n), address // np.dtype(kind).itemsize]
        return self.memory.load(address, kind, mask, None if "nc" in line.words else self.me)

    def _store(self, line: Instruction, mask: Lanes) -> None:
        kind = TYPES[line.words[-1]]
        address, value = self._address(line.operands[0]), self._read(line.operands[1], kind)
        if "shared" in line.words:
            self.shared.store(address, value, mask)
        elif "local" in line.words:
            self.local.view(kind)[np.arange(self.n)[mask], address[mask] // np.dtype(kind).itemsize] = value[mask]
        else:
            self.memory.store(address, value, mask, self.me)


@cache
def decode(words: tuple[str, ...], operands: int) -> tuple[Callable[..., Lanes], list[type[np.generic]]]:
    """The meaning of an instruction and the types of what it reads."""
    kinds = [TYPES[word] for word in words[1:] if word in TYPES]
    reads = [kinds[-1]] * (operands - 1)
    operation = MEANING.get(".".join(word for word in words if word not in ("rn", "pred")))
    if operation is not None:  # told apart by its types
        return operation, reads
    other = {"selp": (2, np.bool_), "setp": (2, np.bool_), "shl": (1, np.uint32), "shr": (1, np.uint32)}.get(words[0])
    if other is not None and other[0] < len(reads):
        reads[other[0]] = other[1]
    return MEANING[".".join(word for word in words if word not in TYPES and word != "rn")], reads


def run(text: str, grid: int, block: int, shared_bytes: int, values: Sequence[Any], memory: Memory) -> None:
    """The only kernel of a module."""
    (kernel,) = parse(text).values()
    launch(kernel, grid, block, shared_bytes, values, memory)
