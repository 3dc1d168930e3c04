"""Machine code in memory agrees with the meaning, whatever the batch, its place and the number of threads."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle.backends.common.facts import Facts, packed
from condyle.backends.cpu import build as module
from condyle.backends.cpu.assemble import assemble
from condyle.backends.cpu.build import build, supported
from condyle.backends.cpu.target import ISAS, Isa
from condyle.compile.compiler import Compiler
from condyle.compile.targets import TARGETS
from condyle.errors import UnsupportedError
from condyle.functions import DEFAULT, FUNCTIONS
from condyle.ir.program import Array, Output, Program
from condyle.model.tree import tree_of
from condyle.runtime import machine, native
from condyle.runtime.native import Kernel
from tests.accuracies import PROGRAMS
from tests.backends.c.small import empty, meaning, states, tangle, toy
from tests.forces import function_with
from tests.processor import slow

pytestmark = pytest.mark.skipif(not supported(), reason="this processor or installation runs no machine code of ours")


@pytest.fixture(params=[(name, dtype) for name in ISAS for dtype in PROGRAMS], ids=lambda p: f"{p[0]}-{p[1]}")
def way(request: pytest.FixtureRequest) -> tuple[Isa, str]:
    name, dtype = request.param
    if ISAS[name] not in supported():
        pytest.skip(f"this processor has no {name}")
    return ISAS[name], dtype


def answers(kernel: Kernel, program: Program, inputs: list[np.ndarray], threads: int = 1) -> list[np.ndarray]:
    n = max(len(x) for x in inputs)
    outputs = empty(program, n, str(kernel.dtype))
    kernel(n, inputs, outputs, threads)
    return outputs


def close(got: list[np.ndarray], want: list[np.ndarray], dtype: str) -> None:
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=PROGRAMS[dtype] * max(1.0, np.abs(b).max(initial=0.0)))


@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_the_meaning(seed: int, way: tuple[Isa, str]) -> None:
    isa, dtype = way
    program = tangle(seed)
    inputs = states(program, 50, dtype)
    close(answers(build(program, dtype, isa), program, inputs), meaning(program, inputs), dtype)


def test_every_length_and_width(way: tuple[Isa, str]) -> None:
    """Tails of every length, rows around the number of lanes."""
    isa, dtype = way
    for width, side in ((1, 1), (7, 3), (8, 5), (9, 9), (17, 7)):
        program = toy(width=width, side=side)
        kernel = build(program, dtype, isa)
        for n in range(21):
            inputs = states(program, n, dtype)
            if n:
                close(answers(kernel, program, inputs), meaning(program, inputs), dtype)
            else:
                kernel(0, inputs, empty(program, 0, dtype), 1)


def test_one_row_serves_all(way: tuple[Isa, str]) -> None:
    isa, dtype = way
    program = toy()
    q, v = states(program, 20, dtype)
    inputs = [q[:1], v]
    close(answers(build(program, dtype, isa), program, inputs), meaning(program, inputs), dtype)


def test_nothing_beyond_the_rows_is_touched(way: tuple[Isa, str]) -> None:
    isa, dtype = way
    program = toy()
    inputs = states(program, 11, dtype)
    wide = [np.full((13, array.size + 3), 7.0, dtype) for array in program.arrays]
    build(program, dtype, isa)(11, inputs, [x[1:12, 1 : x.shape[1] - 2] for x in wide], 1)
    for x, want in zip(wide, meaning(program, inputs), strict=True):
        close([x[1:12, 1:-2]], [want], dtype)
        x[1:12, 1:-2] = 7.0
        assert (x == 7.0).all()


def test_place_in_the_batch_and_threads_change_no_bit(way: tuple[Isa, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "PIECE_NS", 0.001)
    isa, dtype = way
    program = tangle(5)
    kernel = build(program, dtype, isa)
    inputs = states(program, 67, dtype)
    whole = answers(kernel, program, inputs)
    for threads in (2, 5):
        assert all((a == b).all() for a, b in zip(whole, answers(kernel, program, inputs, threads), strict=True))
    for start in (1, 3, 8, 40):
        part = answers(kernel, program, [x[start:] for x in inputs])
        assert all((a[start:] == b).all() for a, b in zip(whole, part, strict=True))


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e300])
def test_a_bad_state_stays_alone(bad: float, way: tuple[Isa, str]) -> None:
    """NaN, infinities and overflow in one state leave its neighbours as they were, to the bit."""
    isa, dtype = way
    program = tangle(1)
    kernel = build(program, dtype, isa)
    inputs = states(program, 24, dtype)
    good = answers(kernel, program, inputs)
    with np.errstate(over="ignore"):
        inputs[0][10, :] = bad
    mixed = answers(kernel, program, inputs)
    keep = np.arange(24) != 10
    assert all((a[keep] == b[keep]).all() for a, b in zip(good, mixed, strict=True))
    if not np.isfinite(inputs[0][10, 0]):
        assert not any(np.isfinite(x[10]).all() for x in mixed)


def test_large_angles_are_right(way: tuple[Isa, str]) -> None:
    """Sine and cosine of any finite argument, NaN for NaN."""
    isa, dtype = way
    nodes = (("input", 0, 0), ("sin", 0), ("cos", 0))
    outputs = (Output(0, 0, 1), Output(0, 1, 2))
    program = Program("t", (Array("x", (1,)),), (Array("y", (2,)),), nodes, outputs)
    x = np.array([0.0, 1.0, -2.5, 99.5, 1e4, -9.9e4, 1e5, 1e7, 1e22, np.nan, 0.3], dtype)[:, None]
    (got,) = answers(build(program, dtype, isa), program, [x])
    exact = np.hstack([np.sin(x.astype(np.longdouble)), np.cos(x.astype(np.longdouble))])
    np.testing.assert_allclose(got, exact.astype(dtype), rtol=0, atol=2.5 * np.finfo(dtype).eps)


def test_constants_and_zeros_only(way: tuple[Isa, str]) -> None:
    """A Program without operations: constants, inputs passed through, zeros, empty arrays."""
    isa, dtype = way
    nodes = (("input", 0, 0), ("const", -0.5))
    arrays = (Array("y", (3,)), Array("none", (0, 4)))
    program = Program("t", (Array("x", (2,)), Array("f", (0,))), arrays, nodes, (Output(0, 0, 0), Output(0, 2, 1)))
    x = np.arange(10.0).reshape(5, 2).astype(dtype)
    y, none = answers(build(program, dtype, isa), program, [x, np.zeros((5, 0), dtype)])
    np.testing.assert_array_equal(y, np.stack([x[:, 0], 0 * x[:, 0], 0 * x[:, 0] - 0.5], axis=1))
    assert none.shape == (5, 0)


CASES = [
    slow(name, floating, function)
    if (name == "hyq" and not (floating and function in ("id", "m", "minv", "fd")))
    or (name, function) == ("atlas", "fd")
    else (name, floating, function)
    for name, floating in (("iiwa14", False), ("hyq", False), ("hyq", True), ("atlas", True))
    for function in DEFAULT
    if name != "atlas" or function in ("id", "fd", "m")
]


@cache
def wanted(name: str, floating: bool, function: str, f_ext: bool) -> tuple[Program, list[np.ndarray], list[np.ndarray]]:
    """A robot's Program, inputs that float32 holds, and what the reference answers: the same for every way."""
    robot = condyle.load(name, floating_base=floating)
    compiler = Compiler(tree_of(robot), Facts(robot.nq, robot.nv))
    rng = np.random.default_rng(0)
    n = 5
    q, v = robot.random_state(n, rng)
    known = {"q": q, "v": v, "a": rng.normal(size=(n, robot.nv)), "tau": rng.normal(size=(n, robot.nv))}
    known["Minv"] = robot.compile(target="numpy").mass_matrix_inverse(q).reshape(n, -1)
    known["f_ext"] = rng.normal(size=(n, 6 * len(robot.bodies)))
    program = compiler.code(function_with(function, f_ext))
    assert isinstance(program, Program)
    inputs = [known[array.name].astype(np.float32).astype(np.float64) for array in program.inputs]
    want = empty(program, n)
    compiler.build(function_with(function, f_ext), TARGETS["numpy"], "float64")(n, inputs, want, 1)
    return program, inputs, want


