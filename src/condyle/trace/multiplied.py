"""Derivatives of forward dynamics as straight code for their factors and loops for their products."""

from __future__ import annotations

import numpy as np

from condyle.algorithms.normal_form import normal_form
from condyle.functions import FUNCTIONS, expanded
from condyle.ir.program import Array, Program
from condyle.ir.sweep import Multiplied, Product
from condyle.ir.verify import verify
from condyle.model.tree import Tree
from condyle.passes import pipeline
from condyle.specification import MinusProduct
from condyle.trace.straight import arrays, run
from condyle.trace.structure import Entries, connected, rows_of, written

UPPER, LOWER = "upper", "lower"
"""What stands behind the answers of dfd's head; see `ltl.halves`."""


def multiply(tree: Tree, function: str, route: str, f_ext: bool = False) -> Multiplied:
    """A function whose answers are products of joint-space matrices, for any robot; not contracted."""
    specification = FUNCTIONS[function]
    way = specification.routes[route].factors
    assert way is not None
    answers = arrays(tree, specification.outputs)
    given = {port.name for port in specification.inputs}
    products = [step for step in expanded(specification) if isinstance(step, MinusProduct)]
    halves = () if products[0].left in given else (Array(UPPER, answers[0].shape), Array(LOWER, answers[0].shape))
    rights = tuple(Array(step.right, answers[0].shape) for step in products)
    left = tuple(array for array in answers if array.name not in {step.gives for step in products})
    swept = normal_form(tree, specification.normal_form)
    head = run(swept, function, way, arrays(tree, specification.ports(f_ext)), (*rights, *left, *halves))
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
