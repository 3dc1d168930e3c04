"""The compiler for parallel links: functions by scans where the target has them, else as they are compiled anyway."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np

from condyle.algorithms.normal_form import normal_form
from condyle.backends.common.facts import bits_of
from condyle.backends.cpu import build as cpu_target
from condyle.backends.cuda.launches import Part, Parts
from condyle.backends.cuda.target import LINK_PARALLEL, Form
from condyle.compile import Scans, Target
from condyle.compile.compiler import Compiler
from condyle.compile.gpu import GpuFunction
from condyle.compile.kernels.composed import EitherKernel
from condyle.compile.targets import CUDA
from condyle.errors import BuildError, UnsupportedError
from condyle.functions import FUNCTIONS, function_of
from condyle.ir.link_parallel import LinkParallel
from condyle.ir.loops import TimeLoop
from condyle.ir.program import Array
from condyle.links.algorithms.arrays import GUARD
from condyle.links.algorithms.links import ParallelRoute, check_alone, massless_link
from condyle.links.algorithms.phases import PairRule, evaluate
from condyle.links.cuda.part import launch, linked, multiplied, paired
from condyle.links.cuda.transport import MOST, lanes_for
from condyle.links.routes import ROUTES, routes_of
from condyle.links.trace import best_lanes, by_links, has_branches, is_chain, pairs, segmented, solve
from condyle.model.robot import Robot
from condyle.model.tree import Tree
from condyle.runtime.native import Kernel, NativeKernel, NumpyKernel
from condyle.specification import Function
from condyle.trace.straight import arrays

# What a GPU launches for functions whose lanes are links, or segments of a chain of links.


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


TABLE = Path(__file__).parent / "crossovers.json"


class Crossover(NamedTuple):
    """From so many links on and up to so many states the scans are faster, as measured."""

    links: int
    states: int


@cache
def crossovers() -> dict[tuple[str, str, str, Function], Crossover]:
    """The measurements that `auto` goes by, by target, instruction set ("" for NumPy), dtype and function.

    Of several processors that gained, the one where chains must be longest; one that never did has no row.
    """
    found: dict[tuple[str, str, str, Function], Crossover] = {}
    for row in cast("list[dict[str, str | int]]", json.loads(TABLE.read_text())["rows"]):
        key = str(row["target"]), str(row["isa"]), str(row["dtype"]), function_of(str(row["function"]))
        before = found.get(key, Crossover(0, 1 << 40))
        found[key] = Crossover(max(before.links, int(row["links"])), min(before.states, int(row["states"])))
    return found


@dataclass
class LinkParallelCompiler(Compiler):
    """Compiler for links="scan" and links="auto".

    A route may be a scan's name or a serial one; a function whose route is serial is not scanned, nor one in which
    joint forces or actuators act. "scan" refuses robots with mimic joints (UnsupportedError); "auto" scans only what
    `crossovers` says is faster, and serves every robot.
    """

    auto: bool = False
    scans: dict[Function, str] = field(default_factory=dict[Function, str])
    """Every function that can be scanned, and the route to it that was named, or ""."""

    def __post_init__(self) -> None:
        if not self.auto:
            check_alone(self.tree)
        some: Mapping[Function, str] = {} if self.auto else self.routes
        named = {function: route for function, route in some.items() if route in routes_of(function)}
        self.routes = {function: route for function, route in self.routes.items() if function not in named}
        super().__post_init__()
        shared = self.tree.has_shared_coordinates
        free = [] if shared else [one for one in FUNCTIONS.values() if one in ROUTES and one not in self.routes]
        self.scans = {one: named.get(one, "") for one in free}
        self.linked_parts = cache(partial(_parts, self.tree))

    def forms_elements(self, function: Function, target: Target) -> bool:
        """Whether it is scanned and every link must have inertia along its own joint for that."""
        return self.scanned(function, target) and self._route(function, target).elements

    def check(self, function: Function, target: Target) -> None:
        super().check(function, target)
        if self.robot is not None and not self.auto and function.inverts and self.forms_elements(function, target):
            _check_elements(self.robot, self.tree)

    def scan(self, function: Function, target: Target) -> str:
        """The route of a scan: as named, else the target's own."""
        routes = routes_of(function)
        own = [name for name, route in routes.items() if route.segments] if target.scans is Scans.SEGMENTS else []
        return self.scans[function.without_forces] or next(iter((*own, *routes)))

    def _route(self, function: Function, target: Target) -> ParallelRoute:
        return routes_of(function)[self.scan(function, target)]

    def scanned(self, function: Function, target: Target) -> bool:
        """Whether the target has this scan, for this robot: NumPy has all, machine code segments of a chain or of
        branches; GPUs a chain's for forward dynamics, and most functions of as many links as a block has threads."""
        if function.without_forces not in self.scans or self.is_driven(function):
            return False
        if target.scans in (Scans.NONE, Scans.ALL):
            return target.scans is Scans.ALL
        if target.scans is Scans.SEGMENTS:
            few = is_chain(self.tree) or has_branches(self.tree, target.lanes("float64"))
            return self._route(function, target).segments is not None and few
        known = self.scan(function, target) == route_of(function)
        return known and 1 <= len(self.tree.links) <= longest(self.tree, function)

    def build(self, function: Function, target: Target, dtype: str) -> Kernel:
        elsewhere = target.on_device or target.computes is not target
        if elsewhere or not self.scanned(function, target) or self._keeps_axes(function):
            return super().build(function, target, dtype)
        if target.scans is Scans.ALL:
            return self._numpy(function, target, dtype)
        if not self.auto:
            return self._chain(function, target, dtype)
        kernel = super().build(function, target, dtype)
        if isinstance(kernel, NativeKernel) and self.faster(function, target, dtype, 1):
            with suppress(BuildError):
                chain = self._chain(function, target, dtype)
                kernel.add_single(chain.entry, chain)
        return kernel

    def kept(self, function: Function, target: Target, dtype: str) -> Kernel | None:
        scanned = self.scanned(function, target) and not self._keeps_axes(function)
        return None if scanned else super().kept(function, target, dtype)

    def gpu(self, function: Function, dtype: str, multiprocessors: int) -> GpuFunction:
        if not self._takes(function, CUDA, dtype, 1) or self._keeps_axes(function):
            return super().gpu(function, dtype, multiprocessors)
        return LinkParallelFunction(self.gpu_kernels, function, dtype, multiprocessors, parts=self.linked_parts)

    def _keeps_axes(self, function: Function) -> bool:
        """Whether there are external forces in the world's axes, which scans do not take."""
        return function.has_forces and self.tree.has_world_forces

    def _takes(self, function: Function, target: Target, dtype: str, n: int) -> bool:
        """Whether a batch of n states is scanned."""
        return self.faster(function, target, dtype, n) if self.auto else self.scanned(function, target)

    def _chain(self, function: Function, target: Target, dtype: str) -> NativeKernel:
        isa = cpu_target.supported()[0]
        route, lanes = self._route(function, target), target.lanes(dtype)
        tree, least = _normal(self.tree, function, route), guard(dtype)
        made = segmented(tree, function, route, lanes, least)
        return cpu_target.build_chain(made, dtype, isa)

    def _numpy(self, function: Function, target: Target, dtype: str) -> Kernel:
        route = self._route(function, target)
        run = partial(evaluate, _normal(self.tree, function, route), route)
        name = f"NumPy, {self.scan(function, target)}, scanned"
        scan = NumpyKernel(run, function.inputs, np.dtype(dtype), name)
        if not self.auto:
            return scan
        serial = super().build(function, target, dtype)
        return EitherKernel(scan, serial, partial(self.faster, function, target, dtype))

    def faster(self, function: Function, target: Target, dtype: str, n: int) -> bool:
        """Whether `auto` scans a batch of n states.

        On a GPU, where nothing was measured, only what has no other kernel: robots too long for straight-line code.
        """
        if not self.scanned(function, target) or (self.forms_elements(function, target) and self._has_massless_link):
            return False
        if target.scans is Scans.LANES:
            return self.is_rolled(function)
        if target.scans is Scans.SEGMENTS and not is_chain(self.tree):
            return False  # chains were measured
        isa = target.instruction_set
        known = crossovers().get((target.name, isa, dtype, function.without_forces))
        return known is not None and len(self.tree.links) >= known.links and n <= known.states

    @cached_property
    def _has_massless_link(self) -> bool:
        return massless_link(self.tree) is not None

    def line(self, function: Function, target: Target, dtype: str, n: int) -> str:
        if not self._takes(function, target, dtype, n):
            return super().line(function, target, dtype, n)
        by_link = target.scans is Scans.ALL or (target.scans is Scans.LANES and not in_segments(self.tree, function))
        how = "by scans over the links" if by_link else "its links in segments, one in each lane"
        return f"{function.name:11}{self.scan(function, target):24}{how}"


