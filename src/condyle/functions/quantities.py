"""The quantities that functions take and give: name, size, unit, frame and meaning."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from condyle import algorithms
from condyle.specification import Function, Port
from condyle.specification.ports import CONTROLS

if TYPE_CHECKING:
    from condyle.model.tree import Tree
    from condyle.scalar import Scalar


DOF_UNIT = "N m | N"

Q = Port("q", ("nq",), "rad | m", "joint", "configuration, joints in tree order, quaternions x y z w")
V = Port("v", ("nv",), "rad/s | m/s", "joint", "velocity, in the local tangent of q")
A = Port("a", ("nv",), "rad/s^2 | m/s^2", "joint", "acceleration, the time derivative of v")
TAU = Port("tau", ("nv",), DOF_UNIT, "joint", "generalised force", given_by="id")
M = Port(
    "M",
    ("nv", "nv"),
    "kg m^2 | kg m | kg",
    "joint",
    "joint-space mass matrix, symmetric",
    "m",
    "coupled",
    symmetric=True,
)
MINV = Port(
    "Minv", ("nv", "nv"), "1 / M", "joint", "inverse of the mass matrix, symmetric", "minv", "connected", symmetric=True
)
DV = Port("dv", ("nv",), "rad | m", "joint", "displacement, in the local tangent of q")
Q0 = Port("q0", ("nq",), Q.unit, "joint", "configuration at the beginning")
Q1 = Port("q1", ("nq",), Q.unit, "joint", "configuration at the end")
Q_NEXT = Port("q_next", ("nq",), Q.unit, "joint", "configuration after the displacement")


def derivative(port: Port, by: str, unit: str) -> Port:
    """The nv x nv derivative of a joint-space vector by another one."""
    zeros = "coupled" if port is TAU else "connected"
    doc = f"derivative of {port.name} by {by}, row = {port.name}"
    return Port(
        f"d{port.name}_d{by}",
        ("nv", "nv"),
        unit,
        "joint",
        doc,
        zeros=zeros,
        symmetric=by == "tau",
        by=by if by == "tau" else "",
    )


DTAU_DQ, DTAU_DV = derivative(TAU, "q", DOF_UNIT), derivative(TAU, "v", DOF_UNIT + " s")
DA_DQ, DA_DV, DA_DTAU = derivative(A, "q", "1/s^2"), derivative(A, "v", "1/s"), derivative(A, "tau", "1 / M")


# How rules and recorded routes call other functions.


Values: TypeAlias = "Sequence[Any]"
"""A quantity, flat."""
ByName: TypeAlias = "Mapping[str, Values]"
"""What a function takes, or answers."""


def call(
    calls: Any,
    inputs: Mapping[str, Sequence[Any]],
    function: Function,
    *arguments: Sequence[Any],
    derived: Callable[[Function], Function] = lambda function: function,
    more: Sequence[Sequence[Any]] = (),
) -> tuple[list[Any], ...]:
    """A function with those of the inputs behind its own (forces, numbers of the robot) that it depends on.

    arguments: with controls these in place of tau, see `pushed`. derived: what is called of that, such as its `jvp`.
    more: what it takes behind all inputs.
    """
    extra = [name for name in function.takes if name in inputs]
    behind = (inputs[name] for name in extra if name != CONTROLS.name)
    return calls.call(derived(function.taking(*extra)), *arguments, *behind, *more)


PUSHES = (TAU.name, CONTROLS.name)
"""What pushes: torques, or controls of actuators in their place."""


def push_of(function: Function) -> tuple[str, ...]:
    """Which of them a function takes."""
    return tuple(port.name for port in function.inputs if port.name in PUSHES)


def pushed(inputs: Mapping[str, Sequence[Any]]) -> Sequence[Any]:
    """The controls of actuators where there are any, else tau."""
    return inputs[CONTROLS.name] if CONTROLS.name in inputs else inputs[TAU.name]


class Calls:
    """What rules call: other functions on the scalars that a sweep has."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    def call(self, function: Function, *arguments: Sequence[Scalar]) -> list[list[Scalar]]:
        route = function.routes[function.route_names(self.tree.has_shared_coordinates)[0]]
        inputs = {port.name: x for port, x in zip(function.inputs, arguments, strict=True)}
        answers = route.run(algorithms.unrolled.Unrolled(self.tree, inputs))
        return [algorithms.matrix.dense(cast(Any, x)) for x in answers]
