"""Where derivatives lose digits unless something is done: small and large turns, and what was there already."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from condyle.functions import function_of
from condyle.model.joints import JOINT_TYPES
from condyle.model.joints.increments import fractions
from condyle.scalar import number
from condyle.trace.reference import evaluate
from tests.derivatives.differences import L, State, error
from tests.zoo import every_joint

ROUNDINGS = 2e-14
"""Of answers that are one exponential or logarithm away, their entries being of size one to ten."""


@pytest.mark.parametrize("size", [0.0, 1e-300, 1e-14, 1e-10, 1e-8, 1e-5, 1e-2, 1.0, 1.99, 2.01, 3.0])
@pytest.mark.parametrize("function", ["jvp_integrate", "jvp_difference", "jvp_jvp_integrate"])
def test_turns_of_any_size(function: str, size: float) -> None:
    """In float64 as in long double numbers: twice differentiated too."""
    state = State(every_joint(True), "integrate")
    (q, dv), (dq, ddv) = state.point, state.tangent
    dv = size * dv / np.sqrt(3.0)
    if function == "jvp_difference":
        q1 = state.call("integrate", [q.astype(L), dv.astype(L)])[0]
        exact = state.call(function, [q.astype(L), q1, dq.astype(L), ddv.astype(L)])
        found = state.call(function, [q, q1.astype(np.float64), dq, ddv])
        assert error(found, [exact[0].astype(np.float64)]) < ROUNDINGS / max(0.1, 1.0 - size / 3.2)
        return
    given = (
        [q, dv, dq, ddv]
        if function == "jvp_integrate"
        else [q, dv, dq, ddv, *state.small(function_of("jvp_integrate").inputs, 5)]
    )
    exact = state.call(function, [x.astype(L) for x in given])
    assert error(state.call(function, given), [exact[0].astype(np.float64)]) < ROUNDINGS


def test_where_nothing_moves_the_difference_is_the_tangent_space() -> None:
    state = State(every_joint(True), "integrate")
    q = state.point[0]
    by_q0, by_q1 = state.call("jacobian_difference", [q, q])
    nv = state.robot.nv
    own = [k for _, _, rates in state.tree.configurations for k in rates]
    expected = np.zeros((nv, nv))
    expected[own, own] = 1.0
    assert np.allclose(np.reshape(by_q1, (nv, nv)), expected, atol=1e-15, rtol=0)
    assert np.allclose(np.reshape(by_q0, (nv, nv)), -expected, atol=1e-15, rtol=0)


def test_an_increment_is_carried_as_exp_of_the_adjoint_says() -> None:
    """The series of exp(-ad) and of (1 - exp(-ad)) / ad, for every joint type."""
    rng = np.random.default_rng(0)
    for kind in JOINT_TYPES.values():
        dv = rng.uniform(-1.0, 1.0, kind.nv)
        ad, power, motion, slope = (
            kind.adjoint(dv),
            np.eye(kind.nv),
            np.zeros((kind.nv, kind.nv)),
            np.zeros((kind.nv, kind.nv)),
        )
        for k in range(25):
            motion, slope = motion + power, slope + power / (k + 1)
            power = power @ -ad / (k + 1)
        given = [number(float(x)) for x in dv]
        found = kind.transport(given)
        np.testing.assert_allclose(np.array(found, np.float64), [motion, slope], atol=1e-14, rtol=0)
        inverse = np.array(kind.transport_inverse(given), np.float64)
        np.testing.assert_allclose(inverse @ slope, np.eye(kind.nv), atol=1e-14, rtol=0)


def test_the_fractions_are_one_function_on_both_sides() -> None:
    x = np.nextafter(4.0, [0.0, 8.0])
    for n, values in enumerate(fractions(number(x))):
        low, high = np.asarray(values)
        assert abs(high / low - 1.0) < 1e-13, n
    assert [float(f) for f in np.asarray(fractions(number(0.0)))] == [1.0, 1.0, 1 / 2, 1 / 6, 1 / 24, 1 / 120, 1 / 720]


def test_both_ways_to_solve_with_m_agree() -> None:
    state = State(condyle.random_tree(6, 3, floating_base=True), "solve")
    given = dict(zip(("q", "tau"), state.point, strict=True))
    solve = function_of("solve")
    by_factors, by_elimination = (evaluate(state.tree, solve, route, given)[0] for route in ("ltl", "aba"))
    assert error([by_factors], [by_elimination]) < 1e-11
    (mass,) = state.call("m", [state.point[0]])
    nv = state.robot.nv
    assert error([by_factors @ np.reshape(mass, (nv, nv))], [state.point[1]]) < 1e-11
