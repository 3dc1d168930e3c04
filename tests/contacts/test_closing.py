"""`Robot.close` and `close_velocity`: loops are closed, by little, or named."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from condyle import Contact, ModelError, ShapeError, StateError, UnsupportedError
from condyle.jobs import closures
from tests.accuracies import FEW_ROUNDINGS, SOLVED
from tests.contacts.linkages import CRANKS, angles, at, branched, errors, four_bar, slopes


@pytest.mark.smoke
def test_a_closed_four_bar_is_the_one_of_plane_geometry() -> None:
    robot = four_bar()
    exact = angles(CRANKS)
    assert errors(robot, exact) < FEW_ROUNDINGS
    found = robot.close(exact + np.array([0.0, 0.3, -0.3]), fixed=["a"])
    assert found == pytest.approx(exact, abs=SOLVED)
    assert np.array_equal(found[:, 0], CRANKS)


def test_close_moves_little() -> None:
    """Beside the nearest closed state, found on a fine grid of the crank, by second order in the distance."""
    robot = four_bar()
    rng = np.random.default_rng(0)
    start = angles(CRANKS) + 0.05 * rng.standard_normal((7, 3))
    grid = angles(np.linspace(-np.pi, np.pi, 200_001))
    nearest = [np.linalg.norm(grid - q, axis=1).min() for q in start]
    moved = np.linalg.norm(robot.close(start) - start, axis=1)
    assert (moved >= np.array(nearest) - 1e-4).all()
    assert (moved <= 1.05 * np.array(nearest) + 1e-4).all()


@pytest.mark.parametrize("floating", [False, True])
def test_random_states_of_a_tree_are_closed(floating: bool) -> None:
    robot = branched(floating)
    q, v = robot.random_state(20, 0)
    q = robot.integrate(robot.close(np.broadcast_to(robot.neutral(), q.shape)), 0.3 * v)
    found = robot.close(q.reshape(4, 5, robot.nq))
    assert found.shape == (4, 5, robot.nq)
    assert errors(robot, found) < 1e-9
    robot.check_state(found)
    v = robot.close_velocity(found, v.reshape(4, 5, robot.nv))
    J = robot.compile("numpy").constraint_jacobian(found)
    assert np.abs(J @ v[..., None]).max() < SOLVED


def test_a_projected_velocity_is_the_nearest() -> None:
    """What was taken away lies in the rows of J; a velocity that fits is left alone."""
    robot = branched()
    q = robot.close(robot.neutral())
    v = np.random.default_rng(0).standard_normal((5, robot.nv))
    found = robot.close_velocity(q, v)
    J = robot.compile("numpy").constraint_jacobian(q)
    off = v - found
    assert off - off @ np.linalg.pinv(J) @ J == pytest.approx(0.0 * off, abs=SOLVED)
    assert robot.close_velocity(q, found) == pytest.approx(found, abs=SOLVED)


def test_fixed_joints_keep_their_velocity() -> None:
    robot = four_bar()
    q = angles(CRANKS)
    v = robot.close_velocity(q, np.broadcast_to([2.0, 0.0, 0.0], q.shape), fixed=["a"])
    assert v == pytest.approx(2.0 * slopes(CRANKS)[0], abs=1e-9)
    with pytest.raises(StateError, match="m/s"):
        robot.close_velocity(q[0], [1.0, 0.0, 0.0], fixed=["a", "c"])


def test_float32_in_and_out() -> None:
    robot = four_bar()
    q = robot.close(angles(CRANKS).astype(np.float32))
    assert q.dtype == np.float32 and errors(robot, q.astype(float)) < 1e-6
    assert robot.close_velocity(q, np.zeros(3, np.float32)).dtype == np.float32
    assert robot.close(np.zeros((0, 3))).shape == (0, 3)


def test_a_loop_that_cannot_close_is_named() -> None:
    """Links that are too short: the residual is what geometry leaves, 0.1 m."""
    builder = condyle.Builder()
    for name, x in (("a", 0.0), ("b", 1.0)):
        builder.body(name, mass=1.0, com=(0.1, 0.0, 0.0), inertia=np.eye(3) * 0.1)
        builder.joint(name, parent="world", child=name, type="revolute", axis=(0, 0, 1), xyz=(x, 0.0, 0.0))
    builder.contact("a", other="b", placement=at(0.45), anchor=at(-0.45)).contact(
        "a", anchor=at(0.0), placement=at(0.0)
    )
    robot = builder.build()
    with pytest.raises(
        StateError, match=r"contact 'a' on 'b' \(point\) stays open by 0\.1 \(m, rad\), in states 0, 1"
    ) as caught:
        robot.close([[0.1, 0.2], [0.3, 0.1]])
    assert caught.value.rows == (0, 1)
    assert "contact 'a' (point)" not in str(caught.value)


def test_one_state_that_cannot_close_is_told_among_others() -> None:
    robot = four_bar()
    q = angles(CRANKS)
    q[3, 1] += 0.5
    with pytest.raises(
        StateError, match=r"or fix fewer joints than 'a', 'b'\ncontact 'coupler' on .*, in states 3$"
    ) as caught:
        robot.close(q, fixed=["a", "b"])
    assert caught.value.rows == (3,)


def test_what_close_cannot_be_asked() -> None:
    robot, q = four_bar(), np.zeros(3)
    with pytest.raises(UnsupportedError, match="has no loops: its `contacts` are empty; name some with contacts="):
        four_bar(closed=False).close(q)
    with pytest.raises(UnsupportedError, match="contact 'rocker' is held nowhere: give it an anchor"):
        robot.close(q, contacts=[Contact("rocker")])
    with pytest.raises(UnsupportedError, match="there is no frame 'crnk'; did you mean 'crank'"):
        robot.close(q, contacts=[Contact("crnk")])
    with pytest.raises(ModelError, match="there is no joint 'd'; there are 'a', 'b', 'c'"):
        robot.close(q, fixed=["d"])
    with pytest.raises(ModelError, match=r"give a list of names of joints, such as \('a',\)"):
        robot.close(q, fixed="a")
    with pytest.raises(ModelError, match=r"fixed=None: give a list of names of joints, \(\) where all may move"):
        robot.close(q, fixed=None)  # type: ignore[arg-type]
    with pytest.raises(UnsupportedError, match=r"tolerance=0\.0"):
        robot.close(q, tolerance=0.0)
    with pytest.raises(ShapeError, match=r"q has shape \(2,\), expected \(..., 3\)"):
        robot.close(q[:2])
    with pytest.raises(StateError, match="not finite in row 0"):
        robot.close(q * np.nan)
    with pytest.raises(ShapeError, match="v has shape"):
        robot.close_velocity(q, q[:2])


def test_a_mimic_joint_is_fixed_by_its_master() -> None:
    builder = condyle.Builder()
    for name in "ab":
        builder.body(name, mass=1.0, com=(0.1, 0.0, 0.0), inertia=np.eye(3) * 0.1)
    builder.joint("a", parent="world", child="a", type="revolute")
    builder.joint("b", parent="a", child="b", type="revolute", xyz=(0.5, 0.0, 0.0), mimic=("a", -2.0, 0.0))
    robot = builder.contact("b", "point", placement=at(0.5), anchor=at(0.3)).build()
    with pytest.raises(ModelError, match="joint 'b' mimics 'a': name 'a' instead"):
        robot.close([0.3], fixed=["b"])
    assert robot.close([0.3])[0] == pytest.approx(np.arccos(0.3), abs=SOLVED)


def test_a_tolerance_is_the_largest_error_that_is_closed() -> None:
    """Two cranks whose ends stay 0.1 m apart at best."""
    builder = condyle.Builder()
    for name, x in (("a", 0.0), ("b", 1.0)):
        builder.body(name, mass=1.0, com=(0.1, 0.0, 0.0), inertia=np.eye(3) * 0.1)
        builder.joint(name, parent="world", child=name, type="revolute", axis=(0, 0, 1), xyz=(x, 0.0, 0.0))
    robot = builder.contact("a", other="b", placement=at(0.45), anchor=at(-0.45)).build()
    q = robot.close([0.1, 0.2], tolerance=0.1 * (1.0 + 1e-6))  # what the iteration leaves of the angles is a square
    assert errors(robot, q) == pytest.approx(0.1, rel=1e-6)
    with pytest.raises(StateError, match="stays open by 0\\.1 "):
        robot.close([0.1, 0.2], tolerance=0.1 * (1.0 - 1e-6))


def test_of_errors_only_distances_go_by_the_reach_of_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which errors are what cut digits of a model leave open: angles do not depend on how large a body is."""
    robot = condyle.chain(3, 1)
    loop = Contact(next(name for name, frame in robot.frames.items() if frame.body == 2), "plane", anchor=at(0.1))
    loops = closures.ClosedLoops(robot, (loop,), robot.compile("numpy", contacts=(loop,)))
    monkeypatch.setattr(closures.ClosedLoops, "_is_least", lambda *_: True)
    reach = loops._tree.contacts[0].reach
    assert reach < 0.9
    allowed = closures.HELD * np.array([reach] * 3 + [1.0] * 3)
    for size, right in ((0.99, True), (1.01, False)):
        errors = size * np.diag(allowed)
        assert (loops._is_rounding(np.zeros((6, 3)), errors, np.ones(3)) == right).all()


