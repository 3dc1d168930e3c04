"""A user's function on numbers: plain Python and NumPy, one state after the other. The reference of what is traced."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condyle.errors import ShapeError
from condyle.model.robot import Robot
from condyle.model.state import quaternions_of
from condyle.model.tree import Tree, tree_of
from condyle.runtime.arrays import Binder
from condyle.specification import Bound, Function
from condyle.trace.reference import evaluate
from condyle.trace.structure import sizes
from condyle.user.ports import check_shape

Array = NDArray[np.float64]


class Numbers:
    """The robot's functions at one state, by the reference."""

    def __init__(self, robot: Robot, bound: Bound) -> None:
        def tree(frame: str) -> Tree:
            return tree_of(robot, bound._replace(frames=(frame,) if frame else ()))

        self._tree = cache(tree)

    def call(self, function: Function, arguments: Sequence[Any], frame: str) -> Sequence[Any]:
        tree, rows = self._tree(frame), dict[str, Array]()
        known = sizes(tree)
        for port, value in zip(function.inputs, arguments, strict=True):
            array: Any = np.asarray(value, np.float64)
            check_shape(f"at.{function.method}", port.name, array.shape, port.shape(known))
            rows[port.name] = array.reshape(1, -1)
        route = function.route_names(tree.has_shared_coordinates)[0]
        found = evaluate(tree, function, route, rows)
        return [np.reshape(x, port.shape(known)) for x, port in zip(found, function.outputs, strict=True)]


def answered(
    function: Function,
    robot: Robot,
    bound: Bound,
    run: Callable[[Mapping[str, Any]], object],
    args: Sequence[ArrayLike],
) -> tuple[Array, ...]:
    """The answers (..., *shape) of a function that is run state by state."""
    known = sizes(tree_of(robot, bound))
    call = Binder(function, known, np.dtype(np.float64), quaternions=quaternions_of(robot)).bind(args)
    shapes = [port.shape(known) for port in function.inputs]
    names = [port.name for port in function.inputs]
    outputs: list[Any] = [np.empty((call.n, *port.shape(known))) for port in function.outputs]
    for k in range(call.n):
        state = [rows[k if len(rows) > 1 else 0].reshape(s)[()] for rows, s in zip(call.inputs, shapes, strict=True)]
        with np.errstate(all="ignore"):
            found: Any = run(dict(zip(names, state, strict=True)))
        every = cast("dict[str, Any]", found) if isinstance(found, dict) else {"value": found}
        for port, output in zip(function.outputs, outputs, strict=True):
            value: Any = np.asarray(every[port.name], np.float64)
            if value.shape != output.shape[1:]:
                raise ShapeError(f"{port.name} has shape {value.shape} of numbers and {output.shape[1:]} of symbols")
            output[k] = value
    batch = call.results[0].shape[: call.results[0].ndim - len(function.outputs[0].dims)]
    return tuple(output.reshape(batch + output.shape[1:]) for output in outputs)
