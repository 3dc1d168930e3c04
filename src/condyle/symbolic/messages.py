"""What is said of symbols that are used as numbers."""

from __future__ import annotations

BRANCH = (
    "the truth of a symbol differs from state to state, so Python's `if`, `while`, `and`, `or`, `not`, min, max and "
    "sorted cannot ask for it; write np.where(condition, a, b), np.logical_and, np.logical_or, np.logical_not, "
    "np.minimum, np.maximum"
)
NUMBER = (
    "a symbol has no value yet, so float(x), int(x), range(x), math.sin(x), an index and an array of numbers cannot "
    "have it; use NumPy's functions (np.sin), np.where(condition, a, b) where code depends on it, and np.zeros_like(x) "
    "for an array to put it into"
)
ARRAY = (
    "an array of numbers cannot hold symbols; write np.stack([...]) in place of np.array([...]), "
    "np.block([[...], [...]]) for a matrix, np.zeros_like(x) or np.zeros_like(x, shape=...) to put them into"
)
