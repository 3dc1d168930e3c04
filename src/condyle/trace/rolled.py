"""The loops of a function, recorded from a route that consists of sweeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from condyle.algorithms.normal_form import normal_form
from condyle.algorithms.sweeps import Field
from condyle.errors import UnsupportedError
from condyle.functions import FUNCTIONS
from condyle.ir.sweep import Kind, Rolled
from condyle.model.tree import Tree
from condyle.scalar import Scalar
from condyle.specification import F_EXT
from condyle.trace.rolling import Rolling
from condyle.trace.steps import MatrixHandle
from condyle.trace.straight import arrays


def rolled_route(function: str) -> str:
    """The route that loops are recorded from; UnsupportedError for a function without one."""
    for name, route in FUNCTIONS[function].routes.items():
        if route.loops:
            return name
    having = ", ".join(name for name, one in FUNCTIONS.items() if any(route.loops for route in one.routes.values()))
    raise UnsupportedError(
        f"{function} has no form of loops over joints, which robots as long as this need; {having} do"
    )


def roll(tree: Tree, function: str, f_ext: bool = False) -> Rolled:
    """The loops of one function; UnsupportedError for robots with mimic joints, and for forces in the world's axes."""
    specification = FUNCTIONS[function]
    ports = specification.ports(f_ext)
    forces = any(port.name == F_EXT.name for port in ports)
    if forces and tree.has_world_forces:
        raise UnsupportedError(
            f"{function}: loops over joints, which robots as long as this need, take external forces in their bodies' "
            "axes; compile with force_frame='local', and robot.f_ext(..., frame='local_world_aligned', q=q) turns them"
        )
    rolling = Rolling(normal_form(tree, specification.normal_form), forces)
    answers = specification.routes[rolled_route(function)].run(rolling)
    results: dict[str, str] = {}
    for port, answer in zip(specification.outputs, answers, strict=True):
        if isinstance(answer, MatrixHandle):
            results[port.name] = answer.name
        else:
            rolling.output(port.name, cast("Field[Sequence[Scalar]]", answer))
    loops = rolling.loops()
    return Rolled(
        function,
        arrays(tree, ports),
        arrays(tree, specification.outputs),
        tuple(Kind(kind.type.name, kind.type.nq, kind.type.nv) for kind in rolling.kinds),
        rolling.joints,
        rolling.buffers,
        tuple(rolling.matrices),
        results,
        loops,
        tree.nv,
    )
