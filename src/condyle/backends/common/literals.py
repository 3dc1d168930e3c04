"""Numbers as constants of C."""

from __future__ import annotations

import math

import numpy as np

from condyle.errors import UnsupportedError


def literal(value: float, bits: int) -> str:
    """A number as a hexadecimal C constant; raises UnsupportedError where it is not finite in this precision."""
    if bits == 32:
        with np.errstate(over="ignore"):
            value = float(np.float32(value))
    if not math.isfinite(value):
        raise UnsupportedError(f"the constant {value} cannot stand in generated code")
    return value.hex() + ("f" if bits == 32 else "")
