"""The PTX of every function, run instruction by instruction, agrees with the reference."""

from __future__ import annotations

import dataclasses
from functools import cache

import numpy as np
import pytest

from condyle import Robot, random_tree
from condyle.backends.cuda.launches import NAME, Part, Parts, straight
from condyle.backends.cuda.target import TARGET, Target
from condyle.cli.check import allowed
from condyle.functions import DEFAULT, FUNCTIONS
from condyle.ir.program import Array, Output, Program
from condyle.model.tree import tree_of
from condyle.trace.reference import evaluate
from tests.backends.c.small import meaning, states, tangle, toy
from tests.backends.cuda.machine_code import hold_code
from tests.backends.cuda.simulate import Floats, compiler, made, robot, simulate
from tests.forces import function_with
from tests.processor import slow

ARM, QUADRUPED = ("iiwa14", False), ("hyq", True)
"""Derivatives of the first fit into one kernel, those of the second do not."""


def robots(*quick: tuple[str, bool]) -> list[object]:
    """Every bundled robot, fixed and floating; those that are not quick to check are slow tests."""
    every = [(name, floating) for name in ("iiwa14", "hyq", "atlas") for floating in (False, True)]
    return [pytest.param(*one, marks=() if one in quick else pytest.mark.slow) for one in every]


def given(one: Robot, function: str, n: int, f_ext: bool = False, seed: int = 0) -> list[Floats]:
    """Random inputs, flat rows; the first state is neutral and at rest, the next two have turned often, and so often
    that their angles are reduced by a loop."""
    rng = np.random.default_rng(seed)
    state = one.random_state(n, rng)
    known = {name: rng.uniform(-1.0, 1.0, (n, one.nv)) for name in ("a", "tau")} | {"dt": np.full((n, 1), 0.01)}
    known |= {"q": state.q, "v": state.v, "f_ext": rng.uniform(-5.0, 5.0, (n, len(one.bodies) * 6))}
    for name in ("v", "a", "tau"):
        known[name][:1] = 0.0
    known["q"][:1] = one.neutral()
    turning = [joint.q_slice.start for joint in one.joints if joint.type in ("revolute", "continuous")]
    known["q"][1:2, turning] += 2000.0 * np.pi
    known["q"][2:3, turning] += 4e5
    if function == "difd":
        (inverse,) = evaluate(tree_of(one), FUNCTIONS["minv"], "ltl", {"q": known["q"]})
        known["Minv"] = inverse
    return [known[port.name] for port in function_with(function, f_ext).inputs]


@cache
def condition(one: Robot) -> float:
    """The worst of M at the states that are tested."""
    (M,) = evaluate(tree_of(one), FUNCTIONS["m"], "crba", {"q": given(one, "m", 37)[0]})
    return float(np.linalg.cond(np.reshape(M, (-1, one.nv, one.nv))).max())


def check(one: Robot, function: str, bits: int, f_ext: bool = False, n: int = 37, target: Target = TARGET) -> None:
    check_made(one, function, bits, made(one, function, bits, f_ext, target), f_ext, n)


def check_made(one: Robot, function: str, bits: int, what: Parts, f_ext: bool, n: int) -> list[Floats]:
    """Every text of a function, to the contract's accuracy, which allows for the condition of M; what the last gave."""
    inputs = [array.astype(f"f{bits // 8}") for array in given(one, function, n, f_ext)]
    names = [port.name for port in function_with(function, f_ext).inputs]
    rows = {name: array.astype(np.float64) for name, array in zip(names, inputs, strict=True)}
    route = compiler(one).reference_route(FUNCTIONS[function])
    wanted = evaluate(tree_of(one), FUNCTIONS[function], route, rows)
    most = allowed(FUNCTIONS[function], f"float{bits}", condition(one))
    answers: list[Floats] = []
    for choice in range(max(len(part.texts) for part in what.launches)):
        answers = simulate(what, inputs, choice=choice)
        for got, want in zip(answers, wanted, strict=True):
            error = float(np.abs(got - want).max() / np.abs(want).max())
            assert error <= most
    return answers


@pytest.mark.parametrize("bits", [slow(32), 64])
@pytest.mark.parametrize("function", [slow(one) if one == "difd" else one for one in DEFAULT])
@pytest.mark.parametrize(("name", "floating"), robots(ARM))
def test_every_function(name: str, floating: bool, function: str, bits: int) -> None:
    """In shared memory that notices races; and its machine code keeps the limits."""
    one = robot(name, floating)
    check(one, function, bits)
    for part in made(one, function, bits).launches:
        if part.texts[0].name in (f"condyle_{function}", NAME):  # others are other functions' kernels
            hold_code(part, function, bits, floating)


FORCED = [name for name, one in FUNCTIONS.items() if one.takes_f_ext and "contacts" not in one.options]
"""Kernels of contacts with forces are run in tests/contacts/test_targets.py."""


@pytest.mark.parametrize("function", [slow(one) if one in ("difd", "dstep") else one for one in FORCED])
def test_external_forces(function: str) -> None:
    check(robot("iiwa14"), function, 64, f_ext=True)


def test_every_joint_type() -> None:
    for seed in range(2):
        one = random_tree(4, seed)
        check(one, "id", 64)
        check(one, "dfd", 64)


