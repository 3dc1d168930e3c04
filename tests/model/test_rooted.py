"""One motion, two roots: every answer of the turned robot, mapped back, is the user's."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from condyle.errors import UnsupportedError
from condyle.model.rooted import Rooted


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


def test_a_fixed_base_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="floating_base=True"):
        Rooted.of(condyle.load("atlas"), "mtorso")
