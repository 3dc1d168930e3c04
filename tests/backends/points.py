"""Where single operations are tried, what they should give there, and how far off an answer is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from condyle.operations import OPERATIONS


def any_bits(rng: np.random.Generator, dtype: str, n: int) -> np.ndarray:
    """Numbers of all exponents and both signs, those below the normal ones too."""
    kind = np.dtype(dtype)
    x = np.frombuffer(rng.bytes(2 * n * kind.itemsize), kind)
    return x[np.isfinite(x)][:n].copy()


def samples(op: str, dtype: str, n: int, seed: int = 5) -> list[np.ndarray]:
    """For each operand, half of all exponents and half where something happens."""
    rng = np.random.default_rng(seed)
    half = n // 2
    if op == "atan2":
        near, scale = rng.uniform(-1, 1, (2, half)), 2.0 ** rng.integers(-120, 120, half)
        ratio = 2.0 ** rng.uniform(-8, 8, half)
        return [
            np.concatenate([any_bits(rng, dtype, half), (x * scale).astype(dtype)])
            for x in (near[0] * ratio ** rng.integers(0, 2, half), near[1])
        ]
    reach = {"exp": 760 if dtype == "float64" else 110, "tanh": 3, "log": 4}.get(op, 10)
    parts = [np.concatenate([any_bits(rng, dtype, half), rng.uniform(-reach, reach, half)]) for _ in range(3)]
    return [part.astype(dtype) for part in parts[: OPERATIONS[op].arity]]


def exact(op: str, operands: Sequence[np.ndarray]) -> np.ndarray:
    """In the longest format there is: 11 bits and more are to spare."""
    wide = np.longdouble if operands[0].dtype == np.float64 else np.float64
    with np.errstate(all="ignore"):
        return OPERATIONS[op].meaning(*(x.astype(wide) for x in operands))


def ulps(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """Distances in units in the last place of the value that is wanted; infinite where one alone is no number."""
    kind = np.finfo(got.dtype)
    want = np.asarray(want, np.longdouble)
    with np.errstate(all="ignore"):
        exponent = np.maximum(np.floor(np.log2(np.abs(want))), kind.minexp)
        error = np.abs(got - want) / np.exp2((exponent - kind.nmant).astype(np.longdouble))
        rounds_to_infinity = np.isinf(want.astype(got.dtype)) & (np.sign(want) == np.sign(got)) & np.isinf(got)
    error = np.where((got == want) | rounds_to_infinity | (np.isnan(got) & np.isnan(want)), 0.0, error)
    return np.where(np.isnan(error), np.inf, error)


def columns(operands: Sequence[np.ndarray]) -> list[np.ndarray]:
    return [x[:, None].copy() for x in operands]
