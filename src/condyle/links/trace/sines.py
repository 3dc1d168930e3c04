"""Sines and cosines of joint angles, which stages read instead of computing them."""

from __future__ import annotations

from typing import cast

from condyle.ir.expr import Expr, Graph
from condyle.ir.link_parallel import NONE
from condyle.ir.program import input_of
from condyle.operations import Node

ANGLE, SINE, COSINE = range(3)


class KnownSines(Graph):
    """A graph in which the sine and cosine of the joint's angle, an entry of q, are read from its first input."""

    def __init__(self) -> None:
        super().__init__()
        self.angle = NONE

    def node(self, key: Node) -> Expr:
        if key[0] in ("sin", "cos"):
            _, self.angle = input_of(self.nodes[cast("tuple[str, int]", key)[1]])
            return self.input(0, SINE if key[0] == "sin" else COSINE)
        return super().node(key)