@dataclass(frozen=True, eq=False)
class LinkParallelFunction(GpuFunction):
    """On a GPU, with links in the lanes: one form for every batch."""

    parts: Callable[[Function, str], Parts] = field(kw_only=True)

    def form(self, n: int) -> Form:
        return LINK_PARALLEL

    def launches(self, form: Form) -> Parts:
        return self.parts(self.function, self.dtype)

    def repeated(self, loop: TimeLoop) -> None:
        """Nothing: links in the lanes have no loop over time."""

    def line(self, n: int) -> str:
        return ""


def _normal(tree: Tree, function: Function, route: ParallelRoute) -> Tree:
    """The tree that a route runs on."""
    return normal_form(tree, function.normal_form, route.elements)


def _parts(tree: Tree, function: Function, dtype: str) -> Parts:
    route = routes_of(function)[route_of(function)]
    return parts(_normal(tree, function, route), function, dtype)


def _check_elements(robot: Robot, tree: Tree) -> None:
    """UnsupportedError if a link has no inertia along its own joint, which scans of elements divide by."""
    i = massless_link(tree)
    if i is None:
        return
    body = tree.links[i].body
    raise UnsupportedError(
        f"links='scan': body {robot.bodies[body].name!r} has no inertia along its joint {robot.joints[body].name!r}: "
        "the link makes no element of a scan. Give the joint armature, or lock it, or use links='serial' (or "
        "routes={'fd': 'abia'}, whose articulated inertias are serial)"
    )
