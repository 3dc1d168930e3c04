"""What is zero on one side and grows like x on the other, smoothly."""

from __future__ import annotations

from typing import Any

from condyle.symbolic.entries import numpy as np


def ramp(x: Any, width: Any) -> Any:
    """0 for x <= 0, x - width / 2 for x >= width; between them its slope is s^2 (3 - 2 s), s = x / width.

    First and second derivatives are continuous; it never falls.
    """
    s = np.clip(x / width, 0.0, 1.0)
    return width * s**3 * (1.0 - 0.5 * s) + np.maximum(x - width, 0.0)


def ramp_integral(x: Any, width: Any) -> Any:
    """The integral of `ramp` from 0 to x."""
    s, rest = np.clip(x / width, 0.0, 1.0), np.maximum(x - width, 0.0)
    return width**2 * s**4 * (0.25 - 0.1 * s) + 0.5 * rest * (width + rest)
