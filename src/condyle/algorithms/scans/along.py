"""Scans along a tree: towards the tips, and towards the base with what branches hand over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from condyle.algorithms.scans.paths import Level
from condyle.algorithms.scans.scan import Array, Index, Scan, array, stored, taken, widened
from condyle.algorithms.scans.semigroup import Flipped, Semigroup
from condyle.algorithms.values import flat, refilled
from condyle.scalar import Scalar, number

T = TypeVar("T")
U = TypeVar("U")


def outward(levels: Sequence[Level], scan: Scan[T], semigroup: Semigroup[T], elements: T) -> T:
    """For every link the product of all elements from the root to it."""
    for level in levels:
        products = scan(semigroup, taken(elements, level.links), level.position)
        hanging = np.flatnonzero(level.parents[level.path] >= 0)
        if hanging.size:
            before = taken(elements, level.parents[level.path[hanging]])
            joined = semigroup.combine(before, taken(products, hanging))
            products = stored(products, hanging, joined)
        elements = stored(elements, level.links, products)
    return elements


def inward(
    levels: Sequence[Level],
    scan: Scan[T],
    semigroup: Semigroup[T],
    form: Callable[[Index, U], T],
    handed: Callable[[T], U],
    nothing: U,
) -> tuple[T, U]:
    """For every link the product of all elements from it to the tip of its path, branches included, and what it
    received.

    form(links, received): the elements of these links, given what their finished branches hand over; handed(product):
    what a branch hands to the link that carries it, added up; nothing: zeros for every link.
    """
    flipped, received = Flipped(semigroup), nothing
    results: list[tuple[Index, T]] = []
    for level in reversed(levels):
        back = np.arange(len(level.links))[::-1]
        links = level.links[back]
        products = scan(flipped, form(links, taken(received, links)), level.left[back])
        results.append((links, products))
        heads = np.flatnonzero(level.position[back] == 0)
        received = added(received, level.parents[level.path[back[heads]]], handed(taken(products, heads)))
    return assembled(results), received


def added(value: T, index: Index, part: T) -> T:
    """The value with these parts added to rows `index`, some of them perhaps twice; -1 is nowhere."""
    inside = np.flatnonzero(index >= 0)
    if not inside.size:
        return value
    pairs = zip(flat(value), flat(taken(part, inside)), strict=True)
    return refilled(value, [_added(array(x), index[inside], array(y)) for x, y in pairs])


def _added(old: Array, index: Index, part: Array) -> Scalar:
    total = widened(old, part)
    np.add.at(total, index, part)
    return number(total)


def assembled(parts: Sequence[tuple[Index, T]]) -> T:
    """One row out of parts of it: (where, what)."""
    places = [index for index, _ in parts]
    columns = zip(*(flat(part) for _, part in parts), strict=True)
    return refilled(parts[0][1], [_assembled(places, [array(x) for x in column]) for column in columns])


def _assembled(places: Sequence[Index], arrays: Sequence[Array]) -> Scalar:
    shape = np.broadcast_shapes(*(array.shape[1:] for array in arrays))
    result: Array = np.empty((sum(len(index) for index in places), *shape), np.result_type(*arrays))
    for index, part in zip(places, arrays, strict=True):
        result[index] = part
    return number(result)
