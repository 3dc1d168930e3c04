"""What each quantity and each function is: the one place that says name, size, unit, frame and meaning.

Errors, docs, C headers and hardware ports print from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

DOF_UNIT = "N m | N"


@dataclass(frozen=True, slots=True)
class Port:
    """One quantity: its name, its dimensions by name, unit, frame and meaning.

    zeros: entries that are zero in every state. "coupled": those (i, j) where no body moves with both velocities i
    and j; "connected": those that no chain of coupled pairs links. symmetric: entry (i, j) equals (j, i).
    """

    name: str
    dims: tuple[str, ...]
    unit: str
    frame: str
    doc: str
    zeros: Literal["none", "coupled", "connected"] = "none"
    symmetric: bool = False

    def shape(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """The dimensions as numbers, e.g. {"nq": 7, "nv": 7, "n_bodies": 7}."""
        return tuple(6 if dim == "6" else sizes[dim] for dim in self.dims)


Q = Port("q", ("nq",), "rad | m", "joint", "configuration, joints in tree order, quaternions x y z w")
V = Port("v", ("nv",), "rad/s | m/s", "joint", "velocity, in the local tangent of q")
A = Port("a", ("nv",), "rad/s^2 | m/s^2", "joint", "acceleration, the time derivative of v")
TAU = Port("tau", ("nv",), DOF_UNIT, "joint", "generalised force")
F_EXT = Port("f_ext", ("n_bodies", "6"), "N, N m", "body", "external [force; torque] at each body's link origin")
M = Port(
    "M", ("nv", "nv"), "kg m^2 | kg m | kg", "joint", "joint-space mass matrix, symmetric", "coupled", symmetric=True
)
MINV = Port(
    "Minv", ("nv", "nv"), "1 / M", "joint", "inverse of the mass matrix, symmetric", "connected", symmetric=True
)


def _derivative(of: Port, by: str, unit: str) -> Port:
    zeros = "coupled" if of is TAU else "connected"
    doc = f"derivative of {of.name} by {by}, row = {of.name}"
    return Port(f"d{of.name}_d{by}", ("nv", "nv"), unit, "joint", doc, zeros, symmetric=by == "tau")


@dataclass(frozen=True, slots=True)
class Function:
    """One of the seven functions: its short name, its method and its ports in calling order.

    solves: its answers are products with M^-1, its own or a given one.
    """

    name: str
    method: str
    equation: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    takes_f_ext: bool = True
    solves: bool = False

    @property
    def inverts(self) -> bool:
        """Whether it needs an inverse of M that it is not given."""
        return self.solves and MINV not in self.inputs

    def ports(self, f_ext: bool) -> tuple[Port, ...]:
        """The inputs of the variant with or without external forces."""
        return (*self.inputs, F_EXT) if f_ext else self.inputs


FUNCTIONS: dict[str, Function] = {
    function.name: function
    for function in (
        Function("id", "inverse_dynamics", "tau = M(q) a + c(q, v, f_ext)", (Q, V, A), (TAU,)),
        Function("fd", "forward_dynamics", "a = M(q)^-1 (tau - c(q, v, f_ext))", (Q, V, TAU), (A,), solves=True),
        Function("m", "mass_matrix", "M(q)", (Q,), (M,), takes_f_ext=False),
        Function("minv", "mass_matrix_inverse", "M(q)^-1", (Q,), (MINV,), takes_f_ext=False, solves=True),
        Function(
            "did",
            "inverse_dynamics_derivatives",
            "d tau / d q, d tau / d v of inverse dynamics",
            (Q, V, A),
            (_derivative(TAU, "q", DOF_UNIT), _derivative(TAU, "v", DOF_UNIT + " s")),
        ),
        Function(
            "dfd",
            "forward_dynamics_derivatives",
            "d a / d q, d a / d v, d a / d tau of forward dynamics",
            (Q, V, TAU),
            (_derivative(A, "q", "1/s^2"), _derivative(A, "v", "1/s"), _derivative(A, "tau", "1 / M")),
            solves=True,
        ),
        Function(
            "difd",
            "dynamics_derivatives",
            "d a / d q, d a / d v, given a and Minv",
            (Q, V, A, MINV),
            (_derivative(A, "q", "1/s^2"), _derivative(A, "v", "1/s")),
            solves=True,
        ),
    )
}

PORTS: dict[str, Port] = {
    port.name: port for function in FUNCTIONS.values() for port in (*function.ports(True), *function.outputs)
}
"""Every quantity by its name."""
