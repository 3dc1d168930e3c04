"""Inertias that a body can have, and log-Cholesky parameters."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from condyle import DTypeError, ShapeError

pytestmark = pytest.mark.smoke


def test_bodies_of_points_can_be_and_no_others() -> None:
    """Parameters of clouds of masses, and the same with one number spoilt."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        m, p = rng.uniform(0.1, 1.0, 6), rng.normal(size=(6, 3))
        pi = of_points(m, p)
        assert condyle.physical_inertias(pi)
        heavy = pi.copy()
        heavy[9] += 2.0 * (pi[4] + pi[6] + pi[9])  # more than the other two together: the triangle inequality
        assert not condyle.physical_inertias(heavy)
        assert not condyle.physical_inertias(-pi)
    for robot in (condyle.load("iiwa14"), condyle.load("hyq", floating_base=True)):
        assert condyle.physical_inertias(robot.inertias).all()


def test_plates_are_at_the_border_wherever_they_lie() -> None:
    """The same points a little out of the plane are a body."""
    rng = np.random.default_rng(3)
    for _ in range(100):
        m, p = rng.uniform(0.1, 1.0, 6), rng.normal(size=(6, 3))
        turn, far = np.linalg.qr(rng.normal(size=(3, 3)))[0], rng.normal(scale=3.0, size=3)
        for thickness, wanted in ((0.0, False), (1e-4, True)):
            p[:, 2] = thickness * rng.normal(size=6)
            assert condyle.physical_inertias(of_points(m, p @ turn + far)) == wanted


def of_points(m: np.ndarray, p: np.ndarray) -> np.ndarray:
    """The parameters of masses at points."""
    second = np.einsum("i,ij,ik->jk", m, p, p)
    inertia = np.trace(second) * np.eye(3) - second
    return np.array([m.sum(), *(m @ p), *(inertia[k] for k in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)))])


def test_edges() -> None:
    rod = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0]
    answers = condyle.physical_inertias([rod, [0.0] * 10, [np.nan] * 10, [np.inf] * 10, [1e300] * 10])
    assert answers.tolist() == [False] * 5
    assert not np.isfinite(condyle.log_cholesky(np.array(rod))).all()
    for call in (condyle.physical_inertias, condyle.log_cholesky, condyle.from_log_cholesky):
        with pytest.raises(ShapeError, match=r"expected \(\.\.\., 10\)"):
            call(np.zeros((3, 9)))


def test_log_cholesky_is_the_factor_and_goes_both_ways() -> None:
    theta = np.random.default_rng(1).normal(size=(5, 4, 10))
    pi = condyle.from_log_cholesky(theta)
    assert condyle.physical_inertias(pi).all()
    np.testing.assert_allclose(condyle.log_cholesky(pi), theta, rtol=0, atol=1e-9)
    alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3 = theta[0, 0]
    U = np.exp(alpha) * np.array(
        [[np.exp(d1), s12, s13, t1], [0, np.exp(d2), s23, t2], [0, 0, np.exp(d3), t3], [0, 0, 0, 1]]
    )
    P, row = U @ U.T, pi[0, 0]
    assert np.allclose([P[3, 3], *P[:3, 3]], row[:4])
    assert np.allclose(np.trace(P[:3, :3]) * np.eye(3) - P[:3, :3], row[[4, 5, 7, 5, 6, 8, 7, 8, 9]].reshape(3, 3))


def test_their_derivatives() -> None:
    """By compiled functions, against differences; each is the inverse of the other's."""
    theta = np.random.default_rng(2).normal(scale=0.5, size=10)
    there = condyle.function(condyle.from_log_cholesky, inputs={"theta": 10}).compile(target="numpy")
    back = condyle.function(condyle.log_cholesky, inputs={"pi": 10}).compile(target="numpy")
    slope, h = there.jacobian()(theta), 1e-6
    differences = [(there(theta + h * e) - there(theta - h * e)) / (2.0 * h) for e in np.eye(10)]
    np.testing.assert_allclose(slope, np.transpose(differences), rtol=0, atol=1e-7 * np.abs(slope).max())
    np.testing.assert_allclose(slope @ back.jacobian()(there(theta)), np.eye(10), rtol=0, atol=1e-9)


@pytest.mark.parametrize(("thin", "body"), [(2.5e-14, True), (1.5e-14, False), (0.0, False)])
def test_what_is_thinner_than_rounding_is_no_body(thin: float, body: bool) -> None:
    """Second moments 1, 1 and `thin` of a unit mass: 1e-14 of their sum, 2, may be rounding."""
    assert condyle.physical_inertias([1.0, 0, 0, 0, 1.0 + thin, 0, 1.0 + thin, 0, 0, 2.0]) == body


def test_a_mass_that_is_not_positive_or_too_large_is_no_body() -> None:
    ball = np.array([1.0, 0.0, 0.0, 0.0, 0.1, 0.0, 0.1, 0.0, 0.0, 0.1])
    weightless, negative = ([mass, *ball[1:]] for mass in (0.0, -1.0))
    bodies = [ball, 1e30 * ball, 1.1e30 * ball, weightless, negative]
    assert condyle.physical_inertias(bodies).tolist() == [True, True, False, False, False]


def test_texts_are_no_parameters() -> None:
    for call in (condyle.log_cholesky, condyle.from_log_cholesky):
        with pytest.raises(DTypeError, match=r"cholesky: \w+: .*; give numbers \(\.\.\., 10\)"):
            call("a body")
