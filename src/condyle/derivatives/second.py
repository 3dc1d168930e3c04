"""The derivatives of a vjp: blocks of the function's own Hessian and Jacobian, of which there is less to compute."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from condyle.derivatives.ports import tangent_dims
from condyle.model.tree import Tree
from condyle.specification import Closed, Derivative, Function, Port
from condyle.trace.straight import sizes

Values = Sequence[Any]


def sizes_of(tree: Tree, ports: Sequence[Port]) -> list[int]:
    """Entries of small changes of ports."""
    return [math.prod(replace(port, dims=tangent_dims(port)).shape(sizes(tree))) for port in ports]


def closed(function: Function) -> Mapping[str, Closed]:
    """What is known of derivatives of a derivative."""
    origin = function.origin
    if not isinstance(origin, Derivative) or origin.kind != "vjp":
        return {}
    if any(port.is_configuration for port in origin.function.outputs):
        return {}
    return {"jacobian": partial(_jacobian, function, origin.function)}


def _jacobian(function: Function, base: Function, recording: Any, inputs: Mapping[str, Values]) -> Mapping[str, Values]:
    """Of the gradient g in the tangent space at the inputs: D_j g_i = H_ij + g . [e_j, e_i] / 2, and of factors J^T."""
    every = [inputs[port.name] for port in function.inputs]
    plain = every[: len(base.inputs)]
    (curvature,) = recording.call(recording.derive("hessian", base), *every)
    gradient, first_order = recording.call(function, *every), recording.call(recording.derive("jacobian", base), *plain)
    widths, heights = sizes_of(recording.tree, base.inputs), sizes_of(recording.tree, base.outputs)
    starts = [sum(widths[:k]) for k in range(len(widths))]
    n = sum(widths)
    found: list[Values] = []
    for i, (first, height) in enumerate(zip(starts, widths, strict=True)):
        for j, (second, width) in enumerate(zip(starts, widths, strict=True)):
            block = [curvature[(first + k) * n + second + l] for k in range(height) for l in range(width)]
            if i == j and base.inputs[i].is_configuration:
                _add_brackets(recording.tree, gradient[i], block)
            found.append(block)
        for k, rows in enumerate(heights):
            block = first_order[k * len(widths) + i]
            found.append([block[row * height + column] for column in range(height) for row in range(rows)])
    names = [port.name for port in recording.derive("jacobian", function).outputs]
    return dict(zip(names, found, strict=True))


def _add_brackets(tree: Any, gradient: Values, block: list[Any]) -> None:
    for kind, _, rates in tree.configurations:
        if kind.is_flat:
            continue
        half = 0.5 * np.array([kind.adjoint(unit) for unit in np.eye(kind.nv)])
        for j, k, i in np.argwhere(half).tolist():
            place = rates[i] * tree.nv + rates[j]
            block[place] = block[place] + float(half[j, k, i]) * gradient[rates[k]]
