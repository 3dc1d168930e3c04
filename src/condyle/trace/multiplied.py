"""Derivatives of forward dynamics as straight code for their factors and loops for their products."""

from __future__ import annotations

import numpy as np

from condyle.algorithms.routes import HEADS
from condyle.ir.program import Array, Program
from condyle.ir.sweep import Multiplied, Product
from condyle.ir.verify import verify
from condyle.model.tree import Tree
from condyle.passes import pipeline
from condyle.signature import FUNCTIONS
from condyle.trace.straight import arrays, run
from condyle.trace.structure import Entries, connected, rows_of, written

UPPER, LOWER = "upper", "lower"
"""What stands behind the answers of dfd's head; see `ltl.halves`."""


def multiply(tree: Tree, function: str, derivatives: str, f_ext: bool = False) -> Multiplied:
    """dfd or difd, by a route to did, for any robot; not contracted."""
    signature = FUNCTIONS[function]
    answers = arrays(tree, signature.outputs)
    halves = (Array(UPPER, answers[0].shape), Array(LOWER, answers[0].shape)) if function == "dfd" else ()
    factors = (*arrays(tree, FUNCTIONS["did"].outputs), *answers[2:], *halves)
    head = run(tree, function, HEADS[function][derivatives], arrays(tree, signature.ports(f_ext)), factors)
    return multiplied(pipeline.apply(verify(head), pipeline.CLEAN), answers)


def multiplied(head: Program, answers: tuple[Array, ...]) -> Multiplied:
    """The first two answers are - M^-1 times the head's first two; M^-1 is an input, or the head has its factors."""
    kept = written(head)
    both: Entries = kept[0] | kept[1] | np.eye(len(kept[0]), dtype=np.bool_)
    both = both | np.transpose(both)  # further zeros, but columns of one limb have the same rows
    products: list[Product] = []
    for right, answer in zip(head.arrays[:2], answers, strict=False):
        if len(kept) == 2:
            across = rows_of(np.transpose(connected(both)))
            products.append(Product("Minv", right.name, answer.name, rows_of(both), across))
            continue
        upper, lower = kept[-2:]
        half: Entries = upper.astype(np.float32) @ both > 0
        name = f"half {right.name}"
        products += (
            Product(UPPER, right.name, name, rows_of(both), rows_of(np.transpose(upper))),
            Product(LOWER, name, answer.name, rows_of(half), rows_of(np.transpose(lower))),
        )
    return Multiplied(head, answers, tuple(products))
