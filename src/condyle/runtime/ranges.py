"""Inputs whose numbers have a range: flags of contacts and restitution, from 0 to 1; steps forward in time, above 0."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from condyle.errors import StateError
from condyle.ports import ACTIVE
from condyle.runtime.rows import Floats, shaped

if TYPE_CHECKING:
    from condyle.runtime.arrays import ArraySpec

SLACK = 1e-4
"""Differences of answers by a flag are taken on both sides of 0 and 1."""


def check_ranges(method: str, specs: Iterable[ArraySpec], inputs: Sequence[object]) -> None:
    """StateError for states with numbers out of range; NaN passes, and is the answer of its own state.

    Flags may be below 0 or above 1 by `SLACK`.
    """
    for spec, array in zip(specs, inputs, strict=False):
        if (spec.is_fraction or spec.is_positive) and isinstance(array, np.ndarray):
            _check(method, spec, shaped(cast("Floats", array), (-1, spec.size)))


def _check(method: str, spec: ArraySpec, rows: Floats) -> None:
    slack = SLACK if spec.name == ACTIVE.name else 0.0
    beyond = rows <= 0.0 if spec.is_positive else (rows < -slack) | (rows > 1.0 + slack)
    if not beyond.any():
        return
    allowed = "above 0, such as 1e-3" if spec.is_positive else f"from 0 to 1: pass {spec.name}.clip(0, 1)"
    bad = tuple(np.flatnonzero(beyond.any(axis=1)).tolist())
    first = f"{spec.name} is {float(rows[beyond][0]):g} in state {bad[0]}"
    raise StateError(f"{method}: {first}, expected numbers {allowed}", bad)
