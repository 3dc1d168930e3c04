"""One motion, two roots: every answer of the turned robot, mapped back, is the user's."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from condyle.errors import UnsupportedError
from condyle.model.rooted import Gradient, Rooted, acceleration_gradient, force_gradient


@pytest.mark.parametrize(("name", "link"), [("atlas", "mtorso"), ("hyq", "lf_lowerleg"), ("iiwa14", "iiwa_link_4")])
def test_answers_mapped_back_are_the_users(name: str, link: str) -> None:
    robot = condyle.load(name, floating_base=True)
    both = Rooted.of(robot, link)
    own, turned = (x.compile(target="numpy") for x in (robot, both.turned))
    q, v = robot.random_state(5, 3)
    a = np.random.default_rng(4).uniform(-1, 1, v.shape)
    there = both.state(q, v, a)
    tau = own.inverse_dynamics(q, v, a)
    close = {"rtol": 1e-9, "atol": 1e-9 * np.abs(tau).max()}
    np.testing.assert_allclose(both.force(q, turned.inverse_dynamics(*there)), tau, **close)
    np.testing.assert_allclose(both.mass(q, turned.mass_matrix(there[0])), own.mass_matrix(q), **close)
    inverse = own.mass_matrix_inverse(q)
    mapped = both.inverse(q, turned.mass_matrix_inverse(there[0]))
    assert np.abs(mapped - inverse).max() < 1e-8 * np.abs(inverse).max()
    again = turned.forward_dynamics(*there[:2], both.force_there(q, tau))
    np.testing.assert_allclose(both.acceleration(q, v, again), a, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_derivatives_mapped_back_are_the_users(seed: int) -> None:
    """Of did, of dfd and of difd, whose a need not be the one that tau gives."""
    types = ("revolute", "prismatic", "helical", "cylindrical")
    robot = condyle.random_tree(6, seed, types=types, floating_base=True)
    both = Rooted.of(robot, robot.bodies[-1].name)
    assert both.depths().max() >= 1
    own, turned = (x.compile(target="numpy") for x in (robot, both.turned))
    q, v = robot.random_state(5, 3)
    a = np.random.default_rng(4).uniform(-1, 1, v.shape)
    there = both.state(q, v, a)
    tau = turned.inverse_dynamics(*there)
    mass, inverse = turned.mass_matrix(there[0]), turned.mass_matrix_inverse(there[0])
    by_q, by_v = turned.inverse_dynamics_derivatives(*there)[:2]
    exact = own.inverse_dynamics_derivatives(q, v, a)
    for mapped, right in zip(force_gradient(both, q, v, a, tau, mass, Gradient(by_q, by_v)), exact[:2], strict=True):
        np.testing.assert_allclose(mapped, right, atol=1e-10 * np.abs(right).max())
    minus = Gradient(-inverse @ by_q, -inverse @ by_v)  # what difd and dfd answer there
    there_too = acceleration_gradient(both, q, v, a, tau, inverse, minus)
    for mapped, right in zip(there_too, exact[:2], strict=True):
        right = -own.mass_matrix_inverse(q) @ right
        np.testing.assert_allclose(mapped, right, atol=1e-9 * np.abs(right).max())


def test_a_fixed_base_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="floating_base=True"):
        Rooted.of(condyle.load("atlas"), "mtorso")


def test_a_robot_with_followers_is_refused() -> None:
    builder = condyle.Builder()
    for parent, child in (("base", "a"), ("a", "b")):
        more = {"mimic": "a"} if child == "b" else {}
        builder.joint(child, parent=parent, child=child, type="revolute", **more)  # type: ignore[arg-type]
    for name in ("base", "a", "b"):
        builder.body(name, mass=1.0, inertia=0.1 * np.eye(3))
    with pytest.raises(
        UnsupportedError, match="root='b': not with mimic joints; lock them, or take mimic='independent'"
    ):
        Rooted.of(builder.build(floating_base=True), "b")
    free = builder.build(floating_base=True, mimic="independent")
    assert Rooted.of(free, "b").depths().tolist() == [0] * 6 + [1, 2]


def test_what_cannot_be_held_by_another_link_is_named() -> None:
    for robot in (condyle.chain(2, 0), condyle.chain(2, 0).lock({"joint0": 0.0, "joint1": 0.0})):
        with pytest.raises(UnsupportedError, match=r"root='link1': only a floating base can be moved"):
            Rooted.of(robot, "link1")


def test_an_acceleration_that_is_left_out_is_zero() -> None:
    robot = condyle.random_tree(3, 2, types=("revolute",), floating_base=True)
    both = Rooted.of(robot, "link2")
    q, v = robot.random_state(3, 0)
    for found, want in zip(both.state(q, v), both.state(q, v, np.zeros_like(v)), strict=True):
        np.testing.assert_array_equal(found, want)
    moved, bias = both.transform(q, v)
    np.testing.assert_allclose(both.state(q, v, v)[2], (moved @ v[..., None])[..., 0] + bias, rtol=1e-15)
