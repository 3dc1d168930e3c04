"""Derivatives of segments: replayed on symbols with their products recorded, differentiated, cut into segments again.

Of a product C = L R the tangent is dC = dL R + L dR; the cotangents are L_bar = C_bar R^T and R_bar = L^T C_bar. They
are products again, of parts of the same arrays, seen transposed. What nobody reads is not computed, and intermediate
values that the sweep back needs are kept, not computed twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

import numpy as np

from condyle.derivatives.lowering import code_of
from condyle.derivatives.products import LEAST, Entries, Keeps, ProductGraph, LargeProduct, entries, multiplied
from condyle.derivatives.recording import replayed
from condyle.ir.expr import Expr, Value
from condyle.ir.ops import FUSED
from condyle.ir.program import Array, Program
from condyle.ir.segments import Segmented, View
from condyle.passes.forward import Directions, forward
from condyle.passes.partials import is_zero
from condyle.passes.reverse import Cotangents, reverse
from condyle.scalar import Scalar

Arrays = Mapping[str, Entries]

WRITTEN_OUT = 1 << 62
"""As the least size of a product that is an operation: there is none."""

Takes = Callable[[Entries, Entries, Entries], bool]
"""takes(to, first, second): whether somebody else adds the product of the last two to the cotangents of the first."""


def jvp(code: Segmented, by: Mapping[str, str], name: str, least: int = LEAST) -> Program | Segmented:
    """The tangents of all answers, in their order. by: inputs that change, and what their tangents are called.

    Inputs: those of the code, then the tangents. Cleaned, not contracted. least: see `products.LEAST`.
    """
    at = Replayed(code, [Array(by[array.name], array.shape) for array in code.inputs if array.name in by], least)
    found = at.tangents(at.answers, [(at.inputs[key], at.inputs[tangent]) for key, tangent in by.items()])
    answers = [Array(f"d{array.name}", array.shape) for array in code.arrays]
    return code_of(at.graph, name, answers, found)


def vjp(
    code: Segmented, by: Sequence[str], cotangents: Sequence[str], name: str, least: int = LEAST
) -> Program | Segmented:
    """The cotangents of some inputs, in this order. cotangents: what those of the answers are called.

    Inputs: those of the code, then the cotangents. Cleaned, not contracted. least: see `products.LEAST`.
    """
    pairs = list(zip(cotangents, code.arrays, strict=True))
    at = Replayed(code, [Array(key, array.shape) for key, array in pairs], least)
    found = at.cotangents(at.answers, [at.inputs[key] for key in cotangents], [at.inputs[key] for key in by])
    shapes = {array.name: array.shape for array in code.inputs}
    return code_of(at.graph, name, [Array(f"{key}_bar", shapes[key]) for key in by], found)


def straight(code: Segmented) -> Program:
    """The same function as one Program, every product written out."""
    at = Replayed(code, (), WRITTEN_OUT)
    made = code_of(at.graph, code.name, code.arrays, at.answers)
    assert isinstance(made, Program)
    return made


class Replayed:
    """Segments on the symbols of one graph. more: inputs behind those of the code."""

    def __init__(self, code: Segmented, more: Sequence[Array], least: int) -> None:
        self.graph = ProductGraph((*code.inputs, *more), least)
        self.inputs: Arrays = self.graph.symbols()
        flat = {key: entries(array) for key, array in self.inputs.items()}
        flat |= {constant.name: list(constant.values) for constant in code.constants}
        for segment in code.segments:
            if isinstance(segment, Program):
                assert not any(node[0] in FUSED for node in segment.nodes), (
                    f"{code.name}: contracted before its derivatives"
                )
                given = [cast("list[Scalar]", flat[array.name]) for array in segment.inputs]
                flat.update(
                    zip(
                        (a.name for a in segment.arrays),
                        cast("list[list[Value]]", replayed(segment, given)),
                        strict=True,
                    )
                )
            else:
                lines, columns = segment.shape
                left = _seen(segment.left, flat[segment.left.array], lines, segment.inner)
                right = _seen(segment.right, flat[segment.right.array], segment.inner, columns)
                made = multiplied(self.graph, -left if segment.minus else left, right)
                flat[segment.result] = entries(made)
        self.answers = [_array(flat[array.name], array.shape) for array in code.arrays]

    def tangents(self, values: Sequence[Entries], seeds: Sequence[tuple[Entries, Entries]]) -> list[Entries]:
        """Of arrays, given leaves and their tangents."""
        graph = self.graph
        start: dict[int, Directions] = {}
        for leaves, given in seeds:
            start.update((cast(Expr, x).index, {0: dx}) for x, dx in zip(entries(leaves), entries(given), strict=True))

        def opened(node: int, known: dict[int, Directions]) -> None:
            product = graph.product_of(node)
            if product is not None and node == product.first:
                known.update(product_tangents(graph, product, known))

        found = forward(graph, graph.needed(_flat(values)), start, opened)
        return [_mapped(array, lambda x: _of(found, x)) for array in values]

    def cotangents(
        self, values: Sequence[Entries], given: Sequence[Entries], by: Sequence[Entries], takes: Takes | None = None
    ) -> list[Entries]:
        """Of leaves, given those of arrays. takes: see Takes."""
        graph = self.graph
        order = graph.needed(_flat(values))
        active = graph.active(order, _flat(by))

        def closed(node: int, known: Cotangents) -> None:
            product = graph.product_of(node)
            if product is not None and node == product.first and node in active:
                pass_on(graph, product, active, known, takes)

        seeds = [(x.index, bar) for x, bar in zip(_flat(values), _flat(given), strict=True) if isinstance(x, Expr)]
        found = reverse(graph, order, active, seeds, closed)
        return [_mapped(array, lambda x: found.get(cast(Expr, x).index)) for array in by]


def product_tangents(at: Keeps, product: LargeProduct, known: Mapping[int, Directions]) -> dict[int, Directions]:
    """dC = dL R + L dR for every direction of dL and dR, by node."""
    found: dict[int, Directions] = {}
    for direction in sorted({one for node in product.reads for one in known.get(node, {})}):
        result = np.zeros(product.shape, object)
        parts = [_mapped(part, lambda x, d=direction: _of(known, x, d)) for part in (product.left, product.right)]
        for left, right in ((parts[0], product.right), (product.left, parts[1])):
            if not (_vanishes(left) or _vanishes(right)):
                result = result + multiplied(at, left, right)
        for k, x in enumerate(entries(result)):
            if not is_zero(x):
                found.setdefault(product.first + k, {})[direction] = x
    return found


def pass_on(
    at: Keeps, product: LargeProduct, active: Mapping[int, object], known: Cotangents, takes: Takes | None = None
) -> None:
    """L_bar = C_bar R^T and R_bar = L^T C_bar, to those entries that depend on what is differentiated by."""
    bar = _array([known.get(k) for k in range(product.first, product.end)], product.shape)
    if _vanishes(bar):
        return
    left, right = product.left, product.right
    for to, first, second in ((left, bar, np.transpose(right)), (right, np.transpose(left), bar)):
        if not _any_of(to, active) or (takes is not None and takes(to, first, second)):
            continue
        for x, value in zip(entries(to), entries(multiplied(at, first, second)), strict=True):
            if isinstance(x, Expr) and x.index in active:
                known.add(x.index, value)


def _any_of(array: Entries, active: Mapping[int, object]) -> bool:
    return any(isinstance(x, Expr) and x.index in active for x in entries(array))


def _of(known: Mapping[int, Directions], x: Value, direction: int = 0) -> Value:
    return known.get(x.index, {}).get(direction, 0.0) if isinstance(x, Expr) else 0.0


def _seen(view: View, flat: Sequence[Value], m: int, n: int) -> Entries:
    """The matrix of a view."""
    return _array([flat[view.entry(i, j)] for i in range(m) for j in range(n)], (m, n))


def _array(flat: Sequence[Value], shape: tuple[int, ...]) -> Entries:
    made = np.empty(len(flat), object)
    made[:] = flat
    return np.reshape(made, shape)


def _mapped(array: Entries, of: Callable[[Value], Value]) -> Entries:
    return _array([of(x) for x in entries(array)], array.shape)


def _vanishes(array: Entries) -> bool:
    return all(map(is_zero, entries(array)))


def _flat(arrays: Sequence[Entries]) -> list[Value]:
    return [x for array in arrays for x in entries(array)]
