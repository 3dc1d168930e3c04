"""What follows from a robot's tree alone, estimates of operation counts, and matrices of products."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from condyle.functions import FUNCTIONS
from condyle.ir.expr import Expr, Graph
from condyle.ir.interp import run_segments
from condyle.model.tree import Tree, tree_of
from condyle.specification.routes import Size
from condyle.trace.reference import evaluate
from condyle.trace.straight import (
    LOWER,
    NOBODY,
    UPPER,
    Step,
    arrays,
    attributed,
    connected,
    coupled,
    has_steps,
    leaves,
    multiply,
    product_size,
    products,
    rows_of,
    sizes,
    straight_size,
    trace,
    written,
)


def fork() -> Tree:
    """A base that turns, with a joint of two degrees of freedom on one side and a chain of two on the other."""
    builder = condyle.Builder("fork").body("root")
    parents = {"base": "root", "left": "base", "right": "base", "tip": "right"}
    for name, parent in parents.items():
        builder.body(name, mass=1.0, com=(0.1, 0.0, 0.0), inertia=0.01 * np.eye(3))
        if name == "left":
            axes = {"type": "universal", "axis": (1, 0, 0), "second_axis": (0, 1, 0)}
        else:
            axes = {"type": "revolute", "axis": (0, 1, 0)}
        builder.joint(f"to {name}", parent=parent, child=name, **axes)  # type: ignore[arg-type]
    return tree_of(builder.build())


BOTH = np.array(
    [
        [1, 1, 1, 1, 1],
        [1, 1, 1, 0, 0],
        [1, 1, 1, 0, 0],
        [1, 0, 0, 1, 1],
        [1, 0, 0, 1, 1],
    ],
    np.bool_,
)


def test_velocities_are_coupled_on_a_way_to_the_root() -> None:
    assert np.array_equal(coupled(fork()), BOTH)
    assert rows_of(BOTH) == ((0, 1, 2, 3, 4), (0, 1, 2), (0, 1, 2), (0, 3, 4), (0, 3, 4))
    assert connected(BOTH).all()
    apart = np.kron(np.eye(2), np.ones((2, 2))) > 0
    assert np.array_equal(connected(apart), apart)
    path = np.eye(5, dtype=np.bool_) | np.eye(5, k=1, dtype=np.bool_) | np.eye(5, k=-1, dtype=np.bool_)
    assert connected(path).all()


def test_an_estimate_adds_links_pairs_and_triples() -> None:
    """The universal joint is two links of one coordinate. Depths are 1, 2, 3, 2, 3."""
    tree = fork()
    parts = {Size(1): 5, Size(0, 1): 11, Size(0, 0, 1): 27, Size(0, 0, 0, 1): 0, Size(7, 10, 100): 7 * 5 + 110 + 2700}
    assert {size: straight_size(tree, size) for size in parts} == parts
    free = tree_of(condyle.random_tree(1, 0, types=("revolute",), floating_base=True))
    assert [straight_size(free, size) for size in (Size(1), Size(0, 1), Size(0, 0, 1))] == [2, 36 + 7, 6**3 + 49]


def test_an_estimate_counts_rows_of_contacts() -> None:
    builder = condyle.Builder("one").body("root").body("body", mass=1.0, inertia=0.01 * np.eye(3))
    builder.joint("j", parent="root", child="body", type="revolute", axis=(0, 0, 1))
    robot = builder.build()
    bound = robot.compile("numpy", contacts=(condyle.Contact("body", "point"),))
    tree = bound._compiler.tree
    assert tree.n_rows == 3 and sizes(tree)["n_rows"] == 3 and sizes(tree)["n_contacts"] == 1
    assert straight_size(tree, Size(0, 0, 0, 1)) == 3**2 * (1 + 3)


def test_operations_of_products_with_an_inverse() -> None:
    """Dense 3 x 3: 27 terms by an inverse, 9 by each triangle, of two operations each; else those that are there."""
    full, one = np.ones((3, 3), np.bool_), np.zeros((3, 3), np.bool_)
    one[1, 2] = True
    assert products(False, full) == 54 and products(False, full, full) == 108
    assert products(True, full) == 36 and products(True, full, full) == 72
    assert products(False, one) == 2 * 2  # of the inverse both rows of a block of two
    assert products(True, one) == 2 * (0 + 1) + 0
    tree = fork()
    both = BOTH.astype(int)
    assert product_size(tree, False) == 2 * 2 * int((np.ones((5, 5), int) @ both).sum())
    upper = np.triu(both, 1)
    halves = ((both + upper @ both) > 0).astype(int)
    assert product_size(tree, True) == 2 * 2 * int((upper @ both).sum() + (upper.T @ halves).sum())


def test_entries_that_a_program_writes() -> None:
    """The axes of the universal joint are at right angles, and its body is a ball: nothing couples them."""
    (found,) = written(trace(fork(), FUNCTIONS["m"], "crba"))
    expected = BOTH.copy()
    expected[1, 2] = expected[2, 1] = False
    assert np.array_equal(found, expected)


def test_symbols_of_inputs_have_their_names_and_entries() -> None:
    graph, tree = Graph(), fork()
    inputs = arrays(tree, FUNCTIONS["id"].inputs)
    symbols = leaves(graph, inputs)
    assert {name: len(of) for name, of in symbols.items()} == {"q": 5, "v": 5, "a": 5}
    last = symbols["a"][4]
    assert isinstance(last, Expr) and graph.nodes[last.index] == ("input", 2, 4)


def test_sizes_of_a_tree() -> None:
    """The root stands still and is no body."""
    none = dict.fromkeys(("n_frames", "n_contacts", "n_rows", "n_regressor"), 0)
    assert sizes(fork()) == {"nq": 5, "nv": 5, "n_bodies": 4, **none}


@pytest.mark.parametrize(("function", "route"), [("dfd", "ltl+adjoint"), ("difd", "adjoint")])
def test_products_as_segments_are_the_function(function: str, route: str) -> None:
    """By factors of the inverse, two products for each; by an inverse that is given, one."""
    tree, what = fork(), FUNCTIONS[function]
    ways = [name for name, way in what.routes.items() if way.factors is not None]
    code = multiply(tree, what, ways[0])
    factored = {array.name for array in code.segments[0].arrays} >= {UPPER, LOWER}  # type: ignore[union-attr]
    assert factored == (function == "dfd")
    answers = len(what.outputs) - 1 if function == "dfd" else len(what.outputs)
    assert len([*code.products]) == answers * (2 if factored else 1)
    rng = np.random.default_rng(0)
    inputs = {array.name: rng.uniform(-1, 1, (3, array.size)) for array in code.inputs}
    if "Minv" in inputs:
        inputs["Minv"] = evaluate(tree, FUNCTIONS["minv"], "ltl", inputs)[0]
    expected = evaluate(tree, what, route, inputs)
    for found, wanted in zip(run_segments(code, [*inputs.values()]), expected, strict=True):
        np.testing.assert_allclose(found.reshape(3, -1), wanted, rtol=0, atol=1e-11 * np.abs(wanted).max())


def test_steps_of_a_trace_are_in_the_files_of_its_algorithm() -> None:
    step = Step("condyle.algorithms.rnea", "newton_euler")
    assert step.file == "algorithms/rnea.py" and step.says
    assert Step("condyle.algorithms.rnea", "nothing").says == Step("condyle.nowhere", "x").says == NOBODY.says == ""
    program, steps = attributed(fork(), FUNCTIONS["id"], "rnea")
    assert len(steps) == len(program) and {one.file for one in steps if one is not NOBODY} <= {
        "algorithms/rnea.py",
        "algorithms/joint.py",
        "algorithms/routes.py",
    }


def test_routes_that_are_traced_step_by_step() -> None:
    assert has_steps(FUNCTIONS["id"], "rnea") and not has_steps(FUNCTIONS["id"], "no route")
    for function in FUNCTIONS.values():
        for name, way in function.routes.items():
            assert has_steps(function, name) == (way.whole is None and not way.recorded)
