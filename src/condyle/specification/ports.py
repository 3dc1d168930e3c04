"""What functions take and give: quantities, those that every function may take, and what is fixed by `compile`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple


@dataclass(frozen=True, slots=True)
class Port:
    """One quantity: its name, its dimensions, unit, frame and meaning.

    dims: each a number, a name of `shape`'s sizes, a product of such, or a sum of these: "6", "nv", "10 n_bodies",
    "nv + nv".
    given_by: the function that answers it, for states in which everything fits together; drawn at random where empty.
    zeros: entries that are zero in every state. "coupled": those (i, j) where no body moves with both velocities i
    and j; "connected": those that no chain of coupled pairs links. symmetric: entry (i, j) equals (j, i).
    beside: of what is a difference of larger numbers, the output whose size its rounding goes by.
    by: of a derivative, the input that it is by, where that is tau.
    is_fraction, is_positive: whether its entries are from 0 to 1, or above 0; calls on NumPy arrays refuse others.
    is_shared: of a function of columns, whether all columns of a call have the same one, which machine code relies on
    (see `backends.cpu.columns`); None of other functions.
    lanes: of a function of columns, how many of them stand side by side in a panel; 0 of other functions.
    lower: of a column of a panel: entries before this one are not read in columns from this one on; 0: all are read.
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
    by: str = ""
    is_fraction: bool = False
    is_positive: bool = False
    is_shared: bool | None = None
    lanes: int = 0
    lower: int = 0

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
DRY_FRICTION = Port(
    "dry_friction", ("nv",), "N m | N", "joint", "dry friction f: tau - f v / sqrt(v^2 + w^2) acts at the joint"
)
STIFFNESS = Port(
    "stiffness", ("nv",), "N m/rad | N/m", "joint", "springs: tau - stiffness (q - spring_reference) acts at the joint"
)
ACTUATOR_GAINS = Port(
    "actuator_gains", ("nu", "4"), "mixed", "joint", "gain, b0, b1, b2 of each actuator, see `condyle.Actuator`"
)
NUMBERS = {port.name: port for port in (INERTIAS, GRAVITY, ARMATURE, DAMPING, DRY_FRICTION, STIFFNESS, ACTUATOR_GAINS)}
"""Numbers of a robot that may be inputs, in the order in which functions take them, behind external forces."""

CONTROLS = Port("u", ("nu",), "mixed", "joint", "controls of the actuators, in place of tau")
IMPLICIT = Port("implicit", (), "s", "-", "length of a step at whose end forces have their velocities: (M + h D) a")
DRIVEN = {port.name: port for port in (CONTROLS, IMPLICIT)}
"""What functions of the equation of motion take where it has actuators, and in steps."""

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
ARMS = Port("arms", ("n_contacts", "3"), "m", "world", "from the origin of each contact to where its body touches")
FRICTION_NUMBERS = {port.name: port for port in (NORMALS, GAPS, IMPULSE0, ARMS)}
"""What contacts with friction may take, behind these."""

JOINT_IMPULSE0 = Port("joint_impulse0", ("nv",), "N m s | N s", "joint", "first guess of the impulses of joint rows")
JOINT_IMPULSE = Port(
    "joint_impulse", ("nv",), "N m s | N s", "joint", "impulse of dry friction and stops over the step, 0 without a row"
)
SOLVE_NUMBERS = {**FRICTION_NUMBERS, JOINT_IMPULSE0.name: JOINT_IMPULSE0}
"""The same of contacts and rows of joints in one problem."""

OPEN = {**NUMBERS, **CONTACT_NUMBERS, **SOLVE_NUMBERS}
"""All numbers that may be inputs, in the order in which functions take them."""

EXTRA = {F_EXT.name: F_EXT, **DRIVEN, **OPEN}
"""All that a function may take behind its own inputs, in order."""

NEXT = "{}_next"
"""What generated code calls an answer that has the name of an input."""


def by_controls(port: Port) -> Port:
    """A derivative by tau as one by the controls; any other quantity as it is."""
    if port.by != "tau":
        return port
    name, doc = port.name.replace("_dtau", f"_d{CONTROLS.name}"), port.doc.replace("by tau", f"by {CONTROLS.name}")
    return replace(port, name=name, doc=doc, dims=(*port.dims[:-1], "nu"), by=CONTROLS.name)


# What is fixed when a robot is compiled, and what functions depend on: frames, axes, contacts, joint forces.


class Drive(NamedTuple):
    """An actuator in numbers, see `condyle.Actuator`. gears: (entry of v, entry of q, gear) of each joint."""

    is_damper: bool
    gears: tuple[tuple[int, int, float], ...]
    gains: tuple[float, float, float, float]
    control: tuple[float, float]
    force: tuple[float, float]


class Drives(NamedTuple):
    """Forces of joints that belong to the equation of motion, and actuators that push in place of tau.

    forces: words of `condyle.specification.integrators.JOINT_FORCES`. damping to upper: a number of each entry of v,
    limits infinite where there are none. reference: nothing where all are zero, and there also without forces, for
    stiffness that is an input. effort: the same as limits, of what actuators push by. friction_velocity: w of dry
    friction. stops: k, t, w of limits. implicit: whether steps take what depends on v at their end; "positions":
    springs and actuators at the positions of their end too.
    joint_rows: whether `contact_solve` has dry friction and limits as rows.
    """

    forces: tuple[str, ...] = ()
    damping: tuple[float, ...] = ()
    friction: tuple[float, ...] = ()
    stiffness: tuple[float, ...] = ()
    reference: tuple[float, ...] = ()
    lower: tuple[float, ...] = ()
    upper: tuple[float, ...] = ()
    actuators: tuple[Drive, ...] = ()
    effort: tuple[float, ...] = ()
    friction_velocity: float = 1e-2
    stops: tuple[float, float, float] = (1e4, 1e-2, 1e-3)
    implicit: bool | str = True
    joint_rows: bool = False


class Bound(NamedTuple):
    """What is fixed when a robot is compiled.

    frames: names of the robot's frames, in the order of the answers. reference_frame: the axes and the point of
    velocities, accelerations and Jacobians of frames. force_frame: the axes of external forces, "local" for those of
    the body's frame, "local_world_aligned" for the world's at its origin, which they keep when q varies. integrator:
    how steps of time are made (`condyle.specification.integrators`). contacts: frames that are held, in the order of
    their flags, each a `condyle.Contact`. regressor: numbers of joints that have columns in the regressor. sweeps: of
    `contact_solve`, None for iterations until the residual is small. drives: joint forces and actuators.
    """

    frames: tuple[str, ...] = ()
    reference_frame: str = "local"
    force_frame: str = "local"
    integrator: str = "semi_implicit_euler"
    contacts: tuple[Any, ...] = ()
    regressor: tuple[str, ...] = ()
    sweeps: int | None = None
    drives: Drives = Drives()


UNBOUND = Bound()
"""What `compile` takes by default."""
