"""Grounds under a robot, for functions of one's own.

`Ground`: smooth, of a spring, a damper and a regularised friction. `Plane`: hard, its contacts stick and slip.
"""

from condyle.ground.contact import Foot, Ground
from condyle.ground.surface import Grid, Plane

__all__ = ["Foot", "Grid", "Ground", "Plane"]
