"""Derivatives of forward dynamics as straight code for their factors and loops for their products."""

from __future__ import annotations

from condyle.algorithms.routes import HEADS
from condyle.ir.program import Array, Program
from condyle.ir.sweep import Multiplied, Product
from condyle.ir.verify import verify
from condyle.model.tree import Tree
from condyle.passes import pipeline
from condyle.signature import FUNCTIONS
from condyle.trace.straight import arrays, run
from condyle.trace.structure import rows_of, written

INVERSE = {"difd": "Minv", "dfd": "da_dtau"}
"""The matrix on the left of both products: an input of difd, an answer of dfd."""


def multiply(tree: Tree, function: str, derivatives: str, f_ext: bool = False) -> Multiplied:
    """dfd or difd, by a route to did, for any robot; not contracted."""
    signature = FUNCTIONS[function]
    answers = arrays(tree, signature.outputs)
    factors = (*arrays(tree, FUNCTIONS["did"].outputs), *answers[2:])
    head = run(tree, function, HEADS[function][derivatives], arrays(tree, signature.ports(f_ext)), factors)
    return products_of(pipeline.apply(verify(head), pipeline.CLEAN), answers, INVERSE[function])


def products_of(head: Program, answers: tuple[Array, ...], inverse: str) -> Multiplied:
    """The first two answers are - M^-1 times the head's first two."""
    products = tuple(
        Product(inverse, right.name, answer.name, rows_of(kept))
        for right, answer, kept in zip(head.arrays[:2], answers, written(head), strict=False)
    )
    return Multiplied(head, answers, products)
