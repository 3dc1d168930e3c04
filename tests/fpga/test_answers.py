"""The reference's answers of functions that only hardware has, by what defines them."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from condyle import Robot, fpga
from condyle.fpga.box import box_of, check_held, consistent, limits, sampled
from condyle.fpga.rtl.datapath import Word
from condyle.fpga.rtl.target import word_of

STEP = 1e-6
"""Of differences: their errors are of STEP squared, and of rounding over STEP."""


@pytest.fixture(scope="module")
def floating() -> Robot:
    """Two hinges on a base that floats."""
    builder = condyle.Builder("floating").body("base", mass=1.0, com=(0.05, 0.0, 0.1), inertia=0.1 * np.eye(3))
    for name, parent, axis in (("upper", "base", (0.0, 1.0, 0.0)), ("lower", "upper", (1.0, 0.0, 0.0))):
        builder.body(name, mass=0.5, com=(0.1, 0.2, 0.3), inertia=0.05 * np.eye(3))
        builder.joint(f"{name}_hinge", parent=parent, child=name, type="revolute", axis=axis, xyz=(0.1, 0.0, 0.2))
    return builder.build(floating_base=True)


def answers(robot: Robot, name: str, states: dict[str, np.ndarray], h: float = 0.0) -> list[np.ndarray]:
    return fpga.answer_of(robot, fpga.functions()[name], states, h)


def test_joints_move_as_their_torques_tell_where_the_motion_of_the_base_is_given(floating: Robot) -> None:
    """tau is that of a motion: its joints move so again, whatever is said of the base's own force."""
    states = consistent(floating, sampled(floating, 10, 3))
    (a,) = answers(floating, "fd_given", states)
    assert a[:, :6].tolist() == np.zeros((10, 6)).tolist()
    np.testing.assert_allclose(a[:, 6:], states["a"][:, 6:], rtol=0, atol=1e-9)
    other = np.where(np.arange(floating.nv) < 6, 7.0, states["tau"])
    np.testing.assert_array_equal(answers(floating, "fd_given", {**states, "tau": other})[0], a)


def test_the_inverse_of_a_given_base_is_that_of_the_joints_own_mass(floating: Robot) -> None:
    states, n = sampled(floating, 10, 3), floating.nv
    (inverse,), (mass,) = (answers(floating, name, states) for name in ("minv_given", "m"))
    want = np.zeros((10, n, n))
    want[:, 6:, 6:] = np.linalg.inv(mass.reshape(10, n, n)[:, 6:, 6:])
    np.testing.assert_allclose(inverse, want.reshape(10, -1), rtol=0, atol=1e-12)


def test_derivatives_of_a_given_base_are_those_of_its_answers(floating: Robot) -> None:
    states, n = consistent(floating, sampled(floating, 3, 3)), floating.nv
    by_q, by_v, by_tau = (x.reshape(3, n, n) for x in answers(floating, "dfd_given", states))
    assert by_tau.tolist() == answers(floating, "minv_given", states)[0].reshape(3, n, n).tolist()
    signed = np.repeat(STEP * np.concatenate((np.eye(n), -np.eye(n))), 3, axis=0)  # by coordinate, then by state
    every = {name: np.tile(x, (2 * n, 1)) for name, x in states.items()}
    moved, faster = {**every, "q": floating.integrate(every["q"], signed)}, {**every, "v": every["v"] + signed}
    for near, exact in ((moved, by_q), (faster, by_v)):
        more, less = answers(floating, "fd_given", near)[0].reshape(2, n, 3, n)
        np.testing.assert_allclose((more - less) / (2.0 * STEP), np.moveaxis(exact, 2, 0), rtol=0, atol=1e-4)


def test_a_step_of_euler_moves_with_the_velocity_before_it(floating: Robot) -> None:
    states, h = consistent(floating, sampled(floating, 5, 3)), 3e-3
    q, v = answers(floating, "euler", states, h)
    np.testing.assert_allclose(q, floating.integrate(states["q"], h * states["v"]), rtol=0, atol=1e-12)
    np.testing.assert_allclose(v, states["v"] + h * states["a"], rtol=0, atol=1e-9)
    exact = floating.compile(target="numpy", integrator="rk4").step(states["q"], states["v"], states["tau"], h)
    for found, want in zip(answers(floating, "rk4", states, h), exact, strict=True):
        np.testing.assert_allclose(found, want, rtol=0, atol=1e-12)


def test_a_quarter_of_the_states_are_corners_and_all_are_inside(floating: Robot) -> None:
    box = box_of(floating, {"v": 3.0, "a": 20.0, "tau": 2.0}, 50.0)
    states = sampled(floating, 40, 1, box)
    for name, most in (("v", 3.0), ("a", 20.0)):
        size = np.abs(states[name])
        assert (size[:10] == most).all() and (size[10:] < most).all()
    assert states["f_ext"].shape == (40, 18) and 45.0 < np.abs(states["f_ext"]).max() <= 50.0
    assert np.abs(consistent(floating, states, box)["tau"]).max() == 2.0
    assert np.abs(consistent(floating, states)["tau"]).max() > 2.0


def test_a_fixed_point_holds_a_box_up_to_its_largest_number() -> None:
    """q4.4 ends one unit of 1/16 below 8."""
    words = word_of("q4.4")
    check_held({Word("v", 1): 7.9375}, words)
    with pytest.raises(condyle.UnsupportedError, match=r"v_1 may be 7\.94, but word 'q4\.4' ends at 7\.9375"):
        check_held({Word("v", 0): 1.0, Word("v", 1): 7.94}, words)


def test_every_word_that_the_box_bounds_has_its_limit() -> None:
    robot = condyle.chain(2, 0)
    second = robot.joints[1].name
    found = limits(robot, box_of(robot, {"q": 2.0, "v": 3.0, "tau": {second: 5.0}}, 50.0))
    want = {Word(name, k): x for name, x in (("q", 2.0), ("v", 3.0), ("a", 30.0)) for k in range(2)}
    want |= {Word("tau", 1): 5.0, **{Word("f_ext", k): 50.0 for k in range(12)}}
    assert found == want
