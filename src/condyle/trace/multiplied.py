"""Derivatives of forward dynamics as segments: straight-line code for the factors, and dense products."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from condyle.algorithms.normal_form import normal_form
from condyle.ir.program import Array, Program
from condyle.ir.segments import Product, Segmented, verify_segments, whole
from condyle.ir.verify import verify
from condyle.model.tree import Tree
from condyle.passes import pipeline
from condyle.specification import Function, MinusProduct, expanded
from condyle.trace.straight import arrays, run
from condyle.trace.structure import Entries, connected, rows_of, written

UPPER, LOWER = "upper", "lower"
"""The last two outputs of the head: see `ltl.halves`."""


def multiply(tree: Tree, function: Function, route: str) -> Segmented:
    """A function whose outputs are products of joint-space matrices, as segments, not contracted."""
    way = function.routes[route].factors
    assert way is not None
    answers = arrays(tree, function.outputs)
    products = [step for step in expanded(function) if isinstance(step, MinusProduct)]
    given = {port.name for port in function.inputs}
    halves = () if products[0].left in given else (Array(UPPER, answers[0].shape), Array(LOWER, answers[0].shape))
    rights = tuple(Array(step.right, answers[0].shape) for step in products)
    left = tuple(array for array in answers if array.name not in {step.gives for step in products})
    swept = normal_form(tree, function.normal_form)
    head = run(swept, function.name, way, arrays(tree, function.inputs), (*rights, *left, *halves))
    return multiplied(pipeline.apply(verify(head), pipeline.CLEAN), answers, products)


def multiplied(head: Program, answers: tuple[Array, ...], steps: Sequence[MinusProduct]) -> Segmented:
    """The head, then the products of its matrices; by the factors of M^-1 if the head has them, else by an input."""
    kept = {array.name: entries for array, entries in zip(head.arrays, written(head), strict=True)}
    both: Entries = np.any([kept[step.right] for step in steps], axis=0) | np.eye(len(kept[steps[0].right]), dtype=bool)
    both = both | np.transpose(both)  # fewer zeros, but columns of one branch have the same rows
    products: list[Product] = []

    def product(left: str, right: str, result: str, rows: Entries, across: Entries) -> None:
        x, y = whole(left, len(both)), whole(right, len(both))
        products.append(Product(x, y, result, rows_of(rows), rows_of(np.transpose(across)), minus=True))

    for step in steps:
        if UPPER not in kept:
            product(step.left, step.right, step.gives, both, connected(both))
            continue
        name = f"half {step.right}"
        product(UPPER, step.right, name, both, kept[UPPER])
        product(LOWER, name, step.gives, kept[UPPER].astype(np.float32) @ both > 0, kept[LOWER])
    return verify_segments(Segmented(head.name, head.inputs, answers, (), (head, *products)))
