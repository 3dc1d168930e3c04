"""What a GPU launches for functions whose lanes are links, or segments of a chain of links."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from condyle.backends.common.facts import bits_of
from condyle.backends.cuda.parts import Part, Parts
from condyle.ir.link_parallel import LinkParallel
from condyle.ir.program import Array
from condyle.links.algorithms.arrays import GUARD
from condyle.links.algorithms.phases import PairRule
from condyle.links.cuda.entries import multiplied
from condyle.links.cuda.lanes import MOST, lanes_for
from condyle.links.cuda.pairs import paired
from condyle.links.cuda.part import launch, linked
from condyle.links.routes import routes_of
from condyle.links.trace import best_lanes, by_links, is_chain, pairs, segmented, solve
from condyle.model.tree import Tree
from condyle.specification import Function
from condyle.trace.straight import arrays

LONGEST_CHAIN = 4096
"""Links up to which a GPU's segments are scanned: a segment lies in its thread's local memory, which drivers set aside
for every thread that a GPU can have."""


def route_of(function: Function) -> str:
    """The route that GPUs have."""
    return next((name for name, route in routes_of(function).items() if route.in_lanes), "")


def in_segments(tree: Tree, function: Function) -> bool:
    """Whether lanes are segments of a chain, not links."""
    return routes_of(function)[route_of(function)].segments is not None and is_chain(tree)


def longest(tree: Tree, function: Function) -> int:
    """Links up to which there is a scan."""
    if tree.has_free_rotors and not routes_of(function)[route_of(function)].free_rotors:
        return 0
    return LONGEST_CHAIN if in_segments(tree, function) else MOST


def guard(dtype: str) -> float:
    """See `articulated.Segments`."""
    return GUARD * float(np.finfo(dtype).eps)


def parts(tree: Tree, function: Function, dtype: str) -> Parts:
    """The launches of a function."""
    route, bits = routes_of(function)[route_of(function)], bits_of(dtype)
    inputs, outputs = arrays(tree, function.inputs), arrays(tree, function.outputs)
    if in_segments(tree, function):
        lanes = best_lanes(tree, function, route)
        return linked(segmented(tree, function, route, lanes, guard(dtype)), inputs, outputs, bits)
    launches = Launches(tree, inputs, dtype)
    found = route.run(launches)
    left = [found] if isinstance(found, Array) else cast("Sequence[Array]", found)
    answers = {array.name: output for array, output in zip(left, outputs, strict=True)}
    return Parts(function.name, bits, inputs, outputs, tuple(_renamed(part, answers) for part in launches.parts))


def _renamed(part: Part, answers: dict[str, Array]) -> Part:
    """The same where what is left for the user goes into the user's arrays."""
    reads, writes = (tuple(answers.get(array.name, array) for array in some) for some in (part.reads, part.writes))
    return replace(part, reads=reads, writes=writes)


class Launches:
    """`Phases` as launches, one after the other; scratch hands on what one leaves for the next."""

    def __init__(self, tree: Tree, inputs: Sequence[Array], dtype: str) -> None:
        self.tree, self.dtype, self.bits = tree, dtype, bits_of(dtype)
        self.inputs = {array.name: array for array in inputs}
        self.lanes = lanes_for(len(tree.links))
        self.parts: list[Part] = []

    def input(self, port: str) -> Array:
        return self.inputs[port]

    matrix = input

    def links(self, run: Callable[..., object], *quantities: Array) -> Array:
        return self._by_links(run, quantities, False)[0]

    def eliminated(self, run: Callable[..., tuple[object, ...]], *quantities: Array) -> Sequence[Array]:
        return self._by_links(run, quantities, True)[::-1]  # the solver's is the last

    def _by_links(self, run: Callable[..., object], quantities: Sequence[Array], eliminates: bool) -> list[Array]:
        outer = [self.inputs["f_ext"]] if "f_ext" in self.inputs else []
        names = [array.name.split()[-1] for array in quantities]
        code = by_links(self.tree, self.lanes, bool(outer), guard(self.dtype), run, *names, eliminates=eliminates)
        left = [Array(f"scratch {port}", (size,)) for port, size in code.totals.items()]
        return self._launched(code, [self.inputs["q"], *quantities, *outer], left)

    def _launched(self, code: LinkParallel, inputs: Sequence[Array], outputs: list[Array]) -> list[Array]:
        self.parts.append(launch(code, inputs, outputs, self.bits))
        return outputs

    def pairs(self, rule: PairRule, records: Array) -> list[Array]:
        left = [self._matrix(f"{rule.name} {k}") for k in range(rule.matrices)]
        self.parts.append(paired(pairs(self.tree, rule), records, left, self.bits))
        return left

    def _matrix(self, name: str) -> Array:
        return Array(f"scratch {name}", (self.tree.nv, self.tree.nv))

    def own_added(self, matrix: Array, step: Callable[..., object], *quantities: Array) -> Array:
        raise AssertionError("robots with such joints run serially, see ParallelRoute.free_rotors")

    def minus_solved(self, eliminated: Array, matrix: Array) -> Array:
        (left,) = self._launched(solve(self.tree, self.lanes, False), [eliminated, matrix], [matrix])
        return left

    def inverse(self, eliminated: Array) -> Array:
        (left,) = self._launched(solve(self.tree, self.lanes, True), [eliminated], [self._matrix("inverse")])
        return left

    def minus_products(self, left: Array, matrices: Sequence[Array]) -> list[Array]:
        found = [self._matrix(f"product {k}") for k in range(len(matrices))]
        self.parts.append(multiplied(left, matrices, found, self.bits))
        return found
