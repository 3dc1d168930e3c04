"""THE DOOR: algorithms run on symbols and become Programs or loops; the only place where both wings meet."""

from condyle.trace.rolled import ROLLED, roll
from condyle.trace.straight import sizes, straight_size, trace

__all__ = ["ROLLED", "roll", "sizes", "straight_size", "trace"]
