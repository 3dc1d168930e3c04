"""Every operation there is. A target that does these does everything.

A node of a Program is a tuple: the operation's name, then what the table says.

    ("const", value)          a float
    ("input", port, k)        entry k (flat, row major) of input port number `port`
    ("neg", a)                -a                a, b, c are numbers of earlier nodes
    ("add", a, b)             a + b
    ("sub", a, b)             a - b
    ("mul", a, b)             a * b
    ("rcp", a)                1 / a             division is a product with a reciprocal
    ("sqrt", a)               square root
    ("sin", a), ("cos", a)    a in radians
    ("fma", a, b, c)          a * b + c         the last four only after contraction
    ("fms", a, b, c)          a * b - c
    ("fnma", a, b, c)         c - a * b
    ("fnms", a, b, c)         - a * b - c
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from typing_extensions import Unpack

Node: TypeAlias = "tuple[str, Unpack[tuple[float, ...]]]"
"""Whole numbers but for a constant's value; `condyle.ir.program` has typed accessors."""

LEAVES = frozenset({"const", "input"})
ARITY = {
    "neg": 1,
    "add": 2,
    "sub": 2,
    "mul": 2,
    "rcp": 1,
    "sqrt": 1,
    "sin": 1,
    "cos": 1,
    "fma": 3,
    "fms": 3,
    "fnma": 3,
    "fnms": 3,
}
TRIGONOMETRIC = frozenset({"sin", "cos"})
FUSED = frozenset({"fma", "fms", "fnma", "fnms"})
