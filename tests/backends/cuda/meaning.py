"""What each PTX instruction that we write does to lanes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Lanes = NDArray[Any]
WARP = 32
SPLIT = 134217729.0  # 2^27 + 1


def fma(a: Lanes, b: Lanes, c: Lanes) -> Lanes:
    """a b + c, rounded (but for the rarest ties) once."""
    if a.dtype == np.float32:
        return (a.astype(np.float64) * b + c).astype(np.float32)
    p = a * b
    s = p + c
    q = s - p
    rest = (p - (s - q)) + (c - q) + _product_error(a, b, p)  # no number where s is none
    return np.where(np.isfinite(rest) & (rest != 0), s + rest, s)  # a zero keeps its sign


def _product_error(a: Lanes, b: Lanes, p: Lanes) -> Lanes:
    """a b - p, exactly (Dekker 1971)."""
    a1, b1 = a * SPLIT, b * SPLIT
    a1, b1 = a1 - (a1 - a), b1 - (b1 - b)
    a2, b2 = a - a1, b - b1
    return ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2


def vote_any(x: Lanes) -> Lanes:
    """Whether x holds in any lane of the warp."""
    return np.repeat(np.reshape(x, (-1, WARP)).any(axis=1), WARP)


def ballot(x: Lanes) -> Lanes:
    """A bit for each lane of the warp: whether x holds there."""
    bits = np.reshape(x, (-1, WARP)).astype(np.uint32) << np.arange(WARP, dtype=np.uint32)
    return np.repeat(np.bitwise_or.reduce(bits, axis=1), WARP)


def shuffled(mode: str, x: Lanes, by: Lanes, limit: Lanes) -> tuple[Lanes, Lanes]:
    """x of another lane of the warp, or the lane's own where that is outside its segment; and whether it is inside."""
    lane = np.arange(len(x)) % WARP
    by, clamp, segment = by.astype(np.int64) & 31, limit.astype(np.int64) & 31, (limit.astype(np.int64) >> 8) & 31
    first = lane & segment
    last = first | (clamp & ~segment)
    if mode == "up":
        source = lane - by
        inside = source >= last
    else:
        source = lane + by if mode == "down" else first | (by & ~segment)
        inside = source <= last
    return x[np.arange(len(x)) - lane + np.where(inside, source, lane)], inside


def shift_left(x: Lanes, by: Lanes) -> Lanes:
    wide = by.astype(x.dtype)
    most = 8 * x.dtype.itemsize
    return np.where(by >= most, np.zeros_like(x), x << np.minimum(wide, most - 1).astype(x.dtype))


def shift_right(x: Lanes, by: Lanes) -> Lanes:
    most = 8 * x.dtype.itemsize
    return np.where(by >= most, np.zeros_like(x), x >> np.minimum(by, most - 1).astype(x.dtype))


def high_product(a: Lanes, b: Lanes) -> Lanes:
    """The upper 64 bits of a b."""
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    a1, a0, b1, b0 = a >> half, a & low, b >> half, b & low
    middle = a1 * b0 + (a0 * b0 >> half)
    other = a0 * b1 + (middle & low)
    return a1 * b1 + (middle >> half) + (other >> half)


def _compare(function: Callable[[Lanes, Lanes], Lanes]) -> Callable[..., Lanes]:
    return lambda a, b: function(a, b)


def _flushed(a: Lanes) -> Lanes:
    """Subnormal numbers as zeros with their sign."""
    return np.where(np.abs(a) < np.finfo(a.dtype).tiny, np.copysign(a.dtype.type(0), a), a)


def _fma_flushed(a: Lanes, b: Lanes, c: Lanes) -> Lanes:
    return _flushed(fma(_flushed(a), _flushed(b), _flushed(c)))


def approximate_rcp(a: Lanes) -> Lanes:
    """As bad as it may be. PTX states at most one unit in the last place for float32: the second nearest number.

    For float64 it states that the upper 32 bits of a make those of the result, and no bound: too large by four units of
    the last of these bits, less than 2^-17.
    """
    a = _flushed(a)
    if a.dtype == np.float32:
        exact = 1 / a.astype(np.float64)
        near = exact.astype(np.float32)
        worse = np.nextafter(near, np.where(near > exact, np.float32(-np.inf), np.float32(np.inf)))
    else:
        upper = np.uint64(0xFFFFFFFF00000000)
        near = 1 / (a.view(np.uint64) & upper).view(np.float64)
        near = np.where(np.isnan(a), a, near)
        worse = ((near.view(np.uint64) & upper) + np.uint64(4 << 32)).view(np.float64)
    return _flushed(np.where(np.isfinite(near) & (near != 0), worse, near))


MEANING: dict[str, Callable[..., Lanes]] = {
    "mov": lambda a: a,
    "neg": lambda a: -a,
    "abs": np.abs,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "mul.lo": lambda a, b: a * b,
    "mul.hi": high_product,
    "div": lambda a, b: a / b if a.dtype.kind == "f" else a // b,
    "rem": lambda a, b: a % b,
    "mad.lo": lambda a, b, c: a * b + c,
    "fma": fma,
    "fma.ftz": _fma_flushed,
    "rcp.approx.ftz": approximate_rcp,
    "sqrt": np.sqrt,
    "cvt.rmi": np.floor,
    "cvt.rni": np.rint,
    "max": np.fmax,
    "min": np.fmin,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "not": lambda a: ~a,
    "xor": lambda a, b: a ^ b,
    "shl": shift_left,
    "shr": shift_right,
    "selp": lambda a, b, p: np.where(p, a, b),
    "setp.gt": _compare(np.greater),
    "setp.ge": _compare(np.greater_equal),
    "setp.lt": _compare(np.less),
    "setp.ne": _compare(np.not_equal),
    "setp.eq": _compare(np.equal),
    "setp.nan": _compare(lambda a, b: np.isnan(a) | np.isnan(b)),
    "setp.lt.and": lambda a, b, p: (a < b) & p,
    "setp.eq.and": lambda a, b, p: (a == b) & p,
    "cvta.to.global": lambda a: a,
    "mul.wide.u32": lambda a, b: a.astype(np.uint64) * b,
    "cvt.u64.u32": lambda a: a.astype(np.uint64),
    "cvt.u32.u64": lambda a: a.astype(np.uint32),
    "cvt.f64.f32": lambda a: a.astype(np.float64),
    "cvt.f32.f64": lambda a: a.astype(np.float32),
    "cvt.f64.u32": lambda a: a.astype(np.float64),
    "cvt.f32.u32": lambda a: a.astype(np.float32),
    "cvt.f64.s64": lambda a: a.astype(np.float64),
}
"""By name without rounding; the type stands in the name only where it is not the type of all operands."""
