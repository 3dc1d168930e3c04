"""What joint types do with scalars, of arrays of a batch."""

from __future__ import annotations

import numpy as np

from condyle.model.joints import JointType
from condyle.model.joints.lie import components, stacked


def integrate(kind: JointType, q: np.ndarray, dv: np.ndarray) -> np.ndarray:
    """q ⊕ dv, (..., nq)."""
    return stacked(kind.integrate(components(q), components(dv)))


def difference(kind: JointType, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
    """q1 ⊖ q0, (..., nv)."""
    return stacked(kind.difference(components(q0), components(q1)))
