"""The door between physics and Programs: ports, sizes, and the same text every time."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from condyle.algorithms.normal_form import regrouped
from condyle.functions import DEFAULT, FUNCTIONS
from condyle.ir.count import count
from condyle.ir.interp import run
from condyle.ir.program import verify
from condyle.model.tree import tree_of
from condyle.specification.ports import F_EXT
from condyle.trace.straight import sizes, trace
from tests.laws.robots import robot_named

TREE = tree_of(robot_named("tree-1"))


@pytest.mark.parametrize("function", DEFAULT)
def test_ports_are_those_of_the_signature(function: str) -> None:
    route = FUNCTIONS[function].route_names(False)[0]
    for about in {FUNCTIONS[function], FUNCTIONS[function].taking(F_EXT)}:
        program = verify(trace(TREE, about, route))
        assert program.name == about.name
        assert [array.name for array in program.inputs] == [port.name for port in about.inputs]
        assert [array.name for array in program.arrays] == [port.name for port in about.outputs]
        for array, port in zip((*program.inputs, *program.arrays), (*about.inputs, *about.outputs), strict=True):
            assert array.shape == port.shape(sizes(TREE))


def test_every_route_of_every_function_is_traced_soundly() -> None:
    small = tree_of(condyle.random_tree(2, rng=4))
    for function in DEFAULT:
        for route in FUNCTIONS[function].route_names(False):
            verify(trace(small, FUNCTIONS[function], route))


def test_the_same_robot_gives_the_same_program() -> None:
    assert trace(TREE, FUNCTIONS["id"], "rnea") == trace(tree_of(robot_named("tree-1")), FUNCTIONS["id"], "rnea")


def test_regrouping_saves_operations() -> None:
    chain = tree_of(condyle.chain(6))
    joint_space, exact = (trace(chain, FUNCTIONS["id"], "rnea", exact) for exact in (False, True))
    assert count(joint_space).arithmetic < count(exact).arithmetic


def test_regrouping_moves_mass_and_loses_none_of_it() -> None:
    """Of a floating robot all mass is still there; of a fixed one what hangs on the first joint's axis is gone."""
    floating = tree_of(robot_named("hyq_floating"))
    moved = regrouped(floating)
    total = sum(link.numbers.mass for link in floating.links)
    assert moved.links[0].numbers.mass == pytest.approx(total, rel=1e-14)
    assert [link.numbers.mass for link in moved.links[1:]] == [0.0] * (len(moved.links) - 1)


def test_entries_that_are_always_zero_are_no_outputs() -> None:
    """Two branches on the world: nothing couples them."""
    builder = condyle.Builder("fork")
    builder.body("base")
    for name in ("left", "right"):
        builder.body(name, mass=1.0, com=(0.1, 0.0, 0.0), inertia=0.01 * np.eye(3))
        builder.joint(name, parent="base", child=name, type="continuous", axis=(0, 1, 0))
    program = trace(tree_of(builder.build()), FUNCTIONS["m"], "crba")
    assert {(output.index) for output in program.outputs} == {0, 3}
    (M,) = run(program, [np.array([[0.3, 0.4]])])
    assert M[0, 0, 1] == M[0, 1, 0] == 0.0
