"""The reference called by name, on any number type."""

from __future__ import annotations

from functools import cache

import numpy as np

from condyle import Contact
from condyle.model.robot import Robot
from condyle.model.tree import Tree, tree_of
from condyle.specification import UNBOUND, Bound, Function
from condyle.trace.reference import evaluate
from condyle.trace.structure import sizes
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
    """d function / d q (or / d v when `rate`), column by column: exact, for nothing is subtracted.

    along (n, size, nv): how the argument moves for each unit of the tangent. (n, nv, nv), row = output.
    """
    step = 1e-60  # its square is nothing beside any number here, and it is far from the smallest number
    columns = []
    for k in range(along.shape[2]):
        moved = 1j * step * along[:, :, k]
        result = reference(
            robot,
            function,
            q + 0j if rate else q + moved,
            v + moved if rate else v + 0j,
            x + 0j,
            f_ext=None if f_ext is None else f_ext + 0j,
            force_frame=force_frame,
        )
        columns.append(np.imag(result) / step)
    return np.stack(columns, axis=-1)
