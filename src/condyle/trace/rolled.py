"""The loops of a function, recorded from a route that consists of sweeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from condyle.algorithms.normal_form import normal_form
from condyle.algorithms.sweeps import Field
from condyle.errors import UnsupportedError
from condyle.ir.sweep import Kind, Rolled
from condyle.model.tree import Tree
from condyle.scalar import Scalar
from condyle.specification import Function
from condyle.trace.rolling import Rolling
from condyle.trace.steps import MatrixHandle
from condyle.trace.straight import arrays


def rolled_route(function: Function) -> str:
    """The route that loops are recorded from; UnsupportedError for a function without one."""
    for name, route in function.routes.items():
        if route.loops:
            return name
    raise UnsupportedError(f"{function} has no form of loops over joints, which robots as long as this need")


def roll(tree: Tree, function: Function) -> Rolled:
    """The loops of one function; UnsupportedError for robots with mimic joints, and for forces in the world's axes."""
    if function.has_forces and tree.has_world_forces:
        raise UnsupportedError(
            f"{function}: loops over joints, which robots as long as this need, take external forces in their bodies' "
            "axes; compile with force_frame='local', and robot.f_ext(..., frame='local_world_aligned', q=q) turns them"
        )
    rolling = Rolling(normal_form(tree, function.normal_form), function.has_forces)
    answers = function.routes[rolled_route(function)].run(rolling)
    results: dict[str, str] = {}
    for port, answer in zip(function.outputs, answers, strict=True):
        if isinstance(answer, MatrixHandle):
            results[port.name] = answer.name
        else:
            rolling.output(port.name, cast("Field[Sequence[Scalar]]", answer))
    loops = rolling.loops()
    return Rolled(
        function.name,
        arrays(tree, function.inputs),
        arrays(tree, function.outputs),
        tuple(Kind(kind.type.name, kind.type.nq, kind.type.nv) for kind in rolling.kinds),
        rolling.joints,
        rolling.buffers,
        tuple(rolling.matrices),
        results,
        loops,
        tree.nv,
    )
