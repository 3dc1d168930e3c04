"""The derivatives of a vjp: blocks of the function's own Hessian and Jacobian, of which there is less to compute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from condyle.derivatives.names import Name
from condyle.derivatives.ports import sizes_of
from condyle.functions import FUNCTIONS
from condyle.specification import Closed

Values = Sequence[Any]


def closed(name: Name) -> Mapping[str, Closed]:
    """What is known of derivatives of a derivative."""
    if name.kind != "vjp" or any(port.is_configuration for port in name.base.outputs):
        return {}
    return {"jacobian": partial(_jacobian, name)}


def _jacobian(name: Name, at: Any, given: Mapping[str, Values]) -> Mapping[str, Values]:
    """Of the gradient g in the tangent space at the inputs: D_j g_i = H_ij + g . [e_j, e_i] / 2, and of factors J^T."""
    base, own = name.base, FUNCTIONS[str(name)]
    every = [given[port.name] for port in own.inputs]
    plain = every[: len(base.inputs)]
    (hessian,) = at.call(f"hessian_{name.of}", *every)
    gradient, jacobian = at.call(str(name), *every), at.call(f"jacobian_{name.of}", *plain)
    widths, heights = sizes_of(at.tree, base.inputs), sizes_of(at.tree, base.outputs)
    starts = [sum(widths[:k]) for k in range(len(widths))]
    n = sum(widths)
    found: list[Values] = []
    for i, (first, height) in enumerate(zip(starts, widths, strict=True)):
        for j, (second, width) in enumerate(zip(starts, widths, strict=True)):
            block = [hessian[(first + k) * n + second + l] for k in range(height) for l in range(width)]
            if i == j and base.inputs[i].is_configuration:
                _add_brackets(at.tree, gradient[i], block)
            found.append(block)
        for k, rows in enumerate(heights):
            block = jacobian[k * len(widths) + i]
            found.append([block[row * height + column] for column in range(height) for row in range(rows)])
    names = [port.name for port in FUNCTIONS[f"jacobian_{name}"].outputs]
    return dict(zip(names, found, strict=True))


def _add_brackets(tree: Any, gradient: Values, block: list[Any]) -> None:
    for kind, _, rates in tree.configurations:
        if kind.is_flat:
            continue
        half = 0.5 * np.array([kind.adjoint(unit) for unit in np.eye(kind.nv)])
        for j, k, i in np.argwhere(half).tolist():
            place = rates[i] * tree.nv + rates[j]
            block[place] = block[place] + float(half[j, k, i]) * gradient[rates[k]]
