"""Link frames turned by `reframe` change no result."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from condyle.algorithms.normal_form import reframed, regrouped
from condyle.functions import DEFAULT, FUNCTIONS
from condyle.model.tree import Tree, tree_of
from condyle.specification.ports import F_EXT
from condyle.trace.reference import evaluate

ROUNDING = 1e-10  # the condition of M (to 1e4) times a few hundred roundings
FIRST = {
    "id": "rnea",
    "m": "crba",
    "did": "adjoint",
    "dfd": "ltl+adjoint",
    "difd": "adjoint",
    "fd": "ltl",
    "minv": "ltl",
}


def answers(tree: Tree, robot: condyle.Robot, function: str) -> list[np.ndarray]:
    rng = np.random.default_rng(5)
    q, v = robot.random_state(4, rng)
    known = {"q": q, "v": v, "a": rng.normal(size=v.shape), "tau": rng.normal(size=v.shape)}
    known["f_ext"] = rng.normal(size=(4, 6 * len(robot.bodies)))
    known["Minv"] = evaluate(tree_of(robot), FUNCTIONS["minv"], "ltl", known)[0]
    ports = FUNCTIONS[function].taking(F_EXT).inputs
    return list(evaluate(tree, FUNCTIONS[function], FIRST[function], {port.name: known[port.name] for port in ports}))


@pytest.mark.parametrize("function", DEFAULT)
@pytest.mark.parametrize("floating", [False, True])
def test_answers_are_the_same(function: str, floating: bool) -> None:
    """Every joint type, with external forces, regrouped before or not."""
    robot = condyle.random_tree(9, 2, floating_base=floating)
    tree = tree_of(robot)
    expected = answers(tree, robot, function)
    for turned in (reframed(tree), reframed(regrouped(tree))):
        assert turned != tree
        for found, answer in zip(answers(turned, robot, function), expected, strict=True):
            assert np.abs(found - answer).max() <= ROUNDING * np.abs(answer).max()


def test_placements_of_a_chain_are_two_turns() -> None:
    links = reframed(tree_of(condyle.chain(20, 1))).links
    for link in links[1:]:
        rows = np.array(link.numbers.rotation, dtype=float)
        assert rows[2, 0] == 0.0
        assert np.abs(rows @ rows.T - np.eye(3)).max() < 1e-14


def test_sparse_placements_are_left_alone() -> None:
    """Products with zeros cost nothing; turned frames would have other entries in their place."""
    tree = tree_of(condyle.load("hyq"))
    assert reframed(tree) == tree
