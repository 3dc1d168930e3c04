"""Grounds under a robot, for functions of one's own.

`Ground`: smooth, of a spring, a damper and a regularised friction. `Plane`, `Terrain`: hard, contacts stick and slip.
"""

from condyle.ground.contact import Foot, Ground
from condyle.ground.hard import Plane, Terrain
from condyle.ground.surface import Grid

__all__ = ["Foot", "Grid", "Ground", "Plane", "Terrain"]
