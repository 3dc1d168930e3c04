"""Dynamics parallel in the links: recursions along the tree written as prefix scans over semigroups.

A recursion x_i = step_i(x_parent) can be scanned if the composition of the steps of a segment of links has a fixed
size, and composition is associative. Such a composition is called an element. Files of elements: sums, rotations, lie,
affine, articulated. Files of functions: dynamics, derivatives, solve (a link a lane),
segments (a segment of links a lane). They are written with the primitives of `links.py`, which each runner implements.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from condyle.algorithms import file_of

if TYPE_CHECKING:  # what `__getattr__` gives, for type checkers
    from condyle.links.algorithms import chain_segments as chain_segments
    from condyle.links.algorithms import derivatives as derivatives
    from condyle.links.algorithms import dynamics as dynamics
    from condyle.links.algorithms import lie as lie
    from condyle.links.algorithms import phases as phases


def __getattr__(name: str) -> ModuleType:
    return file_of(__name__, name)
