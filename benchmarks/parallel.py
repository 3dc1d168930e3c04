"""Functions parallel in the links: by NumPy, as segments of a chain, as a GPU's launches."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from condyle.backends.cuda.launches import Parts
from condyle.functions import FUNCTIONS
from condyle.ir.link_parallel import LinkParallel
from condyle.links import compiler
from condyle.links import trace as traced
from condyle.links.algorithms import phases
from condyle.links.algorithms.links import ParallelRoute
from condyle.links.routes import routes_of
from condyle.model.tree import Tree
from condyle.specification import Function

ROUTES = {name: tuple(routes_of(function)) for name, function in FUNCTIONS.items()}


def evaluate(tree: Tree, function: Function, route: str, inputs: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """The outputs, each flat (n, size), by NumPy."""
    return phases.evaluate(tree, routes_of(function)[route], inputs)


def segment_route(function: Function) -> ParallelRoute:
    """The route that segments have."""
    return next(route for route in routes_of(function).values() if route.segments)


def segmented(tree: Tree, function: Function, lanes: int, guard: float) -> LinkParallel:
    """A chain, or branches, in so many segments."""
    return traced.segmented(tree, function, segment_route(function), lanes, guard)


def parts(tree: Tree, function: Function, dtype: str) -> Parts:
    """What a GPU launches."""
    return compiler.parts(tree, function, dtype)
