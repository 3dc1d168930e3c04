"""Arrays of symbols: what a user's function, written in NumPy, is run on."""

from condyle.symbolic import arrangement, linear, reductions
from condyle.symbolic.arrays import Condition, Symbols, Trace, entries_of

__all__ = ["Condition", "Symbols", "Trace", "arrangement", "entries_of", "linear", "reductions"]
