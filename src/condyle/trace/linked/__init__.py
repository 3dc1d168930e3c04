"""Functions for lanes that are the links of a tree: the scans of `algorithms.scans`, step by step.

In a chain the partners of a scan are neighbours. In a tree they are named: on the way out a link's ancestors 1, 2, 4,
... links away; on the way in, level by level of heavy paths, what lies behind it on its path, then its branches.
"""

from __future__ import annotations

from condyle.trace.linked.derivatives import RECORD, mass_pairs, pairs, records
from condyle.trace.linked.forward_dynamics import eliminations, forward_dynamics, size_of_solver
from condyle.trace.linked.inverse_dynamics import inverse_dynamics
from condyle.trace.linked.solve import solve

__all__ = [
    "RECORD",
    "eliminations",
    "forward_dynamics",
    "inverse_dynamics",
    "mass_pairs",
    "pairs",
    "records",
    "size_of_solver",
    "solve",
]
