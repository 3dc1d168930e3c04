"""Loops in machine code mean what the interpreter means, whatever the batch, its place and the number of threads."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle.backends.common.facts import packed
from condyle.backends.common.loops import layout
from condyle.backends.cpu.build import build, load, object_code, supported
from condyle.backends.cpu.joint_loop_steps import BANK, FRONT, MIDDLE, SAVED, StepEncoder
from condyle.backends.cpu.loops import WORDS, assemble_rolled
from condyle.backends.cpu.operations import NONE, SLOT, Instruction, slot
from condyle.backends.cpu.target import AVX512, ISAS
from condyle.functions import DEFAULT, FUNCTIONS
from condyle.ir.interp import run_rolled
from condyle.ir.loops import Rolled
from condyle.model.tree import tree_of
from condyle.runtime import machine, native
from condyle.runtime.native import Kernel
from condyle.specification.ports import F_EXT
from condyle.trace.loops import roll
from condyle.trace.reference import evaluate
from tests.backends.cpu.test_encode import GENERAL, assembled, needs_as
from tests.processor import slow

pytestmark = pytest.mark.skipif(not supported(), reason="this processor or installation runs no machine code of ours")
TOLERANCE = {"float64": 2e-14, "float32": 1e-5}  # a hundred roundings; 2e-15 and 8e-7 were measured
CONDITION = {"dfd": 100.0, "difd": 100.0}  # of these trees' M, as far as their gradients feel it; 36 was measured
ROBOTS = {
    "chain": lambda: condyle.chain(9, 1),
    "fixed": lambda: condyle.random_tree(6, 4),
    "floating": lambda: condyle.random_tree(5, 4, floating_base=True),
}


@cache
def rolled(name: str, function: str) -> tuple[Rolled, list[np.ndarray]]:
    """Loops of a robot, and 35 states."""
    robot = ROBOTS[name]()
    rng = np.random.default_rng(3)
    q, v = robot.random_state(35, rng)
    known = {"q": q, "v": v, "a": rng.normal(size=v.shape), "tau": rng.normal(size=v.shape)}
    known["f_ext"] = rng.normal(size=(35, 6 * len(robot.bodies)))
    if function == "difd":
        known["Minv"] = evaluate(tree_of(robot), FUNCTIONS["minv"], "ltl", known)[0]
    code = roll(tree_of(robot), FUNCTIONS[function].taking(F_EXT))
    return code, [known[array.name].reshape(35, -1) for array in code.inputs]


def answers(kernel: Kernel, code: Rolled, inputs: list[np.ndarray], threads: int = 1) -> list[np.ndarray]:
    inputs = [np.ascontiguousarray(x, kernel.dtype) for x in inputs]
    outputs = [np.full((len(inputs[0]), array.size), np.nan, kernel.dtype) for array in code.arrays]
    kernel(len(inputs[0]), inputs, outputs, threads)
    return outputs


@pytest.mark.parametrize(
    ("name", "function"),
    [
        slow(name, function) if name == "fixed" and function in ("did", "dfd", "difd") else (name, function)
        for name in ROBOTS
        for function in DEFAULT
    ],
)
def test_agrees_with_the_interpreter(name: str, function: str) -> None:
    """Every function, joint type, instruction set and precision; robots without and with branches."""
    code, inputs = rolled(name, function)
    inputs = [x[:9] for x in inputs]
    expected = run_rolled(code, inputs)
    for isa in supported():
        for dtype, rounding in TOLERANCE.items():
            tolerance = rounding * CONDITION.get(function, 1.0)
            for found, answer in zip(answers(build(code, dtype, isa), code, inputs), expected, strict=True):
                assert np.abs(found - answer.reshape(found.shape)).max() <= tolerance * np.abs(answer).max()


@pytest.mark.parametrize("function", ["fd", "did"])
@pytest.mark.parametrize("tiles", [1, 2])
def test_place_in_the_batch_threads_and_tiles_change_no_bit(
    function: str, tiles: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native, "PIECE_NS", 0.001)
    code, inputs = rolled("fixed", function)
    isa = supported()[0]
    whole = answers(build(code, "float64", isa), code, inputs)
    kernel = load(object_code(code, assemble_rolled(code, isa, 64, tiles=tiles), isa.name, 64))
    for threads in (1, 3):
        assert all((a == b).all() for a, b in zip(whole, answers(kernel, code, inputs, threads), strict=True))
    for start, end in ((1, 2), (3, 11), (8, 24), (0, 17), (2, 35)):
        part = answers(kernel, code, [x[start:end] for x in inputs])
        assert all((a[start:end] == b).all() for a, b in zip(whole, part, strict=True))


def test_one_row_serves_all() -> None:
    code, inputs = rolled("chain", "fd")
    kernel = build(code)
    (found,) = (np.empty((20, 9)) for _ in range(1))
    kernel(20, [inputs[0][:1], inputs[1][:20], np.ascontiguousarray(inputs[2][:20]), inputs[3][:20]], [found], 1)
    (expected,) = answers(kernel, code, [np.repeat(inputs[0][:1], 20, 0), *(x[:20] for x in inputs[1:])])
    assert (found == expected).all()


def test_a_bad_state_stays_alone() -> None:
    """NaN in one state leaves the others of its call and of the next one as they were, to the bit."""
    code, inputs = rolled("floating", "dfd")
    kernel = build(code)
    good = answers(kernel, code, inputs)
    bad = [x.copy() for x in inputs]
    bad[1][7] = np.nan
    mixed = answers(kernel, code, bad)
    keep = np.arange(35) != 7
    assert all((a[keep] == b[keep]).all() for a, b in zip(good, mixed, strict=True))
    assert not np.isfinite(mixed[0][7]).all()
    assert all((a == b).all() for a, b in zip(good, answers(kernel, code, inputs), strict=True))


def test_code_does_not_grow_with_the_robot() -> None:
    """The same machine code for 60 and 600 links; tables and workspace grow in proportion."""
    made = [assemble_rolled(roll(tree_of(condyle.chain(n, 0)), FUNCTIONS["fd"]), AVX512, 64) for n in (60, 600)]
    assert abs(len(made[0].text) - len(made[1].text)) < 500  # distances of more bytes
    assert 9 < len(made[1].constants) / len(made[0].constants) < 11
    assert made[1].numbers[0] - 2 * FRONT < 11 * (made[0].numbers[0] - 2 * FRONT)


@pytest.mark.slow
def test_long_robots_need_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("condyle.backends.c.build.build", None)
    robot = condyle.chain(300, 0)
    q, v = robot.random_state(3, 0)
    dyn = robot.compile()
    explained = dyn.explain()
    assert "aba, rolled" in explained and ", target c" not in explained
    found = dyn.inverse_dynamics(q, v, dyn.forward_dynamics(q, v, 0 * v))
    expected = np.abs(dyn.inverse_dynamics(q, v, 0 * v)).max()
    assert np.abs(found).max() <= 1e-8 * expected  # id undoes fd; a chain this long has a condition to match


@pytest.mark.parametrize("n", [9, 50])
def test_packed_arrays_hold_the_same(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two legs on the ground: zeros between them are not kept."""
    monkeypatch.setattr("condyle.compile.routes.LONGEST", 0)
    robot = condyle.load("hyq")
    q, v = robot.random_state(n, 0)
    dyn = robot.compile()
    assert "crba, rolled" in dyn.explain()
    x, y = dyn.pack(q), dyn.pack(v)
    for short, plain in (
        (dyn.inverse_dynamics(x, y, y), dyn.inverse_dynamics(q, v, v)),
        (dyn.mass_matrix(x), dyn.mass_matrix(q)),
        (dyn.mass_matrix_inverse(x), dyn.mass_matrix_inverse(q)),
        (dyn.inverse_dynamics_derivatives(x, y, y)[0], dyn.inverse_dynamics_derivatives(q, v, v)[0]),
    ):
        assert np.array_equal(short.dense(), plain)


