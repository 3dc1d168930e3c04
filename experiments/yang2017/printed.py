"""What Yang, Wu, Pan (2017) print, and where; their figures have no numbers."""

from __future__ import annotations

MACHINE = "Intel i7-6700, one thread a problem; NVIDIA K40c"
REPEATS = 1000
JSIIA_LOSES = {"hybrid ABIA": 100, "serial ABIA": 190}
"""Links from which on the method by n + 1 inverse dynamics is the slower one: text on the forward dynamics."""
