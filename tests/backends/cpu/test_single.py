"""The scalar form: one state gives the bits that it gives in a batch, and nothing but its rows is touched."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import condyle
from condyle.backends.common.facts import Facts
from condyle.backends.cpu.assemble import assemble
from condyle.backends.cpu.build import build, supported
from condyle.backends.cpu.encode import Single
from condyle.backends.cpu.single import MOST_ARRAYS
from condyle.backends.cpu.target import ISAS, Isa
from condyle.compile.compiler import Compiler
from condyle.functions import DEFAULT, FUNCTIONS
from condyle.ir.program import Array, Output, Program
from condyle.model.tree import tree_of
from condyle.runtime import machine
from condyle.runtime.native import NativeKernel
from condyle.specification.ports import F_EXT
from tests.backends.c.small import empty, states, tangle, toy

pytestmark = pytest.mark.skipif(not supported(), reason="this processor or installation runs no machine code of ours")
WAYS = [(name, dtype) for name in ISAS for dtype in ("float64", "float32")]


@pytest.fixture(params=WAYS, ids=lambda p: f"{p[0]}-{p[1]}")
def way(request: pytest.FixtureRequest) -> tuple[Isa, str]:
    name, dtype = request.param
    if ISAS[name] not in supported():
        pytest.skip(f"this processor has no {name}")
    return ISAS[name], dtype


def same(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal to the bit; one NaN is as good as another."""
    bits = f"u{a.itemsize}"
    return bool(((a.view(bits) == b.view(bits)) | (np.isnan(a) & np.isnan(b))).all())


def check(kernel: NativeKernel, program: Program, inputs: list[np.ndarray]) -> None:
    """Each state alone, by the scalar form and as a tile of the vector form, against all together."""
    n = max(len(x) for x in inputs)
    whole = empty(program, n, str(kernel.dtype))
    kernel.entry.run(n, inputs, whole, 1)
    assert kernel.single is not None
    for k in range(n):
        alone = [np.full((1, array.size), 7.0, kernel.dtype) for array in program.arrays]
        kernel(1, [x[k : k + 1] for x in inputs], alone, 1)
        assert all(same(a, b[k : k + 1]) for a, b in zip(alone, whole, strict=True))
    batch = [np.full_like(x, 7.0) for x in whole]
    kernel.single.run(n, inputs, batch, 1)
    assert all(same(a, b) for a, b in zip(batch, whole, strict=True))


@pytest.mark.parametrize("seed", range(4))
def test_random_programs(seed: int, way: tuple[Isa, str]) -> None:
    """Sines of sines, roots and reciprocals, outputs that are inputs; a state that is no number among the others."""
    isa, dtype = way
    program = tangle(seed)
    inputs = states(program, 9, dtype)
    inputs[0][3] = np.nan
    inputs[1][5, 0] = np.inf
    check(build(program, dtype, isa), program, inputs)


@pytest.mark.parametrize(("width", "side"), [(1, 1), (7, 3), (8, 5), (17, 9)])
def test_symmetric_outputs(width: int, side: int, way: tuple[Isa, str]) -> None:
    """Entries that are one value, zeros, constants, an input passed through; angles around the number of lanes."""
    isa, dtype = way
    program = toy(width=width, side=side)
    inputs = states(program, 3, dtype)
    inputs[0][1] = 1e9  # beyond the reach of the polynomials
    check(build(program, dtype, isa), program, inputs)


def test_angles_from_everywhere(way: tuple[Isa, str]) -> None:
    """Angles out of order, from two inputs, computed, constant and doubled; sines that are answers, some twice."""
    isa, dtype = way
    nodes: list[tuple[object, ...]] = [("input", 0, 3), ("input", 0, 2), ("input", 1, 0), ("const", 0.25)]
    nodes += [("add", 0, 2), *(("sin", k) for k in range(5)), *(("cos", k) for k in range(5))]
    nodes += [("sin", 5), ("mul", 6, 15), ("cos", 16), ("sub", 17, 9)]
    outputs = [Output(0, k, node) for k, node in enumerate((5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 5, 15, 17, 18, 3, 0))]
    arrays = (Array("y", (len(outputs) + 1,)),)
    program = Program("t", (Array("x", (5,)), Array("z", (1,))), arrays, tuple(nodes), tuple(outputs))  # type: ignore[arg-type]
    check(build(program, dtype, isa), program, states(program, 5, dtype))


