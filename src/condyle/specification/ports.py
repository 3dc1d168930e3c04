"""What functions take and give: quantities, and those that every function may take behind its own inputs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Port:
    """One quantity: its name, its dimensions, unit, frame and meaning.

    dims: each a number, a name of `shape`'s sizes, a product of such, or a sum of these: "6", "nv", "10 n_bodies",
    "nv + nv".
    given_by: the function that answers it, for states in which everything fits together; drawn at random where empty.
    zeros: entries that are zero in every state. "coupled": those (i, j) where no body moves with both velocities i
    and j; "connected": those that no chain of coupled pairs links. symmetric: entry (i, j) equals (j, i).
    beside: of what is a difference of larger numbers, the output whose size its rounding goes by.
    is_fraction, is_positive: whether its entries are from 0 to 1, or above 0; calls on NumPy arrays refuse others.
    """

    name: str
    dims: tuple[str, ...]
    unit: str
    frame: str
    doc: str
    given_by: str = ""
    zeros: Literal["none", "coupled", "connected"] = "none"
    symmetric: bool = False
    beside: str = ""
    is_fraction: bool = False
    is_positive: bool = False

    @property
    def is_configuration(self) -> bool:
        """Whether it is a configuration of the robot, whose quaternions are unit."""
        return self.dims == ("nq",)

    def shape(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """The dimensions as numbers, e.g. {"nq": 7, "nv": 7, "n_bodies": 7}."""
        return tuple(sum(_product(term, sizes) for term in dim.split("+")) for dim in self.dims)


def _product(term: str, sizes: Mapping[str, int]) -> int:
    return math.prod(int(x) if x.isdigit() else sizes[x] for x in term.split())


F_EXT = Port("f_ext", ("n_bodies", "6"), "N, N m", "body", "external [force; torque] at each body's link origin")
"""What every function that takes external forces takes behind its own inputs."""

INERTIAS = Port(
    "inertias",
    ("n_bodies", "10"),
    "kg, kg m, kg m^2",
    "body",
    "per body m, m c, Ixx Ixy Iyy Ixz Iyz Izz about the origin of its link",
)
GRAVITY = Port("gravity", ("3",), "m/s^2", "world", "acceleration of gravity")
ARMATURE = Port("armature", ("nv",), "kg m^2 | kg", "joint", "rotor inertia of each degree of freedom")
DAMPING = Port("damping", ("nv",), "N m s/rad | N s/m", "joint", "viscous friction: tau - damping v acts at the joint")
NUMBERS = {port.name: port for port in (INERTIAS, GRAVITY, ARMATURE, DAMPING)}
"""Numbers of a robot that may be inputs, in the order in which functions take them, behind external forces."""

ACTIVE = Port("active", ("n_contacts",), "1", "-", "1 where a contact holds, 0 where it is off", is_fraction=True)
GAINS = Port("gains", ("n_contacts", "2"), "1/s^2, 1/s", "-", "kp, kd of each contact: Baumgarte's stabilisation")
ANCHORS = Port(
    "anchors",
    ("n_contacts", "12"),
    "m, 1",
    "world",
    "where each contact is held, in the world or in its other frame: x y z, rotation row by row",
)
RISING = Port("rising", ("n_contacts",), "1", "-", "1 where a contact was off in the step before and holds now")
CONTACT_NUMBERS = {port.name: port for port in (ACTIVE, GAINS, ANCHORS, RISING)}
"""What functions of constrained motion may take, behind numbers of the robot."""

NORMALS = Port(
    "normals",
    ("n_contacts", "3"),
    "1",
    "world",
    "normal at each contact, from the ground to the body; any length but zero",
)
GAPS = Port("gaps", ("n_contacts",), "m", "-", "distance of each contact from the ground; negative: penetration")
IMPULSE0 = Port("impulse0", ("n_contacts", "3"), "N s", "world", "first guess of the impulses")
FRICTION_NUMBERS = {port.name: port for port in (NORMALS, GAPS, IMPULSE0)}
"""What contacts with friction may take, behind these."""

OPEN = {**NUMBERS, **CONTACT_NUMBERS, **FRICTION_NUMBERS}
"""All numbers that may be inputs, in the order in which functions take them."""

EXTRA = {F_EXT.name: F_EXT, **OPEN}
"""All that a function may take behind its own inputs, in order."""

NEXT = "{}_next"
"""What generated code calls an answer that has the name of an input."""
