"""The parts of inverse kinematics, on numbers by hand: starts, one iteration, limits, rotations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import condyle
from condyle.errors import StateError
from condyle.jobs.inverse_kinematics import _check_rotations, damped, spread

ARM = condyle.load("iiwa14")
TIP = ARM.bodies[-1].name
PROBLEM = ARM.inverse_kinematics((TIP,))
DYN = ARM.compile("numpy", frames=(TIP,), reference_frame="local_world_aligned")


def test_a_spread_is_a_kronecker_sequence() -> None:
    np.testing.assert_allclose(spread(3, 0.5), np.exp([0.5, 1.0, 1.5]) % 1.0, rtol=1e-15)
    assert len({*spread(50, 0.37).round(12)}) == 50 and len(spread(0, 0.3)) == 0


@pytest.mark.parametrize("shape", [(2, 5), (5, 2), (3, 3), (1, 1)])
def test_a_damped_step_is_the_same_by_either_matrix(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    J, e = rng.normal(size=shape), rng.normal(size=shape[0])
    want = J.T @ np.linalg.solve(J @ J.T + 0.3 * np.eye(shape[0]), e)
    np.testing.assert_allclose(damped(J, e, 0.3), want, rtol=1e-12)


def test_attempts_start_in_the_middle_of_the_ranges() -> None:
    """In 0.8 of each; the first in the middle itself, the others as the sequence says."""
    middle, half = 0.5 * (ARM.lower + ARM.upper), 0.5 * (ARM.upper - ARM.lower)
    np.testing.assert_allclose(PROBLEM.low, middle - 0.8 * half, rtol=1e-13)
    np.testing.assert_allclose(PROBLEM.width, 1.6 * half, rtol=1e-13)
    q, start = PROBLEM.starts(3)
    part = np.exp(0.37 * np.arange(1, 8)) % 1.0
    for k in range(3):
        np.testing.assert_allclose(start[k], PROBLEM.low + PROBLEM.width * ((0.5 + k * part) % 1.0), rtol=1e-13)
    np.testing.assert_array_equal(q, start)
    np.testing.assert_allclose(PROBLEM.move, PROBLEM.width * (np.exp(0.3 * np.arange(1, 8)) % 1.0) / 14.0, rtol=1e-13)
    posed = ARM.inverse_kinematics((TIP,), rest=np.full(7, 0.1))
    np.testing.assert_array_equal(posed.starts(2)[0], [np.full(7, 0.1), q[1]])
    beyond = ARM.inverse_kinematics((TIP,), rest=np.full(7, 9.0))
    np.testing.assert_array_equal(beyond.rest, ARM.upper)


def test_joints_that_turn_start_anywhere_and_a_base_where_it_was() -> None:
    robot = condyle.random_tree(1, 0, types=("spherical",), floating_base=True)
    problem = robot.inverse_kinematics((robot.bodies[-1].name,))
    assert robot.nv == 9
    np.testing.assert_array_equal(problem.low, [0.0] * 6 + [-np.pi] * 3)
    np.testing.assert_array_equal(problem.width, [0.0] * 6 + [2.0 * np.pi] * 3)
    assert not problem.is_flat and problem._turned.tolist() == [1.0] * 11 and problem._limited == []
    assert PROBLEM.is_flat and PROBLEM._limited == [(k, k) for k in range(7)]
    free = ARM.inverse_kinematics((TIP,), limits=False)
    assert free._limited == [] and np.isinf(free.lower).all() and np.isinf(free.upper).all()


def test_the_length_of_all_links_together() -> None:
    lengths = [np.linalg.norm(joint.placement.translation) for joint in ARM.joints]
    lengths += [np.linalg.norm(ARM.frames[TIP].placement.translation)]
    assert PROBLEM.length == pytest.approx(sum(lengths), rel=1e-13)


def iterated(problem: Any, q: Any, goal: Any, age: float = 0.0, damping: float = 0.0, start: Any = None) -> Any:
    function = problem.iteration(False).compile("numpy")
    return function(q, problem.low if start is None else start, age, damping, goal[None])


def towards(q: Any, goal: Any, weight: float = 1.0) -> tuple[Any, Any]:
    """What is missing, and the Jacobian, both times the weight."""
    place, jacobian = DYN.frame_placements(q).translation[0], DYN.frame_jacobians(q)[0]
    return weight * (goal - place), weight * jacobian[:3]


Q = np.linspace(-0.5, 0.7, 7)
GOAL = DYN.frame_placements(Q).translation[0] + np.array([0.1, -0.2, 0.15])


@pytest.mark.parametrize(("weight", "damping"), [(1.0, 0.0), (2.0, 0.0), (1.0, 0.5)])
def test_an_iteration_is_a_damped_step(weight: float, damping: float) -> None:
    """mu = 0.03 |e|^2 + 1e-6 and what is added."""
    found = iterated(ARM.inverse_kinematics((TIP,), position=weight), Q, GOAL, 3.0, damping)
    e, J = towards(Q, GOAL, weight)
    mu = 0.03 * e @ e + damping + 1e-6
    np.testing.assert_allclose(found.q, Q + J.T @ np.linalg.solve(J @ J.T + mu * np.eye(3), e), rtol=1e-9)
    np.testing.assert_allclose(found.error, [[*(e / weight), 0.0, 0.0, 0.0]], rtol=1e-9, atol=1e-12)
    assert (found.age, found.done) == (4.0, 0.0)


def test_a_joint_at_a_limit_that_would_leave_it_takes_no_part() -> None:
    q = Q.copy()
    e, J = towards(q, GOAL)
    out = int(np.argmax(np.abs(J.T @ e)))
    sign = np.sign((J.T @ e)[out])
    q[out] = (ARM.upper if sign > 0 else ARM.lower)[out]
    place = DYN.frame_placements(q).translation[0]
    for turn, is_held in ((1.0, True), (-1.0, False)):
        J = DYN.frame_jacobians(q)[0][:3]
        goal = place + turn * sign * 0.01 * J[:, out]
        found = iterated(PROBLEM, q, goal)
        assert (found.q[out] == q[out]) == is_held
        beyond = q.copy()
        beyond[out] += sign * 0.3
        np.testing.assert_array_equal(iterated(PROBLEM, beyond, goal).q, found.q)


def test_what_is_done_stays_and_an_old_attempt_begins_again() -> None:
    """After 14 iterations, at the next point of the sequence; the sequence moves in each iteration."""
    near = DYN.frame_placements(Q).translation[0]
    tolerance = PROBLEM.tolerance
    done = iterated(PROBLEM, Q, near + np.array([0.99 * tolerance, 0.0, -0.99 * tolerance]), 13.0)
    assert done.done == 1.0 and np.array_equal(done.q, Q)
    far = iterated(PROBLEM, Q, near + np.array([1.01 * tolerance, 0.0, 0.0]), 12.0)
    assert far.done == 0.0 and far.age == 13.0 and not np.array_equal(far.q, Q)
    old = iterated(PROBLEM, Q, GOAL, 13.0)
    ahead = PROBLEM.low + PROBLEM.move
    np.testing.assert_allclose(old.q, ahead, rtol=1e-13)
    np.testing.assert_allclose(old.start, ahead, rtol=1e-13)
    assert old.age == 0.0
    last = iterated(PROBLEM, Q, GOAL, 0.0, 0.0, PROBLEM.low + PROBLEM.width - 0.5 * PROBLEM.move)
    np.testing.assert_allclose(last.start, PROBLEM.low + 0.5 * PROBLEM.move, rtol=1e-9, atol=1e-12)


def test_a_posture_is_drawn_to_where_the_target_leaves_it_free() -> None:
    """0.7 of the way at first, less by exp(-0.2 age); 30 iterations; done only where the last step is small."""
    rest = np.full(7, 0.1)
    problem = ARM.inverse_kinematics((TIP,), rest=rest)
    for age in (0.0, 5.0):
        found = iterated(problem, Q, GOAL, age)
        e, J = towards(Q, GOAL)
        way = 0.7 * np.exp(-0.2 * age) * (rest - Q)
        step = way + J.T @ np.linalg.solve(J @ J.T + (0.03 * e @ e + 1e-6) * np.eye(3), e - J @ way)
        np.testing.assert_allclose(found.q, Q + step, rtol=1e-8)
    near = DYN.frame_placements(Q).translation[0]
    assert iterated(problem, Q, near).done == 0.0, "the posture still moves"
    assert iterated(problem, Q, near, -50.0).done == iterated(problem, Q, near, 28.0).done == 1.0
    assert iterated(problem, Q, GOAL, 28.0).age == 29.0 and iterated(problem, Q, GOAL, 29.0).age == 0.0


def test_rotations_may_be_off_by_a_thousandth() -> None:
    """Of frames that are wanted; R^T R of c times a rotation is c^2."""
    wanted = np.array([True, False])

    def check(scale: float, frame: int = 0, sign: float = 1.0) -> None:
        rotations = np.tile(np.eye(3), (4, 2, 1, 1))
        rotations[2, frame] *= scale * np.array([[1.0], [1.0], [sign]])
        _check_rotations(rotations, wanted)

    check(np.sqrt(1.0 + 0.99e-3))
    check(np.sqrt(1.0 - 0.99e-3))
    check(2.0, frame=1)
    check(np.nan)
    for scale, sign in ((np.sqrt(1.0 + 1.01e-3), 1.0), (np.sqrt(1.0 - 1.01e-3), 1.0), (1.0, -1.0)):
        said = (
            r"^inverse_kinematics: 1 of the rotations are none: R\^T R is further than 0\.001 from the identity, or det"
        )
        with pytest.raises(StateError, match=said) as info:
            check(scale, sign=sign)
        assert info.value.rows == (2,)


def test_a_rotation_is_missing_by_its_axis() -> None:
    """2 sin(angle / 2) times the axis, in world axes; 0 where it has no weight."""
    R = DYN.frame_placements(Q)[0][0]
    axis, angle = np.array([2.0, -1.0, 2.0]) / 3.0, 0.8
    K = np.array([[0.0, -axis[2], axis[1]], [axis[2], 0.0, -axis[0]], [-axis[1], axis[0], 0.0]])
    goal = (np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K) @ R
    place = DYN.frame_placements(Q).translation[0]
    for weight in (1.0, 0.0):
        function = ARM.inverse_kinematics((TIP,), rotation=weight).iteration(True).compile("numpy")
        found = function(Q, PROBLEM.low, 0.0, 0.0, place[None], goal[None])
        want = 2.0 * np.sin(angle / 2.0) * axis if weight else np.zeros(3)
        np.testing.assert_allclose(found.error[0], [0.0, 0.0, 0.0, *want], rtol=1e-9, atol=1e-12)
        assert found.done == 1.0 - weight
