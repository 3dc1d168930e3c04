"""The reference called by name, on any number type."""

from __future__ import annotations

from functools import cache

import numpy as np

from condyle import Contact
from condyle.model.robot import Robot
from condyle.model.tree import Tree, tree_of
from condyle.specification import UNBOUND, Bound, Function
from condyle.trace.reference import evaluate
from condyle.trace.straight import sizes
from tests.forces import function_with

Array = np.ndarray


@cache
def tree_for(robot: Robot, bound: Bound = UNBOUND) -> Tree:
    return tree_of(robot, bound)


def reference(
    robot: Robot,
    function: str | Function,
    *inputs: Array,
    f_ext: Array | None = None,
    route: str | None = None,
    frames: tuple[str, ...] = (),
    force_frame: str = "local",
    contacts: tuple[Contact, ...] = (),
) -> Array | tuple[Array, ...]:
    """A function by one route (the first, unless named); inputs (n, ...), outputs (n, ...)."""
    tree = tree_for(robot, Bound(frames, force_frame=force_frame, contacts=contacts))
    called = function_with(function, f_ext is not None)
    name = route or called.route_names(tree.has_shared_coordinates)[0]
    given = inputs if f_ext is None else (*inputs, f_ext)
    rows = {port.name: array.reshape(len(array), -1) for port, array in zip(called.inputs, given, strict=True)}
    n = max(len(array) for array in given)
    flat = evaluate(tree, called, name, rows)
    shaped = tuple(
        result.reshape(n, *port.shape(sizes(tree))) for port, result in zip(called.outputs, flat, strict=True)
    )
    return shaped[0] if len(shaped) == 1 else shaped


def by_complex_step(
    robot: Robot,
    function: str,
    along: Array,
    q: Array,
    v: Array,
    x: Array,
    f_ext: Array | None = None,
    rate: bool = False,
    force_frame: str = "local",
) -> Array:
    """d function / d q (or / d v when `rate`): exact, for nothing is subtracted; every column in one evaluation.

    along (n, size, nv): how the argument moves for each unit of the tangent. (n, nv, nv), row = output.
    """
    step = 1e-60  # its square is nothing beside any number here, and it is far from the smallest number
    n, size, count = along.shape
    moved = 1j * step * np.moveaxis(along, 2, 1).reshape(n * count, size)
    many = [np.repeat(given, count, axis=0) + 0j for given in (q, v, x)]
    many[int(rate)] += moved
    forces = None if f_ext is None else np.repeat(f_ext, count, axis=0) + 0j
    result = np.asarray(reference(robot, function, *many, f_ext=forces, force_frame=force_frame))
    return np.moveaxis(np.imag(result).reshape(n, count, -1), 1, 2) / step
