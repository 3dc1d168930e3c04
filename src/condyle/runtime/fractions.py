"""Inputs whose numbers are from 0 to 1: flags of contacts, coefficients of restitution."""

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


def check_fractions(method: str, specs: Iterable[ArraySpec], inputs: Sequence[object]) -> None:
    """StateError for states with numbers below 0 or above 1; NaN passes, and is the answer of its own state.

    Flags may be beyond by `SLACK`.
    """
    for spec, array in zip(specs, inputs, strict=False):
        if spec.is_fraction and isinstance(array, np.ndarray):
            slack = SLACK if spec.name == ACTIVE.name else 0.0
            _check(method, spec.name, shaped(cast("Floats", array), (-1, spec.size)), slack)


def _check(method: str, name: str, rows: Floats, slack: float) -> None:
    beyond = (rows < -slack) | (rows > 1.0 + slack)
    if beyond.any():
        bad = tuple(np.flatnonzero(beyond.any(axis=1)).tolist())
        raise StateError(
            f"{method}: {name} is {float(rows[beyond][0]):g} in state {bad[0]}, expected numbers from 0 to 1: pass "
            f"{name}.clip(0, 1)",
            bad,
        )