@pytest.mark.parametrize(("name", "floating", "function"), CASES)
def test_robots_agree_with_the_reference(name: str, floating: bool, function: str, way: tuple[Isa, str]) -> None:
    """Every function of the bundled robots, with external forces and without; 5e-15 and 5e-7 were measured."""
    isa, dtype = way
    for f_ext in (False, True) if FUNCTIONS[function].takes_f_ext else (False,):
        program, exact, want = wanted(name, floating, function, f_ext)
        inputs = [np.ascontiguousarray(x, dtype) for x in exact]
        for got, right in zip(answers(build(program, dtype, isa), program, inputs), want, strict=True):
            assert np.abs(got - right).max() <= (1e-13 if dtype == "float64" else 1e-5) * max(1.0, np.abs(right).max())


def writable_code() -> set[str]:
    """Mappings that are both writable and executable; other libraries of this process may have some."""
    return set(re.findall(r"^\S+ rwx", Path("/proc/self/maps").read_text(), re.MULTILINE))


def test_pages_are_never_writable_and_executable() -> None:
    before = writable_code()
    kernel = build(toy())
    assert writable_code() <= before
    assert kernel.description == f"machine code, {supported()[0].name}"


def test_what_it_refuses() -> None:
    with pytest.raises(UnsupportedError, match="float16"):
        build(toy(), "float16")
    nodes = (("input", 0, 0), ("const", 1e300), ("mul", 0, 1))
    program = Program("t", (Array("x", (1,)),), (Array("y", (1,)),), nodes, (Output(0, 0, 2),))
    with pytest.raises(UnsupportedError, match="finite"):
        build(program, "float32")


