"""A smooth ground under the feet of a robot: spring, damper and regularised friction, for functions of one's own."""

from condyle.ground.contact import Foot, Ground
from condyle.ground.surface import Grid

__all__ = ["Foot", "Grid", "Ground"]