@cache
def robot_program(name: str, floating: bool, function: str) -> Program:
    robot = condyle.load(name, floating_base=floating)
    program = Compiler(tree_of(robot), Facts(robot.nq, robot.nv)).code(FUNCTIONS[function].taking(F_EXT))
    assert isinstance(program, Program)
    return program


ROBOTS = [("iiwa14", False, function) for function in DEFAULT] + [("hyq", True, f) for f in ("id", "m", "fd")]


@pytest.mark.parametrize(("name", "floating", "function"), ROBOTS)
def test_robots(name: str, floating: bool, function: str, way: tuple[Isa, str]) -> None:
    isa, dtype = way
    program = robot_program(name, floating, function)
    check(build(program, dtype, isa), program, states(program, 4, dtype))


def test_nothing_beyond_the_rows_is_touched(way: tuple[Isa, str]) -> None:
    isa, dtype = way
    program = toy(width=7)
    inputs = states(program, 1, dtype)
    wide = [np.full((3, array.size + 2), 7.0, dtype) for array in program.arrays]
    build(program, dtype, isa)(1, inputs, [x[1:2, 1:-1] for x in wide], 1)
    for x in wide:
        assert not (x[1:2, 1:-1] == 7.0).any()
        x[1:2, 1:-1] = 7.0
        assert (x == 7.0).all()


def test_many_arrays_have_no_scalar_form() -> None:
    """Then the vector form serves one state too."""
    inputs = tuple(Array(f"x{k}", (1,)) for k in range(MOST_ARRAYS))
    nodes = (*(("input", k, 0) for k in range(MOST_ARRAYS)), ("add", 0, MOST_ARRAYS - 1))
    program = Program("t", inputs, (Array("y", (1,)),), nodes, (Output(0, 0, MOST_ARRAYS),))
    kernel = build(program)
    assert kernel.single is None
    y = empty(program, 1)
    kernel(1, [np.full((1, 1), k + 1.0) for k in range(MOST_ARRAYS)], y, 1)
    assert y[0][0, 0] == MOST_ARRAYS + 1.0


def test_numbers_that_clash_are_refused() -> None:
    """Steps that would lead out of their memories are no function."""
    isa = supported()[0]
    made = assemble(toy(width=7, side=5), isa, 64).single
    assert made is not None
    whole = tuple(np.frombuffer(made.numbers, np.int64).tolist())
    start = 4 + whole[1] + whole[2]
    by_kind = {whole[k]: k for k in range(start, len(whole), 5)}
    assert sorted(by_kind) == [0, 1, 2, 3, 4, 5]

    def single(numbers: tuple[int, ...]) -> None:
        machine.single(isa.name, 64, made.text, made.constants, numbers)

    def broken(place: int, value: int) -> tuple[int, ...]:
        return (*whole[:place], value, *whole[place + 1 :])

    single(whole)
    bad = [(0, 3), (1, 2000), (2, -1), (3, whole[3] + 1), (start - 1, 0)]
    bad += [(by_kind[0] + 1, len(made.text)), (by_kind[0] + 1, -1), (by_kind[0], 6)]
    bad += [(by_kind[1] + k, value) for k in range(1, 5) for value in (-1, 10**6)]
    bad += [(by_kind[kind] + k, value) for kind in (2, 5) for k in (1, 2) for value in (-8, 10**6)]
    bad += [(by_kind[3] + k, value) for k in range(1, 5) for value in (-1, 10**6)]
    bad += [(by_kind[3] + 3, 1), (by_kind[3] + 3, 2), (by_kind[4] + 1, 1), (by_kind[4] + 2, 10**6)]
    for place, value in bad:
        with pytest.raises(ValueError, match="do not fit"):
            single(broken(place, value))
    with pytest.raises(ValueError, match="do not fit"):
        single(whole[:-1])
    with pytest.raises(ValueError, match="no driver"):
        machine.single("avx9", 64, b"", b"", (0, 0, 0, 0))


def test_the_same_input_gives_the_same_bytes() -> None:
    made = assemble(tangle(4), supported()[0], 64).single
    assert isinstance(made, Single) and made == assemble(tangle(4), supported()[0], 64).single
