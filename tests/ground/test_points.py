"""Which points of a shape touch a ground, and in which order: a point keeps its number while its side touches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from condyle.ground.feet import _corners, _rims

X, Y, Z = np.eye(3)
SIDES = {0: (Y, Z), 1: (X, Z), 2: (X, Y)}
"""Axes along which the corners of a side go round, by the axis that it is across."""


@pytest.mark.parametrize(
    ("normal", "axis", "sign"),
    [
        ((0.1, -0.2, 1.0), 2, -1.0),
        ((0.1, -0.2, -1.0), 2, 1.0),
        ((0.1, 1.0, 0.2), 1, -1.0),
        ((0.1, -1.0, 0.2), 1, 1.0),
        ((1.0, 0.1, 0.2), 0, -1.0),
        ((-1.0, 0.1, 0.2), 0, 1.0),
        ((1.0, 0.0, 1.0), 2, -1.0),  # of two sides the later one
        ((0.0, 1.0, -1.0), 2, 1.0),
        ((1.0, 1.0, 0.0), 1, -1.0),
        ((1.0, 1.0, 1.0), 2, -1.0),
    ],
)
def test_corners_of_the_side_that_is_deepest(normal: tuple[float, ...], axis: int, sign: float) -> None:
    first, second = SIDES[axis]
    face = sign * np.eye(3)[axis]
    found = _corners((1.0, 1.0, 1.0), [X, Y, Z], np.array(normal) / np.linalg.norm(normal))
    wanted = [face + a * first + b * second for a, b in ((1, 1), (1, -1), (-1, -1), (-1, 1))]
    np.testing.assert_array_equal(found, wanted)


def test_the_deepest_side_is_by_half_lengths_too() -> None:
    """Half the length times |n.axis|: a long axis counts more."""
    normal = np.array([0.6, 0.0, 0.8])
    assert _corners((1.0, 1.0, 1.0), [X, Y, Z], normal)[0][2] == -1.0
    np.testing.assert_array_equal(_corners((2.0, 1.0, 1.0), [X, Y, Z], normal)[0], [-2.0, 1.0, 1.0])


def rims(radius: float, half: float, normal: Any) -> Any:
    return np.array([fixed + across for fixed, across in _rims((radius, half), [X, Y, Z], np.array(normal))])  # type: ignore[operator]


@pytest.mark.parametrize("up", [1.0, -1.0])
def test_a_cylinder_stands_on_four_points_of_its_lower_rim(up: float) -> None:
    """The deepest, which is the second where z is up, the one across, and the two between. Where it stands upright they
    stay in place, and from a tilt of 1e-4 on they go with it."""
    tilts = {
        (0.0, 0.0): (-up, 0.0),
        (0.0, 1e-4): (-up, -1.0),
        (0.3, 0.0): (-1.0, 0.0),
        (0.0, -0.3): (-up * 1e-3 / 3.0, 1.0),
    }
    for (x, y), way in tilts.items():
        deepest = 0.2 * np.array([*way, 0.0]) / np.hypot(*way)
        beside, lower = np.cross(Z, deepest), np.array([0.0, 0.0, -0.5 * up])
        both = (-deepest, deepest) if up > 0.0 else (deepest, -deepest)
        wanted = [lower + across for across in (*both, beside, -beside)]
        np.testing.assert_allclose(rims(0.2, 0.5, (x, y, up)), wanted, rtol=0, atol=1e-12)


def test_a_rim_has_points_where_no_way_down_is_known() -> None:
    """At a tilt that cancels what is added to one of a cylinder that stands."""
    found = rims(0.2, 0.5, (-1e-4, 0.0, 1.0))
    assert np.isfinite(found).all() and (found[:, 2] == -0.5).all()


def test_a_cylinder_lies_on_the_deepest_points_of_both_rims() -> None:
    """From where r |n - z (n.z)| is as large as l |n.z| on."""
    for angle, lies in ((1.2, True), (1.11, True), (1.10, False), (0.4, False)):
        normal = np.array([0.0, np.sin(angle), np.cos(angle)])
        found = rims(0.1, 0.2, normal)
        assert (found[0][2] > 0.0 > found[1][2]) == lies
        if lies:
            # 1e-4 of the radius: what is added where a cylinder stands turns it so far
            np.testing.assert_allclose(found[:2], [[0.0, -0.1, 0.2], [0.0, -0.1, -0.2]], rtol=0, atol=1e-5)
