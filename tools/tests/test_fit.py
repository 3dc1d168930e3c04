"""What the tool fits for a function's row, held to what rows of the library say and to counts of other robots."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from condyle.algorithms.unrolled import Unrolled
from condyle.errors import UnsupportedError
from condyle.functions import FUNCTIONS, registered
from condyle.model.tree import tree_of
from condyle.scalar import Scalar, number, sqrt
from condyle.specification import ROUNDING, SOME, Function, Route, Size, Ways
from condyle.trace.straight import straight_size
from tests.functions.first_moment import FIRST_MOMENT
from tests.processor import slow
from tools import fit

SINGLE = float(np.finfo(np.float32).eps)
FACTOR = 3.0  # an estimate of operations chooses between forms whose lengths differ by more
SPARSE = 2.0  # placements of real robots have zeros: half of the operations (`condyle.specification.routes.Size`)
MARGINS = (
    16.0  # the margin of a row is a choice: of fd 100 times what errs most here, of minv 20; that of the tool is 10
)

measures_errors = pytest.mark.skipif(
    bool(np.finfo(np.longdouble).eps >= np.finfo(np.float64).eps),
    reason="long double has no more digits than float64 here, and errors of float64 are measured by it",
)


@pytest.mark.parametrize("name", ["id", "com", slow("m"), slow("fd"), slow("did"), slow("minv")])
def test_a_fitted_size_is_near_the_count_of_another_robot(name: str) -> None:
    function = FUNCTIONS[name]
    size = fit.size_of(function)
    chain, tree, arm = condyle.chain(12, 5), condyle.random_tree(30, 6, types=("revolute",)), condyle.load("iiwa14")
    for robot, most in ((chain, FACTOR), (tree, FACTOR), (arm, SPARSE * FACTOR)):
        ratio = straight_size(tree_of(robot), size) / fit.operations(fit.Case(robot), function)
        assert 1.0 / FACTOR < ratio < most, robot.name


@measures_errors
@pytest.mark.parametrize("name", ["id", "m", "com", "fd", slow("minv"), slow("dfd")])
def test_a_row_allows_what_is_measured(name: str) -> None:
    """In float32 a function that solves with M has what its condition allows, as every reader of a row takes it."""
    function = FUNCTIONS[name]
    double, single = fit.accuracy_of(function)
    largest = max(fit.errors(case, function)[1] for case in fit.robots(function))
    assert 0.0 < double <= function.accuracy.float64
    assert double < single <= max(function.accuracy.float32, function.condition * largest * SINGLE)


@measures_errors
@pytest.mark.parametrize("name", ["m", slow("id"), slow("com"), slow("jac")])
def test_errors_of_what_solves_nothing_do_not_grow_with_the_condition_of_m(name: str) -> None:
    assert fit.condition_of(FUNCTIONS[name]) == FUNCTIONS[name].condition == 0.0


@measures_errors
@pytest.mark.parametrize("name", ["fd", slow("minv"), slow("difd"), slow("dstep")])
def test_the_condition_is_that_of_the_row_but_for_the_margin(name: str) -> None:
    ratio = fit.condition_of(FUNCTIONS[name]) / FUNCTIONS[name].condition
    assert 1.0 / MARGINS <= ratio <= MARGINS


@measures_errors
def test_a_function_whose_row_says_nothing_gets_all_three(capsys: pytest.CaptureFixture[str]) -> None:
    moment = FIRST_MOMENT
    silent = Function("fsilent", "silent_moment", moment.equation, moment.inputs, moment.outputs, moment.ways)
    assert (silent.size, silent.accuracy, silent.condition) == (SOME, ROUNDING, 0.0)
    with registered(silent):
        assert fit.main(["fsilent"]) == 0
    fitted, now = capsys.readouterr().out.splitlines()
    size, accuracy = fit.size_of(silent), fit.accuracy_of(silent)
    assert fitted == f"fsilent: {fit.row(size, accuracy, 0.0)}"
    assert now == "    now Size(600), Accuracy(1e-12, 2e-5)"
    assert size.pair == size.triple == size.row == 0
    assert moment.size.link / FACTOR < size.link < moment.size.link * FACTOR
    assert accuracy.float64 <= moment.accuracy.float64
    assert accuracy.float32 <= moment.accuracy.float32


@pytest.mark.slow
def test_functions_of_contacts_are_fitted_to_robots_on_their_feet() -> None:
    for name in ("kktm", "cfd"):
        size = fit.size_of(FUNCTIONS[name])
        other = fit.standing("hyq", ("lf_foot", "rh_foot", "rf_foot"), "point")
        ratio = straight_size(other.tree(FUNCTIONS[name]), size) / fit.operations(other, FUNCTIONS[name])
        assert 1.0 / FACTOR < ratio < FACTOR, name


@pytest.mark.parametrize("size", [Size(70), Size(0, 12), Size(0, 0, 3), Size(100, 0, 3), Size(20, 30, 4)])
def test_counts_that_are_an_estimate_give_it_back(size: Size) -> None:
    """One term exactly; of more terms, what is close, for a small one is not worth it."""
    trees = [tree_of(condyle.chain(n)) for n in fit.LENGTHS]
    counts = [straight_size(tree, size) for tree in trees]
    fitted = fit.fitted(trees, counts)
    if np.count_nonzero(size) == 1:
        assert fitted == size
    for tree, count in zip(trees, counts, strict=True):
        assert 1.0 / fit.CLOSE < straight_size(tree, fitted) / count < fit.CLOSE


def test_numbers_are_rounded_up() -> None:
    assert [fit.two_digits(x) for x in (0.2, 7.3, 41.2, 99.5, 123.0)] == [1, 8, 42, 100, 130]
    assert [fit.one_two_five(x) for x in (1.1e-12, 3e-12, 4e-6, 7e-6, 0.0)] == [2e-12, 5e-12, 5e-6, 1e-5, 5e-16]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["forward"], "there is no function 'forward'"),
        (["rollout_3_by_tau_of_step"], "a rollout has no row of its own; fit step"),
        ([], "give names of functions, or --all"),
        (["id", "--all"], "give names of functions, or --all"),
    ],
)
def test_what_it_cannot_take_is_said(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        fit.main(arguments)
    assert message in capsys.readouterr().err


def test_answers_without_digits_are_refused() -> None:
    """NaN is no accuracy, and no crash of the rounding."""
    moment = FIRST_MOMENT

    def run(tree: Unrolled) -> tuple[list[Scalar]]:
        return ([sqrt(number(-1.0) + tree.inputs["q"][0] * 0.0)] * 3,)

    ways = Ways(lambda: {"sweep": Route(run)})
    broken = Function("fbroken", "broken", "nothing", moment.inputs, moment.outputs, ways)
    with pytest.raises(UnsupportedError, match=r"fbroken: at random states of .* have no digits"):
        fit.accuracy_of(broken)
