"""Arrays of symbols: what a user's function, written in NumPy, is run on."""

from condyle.symbolic import linear, reductions
from condyle.symbolic import random_numbers as random  # a file of that name could hide the standard library's
from condyle.symbolic.arrays import Condition, Symbols, Trace, entries_of

__all__ = ["Condition", "Symbols", "Trace", "entries_of", "linear", "random", "reductions"]
