"""Inputs whose numbers have a range: flags of contacts and restitution, from 0 to 1; steps forward in time, above 0;
lengths of quaternions, 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

import numpy as np

from condyle.errors import StateError
from condyle.runtime.rows import Floats, Shape, shaped
from condyle.specification import Port
from condyle.specification.ports import ACTIVE

SLACK = 1e-4
"""Differences of answers by a flag are taken on both sides of 0 and 1."""
UNIT = 1e-3
"""How far the length of a quaternion may be from 1; a rotation matrix is then off by twice that at most."""
Quaternions: TypeAlias = tuple[tuple[int, str], ...]
"""Of a configuration: the first entry of each, and the name of its joint."""


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """One port of a function with its dimensions as numbers. quaternions: of a configuration, see `Binder`."""

    name: str
    dims: Shape
    size: int
    is_fraction: bool = False
    is_positive: bool = False
    quaternions: Quaternions = ()

    @staticmethod
    def for_port(port: Port, sizes: Mapping[str, int], quaternions: Quaternions = ()) -> ArraySpec:
        dims = port.shape(sizes)
        return ArraySpec(port.name, dims, math.prod(dims), port.is_fraction, port.is_positive, quaternions)

    @property
    def expected(self) -> str:
        return f"(..., {', '.join(map(str, self.dims))})"


def check_ranges(method: str, specs: Iterable[ArraySpec], inputs: Sequence[object]) -> None:
    """StateError for states with numbers out of range; NaN and infinity pass, for their own state's answer says it.

    Flags may be below 0 or above 1 by `SLACK`, lengths of quaternions differ from 1 by `UNIT`.
    """
    for spec, array in zip(specs, inputs, strict=False):
        if not isinstance(array, np.ndarray):
            continue
        if spec.is_fraction or spec.is_positive:
            _check(method, spec, shaped(cast("Floats", array), (-1, spec.size)))
        for first, joint in spec.quaternions:
            rows = shaped(cast("Floats", array), (-1, spec.dims[-1]))
            _check_length(method, spec, joint, rows[:, first : first + 4])


def _check_length(method: str, spec: ArraySpec, joint: str, quaternions: Floats) -> None:
    """quaternions (n, 4): those of one joint."""
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.sqrt(np.einsum("ij,ij->i", quaternions, quaternions, dtype=np.float64))
        off = np.abs(lengths - 1.0) > UNIT
    if not off.any():
        return
    off &= np.isfinite(quaternions).all(axis=1)
    if not off.any():
        return
    per_state = spec.size // spec.dims[-1]
    bad = tuple(dict.fromkeys((np.flatnonzero(off) // per_state).tolist()))
    raise StateError(
        f"{method}: in {spec.name} the quaternion of joint {joint!r} has length {lengths[off][0]:.4g} in state "
        f"{bad[0]}, expected 1 within {UNIT:g}: robot.normalize({spec.name}) makes it so; its order is x y z w, behind "
        "the position of a free joint. compile(check=False) leaves this check out",
        bad,
    )


def _check(method: str, spec: ArraySpec, rows: Floats) -> None:
    slack = SLACK if spec.name == ACTIVE.name else 0.0
    beyond = rows <= 0.0 if spec.is_positive else (rows < -slack) | (rows > 1.0 + slack)
    if not beyond.any():
        return
    allowed = "above 0, such as 1e-3" if spec.is_positive else f"from 0 to 1: pass {spec.name}.clip(0, 1)"
    bad = tuple(np.flatnonzero(beyond.any(axis=1)).tolist())
    first = f"{spec.name} is {float(rows[beyond][0]):g} in state {bad[0]}"
    raise StateError(f"{method}: {first}, expected numbers {allowed}", bad)
