"""Mud: friction that grows with the velocity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from condyle.ground.contact import Ground


@dataclass(frozen=True)
class Mud(Ground):
    """f = p N - p |N| (mu / sqrt(t.t + eps^2) + viscosity) t; viscosity [s/m]. The rest: see `Ground`."""

    viscosity: Any = 1.0

    NUMBERS = (*Ground.NUMBERS, "viscosity")
    MAY_BE_ZERO = (*Ground.MAY_BE_ZERO, "viscosity")

    def grip(self, push: Any, along: Any) -> Any:
        return super().grip(push, along) + self.viscosity * push
