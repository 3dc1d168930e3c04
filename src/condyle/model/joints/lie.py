"""Exponentials, logarithms and power series of rotations and rigid motions: floats or arrays of a batch.

With h half the angle, a = sin h / h and z = h²,

    sin t / t = a cos h,    (1 - cos t) / t² = a² / 2,    (t/2) cot(t/2) = cos h / a.

(t - sin t) / t³ and (1 - (t/2) cot(t/2)) / t² are taken as (1 - a cos h) / 4z and (1 - cos h / a) / 4z: these lose
digits for small angles, but only ever meet factors of t², and what is lost is rounding of the answer. z is never zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from condyle.model.array import Array
from condyle.scalar import Scalar, absolute, atan2, cos, number, select, sin, sqrt
from condyle.spatial import vector as vec
from condyle.spatial.vector import Vector

# q ⊕ u for a small u without functions: power series in place of sines, a Newton step in place of a root.
#
# With t = |u_angular| and z = t², truncated where the next term is below what words can hold:
#
#     sin t / t = sum (-z)^k / (2k+1)!,    (1 - cos t) / t² = sum (-z)^k / (2k+2)!,
#     (t - sin t) / t³ = sum (-z)^k / (2k+3)!


LARGEST_TURN = 0.5
"""Of one step [rad]."""


class Moved(NamedTuple):
    """q ⊕ u; before the Newton step the quaternion, and 1 - its square: none where q has no quaternion."""

    q: list[Scalar]
    raw: tuple[Scalar, ...] = ()
    defect: tuple[Scalar, ...] = ()


def terms(turn: float, bits: int) -> int:
    """How many terms the series need for turns up to so many rad, in words of so many bits."""
    count, term = 1, turn**2 / 6.0
    while term > 2.0**-bits:
        count += 1
        term *= turn**2 / ((2 * count) * (2 * count + 1))
    return count


def series(n: int, z: Scalar, count: int) -> Scalar:
    """sum over k < count of (-z)^k / (2k + n)!."""
    factorials = [1.0]
    for k in range(1, 2 * count + n):
        factorials.append(factorials[-1] * k)
    total = number(1.0 / factorials[2 * (count - 1) + n])
    for k in reversed(range(count - 1)):
        total = 1.0 / factorials[2 * k + n] - z * total
    return total


def turned(q: Sequence[Scalar], w: Vector, count: int) -> Moved:
    """q exp(w / 2) as q + q (exp(w / 2) - 1): what is multiplied is small, so that cut factors cost little."""
    z = vec.dot(w, w)
    x, y, s = (q[0], q[1], q[2]), vec.scale(0.5 * series(1, 0.25 * z, count), w), q[3]
    less = 0.25 * z * series(2, 0.25 * z, count)
    change = vec.sub(vec.add(vec.scale(s, y), vec.cross(x, y)), vec.scale(less, x))
    raw = (*vec.add(x, change), s - (vec.dot(x, y) + less * s))
    defect = number(1.0)
    for one in raw:
        defect = defect - one * one
    half = 0.5 * defect
    return Moved([one + half * one for one in raw], raw, (defect,))


Quaternion: TypeAlias = tuple[Vector, Scalar]  # (x, y, z), w

_TINY = 1e-30  # a square, far below any that matters, which float32 has too
_FAR = 1e9  # rad or m in one step, of which no digit would be right
_TERMS = 14  # of a series for entries of at most 1/8: what is left out is rounding


def components(x: Array) -> tuple[Scalar, ...]:
    """The entries of the last axis: floats of one vector, arrays of a batch."""
    if x.ndim == 1:
        return tuple(number(entry) for entry in x.tolist())
    return tuple(number(entry) for entry in np.ascontiguousarray(np.moveaxis(x, -1, 0)))


def stacked(entries: Sequence[Scalar]) -> Array:
    """The inverse of `components`."""
    return np.moveaxis(np.array(entries, dtype=np.float64), 0, -1)


def quaternion(entries: Sequence[Scalar]) -> Quaternion:
    """Of (x, y, z, w)."""
    x, y, z, w = entries
    return (x, y, z), w


def half_angle(square: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """(z, a, cos h), given the square of the angle."""
    z = 0.25 * square + _TINY
    h = sqrt(z)
    return z, sin(h) / h, cos(h)


def product(p: Quaternion, q: Quaternion) -> Quaternion:
    """Hamilton product p q."""
    (u, s), (v, t) = p, q
    return vec.add(vec.cross(u, v), vec.add(vec.scale(s, v), vec.scale(t, u))), s * t - vec.dot(u, v)


def conjugate(q: Quaternion) -> Quaternion:
    """The inverse of a unit quaternion."""
    return vec.scale(-1.0, q[0]), q[1]


def made_unit(q: Quaternion) -> Quaternion:
    """q / |q|; zero stays zero."""
    k = 1.0 / sqrt(vec.dot(q[0], q[0]) + q[1] * q[1] + _TINY)
    return vec.scale(k, q[0]), q[1] * k


def rotate(q: Quaternion, v: Vector) -> Vector:
    """R(q) v of a unit quaternion."""
    u, s = q
    t = vec.scale(2.0, vec.cross(u, v))
    return vec.add(v, vec.add(vec.scale(s, t), vec.cross(u, t)))


def exp3(w: Vector) -> Quaternion:
    """The quaternion of a turn by the rotation vector w [rad]."""
    _, a, c = half_angle(vec.dot(w, w))
    return vec.scale(0.5 * a, w), c


def log3(q: Quaternion) -> Vector:
    """The rotation vector, of length at most π, of a unit quaternion."""
    u, s = q
    n = sqrt(vec.dot(u, u) + _TINY)
    return vec.scale(2.0 * atan2(n, absolute(s)) / n * select(s, 1.0, -1.0), u)


def exp6(v: Vector, w: Vector) -> tuple[Vector, Quaternion]:
    """Where the origin goes when the twist (v, w) acts for unit time, and the turn."""
    z, a, c = half_angle(vec.dot(w, w))
    along = vec.scale((1.0 - a * c) / (4.0 * z) * vec.dot(w, v), w)
    across = vec.scale(0.5 * a * a, vec.cross(w, v))
    return vec.add(vec.scale(a * c, v), vec.add(across, along)), (vec.scale(0.5 * a, w), c)


def log6_translation(p: Vector, w: Vector) -> Vector:
    """v, of the twist (v, w) that takes the origin to p."""
    z, a, c = half_angle(vec.dot(w, w))
    k = c / a
    along = vec.scale((1.0 - k) / (4.0 * z) * vec.dot(w, p), w)
    return vec.add(vec.scale(k, p), vec.add(vec.scale(-0.5, vec.cross(w, p)), along))


def transport(ad: Array) -> tuple[Array, Array]:
    """exp(-ad) and (1 - exp(-ad)) / ad, (..., n, n): how an increment before a motion, or of it, comes out behind it.

    The series of a fraction of ad, then doubled: φ(2x) = (1 + exp(-x)) φ(x) / 2.
    """
    one, largest = np.eye(ad.shape[-1]), np.max(np.abs(ad), axis=(-1, -2), keepdims=True, initial=0.125)
    is_near = largest < _FAR
    doublings = np.where(is_near, np.ceil(np.log2(largest)) + 3.0, 0.0)
    x = np.where(is_near, ad, np.nan) / 2.0**doublings
    slope = np.broadcast_to(one, ad.shape)
    for k in range(_TERMS, 1, -1):
        slope = one - x @ slope / k
    motion = one - x @ slope
    for k in range(int(np.max(doublings, initial=0.0))):
        more = k < doublings
        slope = np.where(more, 0.5 * (slope + motion @ slope), slope)
        motion = np.where(more, motion @ motion, motion)
    return motion, slope


def unit(q: Array) -> Array:
    """q / |q| along the last axis; a zero quaternion becomes the identity."""
    norm = np.linalg.norm(q, axis=-1, keepdims=True)
    identity = np.array([0.0, 0.0, 0.0, 1.0])
    return np.where(norm > 0.0, q / np.where(norm > 0.0, norm, 1.0), identity)


def random_quaternions(rng: np.random.Generator, n: int) -> Array:
    """n unit quaternions, uniform over all orientations, (n, 4)."""
    return unit(rng.standard_normal((n, 4)))
