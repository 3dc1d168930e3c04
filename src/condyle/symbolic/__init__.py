"""Arrays of symbols: what a user's function, written in NumPy, is run on."""

from condyle.symbolic import linear, reductions
from condyle.symbolic.arrays import Condition, Symbols, Trace, entries_of

__all__ = ["Condition", "Symbols", "Trace", "entries_of", "linear", "reductions"]
