"""The quantities that functions take and give: name, size, unit, frame and meaning."""

from __future__ import annotations

from condyle.specification import Port

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
    return Port(f"d{port.name}_d{by}", ("nv", "nv"), unit, "joint", doc, zeros=zeros, symmetric=by == "tau")


DTAU_DQ, DTAU_DV = derivative(TAU, "q", DOF_UNIT), derivative(TAU, "v", DOF_UNIT + " s")
DA_DQ, DA_DV, DA_DTAU = derivative(A, "q", "1/s^2"), derivative(A, "v", "1/s"), derivative(A, "tau", "1 / M")
