"""Matrices by lanes that are links: launch after launch on the interpreter, against the reference."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from benchmarks.parallel import parts
from condyle.backends.cuda.kernel import link
from condyle.backends.cuda.launches import Parts
from condyle.backends.cuda.target import ARCHITECTURES
from condyle.functions import FUNCTIONS
from condyle.ir.program import Array
from condyle.links.algorithms import dynamics as elements
from condyle.links.algorithms.links import Links, OfJoints
from condyle.links.compiler import guard
from condyle.links.cuda.part import launch
from condyle.links.trace import by_links, solve
from condyle.model.tree import tree_of
from condyle.trace.reference import evaluate
from tests.backends.cuda.simulate import simulate
from tests.backends.cuda.test_links import robot_for
from tests.forces import function_with
from tests.laws.robots import relative, states
from tests.processor import slow

SERIAL = {"m": "crba", "minv": "aba", "did": "closed_form", "dfd": "minv+closed_form", "difd": "closed_form"}

BOUNDS = {"float64": 1e-10, "float32": 1e-3}
"""The condition of M enters; in float32 the reference itself loses 1.5e-3 of derivatives of the chain of 34."""


@pytest.mark.parametrize("function", SERIAL)
@pytest.mark.parametrize(
    ("name", "n", "dtype"),
    [
        ("chain 3", 2, "float32"),
        ("chain 34", 1, "float32"),
        slow("floating 5", 1, "float64"),
        slow("hyq", 2, "float64"),
    ],
)
def test_matrices(name: str, n: int, dtype: str, function: str) -> None:
    """Chains and trees, a warp and a block; columns that do not fill their last task; outer forces in float64."""
    robot = robot_for(name)
    tree, some = tree_of(robot), states(robot, n)
    inverse = np.random.default_rng(1).standard_normal((n, robot.nv * robot.nv))
    known = {"q": some.q, "v": some.v, "a": some.a, "tau": 0.1 * some.a, "Minv": inverse}
    known["f_ext"] = some.f_ext.reshape(n, -1)
    forced = function_with(function, dtype == "float64")
    inputs = {port.name: known[port.name] for port in forced.inputs}
    got = simulate(parts(tree, forced, dtype), list(inputs.values()))
    for one, want in zip(got, evaluate(tree, FUNCTIONS[function], SERIAL[function], inputs), strict=True):
        assert relative(one, want) < BOUNDS[dtype]
        if function in ("m", "minv"):
            square = one.reshape(n, robot.nv, robot.nv)
            np.testing.assert_array_equal(square, square.transpose(0, 2, 1))


def test_columns_are_solved_where_they_lie() -> None:
    """No thread reads what another one writes, also where the last warp has nothing to do."""
    robot = condyle.chain(3, rng=1)
    made = parts(tree_of(robot), FUNCTIONS["dfd"], "float32")
    solve = made.launches[3].texts[0]
    assert solve.tasks == 1 and solve.states > 1
    some = states(robot, 3)
    for block in (32, 64):
        (got, *_) = simulate(made, [some.q, some.v, 0.1 * some.a], block)
    inputs = {"q": some.q, "v": some.v, "tau": 0.1 * some.a}
    (want, *_) = evaluate(tree_of(robot), FUNCTIONS["dfd"], SERIAL["dfd"], inputs)
    assert relative(got, want) < 1e-4


def at_rest(links: Links) -> tuple[OfJoints]:
    return (elements.eliminated(links, elements.loaded(links, links.still, links.still)),)


def test_columns_meet_in_device_memory_each_task_in_its_own() -> None:
    """Where shared memory is too small for the maps of all links of a tree."""
    robot, lanes = robot_for("hyq"), 256
    tree = tree_of(robot)
    q, inverse = Array("q", (robot.nq,)), Array("Minv", (robot.nv, robot.nv))
    code = by_links(tree, lanes, False, guard("float64"), at_rest, eliminates=True)
    solver = Array("scratch solver", (code.totals["solver"],))
    before = launch(code, [q], [solver], 64)
    columns = launch(solve(tree, lanes, True), [solver], [inverse], 64)
    assert columns.texts[0].tasks == 5 and columns.writes[1].size == 5 * 60 * lanes
    inputs = {"q": robot.random_state(2, 0).q}
    (got,) = simulate(Parts("minv", 64, (q,), (inverse,), (before, columns)), list(inputs.values()))
    (want,) = evaluate(tree, FUNCTIONS["minv"], "aba", inputs)
    assert relative(got, want) < BOUNDS["float64"]


@pytest.mark.slow  # assembling takes seconds
@pytest.mark.parametrize(("arch", "dtype"), [*zip(ARCHITECTURES, ("float32", "float64", "float32"), strict=True)])
def test_the_assembler_takes_matrices(arch: str, dtype: str) -> None:
    pytest.importorskip("cuda.bindings.nvjitlink", reason="pip install 'condyle[cuda]'")
    tree = tree_of(condyle.chain(33, rng=1))
    made = [parts(tree, FUNCTIONS[function], dtype).launches for function in ("dfd", "difd", "m")]
    for ptx in {part.texts[0].ptx for part in (*made[0], *made[1][1:], *made[2][1:])}:
        _, usage = link(ptx, arch)
        assert usage.registers <= 255
