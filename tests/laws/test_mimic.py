"""Mimic joints are exact: with G the map from the free coordinates to all, M = Gᵀ M_all G, and so on."""

from __future__ import annotations

import numpy as np
import pytest

from condyle import Robot
from condyle.functions import FUNCTIONS
from condyle.model.builder import Builder
from tests.accuracies import ROUNDING
from tests.laws.evaluated import by_complex_step, reference, tree_for
from tests.laws.robots import relative, states

Array = np.ndarray
SOLVE = 1e-10  # the condition of M, below 1e2 here, and rounding of the solve


def gripper(mimic: str, floating_base: bool = False) -> Robot:
    """A hand: two fingers follow one slide, one of them through a chain of bodies; rotors on masters and followers."""
    rng = np.random.default_rng(5)
    builder = Builder("hand", gravity=(1.0, -2.0, -9.0))
    for name in ("palm", "wrist", "slide", "left", "right", "tip", "nail"):
        half = rng.uniform(0.03, 0.05, 3)
        builder.body(name, mass=float(rng.uniform(0.2, 2.0)), com=rng.uniform(-0.1, 0.1, 3), inertia=np.diag(half))
    joints = (
        ("wrist", "palm", "spherical", None, None),
        ("slide", "wrist", "prismatic", (0.0, 0.6, 0.8), None),
        ("left", "wrist", "revolute", (1.0, 0.0, 0.0), ("slide", -2.5, 0.3)),
        ("right", "slide", "revolute", (1.0, 2.0, 0.0), ("slide", 1.0, 0.0)),
        ("tip", "left", "revolute", (0.0, 0.0, 1.0), None),
        ("nail", "tip", "prismatic", (0.0, 1.0, 0.0), ("tip", 0.1, -0.2)),
    )
    for child, parent, kind, axis, follows in joints:
        builder.joint(
            child,
            parent=parent,
            child=child,
            type=kind,
            axis=axis,
            xyz=rng.uniform(-0.3, 0.3, 3),
            rpy=rng.uniform(-3.0, 3.0, 3),
            armature=float(rng.uniform(0.1, 0.3)),
            mimic=follows,
        )
    return Robot.from_data(builder.build(floating_base=floating_base, mimic=mimic))


@pytest.fixture(params=[False, True], ids=["fixed", "floating"])
def pair(request: pytest.FixtureRequest) -> tuple[Robot, Robot, Array]:
    """The robot, the one whose followers are free, and G (nv_all, nv)."""
    robot, free = gripper("exact", request.param), gripper("independent", request.param)
    return robot, free, followers(robot, free)


def followers(robot: Robot, free: Robot) -> Array:
    G = np.zeros((free.nv, robot.nv))
    for own, other in zip(robot.joints, free.joints, strict=True):
        if own.mimic is None:
            G[other.v_slice, own.v_slice] = np.eye(own.nv)
        else:
            G[other.v_index, own.v_index] = own.mimic.multiplier
    return G


def all_q(robot: Robot, free: Robot, q: Array) -> Array:
    result = np.zeros((len(q), free.nq))
    for own, other in zip(robot.joints, free.joints, strict=True):
        if own.mimic is None:
            result[:, other.q_slice] = q[:, own.q_slice]
        else:
            result[:, other.q_index] = own.mimic.multiplier * q[:, own.q_index] + own.mimic.offset
    return result


def test_sizes(pair: tuple[Robot, Robot, Array]) -> None:
    robot, free, G = pair
    assert free.nv - robot.nv == 3
    assert G.shape == (free.nv, robot.nv)


def test_inverse_dynamics_and_mass_matrix(pair: tuple[Robot, Robot, Array]) -> None:
    robot, free, G = pair
    q, v, a, f_ext = states(robot)
    whole = reference(free, "id", all_q(robot, free, q), v @ G.T, a @ G.T, f_ext=f_ext)
    assert relative(reference(robot, "id", q, v, a, f_ext=f_ext), whole @ G) < ROUNDING
    M = reference(free, "m", all_q(robot, free, q))
    assert relative(reference(robot, "m", q), G.T @ M @ G) < ROUNDING


def test_forward_dynamics_and_inverse_mass_matrix_by_every_route(pair: tuple[Robot, Robot, Array]) -> None:
    robot, free, G = pair
    q, v, tau, f_ext = states(robot)
    whole = all_q(robot, free, q)
    Minv = np.linalg.inv(G.T @ reference(free, "m", whole) @ G)
    bias = reference(free, "id", whole, v @ G.T, np.zeros((3, free.nv)), f_ext=f_ext) @ G
    a = np.einsum("nij,nj->ni", Minv, tau - bias)
    for route in FUNCTIONS["fd"].route_names(tree_for(robot).has_shared_coordinates):
        assert relative(reference(robot, "fd", q, v, tau, f_ext=f_ext, route=route), a) < SOLVE, route
    for route in FUNCTIONS["minv"].route_names(tree_for(robot).has_shared_coordinates):
        assert relative(reference(robot, "minv", q, route=route), Minv) < SOLVE, route


def test_derivatives_by_every_route(pair: tuple[Robot, Robot, Array]) -> None:
    robot, free, G = pair
    q, v, a, f_ext = states(robot)
    by_q, by_v = reference(free, "did", all_q(robot, free, q), v @ G.T, a @ G.T, f_ext=f_ext)
    for route in FUNCTIONS["did"].route_names(tree_for(robot).has_shared_coordinates):
        dtau_dq, dtau_dv = reference(robot, "did", q, v, a, f_ext=f_ext, route=route)
        assert relative(dtau_dq, G.T @ by_q @ G) < ROUNDING, route
        assert relative(dtau_dv, G.T @ by_v @ G) < ROUNDING, route


def test_derivatives_of_forward_dynamics(pair: tuple[Robot, Robot, Array]) -> None:
    robot, _, _ = pair
    q, v, tau, f_ext = states(robot)
    unit = np.broadcast_to(np.eye(robot.nv), (3, robot.nv, robot.nv))
    by_v = by_complex_step(robot, "fd", unit, q, v, tau, f_ext, rate=True)
    for route in FUNCTIONS["dfd"].route_names(tree_for(robot).has_shared_coordinates):
        assert relative(reference(robot, "dfd", q, v, tau, f_ext=f_ext, route=route)[1], by_v) < SOLVE, route


def test_locking_the_master_locks_its_followers() -> None:
    robot = gripper("exact")
    locked = robot.lock({"slide": 0.1})
    by_hand = gripper("independent").lock({"slide": 0.1, "left": 0.05, "right": 0.1})
    assert locked.nv == robot.nv - 1
    q, v, a, f_ext = states(locked)
    freed = np.zeros((3, by_hand.nq))
    freed[:, : locked.nq] = q
    nail = by_hand.joints[by_hand.joint_names.index("nail")]
    tip = locked.joints[locked.joint_names.index("tip")]
    freed[:, nail.q_index] = 0.1 * q[:, tip.q_index] - 0.2
    G = followers(locked, by_hand)
    whole = reference(by_hand, "id", freed, v @ G.T, a @ G.T, f_ext=f_ext)
    assert relative(reference(locked, "id", q, v, a, f_ext=f_ext), whole @ G) < ROUNDING
