"""Schedules in C against their interpreter: to the bit where no operation is fused and none is elementary."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from condyle import scalar
from condyle.ir.schedule import Call, Move, Operand, Schedule, Slab, Sweep, Until, interpret, verify_schedule
from tests.backends.c import schedules
from tests.backends.c.schedules import GROUPS, KERNELS, LANES, Compiled, Random, drawn, entry, program, runs
from tests.backends.c.test_export import COMPILERS, LIBRARY, STRICT
from tests.processor import slow
from tests.programs import call, needs

EXACT = [COMPILERS[0], *STRICT, "-ffp-contract=off"]


def same(a: dict[str, Any], b: dict[str, Any]) -> None:
    for name in b:
        np.testing.assert_array_equal(a[name], b[name], name)


@pytest.mark.parametrize(
    ("machine", "lanes", "bits"),
    [
        ("-march=native", LANES, 64),
        slow("-DCD_SCALAR", LANES, 64),
        slow("-mtune=generic", LANES, 64),
        slow("-march=native", 2, 64),
        slow("-march=native", 1, 64),
        slow("-march=native", 2 * LANES, 32),
        slow("-march=native", 2, 32),
        ("embedded", 1, 32),
        slow("embedded", 1, 64),
    ],
)
def test_random_schedules_to_the_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, machine: str, lanes: int, bits: int
) -> None:
    """All statements, rows in place and shifted, panels wider and narrower than vectors, a workspace at any address."""
    sizes = {"p": 3, "r": 3, "s": 3, "t": 6}
    slabs = (slab._replace(size=GROUPS * sizes.get(slab.name, 0) * lanes or slab.size) for slab in schedules.SLABS)
    monkeypatch.setattr(schedules, "SLABS", tuple(slabs))
    monkeypatch.setattr(schedules, "LANES", lanes)
    cases = [verify_schedule(Random(k).schedule(f"case_{k}")) for k in range(12)]
    embedded, dtype = machine == "embedded", f"float{bits}"
    flags = EXACT if embedded else [*EXACT, machine]
    made = Compiled(tmp_path, [entry(case) for case in cases], KERNELS, flags, bits, embedded)
    changes = 0.0
    for k, case in enumerate(cases):
        inputs = drawn(case, k, dtype)
        wanted = interpret(case, runs(KERNELS, dtype), inputs, dtype)
        same(made(case.name, inputs, shift=k), wanted)
        changes += sum(float(np.mean(array != 0.0)) for array in wanted.values())
    assert (
        changes > 12
        and made.text.count("beside + 0") > 12
        and made.text.count("cd_move" if embedded else "memmove") > 12
    )


def counting(most: int) -> Schedule:
    """count += 1 until it is a multiple of 4, in all until it is 12 or above; total: of both loops."""
    slabs = *(Slab(name, 1, 1) for name in ("start", "count", "whole", "done")), Slab("turns", 1, 1, is_zero=True)
    count = Call("count", 1, (Operand("count"),), (Operand("count"), Operand("whole"), Operand("done")))
    turns = Call("more", 1, (Operand("turns"),), (Operand("turns"),))
    body = Move(Operand("start"), Operand("count"), 1), Until("done", most, (Until("whole", 3, (count,)), turns))
    return verify_schedule(Schedule("counting", slabs, ("start",), ("count", "turns"), body))


def test_loops_end_by_their_flags(tmp_path: Path) -> None:
    """The inner loop at most 3 times, so 3, 4 | 7, 8 | 11, 12: six turns of the outer one; NaN never ends one."""

    def counted(x: Any) -> Any:
        y = x[0] + 1.0
        part = 0.25 * y - scalar.floor(0.25 * y)
        return [y], [0.01 - part * part], [y - 11.5]

    kernels = {
        "count": program("count", (1,), (1, 1, 1), counted),
        "more": program("more", (1,), (1,), lambda x: [[x[0] + 1.0]]),
    }
    few = replace(counting(4), name="few")
    made = Compiled(tmp_path, [entry(counting(100)), entry(few)], kernels, EXACT)
    for case, start, count, turns in (
        (counting(100), 0.0, 12.0, 6.0),
        (few, 0.0, 8.0, 4.0),
        (few, np.nan, np.nan, 4.0),
    ):
        answers = made(case.name, {"start": np.array([[start]])})
        same(answers, {"count": [[count]], "turns": [[turns]]})
        same(answers, interpret(case, runs(kernels), {"start": np.array([[start]])}))


def test_elementary_functions_in_every_form(tmp_path: Path) -> None:
    """Angles that are inputs, results and numbers; rows, columns and one state. To rounding: sines differ by one."""

    def waves(x: Any, y: Any) -> Any:
        angles = [x[0], x[0] * y[1] + 0.3, y[0], 0.7]
        sines = [scalar.sin(angle) for angle in angles]
        return ([*sines, scalar.exp(x[1]), scalar.cos(sines[1]), scalar.sqrt(1.0 + y[1] * y[1]), 0.0, y[0], 2.0],)

    sizes = {"x": 2, "y": 2, "z": 10}
    slabs = [Slab(name, 5, size) for name, size in sizes.items()]
    slabs += [Slab(f"{name}_panel", 1, GROUPS * size * LANES) for name, size in sizes.items()] + [Slab("alone", 1, 10)]
    body = (
        Call("waves", 5, (Operand("x"), Operand("y", 2, 0)), (Operand("z"),)),
        Call("waves", GROUPS * LANES, (Operand("x_panel"), Operand("y", 1, 0)), (Operand("z_panel"),), True),
        Call("waves", 1, (Operand("x", 3), Operand("y", 1)), (Operand("alone"),)),
    )
    case = verify_schedule(Schedule("job", tuple(slabs), ("x", "y", "x_panel"), ("z", "z_panel", "alone"), body, LANES))
    kernels = {"waves": program("waves", (2, 2), (10,), waves)}
    inputs = drawn(case, 0)
    answers = Compiled(tmp_path, [entry(case)], kernels, EXACT)("job", inputs)
    for name, wanted in interpret(case, runs(kernels), inputs).items():
        np.testing.assert_allclose(answers[name], wanted, rtol=1e-14, atol=1e-15)


def test_a_long_kernel_and_numbers_in_the_code(tmp_path: Path) -> None:
    """Values that pass between parts of a column; an input that is fixed."""
    n = 40
    product = program("product", (n, n * n), (n,), lambda x, m: [[dot(m[n * i : n * i + n], x) for i in range(n)]])
    slabs = Slab("m", 1, n * n), *(Slab(name, 1, GROUPS * n * LANES) for name in ("x", "y"))
    times = Call("product", GROUPS * LANES, (Operand("x"), Operand("m", step=0)), (Operand("y"),), True)
    again = replace(times, inputs=(Operand("y"), Operand("m", step=0)))
    case = verify_schedule(Schedule("job", slabs, ("m", "x"), ("y",), (times, Sweep(3, (again,))), LANES))
    inputs = drawn(case, 0)
    made = Compiled(tmp_path, [entry(case, fixed={"m": inputs["m"]})], {"product": product}, EXACT)
    assert [name for _, name, _ in made.entries["job"].arguments] == ["x", "y"]
    same(made("job", inputs), interpret(case, runs({"product": product}), inputs))


def dot(row: Any, x: Any) -> Any:
    return sum((a * b for a, b in zip(row[1:], x[1:], strict=True)), row[0] * x[0])


def test_sizes_are_checked(tmp_path: Path) -> None:
    slabs = Slab("x", 1, 3), Slab("y", 1, 2)
    wrong = Schedule("job", slabs, ("x",), ("y",), (Call("near", 1, (Operand("x"), Operand("x")), (Operand("y"),)),))
    with pytest.raises(AssertionError, match="has not 3 numbers"):
        Compiled(tmp_path, [entry(wrong)], KERNELS, EXACT)


@needs("nm")
@pytest.mark.parametrize("compiler", COMPILERS)
def test_nothing_is_allocated_or_kept(tmp_path: Path, compiler: str) -> None:
    """Only mathematics and copies are called, and all data is constant."""
    cases = [entry(verify_schedule(Random(k).schedule(f"case_{k}"))) for k in range(4)]
    made = Compiled(tmp_path, cases, KERNELS, [COMPILERS[0], *STRICT])
    call([compiler, *STRICT, "-fno-stack-protector", "-c", "job.c", "-o", "job.o"], tmp_path)
    symbols = [line.split()[-2:] for line in call(["nm", "job.o"], tmp_path).splitlines()]
    assert {name.rstrip("f") for kind, name in symbols if kind == "U"} <= LIBRARY
    assert {kind for kind, _ in symbols} <= set("UTtrR") and not re.search(r"\bstatic (?!const|inline|__)", made.text)


def test_of_answers_in_one_place_the_last_stays(tmp_path: Path) -> None:
    calls = Call("total", 1, (Operand("x"),), (Operand("y"), Operand("y")))
    case = verify_schedule(Schedule("job", (Slab("x", 1, 18), Slab("y", 1, 3)), ("x",), ("y",), (calls,)))
    inputs = drawn(case, 0)
    same(Compiled(tmp_path, [entry(case)], KERNELS, EXACT)("job", inputs), interpret(case, runs(KERNELS), inputs))
