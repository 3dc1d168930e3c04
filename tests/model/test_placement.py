"""Placements: quarter turns are exact, roll-pitch-yaw goes there and back, axes are aligned exactly."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from condyle.model.placement import IDENTITY, Placement, about, alignment, rpy_of

ANGLE = st.floats(-10.0, 10.0)
QUARTERS = [k * math.pi / 2 for k in range(-4, 5)]


def test_rpy_is_yaw_after_pitch_after_roll() -> None:
    z, y, x = np.array([0, 0, 1.0]), np.array([0, 1.0, 0]), np.array([1.0, 0, 0])
    expected = about(z, 0.3) @ about(y, -0.7) @ about(x, 1.9)
    assert Placement.from_rpy(rpy=(1.9, -0.7, 0.3)).rotation == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("r", QUARTERS)
@pytest.mark.parametrize("p", QUARTERS)
def test_quarter_turns_are_exact(r: float, p: float) -> None:
    for y in QUARTERS:
        rotation = Placement.from_rpy(rpy=(r + 3e-10, p - 3e-10, y), snap=1e-9).rotation
        assert set(np.abs(rotation).ravel().tolist()) == {0.0, 1.0}
        assert not np.signbit(rotation[rotation == 0.0]).any()
        again = Placement(rotation, np.zeros(3)).snapped(1e-9)
        assert np.array_equal(again.rotation, rotation)


def test_without_snap_the_digits_stay() -> None:
    assert Placement.from_rpy(rpy=(math.pi / 2, 0, 0)).rotation[1, 1] == math.cos(math.pi / 2) != 0.0


@given(ANGLE, ANGLE, ANGLE)
def test_rpy_goes_there_and_back(r: float, p: float, y: float) -> None:
    rotation = Placement.from_rpy(rpy=(r, p, y)).rotation
    assert Placement.from_rpy(rpy=rpy_of(rotation)).rotation == pytest.approx(rotation, abs=5e-15)


@pytest.mark.parametrize("gap", [0.0, 1e-15, 1e-12, 1e-9, 1e-6])
def test_near_the_pole_no_digit_is_lost(gap: float) -> None:
    rotation = Placement.from_rpy(rpy=(0.4, math.pi / 2 - gap, 1.1)).rotation
    assert Placement.from_rpy(rpy=rpy_of(rotation)).rotation == pytest.approx(rotation, abs=1e-14)


@given(ANGLE, ANGLE, ANGLE)
def test_a_written_placement_is_a_fixed_point(r: float, p: float, y: float) -> None:
    once = Placement(Placement.from_rpy(rpy=(r, p, y)).rotation, np.ones(3)).snapped(1e-9)
    again = Placement.from_rpy(once.translation, once.rpy, 1e-9)
    assert np.array_equal(once.rotation, again.rotation)


def test_composition_and_inverse() -> None:
    a = Placement.from_rpy((1, 2, 3), (0.1, 0.2, 0.3))
    b = Placement.from_rpy((-1, 0.5, 0), (1.0, -2.0, 0.7))
    point = np.array([0.3, -0.2, 0.9])
    assert a.compose(b).apply(point) == pytest.approx(a.apply(b.apply(point)))
    assert a.inverse().apply(a.apply(point)) == pytest.approx(point)
    assert a.compose(IDENTITY) is a
    assert IDENTITY.compose(a) is a


def test_placements_cannot_be_written_and_pickle() -> None:
    place = pickle.loads(pickle.dumps(Placement.from_rpy((1, 2, 3), (0.1, 0.2, 0.3))))
    assert place.rpy == (0.1, 0.2, 0.3)
    with pytest.raises(ValueError, match="read-only"):
        place.rotation[0, 0] = 2.0
    with pytest.raises(AttributeError):
        place.translation = np.zeros(3)


def test_alignment_turns_z_to_the_axis() -> None:
    axes = [*np.eye(3), *-np.eye(3)]
    for axis in axes:
        turn = alignment(axis)
        assert set(np.abs(turn).ravel().tolist()) == {0.0, 1.0}
    assert np.array_equal(alignment(np.array([0, 0, 1.0])), np.eye(3))
    rng = np.random.default_rng(0)
    axes += [v / np.linalg.norm(v) for v in rng.standard_normal((20, 3))]
    for axis in axes:
        turn = alignment(axis)
        assert turn[:, 2] == pytest.approx(axis, abs=1e-16)
        assert turn @ turn.T == pytest.approx(np.eye(3), abs=1e-15)
        assert np.linalg.det(turn) == pytest.approx(1.0)


def test_a_rotation_is_rigid_to_a_millionth_and_no_mirror() -> None:
    turn = Placement.from_rpy(rpy=(0.3, -0.2, 1.0)).rotation
    for by, rigid in ((1.0 + 0.9e-6, True), (1.0 - 0.9e-6, True), (1.0 + 1.1e-6, False), (1.0 - 1.1e-6, False)):
        assert Placement(turn * math.sqrt(by), np.zeros(3)).is_rigid == rigid
    assert not Placement(-turn, np.zeros(3)).is_rigid
    for wrong in (np.nan, np.inf):
        assert not Placement(turn, np.array([0.0, wrong, 0.0])).is_rigid
        assert not Placement(np.where(np.eye(3) > 0.0, wrong, 0.0), np.zeros(3)).is_rigid


def test_snapped_angles_are_counted_where_they_are_no_rounding() -> None:
    near = Placement.from_rpy(rpy=(QUARTERS[5] + 3e-10, 1.5e-14, -0.9e-14), snap=1e-9)
    assert near.moved == pytest.approx((3e-10, 1.5e-14), rel=1e-6) and near.rpy == (QUARTERS[5], 0.0, 0.0)
    other = Placement.from_rpy((1, 0, 0), (0.0, 2e-10, 1.0), 1e-9)
    assert near.compose(other).moved == (*near.moved, *other.moved)
    assert Placement.from_rpy(rpy=(0.25, 0.0, 0.0), snap=0.25).rpy == (0.0, 0.0, 0.0)  # as far as the bound
    assert Placement.from_rpy(rpy=(0.26, 0.0, 0.0), snap=0.25).rpy == (0.26, 0.0, 0.0)


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_at_the_pole_all_of_the_turn_is_roll(side: float) -> None:
    """Rz(y) Ry(pi/2) Rx(r) depends on r - y alone, with -pi/2 on r + y."""
    rotation = Placement.from_rpy(rpy=(0.4, side * (math.pi / 2 - 0.5e-9), 1.1)).rotation
    assert rpy_of(rotation, 1e-9) == pytest.approx((0.4 - side * 1.1, side * math.pi / 2, 0.0), abs=1e-8)
    assert rpy_of(rotation)[2] == pytest.approx(1.1, abs=1e-6)


def test_a_placement_prints_its_turn_only_where_it_has_one() -> None:
    assert repr(Placement.from_rpy((1, 2, 3))) == "<Placement at [1 2 3] m>"
    assert repr(Placement(np.diag([1.0, -1.0, -1.0]), np.zeros(3))) == (
        "<Placement at [0 0 0] m, rotation [[1 0 0] [0 -1 0] [0 0 -1]]>"
    )