def test_what_leads_out_of_its_tables_is_refused() -> None:
    code, _ = rolled("fixed", "dfd")
    isa = supported()[0]
    made = assemble_rolled(code, isa, 64)
    place, words = layout(code, FRONT), made.numbers[5]

    def plan(numbers: list[int]) -> None:
        machine.plan(isa.name, 64, made.text, made.constants, made.slots, packed(made.values, 64), numbers)

    numbers = list(made.numbers)
    plan(numbers)
    assert numbers[0] == place.size
    start, rng = len(numbers) - words, random.Random(1)
    sizes = [
        (start, 1 << 21),
        (start + 1, 3),
        (start + 2, 5),
        (start + 3, words),
        (start + 4, -8),
        (start + 4, 1 << 40),
    ]
    records = [(start + WORDS + 5 * rng.randrange(numbers[start + 3]) + k, -5 if k == 2 else 1 << 40) for k in range(4)]
    commands = start + WORDS + 5 * numbers[start + 3]
    for at, value in [
        *sizes,
        *records,
        (commands, 10),
        (commands, 0),
        (commands + 1, 1 << 40),
        (len(numbers) - 1, 1 << 40),
    ]:
        with pytest.raises(ValueError, match="do not fit"):
            plan([*numbers[:at], value, *numbers[at + 1 :]])


@needs_as
@pytest.mark.parametrize("name", ISAS)
def test_bytes_are_the_assemblers(name: str, tmp_path: Path) -> None:
    """Operands behind every base register, near and far, and on the other tile."""
    isa = ISAS[name]
    encoder = StepEncoder(isa, 64, (0, 10, 11, *SAVED))
    encoder.shift = 3
    vector = "zmm" if isa.vector_bytes == 64 else "ymm"
    ours, lines = b"", list[str]()
    for bank, register in enumerate((7, *encoder.registers)):
        for number in (0, 1, -3, 100, 127, 200, 5000) if bank else (0, 5, 900):
            operand = slot(BANK * bank + (MIDDLE if bank else 0) + number)
            assert operand >= SLOT
            ours += encoder.encode(Instruction("add", 3, 12, operand)) + encoder.encode(
                Instruction("store", 9, NONE, operand)
            )
            memory = f"{(number + 3) * isa.vector_bytes}(%{GENERAL[register]})"
            lines += [f"vaddpd {memory}, %{vector}12, %{vector}3", f"vmovapd %{vector}9, {memory}"]
    assert assembled(lines, tmp_path)[: len(ours)] == ours
