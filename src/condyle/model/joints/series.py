"""q ⊕ u for a small u without functions: power series in place of sines, a Newton step in place of a root.

With t = |u_angular| and z = t², truncated where the next term is below what words can hold:

    sin t / t = sum (-z)^k / (2k+1)!,  (1 - cos t) / t² = sum (-z)^k / (2k+2)!,  (t - sin t) / t³ = sum (-z)^k / (2k+3)!
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from condyle.scalar import Scalar, number
from condyle.spatial import vector as vec
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
