"""Allocated code computes what the Program means, with the registers there are."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from condyle.backends.common.chunks import KEYS, TRACE, Chunk, lower, orders
from condyle.backends.cpu import _allocate
from condyle.backends.cpu.allocate import Constants, allocate, cost
from condyle.backends.cpu.assemble import WHOLE, assemble
from condyle.backends.cpu.operations import ROWS, SLOT, Instruction, expand_sines, inline_angles
from condyle.backends.cpu.target import ISAS, TARGET, Isa, Target
from condyle.ir.expr import Graph
from condyle.ir.program import Array, Output, Program, operands
from condyle.operations import MEANING
from tests.backends.c.small import tangle, toy
from tests.backends.cpu import plain_allocate
from tests.backends.cpu.machine import execute

SMALL = replace(ISAS["avx512"], name="small", registers=4)  # the fewest that can serve: three operands, one to write


def check(program: Program, isa: Isa, target: Target = TARGET) -> None:
    """Each order of each chunk, executed in Python, gives the interpreter's numbers in every slot."""
    low = lower(program, WHOLE)
    rng = np.random.default_rng(3)
    values: dict[int, float] = {}
    for chunk in low.steps:
        if not isinstance(chunk, Chunk):
            for angle in chunk.angles:
                for node in (angle.sine, angle.cosine):
                    if node is not None:
                        values[node] = float(rng.uniform(0.5, 1.5))
            continue
        _meaning(program, chunk.nodes, values, rng)
        homes = low.slots
        roots = [node for node in chunk.nodes if node in homes]
        for _, order in orders(program, chunk.nodes, roots):
            constants = Constants()
            code, size = allocate(program, order, homes, constants, isa, low.size, target)
            inside = set(chunk.nodes)
            memory = {place: values[node] for node, place in homes.items() if node not in inside and node in values}
            final = execute(code, isa.registers, memory, constants.values)
            for node in roots:
                assert final[homes[node]] == values[node]
            assert max(i.b - SLOT for i in code if i.b >= SLOT) < size


def _meaning(program: Program, nodes: Sequence[int], values: dict[int, float], rng: np.random.Generator) -> None:
    for index, node in enumerate(program.nodes):
        if node[0] == "const":
            values[index] = float(node[1])  # type: ignore[misc]
        elif node[0] == "input":
            values.setdefault(index, float(rng.uniform(-2.0, 2.0)))
    with np.errstate(all="ignore"):
        for index in nodes:
            node = program.nodes[index]
            values[index] = float(MEANING[node[0]](*(np.float64(values[k]) for k in operands(node))))


@pytest.mark.parametrize("isa", [*ISAS.values(), SMALL], ids=lambda isa: isa.name)
@pytest.mark.parametrize("seed", range(6))
def test_code_means_the_program(isa: Isa, seed: int) -> None:
    check(tangle(seed), isa)
    check(toy(width=9, side=6), isa)


@pytest.mark.parametrize("far", [0, 1, 3, 50, 1 << 40])
@pytest.mark.parametrize("dirty", [0.1, 1.0, 3.0])
def test_every_choice_is_right(far: int, dirty: float) -> None:
    for isa in (SMALL, ISAS["avx2"]):
        check(tangle(11), isa, Target(far=far, dirty=dirty))


def test_repeated_operands() -> None:
    """One value as two or three operands of one operation, from memory or from registers."""
    nodes = [("input", 0, k) for k in range(4)]
    for op in ("fma", "fms", "fnma", "fnms"):
        for a, b, c in ((0, 0, 1), (0, 1, 0), (1, 0, 0), (2, 2, 2), (4, 4, 0), (0, 4, 4), (4, 0, 4)):
            nodes.append((op, a, b, c))  # type: ignore[arg-type]
    nodes += [("add", 3, 3), ("sub", 3, 3), ("mul", 4, 4), ("sqrt", 4), ("rcp", 2), ("neg", 3)]  # type: ignore[list-item]
    first, count = 4, len(nodes) - 4
    outputs = tuple(Output(0, k, first + k) for k in range(count))
    program = Program("p", (Array("x", (4,)),), (Array("y", (count,)),), tuple(nodes), outputs)
    for isa in (SMALL, *ISAS.values()):
        check(program, isa)


@pytest.mark.parametrize("isa", [*ISAS.values(), SMALL], ids=lambda isa: isa.name)
def test_both_allocators_write_the_same(isa: Isa) -> None:
    """Instruction by instruction, with the same constants and slots, whatever the choices."""
    for whole in (*map(tangle, range(4)), tangle(5, 2000, 12), toy(), toy(width=17, side=9)):
        low = lower(whole, WHOLE, inline_angles(whole))
        for chunk in (step for step in low.steps if isinstance(step, Chunk)):
            roots = [node for node in chunk.nodes if node in low.slots]
            for k, (_, plain) in enumerate(orders(whole, chunk.nodes, roots)):
                program, order = expand_sines(whole, plain, 64)
                target = Target(far=(0, 6, 50, 3)[k % 4], dirty=(0.7, 1.0, 0.1, 3.0)[k % 4])
                first, second = Constants(), Constants()
                fast = allocate(program, order, low.slots, first, isa, low.size, target)
                assert fast == plain_allocate.allocate(program, order, low.slots, second, isa, low.size, target)
                assert {type(i) for i in fast[0]} <= {Instruction} and first == second


