"""M and M^-1 are symmetric to the bit on every route, and packed arrays hold just the bits of dense ones."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import condyle
from benchmarks.parallel import ROUTES, evaluate
from condyle import Dynamics, Robot
from condyle.backends.cpu import build
from condyle.functions import DEFAULT, FUNCTIONS
from condyle.ir.interp import run_rolled
from condyle.model.joints import JOINT_TYPES
from condyle.runtime.packed import pack_rows
from condyle.specification import Function
from condyle.trace.loops import roll
from condyle.trace.straight import layout_of, trace
from tests.laws.evaluated import reference, tree_for
from tests.laws.robots import robot_named
from tests.laws.test_bitwise import bits

ROBOTS, COMPILED = 40, 10
SYMMETRIC = {name: k for name, f in FUNCTIONS.items() for k, port in enumerate(f.outputs) if port.symmetric}


@cache
def robots() -> tuple[Robot, ...]:
    """Of one to three joint types each, every second one floating; two with a mimic joint."""
    made = [robot_named("zoo"), robot_named("zoo_floating")]
    for seed in range(ROBOTS):
        types = np.random.default_rng(seed).permutation(list(JOINT_TYPES))[: 1 + seed % 3]
        made.append(condyle.random_tree(2 + seed % 4, seed, types=tuple(types), floating_base=seed % 2 == 1))
    return tuple(made)


def small() -> list[Robot]:
    """Those that compile in a moment."""
    return [robot for robot in robots() if robot.nv <= 8][:COMPILED]


def given(robot: Robot, function: Function, n: int) -> list[np.ndarray]:
    rng = np.random.default_rng(n)
    q, v = robot.random_state(n, rng)
    known = {"q": q, "v": v, "Minv": reference(robot, "minv", q)}
    return [
        known[port.name] if port.name in known else rng.uniform(-1.0, 1.0, (n, robot.nv)) for port in function.inputs
    ]


def check_symmetric(matrices: np.ndarray) -> None:
    assert matrices.tobytes() == np.ascontiguousarray(matrices.swapaxes(-1, -2)).tobytes()


@pytest.mark.parametrize("function", ["m", "minv"])
def test_both_triangles_are_one_expression(function: str) -> None:
    """So every target that runs straight-line code gives one number for both; no rounding can part them."""
    for robot in robots():
        tree = tree_for(robot)
        for route in FUNCTIONS[function].route_names(tree.has_shared_coordinates):
            program = trace(tree, FUNCTIONS[function], route)
            entry = {output.index: output.node for output in program.outputs}
            for index, node in entry.items():
                row, column = divmod(index, tree.nv)
                assert entry.get(column * tree.nv + row) == node, (robot, route, row, column)


@pytest.mark.parametrize("function", ["m", "minv"])
def test_the_reference(function: str) -> None:
    for robot in robots():
        q = robot.random_state(3, 0).q
        for route in FUNCTIONS[function].route_names(tree_for(robot).has_shared_coordinates):
            check_symmetric(np.asarray(reference(robot, function, q, route=route)))


@pytest.mark.parametrize("function", SYMMETRIC)
def test_loops_and_scans(function: str) -> None:
    for robot in robots()[2::4]:
        tree, inputs, k = tree_for(robot), given(robot, FUNCTIONS[function], 3), SYMMETRIC[function]
        check_symmetric(run_rolled(roll(tree, FUNCTIONS[function]), inputs)[k])
        rows = {port.name: x for port, x in zip(FUNCTIONS[function].inputs, inputs, strict=True)}
        found = evaluate(tree, FUNCTIONS[function], ROUTES[function][0], rows)[k]
        check_symmetric(np.reshape(found, (3, tree.nv, tree.nv)))


def check_packed(dyn: Dynamics, robot: Robot, name: str, n: int) -> None:
    function, inputs = FUNCTIONS[name], given(robot, FUNCTIONS[name], n)
    method = dyn.function(name)
    dense = method(*inputs)
    packed = method(*(dyn.pack(x, port.name) for x, port in zip(inputs, function.inputs, strict=True)))
    answers = packed if isinstance(packed, tuple) else (packed,)
    assert np.array_equal(bits(tuple(x.dense() for x in answers)), bits(dense), equal_nan=True), (robot, name)
    if name in SYMMETRIC:
        check_symmetric(dense[SYMMETRIC[name]] if isinstance(dense, tuple) else dense)


def test_packed_is_dense_to_the_bit() -> None:
    """Every function of some robots, on machine code."""
    for robot in small():
        dyn = robot.compile("cpu")
        for name in DEFAULT:
            check_packed(dyn, robot, name, 9)


def test_an_entry_that_is_zero_in_one_triangle_only() -> None:
    """Its mirror image came out as -2.8e-17: which was kept told packed from dense."""
    robot = condyle.random_tree(5, 9, types=("translation", "planar"))
    dyn = robot.compile("cpu", routes={"minv": "aba"})
    check_packed(dyn, robot, "minv", 8)


@pytest.mark.skipif(not build.supported(), reason="loops as machine code need AVX2 or AVX-512")
@pytest.mark.parametrize("function", ["m", "minv"])
def test_loops_as_machine_code(function: str) -> None:
    lanes, signature = build.lanes("float64"), FUNCTIONS[function]
    for robot in small():
        tree, q = tree_for(robot), robot.random_state(9, 0).q
        layouts = tuple(tuple(layout_of(tree, x, lanes) for x in of) for of in (signature.inputs, signature.outputs))
        kernel = build.load(build.assembled(roll(tree, signature), "float64", layouts=layouts), layouts)
        dense = np.empty((9, robot.nv * robot.nv))
        kernel(9, [q], [dense], 1)
        check_symmetric(np.reshape(dense, (9, robot.nv, robot.nv)))
        assert kernel.packed is not None
        packed = pack_rows(np.zeros_like(dense), layouts[1][0], (9,))
        kernel.packed.run(9, [pack_rows(q, layouts[0][0], (9,)).blocks], [packed.blocks], 1)
        assert np.array_equal(packed.dense(), np.reshape(dense, packed.shape))
