"""Tangent vectors of joints: how increments come out behind a motion, by two ways each, and types that know no way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from condyle.errors import UnsupportedError
from condyle.model.joints import JOINT_TYPES, increments, lie
from condyle.model.joints.base import JointType
from condyle.model.joints.lie import components, stacked
from condyle.scalar import number
from tests.model.joints.arrays import integrate
from tests.zoo import TYPES

CURVED = ("planar", "spherical", "free")
SIZES = (0.0, 1e-9, 1e-3, 0.4, 1.9, 2.1, 3.0)


def matrices(rows: Any) -> np.ndarray:
    """(nv, nv) of rows of scalars."""
    return np.array([[float(x) for x in row] for row in rows])


@pytest.mark.parametrize("name", ["planar", "free", "spherical", "cylindrical"])
def test_a_shift_and_a_turn_are_two_steps(name: str) -> None:
    """First the one, then the other; the velocity is seen in the axes behind the turn."""
    kind, rng = JOINT_TYPES[name], np.random.default_rng(3)
    for size in SIZES:
        q, dv, velocity = kind.random(rng, 1)[0], size * rng.uniform(-1.0, 1.0, kind.nv), rng.uniform(-1, 1, kind.nv)
        along = [k in kind.turning_entries for k in range(kind.nv)]
        shift, turn, moving = np.where(along, dv, 0.0), np.where(along, 0.0, dv), np.where(along, velocity, 0.0)
        moved, after = kind.shift_and_turn(*map(components, (q, shift, turn, moving)))
        np.testing.assert_allclose(stacked(moved), integrate(kind, integrate(kind, q, shift), turn), atol=1e-14)
        _, want = JointType.shift_and_turn(kind, *map(components, (q, shift, turn, moving)))
        np.testing.assert_allclose(stacked(after), stacked(want), atol=1e-14)
        assert np.linalg.norm(stacked(after)) == pytest.approx(np.linalg.norm(moving), rel=1e-13)


def test_entries_that_turn_are_lengths_along_axes_of_the_child() -> None:
    turning = {name: JOINT_TYPES[name].turning_entries for name in TYPES}
    assert turning == dict.fromkeys(TYPES, ()) | {"planar": (0, 1), "free": (0, 1, 2)}


@pytest.mark.parametrize("name", CURVED)
def test_increments_behind_a_motion_by_series_of_matrices_and_by_formulas(name: str) -> None:
    kind, rng = JOINT_TYPES[name], np.random.default_rng(4)
    for size in SIZES:
        dv = size * rng.uniform(-1.0, 1.0, kind.nv)
        by_q, by_dv = map(matrices, kind.transport(components(dv)))
        ad = kind.adjoint(dv)
        motion, slope = lie.transport(ad)
        np.testing.assert_allclose(by_q, motion, atol=2e-13)
        np.testing.assert_allclose(by_dv, slope, atol=2e-13)
        np.testing.assert_allclose(np.eye(kind.nv) - ad @ slope, motion, atol=2e-13)
        back = matrices(kind.transport_inverse(components(dv)))
        np.testing.assert_allclose(back @ by_dv, np.eye(kind.nv), atol=1e-12)
        x = rng.uniform(-1.0, 1.0, kind.nv)
        bracket = stacked(kind.bracket(components(dv), components(x)))
        np.testing.assert_allclose(ad @ x, bracket, atol=1e-15)


def test_increments_of_flat_joints_stay() -> None:
    for kind in (one for one in JOINT_TYPES.values() if one.is_flat and not one.parts):
        dv = components(np.ones(kind.nv))
        for rows in (*kind.transport(dv), kind.transport_inverse(dv)):
            assert matrices(rows).tolist() == np.eye(kind.nv).tolist()
        assert not stacked(kind.bracket(dv, dv)).any() and not kind.adjoint(np.ones(kind.nv)).any()


def test_batches_of_increments_are_each_their_own() -> None:
    """Large ones beside small ones; what is beyond all digits is no number, and spoils no other."""
    kind = JOINT_TYPES["free"]
    dv = np.random.default_rng(5).normal(size=(4, 6)) * np.array([[1e-6], [1.0], [30.0], [1e10]])
    motion, slope = lie.transport(kind.adjoint(dv))
    for k in range(3):
        alone = lie.transport(kind.adjoint(dv[k]))
        np.testing.assert_array_equal(motion[k], alone[0])
        np.testing.assert_array_equal(slope[k], alone[1])
    assert np.isnan(motion[3]).all() and np.isnan(slope[3]).all()
    none = lie.transport(np.zeros((0, 6, 6)))
    assert none[0].shape == none[1].shape == (0, 6, 6)
    np.testing.assert_array_equal(lie.transport(np.zeros((3, 3))), [np.eye(3)] * 2)


def test_fractions_are_their_series() -> None:
    """C_n(x) = sum (-x)^k / (2k + n)!, on both sides of the seam."""
    for x in (0.0, 1e-12, 0.5, 3.9, 4.0, 4.1, 9.0):
        found = [float(c) for c in increments.fractions(number(x))]
        for n, c in enumerate(found):
            term, total = 1.0 / np.prod(np.arange(1, n + 1)), 0.0
            for k in range(30):
                total += term
                term *= -x / ((2 * k + n + 1) * (2 * k + n + 2))
            assert c == pytest.approx(total, rel=1e-13, abs=1e-15)
        assert len(found) == 7


@pytest.mark.parametrize(("turn", "bits"), [(0.5, 24), (0.5, 53), (0.1, 53), (1e-9, 53), (0.5, 3)])
def test_a_series_has_as_many_terms_as_words_can_hold(turn: float, bits: int) -> None:
    """t^(2k) / (2k + 1)! of the first term that is left out, of the sine."""
    count = lie.terms(turn, bits)

    def term(k: int) -> float:
        return turn ** (2 * k) / float(np.prod(np.arange(1.0, 2 * k + 2)))

    assert term(count) <= 2.0**-bits and (count == 1 or term(count - 1) > 2.0**-bits)


def test_quaternions_of_no_length() -> None:
    assert lie.unit(np.zeros(4)).tolist() == [0.0, 0.0, 0.0, 1.0]
    assert lie.unit(np.array([[0.0, 3.0, 0.0, 4.0], [0.0] * 4])).tolist() == [
        [0.0, 0.6, 0.0, 0.8],
        [0.0, 0.0, 0.0, 1.0],
    ]
    vector, w = lie.made_unit(((number(0.0),) * 3, number(0.0)))
    assert [float(x) for x in (*vector, w)] == [0.0] * 4
    drawn = lie.random_quaternions(np.random.default_rng(0), 500)
    np.testing.assert_allclose(np.linalg.norm(drawn, axis=1), 1.0, rtol=1e-14)
    assert np.abs(drawn.mean(axis=0)).max() < 0.1 and np.abs((drawn**2).mean(axis=0) - 0.25).max() < 0.05


def test_random_configurations_fill_the_spread_of_their_type() -> None:
    rng = np.random.default_rng(0)
    for kind in JOINT_TYPES.values():
        q = kind.random(rng, 2000)
        plain = kind.nq - 4 * kind.has_quaternion
        want = [np.pi if k in kind.angles else 1.0 for k in range(kind.nq)]
        assert q.shape == (2000, kind.nq) and kind.spread.tolist() == want
        for k in range(plain):
            assert 0.98 * want[k] < q[:, k].max() <= want[k] and -want[k] <= q[:, k].min() < -0.98 * want[k]


class Bent(JointType):
    """A type whose q is no plain vector, with the defaults of all types."""

    name, nq, nv = "bent", 1, 1

    def subspace(self, pitch: Any) -> Any:
        return JOINT_TYPES["revolute"].subspace(pitch)

    def transform(self, q: Any, pitch: Any) -> Any:
        return JOINT_TYPES["revolute"].transform(q, pitch)

    def integrate(self, q: Any, dv: Any) -> Any:
        return q


def test_a_type_without_series_or_difference_refuses_them() -> None:
    x = [number(0.0)]
    with pytest.raises(UnsupportedError, match=r"^a bent joint cannot be integrated by series$"):
        Bent().integrate_by_series(x, x, 1)
    with pytest.raises(UnsupportedError, match=r"^a bent joint has no difference of configurations near each other$"):
        Bent().difference_near(x, x)
    assert not Bent().is_flat and Bent().is_axial and not JOINT_TYPES["translation"].is_axial
    defaults = (Bent.axes, Bent.has_pitch, Bent.angles, Bent.has_quaternion, Bent.is_periodic, Bent.is_free)
    assert defaults == (0, False, (), False, False, False)
    assert (Bent.is_bounded, Bent.urdf, Bent.mjcf, Bent.parts) == (False, None, None, ())


def test_properties_of_each_type() -> None:
    """Words of files, limits that a file is expected to give, whole turns that change nothing."""
    kinds = {name: JOINT_TYPES[name] for name in TYPES}
    said = {name: (k.urdf, k.mjcf, k.is_bounded, k.is_periodic, k.has_pitch, k.is_free) for name, k in kinds.items()}
    assert said == {
        "revolute": ("revolute", "hinge", True, True, False, False),
        "continuous": ("continuous", None, False, True, False, False),
        "prismatic": ("prismatic", "slide", True, False, False, False),
        "helical": (None, None, False, False, True, False),
        "cylindrical": (None, None, False, False, False, False),
        "planar": ("planar", None, False, False, False, False),
        "spherical": (None, "ball", False, False, False, False),
        "universal": (None, None, False, False, False, False),
        "translation": (None, None, False, False, False, False),
        "free": ("floating", "free", False, False, False, True),
    }
    assert {name for name, kind in kinds.items() if kind.is_axial} == {
        "revolute",
        "continuous",
        "prismatic",
        "helical",
        "cylindrical",
    }
    turns = {name: JOINT_TYPES[name].turns(number(0.0)) for name in ("revolute", "prismatic", "planar", "translation")}
    assert turns == {"revolute": True, "prismatic": False, "planar": True, "translation": False}


def test_no_angle_is_a_tiny_one_and_a_huge_one_is_no_number() -> None:
    """Its square is that of half of it, so that nothing is divided by zero; from a billion on no digit is right."""
    z, ratio, cosine = (float(x) for x in lie.half_angle(number(0.0)))
    assert (z, ratio, cosine) == (1e-30, 1.0, 1.0) and float(lie.half_angle(number(4.0))[0]) == 1.0
    for size, is_number in ((0.9e9, True), (1.1e9, False)):
        motion, slope = lie.transport(np.array([[0.0, size], [-size, 0.0]]))
        assert np.isfinite(motion).all() == np.isfinite(slope).all() == is_number


@pytest.mark.parametrize("far", [1e12, 1e300, np.inf, np.nan])
def test_increments_too_large_are_no_numbers_and_spoil_no_other(far: float) -> None:
    """Without a warning of what is thrown away."""
    ad = np.array([[[0.0, s, 0.0], [-s, 0.0, 0.1], [0.0, 0.0, 0.0]] for s in (far, 0.3)])
    with np.errstate(over="raise", invalid="raise"):
        both = lie.transport(ad)
    for x, alone in zip(both, lie.transport(ad[1:]), strict=True):
        assert np.isnan(x[0]).all()
        np.testing.assert_array_equal(x[1:], alone)
