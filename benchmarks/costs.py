"""A user's function that is measured: a tracking cost."""

from __future__ import annotations

from typing import Any

import numpy as np

TIP = "panda_hand_tcp"
GOAL = np.array([0.4, 0.1, 0.5])


def reach(at: Any, u: Any) -> dict[str, Any]:
    """Distance of the tip to a goal, velocities, torques."""
    tip = at.frame(TIP).translation
    return {"cost": ((tip - GOAL) ** 2).sum() + 1e-2 * (at.v**2).sum() + 1e-3 * (u**2).sum()}
