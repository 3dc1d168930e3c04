"""THE DOOR: algorithms run on symbols and become Programs or loops; the only place where both wings meet."""

from condyle.trace.rolled import ROLLED, roll
from condyle.trace.straight import arrays, sizes, straight_size, trace
from condyle.trace.structure import layout_of

__all__ = ["ROLLED", "arrays", "layout_of", "roll", "sizes", "straight_size", "trace"]
