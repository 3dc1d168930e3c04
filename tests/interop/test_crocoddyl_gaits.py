"""crocoddyl's gait examples on our contacts, beside its own contacts and its own log."""

from __future__ import annotations

import numpy as np
import pytest

from tests.interop.cases import crocoddyl, ours

pytest.importorskip("example_robot_data", reason="pip install 'condyle[twins-data]' (420 MB)")
assert crocoddyl and ours

from benchmarks.crocoddyl_gaits import GAITS, Quadruped, differences, logged  # noqa: E402


@pytest.fixture(scope="module")
def of() -> Quadruped:
    return Quadruped()


@pytest.mark.slow
def test_gaits_have_the_iterations_and_costs_of_crocoddyls_log(of: Quadruped) -> None:
    """All five, each from where the one before ended: to the log's four digits, and to 1e-6 of its own nodes'."""
    found, wanted = of.all(True), of.all(False)
    assert list(found) == list(GAITS)
    assert max(differences(found, wanted).values()) < 1e-6
    assert max(differences(found, {name: logged(name) for name in GAITS}).values()) < 5e-4


@pytest.mark.slow
def test_a_trot_has_crocoddyls_motion_with_its_costs_and_with_a_residual(of: Quadruped) -> None:
    theirs = of.problem(of.gaits(), "trotting", of.standing)
    want, costs = of.solve(theirs)
    for problem in (of.rebuilt(theirs), of.by_residual(theirs)):
        assert [len(which) for _, which in problem._groups] == [theirs.T - 2, 2]  # two impacts; every node is ours
        have, found = of.solve(problem)
        assert len(found) == len(costs) and np.allclose(found, costs, rtol=1e-6)
        assert np.allclose(np.array(have.xs), np.array(want.xs), atol=1e-6)
        assert np.allclose(np.concatenate(list(have.us)), np.concatenate(list(want.us)), atol=1e-4)
