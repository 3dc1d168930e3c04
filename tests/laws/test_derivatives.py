"""Every derivative is the derivative: against complex steps through the function itself, in the tangent space."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.functions import FUNCTIONS
from tests.accuracies import ROUNDING, SOLVED
from tests.laws.evaluated import by_complex_step, reference, tree_for
from tests.laws.robots import NAMES, relative, robot_named, states
from tests.laws.tangent import tangent_map

TANGENT = 1e-9  # forward differences of `integrate`: step 1e-7 squared, and rounding over the step


@pytest.mark.parametrize("name", NAMES)
def test_tangent_map_is_what_integrate_does(name: str) -> None:
    robot = robot_named(name)
    q, v, _, _ = states(robot)
    step = 1e-6
    ahead, behind = robot.integrate(q, step * v), robot.integrate(q, -step * v)
    along = np.einsum("nij,nj->ni", tangent_map(robot, q), v)
    assert relative((ahead - behind) / (2 * step), along) < TANGENT


@pytest.mark.parametrize("forces", [False, True], ids=["no_forces", "f_ext"])
@pytest.mark.parametrize("name", NAMES)
def test_inverse_dynamics_derivatives(name: str, forces: bool) -> None:
    robot = robot_named(name)
    q, v, a, f_ext = states(robot, 2)
    f_ext = f_ext if forces else None
    by_q = by_complex_step(robot, "id", tangent_map(robot, q), q, v, a, f_ext)
    unit = np.broadcast_to(np.eye(robot.nv), (2, robot.nv, robot.nv))
    by_v = by_complex_step(robot, "id", unit, q, v, a, f_ext, rate=True)
    for route in FUNCTIONS["did"].route_names(tree_for(robot).has_shared_coordinates):
        dtau_dq, dtau_dv = reference(robot, "did", q, v, a, f_ext=f_ext, route=route)
        assert relative(dtau_dq, by_q) < ROUNDING, route
        assert relative(dtau_dv, by_v) < ROUNDING, route


@pytest.mark.parametrize("name", NAMES)
def test_forward_dynamics_derivatives(name: str) -> None:
    robot = robot_named(name)
    q, v, tau, f_ext = states(robot, 2)
    by_q = by_complex_step(robot, "fd", tangent_map(robot, q), q, v, tau, f_ext)
    unit = np.broadcast_to(np.eye(robot.nv), (2, robot.nv, robot.nv))
    by_v = by_complex_step(robot, "fd", unit, q, v, tau, f_ext, rate=True)
    for route in FUNCTIONS["dfd"].route_names(tree_for(robot).has_shared_coordinates):
        da_dq, da_dv, da_dtau = reference(robot, "dfd", q, v, tau, f_ext=f_ext, route=route)
        assert relative(da_dq, by_q) < SOLVED, route
        assert relative(da_dv, by_v) < SOLVED, route
        assert relative(da_dtau, reference(robot, "minv", q)) < SOLVED, route


def test_a_force_fixed_in_a_body_turns_with_it() -> None:
    """With f_ext the derivative by q has a term of its own; a force that stayed in the world would have another."""
    robot = robot_named("tree-0")
    q, v, a, f_ext = states(robot, 2)
    with_force, _ = reference(robot, "did", q, v, a, f_ext=f_ext)
    without, _ = reference(robot, "did", q, v, a)
    twice, _ = reference(robot, "did", q, v, a, f_ext=2.0 * f_ext)
    assert relative(twice - with_force, with_force - without) < ROUNDING
    assert np.abs(with_force - without).max() > 1e-2


@pytest.mark.parametrize("name", ["zoo", "floating-3"])
def test_derivatives_agree_with_central_differences_through_integrate(name: str) -> None:
    """The whole way round: `Robot.integrate` moves q, central differences of the float64 answer."""
    robot = robot_named(name)
    q, v, a, f_ext = states(robot, 2)
    dtau_dq, _ = reference(robot, "did", q, v, a, f_ext=f_ext)
    step = 1e-5
    columns = [
        (
            reference(robot, "id", robot.integrate(q, step * e), v, a, f_ext=f_ext)
            - reference(robot, "id", robot.integrate(q, -step * e), v, a, f_ext=f_ext)
        )
        / (2 * step)
        for e in np.eye(robot.nv)
    ]
    central = 1e-8  # step squared times third derivatives, and rounding over the step
    assert relative(dtau_dq, np.stack(columns, axis=-1)) < central
