"""Integration by series against the joints' own exponentials; brackets by the order that Runge-Kutta then has."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from condyle import fpga
from condyle.algorithms import stepping
from condyle.model.joints import JOINT_TYPES
from condyle.model.joints.lie import LARGEST_TURN, terms
from tests.model.joints.arrays import difference, integrate


@pytest.mark.parametrize("name", JOINT_TYPES)
@pytest.mark.parametrize("turn", [1e-3, 0.1, LARGEST_TURN])
def test_series_are_the_exponential(name: str, turn: float) -> None:
    kind, rng = JOINT_TYPES[name], np.random.default_rng(3)
    q, u = kind.random(rng, 200), turn / np.sqrt(3.0) * rng.uniform(-1.0, 1.0, (200, kind.nv))
    for bits in (27, 40):
        found = np.stack(kind.integrate_by_series(list(q.T), list(u.T), terms(turn, bits)).q, axis=1)
        assert np.abs(found - integrate(kind, q, u)).max() < 2.0**-bits


@pytest.mark.parametrize("name", [name for name, kind in JOINT_TYPES.items() if not kind.is_flat])
def test_the_bracket_is_what_two_small_motions_do_not_commute_by(name: str) -> None:
    """exp(x) exp(y) exp(-x) exp(-y) = exp([x, y]) to third order."""
    kind, rng = JOINT_TYPES[name], np.random.default_rng(4)
    x, y = 1e-3 * rng.uniform(-1.0, 1.0, (2, 50, kind.nv))
    q = kind.neutral() + np.zeros((50, kind.nq))
    for u in (x, y, -x, -y):
        q = integrate(kind, q, u)
    found = np.stack([np.broadcast_to(part, 50) for part in kind.bracket(list(x.T), list(y.T))], axis=1)
    moved_by = difference(kind, kind.neutral() + np.zeros((50, kind.nq)), q)
    assert np.abs(found).max() > 1e-7
    assert np.abs(moved_by - found).max() < 1e-8


def test_runge_kutta_is_of_fourth_order_on_curves_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference of accelerators, which is that of every other target."""
    robot = condyle.random_tree(2, 1, types=("revolute", "spherical"), floating_base=True)
    rng = np.random.default_rng(5)
    q, v = robot.random_state(4, rng)[0], rng.uniform(-1.0, 1.0, (4, robot.nv))
    tau = rng.uniform(-1.0, 1.0, (4, robot.nv))

    def end(count: int) -> np.ndarray:
        state = {"q": q, "v": v, "tau": tau}
        for _ in range(count):
            state |= dict(zip("qv", fpga.answer_of(robot, fpga.functions()["rk4"], state, 0.1 / count), strict=True))
        return state["q"]

    truth = end(40)
    coarse, fine = (np.abs(robot.difference(truth, end(n))).max() for n in (5, 10))
    assert 12.0 < coarse / fine < 20.0
    monkeypatch.setattr(stepping, "brackets", lambda tree, x, y: [0.0 * one for one in x])
    assert np.abs(robot.difference(truth, end(10))).max() > 20.0 * fine  # of second order without
