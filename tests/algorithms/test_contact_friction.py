"""Parts of a step with friction: the axes of a contact, projection to cones."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.algorithms.contact_friction import Frictional, basis, nearest
from condyle.algorithms.contact_newton import Problem, shortened


@pytest.mark.parametrize("z", [1.0, 0.0, -0.0, -1.0, -1.0 + 1e-9])
def test_a_basis_is_right_handed(z: float) -> None:
    normal = np.array([0.3 * (1.0 - z * z), 0.1 * (1.0 - z * z), z])
    axes = np.array(basis(tuple(np.float64(x) for x in normal)))  # type: ignore[arg-type]
    np.testing.assert_allclose(axes @ axes.T, np.eye(3), rtol=0, atol=1e-12)
    assert np.linalg.det(axes) > 0.0 and axes[2] @ normal > 0.0


def test_the_nearest_point_of_a_cone() -> None:
    """Moreau's decomposition: the residual is in the polar cone and normal to the projection."""
    rng = np.random.default_rng(0)
    p, mu = 2.0 * rng.normal(size=(3, 1000)), rng.uniform(0.0, 2.0, 1000)
    near = np.array(nearest(tuple(p), mu))  # type: ignore[arg-type]
    left, across = p - near, np.linalg.norm(near[:2], axis=0)
    assert np.all(across <= mu * near[2] + 1e-11) and np.all(near[2] >= 0.0)
    np.testing.assert_allclose((left * near).sum(axis=0), 0.0, rtol=0, atol=1e-11)
    assert np.all(left[2] + mu * np.linalg.norm(left[:2], axis=0) <= 1e-11)


def test_a_shortened_vector_keeps_its_direction() -> None:
    x, y = np.array([3.0, 0.3, 0.0]), np.array([-4.0, -0.4, 0.0])
    short = np.array(shortened((x, y), np.array([1.0, 1.0, 0.0])))  # type: ignore[arg-type]
    np.testing.assert_allclose(short, [[0.6, 0.3, 0.0], [-0.8, -0.4, 0.0]], rtol=1e-12)


def test_impulses_without_gain_are_the_longest_ones() -> None:
    """E(s) = s pᵀ b + s² pᵀ G p / 2: the factor s is 1 where E(1) <= 0, else the root of E, and 0 where pᵀ b >= 0."""
    rng = np.random.default_rng(0)
    kinds = set[str]()
    for _ in range(60):
        half, p, b = rng.normal(size=(6, 6)), rng.normal(size=6), 6.0 * rng.normal(size=6)
        G = half @ half.T
        contacts = object.__new__(Frictional)
        contacts.joints, contacts.first = (), 6
        problem = Problem(G.tolist(), b.tolist(), (), (), (), (), ())
        contacts.__dict__.update(b=b.tolist(), problem=problem)
        kept = np.array(contacts._without_gain(p.tolist()))
        energy = kept @ b + 0.5 * kept @ G @ kept
        if p @ b >= 0.0:
            kinds.add("none")
            assert not kept.any()
        elif p @ b + 0.5 * p @ G @ p <= 0.0:
            kinds.add("all")
            assert np.array_equal(kept, p)
        else:
            kinds.add("some")
            assert abs(energy) < 1e-12 * abs(kept @ b) and kept.any()  # rounding of two sums of 36 terms
    assert kinds == {"none", "some", "all"}