def test_other_processors_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "instruction_sets", tuple)
    assert module.supported() == ()
    with pytest.raises(UnsupportedError, match="target 'c' runs everywhere"):
        build(toy())


def test_numbers_that_clash_are_refused() -> None:
    """A plan that would lead out of its tables is no plan."""
    isa = supported()[0]
    made = assemble(toy(), isa, 64)

    def plan(numbers: list[int], slots: tuple[int, ...] = made.slots, values: tuple[float, ...] = made.values) -> None:
        machine.plan(isa.name, 64, made.text, made.constants, slots, packed(values, 64), numbers)

    numbers = list(made.numbers)
    plan(numbers)
    head = 6
    first_step = head + 2 * (numbers[1] + numbers[2])
    for place, value in [
        (0, 3),  # a workspace too small for its slots
        *((k, numbers[k] + 1) for k in range(1, head)),
        (head, -1),
        (head + 1, 10**6),
        (first_step - 1, 10**6),
        (first_step, 10**6),
        (first_step + 2, 10**6),
        (len(numbers) - 1, numbers[0]),
    ]:
        broken = [*numbers[:place], value, *numbers[place + 1 :]]
        with pytest.raises(ValueError, match="do not fit"):
            plan(broken)
    with pytest.raises(ValueError, match="do not fit"):
        plan(numbers, slots=(*made.slots[:-1], numbers[0]))
    with pytest.raises(ValueError, match="do not fit"):
        plan(numbers, values=made.values[:-1])
    with pytest.raises(ValueError, match="no driver"):
        machine.plan("avx9", 64, b"", b"", (), b"", (0, 0, 0, 0, 0, 0))