@pytest.mark.slow
@pytest.mark.parametrize("function", [slow("dfd"), "difd"])
def test_split_is_the_same_function(function: str) -> None:
    """Both ways to launch it, on a robot that fits into one kernel."""
    one, split = robot("iiwa14"), dataclasses.replace(TARGET, longest=0, longest_given=0)
    assert len(made(one, function, 64).launches) == 1
    assert len(made(one, function, 64, target=split).launches) == (4 if function == "dfd" else 2)
    check(one, function, 64, f_ext=function == "dfd", target=split)


@pytest.mark.parametrize("n", [1, 31, 32, 33, 64, 100])
@pytest.mark.parametrize("block", [32, 64, 128])
def test_place_in_the_batch_does_not_matter(n: int, block: int) -> None:
    """Any batch, any block: the same bits for a state, and nothing is written beyond the last."""
    one = robot("iiwa14")
    inputs = given(one, "id", 100)
    what = made(one, "id", 64)
    (alone,) = simulate(what, inputs, block=64)
    (some,) = simulate(what, [array[:n] for array in inputs], block=block)
    np.testing.assert_array_equal(some, alone[:n])
    (shifted,) = simulate(what, [np.roll(array, 7, axis=0) for array in inputs], block=block)
    np.testing.assert_array_equal(shifted, np.roll(alone, 7, axis=0))


def test_one_row_serves_every_state() -> None:
    one = robot("iiwa14")
    q, v, a = given(one, "id", 40)
    what = made(one, "id", 64)
    (shared,) = simulate(what, [q[:1], v, a[:1]])
    (spread,) = simulate(what, [np.repeat(q[:1], 40, 0), v, np.repeat(a[:1], 40, 0)])
    np.testing.assert_array_equal(shared, spread)


def test_nan_spoils_its_own_state_only() -> None:
    one = robot("iiwa14")
    inputs = given(one, "fd", 40)
    what = made(one, "fd", 64)
    (clean,) = simulate(what, inputs)
    for bad in (np.nan, np.inf, -np.inf):
        spoilt = [array.copy() for array in inputs]
        spoilt[0][5, 2] = bad
        (got,) = simulate(what, spoilt)
        assert not np.isfinite(got[5]).all()
        np.testing.assert_array_equal(np.delete(got, 5, 0), np.delete(clean, 5, 0))


@pytest.mark.parametrize("values", [6, 9, 20])
@pytest.mark.parametrize("pool", [1_000, 24_000])
def test_few_registers_and_little_shared_memory(values: int, pool: int) -> None:
    """Parking and narrow tiles change nothing."""
    tight = dataclasses.replace(TARGET, values32=values, values64=values, trust=1.0, pool=pool, eager=4, many=10**9)
    for program in (tangle(3), tangle(5), toy(width=9, side=6), toy()):
        same(program, straight(program, 64, tight), 64)


@pytest.mark.parametrize("bits", [32, 64])
def test_outputs_that_are_inputs_constants_or_nothing(bits: int) -> None:
    nodes = (("input", 0, 0), ("const", 2.5), ("neg", 0), ("sin", 1), ("cos", 0), ("sin", 3))
    outputs = tuple(Output(0, k, node) for k, node in ((0, 0), (1, 1), (3, 2), (4, 3), (5, 4), (60, 5), (8, 2)))
    program = Program("odd", (Array("x", (3,)),), (Array("y", (70,)), Array("z", (5,))), nodes, outputs)
    same(program, straight(program, bits), bits)


@pytest.mark.parametrize("bits", [32, 64])
def test_rows_of_every_kind(bits: int) -> None:
    """Whole rows with and without gaps, tiles, single numbers; warps with all 32 states and with fewer; dense rows, and
    one row for all states."""
    sizes = (1, 2, 7, 12, 32, 36, 49, 64, 70)
    nodes: list[tuple[str, int] | tuple[str, int, int]] = []
    outputs: list[Output] = []
    for array, size in enumerate(sizes):
        for entry in range(size):
            nodes += [("input", array, entry), ("neg", len(nodes))]
            outputs.append(Output(array, entry, len(nodes) - 1))
    arrays = [tuple(Array(f"{name}{size}", (size,)) for size in sizes) for name in "xy"]
    program = Program("copies", arrays[0], arrays[1], tuple(nodes), tuple(outputs))
    what = dataclasses.replace(made(robot("iiwa14"), "id", bits), inputs=arrays[0], outputs=arrays[1])
    what = dataclasses.replace(what, launches=(straight(program, bits),))
    rng = np.random.default_rng(0)
    rows = [rng.uniform(-1, 1, (77, size)).astype(f"f{bits // 8}") for size in sizes]
    for given in (rows, [rows[0][:1], *rows[1:]], [*rows[:3], rows[3][:1], *rows[4:]]):
        for got, x in zip(simulate(what, given), given, strict=True):
            np.testing.assert_array_equal(got, np.broadcast_to(-x, (77, x.shape[1])))


def same(program: Program, part: Part, bits: int) -> None:
    """The part computes what the Program means."""
    inputs = states(program, 37, f"float{bits}")
    what = made(robot("iiwa14"), "id", bits)
    what = dataclasses.replace(what, inputs=program.inputs, outputs=program.arrays, launches=(part,))
    with np.errstate(all="ignore"):
        wanted = meaning(program, inputs)
    for choice in range(len(part.texts)):
        for got, want in zip(
            simulate(what, [np.reshape(a, (37, -1)) for a in inputs], choice=choice), wanted, strict=True
        ):
            flat = np.reshape(want, (37, -1))
            np.testing.assert_allclose(got, flat, rtol=1e-9 if bits == 64 else 1e-4, atol=1e-11 if bits == 64 else 1e-5)
