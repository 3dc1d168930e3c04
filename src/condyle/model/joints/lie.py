"""Exponentials and logarithms of rotations and rigid motions, accurate at every angle; arrays, last axis."""

from __future__ import annotations

import numpy as np

from condyle.model.array import Array

# |B_2k| / (2k)!, k = 1..10: 1 - (t/2) cot(t/2) = sum of these times t^2k
_COTANGENT = (
    1 / 12,
    1 / 720,
    1 / 30240,
    1 / 1209600,
    1 / 47900160,
    691 / 1307674368000,
    1 / 74724249600,
    3617 / 10670622842880000,
    43867 / 5109094217170944000,
    174611 / 802857662698291200000,
)
_SINE = (1 / 6, -1 / 120, 1 / 5040, -1 / 362880, 1 / 39916800, -1 / 6227020800, 1 / 1307674368000, -1 / 355687428096000)


def _series(coefficients: tuple[float, ...], x: Array) -> Array:
    value = np.zeros_like(x)
    for c in reversed(coefficients):
        value = value * x + c
    return value


def versine(t: Array) -> Array:
    """(1 - cos t) / t²."""
    return 0.5 * np.sinc(t / (2.0 * np.pi)) ** 2


def sine_gap(t: Array) -> Array:
    """(t - sin t) / t³."""
    far = np.where(np.abs(t) < 1.0, 1.0, t)
    return np.where(np.abs(t) < 1.0, _series(_SINE, t * t), (far - np.sin(far)) / far**3)


def cotangent_gap(t: Array) -> Array:
    """(1 - (t/2) cot(t/2)) / t²."""
    far = np.where(np.abs(t) < 1.0, 1.0, t)
    return np.where(np.abs(t) < 1.0, _series(_COTANGENT, t * t), (1.0 - 0.5 * far / np.tan(0.5 * far)) / far**2)


def half_cotangent(t: Array) -> Array:
    """(t/2) cot(t/2); not finite at full turns."""
    return 1.0 - t * t * cotangent_gap(t)


def quaternion_product(a: Array, b: Array) -> Array:
    """Hamilton product a b of quaternions (x, y, z, w)."""
    av, aw, bv, bw = a[..., :3], a[..., 3:], b[..., :3], b[..., 3:]
    vector = aw * bv + bw * av + np.cross(av, bv)
    scalar = aw * bw - np.sum(av * bv, axis=-1, keepdims=True)
    return np.concatenate((vector, scalar), axis=-1)


def conjugate(q: Array) -> Array:
    """The inverse of a unit quaternion."""
    return q * np.array([-1.0, -1.0, -1.0, 1.0])


def unit(q: Array) -> Array:
    """q / |q|; a zero quaternion becomes the identity."""
    norm = np.linalg.norm(q, axis=-1, keepdims=True)
    identity = np.array([0.0, 0.0, 0.0, 1.0])
    return np.where(norm > 0.0, q / np.where(norm > 0.0, norm, 1.0), identity)


def rotate(q: Array, v: Array) -> Array:
    """R(q) v of a unit quaternion."""
    u, w = q[..., :3], q[..., 3:]
    t = 2.0 * np.cross(u, v)
    return v + w * t + np.cross(u, t)


def exp3(w: Array) -> Array:
    """The quaternion of a turn by the rotation vector w [rad]."""
    half = 0.5 * np.linalg.norm(w, axis=-1, keepdims=True)
    return np.concatenate((0.5 * np.sinc(half / np.pi) * w, np.cos(half)), axis=-1)


def log3(q: Array) -> Array:
    """The rotation vector, of length at most π, of a unit quaternion."""
    q = np.where(q[..., 3:] < 0.0, -q, q)
    n = np.linalg.norm(q[..., :3], axis=-1, keepdims=True)
    small = n < 1e-150
    angle = 2.0 * np.arctan2(n, q[..., 3:])
    return q[..., :3] * np.where(small, 2.0, angle / np.where(small, 1.0, n))


def exp6_translation(v: Array, w: Array) -> Array:
    """p = V(w) v: where the origin goes when the twist (v, w) acts for unit time."""
    t = np.linalg.norm(w, axis=-1, keepdims=True)
    wv = np.cross(w, v)
    return v + versine(t) * wv + sine_gap(t) * np.cross(w, wv)


def log6_translation(p: Array, w: Array) -> Array:
    """v = V(w)⁻¹ p."""
    t = np.linalg.norm(w, axis=-1, keepdims=True)
    wp = np.cross(w, p)
    return p - 0.5 * wp + cotangent_gap(t) * np.cross(w, wp)


def random_quaternions(rng: np.random.Generator, n: int) -> Array:
    """n unit quaternions, uniform over all orientations, (n, 4)."""
    return unit(rng.standard_normal((n, 4)))
