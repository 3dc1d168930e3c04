"""Rolled sweeps give the reference's results, interpreted and as C."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from condyle.backends.c.build import build
from condyle.backends.common.facts import Facts
from condyle.backends.common.loops import layout
from condyle.errors import UnsupportedError
from condyle.functions import DEFAULT, FUNCTIONS
from condyle.ir.interp import run_rolled
from condyle.ir.loops import Rolled
from condyle.model.tree import Tree, tree_of
from condyle.specification import Function
from condyle.specification.ports import F_EXT
from condyle.trace.loops import roll, rolled_route
from condyle.trace.reference import evaluate
from tests.processor import slow
from tests.zoo import every_joint

# Both sides round differently: the condition of M (1e2 to 1e4 for these trees) times a few hundred roundings.
TOLERANCE = 1e-10
N = 5


def rows(robot: condyle.Robot, tree: Tree, function: Function) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    q, v = robot.random_state(N, rng)
    known = {"q": q, "v": v, "a": rng.normal(size=v.shape), "tau": rng.normal(size=v.shape)}
    if function.has_forces:
        known["f_ext"] = rng.normal(size=(N, 6 * len(robot.bodies)))
    if function.plain is FUNCTIONS["difd"]:
        known["Minv"] = evaluate(tree, FUNCTIONS["minv"], "ltl", known)[0]
    return {port.name: known[port.name] for port in function.inputs}


def close(found: np.ndarray, expected: np.ndarray) -> bool:
    return float(np.max(np.abs(found.reshape(expected.shape) - expected))) <= TOLERANCE * float(
        np.max(np.abs(expected))
    )


@pytest.fixture(scope="module", params=[False, True], ids=["fixed", "floating"])
def robot(request: pytest.FixtureRequest) -> condyle.Robot:
    """A robot with every joint type, but no mimic joint."""
    return condyle.random_tree(5 if request.param else 6, 4, floating_base=request.param)


@pytest.mark.parametrize("function", DEFAULT)
def test_the_interpreter_agrees_with_the_reference(robot: condyle.Robot, function: str) -> None:
    tree, forced = tree_of(robot), FUNCTIONS[function].taking(F_EXT)
    inputs = rows(robot, tree, forced)
    rolled = roll(tree, forced)
    expected = evaluate(tree, forced, "ltl" if function in ("fd", "minv") else FIRST[function], inputs)
    for found, answer in zip(run_rolled(rolled, list(inputs.values())), expected, strict=True):
        assert close(found, answer)


def test_a_product_in_loops_has_its_sign() -> None:
    """Of derivatives by Minv, the only ones that end in a product of matrices."""
    robot = condyle.chain(3, 1)
    tree, function = tree_of(robot), FUNCTIONS["difd"]
    inputs = rows(robot, tree, function)
    found = run_rolled(roll(tree, function), list(inputs.values()))
    for one, answer in zip(found, evaluate(tree, function, "adjoint", inputs), strict=True):
        assert close(one, answer)


FIRST = {"id": "rnea", "m": "crba", "did": "adjoint", "dfd": "ltl+adjoint", "difd": "adjoint"}


@pytest.mark.parametrize("function", ["m", *(slow(name) for name in DEFAULT if name != "m")])  # it has a walk
def test_c_agrees_with_the_interpreter(function: str) -> None:
    robot = condyle.random_tree(4, 9)
    tree, forced = tree_of(robot), FUNCTIONS[function].taking(F_EXT)
    inputs = list(rows(robot, tree, forced).values())
    rolled = roll(tree, forced)
    expected = [answer.reshape(N, -1) for answer in run_rolled(rolled, inputs)]
    found = [np.full_like(answer, np.nan) for answer in expected]
    build(rolled, Facts(robot.nq, robot.nv))(N, inputs, found, 1)
    for one, answer in zip(found, expected, strict=True):
        assert close(one, answer)


def test_every_function_has_loops() -> None:
    assert all(rolled_route(FUNCTIONS[function]) for function in DEFAULT)


def test_mass_matrix_and_inverse_are_symmetric_to_the_bit() -> None:
    robot = condyle.chain(6, 1)
    tree = tree_of(robot)
    for function in ("m", "minv"):
        (matrix,) = run_rolled(roll(tree, FUNCTIONS[function]), [robot.random_state(N, 0).q])
        assert np.array_equal(matrix, np.swapaxes(matrix, 1, 2))


def test_shared_coordinates_are_refused() -> None:
    robot = every_joint()
    if not tree_of(robot).has_shared_coordinates:
        builder = condyle.Builder()
        for name in ("a", "b"):
            builder.body(name, mass=1.0, com=(0.1, 0, 0), inertia=np.eye(3))
        builder.joint("j", type="revolute", parent="world", child="a", axis=(0, 0, 1))
        builder.joint("k", type="revolute", parent="a", child="b", axis=(0, 0, 1), mimic=("j", 0.5, 0.1))
        robot = builder.build()
    with pytest.raises(UnsupportedError, match="mimic"):
        roll(tree_of(robot), FUNCTIONS["id"])


@pytest.mark.slow  # a long chain is compiled
def test_a_long_chain_is_compiled_as_loops_and_agrees() -> None:
    robot = condyle.chain(80, 2)  # counted, not estimated
    q, v = robot.random_state(2, 0)
    dyn = robot.compile(target="c")
    found = dyn.inverse_dynamics_derivatives(q, v, v)
    assert isinstance(dyn._compiler.best(FUNCTIONS["did"]).code, Rolled)
    expected = robot.compile(target="numpy").inverse_dynamics_derivatives(q, v, v)
    assert all(close(one, answer) for one, answer in zip(found, expected, strict=True))


@pytest.mark.slow  # counting a long chain takes seconds
def test_explain_and_counts_say_rolled() -> None:
    counts = {row["function"]: row for row in condyle.operation_counts(condyle.chain(120, 2))}
    assert counts["did"]["route"] == "closed_form, rolled"
    assert counts["fd"]["route"] in ("aba", "aba, rolled")


def test_memory_is_linear_in_the_links() -> None:
    """The workspace of forward dynamics, in slots a link, is the same for 100 and 1000 links."""
    per_link = [layout(roll(tree_of(condyle.chain(n, 0)), FUNCTIONS["fd"])).size / n for n in (100, 1000)]
    assert abs(per_link[0] - per_link[1]) < 2.0  # rows that are passed on are shared by more links


def test_sweeps_are_shared() -> None:
    """Forward dynamics has three sweeps: outward, inward, outward; its gradient adds an inward sweep, pairs and
    columns."""
    for function, loops in (("id", 3), ("fd", 4), ("did", 4), ("dfd", 9)):
        assert len(roll(tree_of(condyle.chain(9, 0)), FUNCTIONS[function]).loops) == loops


def test_places_are_given_out_again() -> None:
    """Two entries share a place only if, joint by joint, the last read of one is before the first write of the
    other."""
    place = layout(roll(tree_of(condyle.chain(9, 0)), FUNCTIONS["fd"]))
    assert place.block_width < len(place.kept)
    assert len(set(place.kept.values())) == len(place.kept)
