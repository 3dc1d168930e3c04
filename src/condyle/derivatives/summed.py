"""Cotangents of what is one for all states, such as weights: summed over the states, and never written state by state.

The cotangent of the matrix W in W X is the sum of X_bar X^T over all states: one product of matrices that have all
states side by side. So the code answers the two factors for each state, some numbers instead of as many as W has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from condyle.derivatives.lowering import code_of
from condyle.derivatives.products import LEAST, Entries, entries, nonzero
from condyle.derivatives.segmented import Replayed
from condyle.ir.expr import Expr
from condyle.ir.program import Array, Program
from condyle.ir.segments import Segmented


class Factors(NamedTuple):
    """The sum over all states of first second^T is added to the entries `at`, row major, of an input's cotangent.

    first, second: answers (m, n) and (k, n) of the code. Without a second one the sum is of the first, (m,).
    """

    input: str
    at: NDArray[np.intp]
    first: str
    second: str


def vjp_summed(
    code: Segmented,
    by: Sequence[str],
    shared: Sequence[str],
    cotangents: Sequence[str],
    name: str,
    least: int = LEAST,
) -> tuple[Program | Segmented, tuple[Factors, ...]]:
    """As `vjp`; of the inputs that are shared, what products give as factors, which `summed` adds up.

    Behind the cotangents of the others stand these factors, and those entries that are sums of no products.
    """
    pairs = list(zip(cotangents, code.arrays, strict=True))
    at = Replayed(code, [Array(key, array.shape) for key, array in pairs], least)
    places = {x: (key, k) for key in shared for k, x in enumerate(_nodes(at.inputs[key]))}
    factors: list[Factors] = []
    answers: list[tuple[Array, Entries]] = []

    def takes(to: Entries, first: Entries, second: Entries) -> bool:
        met = [places.get(x, ("", -1)) for x in _nodes(to)]
        names, found = {key for key, _ in met}, [k for _, k in met]
        if len(names) > 1 or -1 in found or len(set(found)) < len(found):
            return False
        (key,) = names
        parts = first, np.transpose(second)
        labels = [f"{key}_factor_{len(factors)}_{k}" for k in range(2)]
        answers.extend((Array(label, part.shape), part) for label, part in zip(labels, parts, strict=True))
        factors.append(Factors(key, np.array(found), *labels))
        return True

    found = at.cotangents(at.answers, [at.inputs[key] for key in cotangents], [at.inputs[key] for key in by], takes)
    own: list[tuple[Array, Entries]] = []
    for key, bar in zip(by, found, strict=True):
        if key not in shared:
            own.append((Array(f"{key}_bar", bar.shape), bar))
        elif (kept := np.flatnonzero(nonzero(bar))).size:
            label, part = f"{key}_summed", np.ravel(bar)[kept]
            answers.append((Array(label, part.shape), part))
            factors.append(Factors(key, kept, label, ""))
    arrays, values = zip(*own, *answers, strict=True)
    return code_of(at.graph, name, arrays, values), tuple(factors)


def summed(
    name: str, size: int, factors: Sequence[Factors], answers: Mapping[str, NDArray[np.floating]]
) -> NDArray[np.floating]:
    """The cotangent of a shared input, flat: the sum over all states. answers: by name, (states, *shape)."""
    total = np.zeros(size, next(iter(answers.values())).dtype)
    for one in factors:
        if one.input == name:
            first, second = answers[one.first], answers.get(one.second)
            sums = first.sum(axis=0) if second is None else np.tensordot(first, second, axes=([0, 2], [0, 2]))
            total[one.at] += np.ravel(sums)
    return total


def _nodes(array: Entries) -> list[int]:
    return [x.index if isinstance(x, Expr) else -1 for x in entries(array)]
