"""Rigid transforms are 4 x 4 matrices; their maps of motions and forces are inverses and transposes of each other."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.model.array import bracket, motion_matrix, skew
from condyle.model.joints import JOINT_TYPES
from condyle.model.placement import Placement
from condyle.scalar import number
from condyle.spatial.rotation import (
    IDENTITY,
    AboutX,
    AboutZ,
    Axes,
    Identity,
    Product,
    Rotation,
    Transform,
    from_quaternion,
)
from condyle.spatial.twist import cross_motion, dot
from condyle.spatial.vector import IDENTITY_MATRIX

pytestmark = pytest.mark.smoke

ROUNDING = 1e-14  # a few dozen operations on numbers of size one


def rotation(kind: str) -> Rotation:
    rng = np.random.default_rng(3)
    q = rng.standard_normal(4)
    full = from_quaternion([number(x) for x in (q / np.linalg.norm(q)).tolist()])
    c, s = number(float(np.cos(0.4))), number(float(np.sin(0.4)))
    known: dict[str, Rotation] = {"identity": Identity(), "z": AboutZ(c, s), "x": AboutX(c, s), "full": full}
    known |= {"axes": Axes(full.rows), "product": Product(full, AboutX(c, s)), "turned": Product(full, AboutZ(c, s))}
    return known[kind]


TRANSFORM_KINDS = ["identity", "z", "x", "full", "axes", "product", "turned"]


def transform(kind: str, at: tuple[float, float, float] = (0.3, -0.2, 0.7)) -> Transform:
    return Transform(rotation(kind), tuple(number(x) for x in at))  # pyright: ignore[reportArgumentType]


def matrix(x: Transform) -> np.ndarray:
    """Takes points of the child to the parent."""
    out = np.eye(4)
    out[:3, :3] = np.transpose(np.array([x.rotation.back(e) for e in IDENTITY_MATRIX], float))
    out[:3, 3] = np.array(x.translation, float)
    return out


@pytest.mark.parametrize("first", TRANSFORM_KINDS)
@pytest.mark.parametrize("second", TRANSFORM_KINDS)
def test_composition_and_inverse_are_those_of_matrices(first: str, second: str) -> None:
    a, b = transform(first), transform(second, (-0.5, 0.1, 0.2))
    both = matrix(a.compose(b))
    assert both == pytest.approx(matrix(a) @ matrix(b), abs=ROUNDING)
    assert matrix(a.compose(b).inverse()) == pytest.approx(np.linalg.inv(both), abs=ROUNDING)
    v = (number(0.1), number(-0.4), number(0.8))
    assert np.array(a.rotation.inverse().into(v)) == pytest.approx(np.array(a.rotation.back(v)), abs=ROUNDING)
    host = Placement(matrix(a)[:3, :3], matrix(a)[:3, 3]).compose(Placement(matrix(b)[:3, :3], matrix(b)[:3, 3]))
    assert both[:3, :3] == pytest.approx(host.rotation, abs=ROUNDING)
    assert both[:3, 3] == pytest.approx(host.translation, abs=ROUNDING)


@pytest.mark.parametrize("kind", TRANSFORM_KINDS)
def test_motions_and_forces(kind: str) -> None:
    x, rng = transform(kind), np.random.default_rng(5)
    m, other, f = (tuple(tuple(row) for row in rng.uniform(-1, 1, (2, 3)).tolist()) for _ in range(3))
    there = x.motion_to_child(m)
    assert np.array(x.motion_to_parent(there)) == pytest.approx(np.array(m), abs=ROUNDING)
    assert dot(there, f) == pytest.approx(dot(m, x.force_to_parent(f)), abs=ROUNDING)  # power is the same
    assert np.array(x.inverse().motion_to_parent(m)) == pytest.approx(np.array(there), abs=ROUNDING)
    dense = motion_matrix(matrix(x)[:3, :3].T, matrix(x)[:3, 3])
    assert dense @ np.ravel(m) == pytest.approx(np.ravel(there), abs=ROUNDING)
    turned = np.ravel(cross_motion(x.motion_to_child(m), x.motion_to_child(other)))
    assert turned == pytest.approx(np.ravel(x.motion_to_child(cross_motion(m, other))), abs=4 * ROUNDING)
    assert bracket(np.ravel(m), np.ravel(other)) == pytest.approx(np.ravel(cross_motion(m, other)), abs=ROUNDING)
    assert skew(np.array(m[0])) @ np.array(m[1]) == pytest.approx(np.cross(m[0], m[1]), abs=ROUNDING)


def test_the_inverse_of_a_prismatic_joints_transform() -> None:
    there = JOINT_TYPES["prismatic"].transform([number(0.4)], 0.0)
    assert there.inverse().translation == (0.0, 0.0, -0.4)
    assert matrix(IDENTITY) == pytest.approx(np.eye(4), abs=0)