def test_what_the_extension_refuses() -> None:
    """An operation that has no row, rows that are none and numbers that lead nowhere are errors, not crashes."""
    number, nodes = Constants().number, (("input", 0, 0), ("mul", 0, 0))

    def allocate(nodes, order, homes, number, instruction, *numbers, rows=ROWS):  # type: ignore[no-untyped-def]
        return _allocate.allocate(nodes, order, homes, number, instruction, rows, *numbers)

    assert allocate(nodes, [1], {0: 0, 1: 1}, number, Instruction, 4, 2, 6, 0.7)[0]
    with pytest.raises(ValueError, match="strange"):
        allocate((*nodes, ("strange", 0)), [1, 2], {0: 0}, number, Instruction, 4, 2, 6, 0.7)
    for row in (1, (), (("mul",), 9, (0, 1), False), (("mul",), 0, (0,), False), (("mul",), 0, (0, 7), False),
                (("mul",), 3, (0, 1, 2), False), ((), 0, (0, 1), False), (("mul",), 0, [0, 1], False)):  # fmt: skip
        with pytest.raises(ValueError):
            allocate(nodes, [1], {0: 0}, number, Instruction, 4, 2, 6, 0.7, rows={"mul": row})
    with pytest.raises(ValueError):
        allocate(nodes, [1], {0: 0}, number, Instruction, 4, 2, 6, 0.7, rows={str(k): ROWS["mul"] for k in range(65)})
    for bad_nodes, order, homes, registers in (
        (nodes, [2], {0: 0}, 4),
        (nodes, [-1], {0: 0}, 4),
        (nodes, [1], {7: 0}, 4),
        (nodes, [1], {0: -1}, 4),
        (nodes, [1], {0: 0}, 3),
        (nodes, [1], {0: 0}, 65),
        ((("input", 0, 0), ("mul", 0, 9)), [1], {0: 0}, 4),
    ):
        with pytest.raises(ValueError):
            allocate(bad_nodes, order, homes, number, Instruction, registers, 2, 6, 0.7)
    with pytest.raises(ZeroDivisionError):
        allocate((("const", 0.5), ("mul", 0, 0)), [1], {}, lambda value: 1 // 0, Instruction, 4, 2, 6, 0.7)


def test_orders_are_orders() -> None:
    """Each holds every node once, after its operands; names are known; no order comes twice."""
    program = tangle(2)
    chunk = lower(program, WHOLE).steps[-1]
    assert isinstance(chunk, Chunk)
    slots = lower(program, WHOLE).slots
    found = list(orders(program, chunk.nodes, [node for node in chunk.nodes if node in slots]))
    assert found[0] == (TRACE, list(chunk.nodes))
    assert len({tuple(order) for _, order in found}) == len(found)
    for name, order in found:
        assert name in (TRACE, *KEYS)
        assert sorted(order) == sorted(chunk.nodes)
        place = {node: k for k, node in enumerate(order)}
        assert all(place.get(used, -1) < place[node] for node in order for used in operands(program.nodes[node]))


def test_fewer_orders_of_long_code() -> None:
    """From many operations on only a few orders are tried; all of them are right, the cheapest is taken."""
    isa = ISAS["avx512"]
    found = {name: assemble(tangle(3), isa, 64, Target(orders=(name,))).kernels[-1] for name in KEYS}
    best = assemble(tangle(3), isa, 64, Target(orders=tuple(KEYS))).kernels[-1]
    assert cost(best.code, isa, 64) == min(cost(kernel.code, isa, 64) for kernel in found.values())
    assert assemble(tangle(3), isa, 64, Target(small=0, long=("tips",))).kernels[-1].order == "tips"
    assert assemble(tangle(3), isa, 64, Target(small=0, many=0, huge=("blocks",))).kernels[-1].order == "blocks"


def test_constants_stand_once() -> None:
    constants = Constants()
    assert [constants.number(value) for value in (1.0, 0.5, 1.0, 0.0, -0.0)] == [0, 1, 0, 2, 3]


def test_registers_suffice_for_a_short_sum() -> None:
    """What fits into registers is loaded once and never spilled."""
    graph = Graph()
    x = [graph.input(0, k) for k in range(6)]
    total = x[0] * x[1] + x[2] * x[3] + x[4] * x[5]
    program = graph.program("p", (Array("x", (6,)),), (Array("y", (1,)),), [(0, 0, total)])
    code: Sequence[Instruction] = assemble(program, ISAS["avx512"], 64).kernels[0].code
    assert [i.op for i in code].count("store") == 1


@pytest.mark.parametrize("isa", list(ISAS.values()), ids=lambda isa: isa.name)
def test_the_same_input_gives_the_same_bytes(isa: Isa) -> None:
    assert assemble(tangle(4), isa, 64) == assemble(tangle(4), isa, 64)


def test_bytes_do_not_hang_on_the_hash_seed() -> None:
    """Another process with another seed writes the same code."""
    script = (
        "import hashlib; from condyle.backends.cpu.assemble import assemble;"
        "from condyle.backends.cpu.target import AVX512;"
        "from tests.backends.c.small import tangle; m = assemble(tangle(4), AVX512, 32);"
        "print(hashlib.sha256(m.text + m.constants + repr((m.slots, m.numbers)).encode()).hexdigest())"
    )
    path = os.pathsep.join(place for place in sys.path if place)
    said = [
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path},
            cwd=Path(__file__).parents[3],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert said[0] == said[1]
