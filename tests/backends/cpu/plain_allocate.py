"""Register allocation in plain Python: what `_allocate.c` does, step by step, and why each step is as it is.

A test holds the two together, instruction by instruction.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from typing import cast

from condyle.backends.cpu.allocate import Constants
from condyle.backends.cpu.operations import NONE, ONE, ROWS, Instruction, Row, constant, slot
from condyle.backends.cpu.target import TARGET, Isa, Target
from condyle.ir.program import Program, operands

NEVER = 1 << 40


def allocate(
    program: Program,
    order: Sequence[int],
    homes: Mapping[int, int],
    constants: Constants,
    isa: Isa,
    size: int,
    target: Target = TARGET,
) -> tuple[list[Instruction], int]:
    """As `condyle.backends.cpu.allocate.allocate`."""
    worker = _Allocator(program, order, homes, constants, isa.registers, size, target)
    for time, node in enumerate(order):
        worker.step(time, node)
    return worker.code, worker.size


class _Allocator:
    """where: the register of a value; held: the value of a register; home: the memory operand of a value."""

    def __init__(
        self,
        program: Program,
        order: Sequence[int],
        homes: Mapping[int, int],
        constants: Constants,
        registers: int,
        size: int,
        target: Target,
    ) -> None:
        self.target, self.size, self.stores = target, size, homes
        self.code: list[Instruction] = []
        self.where: dict[int, int] = {}
        self.held: dict[int, int] = {}
        self.free = list(range(registers - 1, -1, -1))
        self.spare: list[int] = []
        self.spilled: dict[int, int] = {}
        inside = set(order)
        self.home = {value: slot(place) for value, place in homes.items() if value not in inside}
        self.ops: dict[int, tuple[Row, tuple[int, ...]]] = {}
        self.uses: dict[int, list[int]] = {}
        for time, index in enumerate(order):
            self._read(program, time, index, constants)
        for uses in self.uses.values():
            uses.reverse()

    def _read(self, program: Program, time: int, index: int, constants: Constants) -> None:
        """Note what a node uses and when; constants find their place in the table."""
        node, one = program.nodes[index], len(program.nodes)
        row, used = ROWS[node[0]], operands(node)
        values = tuple(used[k] if k >= 0 else one + ONE - k for k in row.operands)
        self.ops[index] = row, values
        for value in dict.fromkeys(values):
            self.uses.setdefault(value, []).append(time)
            if value in self.home:
                continue
            if value >= one:
                self.home[value] = constant(constants.number(1.0 if value == one else -0.0))
            elif program.nodes[value][0] == "const":
                self.home[value] = constant(constants.number(cast("tuple[str, float]", program.nodes[value])[1]))

    def step(self, time: int, index: int) -> None:
        """Compute one node; store it if it has a slot of its own."""
        row, values = self.ops[index]
        for value in dict.fromkeys(values):
            self.uses[value].pop()
        to = (self._binary, self._unary, self._plain, self._fused)[row.form](time, row, values)
        self._release_slots(values)
        if index in self.stores:
            self.home[index] = slot(self.stores[index])
            self._emit("store", to, NONE, self.home[index])
        if self.uses.get(index):
            self.where[index], self.held[to] = to, index
        else:
            self.free.append(to)

    def _emit(self, op: str, to: int, a: int, b: int) -> None:
        self.code.append(Instruction(op, to, a, b))

    def _next(self, value: int) -> int:
        uses = self.uses[value]
        return uses[-1] if uses else NEVER

    def _unary(self, time: int, row: Row, values: Sequence[int]) -> int:
        b = self._operand(time, values[0], set())
        self._release(values)
        to = self._take(time, set())
        self._emit(row.instructions[0], to, NONE, b)
        return to

    def _binary(self, time: int, row: Row, values: Sequence[int]) -> int:
        a, b = values
        if row.swaps and a not in self.where and (b in self.where or self._next(b) < self._next(a)):
            a, b = b, a
        if a not in self.where:
            self._load(time, a, {self.where[b]} if b in self.where else set())
        first = self.where[a]
        last = self._operand(time, b, {first})
        self._release(values)
        to = self._take(time, set())
        self._emit(row.instructions[0], to, first, last)
        return to

    def _plain(self, time: int, row: Row, values: Sequence[int]) -> int:
        """An operation that reads registers only."""
        pinned = {self.where[value] for value in values if value in self.where}
        for value in values:
            if value not in self.where:
                self._load(time, value, pinned)
                pinned.add(self.where[value])
        used = [self.where[value] for value in values]
        self._release(values)
        to = self._take(time, set())
        self.code.append(Instruction(row.instructions[0], to, *([NONE] if len(used) == 1 else []), *used))
        return to

    def _operand(self, time: int, value: int, pinned: set[int]) -> int:
        """A register if the value is in one or will be wanted soon, else its home."""
        if value not in self.where and self._is_near(time, value, pinned):
            self._load(time, value, pinned)
        return self.where.get(value, self.home.get(value, NONE))

    def _is_near(self, time: int, value: int, pinned: set[int]) -> bool:
        following = self._next(value)
        if following - time >= self.target.far:
            return False
        return bool(self.free) or following < self._next(self.held[self._victim(time, pinned)])

    def _fused(self, time: int, row: Row, values: Sequence[int]) -> int:
        """A multiply-add overwrites one of its operands, and reads at most one from memory."""
        absent = [value for value in dict.fromkeys(values) if value not in self.where]
        pinned = {self.where[value] for value in values if value in self.where}
        single = [value for value in absent if values.count(value) == 1]
        memory = max(single, key=self._next) if single else None
        dying = any(value in self.where and not self.uses[value] for value in values)
        loads = [value for value in absent if value != memory]
        if memory is not None and not loads and (not dying or self._is_near(time, memory, pinned)):
            loads.append(memory)
            memory = None
        for value in loads:
            self._load(time, value, pinned)
            pinned.add(self.where[value])
        over, to = self._overwritten(time, values, () if dying else loads)
        self._emit(*self._form(row, values, over, to, memory))
        if self.where.get(over) == to:
            del self.where[over], self.held[to]
        self._release(values)
        return to

    def _overwritten(self, time: int, values: Sequence[int], loads: Sequence[int]) -> tuple[int, int]:
        """The operand that the result replaces, and its register: one that dies, one just loaded, or a copy."""
        a, b, c = values
        for value in (c, a, b):
            if value in self.where and not self.uses[value]:
                return value, self.where[value]
        if loads:
            value = max(loads, key=self._next)
            return value, self.where[value]
        clean = [value for value in values if value in self.where and value in self.home]
        if clean and self._next(value := max(clean, key=self._next)) - time >= self.target.far:
            return value, self.where[value]  # its home serves the next use, and a copy is saved
        value = c if c in self.where else a
        if not self.free:
            victim = self._victim(time, set())
            if self.held[victim] in values:
                self._save(self.held[victim])
                return self.held[victim], victim
        source = self.where[value]
        to = self._take(time, {self.where[v] for v in values if v in self.where})
        self._emit("load", to, NONE, source)
        return value, to

    def _form(
        self, row: Row, values: Sequence[int], over: int, to: int, memory: int | None
    ) -> tuple[str, int, int, int]:
        """Which of the three forms it is, by what is overwritten and what is read from memory."""
        a, b, c = values
        if over == c:
            a, b = (b, a) if a == memory else (a, b)
            return row.instructions[2], to, self.where[a], self._place(b)
        a, b = (b, a) if over == b else (a, b)
        if b == memory:
            return row.instructions[0], to, self.where[c], self._place(b)
        return row.instructions[1], to, self.where[b], self._place(c)

    def _place(self, value: int) -> int:
        return self.where[value] if value in self.where else self.home[value]

    def _load(self, time: int, value: int, pinned: set[int]) -> None:
        to = self._take(time, pinned)
        self._emit("load", to, NONE, self.home[value])
        self.where[value], self.held[to] = to, value

    def _take(self, time: int, pinned: set[int]) -> int:
        """A register to write: a free one, else the victim's."""
        if self.free:
            return self.free.pop()
        register = self._victim(time, pinned)
        value = self.held.pop(register)
        self._save(value)
        del self.where[value]
        return register

    def _victim(self, time: int, pinned: set[int]) -> int:
        """The register whose value is wanted last; one that must be stored first counts as wanted sooner."""
        best, chosen = -1.0, -1
        for register, value in self.held.items():
            if register in pinned:
                continue
            distance = float(self.uses[value][-1] - time)
            if value not in self.home:
                distance *= self.target.dirty
            if distance > best:
                best, chosen = distance, register
        return chosen

    def _save(self, value: int) -> None:
        """Give a value a home before it leaves its register."""
        if value in self.home:
            return
        if self.spare:
            place = heapq.heappop(self.spare)
        else:
            place, self.size = self.size, self.size + 1
        self.spilled[value] = place
        self.home[value] = slot(place)
        self._emit("store", self.where[value], NONE, self.home[value])

    def _release(self, values: Sequence[int]) -> None:
        """Registers of values that nobody wants any more."""
        for value in dict.fromkeys(values):
            if value in self.where and not self.uses[value]:
                register = self.where.pop(value)
                del self.held[register]
                self.free.append(register)

    def _release_slots(self, values: Sequence[int]) -> None:
        """Their spill slots, once the operation has read them."""
        for value in dict.fromkeys(values):
            if value in self.spilled and not self.uses[value]:
                heapq.heappush(self.spare, self.spilled.pop(value))
