"""Derivatives of large products, which are products again: dC = dL R + L dR, L_bar = C_bar R^T, R_bar = L^T C_bar."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from condyle.derivatives.products import Entries, Keeps, LargeProduct, entries, multiplied, shaped
from condyle.ir.expr import Expr, Value
from condyle.passes.forward import Directions
from condyle.passes.partials import is_zero
from condyle.passes.reverse import Cotangents


def product_tangents(keeper: Keeps, product: LargeProduct, tangents: Mapping[int, Directions]) -> dict[int, Directions]:
    """dC = dL R + L dR for every direction of dL and dR, by node."""
    found: dict[int, Directions] = {}
    for direction in sorted({one for node in product.reads for one in tangents.get(node, {})}):
        result = np.zeros(product.shape, object)
        parts = [
            _mapped(part, lambda x, d=direction: _tangent(tangents, x, d)) for part in (product.left, product.right)
        ]
        for left, right in ((parts[0], product.right), (product.left, parts[1])):
            if not (_vanishes(left) or _vanishes(right)):
                result = result + multiplied(keeper, left, right)
        for k, x in enumerate(entries(result)):
            if not is_zero(x):
                found.setdefault(product.first + k, {})[direction] = x
    return found


def pass_on(keeper: Keeps, product: LargeProduct, active: Mapping[int, object], cotangents: Cotangents) -> None:
    """L_bar = C_bar R^T and R_bar = L^T C_bar, to those entries that depend on what is differentiated by."""
    bar = shaped([cotangents.get(k) for k in range(product.first, product.end)], product.shape)
    if _vanishes(bar):
        return
    left, right = product.left, product.right
    for to, first, second in ((left, bar, np.transpose(right)), (right, np.transpose(left), bar)):
        if not _any_of(to, active):
            continue
        for x, value in zip(entries(to), entries(multiplied(keeper, first, second)), strict=True):
            if isinstance(x, Expr) and x.index in active:
                cotangents.add(x.index, value)


def _any_of(array: Entries, active: Mapping[int, object]) -> bool:
    return any(isinstance(x, Expr) and x.index in active for x in entries(array))


def _tangent(tangents: Mapping[int, Directions], x: Value, direction: int = 0) -> Value:
    return tangents.get(x.index, {}).get(direction, 0.0) if isinstance(x, Expr) else 0.0


def _mapped(array: Entries, function: Callable[[Value], Value]) -> Entries:
    return shaped([function(x) for x in entries(array)], array.shape)


def _vanishes(array: Entries) -> bool:
    return all(map(is_zero, entries(array)))