def descended(robot: condyle.Robot, q: np.ndarray, moves: np.ndarray, dampings: tuple[float, ...]) -> np.ndarray:
    """Steps -J^T (J J^T + mu |e| I)^-1 e with these mu, one after the other."""
    dyn = robot.compile("numpy", contacts=robot.contacts)
    for mu in dampings:
        e, J = dyn.constraint_errors(q), dyn.constraint_jacobian(q) * moves
        square = J @ J.T
        square += (mu * np.linalg.norm(e) + 1e-13 * np.trace(square)) * np.eye(len(e))
        q = robot.integrate(q, -J.T @ np.linalg.solve(square, e))
    return q


@pytest.mark.parametrize(("fixed", "moves"), [((), (1, 1, 1)), (("b",), (1, 0, 1))])
def test_steps_are_damped_by_the_error_and_less_after_good_ones(fixed: tuple[str, ...], moves: tuple[int, ...]) -> None:
    """One, a tenth, a hundredth: each step makes the error smaller here."""
    robot, rates = four_bar(), np.array(moves, float)
    start = angles(CRANKS)[0] + np.array([0.4, -0.3, 0.5])
    for count in (1, 2, 3):
        found = robot.close(start, fixed=fixed, tolerance=1.0, iterations=count)
        want = descended(robot, start, rates, (1.0, 0.1, 0.01)[:count])
        np.testing.assert_allclose(found, want, rtol=0, atol=1e-9)
    near = angles(CRANKS)[0]
    np.testing.assert_array_equal(robot.close(near, tolerance=1.0), near)


def test_a_step_more_than_needed_is_taken_until_a_thousandth_of_the_tolerance() -> None:
    robot = four_bar()
    start = angles(CRANKS)[0] + np.array([0.0, 1e-6, 0.0])
    error = errors(robot, start)
    assert 0.1e-6 < error < 2e-6
    for tolerance, is_near in ((1.01e3 * error, True), (0.99e3 * error, False)):
        assert np.array_equal(robot.close(start, tolerance=tolerance), start) is is_near


def test_loops_that_need_more_steps_are_told_apart_from_those_that_cannot_close() -> None:
    robot = four_bar()
    start = np.stack([angles(CRANKS)[0], angles(CRANKS)[0] + 0.3])
    said = (
        r"^loops not closed to tolerance=1e-09 \[m, rad\] by iterations=1 steps; give more, or start from another q\n"
    )
    with pytest.raises(StateError, match=said) as caught:
        robot.close(start, tolerance=1e-9, iterations=1)
    assert caught.value.rows == (1,) and str(caught.value).endswith("in states 1")
