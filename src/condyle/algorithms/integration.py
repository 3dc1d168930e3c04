"""q ⊕ u for a small u without functions: power series in place of sines, a Newton step in place of a root.

With t = |u_angular| and z = t², truncated where the next term is below what words can hold:

    sin t / t = sum (-z)^k / (2k+1)!,  (1 - cos t) / t² = sum (-z)^k / (2k+2)!,  (t - sin t) / t³ = sum (-z)^k / (2k+3)!
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from condyle.model.joints.base import JointType, is_flat
from condyle.model.joints.free import Free
from condyle.model.joints.planar import Planar
from condyle.scalar import Scalar, cos, number, sin
from condyle.spatial import vector as vec
from condyle.spatial.twist import Pair, combined
from condyle.spatial.vector import Vector

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


def twist(kind: JointType, x: Sequence[Scalar]) -> Pair:
    """S x, (linear, angular)."""
    return combined(x, kind.subspace(0.0))


def bracket(kind: JointType, x: Sequence[Scalar], y: Sequence[Scalar]) -> list[Scalar]:
    """[x, y] in the joint's Lie algebra, as q ⊕ u = q exp(u) has it; zeros of a flat joint."""
    if is_flat(kind):
        return [number(0.0)] * len(x)
    (a, wa), (b, wb) = twist(kind, x), twist(kind, y)
    linear, angular = vec.add(vec.cross(wa, b), vec.cross(a, wb)), vec.cross(wa, wb)
    return [vec.dot(line, linear) + vec.dot(turn, angular) for line, turn in kind.subspace(0.0)]


def moved(kind: JointType, q: Sequence[Scalar], u: Sequence[Scalar], count: int) -> Moved:
    """q ⊕ u with series of so many terms, q being valid."""
    if is_flat(kind):
        return Moved([a + b for a, b in zip(q, u, strict=True)])
    if isinstance(kind, Planar):
        return _in_plane(q, u, count)
    linear, angular = twist(kind, u)
    z = vec.dot(angular, angular)
    if not isinstance(kind, Free):
        return _turned(q, angular, z, count)
    across = vec.cross(angular, linear)
    bend = vec.add(vec.scale(_gap(2, z, count), across), vec.scale(_gap(3, z, count), vec.cross(angular, across)))
    shift = _rotated((q[3], q[4], q[5]), q[6], vec.add(linear, bend))
    turned = _turned(q[3:], angular, z, count)
    return Moved([*vec.add((q[0], q[1], q[2]), shift), *turned.q], turned.raw, turned.defect)


def _gap(n: int, z: Scalar, count: int) -> Scalar:
    """sum over k < count of (-z)^k / (2k + n)!."""
    factorials = [1.0]
    for k in range(1, 2 * count + n):
        factorials.append(factorials[-1] * k)
    total = number(1.0 / factorials[2 * (count - 1) + n])
    for k in reversed(range(count - 1)):
        total = 1.0 / factorials[2 * k + n] - z * total
    return total


def _turned(q: Sequence[Scalar], w: Vector, z: Scalar, count: int) -> Moved:
    """q exp(w / 2) as q + q (exp(w / 2) - 1): what is multiplied is small, so that cut factors cost little."""
    x, y, s = (q[0], q[1], q[2]), vec.scale(0.5 * _gap(1, 0.25 * z, count), w), q[3]
    less = 0.25 * z * _gap(2, 0.25 * z, count)
    change = vec.sub(vec.add(vec.scale(s, y), vec.cross(x, y)), vec.scale(less, x))
    raw = (*vec.add(x, change), s - (vec.dot(x, y) + less * s))
    defect = number(1.0)
    for one in raw:
        defect = defect - one * one
    half = 0.5 * defect
    return Moved([one + half * one for one in raw], raw, (defect,))


def _rotated(x: Vector, s: Scalar, v: Vector) -> Vector:
    """R(q) v."""
    t = vec.scale(2.0, vec.cross(x, v))
    return vec.add(v, vec.add(vec.scale(s, t), vec.cross(x, t)))


def _in_plane(q: Sequence[Scalar], u: Sequence[Scalar], count: int) -> Moved:
    z = u[2] * u[2]
    a, b = _gap(1, z, count), u[2] * _gap(2, z, count)
    x, y = a * u[0] - b * u[1], b * u[0] + a * u[1]
    c, s = cos(q[2]), sin(q[2])
    return Moved([q[0] + (c * x - s * y), q[1] + (s * x + c * y), q[2] + u[2]])
