"""How one function of one robot is computed, for people: routes, steps of the algorithm, operations, machine code."""

from condyle.explained.facts import Explained, explained
from condyle.explained.page import page

__all__ = ["Explained", "explained", "page"]
